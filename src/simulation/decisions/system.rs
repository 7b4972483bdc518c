//! The whole system: shards with their journals, the authorizer over them, an
//! executor with its log, and the clocks that they go by.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::line::{AuthorityLine, FarVenue};
use crate::journal::MemoryJournal;
use crate::lanes::LaneKey;
use crate::orders::RandomIdentity;
use crate::orders::decision::{KeyTable, Role, Signer, Validity};
use crate::orders::executor::{
    Answer, Authority, Executor, ExecutorParts, ExecutorSettings, NoHistory, SimLog, VenueSetup,
};
use crate::orders::venue::distant::{DistantConfig, DistantVenue};
use crate::orders::venue::sim::{SimConfig, SimInstrument};
use crate::risk::{
    AccountConfig, Adjustment, AssetRef, Change, InstrumentConfig, RiskConfig, RiskEngine,
    SharedLimits,
};
use crate::shard::authority::{Authorizer, AuthorizerSettings};
use crate::shard::{Admission, ReportBell, ReportReceiver, ShardState, VenueMemory, report_ring};
use crate::simulation::SimulationError;
use crate::simulation::dice::Dice;
use crate::time::{Clock, SimClock, UnixNanos};
use crate::types::{AMOUNT_SCALE, AccountId, Amount, AssetId, InstrumentId, Report, ShardId};

pub(super) const START: UnixNanos = UnixNanos(1_796_000_000_000_000_000);
pub(super) const INSTRUMENT: InstrumentId = InstrumentId(1);
pub(super) const NAME: &str = "GOLD";
pub(super) const VENUE: &str = "sim";
pub(super) const AGENT: &str = "agent-7";
pub(super) const ACCOUNTS: u64 = 5;
/// What each account begins with, of each asset, in whole units: some orders find
/// not enough.
pub(super) const OPENING: [i128; 2] = [60, 6_000];
/// The upper half of the ids of everybody else at a venue.
pub(super) const MARKET: u64 = 99;
/// How far the clocks of authorizer and executor may be apart.
pub(super) const SKEW: Duration = Duration::from_secs(5);

const ASSETS: [AssetId; 2] = [AssetId(1), AssetId(2)];
/// Orders of a shard, and of a venue, that are open at once.
const ORDERS_MAX: usize = 1 << 9;
const KEY: &str = "authorizer-1";
/// The name of the executor's log, which outlives it.
const STREAM: u64 = 7;
/// Turns in which a system comes to rest, at the most.
const TURNS_MAX: usize = 10_000;
const TURN_BUDGET: usize = 64;

pub(super) type Shard = Admission<FarVenue, RandomIdentity>;

/// One shard, with what outlives it.
pub(super) struct Seat {
    pub(super) shard: Shard,
    reports: ReportReceiver,
    pub(super) journal: MemoryJournal,
    pub(super) venue: FarVenue,
    /// What clients were told, by all its lives.
    pub(super) told: Vec<Report>,
}

/// See the module.
pub(super) struct System {
    /// What shards and authorizer go by.
    pub(super) clock: SimClock,
    /// What the executor goes by; its wall is set forward and back.
    pub(super) executor_clock: SimClock,
    pub(super) seats: Vec<Seat>,
    pub(super) authorizer: Authorizer,
    pub(super) line: AuthorityLine,
    executor: Executor,
    pub(super) log: SimLog,
    pub(super) venue: FarVenue,
    settings: ExecutorSettings,
    /// Whether every turn ends with a sync, of the shards and of the executor.
    pub(super) syncs: bool,
    /// What the executor answered and nobody looked at.
    pub(super) answers: Vec<Answer>,
    /// How often the shards were started.
    pub(super) starts: u64,
}

impl System {
    pub(super) fn new(dice: &mut Dice, far: DistantConfig) -> Result<Self, SimulationError> {
        let (clock, executor_clock) = (SimClock::new(START), SimClock::new(START));
        let places: Vec<_> = (0..dice.within(1..=3))
            .map(|_| {
                Ok((
                    MemoryJournal::new(),
                    FarVenue::new(DistantVenue::new(near())?),
                ))
            })
            .collect::<Result<_, SimulationError>>()?;
        let (authorizer, seats) = authority(&clock, places, 1)?;
        let line = AuthorityLine::default();
        line.connect(authorizer.receiver(STREAM, Box::new(|| {})));
        let log = SimLog::default();
        let venue = FarVenue::new(DistantVenue::new(far)?);
        let settings = settings(dice.seed());
        let system = Self {
            executor: executor(&settings, &venue, &log, &line, &executor_clock),
            clock,
            executor_clock,
            seats,
            authorizer,
            line,
            log,
            venue,
            settings,
            syncs: dice.percent(50),
            answers: Vec::new(),
            starts: 1,
        };
        system.arrive();
        Ok(system)
    }

    pub(super) const fn executor(&mut self) -> &mut Executor {
        &mut self.executor
    }

    pub(super) fn seat_of(&mut self, account: AccountId) -> &mut Seat {
        let shard = self.shard_of(account);
        &mut self.seats[shard]
    }

    pub(super) fn shard_of(&self, account: AccountId) -> usize {
        let shards = u16::try_from(self.seats.len()).unwrap_or(u16::MAX);
        usize::from(LaneKey::Account(account).shard(shards).0)
    }

    /// Makes everything durable that was written.
    pub(super) fn sync(&self) {
        for seat in &self.seats {
            seat.journal.sync();
        }
        self.log.sync();
    }

    /// The executor is gone, with what its log had not synced, or some of it.
    pub(super) fn crash_executor(&mut self, kept: usize) {
        self.log.crash(kept);
        let receiver = self.authorizer.receiver(STREAM, Box::new(|| {}));
        self.line.connect(receiver);
        self.answers.clear();
        self.executor = executor(
            &self.settings,
            &self.venue,
            &self.log,
            &self.line,
            &self.executor_clock,
        );
    }

    /// The shards are gone, each with what its journal had not synced, or some of
    /// it; the executor goes on.
    pub(super) fn crash_shards(
        &mut self,
        kept: &mut dyn FnMut() -> usize,
    ) -> Result<(), SimulationError> {
        self.starts += 1;
        let mut told = Vec::new();
        let mut places = Vec::new();
        for seat in self.seats.drain(..) {
            seat.journal.crash(kept());
            places.push((seat.journal, seat.venue));
            told.push(seat.told);
        }
        let (authorizer, seats) = authority(&self.clock, places, self.starts)?;
        self.authorizer = authorizer;
        self.seats = seats;
        for (seat, told) in self.seats.iter_mut().zip(told) {
            seat.told = told;
        }
        let receiver = self.authorizer.receiver(STREAM, Box::new(|| {}));
        self.line.connect(receiver);
        Ok(())
    }

    /// What is on a line and due arrives.
    fn arrive(&self) {
        let now = self.clock.wall();
        let venues = self.seats.iter().map(|seat| &seat.venue);
        for venue in venues.chain([&self.venue]) {
            venue.arrive(now);
        }
    }

    /// Turns until nothing more is due now; false if that has no end.
    pub(super) fn settle(&mut self) -> bool {
        for _ in 0..TURNS_MAX {
            self.arrive();
            let mut worked = self.turn_shards();
            worked |= self.executor.turn().more;
            while let Some(answer) = self.executor.next_answer() {
                self.answers.push(answer);
            }
            if self.syncs {
                self.log.sync();
            }
            if !worked {
                return true;
            }
        }
        false
    }

    fn turn_shards(&mut self) -> bool {
        let (now, syncs) = (self.clock.now(), self.syncs);
        let mut worked = false;
        for seat in &mut self.seats {
            worked |= seat.shard.turn(now, TURN_BUDGET);
            if syncs {
                seat.journal.sync();
                worked |= seat.shard.holds_back();
            } else {
                seat.journal.write();
            }
            let told = &mut seat.told;
            seat.reports
                .drain(usize::MAX, &mut |report| told.push(*report));
        }
        worked
    }

    /// Lets time pass in steps; false if the system does not come to rest.
    pub(super) fn pass(&mut self, step: Duration, time: Duration) -> bool {
        let mut left = time;
        while !left.is_zero() {
            let now = step.min(left);
            left -= now;
            self.clock.advance(now);
            self.executor_clock.advance(now);
            if !self.settle() {
                return false;
            }
        }
        true
    }
}

/// A venue that answers at once.
pub(super) fn near() -> DistantConfig {
    let mut venue = SimConfig::new(vec![SimInstrument::new(INSTRUMENT)]);
    venue.orders_max = ORDERS_MAX;
    DistantConfig::new(venue)
}

fn signer() -> Result<Signer, SimulationError> {
    Signer::new(KEY, Role::Authorizer, &[1; 32]).map_err(SimulationError::Key)
}

fn settings(seed: u64) -> ExecutorSettings {
    let mut keys = KeyTable::default();
    let added = signer()
        .map(|signer| keys.add(KEY, Role::Authorizer, &signer.public(), Validity::default()));
    debug_assert!(matches!(added, Ok(Ok(()))), "the table was empty");
    ExecutorSettings {
        keys,
        seed,
        query_pause: Duration::from_millis(50),
        ack_timeout: Duration::from_millis(400),
        audit_every: Duration::from_secs(5),
        ..ExecutorSettings::default()
    }
}

fn executor(
    settings: &ExecutorSettings,
    venue: &FarVenue,
    log: &SimLog,
    line: &AuthorityLine,
    clock: &SimClock,
) -> Executor {
    let parts = ExecutorParts {
        settings: settings.clone(),
        venues: vec![VenueSetup {
            name: VENUE.to_owned(),
            venue: Box::new(venue.clone()),
            instruments: BTreeMap::from([(NAME.to_owned(), INSTRUMENT)]),
        }],
        recovered: (log.groups(), log.records()),
        log: Box::new(log.clone()),
        history: Box::new(NoHistory),
        authority: Authority::Remote(Box::new(line.clone())),
    };
    Executor::new(parts, clock.clone())
}

/// An authorizer over shards that go on where their journals end.
fn authority(
    clock: &SimClock,
    places: Vec<(MemoryJournal, FarVenue)>,
    start: u64,
) -> Result<(Authorizer, Vec<Seat>), SimulationError> {
    let gold = BTreeMap::from([(NAME.to_owned(), INSTRUMENT)]);
    let settings = AuthorizerSettings {
        signer: Some(signer()?),
        instruments: BTreeMap::from([(VENUE.to_owned(), gold)]),
        skew: SKEW,
        clock: Box::new(clock.clone()),
    };
    let count = places.len();
    let (authorizer, ends) = Authorizer::new(settings, vec![None; count]);
    let shared = Arc::new(SharedLimits::new(&risk_config())?);
    let mut seats = Vec::new();
    for ((number, (journal, venue)), end) in (0..).zip(places).zip(ends) {
        let (sender, reports) = report_ring(&ReportBell::default());
        // No two shards or starts draw the same identities.
        let identities = RandomIdentity::from_seed(start * 1_000 + u64::from(number));
        let risk = risk(ShardId(number), count, &shared)?;
        let state = state_of(&journal);
        let shard = Admission::new(
            ShardId(number),
            risk,
            venue.clone(),
            identities,
            ORDERS_MAX,
            vec![sender],
        )
        .with_authority(end)
        .with_journal(journal.open(), &state, VenueMemory::Kept)?;
        seats.push(Seat {
            shard,
            reports,
            journal,
            venue,
            told: Vec::new(),
        });
    }
    Ok((authorizer, seats))
}

fn state_of(journal: &MemoryJournal) -> ShardState {
    let mut state = ShardState::default();
    journal.read(&mut |record| {
        let taken = state.take(record);
        debug_assert!(taken.is_ok(), "a shard wrote it: {taken:?}");
    });
    state
}

fn risk_config() -> RiskConfig {
    let mut config = RiskConfig {
        instruments: vec![InstrumentConfig {
            id: INSTRUMENT,
            name: None,
            base: AssetRef::Id(ASSETS[0]),
            settlement: AssetRef::Id(ASSETS[1]),
            allow_non_positive_price: false,
        }],
        accounts: (1..=ACCOUNTS)
            .map(|id| AccountConfig {
                id: AccountId(id),
                group: None,
            })
            .collect(),
        ..RiskConfig::default()
    };
    config.spot_funds.enabled = true;
    config
}

fn risk(
    shard: ShardId,
    shards: usize,
    shared: &Arc<SharedLimits>,
) -> Result<RiskEngine, SimulationError> {
    let mut risk = RiskEngine::new(&risk_config(), shard, Arc::clone(shared))?;
    let shards = u16::try_from(shards).unwrap_or(u16::MAX);
    let own = (1..=ACCOUNTS).map(AccountId);
    for account in own.filter(|account| LaneKey::Account(*account).shard(shards) == shard) {
        let opening = [0, 1].map(|asset| {
            let amount = Amount::from_raw(OPENING[asset] * AMOUNT_SCALE);
            Adjustment::available(ASSETS[asset], Change::Absolute(amount))
        });
        risk.adjust(account, &opening)?;
    }
    Ok(risk)
}
