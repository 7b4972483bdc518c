//! The far venue as a shard sees it, and as a test steers it.

use core::time::Duration;

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;

use super::line::Line;
use super::record::Record;
use super::{Faults, OutageKind};
use crate::limits::{DISTANT_LINE_MAX, DISTANT_RECORDS_MAX};
use crate::orders::venue::sim::{SimConfig, SimConfigError, SimVenue};
use crate::orders::venue::{Capabilities, Venue, VenueError, VenueEvent, VenueOrder};
use crate::time::UnixNanos;
use crate::types::{ClientOrderId, FillId, Price, Quantity};

/// What a distant venue is made of.
#[derive(Clone, Debug)]
pub struct DistantConfig {
    /// The venue itself.
    pub venue: SimConfig,
    /// What the line does.
    pub faults: Faults,
    /// From which all that is random follows.
    pub seed: u64,
    /// What it declares; the settle time is to cover the line's delays and
    /// [`Faults::listing_delay`].
    pub capabilities: Capabilities,
    /// Orders that it remembers, working ones included; at the bound those that
    /// have been over longest are forgotten, and if all work, new ones refused.
    pub records_max: usize,
}

impl DistantConfig {
    /// A venue that takes everything, at the end of a perfect line.
    #[must_use]
    pub fn new(venue: SimConfig) -> Self {
        Self {
            venue,
            faults: Faults::default(),
            seed: 0,
            capabilities: Capabilities::everything(),
            records_max: DISTANT_RECORDS_MAX,
        }
    }
}

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

/// See the module. A submit that arrives again, whoever sent it twice, is
/// refused as a duplicate: there is one order of an id (invariant I3).
pub struct DistantVenue {
    inner: SimVenue,
    record: Record,
    capabilities: Capabilities,
    there: Line<Request>,
    back: Line<VenueEvent>,
    faults: Faults,
    random: ChaCha12Rng,
    now: UnixNanos,
    /// Submits that reached the venue of an id that it knew.
    repeated: u64,
}

impl DistantVenue {
    /// A venue with empty books and an empty line.
    ///
    /// # Errors
    /// The venue's configuration names what is out of range.
    pub fn new(config: DistantConfig) -> Result<Self, SimConfigError> {
        Ok(Self {
            inner: SimVenue::new(&config.venue)?,
            record: Record::new(config.records_max),
            capabilities: config.capabilities,
            there: Line::new(DISTANT_LINE_MAX),
            back: Line::new(DISTANT_LINE_MAX),
            faults: config.faults,
            random: ChaCha12Rng::seed_from_u64(config.seed),
            now: UnixNanos(0),
            repeated: 0,
        })
    }

    /// Other faults from now on; what is on its way is not touched.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// The venue itself: to steer its market, and to see what is true.
    pub const fn inner_mut(&mut self) -> &mut SimVenue {
        &mut self.inner
    }

    /// How often a submit reached the venue of an id that it knew.
    #[must_use]
    pub const fn repeated(&self) -> u64 {
        self.repeated
    }

    /// What a query would be told now if the line were perfect and the order
    /// listed: its executions, then how it stands.
    #[must_use]
    pub fn truth(&self, id: ClientOrderId) -> Vec<VenueEvent> {
        self.record.answer(id, UnixNanos(u64::MAX))
    }

    /// When the next message arrives, if one is on its way: what an outage holds up
    /// arrives after it.
    #[must_use]
    pub fn next_due(&self) -> Option<UnixNanos> {
        let dues = [self.there.next_due(), self.back.next_due()];
        let next = dues.into_iter().flatten().min()?;
        Some(self.faults.reachable_from(next.max(self.now)))
    }

    /// Voids an execution; whether there was such a one.
    pub fn bust(&mut self, id: ClientOrderId, fill_id: FillId) -> bool {
        let known = self.record.bust(id, fill_id);
        if known {
            self.say(VenueEvent::Busted { id, fill_id }, Duration::ZERO);
        }
        known
    }

    /// Puts an event on the line that is no part of the venue's record: a fill
    /// of nobody's order, one beyond what remains, an old event again.
    pub fn tell(&mut self, event: VenueEvent) {
        self.say(event, Duration::ZERO);
    }

    fn say(&mut self, event: VenueEvent, extra: Duration) {
        if self.faults.outage(self.now) == Some(OutageKind::Silent) {
            return;
        }
        self.back
            .send(event, self.now, extra, &self.faults, &mut self.random);
    }

    fn send(&mut self, request: Request) -> Result<(), VenueError> {
        match self.faults.outage(self.now) {
            Some(OutageKind::Refused) => return Err(VenueError::Down),
            Some(OutageKind::Silent) => return Ok(()),
            None if !self.there.has_room() => return Err(VenueError::Busy),
            None => {}
        }
        let (faults, random) = (&self.faults, &mut self.random);
        self.there
            .send(request, self.now, Duration::ZERO, faults, random);
        self.work();
        Ok(())
    }

    /// Takes what has arrived, and answers.
    fn work(&mut self) {
        if self.faults.outage(self.now) == Some(OutageKind::Refused) {
            return;
        }
        self.gather();
        while let Some(request) = self.there.arrive(self.now) {
            self.take(request);
            self.gather();
        }
    }

    fn take(&mut self, request: Request) {
        match request {
            Request::Submit(order) => {
                let known = self.record.knows(order.id);
                self.repeated += u64::from(known);
                if known || !self.record.make_room() {
                    let refusal = self.record.refusal(order.id);
                    return self.say(refusal, Duration::ZERO);
                }
                let listed_at = self.now.after(self.faults.listing_delay);
                self.record.open(&order, listed_at);
                self.insist(|venue| venue.submit(&order));
            }
            Request::Cancel(id) => self.insist(|venue| venue.cancel(id)),
            Request::Replace {
                id,
                price,
                quantity,
            } => self.insist(|venue| venue.replace(id, price, quantity)),
            Request::Query(id) => self.answer(id),
            Request::QueryOpen => {
                let working = self.record.working(self.now);
                let count = working.len() as u64;
                for id in working {
                    self.answer(id);
                }
                self.say(VenueEvent::OpenOrders { count }, self.faults.snapshot_delay);
            }
        }
    }

    fn answer(&mut self, id: ClientOrderId) {
        for event in self.record.answer(id, self.now) {
            self.say(event, self.faults.snapshot_delay);
        }
    }

    /// The venue in memory is busy only while it has events to give.
    fn insist(&mut self, ask: impl Fn(&mut SimVenue) -> Result<(), VenueError>) {
        while ask(&mut self.inner) == Err(VenueError::Busy) {
            self.gather();
        }
    }

    /// What the venue says goes into its record and onto the line.
    fn gather(&mut self) {
        while let Some(event) = self.inner.next_event() {
            self.record.note(&event);
            self.say(event, Duration::ZERO);
        }
    }
}

impl Venue for DistantVenue {
    fn capabilities(&self) -> Option<&Capabilities> {
        Some(&self.capabilities)
    }

    fn advance_to(&mut self, now: UnixNanos) {
        // One arrival at a time, so that each is taken when it is there.
        while let Some(due) = self.there.next_due() {
            let at = self.faults.reachable_from(self.now.max(due));
            if at > now {
                break;
            }
            self.now = at;
            self.inner.advance_to(at);
            self.work();
        }
        self.now = self.now.max(now);
        self.inner.advance_to(self.now);
        self.work();
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
        if self.faults.outage(self.now) == Some(OutageKind::Refused) {
            return None;
        }
        self.work();
        self.back.arrive(self.now)
    }
}
