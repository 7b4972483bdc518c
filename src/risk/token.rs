//! What crosses threads in place of a reservation: plain numbers that go stale
//! (rules K3 and K6).

use crate::types::ShardId;

macro_rules! token {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name {
            /// The shard that holds what the token names.
            pub shard: ShardId,
            /// Its place there.
            pub index: u32,
            /// Which of the place's tenants: odd while it is there.
            pub generation: u32,
        }
    };
}

token! {
    /// A started request, between the two stages (rule K1).
    RequestToken
}
token! {
    /// A reservation, and after its commit the working order's hold.
    ReservationToken
}

/// Why a token is of no use; the call changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// What it named was finished before: committed and ended, rolled back, or
    /// executed.
    #[error("the token is stale: what it named is finished")]
    Stale,
    /// It is committed already.
    #[error("the reservation is committed already")]
    AlreadyCommitted,
    /// It is a reservation that was never committed.
    #[error("the reservation is not committed yet")]
    NotCommitted,
    /// It belongs to another shard.
    #[error("the token is of shard {0}, not of this one")]
    OtherShard(ShardId),
}
