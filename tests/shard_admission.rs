//! A shard from command to report: every request is answered once, whatever
//! the venue does and when.

#[path = "support/shard_cases.rs"]
mod shard_cases;

use std::collections::{BTreeMap, HashMap, VecDeque};

use pitlane::lanes::LocalDriver;
use pitlane::orders::venue::sim::SimVenue;
use pitlane::orders::venue::{Venue, VenueError, VenueEvent, VenueOrder};
use pitlane::risk::{RiskConfig, SelfMatchAction, SelfMatchSettings};
use pitlane::types::{
    AccountId, ClientOrderId, ClientReference, Command, Origin, PRICE_SCALE, Price, Quantity,
    RejectCode, Report, ReportKind, Side, TimeInForce,
};
use proptest::prelude::*;
use shard_cases::{
    ACCOUNTS, NOW, cancel, kinds, limit, lots, new_order, origin, replace, reports, risk,
    risk_config, shard, shard_with, sim,
};

#[test]
fn an_order_is_accepted_traded_and_gone() {
    use ReportKind::{Accepted, Executed};
    let (mut shard, mut receiver) = shard(sim(), 8);
    shard.command(&new_order(1, limit(1, Side::Sell, 100, 5)), NOW);
    shard.command(&new_order(2, limit(2, Side::Buy, 101, 5)), NOW);
    let seen = reports(&mut shard, &mut receiver);
    assert_eq!(
        kinds(&seen),
        [(Accepted, 1), (Accepted, 2), (Executed, 1), (Executed, 2)]
    );
    for report in &seen[2..] {
        assert_eq!(
            report.price,
            Price::from_raw(100 * PRICE_SCALE),
            "at the resting price"
        );
        assert_eq!((report.cumulative, report.leaves), (lots(5), lots(0)));
    }
    assert_eq!(
        seen.iter().map(|r| r.sequence).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    assert_eq!(shard.open_orders(), 0);
}

#[test]
fn a_full_table_and_a_reference_in_use_refuse_and_change_nothing() {
    let (mut shard, mut receiver) = shard(sim(), 2);
    shard.command(&new_order(1, limit(1, Side::Buy, 10, 1)), NOW);
    shard.command(&new_order(1, limit(1, Side::Buy, 10, 1)), NOW);
    shard.command(&new_order(1, limit(2, Side::Buy, 10, 1)), NOW);
    shard.command(&new_order(4, limit(1, Side::Buy, 10, 1)), NOW);
    let codes: Vec<_> = reports(&mut shard, &mut receiver)
        .iter()
        .map(|report| report.reject.map(|(code, _)| code))
        .collect();
    let duplicate = Some(RejectCode::DuplicateClientOrderId);
    assert_eq!(
        codes,
        [None, duplicate, None, Some(RejectCode::CapacityExceeded)]
    );
    assert_eq!(shard.open_orders(), 2);
    shard.command(&cancel(5, 1, 1), NOW);
    shard.command(&new_order(6, limit(1, Side::Buy, 10, 1)), NOW);
    let seen = kinds(&reports(&mut shard, &mut receiver));
    assert_eq!(seen, [(ReportKind::Canceled, 5), (ReportKind::Accepted, 6)]);
}

#[test]
fn a_reject_names_its_code_and_leaves_nothing_behind() {
    let (mut shard, mut receiver) = shard(sim(), 8);
    shard.command(&new_order(1, limit(1, Side::Buy, 10, 0)), NOW);
    shard.command(&new_order(2, limit(99, Side::Buy, 10, 1)), NOW);
    let seen = reports(&mut shard, &mut receiver);
    let codes: Vec<_> = seen.iter().map(|report| report.reject.unwrap().0).collect();
    assert_eq!(
        codes,
        [RejectCode::InvalidFieldValue, RejectCode::UnknownAccount]
    );
    assert!(
        seen.iter()
            .all(|report| report.client_order_id == ClientOrderId::default())
    );
    assert_eq!((shard.open_orders(), shard.counts().rejected), (0, 2));
}

#[test]
fn another_credential_or_account_cannot_name_an_order() {
    let (mut shard, mut receiver) = shard(sim(), 8);
    shard.command(&new_order(1, limit(1, Side::Buy, 10, 1)), NOW);
    shard.command(&cancel(2, 2, 1), NOW);
    let stranger = Origin {
        credential: 8,
        ..origin()
    };
    shard.command(
        &Command::Cancel {
            origin: stranger,
            reference: ClientReference(1),
            account: AccountId(1),
            target: ClientReference(1),
        },
        NOW,
    );
    let seen = reports(&mut shard, &mut receiver);
    for report in &seen[1..] {
        assert_eq!(report.reject.unwrap().0, RejectCode::UnknownOrder);
        assert_eq!(report.client_order_id, ClientOrderId::default());
    }
    assert_eq!(shard.open_orders(), 1);
}

#[test]
fn k39_a_resting_order_leaves_the_book_before_its_owner_would_meet_it() {
    use ReportKind::{Accepted, Canceled, Executed};
    let config = RiskConfig {
        self_match: Some(SelfMatchSettings {
            action: SelfMatchAction::CancelResting,
            ..SelfMatchSettings::default()
        }),
        ..risk_config()
    };
    let (mut shard, mut receiver) = shard_with(risk(&config).0, sim(), 8);
    shard.command(&new_order(1, limit(1, Side::Sell, 100, 5)), NOW);
    shard.command(&new_order(2, limit(2, Side::Sell, 101, 5)), NOW);
    shard.command(&new_order(3, limit(1, Side::Buy, 101, 5)), NOW);
    let seen = reports(&mut shard, &mut receiver);
    assert_eq!(
        kinds(&seen),
        [
            (Accepted, 1),
            (Accepted, 2),
            (Accepted, 3),
            (Canceled, 1),
            (Executed, 2),
            (Executed, 3)
        ],
        "its own order at 100 is gone, and the other's at 101 trades"
    );
}

#[test]
fn k18_a_loss_that_trades_make_blocks_the_account_and_takes_back_its_orders() {
    use ReportKind::{Accepted, Canceled, Executed, Rejected};
    let mut config = risk_config();
    config.pnl =
        toml::from_str("cancel_working = true\nrules = [{ asset = 2, lower = \"-10\" }]").unwrap();
    let (mut shard, mut receiver) = shard_with(risk(&config).0, sim(), 8);
    // Bought at 105, sold at 95: ten a lot are lost, and 10 is the bound.
    for (reference, account, side, price) in [
        (1, 2, Side::Sell, 105),
        (2, 1, Side::Buy, 105),
        (3, 1, Side::Buy, 90),
        (4, 2, Side::Buy, 95),
        (5, 1, Side::Sell, 95),
    ] {
        shard.command(&new_order(reference, limit(account, side, price, 1)), NOW);
    }
    assert_eq!(
        reports(&mut shard, &mut receiver).len(),
        9,
        "at the bound nothing happens"
    );
    for (reference, account, side, price) in [
        (6, 2, Side::Sell, 105),
        (7, 1, Side::Buy, 105),
        (8, 2, Side::Buy, 104),
        (9, 1, Side::Sell, 104),
        (10, 1, Side::Buy, 90),
    ] {
        shard.command(&new_order(reference, limit(account, side, price, 1)), NOW);
    }
    let seen = reports(&mut shard, &mut receiver);
    let tail = [
        (Accepted, 9),
        (Executed, 8),
        (Executed, 9),
        (Canceled, 3),
        (Rejected, 10),
    ];
    assert_eq!(kinds(&seen)[5..], tail);
    assert_eq!(
        seen.last().unwrap().reject.unwrap().0,
        RejectCode::PnlKillSwitchTriggered
    );
}

#[test]
fn k31_a_kill_switch_of_any_shard_cancels_what_works_here_once() {
    use ReportKind::{Accepted, CancelRejected, Canceled, Rejected};
    let mut config = risk_config();
    config.pnl.cancel_working = true;
    let (engine, shared) = risk(&config);
    let venue = Distant {
        venue: sim(),
        sent: VecDeque::new(),
        arrived: VecDeque::new(),
    };
    let (mut shard, mut receiver) = shard_with(engine, venue, 8);
    shard.command(&new_order(1, limit(1, Side::Buy, 10, 1)), NOW);
    shard.command(&new_order(2, limit(2, Side::Buy, 10, 1)), NOW);
    shared.halt(RejectCode::PnlKillSwitchTriggered);
    for _ in 0..3 {
        LocalDriver::turn(&mut shard, NOW, 64);
    }
    assert_eq!(
        shard.venue_mut().sent.len(),
        4,
        "two orders, and one cancel of each"
    );
    // A client that asks meanwhile is told when its order is gone.
    shard.command(&cancel(3, 1, 1), NOW);
    shard.command(&cancel(4, 1, 1), NOW);
    shard.command(&new_order(5, limit(1, Side::Buy, 10, 1)), NOW);
    shard.venue_mut().let_through(8);
    LocalDriver::turn(&mut shard, NOW, 64);
    let seen = kinds(&reports(&mut shard, &mut receiver));
    let told = [
        (CancelRejected, 4),
        (Rejected, 5),
        (Canceled, 3),
        (Canceled, 2),
    ];
    assert_eq!(seen, [&[(Accepted, 1), (Accepted, 2)][..], &told].concat());
    assert_eq!(shard.open_orders(), 0);
}

#[test]
fn a_venue_that_is_down_ends_the_order_as_rejected() {
    struct Down;
    impl Venue for Down {
        fn submit(&mut self, _: &VenueOrder) -> Result<(), VenueError> {
            Err(VenueError::Down)
        }
        fn cancel(&mut self, _: ClientOrderId) -> Result<(), VenueError> {
            Err(VenueError::Down)
        }
        fn replace(&mut self, _: ClientOrderId, _: Price, _: Quantity) -> Result<(), VenueError> {
            Err(VenueError::Down)
        }
        fn next_event(&mut self) -> Option<VenueEvent> {
            None
        }
    }
    let (mut shard, mut receiver) = shard(Down, 8);
    shard.command(&new_order(1, limit(1, Side::Buy, 10, 1)), NOW);
    let seen = reports(&mut shard, &mut receiver);
    assert_eq!(
        kinds(&seen),
        [(ReportKind::Accepted, 1), (ReportKind::Rejected, 1)]
    );
    assert_eq!(seen[1].reject.unwrap().0, RejectCode::SystemUnavailable);
    assert_eq!(shard.open_orders(), 0);
}

/// The simulated venue behind a wire: what is sent and what comes back waits
/// until it is let through.
struct Distant {
    venue: SimVenue,
    sent: VecDeque<Request>,
    arrived: VecDeque<VenueEvent>,
}

#[derive(Clone, Copy)]
enum Request {
    Submit(VenueOrder),
    Cancel(ClientOrderId),
    Replace(ClientOrderId, Price, Quantity),
}

impl Distant {
    fn let_through(&mut self, requests: usize) {
        for _ in 0..requests {
            let Some(request) = self.sent.pop_front() else {
                break;
            };
            match request {
                Request::Submit(order) => self.venue.submit(&order),
                Request::Cancel(id) => self.venue.cancel(id),
                Request::Replace(id, price, quantity) => self.venue.replace(id, price, quantity),
            }
            .unwrap();
            while let Some(event) = self.venue.next_event() {
                self.arrived.push_back(event);
            }
        }
    }
}

impl Venue for Distant {
    fn submit(&mut self, order: &VenueOrder) -> Result<(), VenueError> {
        self.sent.push_back(Request::Submit(*order));
        Ok(())
    }
    fn cancel(&mut self, id: ClientOrderId) -> Result<(), VenueError> {
        self.sent.push_back(Request::Cancel(id));
        Ok(())
    }
    fn replace(
        &mut self,
        id: ClientOrderId,
        price: Price,
        quantity: Quantity,
    ) -> Result<(), VenueError> {
        self.sent.push_back(Request::Replace(id, price, quantity));
        Ok(())
    }
    fn next_event(&mut self) -> Option<VenueEvent> {
        self.arrived.pop_front()
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    New {
        account: u64,
        buy: bool,
        price: i64,
        quantity: i64,
        immediate: bool,
    },
    Cancel {
        pick: u64,
    },
    Replace {
        pick: u64,
        price: i64,
        quantity: i64,
    },
    LetThrough(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..=ACCOUNTS, any::<bool>(), 98i64..103, 0i64..6, prop::bool::weighted(0.2)).prop_map(
            |(account, buy, price, quantity, immediate)| {
                Step::New { account, buy, price, quantity, immediate }
            }
        ),
        2 => any::<u64>().prop_map(|pick| Step::Cancel { pick }),
        2 => (any::<u64>(), 98i64..103, 0i64..8)
            .prop_map(|(pick, price, quantity)| Step::Replace { pick, price, quantity }),
        3 => (0usize..6).prop_map(Step::LetThrough),
    ]
}

/// What a client may conclude from its reports alone.
#[derive(Default)]
struct Client {
    /// What each message asked, until it is answered.
    unanswered: BTreeMap<u64, &'static str>,
    /// Filled so far, of orders that are not over.
    open: HashMap<u64, Quantity>,
    sequence: u64,
}

impl Client {
    fn hear(&mut self, report: &Report) {
        self.sequence += 1;
        assert_eq!(report.sequence, self.sequence, "no gap: {report:?}");
        let (order, reference) = (report.order_reference.0, report.reference.0);
        match report.kind {
            ReportKind::Accepted => {
                assert_eq!(
                    self.unanswered.remove(&reference),
                    Some("new"),
                    "{report:?}"
                );
                assert_ne!(report.client_order_id, ClientOrderId::default());
                self.open.insert(order, Quantity::ZERO);
            }
            ReportKind::Rejected => {
                // By risk it is the only answer; by the venue it follows the first.
                let by_risk = self.unanswered.remove(&reference) == Some("new");
                assert!(by_risk || self.open.remove(&order).is_some(), "{report:?}");
            }
            ReportKind::Executed => {
                let filled = self
                    .open
                    .get_mut(&order)
                    .expect("only an open order trades");
                *filled = filled.checked_add(report.quantity).unwrap();
                assert_eq!(report.cumulative, *filled);
                if report.leaves.is_zero() {
                    self.open.remove(&order);
                }
            }
            ReportKind::Canceled => {
                assert!(self.open.remove(&order).is_some(), "ends once: {report:?}");
                if reference != order {
                    assert_eq!(
                        self.unanswered.remove(&reference),
                        Some("cancel"),
                        "{report:?}"
                    );
                }
            }
            ReportKind::Replaced => {
                assert_eq!(
                    self.unanswered.remove(&reference),
                    Some("replace"),
                    "{report:?}"
                );
                assert!(self.open.contains_key(&order));
            }
            ReportKind::CancelRejected => {
                let asked = self.unanswered.remove(&reference);
                assert!(matches!(asked, Some("cancel" | "replace")), "{report:?}");
            }
        }
    }
}

fn run(steps: &[Step], distant: bool) {
    let venue = Distant {
        venue: sim(),
        sent: VecDeque::new(),
        arrived: VecDeque::new(),
    };
    let (mut shard, mut receiver) = shard(venue, 16);
    let mut client = Client::default();
    let mut accounts = HashMap::new();
    let mut reference = 0;
    for &step in steps {
        reference += 1;
        let picked = |pick: u64| 1 + pick % reference;
        let (asked, command) = match step {
            Step::New {
                account,
                buy,
                price,
                quantity,
                immediate,
            } => {
                let side = if buy { Side::Buy } else { Side::Sell };
                let mut order = limit(account, side, price, quantity);
                if immediate {
                    order.time_in_force = TimeInForce::ImmediateOrCancel;
                }
                accounts.insert(reference, account);
                ("new", new_order(reference, order))
            }
            Step::Cancel { pick } => {
                let target = picked(pick);
                (
                    "cancel",
                    cancel(
                        reference,
                        accounts.get(&target).copied().unwrap_or(1),
                        target,
                    ),
                )
            }
            Step::Replace {
                pick,
                price,
                quantity,
            } => {
                let target = picked(pick);
                let account = accounts.get(&target).copied().unwrap_or(1);
                (
                    "replace",
                    replace(reference, account, target, price, quantity),
                )
            }
            Step::LetThrough(requests) => {
                shard.venue_mut().let_through(requests);
                shard.settle(usize::MAX, NOW);
                continue;
            }
        };
        client.unanswered.insert(reference, asked);
        shard.command(&command, NOW);
        if !distant {
            shard.venue_mut().let_through(usize::MAX);
            shard.settle(usize::MAX, NOW);
        }
        for report in reports(&mut shard, &mut receiver) {
            client.hear(&report);
        }
    }
    shard.venue_mut().let_through(usize::MAX);
    shard.settle(usize::MAX, NOW);
    for report in reports(&mut shard, &mut receiver) {
        client.hear(&report);
    }
    assert_eq!(
        client.unanswered,
        BTreeMap::new(),
        "every request is answered"
    );
    assert_eq!(client.open.len(), shard.open_orders());
    assert_eq!(shard.open_orders(), shard.venue_mut().venue.open_orders());
    assert_eq!(shard.open_orders(), shard.risk().orders_open());
    assert_eq!(shard.counts().stray_events, 0);
    assert_eq!(shard.counts().alarms, 0);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_request_is_answered_once_by_a_venue_at_hand(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        run(&steps, false);
    }

    #[test]
    fn every_request_is_answered_once_by_a_distant_venue(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        run(&steps, true);
    }
}
