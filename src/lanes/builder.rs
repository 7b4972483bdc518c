//! Building an engine: every setting, its default and its range (rule L3).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::host::{self, PinOutcome, PinPlan};
use crate::limits;
use crate::time::{Clock, IdleStrategy, SystemClock};
use crate::types::ShardId;

use super::driver::LocalDriver;
use super::engine::{AsyncEngine, LaneSeed};
use super::error::BuildError;
use super::lane::Lane;
use super::observer::{NoopObserver, Observer};
use super::operation::fenced;
use super::shared::{Core, Settings};

/// The settings of an engine that is not built yet.
#[derive(Clone, Debug)]
#[must_use]
pub struct EngineBuilder<O, C> {
    shards: usize,
    ring_capacity: usize,
    fact_reserve: usize,
    completion_slots: usize,
    slow_submit: Duration,
    idle: Option<IdleStrategy>,
    pin: PinPlan,
    observer: O,
    clock: C,
}

/// What a worker reports when it has started.
type Started = Result<PinOutcome, BuildError>;

/// An engine in `inline` mode, and its lanes to be built where they will live.
pub type Inline<D, O, C> = (AsyncEngine<D, O, C>, Vec<LaneSeed<D, O, C>>);

/// An engine of one shard, and its lane, built where the caller is.
pub type Here<D, O, C> = (AsyncEngine<D, O, C>, Lane<D, O, C>);

impl Default for EngineBuilder<NoopObserver, SystemClock> {
    fn default() -> Self {
        Self::new()
    }
}

impl EngineBuilder<NoopObserver, SystemClock> {
    /// Begins a build; every setting has a default.
    pub fn new() -> Self {
        Self {
            shards: 1,
            ring_capacity: limits::RING_CAPACITY,
            fact_reserve: limits::RING_FACT_RESERVE,
            completion_slots: limits::COMPLETION_SLOTS,
            slow_submit: Duration::from_secs(60),
            idle: None,
            pin: PinPlan::Anywhere,
            observer: NoopObserver,
            clock: SystemClock::new(),
        }
    }
}

impl<O: Observer, C: Clock + Clone + Send + Sync + 'static> EngineBuilder<O, C> {
    /// How many workers, one for each shard: 1 to
    /// [`SHARDS_MAX`](limits::SHARDS_MAX). Default 1.
    pub fn shards(mut self, shards: usize) -> Self {
        self.shards = shards;
        self
    }

    /// Messages that each ring holds: a power of two, 4 to 65,536. Default
    /// [`RING_CAPACITY`](limits::RING_CAPACITY).
    pub fn ring_capacity(mut self, messages: usize) -> Self {
        self.ring_capacity = messages;
        self
    }

    /// Ring slots that only facts may take: below the capacity. Default
    /// [`RING_FACT_RESERVE`](limits::RING_FACT_RESERVE).
    pub fn fact_reserve(mut self, messages: usize) -> Self {
        self.fact_reserve = messages;
        self
    }

    /// Results of one submitter that are not taken yet: 1 to 65,535. Default
    /// [`COMPLETION_SLOTS`](limits::COMPLETION_SLOTS).
    pub fn completion_slots(mut self, slots: usize) -> Self {
        self.completion_slots = slots;
        self
    }

    /// A submit that waits this long is reported as slow, and again after each
    /// multiple. Default one minute.
    pub fn slow_submit_after(mut self, threshold: Duration) -> Self {
        self.slow_submit = threshold;
        self
    }

    /// How workers and waiting producers idle. Default: by the number of
    /// workers and CPUs.
    pub fn idle(mut self, idle: IdleStrategy) -> Self {
        self.idle = Some(idle);
        self
    }

    /// Where workers run. Default: wherever the system puts them.
    pub fn pin(mut self, plan: PinPlan) -> Self {
        self.pin = plan;
        self
    }

    /// Who watches. Default: nobody, at no cost.
    pub fn observer<P: Observer>(self, observer: P) -> EngineBuilder<P, C> {
        EngineBuilder {
            shards: self.shards,
            ring_capacity: self.ring_capacity,
            fact_reserve: self.fact_reserve,
            completion_slots: self.completion_slots,
            slow_submit: self.slow_submit,
            idle: self.idle,
            pin: self.pin,
            observer,
            clock: self.clock,
        }
    }

    /// What tells the time. Default: the system.
    pub fn clock<K: Clock + Clone + Send + Sync + 'static>(self, clock: K) -> EngineBuilder<O, K> {
        EngineBuilder {
            shards: self.shards,
            ring_capacity: self.ring_capacity,
            fact_reserve: self.fact_reserve,
            completion_slots: self.completion_slots,
            slow_submit: self.slow_submit,
            idle: self.idle,
            pin: self.pin,
            observer: self.observer,
            clock,
        }
    }

    /// Starts the workers; each builds its driver with `factory` on its own
    /// thread.
    ///
    /// # Errors
    /// A setting out of range, a thread that the system refuses, or a factory
    /// that panics; what was started is stopped again.
    pub fn build<D: LocalDriver>(
        self,
        factory: impl Fn(ShardId) -> D + Send + Sync + 'static,
    ) -> Result<AsyncEngine<D, O, C>, BuildError> {
        // Before anything is pinned: a pinned thread sees only its own CPU.
        let cpus = host::allowed_cpus();
        let (settings, shards) = self.settings(cpus.len())?;
        let core = Arc::new(Core::new(settings, shards, self.observer, self.clock));
        let factory = Arc::new(factory);
        let mut workers = Vec::with_capacity(self.shards);
        let mut pins = Vec::with_capacity(self.shards);
        for shard in 0..shards {
            let cpu = self.pin.cpu_of(usize::from(shard), &cpus);
            let (started, ready) = mpsc::channel::<Started>();
            let worker_core = Arc::clone(&core);
            let factory = Arc::clone(&factory);
            let spawned = thread::Builder::new()
                .name(format!("pitlane-{shard}"))
                .spawn(move || {
                    let pin = cpu.map_or(PinOutcome::NotAsked, host::pin_current_thread);
                    let shard = ShardId(shard);
                    let built = catch_unwind(AssertUnwindSafe(|| factory(shard)));
                    let driver = match built {
                        Ok(driver) => driver,
                        Err(panic) => {
                            fenced(|| drop(panic));
                            drop(Lane::new(worker_core, shard, None));
                            let _ = started.send(Err(BuildError::Driver { shard: shard.0 }));
                            return;
                        }
                    };
                    let mut lane = Lane::new(worker_core, shard, Some(driver));
                    let _ = started.send(Ok(pin));
                    drop(started);
                    lane.run();
                });
            let failed = match spawned {
                Ok(worker) => {
                    workers.push(worker);
                    match ready.recv() {
                        Ok(Ok(pin)) => {
                            pins.push(pin);
                            continue;
                        }
                        Ok(Err(error)) => error,
                        Err(mpsc::RecvError) => BuildError::Driver { shard },
                    }
                }
                Err(error) => BuildError::Thread {
                    shard,
                    reason: error.to_string(),
                },
            };
            // Shards that have no worker have nothing to finish.
            for absent in shard..shards {
                drop(Lane::new(Arc::clone(&core), ShardId(absent), None));
            }
            drop(AsyncEngine::new(core, workers, pins));
            return Err(failed);
        }
        Ok(AsyncEngine::new(core, workers, pins))
    }

    /// Makes an engine without threads: each lane is built and turned by the
    /// thread that it is given to.
    ///
    /// # Errors
    /// A setting out of range.
    pub fn build_inline<D: LocalDriver>(
        self,
        factory: impl Fn(ShardId) -> D + Send + Sync + 'static,
    ) -> Result<Inline<D, O, C>, BuildError> {
        let (settings, shards) = self.settings(host::allowed_cpus().len())?;
        let core = Arc::new(Core::new(settings, shards, self.observer, self.clock));
        let factory: Arc<dyn Fn(ShardId) -> D + Send + Sync> = Arc::new(factory);
        let seeds = (0..shards)
            .map(|shard| LaneSeed::new(Arc::clone(&core), ShardId(shard), Arc::clone(&factory)))
            .collect();
        Ok((AsyncEngine::new(core, Vec::new(), Vec::new()), seeds))
    }
}

impl<O: Observer, C: Clock + Send + Sync + 'static> EngineBuilder<O, C> {
    /// Makes an engine of one shard without threads, whose lane the caller turns.
    ///
    /// # Errors
    /// A setting out of range, or more than one shard.
    pub fn build_here<D: LocalDriver>(self, driver: D) -> Result<Here<D, O, C>, BuildError> {
        let (settings, shards) = self.settings(host::allowed_cpus().len())?;
        if shards != 1 {
            return Err(BuildError::Setting {
                setting: "shards",
                value: usize::from(shards),
                range: "1, for a lane that is made with its driver",
            });
        }
        let core = Arc::new(Core::new(settings, shards, self.observer, self.clock));
        let lane = Lane::new(Arc::clone(&core), ShardId(0), Some(driver));
        Ok((AsyncEngine::new(core, Vec::new(), Vec::new()), lane))
    }
}

impl<O, C> EngineBuilder<O, C> {
    /// Checks every setting.
    fn settings(&self, cpus: usize) -> Result<(Settings, u16), BuildError> {
        let check = |setting, value: usize, ok: bool, range| {
            if ok {
                Ok(())
            } else {
                Err(BuildError::Setting {
                    setting,
                    value,
                    range,
                })
            }
        };
        check(
            "shards",
            self.shards,
            (1..=limits::SHARDS_MAX).contains(&self.shards),
            "1 to 256",
        )?;
        check(
            "ring_capacity",
            self.ring_capacity,
            self.ring_capacity.is_power_of_two() && (4..=65_536).contains(&self.ring_capacity),
            "a power of two from 4 to 65,536",
        )?;
        check(
            "fact_reserve",
            self.fact_reserve,
            self.fact_reserve < self.ring_capacity,
            "below the ring capacity",
        )?;
        let slots = u16::try_from(self.completion_slots).unwrap_or(0);
        check(
            "completion_slots",
            self.completion_slots,
            slots > 0,
            "1 to 65,535",
        )?;
        let shards = u16::try_from(self.shards).unwrap_or(u16::MAX);
        // One submitting thread beside the workers is hot as well.
        let idle = self
            .idle
            .unwrap_or_else(|| IdleStrategy::for_threads(self.shards + 1, cpus));
        Ok((
            Settings {
                ring_capacity: self.ring_capacity,
                fact_reserve: self.fact_reserve,
                completion_slots: slots,
                batch_max: limits::BATCH_MAX,
                slow_submit: self.slow_submit.max(Duration::from_micros(1)),
                idle,
            },
            shards,
        ))
    }
}
