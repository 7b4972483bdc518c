//! What happens to a shard between its making and its first order, and what its
//! maker hears of it.

use std::panic::resume_unwind;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use pitlane::shard::ShardMonitor;
use pitlane::types::ShardId;

use super::shard::Shard;
use super::{Site, StartError, Strategies};
use crate::config::{CallbackHalt, Config};

/// Shared by the threads that make shards and the one that starts the gateway.
pub(super) struct Births {
    strategies: Strategies,
    has_drop_copy: bool,
    /// Set by the first shard whose callbacks end, where that ends all.
    all: Option<Arc<AtomicBool>>,
    monitors: Mutex<Vec<(ShardId, Arc<ShardMonitor>)>>,
    failure: Mutex<Option<StartError>>,
}

impl Births {
    pub(super) fn new(config: &Config, strategies: &Strategies) -> Self {
        Self {
            strategies: strategies.clone(),
            has_drop_copy: config
                .credentials
                .iter()
                .any(|one| one.permissions.drop_copy),
            all: match config.engine.callback_halt {
                CallbackHalt::Shard => None,
                CallbackHalt::All => Some(Arc::default()),
            },
            monitors: Mutex::default(),
            failure: Mutex::default(),
        }
    }

    /// Installs the strategies.
    pub(super) fn equip(&self, mut shard: Shard, shards: u16) -> Shard {
        let copied = if self.has_drop_copy {
            shard.copy_reports().map_err(Into::into)
        } else {
            Ok(())
        };
        let ports = shard.ports();
        let installed = copied.and_then(|()| self.strategies.install(&Site::new(ports, shards)));
        if let Err(reason) = installed {
            let shard = ports.shard();
            *lock(&self.failure) = Some(StartError::Strategy { shard, reason });
            // The engine turns this into an error of its start.
            resume_unwind(Box::new("a strategy cannot be installed"));
        }
        let monitor = shard.monitor();
        if let Some(all) = &self.all {
            monitor.bind(all);
        }
        lock(&self.monitors).push((ports.shard(), monitor));
        shard
    }

    /// A shard cannot be what its journal says.
    pub(super) fn refuse(&self, why: StartError) -> ! {
        *lock(&self.failure) = Some(why);
        // The engine turns this into an error of its start.
        resume_unwind(Box::new("a shard cannot be restored"));
    }

    /// Why a shard was not born.
    pub(super) fn failure(&self) -> Option<StartError> {
        lock(&self.failure).take()
    }

    /// Of every shard, in order.
    pub(super) fn monitors(&self) -> Vec<Arc<ShardMonitor>> {
        let mut monitors = lock(&self.monitors);
        monitors.sort_by_key(|(shard, _)| *shard);
        monitors.iter().map(|(_, one)| Arc::clone(one)).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
