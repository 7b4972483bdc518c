//! The monitor: grows a pool whose workers are all blocked, and retires idle
//! queues (rules L2 and L3).

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::lanes::driver::LocalDriver;
use crate::lanes::observer::{Guarded, Hooks, Observer, Place};
use crate::lanes::wake::lock;
use crate::time::Clock;

use super::core::Core;
use super::worker::Worker;

/// Between two looks while work waits. A worker that has neither begun nor
/// ended an operation for this long counts as blocked.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Starts a worker at a place that was enlisted.
pub(super) fn start_worker<D, O, C>(core: &Arc<Core<D, O, C>>, index: usize) -> io::Result<()>
where
    D: LocalDriver + Send,
    O: Observer,
    C: Clock + Send + Sync + 'static,
{
    let mut worker = Worker::new(Arc::clone(core), index);
    let thread = thread::Builder::new()
        .name(format!("pitlane-d{index}"))
        .spawn(move || worker.run())?;
    lock(&core.threads).push(thread);
    Ok(())
}

/// Starts the monitor's thread.
pub(super) fn start<D, O, C>(core: &Arc<Core<D, O, C>>) -> io::Result<()>
where
    D: LocalDriver + Send,
    O: Observer,
    C: Clock + Send + Sync + 'static,
{
    let shared = Arc::clone(core);
    let thread = thread::Builder::new()
        .name("pitlane-monitor".into())
        .spawn(move || run(&shared))?;
    lock(&core.threads).push(thread);
    Ok(())
}

fn run<D, O, C>(core: &Arc<Core<D, O, C>>)
where
    D: LocalDriver + Send,
    O: Observer,
    C: Clock + Send + Sync + 'static,
{
    let mut hooks = Guarded::<O>::new(&core.observer, Place::Producer, &core.observer_health);
    let idle = core.settings.idle_cleanup;
    let idle_ns = u64::try_from(idle.as_nanos()).unwrap_or(u64::MAX);
    let period = idle / 5;
    let next = |from: Instant| from.checked_add(period).filter(|_| !idle.is_zero());
    let mut scan_at = next(Instant::now());
    let mut seen = Vec::new();
    while !core.is_finished() {
        let watched = core.pool.is_watched();
        let now = Instant::now();
        let mut left = scan_at.map_or(Duration::MAX, |at| at.saturating_duration_since(now));
        if watched {
            left = left.min(LOOK_EVERY);
        }
        if !left.is_zero() {
            let nanos = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
            core.pool.monitor.sleep(nanos, || {
                core.is_finished() || core.pool.is_watched() != watched
            });
        }
        if watched && core.pool.look(&mut seen) {
            grow(core);
        }
        if scan_at.is_some_and(|at| Instant::now() >= at) {
            scan_at = next(Instant::now());
            let now = core.clock.now();
            core.table
                .retire_idle(now, idle_ns, core.settings.keep_cells, |key, remaining| {
                    hooks.tell(|hooks| hooks.on_queue_removed(key, remaining));
                });
        }
    }
}

fn grow<D, O, C>(core: &Arc<Core<D, O, C>>)
where
    D: LocalDriver + Send,
    O: Observer,
    C: Clock + Send + Sync + 'static,
{
    let Some(index) = core.pool.enlist_beside() else {
        return;
    };
    // A system without threads leaves the pool as it is; the next look tries
    // again.
    if start_worker(core, index).is_err() && core.pool.unlist() {
        // The others ended meanwhile, and left the closing to this one.
        Worker::new(Arc::clone(core), index).close();
    }
}
