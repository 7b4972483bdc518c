//! What sessions count, for whoever looks on.

/// Totals since the start; each is written by one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Commands handed to the core.
    pub commands: u64,
    /// Refused by the gateway itself.
    pub refused: u64,
    /// Messages with a sequence number that had been seen; ignored.
    pub duplicates: u64,
    /// `NotApplied` sent.
    pub gaps: u64,
    /// Messages with a template that this version does not know; skipped.
    pub skipped: u64,
    /// Reports written for clients.
    pub reports: u64,
    /// Logons that were refused.
    pub logons_refused: u64,
    /// Sessions that were established.
    pub established: u64,
}
