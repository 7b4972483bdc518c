//! A whole gateway in this process: venue, shards, I/O threads, and their end.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pitlane::dispatch::ReportCounter;
use pitlane::host::{self, PinOutcome, PinPlan};
use pitlane::journal::JournalFault;
use pitlane::lanes::{
    AsyncEngine, EngineBuilder, HdrObserver, LaneSnapshot, StopError, StopReport,
};
use pitlane::limits::COMPLETION_SLOTS;
use pitlane::orders::RandomIdentity;
use pitlane::orders::venue::distant::{DistantConfig, DistantVenue};
use pitlane::orders::venue::sim::{SimConfig, SimVenue, VenueControl};
use pitlane::orders::venue::{VenueLink, host_venue};
use pitlane::risk::{RiskConfig, RiskEngine, SharedLimits};
use pitlane::shard::authority::{AuthorityEnd, Authorizer};
use pitlane::shard::{
    Admission, ReportBell, ReportReceiver, ReportSender, ShardMonitor, VenueMemory, report_ring,
};
use pitlane::types::{AccountId, ShardId};

use super::births::Births;
use super::decisions::{self, OpenedExecutor, RunningExecutor};
use super::journals::{Found, Journals, ShardJournal};
use super::path::ShardPath;
use super::settings::{self, shard_of};
use super::shard::{Shard, ShardVenue};
use super::venue_thread::VenueThread;
use super::{Layout, StartError, Strategies};
use crate::config::Config;
use crate::control::ExecutorHandle;
use crate::control::http::{Access, HttpServer, HttpSetup};
use crate::control::outbox::OutboxThread;
use crate::server::{IoUsed, Server, ServerHandle, ServerStats, Stopper, Summary};

/// A gateway that runs; dropped, it stops at once.
pub struct Gateway {
    // In the order in which they must end: nobody may come in any more, then
    // the shards finish, then their journals, then their venue.
    http: Option<HttpServer>,
    server: ServerHandle,
    engine: AsyncEngine<Shard, HdrObserver>,
    executor: Option<RunningExecutor>,
    journals: Journals,
    _venue_thread: Option<VenueThread>,
    venue: VenueControl,
    observer: HdrObserver,
    layout: Layout,
    monitors: Vec<Arc<ShardMonitor>>,
}

/// What a gateway did, and left, when it stopped.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// What the I/O threads left.
    pub summary: Summary,
    /// What the I/O threads counted.
    pub stats: ServerStats,
    /// What the shards were given and did.
    pub lanes: Result<StopReport, StopError>,
    /// What the lanes measured.
    pub measured: LaneSnapshot,
    /// What the shards told, by kind.
    pub told: ReportCounter,
    /// The journals that failed, and why.
    pub journals: Vec<(ShardId, JournalFault)>,
}

/// What one shard is made of, until its thread takes it.
struct ShardParts {
    venue: ShardVenue,
    identities: RandomIdentity,
    ports: Vec<ReportSender>,
    journal: Option<ShardJournal>,
    authority: Option<AuthorityEnd>,
}

impl Gateway {
    /// Starts everything; returns when clients can connect. `others` are
    /// threads of this process that work beside it, for the layout.
    ///
    /// # Errors
    /// What cannot be had, with the mend; nothing is left running.
    pub fn start(config: &Config, others: usize) -> Result<Self, StartError> {
        Self::start_with(config, others, &Strategies::none())
    }

    /// Like [`start`](Self::start), with components of one's own in every shard.
    ///
    /// # Errors
    /// Also what a strategy says that cannot be installed.
    pub fn start_with(
        config: &Config,
        others: usize,
        strategies: &Strategies,
    ) -> Result<Self, StartError> {
        let births = Arc::new(Births::new(config, strategies));
        let gateway = Self::start_shards(config, others, &births);
        // Why a shard was not born says more than that it was not.
        births.failure().map_or(gateway, Err)
    }

    fn start_shards(
        config: &Config,
        others: usize,
        births: &Arc<Births>,
    ) -> Result<Self, StartError> {
        // Before anything is pinned: a pinned thread sees only its own CPU.
        let layout = Layout::decide(config, &host::allowed_cpus(), others)?;
        let risk = Arc::new(settings::risk(config, layout.shards));
        let shared = Arc::new(SharedLimits::new(&risk)?);
        // Every fault of the settings is found here, before a thread starts.
        make_engine(config, &risk, &shared, ShardId(0), |_| false)?;
        let credentials = Arc::new(settings::credentials(config)?);

        let (ports, receivers, bells) = report_rings(&layout);
        // A shard on a thread of its own looks by itself while something waits.
        let bell = bells.first().filter(|_| layout.inline);
        let (journals, from_journals) = Journals::open(config, &layout, bell)?;
        let executor = OpenedExecutor::open(config, &layout)?;
        let (authorizer, ends) = if config.http.enabled {
            let (authorizer, ends) = decisions::authorizer(config, layout.shards)?;
            (Some(authorizer), ends)
        } else {
            (None, Vec::new())
        };
        let executor = executor.zip(authorizer.clone());
        let mut venue = settings::venue(config);
        // Its fills must not be taken for those of an earlier run.
        let booked = executor.as_ref().map(|(own, _)| own.next_fill());
        venue.first_fill = journals.next_fill().max(booked.unwrap_or_default());
        let Placed {
            venues,
            control,
            thread: venue_thread,
            executor,
        } = place_venue(config, venue, &layout, executor)?;
        let mut parts = Vec::new();
        let mut ends = ends.into_iter();
        let of_shards = venues.into_iter().zip(ports).zip(from_journals);
        for ((venue, ports), journal) in of_shards {
            let identities = RandomIdentity::from_system()?;
            parts.push(Some(ShardParts {
                venue,
                identities,
                ports,
                journal,
                authority: ends.next(),
            }));
        }

        let parts = Mutex::new(parts);
        let orders_max = config.venue.orders_max;
        let route = layout.shards;
        let started_with = settings::record(config);
        let settings = config.clone();
        let born = Arc::clone(births);
        let factory = move |shard: ShardId| {
            let taken = take(&parts, usize::from(shard.0));
            let mine = |account| shard_of(account, route) == shard;
            let engine = make_engine(&settings, &risk, &shared, shard, mine);
            match (taken, engine) {
                (Some(parts), Ok(engine)) => {
                    let ShardParts {
                        venue,
                        identities,
                        ports,
                        journal,
                        authority,
                    } = parts;
                    let made = Admission::new(shard, engine, venue, identities, orders_max, ports);
                    let made = match authority {
                        None => made,
                        Some(end) => made.with_authority(end),
                    };
                    let made = match journal {
                        None => made,
                        // The simulated venue has ended with the process.
                        Some(ShardJournal { port, state }) => {
                            let mut made = made
                                .with_journal(port, &state, VenueMemory::Lost)
                                .unwrap_or_else(|error| {
                                    born.refuse(StartError::Restore { shard, error })
                                });
                            let openings = settings::openings(&settings, mine);
                            made.write_start(&state, &started_with, openings);
                            made
                        }
                    };
                    born.equip(made, route)
                }
                // The settings were checked, and each shard is made once; the
                // engine turns this into an error of its start.
                _ => std::panic::resume_unwind(Box::new("the shard cannot be made")),
            }
        };

        let observer = HdrObserver::new();
        let builder = EngineBuilder::new()
            .shards(usize::from(layout.shards))
            .completion_slots(COMPLETION_SLOTS.min(64))
            .idle(layout.idle)
            .pin(pin_plan(&config.engine.cpus))
            .observer(observer.clone());
        let (engine, mut seeds) = if layout.inline {
            builder.build_inline(factory)?
        } else {
            (builder.build(factory)?, Vec::new())
        };

        let mut ways = Vec::new();
        for (receivers, bell) in receivers.into_iter().zip(bells) {
            let way: MakePath = match seeds.pop() {
                Some(seed) => Box::new(move || ShardPath::inline(seed.build(), receivers, bell)),
                None => {
                    let submitter = engine.submitter()?;
                    Box::new(move || ShardPath::on_rings(submitter, receivers, bell))
                }
            };
            ways.push(Some(way));
        }
        let ways = Mutex::new(ways);
        let io_cpus = pin_plan(&config.gateway.cpus);
        let allowed = host::allowed_cpus();
        let make_path = move |thread: usize| {
            if let Some(target) = io_cpus.cpu_of(thread, &allowed) {
                // Refused pinning is slower, not wrong.
                let _: PinOutcome = host::pin_current_thread(target);
            }
            match take(&ways, thread) {
                Some(way) => way(),
                None => std::panic::resume_unwind(Box::new("the path was taken")),
            }
        };
        let server = Server::start(settings::server(config), credentials, make_path)?;
        let http = if config.http.enabled {
            Some(HttpServer::start(HttpSetup {
                settings: config.http,
                access: Access::new(config),
                executor: executor.as_ref().map(|own| own.thread.handle()),
                authorizer,
                keys: decisions::keys(config)?,
                sessions: Some(Box::new(server.stats_reader())),
            })?)
        } else {
            None
        };
        Ok(Self {
            http,
            server,
            engine,
            executor,
            journals,
            _venue_thread: venue_thread,
            venue: control,
            observer,
            layout,
            monitors: births.monitors(),
        })
    }

    /// Where clients connect.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Where agents and operators connect, if there is an HTTP side.
    #[must_use]
    pub fn http(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(HttpServer::address)
    }

    /// To ask the executor, if there is one.
    #[must_use]
    pub fn executor(&self) -> Option<ExecutorHandle> {
        self.executor.as_ref().map(|own| own.thread.handle())
    }

    /// The reactor of each I/O thread.
    #[must_use]
    pub fn io(&self) -> &[IoUsed] {
        self.server.io()
    }

    /// Which threads there are.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// What pinning each shard came to.
    #[must_use]
    pub fn pins(&self) -> &[PinOutcome] {
        self.engine.pins()
    }

    /// What each shard's callbacks came to: alarms of components, and their end.
    #[must_use]
    pub fn monitors(&self) -> &[Arc<ShardMonitor>] {
        &self.monitors
    }

    /// What each shard's journal had at the start; nothing where there is none.
    #[must_use]
    pub fn found(&self) -> &[Found] {
        self.journals.found()
    }

    /// The journals that have failed, and why.
    #[must_use]
    pub fn journal_faults(&self) -> Vec<(ShardId, JournalFault)> {
        self.journals.faults()
    }

    /// What goes wrong beside the orders at present: snapshots, history, the way to
    /// an authorizer elsewhere. Orders go on.
    #[must_use]
    pub fn troubles(&self) -> Vec<String> {
        let mut all = self.journals.troubles();
        let outbox = self.executor.as_ref().and_then(|own| own.outbox.as_ref());
        if let Some(why) = outbox.and_then(OutboxThread::fault) {
            all.push(format!("the authorizer: {why}"));
        }
        all
    }

    /// To steer the simulated venue's phases.
    #[must_use]
    pub fn venue(&self) -> VenueControl {
        self.venue.clone()
    }

    /// What the lanes measured so far: queue wait, run time, depth.
    #[must_use]
    pub fn lanes(&self) -> LaneSnapshot {
        self.observer.snapshot()
    }

    /// Counts so far.
    #[must_use]
    pub fn stats(&self) -> ServerStats {
        self.server.stats()
    }

    /// To stop it from elsewhere.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.server.stopper()
    }

    /// Stops: no new connections and orders; what is in flight may be answered
    /// for at most `drain`; sessions are told; shards finish.
    #[must_use]
    pub fn stop(self, drain: Duration) -> Stopped {
        drop(self.http);
        let (summary, stats) = self.server.shutdown(drain);
        let lanes = self.engine.stop_graceful(drain);
        drop(self.executor);
        let mut told = ReportCounter::default();
        for monitor in &self.monitors {
            told.add(&monitor.told());
        }
        let journals = self.journals.close();
        Stopped {
            told,
            summary,
            stats,
            lanes,
            measured: self.observer.snapshot(),
            journals,
        }
    }
}

/// Whether a gateway could be started from this, apart from what the host
/// has: ports, threads, io_uring.
///
/// # Errors
/// The first part that does not fit the others.
pub fn check(config: &Config) -> Result<(), StartError> {
    let layout = Layout::decide(config, &host::allowed_cpus(), 0)?;
    let risk = settings::risk(config, layout.shards);
    let shared = Arc::new(SharedLimits::new(&risk)?);
    make_engine(config, &risk, &shared, ShardId(0), |_| true)?;
    settings::credentials(config)?;
    SimVenue::new(&settings::venue(config))?;
    decisions::keys(config)?;
    decisions::signer(config)?;
    settings::server(config).check()?;
    Ok(())
}

/// The risk engine of a shard, with the accounts that are `mine`.
fn make_engine(
    config: &Config,
    risk: &RiskConfig,
    shared: &Arc<SharedLimits>,
    shard: ShardId,
    mine: impl Fn(AccountId) -> bool,
) -> Result<RiskEngine, StartError> {
    let mut engine = RiskEngine::with_accounts(risk, shard, Arc::clone(shared), &mine)?;
    settings::open_books(&mut engine, config, mine)?;
    Ok(engine)
}

type MakePath = Box<dyn FnOnce() -> ShardPath + Send>;

/// The reports' senders by shard, their receivers and bells by I/O thread.
type ReportRings = (
    Vec<Vec<ReportSender>>,
    Vec<Vec<ReportReceiver>>,
    Vec<ReportBell>,
);

fn report_rings(layout: &Layout) -> ReportRings {
    let mut senders: Vec<Vec<ReportSender>> = (0..layout.shards).map(|_| Vec::new()).collect();
    let mut receivers = Vec::new();
    let mut bells = Vec::new();
    for _ in 0..layout.io_threads {
        let bell = ReportBell::default();
        let mut of_thread = Vec::new();
        for of_shard in &mut senders {
            let (sender, receiver) = report_ring(&bell);
            of_shard.push(sender);
            of_thread.push(receiver);
        }
        receivers.push(of_thread);
        bells.push(bell);
    }
    (senders, receivers, bells)
}

/// A venue in its place.
struct Placed {
    /// Each shard's way to it.
    venues: Vec<ShardVenue>,
    control: VenueControl,
    thread: Option<VenueThread>,
    executor: Option<RunningExecutor>,
}

/// One shard alone has the venue to itself; several, and an executor, share it
/// through its host. For an executor it remembers orders that are over, which an
/// executor asks for.
fn place_venue(
    config: &Config,
    venue: SimConfig,
    layout: &Layout,
    executor: Option<(OpenedExecutor, Authorizer)>,
) -> Result<Placed, StartError> {
    let shards = usize::from(layout.shards);
    let hosted = |links: Vec<VenueLink>| links.into_iter().map(ShardVenue::Hosted).collect();
    let Some((executor, authorizer)) = executor else {
        let venue = SimVenue::new(&venue)?;
        let control = venue.control();
        let (venues, thread) = if shards == 1 {
            (vec![ShardVenue::Own(Box::new(venue))], None)
        } else {
            let (host, links) = host_venue(venue, shards);
            (hosted(links), Some(VenueThread::start(host, layout.idle)))
        };
        return Ok(Placed {
            venues,
            control,
            thread: thread.transpose().map_err(StartError::Thread)?,
            executor: None,
        });
    };
    let mut venue = DistantVenue::new(DistantConfig::new(venue))?;
    let control = venue.inner_mut().control();
    let (mut host, mut links) = host_venue(venue, shards + 1);
    host.ring(shards, executor.waker());
    let link = links.remove(shards);
    let thread = VenueThread::start(host, layout.idle).map_err(StartError::Thread)?;
    let executor = executor.start(config, link, &authorizer)?;
    Ok(Placed {
        venues: hosted(links),
        control,
        thread: Some(thread),
        executor: Some(executor),
    })
}

fn pin_plan(cpus: &[u16]) -> PinPlan {
    if cpus.is_empty() {
        PinPlan::Anywhere
    } else {
        PinPlan::Cpus(cpus.iter().map(|&cpu| usize::from(cpu)).collect())
    }
}

fn take<T>(list: &Mutex<Vec<Option<T>>>, index: usize) -> Option<T> {
    list.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_mut(index)?
        .take()
}
