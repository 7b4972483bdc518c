//! A simulation from its making to what came of it.

use std::cell::RefCell;
use std::io::Write;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::arrivals::{Arrivals, CENTRE, INSTRUMENT, TICK};
use super::config::{SimulationConfig, SimulationError};
use super::contingents::Contingents;
use super::dice::Dice;
use super::node::{Node, Shard};
use super::trace::{Trace, TraceFeed};
use super::world::World;
use crate::dispatch::runtime::SimLoop;
use crate::dispatch::{Dispatcher, MARKS, REPORTS, ReportCounter, ShardEvent};
use crate::lanes::EngineBuilder;
use crate::orders::RandomIdentity;
use crate::orders::venue::distant::{DistantConfig, DistantVenue, Faults, Outage, OutageKind};
use crate::orders::venue::sim::{SimConfig, SimInstrument};
use crate::risk::{
    AccountConfig, Adjustment, AssetRef, Change, InstrumentConfig, Quote, QuoteTarget, RiskConfig,
    RiskEngine, SharedLimits,
};
use crate::shard::{Admission, ReportBell, report_ring};
use crate::steps::{EventLoop, LoopLimits, Throttle};
use crate::time::{Nanos, SimClock, UnixNanos};
use crate::types::{AccountId, Amount, AssetId, PRICE_SCALE, Price, Quantity, ReportKind, ShardId};

const BASE: AssetId = AssetId(1);
const SETTLEMENT: AssetId = AssetId(2);

/// Orders that the shard and the venue have at once.
const ORDERS_MAX: usize = 1 << 16;

/// What each account begins with, in whole units.
const BASE_UNITS: i128 = 10_000;
const SETTLEMENT_UNITS: i128 = 1_000_000;
/// Raw units of an [`Amount`] in a whole one.
const WHOLE: i128 = 1_000_000_000_000_000_000;

/// The venue is away for so long, once in so long.
const OUTAGE: Duration = Duration::from_millis(50);
const OUTAGE_EVERY: Duration = Duration::from_secs(5);

const RULES: &str = "
rate_limit = [{scope = 'broker', limit = 4000, window_ms = 100},
              {scope = 'account', limit = 200, window_ms = 1000}]
order_size = [{max_quantity = '19'}]
collar = [{above_bps = 500, below_bps = 500}]
position = [{long = '20000', short = '20000'}]
open_orders = [{limit = 32}]
duplicate = {repeats = 1, window_ms = 2}
self_match = {}
spot_funds = {slippage_bps = 10}
";

/// What came of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulated {
    /// Commands of clients, changes included.
    pub commands: u64,
    /// Reports by kind, of clients and of contingent orders.
    pub reports: ReportCounter,
    /// Client flows that were begun; each is one order's life.
    pub flows: u64,
    /// Flows that ended because something was refused.
    pub refused: u64,
    /// Flows that ended because an answer came too late.
    pub timeouts: u64,
    /// Contingent orders that were begun.
    pub contingents: u64,
    /// Brackets whose stop was reached.
    pub stopped: u64,
    /// Orders that work in the end.
    pub open: usize,
    /// Lines of the trace.
    pub lines: u64,
    /// Their SHA-256.
    pub hash: [u8; 32],
    /// What must not be: each in a sentence; empty in a sound run.
    pub violations: Vec<String>,
}

/// Runs a simulation. `sink` takes the trace, a line for each command and each
/// publication; `watch` hears of the simulated time that has passed.
///
/// # Errors
/// A setting is out of its range, the trace cannot be written, or the loop found
/// that something has no end.
pub fn simulate(
    config: &SimulationConfig,
    sink: Option<Box<dyn Write>>,
    watch: &mut dyn FnMut(Duration),
) -> Result<Simulated, SimulationError> {
    config.check()?;
    let clock = SimClock::new(UnixNanos(0));
    let mut dice = Dice::new(config.seed);
    let venue = venue(config, &mut dice)?;
    let risk = risk(config)?;
    let (sender, receiver) = report_ring(&ReportBell::default());
    let identities = RandomIdentity::from_seed(dice.seed());
    let shard = Admission::new(
        ShardId(0),
        risk,
        venue,
        identities,
        ORDERS_MAX,
        vec![sender],
    );

    let world = Rc::new(World::new(dice));
    let trace = Rc::new(RefCell::new(Trace::new(sink)));
    let ports = shard.ports();
    let contingents = ports.add(Box::new(Contingents::default()), &[REPORTS, MARKS])?;
    let feed = TraceFeed {
        trace: Rc::clone(&trace),
        clock: clock.clone(),
        world: Rc::clone(&world),
    };
    ports.add(Box::new(feed), &[REPORTS, MARKS])?;
    let dispatcher = shard.shared_dispatcher();

    let (engine, lane) = EngineBuilder::new()
        .clock(clock.clone())
        .build_here(shard)?;
    let rate = u32::try_from(config.orders_per_second).unwrap_or(u32::MAX);
    let rate = NonZeroU32::new(rate).unwrap_or(NonZeroU32::MIN);
    let mut node = Node {
        lane,
        clock: clock.clone(),
        event_loop: EventLoop::new(clock, LoopLimits::default()),
        // Bursts wait: the client's own rate is just above what comes on average.
        throttle: Throttle::with_period(rate, Duration::from_millis(900)),
        world: Rc::clone(&world),
        receiver,
        contingents,
        arrivals: Arrivals::new(config),
        trace: Rc::clone(&trace),
        commands: 0,
        steps_due: None,
        next_contingent: 1,
        watch,
    };
    SimLoop::new().run(&dispatcher, &mut node)?;
    let (lines, hash) = trace
        .borrow_mut()
        .finish()
        .map_err(SimulationError::Trace)?;
    let outcome = outcome(config, &mut node, &world, &dispatcher, (lines, hash));
    drop(engine);
    Ok(outcome)
}

fn venue(config: &SimulationConfig, dice: &mut Dice) -> Result<DistantVenue, SimulationError> {
    let instrument = SimInstrument {
        tick: Price::from_raw(TICK),
        lot: Quantity::from_raw(PRICE_SCALE),
        ..SimInstrument::new(INSTRUMENT)
    };
    let mut venue = SimConfig::new(vec![instrument]);
    venue.orders_max = ORDERS_MAX;
    let outages = config.duration.as_secs() / OUTAGE_EVERY.as_secs();
    let outage = |number: u64| {
        let from =
            UnixNanos(0).after(OUTAGE_EVERY.saturating_mul(u32::try_from(number).unwrap_or(0)));
        Outage {
            from,
            until: from.after(OUTAGE),
            kind: OutageKind::Refused,
        }
    };
    Ok(DistantVenue::new(DistantConfig {
        faults: Faults {
            delay: Duration::from_micros(40)..=Duration::from_millis(2),
            outages: (1..=outages).map(outage).collect(),
            ..Faults::default()
        },
        seed: dice.seed(),
        ..DistantConfig::new(venue)
    })?)
}

fn risk(config: &SimulationConfig) -> Result<RiskEngine, SimulationError> {
    let accounts = (1..=config.accounts).map(AccountId);
    let settings = RiskConfig {
        instruments: vec![InstrumentConfig {
            id: INSTRUMENT,
            name: None,
            base: AssetRef::Id(BASE),
            settlement: AssetRef::Id(SETTLEMENT),
            allow_non_positive_price: false,
        }],
        accounts: accounts
            .clone()
            .map(|id| AccountConfig { id, group: None })
            .collect(),
        ..RiskConfig::from_toml(RULES)?
    };
    let shared = Arc::new(SharedLimits::new(&settings)?);
    let mut risk = RiskEngine::new(&settings, ShardId(0), shared)?;
    let units = |count: i128| Change::Absolute(Amount::from_raw(count * WHOLE));
    for account in accounts {
        risk.adjust(
            account,
            &[
                Adjustment::available(BASE, units(BASE_UNITS)),
                Adjustment::available(SETTLEMENT, units(SETTLEMENT_UNITS)),
            ],
        )?;
    }
    let quote = Quote {
        mark: Some(Price::from_raw(CENTRE)),
        ..Quote::default()
    };
    let set = risk.set_quote(QuoteTarget::All, INSTRUMENT, quote, Nanos(0));
    debug_assert!(set.is_ok(), "the instrument is configured");
    Ok(risk)
}

fn outcome(
    config: &SimulationConfig,
    node: &mut Node<'_>,
    world: &World,
    dispatcher: &Dispatcher<ShardEvent>,
    (lines, hash): (u64, [u8; 32]),
) -> Simulated {
    let tally = *world.tally.borrow();
    let counts = dispatcher.try_with(node.contingents, |all: &mut Contingents| all.counts());
    let counts = counts.unwrap_or_default();
    let mut simulated = Simulated {
        commands: node.commands,
        reports: ReportCounter::default(),
        flows: tally.flows,
        refused: tally.refused,
        timeouts: tally.timeouts,
        contingents: counts.begun,
        stopped: counts.stopped,
        open: world.working(),
        lines,
        hash,
        violations: Vec::new(),
    };
    let steps = node.event_loop.usage().frames;
    if let Some(shard) = node.lane.driver() {
        simulated.reports = shard.told();
        simulated.violations = violations(config, shard);
    }
    let mut must_be_zero = |what: &str, count: u64| {
        if count > 0 {
            simulated.violations.push(format!("{count} {what}"));
        }
    };
    must_be_zero(
        "flows ended with an error that nobody handles",
        tally.broken,
    );
    must_be_zero("flows found no room", tally.no_room);
    must_be_zero(
        "steps are left",
        u64::from(u32::try_from(steps).unwrap_or(u32::MAX)),
    );
    must_be_zero(
        "answers never came",
        u64::try_from(world.unanswered()).unwrap_or(u64::MAX),
    );
    simulated
}

/// What a shard must not leave when nothing works any more.
fn violations(config: &SimulationConfig, shard: &Shard) -> Vec<String> {
    let mut found = Vec::new();
    if shard.open_orders() > 0 {
        found.push(format!("{} orders still work", shard.open_orders()));
    }
    let counts = shard.counts();
    if counts.stray_events + counts.alarms > 0 {
        found.push(format!(
            "{} venue events of no order, {} alarms",
            counts.stray_events, counts.alarms
        ));
    }
    let mut totals = [(BASE, BASE_UNITS, 0), (SETTLEMENT, SETTLEMENT_UNITS, 0)];
    for (account, asset, balance) in shard.risk().balances() {
        if !balance.held.is_zero() || !balance.incoming.is_zero() {
            found.push(format!(
                "account {account} holds {} and expects {} of asset {asset} for no order",
                balance.held, balance.incoming
            ));
        }
        for (_, _, total) in totals.iter_mut().filter(|(of, _, _)| *of == asset) {
            *total += balance.available.raw() + balance.held.raw();
        }
    }
    for (asset, units, total) in totals {
        let begun = units * WHOLE * i128::from(config.accounts);
        if total != begun {
            found.push(format!(
                "asset {asset} was {begun} and is {total}, in raw units"
            ));
        }
    }
    let told = shard.told();
    if !told.count(ReportKind::Executed).is_multiple_of(2) {
        found.push("a trade was told to one side alone".into());
    }
    found
}
