//! A risk alarm: an account with too many rejects within a window is blocked.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use pitlane::dispatch::{CommandSender, Component, Context, ShardEvent};
use pitlane::shard::RiskRequest;
use pitlane::time::{Clock, Nanos};
use pitlane::types::{AccountId, RejectCode, ReportKind};

/// Rejects within the window that are one too many.
pub(crate) const REJECTS: usize = 5;
const WINDOW: Duration = Duration::from_secs(1);
/// Accounts that are watched at once; what is beyond is watched when others are quiet.
const ACCOUNTS_MAX: usize = 1_024;

/// Counts rejects per account in maintenance, so that the count is right even after a
/// restart; asks for blocks in author code, which a stop silences.
pub(crate) struct RiskAlarm<C> {
    clock: C,
    risk: CommandSender<RiskRequest>,
    rejects: HashMap<AccountId, VecDeque<Nanos>>,
    due: Option<AccountId>,
}

impl<C: Clock> RiskAlarm<C> {
    pub(crate) fn new(clock: C, risk: CommandSender<RiskRequest>) -> Self {
        Self {
            clock,
            risk,
            rejects: HashMap::new(),
            due: None,
        }
    }
}

impl<C: Clock + 'static> Component<ShardEvent> for RiskAlarm<C> {
    fn name(&self) -> &str {
        "risk alarm"
    }

    fn maintain(&mut self, event: &ShardEvent, _: &Context<'_, ShardEvent>) {
        self.due = None;
        let reject = event
            .report()
            .filter(|one| one.kind == ReportKind::Rejected);
        let Some(account) = reject.map(|one| one.account) else {
            return;
        };
        let now = self.clock.now();
        let is_recent = |at: &Nanos| u128::from(now.since(*at)) < WINDOW.as_nanos();
        if self.rejects.len() >= ACCOUNTS_MAX {
            self.rejects
                .retain(|_, times| times.back().is_some_and(is_recent));
        }
        if self.rejects.len() >= ACCOUNTS_MAX && !self.rejects.contains_key(&account) {
            return;
        }
        let times = self.rejects.entry(account).or_default();
        times.retain(is_recent);
        times.push_back(now);
        if times.len() >= REJECTS {
            times.clear();
            self.due = Some(account);
        }
    }

    fn on_event(&mut self, _: &ShardEvent, _: &Context<'_, ShardEvent>) {
        if let Some(account) = self.due.take() {
            let cause = RejectCode::ComplianceRestriction;
            self.risk.send(RiskRequest::Block { account, cause });
        }
    }
}
