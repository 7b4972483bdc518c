//! An executor over a simulated clock, log and venue, which all outlive it, so
//! that dropping it is a crash.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use pitlane::orders::decision::{Decision, Grant, KeyTable, Role, Signer, Size, Validity, Verdict};
use pitlane::orders::executor::{
    Answer, Authority, Away, Executor, ExecutorParts, ExecutorSettings, IntentLog, Message,
    MessageBody, NoHistory, OrderView, Receiver, Record, SimLog, VenueSetup,
};
use pitlane::orders::lifecycle::OrderState;
use pitlane::orders::venue::distant::{DistantConfig, DistantVenue, Faults};
use pitlane::orders::venue::sim::{SimConfig, SimInstrument};
use pitlane::orders::venue::{Capabilities, Venue, VenueError, VenueEvent, VenueOrder};
use pitlane::orders::{Code, Refusal};
use pitlane::time::{Clock, SimClock, UnixNanos};
use pitlane::types::{
    AccountId, ClientOrderId, InstrumentId, OrderType, Price, Quantity, Side, TimeInForce,
};

pub(crate) const START: UnixNanos = UnixNanos(1_796_000_000_000_000_000);
pub(crate) const GOLD: InstrumentId = InstrumentId(1);
pub(crate) const AGENT: &str = "agent-7";
/// The upper half of the ids of everybody else at the venue.
const MARKET: u64 = 99;

/// The venue at the far end, shared by the executors that come and go.
#[derive(Clone)]
pub(crate) struct SharedVenue {
    pub(crate) far: Rc<RefCell<DistantVenue>>,
    pub(crate) declares: Option<Capabilities>,
    /// Orders that were handed over, whatever became of them on the line.
    pub(crate) submits: Rc<RefCell<Vec<ClientOrderId>>>,
}

impl Venue for SharedVenue {
    fn capabilities(&self) -> Option<&Capabilities> {
        self.declares.as_ref()
    }

    fn advance_to(&mut self, now: UnixNanos) {
        self.far.borrow_mut().advance_to(now);
    }

    fn submit(&mut self, order: &VenueOrder) -> Result<(), VenueError> {
        self.far.borrow_mut().submit(order)?;
        self.submits.borrow_mut().push(order.id);
        Ok(())
    }

    fn cancel(&mut self, id: ClientOrderId) -> Result<(), VenueError> {
        self.far.borrow_mut().cancel(id)
    }

    fn replace(
        &mut self,
        id: ClientOrderId,
        price: Price,
        quantity: Quantity,
    ) -> Result<(), VenueError> {
        self.far.borrow_mut().replace(id, price, quantity)
    }

    fn query(&mut self, id: ClientOrderId) -> Result<(), VenueError> {
        self.far.borrow_mut().query(id)
    }

    fn query_open(&mut self) -> Result<(), VenueError> {
        self.far.borrow_mut().query_open()
    }

    fn next_event(&mut self) -> Option<VenueEvent> {
        let is_others = |event: &VenueEvent| event.order().is_some_and(|id| id.high == MARKET);
        loop {
            let event = self.far.borrow_mut().next_event()?;
            if !is_others(&event) {
                return Some(event);
            }
        }
    }
}

/// The authorizer's end of the outbox: takes each message once.
#[derive(Clone, Default)]
pub(crate) struct Inbox(pub(crate) Rc<RefCell<InboxState>>);

#[derive(Default)]
pub(crate) struct InboxState {
    pub(crate) away: bool,
    pub(crate) seen: Vec<Message>,
    /// Deliveries of a message that was here before.
    pub(crate) repeated: u64,
}

impl Receiver for Inbox {
    fn offer(&mut self, message: &Message) -> Result<(), Away> {
        let mut state = self.0.borrow_mut();
        if state.away {
            return Err(Away);
        }
        let next = state.seen.last().map_or(1, |last| last.sequence + 1);
        assert!(message.sequence <= next, "delivered in order, without gaps");
        if message.sequence == next {
            state.seen.push(message.clone());
        } else {
            let own = usize::try_from(message.sequence - 1).unwrap();
            assert_eq!(
                &state.seen[own], message,
                "the same message under its number"
            );
            state.repeated += 1;
        }
        Ok(())
    }

    fn taken(&mut self) -> Result<u64, Away> {
        let state = self.0.borrow();
        Ok(state.seen.last().map_or(0, |last| last.sequence))
    }
}

impl Inbox {
    pub(crate) fn bodies(&self) -> Vec<MessageBody> {
        let state = self.0.borrow();
        state
            .seen
            .iter()
            .map(|message| message.body.clone())
            .collect()
    }

    /// What was executed less what was reversed, and how often it was released.
    pub(crate) fn settled(&self, id: ClientOrderId) -> (i128, usize) {
        let (mut filled, mut released) = (0, 0);
        for body in self.bodies() {
            match body {
                MessageBody::Execution(own) if own.client_order_id == id => {
                    filled += i128::from(own.qty.raw());
                    released += usize::from(own.release_remainder);
                }
                MessageBody::Reversal(own) if own.client_order_id == id => {
                    filled -= i128::from(own.qty.raw());
                }
                MessageBody::Release(own) if own.client_order_id == id => released += 1,
                _ => {}
            }
        }
        (filled, released)
    }
}

pub(crate) struct Rig {
    pub(crate) clock: SimClock,
    pub(crate) log: SimLog,
    pub(crate) venue: SharedVenue,
    pub(crate) inbox: Inbox,
    pub(crate) settings: ExecutorSettings,
    pub(crate) executor: Option<Executor>,
    pub(crate) answers: BTreeMap<u64, Result<OrderView, Refusal>>,
    pub(crate) signer: Signer,
    requests: u64,
    market_orders: u64,
}

pub(crate) fn perfect() -> DistantConfig {
    DistantConfig::new(SimConfig::new(vec![SimInstrument::new(GOLD)]))
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(perfect(), SimLog::synced())
    }

    pub(crate) fn with(config: DistantConfig, log: SimLog) -> Self {
        let signer = Signer::new("key-1", Role::Authorizer, &[1; 32]).unwrap();
        let mut keys = KeyTable::default();
        keys.add(
            "key-1",
            Role::Authorizer,
            &signer.public(),
            Validity::default(),
        )
        .unwrap();
        let declares = Some(config.capabilities.clone());
        let seed = config.seed;
        let mut rig = Self {
            clock: SimClock::new(START),
            log,
            venue: SharedVenue {
                far: Rc::new(RefCell::new(DistantVenue::new(config).unwrap())),
                declares,
                submits: Rc::default(),
            },
            inbox: Inbox::default(),
            settings: ExecutorSettings {
                keys,
                seed,
                ..ExecutorSettings::default()
            },
            executor: None,
            answers: BTreeMap::new(),
            signer,
            requests: 0,
            market_orders: 0,
        };
        rig.venue.advance_to(START);
        rig.start();
        rig
    }

    /// Starts an executor on what the log has; one that runs is dropped.
    pub(crate) fn start(&mut self) {
        self.executor = None;
        self.log.crash(0);
        let recovered = (self.log.groups(), self.log.records());
        self.start_on(Box::new(self.log.clone()), recovered);
    }

    /// Starts an executor on another log.
    pub(crate) fn start_on(&mut self, log: Box<dyn IntentLog>, recovered: (u64, Vec<Record>)) {
        self.executor = None;
        let mut instruments = BTreeMap::new();
        instruments.insert("GOLD".to_owned(), GOLD);
        let parts = ExecutorParts {
            settings: self.settings.clone(),
            venues: vec![VenueSetup {
                name: "sim".into(),
                venue: Box::new(self.venue.clone()),
                instruments,
            }],
            recovered,
            log,
            history: Box::new(NoHistory),
            authority: Authority::Remote(Box::new(self.inbox.clone())),
        };
        self.executor = Some(Executor::new(parts, self.clock.clone()));
    }

    pub(crate) fn executor(&mut self) -> &mut Executor {
        self.executor.as_mut().unwrap()
    }

    /// A decision for one order, not yet signed.
    pub(crate) fn decision(&self, number: u64) -> Decision {
        let now = self.clock.wall();
        Decision {
            decision_id: format!("d-{number}"),
            grant: Some(Grant {
                client_order_id: order_id(number),
                reservation_id: format!("r-{number}"),
            }),
            agent_id: AGENT.into(),
            user_id: "ann".into(),
            account_id: AccountId(42),
            verdict: Verdict::Allow,
            enforcement: "hard".into(),
            venue: "sim".into(),
            instrument: "GOLD".into(),
            side: Side::Buy,
            order_type: "limit".into(),
            time_in_force: "gtc".into(),
            size: Size::Quantity(units(10)),
            price: Some(price(100)),
            stop_price: None,
            good_till: None,
            issued_at: now,
            expires_at: now.after(Duration::from_secs(60)),
            key_id: "key-1".into(),
        }
    }

    /// Brings a decision; the number of the request.
    pub(crate) fn bring(&mut self, decision: Decision) -> u64 {
        let body = serde_json::to_vec(&decision.signed(&self.signer)).unwrap();
        self.bring_body(&body)
    }

    pub(crate) fn bring_body(&mut self, body: &[u8]) -> u64 {
        self.requests += 1;
        let request = self.requests;
        self.executor().submit(request, AGENT, body);
        request
    }

    pub(crate) fn cancel(&mut self, number: u64) -> u64 {
        self.requests += 1;
        let request = self.requests;
        self.executor().cancel(request, AGENT, order_id(number));
        request
    }

    /// Somebody else's order in the market.
    pub(crate) fn market(&mut self, side: Side, quantity: i64, at: i64) {
        self.market_orders += 1;
        let order = VenueOrder {
            id: ClientOrderId {
                high: MARKET,
                low: self.market_orders,
            },
            instrument: GOLD,
            side,
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::ImmediateOrCancel,
            expires_at: None,
            quantity: Some(units(quantity)),
            volume: None,
            price: Some(price(at)),
            stop: None,
        };
        let mut far = self.venue.far.borrow_mut();
        while far.inner_mut().submit(&order) == Err(VenueError::Busy) {
            far.advance_to(self.clock.wall());
        }
        far.advance_to(self.clock.wall());
    }

    /// Turns until nothing more is due now.
    pub(crate) fn settle(&mut self) {
        for _ in 0..10_000 {
            let progress = self.executor().turn();
            while let Some(Answer { request, result }) = self.executor().next_answer() {
                let before = self.answers.insert(request, result);
                assert!(before.is_none(), "request {request} was answered twice");
            }
            if !progress.more {
                return;
            }
        }
        panic!("the executor never comes to rest");
    }

    /// Lets time pass in steps.
    pub(crate) fn pass(&mut self, time: Duration) {
        self.pass_by(Duration::from_millis(20), time);
    }

    pub(crate) fn pass_by(&mut self, step: Duration, time: Duration) {
        let mut left = time;
        while !left.is_zero() {
            let now = step.min(left);
            self.clock.advance(now);
            left -= now;
            self.settle();
        }
    }

    pub(crate) fn faults(&mut self, faults: Faults) {
        self.venue.far.borrow_mut().set_faults(faults);
    }

    pub(crate) fn tell(&mut self, event: VenueEvent) {
        self.venue.far.borrow_mut().tell(event);
    }

    pub(crate) fn order(&mut self, number: u64) -> OrderView {
        self.executor().status(AGENT, order_id(number)).unwrap()
    }

    pub(crate) fn state(&mut self, number: u64) -> OrderState {
        self.order(number).state
    }

    /// An order that works at the venue.
    pub(crate) fn working(&mut self, number: u64) {
        let decision = self.decision(number);
        self.bring(decision);
        self.settle();
        self.settle();
        assert_eq!(self.state(number), OrderState::Acked);
    }

    /// The code with which a request was refused; its order's state else.
    pub(crate) fn answer(&self, request: u64) -> Result<OrderState, Code> {
        let answer = self.answers.get(&request).expect("it was answered");
        match answer {
            Ok(view) => Ok(view.state),
            Err(refusal) => Err(refusal.code),
        }
    }
}

pub(crate) fn order_id(number: u64) -> ClientOrderId {
    ClientOrderId {
        high: 7,
        low: number,
    }
}

pub(crate) fn units(count: i64) -> Quantity {
    Quantity::from_raw(count * 1_000_000_000)
}

pub(crate) fn price(whole: i64) -> Price {
    Price::from_raw(whole * 1_000_000_000)
}
