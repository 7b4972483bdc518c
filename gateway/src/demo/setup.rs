//! The gateway of a demo: its configuration, made here rather than read.

use core::num::NonZeroU16;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use pitlane::orders::venue::sim::Phase;
use pitlane::risk::{
    AssetRef, FundsMode, InstrumentConfig, RateRule, RateScope, RateSubject, RiskConfig, SizeRule,
};
use pitlane::types::{
    AMOUNT_SCALE, AccountId, Amount, AssetId, InstrumentId, PRICE_SCALE, Price, Quantity,
};

use super::DemoError;
use crate::assembly::Gateway;
use crate::client::{Client, ClientKey, Logon};
use crate::config::{
    AccountAccess, AccountRange, Asset, Config, CredentialEntry, InstrumentEntry, Io,
    JournalSettings, Mode, PermissionSet, Shards,
};
use crate::session::CredentialId;

/// The demo's one instrument.
pub(super) const INSTRUMENT: InstrumentId = InstrumentId(1);
/// The demo's one credential.
const CREDENTIAL: u16 = 1;
/// What the instrument is made of.
const BASE: AssetId = AssetId(1);
const CASH: AssetId = AssetId(2);
/// The largest order of the seeded flow, so that one in a hundred is refused.
const LOTS_MAX: i64 = 1_000;
/// Orders of one account in a second: there to be counted, too high to be met.
const ORDERS_PER_SECOND: u32 = 1_000_000;
/// What each account has of both assets: the seeded flow never spends it all.
const OPENING: Amount = Amount::from_raw(1_000_000_000 * AMOUNT_SCALE);
/// The instrument's first mark, at which market orders are valued.
const MARK: i64 = 100;
/// How much worse than the mark a market order is valued: 25%, as far as the
/// seeded flow's price may wander, and more.
const SLIPPAGE_BPS: u32 = 2_500;
/// Orders that rest at once in a demo.
const RESTING_MAX: usize = 1 << 17;

/// What a demo can be told.
#[derive(Clone, Debug)]
pub struct DemoSettings {
    /// Accounts that send orders, from 1.
    pub accounts: u32,
    /// Messages that may be unanswered at once, from 1.
    pub window: u32,
    /// Shards, from 1.
    pub shards: NonZeroU16,
    /// Where they run.
    pub mode: Mode,
    /// How sockets are served.
    pub io: Io,
    /// What is written down, and where.
    pub journal: JournalSettings,
    /// Whether progress is told on stderr.
    pub progress: bool,
}

/// Whether the demo's limits are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limits {
    /// A rate limit, a largest order, and funds.
    Some,
    /// Validation alone: recorded flow is to pass as it is; funds are followed.
    None,
}

/// A running gateway and a session with it.
pub(super) struct Demo {
    pub(super) gateway: Gateway,
    pub(super) client: Client,
}

impl Demo {
    /// Starts the gateway, and logs on.
    pub(super) fn start(
        settings: &DemoSettings,
        limits: Limits,
        phase: Phase,
    ) -> Result<Self, DemoError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(DemoError::Key)?;
        let key = ClientKey::from_seed(&seed);
        let config = config(settings, limits, phase, key.public());
        // The demo's own client works beside the gateway.
        let gateway = Gateway::start(&config, 1)?;
        let mut logon = Logon::new(config.gateway.id, CredentialId(CREDENTIAL), key);
        logon.keep_alive = Duration::from_secs(30);
        let client = Client::connect(gateway.address(), &logon)?;
        Ok(Self { gateway, client })
    }
}

fn config(settings: &DemoSettings, limits: Limits, phase: Phase, public_key: [u8; 32]) -> Config {
    let mut config = Config::default();
    config.gateway.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    config.gateway.io = settings.io;
    config.gateway.mode = settings.mode;
    config.engine.shards = Shards::Count(settings.shards);
    config.journal = settings.journal.clone();
    config.venue.orders_max = RESTING_MAX;
    config.assets = vec![
        Asset {
            id: BASE,
            name: "DEMO".into(),
        },
        Asset {
            id: CASH,
            name: "USD".into(),
        },
    ];
    config.instruments = vec![InstrumentEntry {
        id: INSTRUMENT,
        symbol: "DEMO/USD".into(),
        base: BASE,
        settlement: CASH,
        allow_non_positive_price: false,
        tick: Price::from_raw(PRICE_SCALE / 100),
        lot: Quantity::from_raw(PRICE_SCALE),
        phase,
        reference: Some(Price::from_raw(MARK * PRICE_SCALE)),
    }];
    config.accounts = vec![AccountRange {
        first: AccountId(1),
        count: settings.accounts,
        group: None,
        balances: vec![(BASE, OPENING), (CASH, OPENING)],
    }];
    config.credentials = vec![CredentialEntry {
        id: CREDENTIAL,
        public_key,
        accounts: AccountAccess::All,
        permissions: PermissionSet {
            enter: true,
            cancel: true,
            drop_copy: false,
        },
        max_in_flight: settings.window,
    }];
    config.risk = risk(limits);
    config
}

fn risk(limits: Limits) -> RiskConfig {
    let mut risk = RiskConfig {
        assets: [("DEMO".into(), BASE), ("USD".into(), CASH)].into(),
        instruments: vec![InstrumentConfig {
            id: INSTRUMENT,
            name: Some("DEMO/USD".into()),
            base: AssetRef::Id(BASE),
            settlement: AssetRef::Id(CASH),
            allow_non_positive_price: false,
        }],
        ..RiskConfig::default()
    };
    // Recorded flow is of accounts that are not ours: their funds are followed.
    risk.spot_funds.mode = match limits {
        Limits::Some => FundsMode::Enforce,
        Limits::None => FundsMode::Track,
    };
    risk.spot_funds.slippage_bps = SLIPPAGE_BPS;
    if limits == Limits::Some {
        risk.rate_limit = vec![RateRule {
            scope: RateScope::Account,
            subject: RateSubject::Order,
            account: None,
            group: None,
            asset: None,
            limit: ORDERS_PER_SECOND,
            window_ms: Some(1_000),
            window_ns: None,
        }];
        risk.order_size = vec![SizeRule {
            account: None,
            asset: Some(AssetRef::Id(BASE)),
            max_quantity: Some(Quantity::from_raw(LOTS_MAX * PRICE_SCALE)),
            max_notional: None::<Amount>,
        }];
    }
    risk
}
