//! Seeded simulation: an executor over a venue, a line and a log that fail, and
//! a process that is killed, against the invariants and the venue's own record.
//!
//! A failing seed prints the command that replays it alone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pitlane::orders::decision::{Decision, Size};
use pitlane::orders::executor::{MessageBody, Record, SimLog};
use pitlane::orders::lifecycle::OrderState;
use pitlane::orders::venue::distant::{Chance, Faults, Outage, OutageKind};
use pitlane::orders::venue::{VenueEvent, VenueStatus};
use pitlane::time::{Clock, UnixNanos};
use pitlane::types::{AccountId, ClientOrderId, FillId, Side};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::rig::{Rig, START, order_id, perfect, price, units};

/// Seeds of one test run.
const SEEDS: u64 = 1_500;

/// What happens in one life of a seed.
const STEPS: usize = 60;

struct Simulation {
    rig: Rig,
    random: ChaCha12Rng,
    decisions: Vec<Decision>,
    /// Requests that were made and not answered by the process that they were
    /// made to.
    open_requests: BTreeSet<u64>,
    /// Orders whose intent was acknowledged to their agent.
    acknowledged: BTreeSet<ClientOrderId>,
    /// Which order each request was about.
    about: BTreeMap<u64, ClientOrderId>,
    /// Submits whose intents were looked up.
    submits_checked: usize,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        let mut config = perfect();
        config.seed = seed;
        config.capabilities.settle_time = Duration::from_secs(5);
        config.faults = faults(&mut random, START);
        let log = if random.next_u64() % 2 == 0 {
            SimLog::synced()
        } else {
            SimLog::default()
        };
        let mut rig = Rig::with(config, log);
        rig.settings.query_pause = Duration::from_millis(50);
        rig.settings.ack_timeout = Duration::from_millis(400);
        rig.settings.audit_every = Duration::from_secs(5);
        rig.start();
        Self {
            rig,
            random,
            decisions: Vec::new(),
            open_requests: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            about: BTreeMap::new(),
            submits_checked: 0,
        }
    }

    fn below(&mut self, most: u64) -> u64 {
        self.random.next_u64() % most
    }

    fn step(&mut self) {
        match self.below(100) {
            0..=24 => self.new_order(),
            25..=29 => self.repeat(),
            30..=41 => self.cancel(),
            42..=61 => self.trade(),
            62..=66 => self.rig.log.sync(),
            67..=69 => self.crash(),
            70..=72 => {
                let away = &mut self.rig.inbox.0.borrow_mut().away;
                *away = !*away;
            }
            73..=75 => self.replay_fills(),
            76..=77 => self.bust(),
            _ => {
                let length = self.below(700);
                self.rig.pass(Duration::from_millis(length));
            }
        }
        self.rig.settle();
        self.note_answers();
        self.check();
    }

    fn new_order(&mut self) {
        let number = self.decisions.len() as u64 + 1;
        let mut decision = self.rig.decision(number);
        decision.account_id = AccountId(1 + self.below(3));
        if self.below(2) == 0 {
            decision.side = Side::Sell;
        }
        let quantity = 1 + i64::try_from(self.below(10)).unwrap();
        decision.size = Size::Quantity(units(quantity));
        let at = 98 + i64::try_from(self.below(5)).unwrap();
        decision.price = Some(price(at));
        match self.below(8) {
            0 => decision.time_in_force = "ioc".into(),
            1 => decision.time_in_force = "fok".into(),
            2 => {
                decision.time_in_force = "gtd".into();
                let end = self.rig.clock.wall().after(Duration::from_secs(3));
                decision.good_till = Some(end);
            }
            3 => decision.order_type = "post_only".into(),
            _ => {}
        }
        self.decisions.push(decision.clone());
        self.bring(decision);
    }

    fn bring(&mut self, decision: Decision) {
        let id = decision.grant.as_ref().unwrap().client_order_id;
        let request = self.rig.bring(decision);
        self.open_requests.insert(request);
        self.about.insert(request, id);
    }

    fn repeat(&mut self) {
        if let Some(number) = self.any_order() {
            let decision = self.decisions[usize::try_from(number - 1).unwrap()].clone();
            self.bring(decision);
        }
    }

    fn any_order(&mut self) -> Option<u64> {
        let count = self.decisions.len() as u64;
        (count > 0).then(|| 1 + self.below(count))
    }

    fn cancel(&mut self) {
        if let Some(number) = self.any_order() {
            let request = self.rig.cancel(number);
            self.open_requests.insert(request);
        }
    }

    fn trade(&mut self) {
        let side = if self.below(2) == 0 {
            Side::Buy
        } else {
            Side::Sell
        };
        let quantity = 1 + i64::try_from(self.below(12)).unwrap();
        let at = 98 + i64::try_from(self.below(5)).unwrap();
        self.rig.market(side, quantity, at);
    }

    /// The process is gone, and with it what was not synced, or some of it.
    fn crash(&mut self) {
        let kept = usize::try_from(self.below(4)).unwrap();
        self.rig.log.crash(kept);
        self.rig.start();
        self.open_requests.clear();
    }

    /// Everything that the venue has of an order is told again.
    fn replay_fills(&mut self) {
        let Some(number) = self.any_order() else {
            return;
        };
        let told = self.rig.venue.far.borrow().truth(order_id(number));
        for event in told {
            if matches!(event, VenueEvent::Executed { .. }) {
                self.rig.tell(event);
            }
        }
    }

    fn bust(&mut self) {
        let Some(number) = self.any_order() else {
            return;
        };
        let truth = self.rig.venue.far.borrow().truth(order_id(number));
        if let Some(VenueEvent::Executed { fill_id, .. }) = truth.first() {
            // Told reliably, and kept: a bust that is lost is told by nothing else.
            let (id, fill_id) = (order_id(number), *fill_id);
            self.rig.faults(Faults::default());
            self.rig.venue.far.borrow_mut().bust(id, fill_id);
            self.rig.pass(Duration::from_millis(600));
            self.rig.log.sync();
            let now = self.rig.clock.wall();
            let faults = faults(&mut self.random, now);
            self.rig.faults(faults);
        }
    }

    fn note_answers(&mut self) {
        for (request, result) in &self.rig.answers {
            self.open_requests.remove(request);
            if let (Ok(_), Some(id)) = (result, self.about.get(request)) {
                self.acknowledged.insert(*id);
            }
        }
    }

    /// What must be true at every moment.
    fn check(&mut self) {
        let submits = self.rig.venue.submits.borrow().clone();
        let distinct: BTreeSet<_> = submits.iter().copied().collect();
        // I3, and no blind resend, over crashes too.
        assert_eq!(distinct.len(), submits.len(), "I3: handed over twice");
        if submits.len() > self.submits_checked {
            self.submits_checked = submits.len();
            self.check_log(&distinct);
        }
        for view in self.rig.executor().orders() {
            let decision = self.decision_of(view.client_order_id);
            let Size::Quantity(quantity) = decision.size else {
                unreachable!("orders here are by quantity")
            };
            let filled = view.filled_qty.raw() - view.excess.raw();
            let sum = filled + view.leaves.raw() + view.ended.raw();
            assert_eq!(sum, quantity.amount().raw(), "O24: {view:?}");
            assert!(view.excess.is_zero(), "I6: {view:?}");
        }
    }

    fn check_log(&self, sent: &BTreeSet<ClientOrderId>) {
        let (mut intents, mut opened) = (BTreeSet::new(), BTreeSet::new());
        for record in self.rig.log.durable_records() {
            match record {
                Record::Moved {
                    id,
                    to: OrderState::PendingNew,
                    ..
                } => drop(intents.insert(id)),
                Record::Opened { terms, .. } => drop(opened.insert(terms.client_order_id)),
                _ => {}
            }
        }
        assert!(
            sent.is_subset(&intents),
            "I1: sent without a durable intent"
        );
        let lost = !self.acknowledged.is_subset(&opened);
        assert!(!lost, "I2: an acknowledged intent is lost");
    }

    fn decision_of(&self, id: ClientOrderId) -> Decision {
        self.decisions[usize::try_from(id.low - 1).unwrap()].clone()
    }

    /// The line is mended; in the end everything agrees.
    fn converge(&mut self) {
        self.rig.faults(Faults::default());
        self.rig.inbox.0.borrow_mut().away = false;
        for _ in 0..40 {
            self.rig.log.sync();
            self.rig
                .pass_by(Duration::from_millis(200), Duration::from_secs(4));
        }
        self.rig.log.sync();
        self.rig.settle();
        self.note_answers();
        self.check();
        let sent = self.rig.venue.submits.borrow().iter().copied().collect();
        self.check_log(&sent);
        assert!(
            self.open_requests.is_empty(),
            "I5: {:?}",
            self.open_requests
        );
        assert_eq!(self.rig.executor().open_questions(), 0, "all is settled");
        assert_eq!(self.rig.executor().undelivered(), 0);
        assert_eq!(self.rig.executor().counts().external_fills, 0);
        assert_eq!(self.rig.executor().counts().overfills, 0);
        for view in self.rig.executor().orders() {
            self.agrees_with_the_venue(&view);
            let (filled, released) = self.rig.inbox.settled(view.client_order_id);
            let booked = view.filled_qty.raw() / 1_000_000_000;
            assert_eq!(filled, booked, "settled as booked: {view:?}");
            let over = usize::from(view.state.is_terminal());
            assert_eq!(released, over, "I4: released once, at the end: {view:?}");
        }
        let executions = self.rig.inbox.bodies();
        let mut seen = BTreeSet::<FillId>::new();
        for body in executions {
            if let MessageBody::Execution(execution) = body {
                assert!(seen.insert(execution.fill_id), "told twice: {execution:?}");
            }
        }
    }

    fn agrees_with_the_venue(&self, view: &pitlane::orders::executor::OrderView) {
        let truth = self.rig.venue.far.borrow().truth(view.client_order_id);
        let Some(VenueEvent::Snapshot(snapshot)) = truth.last() else {
            panic!("a record ends with a snapshot: {truth:?}")
        };
        assert_eq!(
            view.filled_qty,
            snapshot.filled.amount(),
            "{view:?} {snapshot:?}"
        );
        match snapshot.status {
            None => assert_eq!(view.state, OrderState::Rejected, "{view:?}"),
            Some(VenueStatus::Working) => {
                assert!(!view.state.is_terminal(), "{view:?} {snapshot:?}");
                assert!(view.state != OrderState::Unknown, "{view:?}");
            }
            Some(_) => assert!(view.state.is_terminal(), "{view:?} {snapshot:?}"),
        }
    }
}

fn faults(random: &mut ChaCha12Rng, now: UnixNanos) -> Faults {
    let mut below = |most: u64| random.next_u64() % most;
    let millis = Duration::from_millis;
    let from = now.after(millis(below(5_000)));
    let kind = if below(2) == 0 {
        OutageKind::Silent
    } else {
        OutageKind::Refused
    };
    Faults {
        lose: Chance::in_a_million(u32::try_from(below(3) * 100_000).unwrap()),
        duplicate: Chance::in_a_million(u32::try_from(below(3) * 150_000).unwrap()),
        delay: millis(below(20))..=millis(20 + below(300)),
        reorder: below(2) == 0,
        snapshot_delay: millis(below(300)),
        listing_delay: millis(below(400)),
        outages: vec![Outage {
            from,
            until: from.after(millis(below(4_000))),
            kind,
        }],
    }
}

fn run(seed: u64) {
    let mut simulation = Simulation::new(seed);
    for _ in 0..STEPS {
        simulation.step();
    }
    simulation.converge();
}

#[test]
fn o36_seeds_of_every_fault_keep_the_invariants_and_agree_with_the_venue() {
    let number = |name| -> Option<u64> { std::env::var(name).ok()?.parse().ok() };
    let all = 0..number("PITLANE_SEEDS").unwrap_or(SEEDS);
    let seeds = number("PITLANE_SEED").map_or(all, |seed| seed..seed + 1);
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| run(seed));
        assert!(
            outcome.is_ok(),
            "replay: PITLANE_SEED={seed} cargo test --test orders_executor o36_seeds"
        );
    }
}
