//! Tells of components that failed, while a gateway runs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Builder, JoinHandle};

use pitlane::shard::ShardMonitor;

/// A thread that sleeps until a shard has something to tell.
pub(super) struct Watch {
    thread: JoinHandle<()>,
    over: Arc<AtomicBool>,
}

impl Watch {
    pub(super) fn start(monitors: &[Arc<ShardMonitor>]) -> io::Result<Self> {
        let (monitors, over) = (monitors.to_vec(), Arc::new(AtomicBool::new(false)));
        let told = Arc::clone(&over);
        let thread = Builder::new()
            .name("pitlane-watch".into())
            .spawn(move || look(&monitors, &told))?;
        Ok(Self { thread, over })
    }

    /// Tells the last, and ends.
    pub(super) fn end(self) {
        self.over.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let _ = self.thread.join();
    }
}

fn look(monitors: &[Arc<ShardMonitor>], over: &AtomicBool) {
    for monitor in monitors {
        monitor.watch();
    }
    let mut told_of_end = vec![false; monitors.len()];
    let mut stopping = false;
    loop {
        // Before the look, so that the last one sees all that came before the end.
        let is_last = over.load(Ordering::Acquire);
        for (shard, (monitor, told)) in monitors.iter().zip(&mut told_of_end).enumerate() {
            for alarm in monitor.take_alarms() {
                eprintln!("shard {shard}: {alarm}");
            }
            if monitor.has_journal_failed() && !stopping {
                stopping = true;
                eprintln!("shard {shard}: its journal has failed: nothing more is acknowledged");
                // As if somebody had asked for it; where the signal cannot be
                // sent, the process stays, and answers nobody.
                let _ = signal_hook::low_level::raise(signal_hook::consts::SIGTERM);
            }
            if monitor.is_halted() && !*told {
                *told = true;
                let why = monitor.failure().map_or_else(
                    || "the client reports' own component failed".into(),
                    |failure| failure.to_string(),
                );
                eprintln!(
                    "shard {shard}: callbacks have ended: {why}. New orders are refused, \
                     cancels and fills go on; mend the cause, then restart"
                );
            }
        }
        if is_last {
            break;
        }
        thread::park();
    }
    for (shard, monitor) in monitors.iter().enumerate() {
        let lost = monitor.alarms_lost();
        if lost > 0 {
            eprintln!("shard {shard}: {lost} more alarms found no room");
        }
    }
}
