//! What a person should look at.

/// Counters of what went otherwise than it should; all of them only rise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecutorCounts {
    /// Moves that the table does not have (rule O19).
    pub illegal_moves: u64,
    /// Fills of orders that were over (rule O24).
    pub late_fills: u64,
    /// Fills beyond what an order was for; its account is blocked.
    pub overfills: u64,
    /// Fills of orders that are none of ours, set aside.
    pub external_fills: u64,
    /// Fills that came again.
    pub duplicate_fills: u64,
    /// Fills that the venue took back.
    pub reversals: u64,
    /// Orders that no answer has settled for longer than configured (O21).
    pub unanswered: u64,
    /// Orders that became unknown.
    pub unknown: u64,
    /// Answers about orders that are none of ours.
    pub foreign_orders: u64,
    /// Orders whose venue says less was filled than was booked.
    pub fill_mismatches: u64,
    /// Decisions that were voided.
    pub voided: u64,
}
