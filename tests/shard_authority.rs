//! The authorizer over the shards' real risk (rules O1 to O4, O14, O23, O24, O27,
//! O30).

#[path = "shard_authority/handle.rs"]
mod handle;
