//! What stands between the parts: venues that outlive who uses them, and the
//! executor's way to an authorizer that may be away.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use super::system::MARKET;
use crate::orders::executor::{Away, Message, Receiver};
use crate::orders::venue::distant::DistantVenue;
use crate::orders::venue::{Capabilities, Venue, VenueError, VenueEvent, VenueOrder};
use crate::shard::authority::ShardReceiver;
use crate::time::UnixNanos;
use crate::types::{ClientOrderId, Price, Quantity};

/// A venue that outlives the shard or executor in front of it.
#[derive(Clone)]
pub(super) struct FarVenue {
    far: Rc<RefCell<DistantVenue>>,
    declares: Rc<Capabilities>,
    submits: Rc<RefCell<Vec<ClientOrderId>>>,
}

impl FarVenue {
    pub(super) fn new(far: DistantVenue) -> Self {
        let declares = far.capabilities().cloned();
        Self {
            far: Rc::new(RefCell::new(far)),
            declares: Rc::new(declares.unwrap_or_else(Capabilities::everything)),
            submits: Rc::default(),
        }
    }

    pub(super) fn far(&self) -> RefMut<'_, DistantVenue> {
        self.far.borrow_mut()
    }

    /// A venue has a clock of its own: nobody's wall that is set back stops it.
    pub(super) fn arrive(&self, now: UnixNanos) {
        self.far().advance_to(now);
    }

    /// Orders that were handed over, whatever became of them on the line.
    pub(super) fn submits(&self) -> Vec<ClientOrderId> {
        self.submits.borrow().clone()
    }

    pub(super) fn sent(&self) -> usize {
        self.submits.borrow().len()
    }
}

impl Venue for FarVenue {
    fn capabilities(&self) -> Option<&Capabilities> {
        Some(&self.declares)
    }

    fn submit(&mut self, order: &VenueOrder) -> Result<(), VenueError> {
        self.far().submit(order)?;
        self.submits.borrow_mut().push(order.id);
        Ok(())
    }

    fn cancel(&mut self, id: ClientOrderId) -> Result<(), VenueError> {
        self.far().cancel(id)
    }

    fn replace(&mut self, id: ClientOrderId, at: Price, of: Quantity) -> Result<(), VenueError> {
        self.far().replace(id, at, of)
    }

    fn query(&mut self, id: ClientOrderId) -> Result<(), VenueError> {
        self.far().query(id)
    }

    fn query_open(&mut self) -> Result<(), VenueError> {
        self.far().query_open()
    }

    fn next_event(&mut self) -> Option<VenueEvent> {
        loop {
            let event = self.far().next_event()?;
            // Everybody else's are not told to this member.
            if event.order().is_none_or(|id| id.high != MARKET) {
                return Some(event);
            }
        }
    }
}

/// The executor's way to the authorizer.
#[derive(Clone, Default)]
pub(super) struct AuthorityLine(Rc<RefCell<LineState>>);

#[derive(Default)]
struct LineState {
    away: bool,
    /// The authorizer is another than before: what was offered is lost.
    is_cut: bool,
    receiver: Option<ShardReceiver>,
}

impl AuthorityLine {
    /// Leads to another authorizer from now on.
    pub(super) fn connect(&self, receiver: ShardReceiver) {
        let mut state = self.0.borrow_mut();
        state.is_cut = true;
        state.receiver = Some(receiver);
    }

    pub(super) fn set_away(&self, away: bool) {
        self.0.borrow_mut().away = away;
    }

    pub(super) fn is_away(&self) -> bool {
        self.0.borrow().away
    }

    fn reach<T>(&self, act: impl FnOnce(&mut ShardReceiver) -> Result<T, Away>) -> Result<T, Away> {
        let mut state = self.0.borrow_mut();
        if core::mem::take(&mut state.is_cut) || state.away {
            return Err(Away);
        }
        state.receiver.as_mut().map_or(Err(Away), act)
    }
}

impl Receiver for AuthorityLine {
    fn offer(&mut self, message: &Message) -> Result<(), Away> {
        self.reach(|receiver| receiver.offer(message))
    }

    fn taken(&mut self) -> Result<u64, Away> {
        self.reach(Receiver::taken)
    }
}
