//! Building a dynamic engine: every setting, its default and its range
//! (rule L3).

use std::sync::Arc;
use std::time::Duration;

use crate::host;
use crate::lanes::desk::Desk;
use crate::lanes::driver::LocalDriver;
use crate::lanes::error::BuildError;
use crate::lanes::key::LaneKey;
use crate::lanes::observer::{NoopObserver, Observer};
use crate::limits;
use crate::time::{Clock, IdleStrategy, SystemClock};
use crate::types::ShardId;

use super::cell::{Factory, SharedDriver};
use super::core::{Core, Settings};
use super::engine::DynamicEngine;
use super::monitor;

/// The settings of a dynamic engine that is not built yet.
#[derive(Clone, Debug)]
#[must_use]
pub struct DynamicBuilder<O, C> {
    workers: Option<usize>,
    max_workers: Option<usize>,
    queue_capacity: usize,
    fact_reserve: usize,
    max_queues: Option<usize>,
    idle_cleanup: Duration,
    completion_slots: usize,
    slow_submit: Duration,
    idle: Option<IdleStrategy>,
    observer: O,
    clock: C,
}

impl Default for DynamicBuilder<NoopObserver, SystemClock> {
    fn default() -> Self {
        Self::new()
    }
}

impl DynamicBuilder<NoopObserver, SystemClock> {
    /// Begins a build; every setting has a default.
    pub fn new() -> Self {
        Self {
            workers: None,
            max_workers: None,
            queue_capacity: limits::QUEUE_CAPACITY,
            fact_reserve: limits::QUEUE_FACT_RESERVE,
            max_queues: None,
            idle_cleanup: Duration::from_secs(300),
            completion_slots: limits::COMPLETION_SLOTS,
            slow_submit: Duration::from_secs(60),
            idle: None,
            observer: NoopObserver,
            clock: SystemClock::new(),
        }
    }
}

impl<O: Observer, C: Clock + Clone + Send + Sync + 'static> DynamicBuilder<O, C> {
    /// Workers from the start: 1 to [`SHARDS_MAX`](limits::SHARDS_MAX). Default:
    /// one for each CPU.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Workers that the pool grows to when all are blocked: from
    /// [`workers`](Self::workers) to [`SHARDS_MAX`](limits::SHARDS_MAX). Default
    /// four times the workers. They stay until the engine stops.
    pub fn max_workers(mut self, workers: usize) -> Self {
        self.max_workers = Some(workers);
        self
    }

    /// Operations that each queue holds: 1 to 65,536. Default
    /// [`QUEUE_CAPACITY`](limits::QUEUE_CAPACITY).
    pub fn queue_capacity(mut self, operations: usize) -> Self {
        self.queue_capacity = operations;
        self
    }

    /// Places of a queue that only facts may take: below the capacity. Default
    /// [`QUEUE_FACT_RESERVE`](limits::QUEUE_FACT_RESERVE).
    pub fn fact_reserve(mut self, operations: usize) -> Self {
        self.fact_reserve = operations;
        self
    }

    /// Queues of accounts, groups and the engine at once, all of them usable;
    /// 0 is no bound. An order of a key without a queue is refused beyond it,
    /// a fact never. Default [`QUEUES_PER_CPU`](limits::QUEUES_PER_CPU) for each
    /// CPU.
    pub fn max_queues(mut self, queues: usize) -> Self {
        self.max_queues = Some(queues);
        self
    }

    /// A queue without an operation for this long, and without an open wrapper,
    /// is retired; looked for every fifth of it. Zero is never. Default five
    /// minutes.
    pub fn idle_cleanup_after(mut self, idle: Duration) -> Self {
        self.idle_cleanup = idle;
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

    /// Who watches. Default: nobody, at no cost.
    pub fn observer<P: Observer>(self, observer: P) -> DynamicBuilder<P, C> {
        let clock = self.clock.clone();
        self.with(observer, clock)
    }

    /// What tells the time. Default: the system.
    pub fn clock<K: Clock + Clone + Send + Sync + 'static>(self, clock: K) -> DynamicBuilder<O, K>
    where
        O: Clone,
    {
        let observer = self.observer.clone();
        self.with(observer, clock)
    }

    fn with<P, K>(self, observer: P, clock: K) -> DynamicBuilder<P, K> {
        DynamicBuilder {
            workers: self.workers,
            max_workers: self.max_workers,
            queue_capacity: self.queue_capacity,
            fact_reserve: self.fact_reserve,
            max_queues: self.max_queues,
            idle_cleanup: self.idle_cleanup,
            completion_slots: self.completion_slots,
            slow_submit: self.slow_submit,
            idle: self.idle,
            observer,
            clock,
        }
    }

    /// Starts the workers, for a driver that each key has of its own: made by
    /// `cell` on a worker when the key is first used, leased by the worker that
    /// runs the key's operations, and kept when its queue is retired. A driver
    /// or handles that are not `Send` do not compile. Only
    /// [`turn`](LocalDriver::turn) after each batch is called of a driver's own
    /// work, and [`takes_work`](LocalDriver::takes_work) and
    /// [`rest`](LocalDriver::rest) are not asked.
    ///
    /// # Errors
    /// A setting out of range, or a thread that the system refuses; what was
    /// started is stopped again.
    pub fn build<D: LocalDriver + Send>(
        self,
        cell: impl Fn(LaneKey) -> D + Send + Sync + 'static,
    ) -> Result<DynamicEngine<D, O, C>, BuildError> {
        self.start(Arc::new(cell), true)
    }

    /// Starts the workers, for one engine that all lanes share. It is released
    /// when the last of its clones is, which the engine's are by a stop.
    ///
    /// # Errors
    /// As for [`build`](Self::build).
    pub fn build_shared<S: SharedDriver>(
        self,
        driver: S,
    ) -> Result<DynamicEngine<Desk<S>, O, C>, BuildError> {
        // The desk learns its queue when it is leased first.
        let cell = move |_: LaneKey| Desk::new(ShardId(0), driver.clone());
        self.start(Arc::new(cell), false)
    }

    fn start<D: LocalDriver + Send>(
        self,
        factory: Factory<D>,
        keep_cells: bool,
    ) -> Result<DynamicEngine<D, O, C>, BuildError> {
        let cpus = host::allowed_cpus().len().max(1);
        let workers = self.workers.unwrap_or(cpus.min(limits::SHARDS_MAX));
        let max_workers = self
            .max_workers
            .unwrap_or(workers.saturating_mul(4).min(limits::SHARDS_MAX));
        let settings = self.settings(workers, max_workers, cpus, keep_cells)?;
        let max_queues = self.max_queues.unwrap_or(limits::QUEUES_PER_CPU * cpus);
        let core = Arc::new(Core::new(
            settings,
            max_queues,
            max_workers,
            factory,
            self.observer,
            self.clock,
        ));
        let failed = |worker: usize, error: &std::io::Error| BuildError::Thread {
            shard: u16::try_from(worker).unwrap_or(u16::MAX),
            reason: error.to_string(),
        };
        let engine = DynamicEngine::new(Arc::clone(&core));
        for _ in 0..workers {
            let Some(index) = core.pool.enlist() else {
                break;
            };
            if let Err(error) = monitor::start_worker(&core, index) {
                core.pool.unlist();
                return Err(failed(index, &error));
            }
        }
        if let Err(error) = monitor::start(&core) {
            return Err(failed(workers, &error));
        }
        Ok(engine)
    }
}

impl<O, C> DynamicBuilder<O, C> {
    /// Checks every setting.
    fn settings(
        &self,
        workers: usize,
        max_workers: usize,
        cpus: usize,
        keep_cells: bool,
    ) -> Result<Settings, BuildError> {
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
        let count = 1..=limits::SHARDS_MAX;
        check("workers", workers, count.contains(&workers), "1 to 256")?;
        check(
            "max_workers",
            max_workers,
            (workers..=limits::SHARDS_MAX).contains(&max_workers),
            "from the number of workers to 256",
        )?;
        check(
            "queue_capacity",
            self.queue_capacity,
            (1..=65_536).contains(&self.queue_capacity),
            "1 to 65,536",
        )?;
        check(
            "fact_reserve",
            self.fact_reserve,
            self.fact_reserve < self.queue_capacity,
            "below the queue capacity",
        )?;
        let slots = u16::try_from(self.completion_slots).unwrap_or(0);
        check(
            "completion_slots",
            self.completion_slots,
            slots > 0,
            "1 to 65,535",
        )?;
        // One submitting thread beside the workers is hot as well.
        let idle = self
            .idle
            .unwrap_or_else(|| IdleStrategy::for_threads(workers + 1, cpus));
        Ok(Settings {
            queue_capacity: self.queue_capacity,
            fact_reserve: self.fact_reserve,
            completion_slots: slots,
            slow_submit: self.slow_submit.max(Duration::from_micros(1)),
            idle_cleanup: self.idle_cleanup,
            keep_cells,
            idle,
        })
    }
}
