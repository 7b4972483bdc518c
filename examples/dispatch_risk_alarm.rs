//! A risk alarm: an account with too many rejects within a window is blocked.
//!
//! Run with `cargo run --example dispatch_risk_alarm`. The example publishes its
//! own reports; in a shard they are what the order path publishes.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use pitlane::dispatch::{
    CommandQueue, CommandSender, Component, Context, Dispatcher, REPORTS, ShardEvent,
};
use pitlane::time::{Clock, Nanos, SimClock};
use pitlane::types::{
    AccountId, ClientOrderId, ClientReference, FillId, InstrumentId, Origin, Price, Quantity,
    RejectCode, RejectScope, Report, ReportKind, ShardId, Side,
};

/// Rejects within the window that are one too many.
const REJECTS: usize = 5;
const WINDOW: Duration = Duration::from_secs(1);
/// Accounts that are watched at once; what is beyond is watched when others are quiet.
const ACCOUNTS_MAX: usize = 1_024;

/// What the alarm asks for; a shard turns it into a block of the risk engine.
#[derive(Debug, PartialEq, Eq)]
struct BlockAccount {
    account: AccountId,
    rejects: usize,
}

/// Counts rejects per account in maintenance, so that the count is right even after a
/// restart; asks for blocks in author code, which a stop silences.
struct RiskAlarm<C> {
    clock: C,
    sender: CommandSender<BlockAccount>,
    rejects: HashMap<AccountId, VecDeque<Nanos>>,
    due: Option<BlockAccount>,
}

impl<C: Clock + 'static> Component<ShardEvent> for RiskAlarm<C> {
    fn name(&self) -> &str {
        "risk alarm"
    }

    fn maintain(&mut self, event: &ShardEvent, _: &Context<'_, ShardEvent>) {
        self.due = None;
        let now = self.clock.now();
        let Some(report) = event
            .report()
            .filter(|one| one.kind == ReportKind::Rejected)
        else {
            return;
        };
        let is_recent = |at: &Nanos| u128::from(now.since(*at)) < WINDOW.as_nanos();
        if self.rejects.len() >= ACCOUNTS_MAX {
            self.rejects
                .retain(|_, times| times.back().is_some_and(is_recent));
        }
        let is_known = self.rejects.contains_key(&report.account);
        if !is_known && self.rejects.len() >= ACCOUNTS_MAX {
            return;
        }
        let times = self.rejects.entry(report.account).or_default();
        times.retain(is_recent);
        times.push_back(now);
        if times.len() >= REJECTS {
            self.due = Some(BlockAccount {
                account: report.account,
                rejects: times.len(),
            });
            times.clear();
        }
    }

    fn on_event(&mut self, _: &ShardEvent, _: &Context<'_, ShardEvent>) {
        if let Some(block) = self.due.take() {
            self.sender.send(block);
        }
    }
}

fn reject(account: u64, reference: u64) -> ShardEvent {
    ShardEvent::Order(Report {
        kind: ReportKind::Rejected,
        side: Side::Buy,
        reject: Some((RejectCode::RateLimitExceeded, RejectScope::Order)),
        shard: ShardId(0),
        origin: Origin::default(),
        account: AccountId(account),
        instrument: InstrumentId(1),
        reference: ClientReference(reference),
        order_reference: ClientReference(reference),
        client_order_id: ClientOrderId::default(),
        sequence: reference,
        fill_id: FillId(0),
        price: Price::ZERO,
        quantity: Quantity::ZERO,
        cumulative: Quantity::ZERO,
        leaves: Quantity::ZERO,
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = SimClock::default();
    let dispatcher = Dispatcher::new();
    let commands = CommandQueue::new(&dispatcher);
    let alarm = dispatcher.register(Box::new(RiskAlarm {
        clock: clock.clone(),
        sender: commands.sender(),
        rejects: HashMap::new(),
        due: None,
    }))?;
    dispatcher.subscribe(REPORTS, alarm)?;
    dispatcher.start(alarm)?;

    // Account 7 is rejected every 150 ms, account 8 every 300 ms.
    let mut blocked = Vec::new();
    for reference in 1..=10 {
        clock.advance(Duration::from_millis(150));
        dispatcher.publish(REPORTS, &reject(7, reference));
        if reference % 2 == 0 {
            dispatcher.publish(REPORTS, &reject(8, reference));
        }
        while dispatcher.boundary(64)? {}
        commands.drain(|block, _| {
            println!("{:?}: {block:?}", clock.now());
            blocked.push((reference, block));
        });
    }
    let accounts: Vec<_> = blocked
        .iter()
        .map(|(at, block)| (*at, block.account.0))
        .collect();
    assert_eq!(
        accounts,
        [(5, 7), (10, 7)],
        "the slow one stays below the limit"
    );
    Ok(())
}
