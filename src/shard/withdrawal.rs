//! Cancels that no client asked for: of resting orders that risk will not let
//! meet an own order (K39), and of what works when a kill switch says so (K31).

use super::Admission;
use crate::orders::venue::Venue;
use crate::orders::{IdentitySource, PendingCancel};
use crate::types::{AccountId, RejectCode};

impl<V: Venue, I: IdentitySource> Admission<V, I> {
    /// Cancels what risk asked for since the last call. Before an order is
    /// sent, so that what it must not meet leaves the book first.
    pub(super) fn withdraw_asked(&mut self) {
        let wanted = &mut self.wanted;
        self.risk.take_cancels(&mut |token| wanted.push_back(token));
        self.withdraw_wanted();
    }

    /// Cancels all that an account has working.
    pub(super) fn withdraw_account(&mut self, account: AccountId) {
        let wanted = &mut self.wanted;
        self.risk
            .working_orders(account, &mut |token| wanted.push_back(token));
        self.withdraw_wanted();
    }

    /// Cancels everything, once, when the firm's kill switch is thrown and the
    /// configuration asks for it; whichever shard threw it.
    pub(super) fn follow_halt(&mut self) {
        let halted = self.risk.halted();
        if halted == self.halted {
            return;
        }
        self.halted = halted;
        let by_pnl = halted == Some(RejectCode::PnlKillSwitchTriggered);
        if by_pnl && self.risk.config().pnl.cancel_working {
            let wanted = &mut self.wanted;
            self.risk
                .working_orders_of(None, &mut |token| wanted.push_back(token));
            self.withdraw_wanted();
        }
    }

    /// Sends what waits, as far as the venue takes it; the rest is tried again
    /// in the next turn.
    pub(super) fn withdraw_wanted(&mut self) {
        while let Some(&token) = self.wanted.front() {
            match self.orders.holder_mut(token) {
                Some(order) if order.cancelling.is_none() => match self.outlet.cancel(order.id) {
                    Ok(()) => {
                        order.cancelling = Some(PendingCancel::Risk);
                        let id = order.id;
                        self.touch_order(id);
                    }
                    Err(_) => return,
                },
                // On its way out already is as good.
                Some(_) => {}
                // So is over meanwhile; but it may be an executor's.
                None => self.note_uncancelled(token),
            }
            self.wanted.pop_front();
        }
    }
}
