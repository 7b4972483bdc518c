//! Bad peers over real sockets, on both reactors: each ends with its reason,
//! and nobody else notices.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use pitlane::types::{ClientReference, Order, Quantity};
use pitlane_gateway::client::{Client, ClientError, Event, Logon};
use pitlane_gateway::server::{IoChoice, Server, ServerConfig, ServerError};
use pitlane_gateway::session::CredentialId;
use pitlane_gateway::wire::{
    Cancel, Challenge, ENCODING_SBE, FromGateway, NegotiationRejectReason, SCHEMA_ID,
    TerminateReason,
};
use socket2::SockRef;

use support::core::{CoreKind, FILLS, TestPath};
use support::desk::{frame, negotiate};
use support::raw::{Raw, establish};
use support::{Gateway, Setup, account, event, key, order};

on_both_reactors! {
    g07_logons_that_fail_say_what_to_look_at
    g07_a_captured_logon_is_refused_on_a_new_connection
    g06_bad_frames_end_their_session_with_a_reason_and_no_other
    f16_a_reset_in_mid_frame_leaves_earlier_orders_standing
    f17_a_half_open_peer_is_warned_and_given_up
    f18_a_slow_reader_is_ended_and_others_go_on
    g10_a_byte_at_a_time_ends_at_the_frames_deadline
    g10_who_says_nothing_ends_at_the_logons_deadline
    g10_a_client_that_only_waits_is_kept_alive
    g13_connections_beyond_the_caps_are_closed_at_once
}

fn wall() -> u64 {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap();
    u64::try_from(since.as_nanos()).unwrap()
}

/// A raw connection that is logged on.
fn raw_session(gateway: &Gateway, id: u16, keep_alive_ms: u32) -> Raw {
    let mut raw = Raw::connect(gateway.handle.address());
    log_on(&mut raw, id, keep_alive_ms);
    raw
}

fn log_on(raw: &mut Raw, id: u16, keep_alive_ms: u32) {
    let challenge = challenge(raw);
    answer(raw, &challenge, id, keep_alive_ms);
}

fn challenge(raw: &mut Raw) -> Challenge {
    match raw.next() {
        Some(FromGateway::Challenge(challenge)) => challenge,
        other => panic!("{other:?}"),
    }
}

fn answer(raw: &mut Raw, challenge: &Challenge, id: u16, keep_alive_ms: u32) {
    raw.send(&negotiate(challenge, u64::from(id), &key(id), wall()));
    assert!(matches!(
        raw.next(),
        Some(FromGateway::NegotiationResponse(_))
    ));
    raw.send(&establish(keep_alive_ms));
    assert!(matches!(raw.next(), Some(FromGateway::EstablishmentAck(_))));
}

/// One order there and back.
fn round_trip(client: &mut Client, id: u16, number: u64) {
    let mine = order(account(id));
    client
        .sender()
        .new_order(ClientReference(number), &mine)
        .unwrap();
    client.sender().flush().unwrap();
    loop {
        match event(client) {
            Event::Accepted(accepted) => {
                assert_eq!(accepted.head.reference, number);
                return;
            }
            Event::KeepAlive { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

fn g07_logons_that_fail_say_what_to_look_at(io: IoChoice) {
    let gateway = Setup::new(io).start();
    let address = gateway.handle.address();
    let connect = |logon: &Logon| Client::connect(address, logon).unwrap_err();
    let good = gateway.logon(1);
    for bad in [
        Logon {
            key: key(2),
            ..good.clone()
        },
        Logon {
            credential: CredentialId(999),
            ..good.clone()
        },
    ] {
        let error = connect(&bad);
        assert!(matches!(
            error,
            ClientError::LogonRefused {
                reason: Some(NegotiationRejectReason::Refused)
            }
        ));
        assert!(error.to_string().contains("clock"), "{error}");
    }
    let mut raw = Raw::connect(address);
    let challenge = challenge(&mut raw);
    raw.send(&negotiate(&challenge, 1, &key(1), wall() - 10_000_000_000));
    assert_eq!(raw.reason(), TerminateReason::NegotiationRefused);

    assert!(matches!(
        connect(&Logon {
            gateway_id: 1,
            ..good.clone()
        }),
        ClientError::WrongGateway {
            expected: 1,
            found: support::GATEWAY
        }
    ));
    assert!(matches!(
        connect(&Logon {
            keep_alive: Duration::from_secs(3_600),
            ..good.clone()
        }),
        ClientError::NotEstablished { reason: Some(_) }
    ));
    let mut client = gateway.client(1);
    assert!(matches!(
        connect(&good),
        ClientError::LogonRefused {
            reason: Some(NegotiationRejectReason::SessionInUse)
        }
    ));
    round_trip(&mut client, 1, 1);
    client.finish().unwrap();
    // Four were refused, of which one for being there already.
    gateway.await_stats("counted", |stats| {
        (stats.logons_refused, stats.established) == (4, 1)
    });
}

fn g07_a_captured_logon_is_refused_on_a_new_connection(io: IoChoice) {
    let gateway = Setup::new(io).start();
    let mut first = Raw::connect(gateway.handle.address());
    let challenge = challenge(&mut first);
    let captured = negotiate(&challenge, 1, &key(1), wall());
    first.send(&captured);
    assert!(matches!(
        first.next(),
        Some(FromGateway::NegotiationResponse(_))
    ));
    drop(first);
    gateway.await_stats("gone", |stats| stats.connections == 0);
    let mut second = Raw::connect(gateway.handle.address());
    assert!(matches!(second.next(), Some(FromGateway::Challenge(_))));
    second.send(&captured);
    assert_eq!(second.reason(), TerminateReason::NegotiationRefused);
}

fn g06_bad_frames_end_their_session_with_a_reason_and_no_other(io: IoChoice) {
    let gateway = Setup::new(io).start();
    let mut other = gateway.client(2);
    let good = frame(&Cancel {
        seq_num: 1,
        reference: 1,
        account: 10,
        target: 1,
    });
    let with = |at: usize, word: u16| {
        let mut bytes = good.clone();
        bytes[at..at + 2].copy_from_slice(&word.to_le_bytes());
        bytes
    };
    assert_eq!(
        (good[2..4].to_vec(), good[8..10].to_vec()),
        (
            ENCODING_SBE.to_le_bytes().to_vec(),
            SCHEMA_ID.to_le_bytes().to_vec(),
        )
    );
    let cases = [
        (with(0, 1_025), TerminateReason::FrameTooLong),
        (with(0, 0xFFFF), TerminateReason::FrameTooLong),
        (vec![0xFF; 8], TerminateReason::BadFraming),
        (with(2, 0x5BE0), TerminateReason::BadFraming),
        (with(0, 3), TerminateReason::BadFraming),
        (with(8, SCHEMA_ID + 1), TerminateReason::UnknownSchema),
        (with(4, 16), TerminateReason::MalformedMessage),
        (with(4, 48), TerminateReason::MalformedMessage),
        (with(6, 201), TerminateReason::UnexpectedMessage),
    ];
    let faults = u64::try_from(cases.len()).unwrap();
    for (number, (bytes, reason)) in (1..).zip(cases) {
        let mut raw = raw_session(&gateway, 1, 10_000);
        raw.send_bytes(&bytes);
        // What follows is not read, and does not take the reason away.
        let _ = raw.stream.write_all(&vec![0xA5; 1 << 20]);
        assert_eq!(raw.reason(), reason, "case {number}");
        assert!(!raw.was_reset, "case {number}");
        round_trip(&mut other, 2, number);
    }
    // An unknown template is skipped.
    let mut raw = raw_session(&gateway, 1, 10_000);
    raw.send_bytes(&with(6, 999));
    raw.send_bytes(&good);
    assert!(matches!(raw.next(), Some(FromGateway::Canceled(_))));
    gateway.await_stats("counted", |stats| {
        (stats.faulted, stats.skipped) == (faults, 1)
    });
}

fn f16_a_reset_in_mid_frame_leaves_earlier_orders_standing(io: IoChoice) {
    let gateway = Setup::new(io).start();
    let mut other = gateway.client(2);
    let mut raw = raw_session(&gateway, 1, 10_000);
    let one = |seq_num| {
        frame(&Cancel {
            seq_num,
            reference: seq_num,
            account: 10,
            target: 1,
        })
    };
    raw.send_bytes(&[one(1), one(2)[..20].to_vec()].concat());
    gateway.await_stats("in", |stats| stats.commands == 1);
    SockRef::from(&raw.stream)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
    drop(raw);
    let stats = gateway.await_stats("reset", |stats| stats.connections == 1);
    assert_eq!((stats.commands, stats.lost, stats.faulted), (1, 1, 0));
    round_trip(&mut other, 2, 1);
    // The reference of the frame that was cut is not used.
    let mut client = gateway.client(1);
    client
        .sender()
        .cancel(ClientReference(2), account(1), ClientReference(1))
        .unwrap();
    client.sender().flush().unwrap();
    assert!(matches!(event(&mut client), Event::Canceled(_)));
}

fn f17_a_half_open_peer_is_warned_and_given_up(io: IoChoice) {
    let gateway = Setup::new(io).start();
    let mut raw = raw_session(&gateway, 1, 100);
    let begun = Instant::now();
    let mut was_warned = false;
    let reason = loop {
        match raw.next().expect("a reason before the end") {
            FromGateway::Sequence(sequence) => was_warned |= sequence.lapsed == 1,
            FromGateway::Terminate(end) => break TerminateReason::from_number(end.reason),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(reason, Some(TerminateReason::KeepAliveTimeout));
    assert!(was_warned);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    // Its end of the connection stays open; ours does not.
    gateway.await_stats("gone", |stats| stats.connections == 0);
}

fn f18_a_slow_reader_is_ended_and_others_go_on(io: IoChoice) {
    for core in [CoreKind::Inline, CoreKind::Threaded] {
        let mut setup = Setup::new(io);
        setup.core = core;
        setup.config.outbound_max = 64 * 1_024;
        setup.config.timing.close_grace = Duration::from_millis(200);
        let gateway = setup.start();
        let mut other = gateway.client(2);
        let stream = TcpStream::connect(gateway.handle.address()).unwrap();
        SockRef::from(&stream).set_recv_buffer_size(4_096).unwrap();
        let mut slow = Raw::over(stream);
        log_on(&mut slow, 1, 60_000);
        let many = Order {
            instrument: FILLS,
            quantity: Some(Quantity::from_raw(100_000)),
            ..order(account(1))
        };
        let first = pitlane_gateway::wire::NewOrder::new(1, ClientReference(1), &many).unwrap();
        slow.send(&first);
        let mut number = 0;
        while gateway.handle.stats().slow_readers == 0 {
            number += 1;
            round_trip(&mut other, 2, number);
        }
        // Without its ever reading, the connection goes.
        gateway.await_stats("gone", |stats| stats.connections == 1);
        round_trip(&mut other, 2, number + 1);
        // What it had been sent is a beginning, in order.
        let mut expected = 0;
        let mut bytes = Vec::new();
        let _ = slow.stream.read_to_end(&mut bytes);
        let whole = bytes.len() - bytes.len().min(116 * 2 - 1);
        let mut rest = &bytes[..];
        while let Ok(pitlane_gateway::wire::Next::Frame(found)) =
            pitlane_gateway::wire::next_frame(rest)
        {
            rest = &rest[found.length..];
            if let Ok(FromGateway::Executed(executed)) = FromGateway::decode(&found) {
                expected += 1;
                assert_eq!(executed.head.cumulative, expected);
            }
        }
        assert!(bytes.len() - rest.len() >= whole && expected < 100_000);
        let stats = gateway.handle.stats();
        assert_eq!((stats.slow_readers, stats.faulted), (1, 0));
    }
}

fn g10_a_byte_at_a_time_ends_at_the_frames_deadline(io: IoChoice) {
    let mut setup = Setup::new(io);
    setup.config.timing.partial_frame = Duration::from_millis(200);
    let gateway = setup.start();
    let mut raw = raw_session(&gateway, 1, 10_000);
    let bytes = frame(&Cancel {
        seq_num: 1,
        reference: 1,
        account: 10,
        target: 1,
    });
    let begun = Instant::now();
    for byte in &bytes {
        if raw.stream.write_all(&[*byte]).is_err() || begun.elapsed() > Duration::from_millis(500) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(raw.reason(), TerminateReason::FrameTimeout);
    assert_eq!(
        gateway
            .await_stats("gone", |stats| stats.connections == 0)
            .commands,
        0
    );
}

fn g10_who_says_nothing_ends_at_the_logons_deadline(io: IoChoice) {
    let mut setup = Setup::new(io);
    setup.config.timing.negotiation = Duration::from_millis(100);
    let gateway = setup.start();
    let begun = Instant::now();
    let mut raw = Raw::connect(gateway.handle.address());
    assert_eq!(raw.reason(), TerminateReason::NegotiationTimeout);
    assert!(begun.elapsed() >= Duration::from_millis(100));
}

fn g10_a_client_that_only_waits_is_kept_alive(io: IoChoice) {
    let mut gateway = Setup::new(io).start();
    gateway.logon_keep_alive = Duration::from_millis(100);
    let mut client = gateway.client(1);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(600) {
        match client.next_event(Duration::from_millis(100)).unwrap() {
            None | Some(Event::KeepAlive { is_lapsed: false }) => {}
            other => panic!("{other:?}"),
        }
    }
    round_trip(&mut client, 1, 1);
}

fn g13_connections_beyond_the_caps_are_closed_at_once(io: IoChoice) {
    let mut setup = Setup::new(io);
    setup.config.connections_max = 4;
    setup.config.pre_logon_max = 2;
    let gateway = setup.start();
    let address = gateway.handle.address();
    let mut silent = Raw::connect(address);
    let mut stranger = Raw::connect(address);
    let asked = challenge(&mut silent);
    challenge(&mut stranger);
    assert!(Raw::connect(address).next().is_none(), "no third stranger");
    assert!(matches!(
        gateway.connect(1),
        Err(ClientError::Closed | ClientError::Io { .. })
    ));
    // Who logs on makes room for the next.
    answer(&mut silent, &asked, 1, 10_000);
    let mut second = gateway.client(2);
    let third = gateway.client(3);
    assert!(
        Raw::connect(address).next().is_none(),
        "no fifth connection"
    );
    round_trip(&mut second, 2, 1);
    drop(third);
    gateway.await_stats("room", |stats| stats.connections == 3);
    let mut fourth = gateway.client(4);
    round_trip(&mut fourth, 4, 1);
    gateway.await_stats("counted", |stats| stats.turned_away == 3);
}

#[test]
fn g17_a_port_in_use_is_said_with_the_mend() {
    let gateway = Setup::new(IoChoice::Epoll).start();
    for threads in [1, 2] {
        let config = ServerConfig {
            listen: gateway.handle.address(),
            threads,
            io: IoChoice::Epoll,
            ..ServerConfig::default()
        };
        let error = start(config).unwrap_err();
        assert!(matches!(error, ServerError::Bind { .. }));
        let text = error.to_string();
        assert!(
            text.contains(&gateway.handle.address().to_string()),
            "{text}"
        );
        assert!(text.contains("ss -ltnp"), "{text}");
    }
}

#[test]
fn g13_settings_that_cannot_be_are_refused_by_name() {
    let good = ServerConfig {
        io: IoChoice::Epoll,
        ..ServerConfig::default()
    };
    for (name, bad) in [
        (
            "threads",
            ServerConfig {
                threads: 0,
                ..good.clone()
            },
        ),
        (
            "threads",
            ServerConfig {
                threads: 65,
                ..good.clone()
            },
        ),
        (
            "connections_max",
            ServerConfig {
                connections_max: 0,
                ..good.clone()
            },
        ),
        (
            "pre_logon_max",
            ServerConfig {
                pre_logon_max: 0,
                ..good.clone()
            },
        ),
        (
            "outbound_max",
            ServerConfig {
                outbound_max: 2_047,
                ..good.clone()
            },
        ),
        (
            "read_buffer",
            ServerConfig {
                read_buffer: 16_383,
                ..good.clone()
            },
        ),
        (
            "tick",
            ServerConfig {
                tick: Duration::ZERO,
                ..good.clone()
            },
        ),
        (
            "report_budget",
            ServerConfig {
                report_budget: 0,
                ..good.clone()
            },
        ),
        (
            "allow_public",
            ServerConfig {
                listen: "0.0.0.0:0".parse().unwrap(),
                ..good.clone()
            },
        ),
    ] {
        let error = start(bad).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
}

fn start(config: ServerConfig) -> Result<pitlane_gateway::server::ServerHandle, ServerError> {
    let credentials = pitlane_gateway::session::Credentials::new(&[support::credential(1)]);
    Server::start(config, std::sync::Arc::new(credentials.unwrap()), |port| {
        TestPath::new(CoreKind::Inline, port)
    })
}
