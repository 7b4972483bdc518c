//! Orders over real sockets and back, on both reactors.

mod support;

use std::time::Duration;

use pitlane::types::{AccountId, ClientReference, Order, PRICE_SCALE, Price, Quantity, RejectCode};
use pitlane_gateway::client::{Client, Event};
use pitlane_gateway::server::IoChoice;
use pitlane_gateway::session::Permissions;

use support::core::{CoreKind, FILLS, FULL, LATE, MUTE, RECOVERED};
use support::{PATIENCE, Setup, account, event, order};

on_both_reactors! {
    g04_orders_come_back_accepted_replaced_and_canceled
    g14_a_window_is_answered_in_order_and_each_order_once
    g14_reports_that_come_on_their_own_reach_their_sessions
    g08_an_account_that_the_credential_lacks_is_refused_like_an_unknown_one
    g09_references_must_rise_and_refusals_use_none
    g13_beyond_the_in_flight_cap_orders_are_refused_and_cancels_are_not
    g13_a_full_ring_is_a_refusal
    g09_reports_of_an_earlier_session_reach_the_credentials_next
    g09_a_report_of_an_earlier_runs_order_reaches_its_credential
    g16_many_threads_and_connections_on_few_cores
    f40_a_small_ring_loses_no_completion
    g18_stopping_drains_tells_and_counts
}

fn numbered(client: &mut Client, numbers: std::ops::Range<u64>, order: &Order) {
    for number in numbers {
        client
            .sender()
            .new_order(ClientReference(number), order)
            .unwrap();
    }
    client.sender().flush().unwrap();
}

fn g04_orders_come_back_accepted_replaced_and_canceled(io: IoChoice) {
    for core in [CoreKind::Inline, CoreKind::Threaded] {
        let gateway = Setup {
            core,
            ..Setup::new(io)
        }
        .start();
        let mut client = gateway.client(1);
        let order = order(account(1));
        client
            .sender()
            .new_order(ClientReference(1), &order)
            .unwrap();
        client
            .sender()
            .replace(
                ClientReference(2),
                order.account,
                ClientReference(1),
                Price::from_raw(7),
                Quantity::from_raw(9),
            )
            .unwrap();
        client
            .sender()
            .cancel(ClientReference(3), order.account, ClientReference(1))
            .unwrap();
        client.sender().flush().unwrap();
        let Event::Accepted(accepted) = event(&mut client) else {
            panic!("accepted first");
        };
        assert_eq!(accepted.head.account, account(1).0);
        assert_eq!(accepted.head.reference, 1);
        assert_eq!(accepted.head.price(), Price::from_raw(100 * PRICE_SCALE));
        assert_eq!(accepted.head.leaves(), Quantity::from_raw(5 * PRICE_SCALE));
        assert_eq!(accepted.head.client_order_id().unwrap().low, 1);
        assert_eq!((accepted.head.seq_num, accepted.head.report_seq), (1, 1));
        let Event::Replaced(replaced) = event(&mut client) else {
            panic!("then replaced");
        };
        assert_eq!(
            (replaced.head.reference, replaced.head.order_reference),
            (2, 1)
        );
        assert_eq!((replaced.head.price, replaced.head.quantity), (7, 9));
        let Event::Canceled(canceled) = event(&mut client) else {
            panic!("then canceled");
        };
        assert_eq!(
            (canceled.head.reference, canceled.head.order_reference),
            (3, 1)
        );
        assert!(client.finish().unwrap().is_empty());
        let (summary, stats) = gateway.handle.shutdown(Duration::ZERO);
        assert_eq!((summary.in_flight, summary.panicked), (0, 0));
        assert_eq!(
            (stats.commands, stats.reports, stats.faulted, stats.lost),
            (3, 3, 0, 0)
        );
    }
}

fn g14_a_window_is_answered_in_order_and_each_order_once(io: IoChoice) {
    const COUNT: u64 = 20_000;
    let gateway = Setup::new(io).start();
    let (mut sender, mut receiver) = gateway.client(1).split();
    let order = order(account(1));
    let sending = std::thread::spawn(move || {
        for number in 1..=COUNT {
            sender.new_order(ClientReference(number), &order).unwrap();
        }
        sender.flush().unwrap();
        sender
    });
    for number in 1..=COUNT {
        match receiver.next_event(PATIENCE).unwrap() {
            Some(Event::Accepted(accepted)) => assert_eq!(accepted.head.reference, number),
            other => panic!("{number}: {other:?}"),
        }
    }
    let mut sender = sending.join().unwrap();
    sender.terminate().unwrap();
    assert!(matches!(
        receiver.next_event(PATIENCE).unwrap(),
        Some(Event::Terminated { .. })
    ));
}

fn g14_reports_that_come_on_their_own_reach_their_sessions(io: IoChoice) {
    let gateway = Setup {
        core: CoreKind::Threaded,
        ..Setup::new(io)
    }
    .start();
    let (mut first, mut second) = (gateway.client(1), gateway.client(2));
    let fills = |account| Order {
        instrument: FILLS,
        quantity: Some(Quantity::from_raw(1_000)),
        ..order(account)
    };
    numbered(&mut first, 1..3, &fills(account(1)));
    numbered(&mut second, 1..2, &fills(account(2)));
    for (client, orders) in [(&mut first, 2), (&mut second, 1)] {
        for _ in 0..orders {
            let Event::Accepted(accepted) = event(client) else {
                panic!("accepted");
            };
            for filled in 1..=1_000 {
                match event(client) {
                    Event::Executed(executed) => {
                        assert_eq!(executed.head.account, accepted.head.account);
                        assert_eq!(executed.head.cumulative, filled);
                        assert_eq!(executed.head.leaves, 1_000 - filled);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

fn g08_an_account_that_the_credential_lacks_is_refused_like_an_unknown_one(io: IoChoice) {
    let mut setup = Setup::new(io);
    setup.credentials[4].permissions = Permissions::CANCEL_ONLY;
    let gateway = setup.start();
    let mut client = gateway.client(1);
    // Account 20 is another credential's, account 9999 is nobody's.
    let answer = |client: &mut Client, account: AccountId| {
        client
            .sender()
            .new_order(ClientReference(5), &order(account))
            .unwrap();
        client
            .sender()
            .cancel(ClientReference(5), account, ClientReference(4))
            .unwrap();
        client.sender().flush().unwrap();
        let Event::Rejected(mut rejected) = event(client) else {
            panic!("rejected");
        };
        let Event::CancelRejected(mut cancel) = event(client) else {
            panic!("cancel rejected");
        };
        assert_eq!(rejected.code(), Some(RejectCode::AccountNotAuthorized));
        assert!(rejected.head.is_gateways_own());
        assert_eq!(cancel.code(), Some(RejectCode::AccountNotAuthorized));
        // All but the account itself and the message's number.
        (rejected.head.account, cancel.head.account) = (0, 0);
        (rejected.head.seq_num, cancel.head.seq_num) = (0, 0);
        (rejected, cancel)
    };
    assert_eq!(
        answer(&mut client, account(2)),
        answer(&mut client, AccountId(9_999))
    );

    let mut cancels = gateway.client(5);
    numbered(&mut cancels, 1..2, &order(account(5)));
    assert!(matches!(event(&mut cancels), Event::Rejected(rejected)
        if rejected.code() == Some(RejectCode::AccountNotAuthorized)));
    cancels
        .sender()
        .cancel(ClientReference(1), account(5), ClientReference(9))
        .unwrap();
    cancels.sender().flush().unwrap();
    assert!(matches!(event(&mut cancels), Event::Canceled(_)));
}

fn g09_references_must_rise_and_refusals_use_none(io: IoChoice) {
    let gateway = Setup::new(io).start();
    let mut client = gateway.client(1);
    let code = |client: &mut Client, reference, order: &Order| {
        client
            .sender()
            .new_order(ClientReference(reference), order)
            .unwrap();
        client.sender().flush().unwrap();
        match event(client) {
            Event::Accepted(_) => None,
            Event::Rejected(rejected) => rejected.code(),
            other => panic!("{other:?}"),
        }
    };
    let (mine, full) = (
        order(account(1)),
        Order {
            instrument: FULL,
            ..order(account(1))
        },
    );
    assert_eq!(
        code(&mut client, 0, &mine),
        Some(RejectCode::InvalidFieldValue)
    );
    assert_eq!(code(&mut client, 10, &mine), None);
    for old in [10, 9, 1] {
        assert_eq!(
            code(&mut client, old, &mine),
            Some(RejectCode::DuplicateClientOrderId)
        );
    }
    // A refusal of the gateway's own leaves the reference unused.
    assert_eq!(
        code(&mut client, 11, &full),
        Some(RejectCode::CapacityExceeded)
    );
    assert_eq!(code(&mut client, 11, &mine), None);
    // Each account has its own.
    assert_eq!(code(&mut client, 1, &order(AccountId(11))), None);
    // They outlive the connection.
    client.finish().unwrap();
    let mut client = gateway.client(1);
    assert_eq!(
        code(&mut client, 11, &mine),
        Some(RejectCode::DuplicateClientOrderId)
    );
    assert_eq!(code(&mut client, u64::MAX, &mine), None);
}

fn g13_beyond_the_in_flight_cap_orders_are_refused_and_cancels_are_not(io: IoChoice) {
    let mut setup = Setup::new(io);
    setup.credentials[0].max_in_flight = 3;
    let gateway = setup.start();
    let mut client = gateway.client(1);
    let mute = Order {
        instrument: MUTE,
        ..order(account(1))
    };
    numbered(&mut client, 1..5, &mute);
    assert!(matches!(event(&mut client), Event::Rejected(rejected)
        if rejected.head.reference == 4
            && rejected.code() == Some(RejectCode::RateLimitExceeded)));
    client
        .sender()
        .cancel(ClientReference(4), account(1), ClientReference(1))
        .unwrap();
    client.sender().flush().unwrap();
    assert!(matches!(event(&mut client), Event::Canceled(_)));
    // Answered orders make room; these are.
    let mut other = gateway.client(2);
    numbered(&mut other, 1..100, &order(account(2)));
    for _ in 1..100 {
        assert!(matches!(event(&mut other), Event::Accepted(_)));
    }
    // What the core never answered is told when it stops.
    let (summary, _) = gateway.handle.shutdown(Duration::from_millis(50));
    assert_eq!((summary.in_flight, summary.sessions_told), (3, 2));
}

fn g13_a_full_ring_is_a_refusal(io: IoChoice) {
    let gateway = Setup::new(io).start();
    let mut client = gateway.client(1);
    let full = Order {
        instrument: FULL,
        ..order(account(1))
    };
    numbered(&mut client, 1..3, &full);
    for number in 1..3 {
        assert!(matches!(event(&mut client), Event::Rejected(rejected)
            if rejected.head.reference == number
                && rejected.head.instrument == FULL.0
                && rejected.code() == Some(RejectCode::CapacityExceeded)));
    }
}

fn g09_reports_of_an_earlier_session_reach_the_credentials_next(io: IoChoice) {
    let mut setup = Setup::new(io);
    setup.credentials[0].max_in_flight = 1;
    let gateway = setup.start();
    let mut client = gateway.client(1);
    let with = |instrument| Order {
        instrument,
        ..order(account(1))
    };
    numbered(&mut client, 1..2, &with(LATE));
    gateway.await_stats("in", |stats| stats.commands == 1);
    drop(client);
    gateway.await_stats("gone", |stats| stats.connections == 0);
    // The same seat, and the same credential; another session.
    let mut client = gateway.client(1);
    numbered(&mut client, 2..3, &with(MUTE));
    assert!(matches!(event(&mut client), Event::Accepted(accepted)
        if accepted.head.reference == 1));
    // It answered none of this session's, so nothing more may be in flight.
    numbered(&mut client, 3..4, &with(MUTE));
    assert!(matches!(event(&mut client), Event::Rejected(rejected)
        if rejected.code() == Some(RejectCode::RateLimitExceeded)));
}

fn g09_a_report_of_an_earlier_runs_order_reaches_its_credential(io: IoChoice) {
    let gateway = Setup::new(io).start();
    let mut others = gateway.client(2);
    let mut client = gateway.client(1);
    let of_before = Order {
        instrument: RECOVERED,
        ..order(account(1))
    };
    numbered(&mut client, 1..2, &of_before);
    assert!(matches!(event(&mut client), Event::Accepted(accepted)
        if accepted.head.reference == 1));
    // Whose credential has no session hears nothing, and that is no report lost.
    numbered(&mut others, 1..2, &order(account(2)));
    assert!(matches!(event(&mut others), Event::Accepted(accepted)
        if accepted.head.account == account(2).0));
    gateway.await_stats("all", |stats| stats.commands == 2);
    gateway.await_stats("none lost", |stats| stats.undelivered == 0);
}

fn g16_many_threads_and_connections_on_few_cores(io: IoChoice) {
    let mut setup = Setup::new(io);
    setup.config.threads = 4;
    setup.core = CoreKind::Threaded;
    let gateway = setup.start();
    assert_eq!(gateway.handle.io().len(), 4);
    let mut clients: Vec<_> = (1..=32).map(|id| (id, gateway.client(id))).collect();
    for round in 0..4 {
        for (id, client) in &mut clients {
            numbered(
                client,
                round * 50 + 1..round * 50 + 51,
                &order(account(*id)),
            );
        }
        for (id, client) in &mut clients {
            for number in round * 50 + 1..round * 50 + 51 {
                match event(client) {
                    Event::Accepted(accepted) => {
                        assert_eq!(accepted.head.account, account(*id).0);
                        assert_eq!(accepted.head.reference, number);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    drop(clients);
    let stats = gateway.await_stats("all gone", |stats| stats.connections == 0);
    assert_eq!((stats.commands, stats.reports), (6_400, 6_400));
    assert_eq!((stats.undelivered, stats.lost), (0, 32));
}

/// A completion that is lost leaves its connection silent for ever.
fn f40_a_small_ring_loses_no_completion(io: IoChoice) {
    let mut setup = Setup::new(io);
    setup.config.ring_entries = 2;
    let gateway = setup.start();
    let mut clients: Vec<_> = (1..=40).map(|id| (id, gateway.client(id))).collect();
    for round in 0..20 {
        for (id, client) in &mut clients {
            numbered(client, round + 1..round + 2, &order(account(*id)));
        }
        for (_, client) in &mut clients {
            assert!(matches!(event(client), Event::Accepted(_)));
        }
    }
}

fn g18_stopping_drains_tells_and_counts(io: IoChoice) {
    let gateway = Setup {
        core: CoreKind::Threaded,
        ..Setup::new(io)
    }
    .start();
    let address = gateway.handle.address();
    let (mut busy, mut idle) = (gateway.client(1), gateway.client(2));
    numbered(&mut busy, 1..1_001, &order(account(1)));
    // All of them are in before it stops.
    gateway.await_stats("all in", |stats| stats.commands == 1_000);
    let (summary, stats) = gateway.handle.shutdown(PATIENCE);
    assert_eq!((summary.in_flight, summary.sessions_told), (0, 2));
    assert_eq!((summary.unread, summary.panicked), (0, 0));
    assert_eq!((stats.reports, stats.connections), (1_000, 0));
    for _ in 0..1_000 {
        assert!(matches!(event(&mut busy), Event::Accepted(_)));
    }
    for client in [&mut busy, &mut idle] {
        assert!(
            matches!(event(client), Event::Terminated { reason: Some(reason) }
            if reason == pitlane_gateway::wire::TerminateReason::GatewayStopping)
        );
    }
    assert!(
        std::net::TcpStream::connect(address).is_err(),
        "nobody listens"
    );
}
