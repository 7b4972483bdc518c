//! The risk engine of one shard: what it owns, and how it is made.
//!
//! Single-threaded by construction: it is made on the worker's thread and
//! stays there. What crosses threads are tokens.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use super::ConfigError;
use super::account::Account;
use super::config::RiskConfig;
use super::custom::Policy;
use super::custom_calls::Mutations;
use super::holding::HoldingTable;
use super::market::Market;
use super::meter::MeterTable;
use super::order_table::OrderTable;
use super::policies::duplicate::Duplicates;
use super::policies::room;
use super::policies::self_match::Books;
use super::position::PositionTable;
use super::profile::Rules;
use super::quarantine::QuarantinedLeg;
use super::recent_fills::RecentFills;
use super::seats::Seats;
use super::shared::SharedLimits;
use super::shared_sum::Part;
use super::table::Table;
use super::token::ReservationToken;
use super::window::WindowPool;
use crate::limits::{ACCOUNTS_MAX, REJECTS_MAX};
use crate::types::{AccountId, AssetId, GroupId, RejectCode, ShardId};

/// The risk engine of one shard; see the [module](super).
pub struct RiskEngine {
    pub(super) shard: ShardId,
    pub(super) rules: Rules,
    /// Of `rules`; an account whose own differs looks its settings up again.
    pub(super) version: u32,
    pub(super) shared: Arc<SharedLimits>,
    /// Where it counts in what is shared.
    pub(super) seats: Seats,
    pub(super) accounts: Table<Account>,
    pub(super) meters: MeterTable,
    pub(super) pool: WindowPool,
    pub(super) orders: OrderTable,
    pub(super) holdings: HoldingTable,
    pub(super) positions: PositionTable,
    pub(super) market: Market,
    pub(super) duplicates: Duplicates,
    pub(super) books: Books,
    /// This shard's part of the firm's credit, by settlement slot.
    pub(super) credit: Vec<Part>,
    /// This shard's part of the broker's P&L: rounded down, rounded up.
    pub(super) pnl: Vec<(Part, Part)>,
    /// Narrowest first in a look-up: account, group, all.
    pub(super) group_blocks: Vec<(GroupId, RejectCode)>,
    pub(super) fills: RecentFills,
    pub(super) duplicate_fills: u64,
    pub(super) quarantined: VecDeque<QuarantinedLeg>,
    pub(super) quarantine_dropped: u64,
    /// Resting orders whose cancel is asked for (K39).
    pub(super) cancels: Vec<ReservationToken>,
    pub(super) custom: Vec<Box<dyn Policy>>,
    /// By order, what custom policies registered.
    pub(super) mutations: Vec<Mutations>,
    /// Assets that were ever adjusted or named; a retirement looks at each.
    pub(super) assets: BTreeSet<AssetId>,
    /// Where maintenance goes on.
    pub(super) maintained: u32,
    /// Reservations whose owners were dropped since the last call (K3).
    pub(super) dropped: Rc<RefCell<Vec<ReservationToken>>>,
}

impl RiskEngine {
    /// The engine of `shard`, with every account of the configuration.
    ///
    /// # Errors
    /// The configuration's first fault; nothing is kept.
    pub fn new(
        config: &RiskConfig,
        shard: ShardId,
        shared: Arc<SharedLimits>,
    ) -> Result<Self, ConfigError> {
        Self::with_accounts(config, shard, shared, |_| true)
    }

    /// The engine of `shard`, with those accounts of the configuration that
    /// `mine` says are routed to it.
    ///
    /// # Errors
    /// The configuration's first fault; nothing is kept.
    pub fn with_accounts(
        config: &RiskConfig,
        shard: ShardId,
        shared: Arc<SharedLimits>,
        mine: impl Fn(AccountId) -> bool,
    ) -> Result<Self, ConfigError> {
        let rules = Rules::new(config)?;
        shared.prepare(&rules)?;
        let possible = room::STAGE;
        if possible > REJECTS_MAX {
            return Err(ConfigError::TooManyRejects {
                possible,
                room: REJECTS_MAX,
            });
        }
        let named = config.accounts.iter().filter(|entry| mine(entry.id));
        let room = named.clone().count().max(config.expected_accounts);
        if room > ACCOUNTS_MAX {
            return Err(ConfigError::value(
                "accounts",
                format!("a shard holds {ACCOUNTS_MAX} accounts at most"),
            ));
        }
        let mut accounts = Table::with_capacity(room);
        for entry in named {
            if accounts.find(entry.id.0).is_some() {
                return Err(ConfigError::Twice {
                    place: "accounts".into(),
                    name: entry.id.to_string(),
                });
            }
            let group = entry.group.map_or(0, GroupId::get);
            accounts.insert(Account::new(entry.id.0, group, true));
        }
        let mut seats = Seats::default();
        seats.follow(&shared, &rules)?;
        let slots = rules.instruments.settlements().len();
        let market = Market::new(rules.instruments.len(), config.quote_ttl_ms);
        Ok(Self {
            shard,
            rules,
            version: 1,
            shared,
            seats,
            accounts,
            meters: MeterTable::new(),
            pool: WindowPool::new(),
            orders: OrderTable::with_capacity(config.expected_open_orders),
            holdings: HoldingTable::with_capacity(0),
            positions: PositionTable::new(),
            market,
            duplicates: Duplicates::new(),
            books: Books::new(),
            credit: vec![Part::default(); slots],
            pnl: vec![Default::default(); slots],
            group_blocks: Vec::new(),
            fills: RecentFills::new(),
            duplicate_fills: 0,
            quarantined: VecDeque::new(),
            quarantine_dropped: 0,
            cancels: Vec::new(),
            custom: Vec::new(),
            mutations: Vec::new(),
            assets: BTreeSet::new(),
            maintained: 0,
            dropped: Rc::default(),
        })
    }

    /// The shard that it is of.
    #[must_use]
    pub const fn shard(&self) -> ShardId {
        self.shard
    }

    /// The configuration that holds now.
    #[must_use]
    pub const fn config(&self) -> &RiskConfig {
        &self.rules.config
    }

    /// Accounts that are open.
    #[must_use]
    pub fn accounts_open(&self) -> usize {
        self.accounts.len()
    }

    /// Requests, reservations and working orders.
    #[must_use]
    pub const fn orders_open(&self) -> usize {
        self.orders.live()
    }

    /// The number of the account's settings, looked up again after a change.
    #[inline]
    pub(super) fn profile_of(&mut self, number: u32) -> u32 {
        let account = self.accounts.get(number);
        if account.settings_version == self.version {
            return account.profile;
        }
        self.refresh_profile(number)
    }

    #[cold]
    fn refresh_profile(&mut self, number: u32) -> u32 {
        let version = self.version;
        let account = self.accounts.get_mut(number);
        let profile = self
            .rules
            .profile_of(AccountId(account.id), GroupId::new(account.group));
        account.profile = profile;
        account.settings_version = version;
        profile
    }
}

/// What `lanes::SharedRisk` relies on: of an engine without custom policies
/// only the list of dropped owners minds which thread it is on.
const _: fn(RiskEngine) = |engine| {
    fn is_send(_: impl Send) {}
    let RiskEngine {
        shard,
        rules,
        version,
        shared,
        seats,
        accounts,
        meters,
        pool,
        orders,
        holdings,
        positions,
        market,
        duplicates,
        books,
        credit,
        pnl,
        group_blocks,
        fills,
        duplicate_fills,
        quarantined,
        quarantine_dropped,
        cancels,
        custom: _,
        mutations: _,
        assets,
        maintained,
        dropped: _,
    } = engine;
    is_send((shard, rules, version, shared, seats, accounts));
    is_send((meters, pool, orders, holdings, positions, market));
    is_send((duplicates, books, credit, pnl, group_blocks, fills));
    is_send((duplicate_fills, quarantined, quarantine_dropped, cancels));
    is_send((assets, maintained));
};
