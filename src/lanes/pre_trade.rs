//! What a desk needs of a risk engine (rules L1, L13 to L15).

use core::fmt;

use crate::time::Nanos;
use crate::types::AccountId;

use super::key::LaneKey;

/// The pre-trade calls of an engine, as a [`Desk`](super::Desk) drives them.
///
/// Requests and reservations stay on the worker and may be `!Send`; what
/// crosses threads is a wrapper with a copy of [`View`](Self::View). Every call
/// answers `Err` for the driver's own failure, which travels unchanged; a
/// refusal is a value. No call may block.
pub trait PreTradeDriver: Sized + 'static {
    /// An order on its way in.
    type Order: Send + 'static;
    /// A started request (between the two stages).
    type Request: 'static;
    /// An accepted order's reservation, or an applied drop copy.
    type Reservation: 'static;
    /// What a reservation's wrapper shows without queueing: its lock and the
    /// account's adjustments; of bounded size.
    type View: Clone + Send + 'static;
    /// As [`View`](Self::View) for a drop copy, with the account's block as it
    /// was when it was applied.
    type DropCopyView: Clone + Send + 'static;
    /// Why an order is refused.
    type Rejects: Send + 'static;
    /// An execution report.
    type Report: Send + 'static;
    /// What a report did.
    type Settled: Send + 'static;
    /// A batch of account adjustments.
    type Adjustments: Send + 'static;
    /// What a batch of them did.
    type Adjusted: Send + 'static;
    /// The driver's own failure.
    type Error: Send + fmt::Debug + 'static;

    /// Whose order; `None` is `MissingAccountId`, and the driver is not called.
    fn account_of(order: &Self::Order) -> Option<AccountId>;

    /// Whose report; `None` is `MissingAccountId`, with the report back.
    fn report_account(report: &Self::Report) -> Option<AccountId>;

    /// Whether rejects name no reason at all: then the driver broke its
    /// contract, and the call resolves `DriverResult`.
    fn is_malformed(rejects: &Self::Rejects) -> bool;

    /// The first stage.
    ///
    /// # Errors
    /// The driver's own.
    fn start_pre_trade(
        &mut self,
        order: &Self::Order,
        now: Nanos,
    ) -> Result<Result<Self::Request, Self::Rejects>, Self::Error>;

    /// The second stage; the request is used up.
    ///
    /// # Errors
    /// The driver's own.
    fn execute(
        &mut self,
        request: Self::Request,
        now: Nanos,
    ) -> Result<Result<Self::Reservation, Self::Rejects>, Self::Error>;

    /// Both stages.
    ///
    /// # Errors
    /// The driver's own.
    fn execute_pre_trade(
        &mut self,
        order: &Self::Order,
        now: Nanos,
    ) -> Result<Result<Self::Reservation, Self::Rejects>, Self::Error>;

    /// What both stages would answer now; changes nothing.
    ///
    /// # Errors
    /// The driver's own.
    fn check_order(
        &mut self,
        order: &Self::Order,
        now: Nanos,
    ) -> Result<Result<(), Self::Rejects>, Self::Error>;

    /// Follows an order that was placed elsewhere.
    ///
    /// # Errors
    /// The driver's own.
    #[allow(clippy::type_complexity)]
    fn apply_drop_copy(
        &mut self,
        order: &Self::Order,
        now: Nanos,
    ) -> Result<Result<(Self::Reservation, Self::DropCopyView), Self::Rejects>, Self::Error>;

    /// Books a report.
    ///
    /// # Errors
    /// The driver's own; nothing was booked.
    fn apply_execution_report(
        &mut self,
        report: &Self::Report,
        now: Nanos,
    ) -> Result<Self::Settled, Self::Error>;

    /// Adjusts an account.
    ///
    /// # Errors
    /// The driver's own; nothing was adjusted.
    fn apply_account_adjustment(
        &mut self,
        account: AccountId,
        adjustments: &Self::Adjustments,
        now: Nanos,
    ) -> Result<Self::Adjusted, Self::Error>;

    /// Forgets an account.
    ///
    /// # Errors
    /// The driver's own; the account stays.
    fn retire_account(&mut self, account: AccountId, now: Nanos) -> Result<(), Self::Error>;

    /// What a new reservation's wrapper shows.
    fn view(&self, reservation: &Self::Reservation) -> Self::View;

    /// Keeps a reservation.
    ///
    /// # Errors
    /// The driver's own.
    fn commit(
        &mut self,
        reservation: &mut Self::Reservation,
        now: Nanos,
    ) -> Result<(), Self::Error>;

    /// Undoes a reservation.
    ///
    /// # Errors
    /// The driver's own.
    fn rollback(
        &mut self,
        reservation: &mut Self::Reservation,
        now: Nanos,
    ) -> Result<(), Self::Error>;

    /// Gives up a request that was not executed.
    fn abandon(&mut self, request: Self::Request);

    /// As [`LocalDriver::turn`](super::LocalDriver::turn).
    fn turn(&mut self, now: Nanos, budget: usize) -> bool {
        let _ = (now, budget);
        false
    }

    /// As [`LocalDriver::panicked`](super::LocalDriver::panicked).
    fn panicked(&mut self, key: Option<LaneKey>) {
        let _ = key;
    }
}
