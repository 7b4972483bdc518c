//! One venue for several shards: a ring to its host and a ring back for each.
//!
//! A venue has one owner. Where several shards trade on it, a host owns it on a
//! thread of its own and every shard holds a [`VenueLink`], which is a venue to
//! that shard. The host is a function of its rings: [`VenueHost::turn`] never
//! blocks, so a simulator can call it as well as a thread.
//!
//! Requests of one shard reach the venue in order; those of different shards
//! meet there as they come, as they do at a real one.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use rtrb::{Consumer, Producer, RingBuffer};

use super::{Capabilities, Venue, VenueError, VenueEvent, VenueOrder};
use crate::limits::{VENUE_EVENT_RING_CAPACITY, VENUE_REQUEST_RING_CAPACITY};
use crate::time::UnixNanos;
use crate::types::{ClientOrderId, Price, Quantity, RejectCode};

/// What an order gets that reaches a venue which is down.
const DOWN: RejectCode = RejectCode::SystemUnavailable;

/// What a shard asks of the venue.
#[derive(Clone, Copy)]
enum Request {
    Submit(VenueOrder),
    Cancel(ClientOrderId),
    Replace {
        id: ClientOrderId,
        price: Price,
        quantity: Quantity,
    },
    Query(ClientOrderId),
    QueryOpen,
}

/// A shard's end of a hosted venue.
pub struct VenueLink {
    requests: Producer<Request>,
    events: Consumer<VenueEvent>,
    capabilities: Option<Arc<Capabilities>>,
}

/// The host's end of one shard's rings.
struct Port {
    requests: Consumer<Request>,
    events: Producer<VenueEvent>,
    /// Events that found the ring full; while there are any, the host takes no
    /// requests of this shard.
    kept: VecDeque<VenueEvent>,
    /// Who is told that events have come.
    bell: Option<Box<dyn Fn() + Send>>,
    /// Whether any came in this turn.
    given: bool,
}

/// The owner of a venue that several shards trade on.
pub struct VenueHost<V> {
    venue: V,
    ports: Vec<Port>,
    /// Which shard an order that is not over belongs to.
    owners: HashMap<ClientOrderId, usize, foldhash::fast::RandomState>,
    /// Which shard waits for the answer about an order that is over.
    askers: HashMap<ClientOrderId, usize, foldhash::fast::RandomState>,
    /// Who asked for all that works, the oldest first, and how many of those
    /// orders it was told of.
    asked_for_all: VecDeque<(usize, u64)>,
    /// Events for orders that no shard sent here.
    stray: u64,
}

/// A host for `venue`, and a link for each of `shards`.
#[must_use]
pub fn host_venue<V: Venue>(venue: V, shards: usize) -> (VenueHost<V>, Vec<VenueLink>) {
    let mut ports = Vec::with_capacity(shards);
    let mut links = Vec::with_capacity(shards);
    let capabilities = venue.capabilities().cloned().map(Arc::new);
    for _ in 0..shards {
        let (to_host, from_shard) = RingBuffer::new(VENUE_REQUEST_RING_CAPACITY);
        let (to_shard, from_host) = RingBuffer::new(VENUE_EVENT_RING_CAPACITY);
        ports.push(Port {
            requests: from_shard,
            events: to_shard,
            kept: VecDeque::new(),
            bell: None,
            given: false,
        });
        links.push(VenueLink {
            requests: to_host,
            events: from_host,
            capabilities: capabilities.clone(),
        });
    }
    (
        VenueHost {
            venue,
            ports,
            owners: HashMap::default(),
            askers: HashMap::default(),
            asked_for_all: VecDeque::new(),
            stray: 0,
        },
        links,
    )
}

impl<V: Venue> VenueHost<V> {
    /// Calls `bell` at the end of every turn in which the link, by its place, was
    /// given events: to wake a thread that does not look by itself.
    ///
    /// # Panics
    /// Where there is no such link.
    pub fn ring(&mut self, link: usize, bell: Box<dyn Fn() + Send>) {
        self.ports[link].bell = Some(bell);
    }

    /// Takes at most `budget` requests of each shard and gives back what the
    /// venue says; whether there was anything to do.
    pub fn turn(&mut self, budget: usize) -> bool {
        let mut busy = self.give_events();
        for index in 0..self.ports.len() {
            for _ in 0..budget {
                if !self.ports[index].kept.is_empty() {
                    break;
                }
                let Ok(&request) = self.ports[index].requests.peek() else {
                    break;
                };
                if !self.take(index, request) {
                    break;
                }
                let _ = self.ports[index].requests.pop();
                busy = true;
                self.give_events();
            }
        }
        for port in &mut self.ports {
            if core::mem::take(&mut port.given)
                && let Some(bell) = &port.bell
            {
                bell();
            }
        }
        busy
    }

    /// Tells the venue what time it is.
    pub fn advance_to(&mut self, now: UnixNanos) {
        self.venue.advance_to(now);
    }

    /// Events so far for orders that no shard sent here.
    #[must_use]
    pub const fn stray(&self) -> u64 {
        self.stray
    }

    /// Hands a request to the venue; `false` where the venue is busy, and the
    /// request waits in its ring.
    fn take(&mut self, index: usize, request: Request) -> bool {
        let (sent, refusal) = match request {
            Request::Query(id) => {
                let sent = self.venue.query(id);
                if sent.is_ok() {
                    self.askers.insert(id, index);
                }
                // Who gets no answer asks again.
                return !matches!(sent, Err(VenueError::Busy));
            }
            Request::QueryOpen => {
                let sent = self.venue.query_open();
                if sent.is_ok() {
                    self.asked_for_all.push_back((index, 0));
                }
                return !matches!(sent, Err(VenueError::Busy));
            }
            Request::Submit(order) => {
                if self.owners.contains_key(&order.id) {
                    let code = RejectCode::DuplicateClientOrderId;
                    self.ports[index].give(VenueEvent::Rejected { id: order.id, code });
                    return true;
                }
                let sent = self.venue.submit(&order);
                if sent.is_ok() {
                    self.owners.insert(order.id, index);
                }
                (
                    sent,
                    VenueEvent::Rejected {
                        id: order.id,
                        code: DOWN,
                    },
                )
            }
            Request::Cancel(id) => (
                self.venue.cancel(id),
                VenueEvent::CancelRejected { id, code: DOWN },
            ),
            Request::Replace {
                id,
                price,
                quantity,
            } => (
                self.venue.replace(id, price, quantity),
                VenueEvent::CancelRejected { id, code: DOWN },
            ),
        };
        match sent {
            Ok(()) => true,
            Err(VenueError::Busy) => false,
            Err(VenueError::Down | VenueError::Unsupported) => {
                self.ports[index].give(refusal);
                true
            }
        }
    }

    /// Moves events to the shards that own their orders.
    fn give_events(&mut self) -> bool {
        let mut busy = false;
        for port in &mut self.ports {
            busy |= port.give_kept();
        }
        while let Some(event) = self.venue.next_event() {
            busy = true;
            self.give(event);
        }
        busy
    }

    /// Gives an event to the shard whose order it is about, or that asked.
    fn give(&mut self, event: VenueEvent) {
        let Some(id) = event.order() else {
            if let Some((asker, count)) = self.asked_for_all.pop_front() {
                self.ports[asker].give(VenueEvent::OpenOrders { count });
            }
            return;
        };
        let owner = self.owners.get(&id).copied();
        let target = match event {
            VenueEvent::Snapshot(_) => match self.askers.remove(&id) {
                Some(asker) => Some(asker),
                None => match self.asked_for_all.front_mut() {
                    Some((asker, count)) if owner == Some(*asker) => {
                        *count += 1;
                        owner
                    }
                    // Another shard asked, and this is not its order.
                    _ => return,
                },
            },
            // Of an order that is over no owner is kept: every shard looks.
            VenueEvent::Busted { .. } if owner.is_none() => {
                for port in &mut self.ports {
                    port.give(event);
                }
                return;
            }
            _ => owner.or_else(|| self.askers.get(&id).copied()),
        };
        let Some(target) = target else {
            self.stray += 1;
            return;
        };
        if event.is_last() {
            self.owners.remove(&id);
        }
        self.ports[target].give(event);
    }
}

impl Port {
    fn give(&mut self, event: VenueEvent) {
        self.given = true;
        if !self.kept.is_empty() {
            self.kept.push_back(event);
            return;
        }
        if let Err(rtrb::PushError::Full(event)) = self.events.push(event) {
            self.kept.push_back(event);
        }
    }

    fn give_kept(&mut self) -> bool {
        let before = self.kept.len();
        self.given |= before > 0;
        while let Some(event) = self.kept.pop_front() {
            if let Err(rtrb::PushError::Full(event)) = self.events.push(event) {
                self.kept.push_front(event);
                break;
            }
        }
        before != self.kept.len()
    }
}

impl VenueLink {
    fn send(&mut self, request: Request) -> Result<(), VenueError> {
        if self.requests.is_abandoned() {
            return Err(VenueError::Down);
        }
        self.requests.push(request).map_err(|_| VenueError::Busy)
    }
}

impl Venue for VenueLink {
    fn capabilities(&self) -> Option<&Capabilities> {
        self.capabilities.as_deref()
    }

    fn submit(&mut self, order: &VenueOrder) -> Result<(), VenueError> {
        self.send(Request::Submit(*order))
    }

    fn cancel(&mut self, id: ClientOrderId) -> Result<(), VenueError> {
        self.send(Request::Cancel(id))
    }

    fn replace(
        &mut self,
        id: ClientOrderId,
        price: Price,
        quantity: Quantity,
    ) -> Result<(), VenueError> {
        self.send(Request::Replace {
            id,
            price,
            quantity,
        })
    }

    fn query(&mut self, id: ClientOrderId) -> Result<(), VenueError> {
        self.send(Request::Query(id))
    }

    fn query_open(&mut self) -> Result<(), VenueError> {
        self.send(Request::QueryOpen)
    }

    fn next_event(&mut self) -> Option<VenueEvent> {
        self.events.pop().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orders::venue::sim::{Phase, SimConfig, SimInstrument, SimVenue};
    use crate::types::{InstrumentId, OrderType, PRICE_SCALE, Side, TimeInForce};

    const INSTRUMENT: InstrumentId = InstrumentId(1);

    fn id(low: u64) -> ClientOrderId {
        ClientOrderId { high: 0, low }
    }

    fn limit(low: u64, side: Side, price: i64, quantity: i64) -> VenueOrder {
        VenueOrder {
            id: id(low),
            instrument: INSTRUMENT,
            side,
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::Day,
            quantity: Some(Quantity::from_raw(quantity * PRICE_SCALE)),
            volume: None,
            price: Some(Price::from_raw(price * PRICE_SCALE)),
            stop: None,
            expires_at: None,
        }
    }

    fn hosted(shards: usize) -> (VenueHost<SimVenue>, Vec<VenueLink>) {
        let instrument = SimInstrument {
            phase: Phase::Continuous,
            ..SimInstrument::new(INSTRUMENT)
        };
        let config = SimConfig::new(vec![instrument]);
        host_venue(SimVenue::new(&config).unwrap(), shards)
    }

    fn events(link: &mut VenueLink) -> Vec<VenueEvent> {
        std::iter::from_fn(|| link.next_event()).collect()
    }

    #[test]
    fn orders_of_two_shards_meet_and_each_hears_of_its_own() {
        let (mut host, mut links) = hosted(2);
        links[0].submit(&limit(1, Side::Sell, 100, 5)).unwrap();
        assert!(host.turn(16));
        links[1].submit(&limit(2, Side::Buy, 100, 5)).unwrap();
        assert!(host.turn(16));
        assert!(!host.turn(16));
        for (link, own) in links.iter_mut().zip([id(1), id(2)]) {
            let events = events(link);
            assert!(
                events.iter().all(|event| event.order() == Some(own)),
                "{events:?}"
            );
            let last = events.last().unwrap();
            assert!(matches!(last, VenueEvent::Executed { leaves, .. } if leaves.is_zero()));
        }
        assert_eq!((host.stray(), host.owners.len()), (0, 0));
    }

    #[test]
    fn a_second_order_of_the_same_id_is_refused_to_its_sender_alone() {
        let (mut host, mut links) = hosted(2);
        links[0].submit(&limit(1, Side::Sell, 100, 5)).unwrap();
        host.turn(16);
        links[1].submit(&limit(1, Side::Buy, 100, 5)).unwrap();
        host.turn(16);
        assert_eq!(
            events(&mut links[0]),
            [VenueEvent::Acknowledged { id: id(1) }]
        );
        let code = RejectCode::DuplicateClientOrderId;
        assert_eq!(
            events(&mut links[1]),
            [VenueEvent::Rejected { id: id(1), code }]
        );
    }

    #[test]
    fn f20_a_shard_that_does_not_look_gets_every_event_in_order_later() {
        let (mut host, mut links) = hosted(1);
        let mut sent = 0;
        for _ in 0..8 {
            while links[0].submit(&limit(sent, Side::Sell, 100, 1)).is_ok() {
                sent += 1;
            }
            host.turn(VENUE_REQUEST_RING_CAPACITY);
        }
        assert!(
            sent > VENUE_EVENT_RING_CAPACITY as u64,
            "the ring of events was full"
        );
        let mut seen = Vec::new();
        loop {
            let before = seen.len();
            seen.extend(
                events(&mut links[0])
                    .iter()
                    .filter_map(VenueEvent::order)
                    .map(|id| id.low),
            );
            host.turn(VENUE_REQUEST_RING_CAPACITY);
            if seen.len() == before {
                break;
            }
        }
        assert_eq!(seen, (0..sent).collect::<Vec<_>>());
    }

    #[test]
    fn a_link_with_a_bell_is_told_of_its_own_events_alone() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let (mut host, mut links) = hosted(2);
        let rung = Arc::new(AtomicU32::new(0));
        let heard = Arc::clone(&rung);
        host.ring(
            1,
            Box::new(move || _ = heard.fetch_add(1, Ordering::Relaxed)),
        );
        links[0].submit(&limit(1, Side::Sell, 100, 5)).unwrap();
        host.turn(16);
        assert_eq!(rung.load(Ordering::Relaxed), 0, "another's order");
        links[1].submit(&limit(2, Side::Sell, 101, 5)).unwrap();
        links[1].submit(&limit(3, Side::Sell, 102, 5)).unwrap();
        host.turn(16);
        assert_eq!(rung.load(Ordering::Relaxed), 1, "once a turn");
        host.turn(16);
        assert_eq!(rung.load(Ordering::Relaxed), 1, "nothing came");
    }

    #[test]
    fn a_venue_whose_host_is_gone_is_down() {
        let (host, mut links) = hosted(1);
        drop(host);
        assert_eq!(links[0].cancel(id(1)), Err(VenueError::Down));
        assert_eq!(
            links[0].submit(&limit(1, Side::Buy, 1, 1)),
            Err(VenueError::Down)
        );
    }
}
