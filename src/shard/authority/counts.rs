//! What a shard's authority did.

/// Counts since the shard started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuthorityCounts {
    /// Decisions that were allowed.
    pub allowed: u64,
    /// Decisions that were denied.
    pub denied: u64,
    /// Executions that were booked, with a hold or without.
    pub executed: u64,
    /// Executions that were taken back.
    pub reversed: u64,
    /// Holds that ended.
    pub ended: u64,
    /// Messages and executions that were here before, and changed nothing.
    pub repeated: u64,
    /// Executions that had no hold: booked, and alarmed.
    pub without_hold: u64,
    /// Executions that could not be booked: set aside for a person.
    pub set_aside: u64,
    /// Messages of an executor's log beyond the number that is kept: not taken.
    pub strange_streams: u64,
    /// Orders of an executor's that risk wants cancelled: this shard cannot.
    pub uncancelled: u64,
}
