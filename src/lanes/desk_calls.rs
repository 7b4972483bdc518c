//! The typed calls of a submitter over desks (rules L13, L15, L16).

use std::time::Duration;

use crate::time::{Clock, Nanos};
use crate::types::AccountId;

use super::desk::{Desk, checked};
use super::dynamic::DynamicSubmitter;
use super::error::{Failure, LaneError};
use super::future::{LaneFuture, Outcome};
use super::handles::{Handle, HandleToken};
use super::key::LaneKey;
use super::observer::Observer;
use super::operation::{Operation, Site};
use super::pre_trade::PreTradeDriver;
use super::slab::Slot;
use super::submitter::{Class, Patience, Submitter};
use super::wrapper::{AsyncDropCopy, AsyncRequest, AsyncReservation, Verdict};

/// How long a typed call may wait for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all: a full lane answers `Full`, with the payload.
    No,
    /// As long as it takes.
    ForRoom,
    /// At most this long; then `SubmitCancelled`, with the payload.
    AtMost(Duration),
}

impl Wait {
    pub(super) fn patience(self) -> Patience {
        match self {
            Self::No => Patience::No,
            Self::ForRoom => Patience::Until(None),
            Self::AtMost(timeout) => Patience::within(timeout),
        }
    }
}

macro_rules! operation {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* } payload $payload:ident: $Payload:ty,
     $Value:ty, |$this:ident, $desk:ident, $now:ident, $slot:ident| $body:expr) => {
        $(#[$doc])*
        struct $name<D: PreTradeDriver> { $($field: $type),* }

        impl<D: PreTradeDriver> Operation<Desk<D>> for $name<D> {
            type Value = $Value;
            type Error = D::Error;
            type Payload = $Payload;

            fn run(
                self,
                $desk: &mut Desk<D>,
                $now: Nanos,
                $slot: Slot,
            ) -> Outcome<$Value, D::Error, $Payload> {
                let $this = self;
                $body.map_err(|failure: Failure<D::Error>| Failure::without_payload(failure.error))
            }

            fn abort(self) -> Option<$Payload> {
                Some(self.$payload)
            }
        }
    };
}

operation!(Start { order: D::Order, account: AccountId } payload order: D::Order,
Verdict<AsyncRequest<D>, D::Rejects>, |this, desk, now, slot| {
    match checked::<D, _>(desk.driver.start_pre_trade(&this.order, now)) {
        Ok(Ok(request)) => {
            let account = this.account;
            let handle = Handle::Request { request, account };
            Ok(Ok(AsyncRequest::new(desk.hold(slot, handle))))
        }
        Ok(Err(rejects)) => Ok(Err(rejects)),
        Err(failure) => Err(failure),
    }
});

operation!(ExecuteBoth { order: D::Order } payload order: D::Order,
Verdict<AsyncReservation<D>, D::Rejects>, |this, desk, now, slot| {
    let answer = desk.driver.execute_pre_trade(&this.order, now);
    desk.judged(slot, answer)
});

operation!(Check { order: D::Order } payload order: D::Order,
Verdict<(), D::Rejects>, |this, desk, now, _slot| {
    checked::<D, _>(desk.driver.check_order(&this.order, now))
});

operation!(DropCopy { order: D::Order } payload order: D::Order,
Verdict<AsyncDropCopy<D>, D::Rejects>, |this, desk, now, slot| {
    match checked::<D, _>(desk.driver.apply_drop_copy(&this.order, now)) {
        Ok(Ok((reservation, view))) => {
            let handle = Handle::Reservation { reservation, finished: false };
            Ok(Ok(AsyncReservation::new(desk.hold(slot, handle), view)))
        }
        Ok(Err(rejects)) => Ok(Err(rejects)),
        Err(failure) => Err(failure),
    }
});

/// Books an execution report; a chain of its account that waits hears of it.
struct Settle<D: PreTradeDriver> {
    report: D::Report,
}

impl<D: PreTradeDriver> Operation<Desk<D>> for Settle<D> {
    type Value = D::Settled;
    type Error = D::Error;
    type Payload = D::Report;

    fn run(
        self,
        desk: &mut Desk<D>,
        now: Nanos,
        _slot: Slot,
    ) -> Outcome<D::Settled, D::Error, D::Report> {
        desk.driver
            .apply_execution_report(&self.report, now)
            .map_err(|error| Failure::without_payload(LaneError::Driver(error)))
    }

    fn start(
        self,
        site: Site<'_, Desk<D>>,
        _slot: Slot,
    ) -> Option<Outcome<D::Settled, D::Error, D::Report>> {
        let settled = site
            .driver
            .driver
            .apply_execution_report(&self.report, site.now);
        let account = D::report_account(&self.report);
        if let (Some(waits), Ok(settled), Some(account)) = (site.waits, &settled, account) {
            waits.hear(LaneKey::Account(account), &self.report, settled);
        }
        Some(settled.map_err(|error| Failure::without_payload(LaneError::Driver(error))))
    }

    fn abort(self) -> Option<D::Report> {
        Some(self.report)
    }
}

operation!(Adjust { account: AccountId, adjustments: D::Adjustments }
payload adjustments: D::Adjustments, D::Adjusted, |this, desk, now, _slot| {
    desk.driver
        .apply_account_adjustment(this.account, &this.adjustments, now)
        .map_err(|error| Failure::without_payload(LaneError::Driver(error)))
});

/// A plain commit or rollback: the wrapper stays.
struct Finalize {
    token: HandleToken,
    wrapper: Slot,
    commit: bool,
}

impl<D: PreTradeDriver> Operation<Desk<D>> for Finalize {
    type Value = ();
    type Error = D::Error;
    type Payload = ();

    fn run(self, desk: &mut Desk<D>, now: Nanos, _slot: Slot) -> Outcome<(), D::Error> {
        let answer = desk.finalize(self.token, self.commit, now);
        // The wrapper's closing call is behind this one, so its slot is alive.
        self.wrapper.set_finalizing(false);
        answer.map_err(Failure::without_payload)
    }

    fn abort(self) -> Option<()> {
        self.wrapper.set_finalizing(false);
        None
    }
}

/// The future of a typed call: its value, the driver's error, and what comes
/// back where the driver has not seen it.
pub type CallFuture<D, T, P = ()> = LaneFuture<T, <D as PreTradeDriver>::Error, P>;
/// The future of a call on an order that may be refused.
pub type OrderFuture<D, T> =
    CallFuture<D, Verdict<T, <D as PreTradeDriver>::Rejects>, <D as PreTradeDriver>::Order>;

/// The typed calls, for the submitter of each strategy: they differ only in how
/// an operation gets to its lane.
macro_rules! typed_calls {
    ($Submitter:ident $(where $($bound:tt)*)?) => {
        impl<D: PreTradeDriver, O: Observer, C: Clock> $Submitter<Desk<D>, O, C>
        $(where $($bound)*)?
        {
            /// The first stage, in the account's lane.
            pub fn start_pre_trade(
                &mut self,
                order: D::Order,
                wait: Wait,
            ) -> OrderFuture<D, AsyncRequest<D>> {
                self.on_order(order, wait, Class::Order, |order, account| Start::<D> {
                    order,
                    account,
                })
            }

            /// Both stages, in the account's lane.
            pub fn execute_pre_trade(
                &mut self,
                order: D::Order,
                wait: Wait,
            ) -> OrderFuture<D, AsyncReservation<D>> {
                self.on_order(order, wait, Class::Order, |order, _| ExecuteBoth::<D> {
                    order,
                })
            }

            /// What both stages would answer; changes nothing.
            pub fn check_order(&mut self, order: D::Order, wait: Wait) -> OrderFuture<D, ()> {
                self.on_order(order, wait, Class::Order, |order, _| Check::<D> { order })
            }

            /// Follows an order that was placed elsewhere: a fact, which may use the
            /// ring's reserve.
            pub fn apply_drop_copy(
                &mut self,
                order: D::Order,
                wait: Wait,
            ) -> OrderFuture<D, AsyncDropCopy<D>> {
                self.on_order(order, wait, Class::Fact, |order, _| DropCopy::<D> { order })
            }

            /// Books an execution report: a fact.
            pub fn apply_execution_report(
                &mut self,
                report: D::Report,
                wait: Wait,
            ) -> CallFuture<D, D::Settled, D::Report> {
                let Some(account) = D::report_account(&report) else {
                    return LaneFuture::ready(Err(Failure {
                        error: LaneError::MissingAccountId,
                        payload: Some(report),
                    }));
                };
                let key = LaneKey::Account(account);
                self.call(key, Settle::<D> { report }, Class::Fact, wait)
            }

            /// Adjusts an account: a fact.
            pub fn apply_account_adjustment(
                &mut self,
                account: AccountId,
                adjustments: D::Adjustments,
                wait: Wait,
            ) -> CallFuture<D, D::Adjusted, D::Adjustments> {
                let operation = Adjust::<D> {
                    account,
                    adjustments,
                };
                self.call(LaneKey::Account(account), operation, Class::Fact, wait)
            }

            /// Forgets an account, in its lane; the driver's answer is the value.
            pub fn retire_account(
                &mut self,
                account: AccountId,
                timeout: Duration,
            ) -> LaneFuture<Result<(), D::Error>> {
                self.submit_within(
                    account,
                    // The engine judges by its own state; it needs no clock for it.
                    move |desk: &mut Desk<D>| desk.driver.retire_account(account, Nanos::default()),
                    timeout,
                )
            }

            /// Commits a reservation that stays readable until it is closed. Aborted,
            /// it keeps its reservation.
            pub fn commit<V>(&mut self, wrapper: &AsyncReservation<D, V>) -> CallFuture<D, ()> {
                self.finalize(wrapper, true)
            }

            /// Rolls a reservation back; as [`commit`](Self::commit).
            pub fn rollback<V>(&mut self, wrapper: &AsyncReservation<D, V>) -> CallFuture<D, ()> {
                self.finalize(wrapper, false)
            }

            fn finalize<V>(&mut self, wrapper: &AsyncReservation<D, V>, commit: bool) -> CallFuture<D, ()> {
                let held = wrapper.held();
                let slot = held.slot();
                if held.is_sent() {
                    return LaneFuture::ready(Err(Failure::without_payload(LaneError::Closed)));
                }
                if slot.engine() != self.core.id {
                    return LaneFuture::ready(Err(Failure::without_payload(LaneError::DriverResult)));
                }
                slot.set_finalizing(true);
                let operation = Finalize {
                    token: held.token(),
                    wrapper: slot,
                    commit,
                };
                self.operate_at(held.home(), operation)
                    .unwrap_or_else(|refused| {
                    slot.set_finalizing(false);
                    LaneFuture::ready(Err(Failure::without_payload(refused.error.widen())))
                })
            }

            fn on_order<Op>(
                &mut self,
                order: D::Order,
                wait: Wait,
                class: Class,
                operation: impl FnOnce(D::Order, AccountId) -> Op,
            ) -> LaneFuture<Op::Value, D::Error, D::Order>
            where
                Op: Operation<Desk<D>, Error = D::Error, Payload = D::Order>,
            {
                let Some(account) = D::account_of(&order) else {
                    return LaneFuture::ready(Err(Failure {
                        error: LaneError::MissingAccountId,
                        payload: Some(order),
                    }));
                };
                self.call(LaneKey::Account(account), operation(order, account), class, wait)
            }

            fn call<Op, P: Send>(
                &mut self,
                key: LaneKey,
                operation: Op,
                class: Class,
                wait: Wait,
            ) -> LaneFuture<Op::Value, D::Error, P>
            where
                Op: Operation<Desk<D>, Error = D::Error, Payload = P>,
            {
                self.operate(key, operation, class, wait.patience())
                    .unwrap_or_else(|refused| {
                        LaneFuture::ready(Err(Failure {
                            error: refused.error.widen(),
                            payload: refused.payload.abort(),
                        }))
                    })
            }
        }
    };
}

typed_calls!(Submitter);
typed_calls!(DynamicSubmitter where Desk<D>: Send);
