//! Lanes: one worker per shard, and every account's operations in order.
