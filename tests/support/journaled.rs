//! A shard with a journal over a venue that outlives it, and what must be true
//! of the three after every crash.
#![allow(dead_code)] // Each test uses the part that it needs.
#![allow(unreachable_pub)] // Included by several test crates.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::time::{Duration, Instant};

use pitlane::journal::storage::Storage;
use pitlane::journal::{Condition, Journal, JournalConfig, Owner, read};
use pitlane::orders::RandomIdentity;
use pitlane::orders::venue::distant::{DistantConfig, DistantVenue};
use pitlane::orders::venue::sim::{SimConfig, SimInstrument};
use pitlane::orders::venue::{Capabilities, Venue, VenueError, VenueEvent, VenueOrder};
use pitlane::risk::{Adjustment, Change, RiskConfig};
use pitlane::shard::record::{Effect, decode};
use pitlane::shard::{Admission, ReportBell, ReportReceiver, ShardState, VenueMemory, report_ring};
use pitlane::time::Nanos;
use pitlane::types::{
    AMOUNT_SCALE, AccountId, Amount, AssetId, ClientOrderId, Command, FillId, Price, Quantity,
    Report, ShardId, Side,
};

use crate::shard_cases::{ACCOUNTS, INSTRUMENT, risk, risk_config};

pub const OWNER: Owner = Owner {
    shard: ShardId(0),
    shards: 1,
};
pub const OPENING: i128 = 1_000_000 * AMOUNT_SCALE;

/// A venue that outlives the shard, and notes what reached it.
#[derive(Clone)]
pub struct FarVenue(Rc<RefCell<Far>>);

pub struct Far {
    pub venue: DistantVenue,
    /// Every submit that was sent, as often as it was.
    pub submits: Vec<VenueOrder>,
    /// Every execution that the venue told of, once.
    pub fills: BTreeMap<FillId, (ClientOrderId, Price, Quantity)>,
}

impl FarVenue {
    pub fn new() -> Self {
        let venue = SimConfig::new(vec![SimInstrument::new(INSTRUMENT)]);
        Self(Rc::new(RefCell::new(Far {
            venue: DistantVenue::new(DistantConfig::new(venue)).unwrap(),
            submits: Vec::new(),
            fills: BTreeMap::new(),
        })))
    }

    pub fn look<T>(&self, look: impl FnOnce(&mut Far) -> T) -> T {
        look(&mut self.0.borrow_mut())
    }
}

impl Venue for FarVenue {
    fn capabilities(&self) -> Option<&Capabilities> {
        // The shard asks for the settle time, which is nothing here.
        static EVERYTHING: std::sync::OnceLock<Capabilities> = std::sync::OnceLock::new();
        Some(EVERYTHING.get_or_init(Capabilities::everything))
    }

    fn submit(&mut self, order: &VenueOrder) -> Result<(), VenueError> {
        self.look(|far| {
            far.submits.push(*order);
            far.venue.submit(order)
        })
    }

    fn cancel(&mut self, id: ClientOrderId) -> Result<(), VenueError> {
        self.look(|far| far.venue.cancel(id))
    }

    fn replace(
        &mut self,
        id: ClientOrderId,
        price: Price,
        quantity: Quantity,
    ) -> Result<(), VenueError> {
        self.look(|far| far.venue.replace(id, price, quantity))
    }

    fn query(&mut self, id: ClientOrderId) -> Result<(), VenueError> {
        self.look(|far| far.venue.query(id))
    }

    fn next_event(&mut self) -> Option<VenueEvent> {
        self.look(|far| {
            let event = far.venue.next_event();
            if let Some(VenueEvent::Executed {
                id,
                fill_id,
                price,
                quantity,
                ..
            }) = event
            {
                far.fills.insert(fill_id, (id, price, quantity));
            }
            event
        })
    }
}

pub fn funded() -> RiskConfig {
    let mut config = risk_config();
    config.spot_funds.enabled = true;
    config
}

pub fn config() -> JournalConfig {
    JournalConfig {
        segment_bytes: 8 << 20,
        groups_max: 16,
        ..JournalConfig::default()
    }
}

/// A shard that runs, with its journal.
pub struct Rig {
    pub shard: Admission<FarVenue, RandomIdentity>,
    pub receiver: ReportReceiver,
    pub journal: Journal,
    pub reports: Vec<Report>,
    now: u64,
}

impl Rig {
    /// Starts over what the journal says. Ids are drawn from `seed`, which no
    /// two starts may share.
    pub fn start<S: Storage>(storage: &S, venue: &FarVenue, seed: u64) -> Self {
        Self::start_with(storage, venue, seed, &config())
    }

    pub fn start_with<S: Storage>(
        storage: &S,
        venue: &FarVenue,
        seed: u64,
        config: &JournalConfig,
    ) -> Self {
        let mut state = ShardState::default();
        let mut wrong = None;
        let opened = Journal::open(storage, config, OWNER, 7, Box::new(|| {}), &mut |record| {
            wrong = wrong.or(state.take(record).err());
        });
        let opened = opened.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(wrong, None);
        let (mut engine, _) = risk(&funded());
        for account in 1..=ACCOUNTS {
            let opening = Change::Absolute(Amount::from_raw(OPENING));
            let both = [1, 2].map(|asset| Adjustment::available(AssetId(asset), opening));
            engine.adjust(AccountId(account), &both).unwrap();
        }
        let (sender, receiver) = report_ring(&ReportBell::default());
        let identities = RandomIdentity::from_seed(seed);
        let shard = Admission::new(
            ShardId(0),
            engine,
            venue.clone(),
            identities,
            1_000,
            vec![sender],
        );
        let shard = shard.with_journal(opened.port, &state, VenueMemory::Kept);
        Self {
            shard: shard.unwrap(),
            receiver,
            journal: opened.journal,
            reports: Vec::new(),
            now: 1,
        }
    }

    pub fn command(&mut self, command: &Command) {
        self.shard.command(command, Nanos(self.now));
    }

    pub fn turn(&mut self) -> bool {
        self.now += 1_000_000;
        let worked = self.shard.turn(Nanos(self.now), 64);
        let reports = &mut self.reports;
        self.receiver
            .drain(usize::MAX, &mut |report| reports.push(*report));
        worked
    }

    /// Turns until nothing is held back, or the journal is over; whether it runs.
    pub fn settle(&mut self) -> bool {
        let start = Instant::now();
        loop {
            let worked = self.turn();
            if self.shard.monitor().has_journal_failed() {
                return false;
            }
            if !worked && !self.shard.holds_back() && self.shard.unreconciled() == 0 {
                return true;
            }
            assert!(
                start.elapsed() < Duration::from_secs(30),
                "it never settles"
            );
        }
    }
}

/// What a journal says of all that ever was.
#[derive(Default)]
pub struct Written {
    pub ids: BTreeSet<ClientOrderId>,
    pub reports: Vec<Report>,
    pub state: ShardState,
}

impl Written {
    pub fn of<S: Storage>(storage: &S) -> Self {
        let mut written = Self::default();
        read(storage, &mut |record| {
            written.state.take(record).unwrap();
            match decode(record.kind, record.version, record.body).unwrap() {
                Effect::Order(order) => {
                    written.ids.insert(order.id);
                }
                Effect::Report(report) => written.reports.push(report),
                _ => {}
            }
        })
        .unwrap();
        written
    }
}

/// Invariants I1 to I4 and that every fill is booked once, of a shard that has
/// settled; `acknowledged` is what clients were told, by any run.
pub fn check<S: Storage>(storage: &S, rig: &Rig, venue: &FarVenue, acknowledged: &[Report]) {
    let written = Written::of(storage);
    for report in acknowledged {
        // A report for want of room has no record.
        assert!(
            written.reports.contains(report),
            "I2: told, and not written: {report:?}"
        );
    }
    venue.look(|far| {
        let mut sent = BTreeSet::new();
        for order in &far.submits {
            assert!(written.ids.contains(&order.id), "I1: sent, not written");
            assert!(sent.insert(order.id), "I3: sent twice");
        }
        assert_eq!(far.venue.repeated(), 0, "I3");
    });
    holds_add_up(&written, rig);
    fills_are_booked_once(&written, rig, venue);
}

fn holds_add_up(written: &Written, rig: &Rig) {
    let mut held: HashMap<(AccountId, AssetId), i128> = HashMap::new();
    for order in written.state.open_orders() {
        let account = order.order.account;
        *held.entry((account, AssetId(1))).or_default() += order.hold.base;
        *held.entry((account, AssetId(2))).or_default() += order.hold.settlement;
    }
    for account in (1..=ACCOUNTS).map(AccountId) {
        let image = rig.shard.risk().account_image(account, INSTRUMENT).unwrap();
        for (asset, balance) in [
            (AssetId(1), image.of_base),
            (AssetId(2), image.of_settlement),
        ] {
            let sum = held.get(&(account, asset)).copied().unwrap_or(0);
            assert_eq!(balance.held.raw(), sum, "I4: of {account} in {asset}");
        }
    }
    let open = written.state.open_orders().len();
    assert_eq!(open, rig.shard.open_orders(), "what is open is written so");
}

fn fills_are_booked_once(written: &Written, rig: &Rig, venue: &FarVenue) {
    let booked: Vec<_> = written
        .reports
        .iter()
        .filter(|report| report.fill_id != FillId(0))
        .map(|report| report.fill_id)
        .collect();
    let once: BTreeSet<_> = booked.iter().copied().collect();
    assert_eq!(once.len(), booked.len(), "a fill was booked twice");
    venue.look(|far| {
        let told: BTreeSet<_> = far.fills.keys().copied().collect();
        assert_eq!(once, told, "what the venue told is booked");
        let mut net: HashMap<AccountId, i128> = HashMap::new();
        let mut paid: HashMap<AccountId, i128> = HashMap::new();
        for (id, price, quantity) in far.fills.values() {
            let order = far.submits.iter().find(|order| order.id == *id).unwrap();
            let report = written
                .reports
                .iter()
                .find(|one| one.client_order_id == *id);
            let account = report.unwrap().account;
            let sign = if order.side == Side::Buy { 1 } else { -1 };
            *net.entry(account).or_default() += sign * i128::from(quantity.raw());
            *paid.entry(account).or_default() += sign * price.notional(*quantity).raw();
        }
        for account in (1..=ACCOUNTS).map(AccountId) {
            let image = rig.shard.risk().account_image(account, INSTRUMENT).unwrap();
            assert_eq!(image.net, net.get(&account).copied().unwrap_or(0));
            let cash = image.of_settlement.available.raw() + image.of_settlement.held.raw();
            let spent = paid.get(&account).copied().unwrap_or(0);
            assert_eq!(cash, OPENING - spent, "used: of {account}");
        }
    });
}

/// Whether the journal of a rig has ended.
pub fn has_failed(rig: &Rig) -> bool {
    rig.shard.journal_condition() == Some(Condition::Failed)
}
