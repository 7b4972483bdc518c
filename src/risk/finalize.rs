//! The end of a reservation: commit, rollback, or its owner's drop (rules K3,
//! K6).

use std::cell::RefCell;
use std::rc::Rc;

use super::account::NONE;
use super::engine::RiskEngine;
use super::order_table::{Entry, Status};
use super::token::{RequestToken, ReservationToken, TokenError};

/// Owns a reservation: dropped unfinished, it is rolled back before the
/// engine's next call (K3). Stays on the shard's thread.
#[derive(Debug)]
pub struct Reservation {
    token: ReservationToken,
    list: Option<Rc<RefCell<Vec<ReservationToken>>>>,
}

impl Reservation {
    /// The plain token.
    #[must_use]
    pub const fn token(&self) -> ReservationToken {
        self.token
    }

    /// Gives ownership up: the token is finished by hand.
    #[must_use]
    pub fn release(mut self) -> ReservationToken {
        self.list = None;
        self.token
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(list) = self.list.take() {
            list.borrow_mut().push(self.token);
        }
    }
}

impl RiskEngine {
    /// An owner for a reservation. One that was finished meanwhile is left
    /// alone when its owner is dropped.
    #[must_use]
    pub fn own(&self, token: ReservationToken) -> Reservation {
        Reservation {
            token,
            list: Some(Rc::clone(&self.dropped)),
        }
    }

    /// Keeps a reservation: the token names the working order's hold from now
    /// on.
    ///
    /// # Errors
    /// The token is stale or committed; nothing was changed.
    #[inline]
    pub fn commit(&mut self, token: ReservationToken) -> Result<(), TokenError> {
        self.settle_dropped();
        match self.entry(token)?.status {
            Status::Reserved => {
                self.orders.get_mut(token.index).status = Status::Working;
                self.finish_order(token.index, true);
                Ok(())
            }
            Status::Working => Err(TokenError::AlreadyCommitted),
            Status::Request | Status::Free => Err(TokenError::Stale),
        }
    }

    /// Undoes a reservation, newest mutation first.
    ///
    /// # Errors
    /// The token is stale or committed; nothing was changed.
    pub fn rollback(&mut self, token: ReservationToken) -> Result<(), TokenError> {
        self.settle_dropped();
        self.undo(token)
    }

    fn undo(&mut self, token: ReservationToken) -> Result<(), TokenError> {
        match self.entry(token)?.status {
            Status::Reserved => {
                self.release_hold(token.index);
                let duplicate = self.orders.get(token.index).hold.duplicate;
                if let Some(entry) = duplicate.checked_sub(1) {
                    self.duplicates.take_back(entry);
                }
                self.finish_order(token.index, false);
                self.forget(token.index);
                Ok(())
            }
            Status::Working => Err(TokenError::AlreadyCommitted),
            Status::Request | Status::Free => Err(TokenError::Stale),
        }
    }

    /// Rolls back what lost its owner since the last call.
    #[inline]
    pub(super) fn settle_dropped(&mut self) {
        if !self.dropped.borrow().is_empty() {
            self.roll_back_dropped();
        }
    }

    #[cold]
    fn roll_back_dropped(&mut self) {
        loop {
            let Some(token) = self.dropped.borrow_mut().pop() else {
                return;
            };
            // One that was finished by hand is stale, and stays as it is.
            let _ = self.undo(token);
        }
    }

    #[inline]
    pub(super) fn entry(&self, token: ReservationToken) -> Result<&Entry, TokenError> {
        if token.shard != self.shard {
            return Err(TokenError::OtherShard(token.shard));
        }
        self.orders.check(token.index, token.generation)
    }

    #[inline]
    pub(super) fn request(&self, token: RequestToken) -> Result<&Entry, TokenError> {
        if token.shard != self.shard {
            return Err(TokenError::OtherShard(token.shard));
        }
        let entry = self.orders.check(token.index, token.generation)?;
        if entry.status == Status::Request {
            Ok(entry)
        } else {
            Err(TokenError::Stale)
        }
    }

    /// Puts an entry at the end of its account's list.
    #[inline]
    pub(super) fn link(&mut self, index: u32) {
        let account = self.accounts.get_mut(self.orders.get(index).account);
        let last = account.last_order;
        account.last_order = index;
        account.open_orders += 1;
        if last == NONE {
            account.first_order = index;
        } else {
            self.orders.get_mut(last).next = index;
            self.orders.get_mut(index).previous = last;
        }
    }

    /// Takes an entry out of its account's list and frees its place.
    pub(super) fn forget(&mut self, index: u32) {
        let Entry {
            account,
            previous,
            next,
            ..
        } = *self.orders.get(index);
        let account = self.accounts.get_mut(account);
        account.open_orders -= 1;
        if previous == NONE {
            account.first_order = next;
        } else {
            self.orders.get_mut(previous).next = next;
        }
        if next == NONE {
            account.last_order = previous;
        } else {
            self.orders.get_mut(next).previous = previous;
        }
        self.orders.remove(index);
    }
}
