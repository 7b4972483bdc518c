//! The states of an order, and the moves between them, as data (rule O19).
//!
//! ```text
//!  new ─▶ pending_new ─▶ acked ─▶ partially_filled ─▶ filled
//!   │          │  │        │              │
//!   │          │  └────────┴──────────────┴─▶ cancelled, expired
//!   └──────────┴─▶ rejected
//!              └──────────┴──────────────┴─▶ unknown ─▶ (what the venue says)
//! ```

use core::fmt;

/// Where an order is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderState {
    /// Admitted; nothing was sent.
    New,
    /// It may be at the venue from now on.
    PendingNew,
    /// The venue has it, and nothing has traded.
    Acked,
    /// Some has traded.
    PartiallyFilled,
    /// All has traded. Terminal.
    Filled,
    /// Ended before all had traded. Terminal.
    Cancelled,
    /// It never worked. Terminal.
    Rejected,
    /// Its time has passed. Terminal.
    Expired,
    /// Nobody here knows whether the venue has it (rule O20).
    Unknown,
}

use OrderState::{
    Acked, Cancelled, Expired, Filled, New, PartiallyFilled, PendingNew, Rejected, Unknown,
};

/// Every move that there is; those from `unknown` only by the venue's answer.
const MOVES: [(OrderState, &[OrderState]); 5] = [
    (New, &[PendingNew, Rejected]),
    (
        PendingNew,
        &[
            Acked,
            PartiallyFilled,
            Filled,
            Rejected,
            Expired,
            Unknown,
            Cancelled,
        ],
    ),
    (
        Acked,
        &[PartiallyFilled, Filled, Cancelled, Expired, Unknown],
    ),
    (
        PartiallyFilled,
        &[PartiallyFilled, Filled, Cancelled, Expired, Unknown],
    ),
    (
        Unknown,
        &[Acked, PartiallyFilled, Filled, Cancelled, Rejected, Expired],
    ),
];

/// Who asks for a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mover {
    /// An event, a timeout, a request.
    Event,
    /// The venue's answer to a question about this order (rule O21).
    Reconciliation,
}

impl OrderState {
    /// Every state.
    pub const ALL: [Self; 9] = [
        New,
        PendingNew,
        Acked,
        PartiallyFilled,
        Filled,
        Cancelled,
        Rejected,
        Expired,
        Unknown,
    ];

    /// Whether the order is over.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Filled | Cancelled | Rejected | Expired)
    }

    /// Whether there is a move to `to` for this mover.
    #[must_use]
    pub fn may_move(self, to: Self, mover: Mover) -> bool {
        if self == Unknown && mover != Mover::Reconciliation {
            return false;
        }
        let row = MOVES.iter().find(|(from, _)| *from == self);
        row.is_some_and(|(_, targets)| targets.contains(&to))
    }

    /// The name, as views and reports write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            New => "new",
            PendingNew => "pending_new",
            Acked => "acked",
            PartiallyFilled => "partially_filled",
            Filled => "filled",
            Cancelled => "cancelled",
            Rejected => "rejected",
            Expired => "expired",
            Unknown => "unknown",
        }
    }
}

impl fmt::Display for OrderState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o19_all_81_pairs_with_and_without_reconciliation() {
        // Written out by hand, a row for each state in the order of `ALL`:
        // n p a P f c r e u.
        let by_event = [
            ".x....x..", // new
            "..xxxxxxx", // pending_new
            "...xxx.xx", // acked
            "...xxx.xx", // partially_filled
            ".........", // filled
            ".........", // cancelled
            ".........", // rejected
            ".........", // expired
            ".........", // unknown
        ];
        let mut by_reconciliation = by_event;
        by_reconciliation[8] = "..xxxxxx.";
        let mut allowed = 0;
        for (mover, table) in [
            (Mover::Event, by_event),
            (Mover::Reconciliation, by_reconciliation),
        ] {
            for (from, row) in OrderState::ALL.into_iter().zip(table) {
                for (to, mark) in OrderState::ALL.into_iter().zip(row.bytes()) {
                    assert_eq!(
                        from.may_move(to, mover),
                        mark == b'x',
                        "{from} to {to} by {mover:?}"
                    );
                    allowed += usize::from(mark == b'x');
                }
            }
        }
        assert_eq!(allowed, 19 + 25);
    }

    #[test]
    fn o19_a_terminal_state_is_left_by_nothing() {
        for from in OrderState::ALL.into_iter().filter(|s| s.is_terminal()) {
            for to in OrderState::ALL {
                assert!(!from.may_move(to, Mover::Reconciliation), "{from} to {to}");
            }
        }
        let terminal = OrderState::ALL.into_iter().filter(|s| s.is_terminal());
        assert_eq!(terminal.count(), 4);
    }
}
