//! The authorizer over the shards' real risk (rules O1 to O4, O14, O23, O24, O27,
//! O28, O30).

#[path = "shard_authority/deciding.rs"]
mod deciding;
#[path = "shard_authority/expiring.rs"]
mod expiring;
#[path = "shard_authority/handle.rs"]
mod handle;
#[path = "shard_authority/hard_inputs.rs"]
mod hard_inputs;
#[path = "support/journaled.rs"]
mod journaled;
#[path = "shard_authority/model.rs"]
mod model;
#[path = "shard_authority/rig.rs"]
mod rig;
#[path = "shard_authority/settling.rs"]
mod settling;
#[path = "support/shard_cases.rs"]
mod shard_cases;
