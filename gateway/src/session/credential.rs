//! Who may log on, and what they may then do (rule G8).

use core::fmt;

use pitlane::types::AccountId;

/// The number of a credential; it goes with every command, so that references
/// survive connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CredentialId(pub u16);

impl fmt::Display for CredentialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// What a credential may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Permissions {
    /// New orders and replaces.
    pub enter: bool,
    /// Cancels.
    pub cancel: bool,
    /// A copy of every report of its accounts, whoever sent the command.
    pub drop_copy: bool,
}

impl Permissions {
    /// Everything about its own orders.
    pub const TRADE: Self = Self {
        enter: true,
        cancel: true,
        drop_copy: false,
    };
    /// Cancels alone.
    pub const CANCEL_ONLY: Self = Self {
        enter: false,
        cancel: true,
        drop_copy: false,
    };
    /// Copies of reports alone.
    pub const DROP_COPY: Self = Self {
        enter: false,
        cancel: false,
        drop_copy: true,
    };
}

/// One agent's credential, as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// Its number, unique in a gateway.
    pub id: CredentialId,
    /// The Ed25519 key that proves it, compressed.
    pub public_key: [u8; 32],
    /// The accounts that it may use; any order, repeats do no harm.
    pub accounts: Vec<AccountId>,
    /// What it may do.
    pub permissions: Permissions,
    /// Commands that may be unanswered at once, from 1. Beyond it new orders and
    /// replaces are refused; cancels count, but are not.
    pub max_in_flight: u32,
}
