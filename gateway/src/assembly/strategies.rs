//! Components that the owner of a gateway adds to its shards.

use std::error::Error;
use std::sync::Arc;

use pitlane::shard::ComponentPorts;
use pitlane::types::AccountId;

use super::settings::shard_of;

/// Why a strategy cannot be installed, in its own words.
pub type InstallError = Box<dyn Error + Send + Sync>;

/// A shard that strategies are installed into.
pub struct Site<'a> {
    /// To add components, and what they send with.
    pub ports: ComponentPorts<'a>,
    shards: u16,
}

impl<'a> Site<'a> {
    pub(super) const fn new(ports: ComponentPorts<'a>, shards: u16) -> Self {
        Self { ports, shards }
    }

    /// Whether the account is of this shard. It is of no other: its orders have to
    /// be sent from here, and its fills are told here.
    #[must_use]
    pub fn owns(&self, account: AccountId) -> bool {
        shard_of(account, self.shards) == self.ports.shard()
    }
}

type Install = dyn Fn(&Site<'_>) -> Result<(), InstallError> + Send + Sync;

/// What is installed into every shard before it takes its first order.
#[derive(Clone, Default)]
pub struct Strategies(Vec<Arc<Install>>);

impl Strategies {
    /// None.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// And these: `install` is called once for each shard, on its thread; what it
    /// adds is told behind what was installed before.
    #[must_use]
    pub fn and(
        mut self,
        install: impl Fn(&Site<'_>) -> Result<(), InstallError> + Send + Sync + 'static,
    ) -> Self {
        self.0.push(Arc::new(install));
        self
    }

    pub(super) fn install(&self, site: &Site<'_>) -> Result<(), InstallError> {
        self.0.iter().try_for_each(|install| install(site))
    }
}
