//! Who may come in: the proof, the phases before orders, and their deadlines.

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use pitlane_gateway::client::ClientKey;
use pitlane_gateway::session::{
    Credential, CredentialError, CredentialId, Credentials, Timing, signed_bytes,
};
use pitlane_gateway::wire::{
    Accepted, Cancel, Establish, EstablishmentRejectReason, FromGateway, Negotiate,
    NegotiationRejectReason, ReportHead, Sequence, Terminate, TerminateReason,
};

use support::desk::{Desk, WALL, establish, frame, messages, negotiate, rules};
use support::{GATEWAY, credential, key};

fn terminate(reason: TerminateReason) -> FromGateway {
    FromGateway::Terminate(Terminate {
        session_id: 0,
        reason: reason.number(),
        pad1: 0,
        pad2: 0,
        pad3: 0,
    })
}

/// Sends a `Negotiate` on a new session; the answer's bytes.
fn answer(rules: &Arc<pitlane_gateway::session::Rules>, negotiate: &Negotiate) -> Vec<u8> {
    let mut desk = Desk::open(rules);
    desk.challenge();
    desk.receive(&frame(negotiate));
    assert!(desk.session.ending().is_some(), "nobody gets in");
    desk.taken_bytes()
}

fn is_refused(bytes: &[u8]) -> bool {
    matches!(messages(bytes)[..], [FromGateway::NegotiationReject(reject), ref end]
        if reject.reason == NegotiationRejectReason::Refused.number()
            && *end == terminate(TerminateReason::NegotiationRefused))
}

#[test]
fn g07_each_bit_of_each_signed_field_is_proved() {
    let rules = rules(&[credential(1)]);
    let challenge = Desk::open(&rules).challenge();
    let good = negotiate(&challenge, 1, &key(1), WALL);
    let mut refusals = Vec::new();
    for bit in 0..size_of::<Negotiate>() * 8 {
        let mut bad = good;
        bytemuck::bytes_of_mut(&mut bad)[bit / 8] ^= 1 << (bit % 8);
        let bytes = answer(&rules, &bad);
        assert!(is_refused(&bytes), "bit {bit}");
        refusals.push(bytes.len());
    }
    refusals.dedup();
    assert_eq!(refusals.len(), 1, "all of one size");
    // What was not flipped gets in.
    let mut desk = Desk::open(&rules);
    desk.challenge();
    assert!(matches!(
        desk.answers(&good)[..],
        [FromGateway::NegotiationResponse(response)] if response.max_in_flight == 100_000
    ));
}

#[test]
fn g07_a_captured_logon_is_worth_nothing_elsewhere() {
    let rules = rules(&[credential(1)]);
    let challenge = Desk::open(&rules).challenge();
    let good = negotiate(&challenge, 1, &key(1), WALL);
    // Another connection has another nonce.
    let mut other = Desk::open_with(&rules, [6; 32], 1 << 20);
    other.challenge();
    other.receive(&frame(&good));
    assert!(is_refused(&other.taken_bytes()));
    // Another gateway has another id.
    let elsewhere = Arc::new(pitlane_gateway::session::Rules {
        gateway_id: GATEWAY + 1,
        ..(*rules).clone()
    });
    assert!(is_refused(&answer(&elsewhere, &good)));
}

#[test]
fn g07_stale_times_are_refused_both_ways() {
    let rules = rules(&[credential(1)]);
    let skew = 5_000_000_000;
    for (time, gets_in) in [
        (WALL - skew, true),
        (WALL + skew, true),
        (WALL - skew - 1, false),
        (WALL + skew + 1, false),
        (0, false),
        (u64::MAX, false),
    ] {
        let mut desk = Desk::open(&rules);
        let challenge = desk.challenge();
        let answers = desk.answers(&negotiate(&challenge, 1, &key(1), time));
        let got_in = matches!(answers[..], [FromGateway::NegotiationResponse(_)]);
        assert_eq!(got_in, gets_in, "{time}");
    }
}

/// An answer that comes sooner for an unknown id tells which ids there are.
#[test]
fn g07_wrong_key_unknown_id_and_stale_time_answer_alike_in_the_same_time() {
    let rules = rules(&[credential(1)]);
    let challenge = Desk::open(&rules).challenge();
    let cases = [
        negotiate(&challenge, 1, &key(2), WALL),
        negotiate(&challenge, 4_000, &key(1), WALL),
        negotiate(&challenge, 1, &key(1), 7),
    ];
    let mut answers: Vec<_> = cases
        .iter()
        .map(|case| {
            let mut bytes = answer(&rules, case);
            // The time that the client sent comes back in bytes 20 to 27.
            bytes[20..28].fill(0);
            bytes
        })
        .collect();
    answers.dedup();
    assert_eq!(answers.len(), 1);

    let mut fastest = [Duration::MAX; 3];
    for _ in 0..60 {
        for (fastest, case) in fastest.iter_mut().zip(&cases) {
            let mut desk = Desk::open(&rules);
            let bytes = frame(case);
            let begun = Instant::now();
            desk.receive(&bytes);
            *fastest = begun.elapsed().min(*fastest);
        }
    }
    let (low, high) = (fastest.iter().min().unwrap(), fastest.iter().max().unwrap());
    assert!(*high < *low * 3 / 2, "{fastest:?}");
}

#[test]
fn g07_malleable_signatures_and_weak_keys_are_refused() {
    let rules = rules(&[credential(1)]);
    let challenge = Desk::open(&rules).challenge();
    let mut bad = negotiate(&challenge, 1, &key(1), WALL);
    // S + the group's order: the same point for who does not look closely.
    let order: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde,
        0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];
    let mut carry = 0;
    for (byte, more) in bad.signature[32..].iter_mut().zip(order) {
        let sum = u16::from(*byte) + u16::from(more) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    assert!(is_refused(&answer(&rules, &bad)));

    let refuse = |credential: Credential| Credentials::new(&[credential]).unwrap_err();
    let id = CredentialId(1);
    let mut neutral = [0; 32];
    neutral[0] = 1;
    for public_key in [neutral, [0; 32]] {
        assert_eq!(
            refuse(Credential {
                public_key,
                ..credential(1)
            }),
            CredentialError::Key { id }
        );
    }
    assert_eq!(
        refuse(Credential {
            accounts: Vec::new(),
            ..credential(1)
        }),
        CredentialError::NoAccount { id }
    );
    assert_eq!(
        refuse(Credential {
            max_in_flight: 0,
            ..credential(1)
        }),
        CredentialError::NoFlight { id }
    );
    assert_eq!(
        Credentials::new(&[credential(1), credential(1)]).unwrap_err(),
        CredentialError::Duplicate { id }
    );
}

#[test]
fn g11_one_session_per_credential_and_only_its_owner_learns_of_it() {
    let rules = rules(&[credential(1)]);
    let mut first = Desk::established(&rules, 1, &key(1));
    let mut second = Desk::open(&rules);
    let challenge = second.challenge();
    let answers = second.answers(&negotiate(&challenge, 1, &key(1), WALL));
    assert!(matches!(answers[0], FromGateway::NegotiationReject(reject)
        if reject.reason == NegotiationRejectReason::SessionInUse.number()));
    // Who has no proof sees what it always sees.
    assert!(is_refused(&answer(
        &rules,
        &negotiate(&challenge, 1, &key(2), WALL)
    )));
    // The end of the first, however it comes, makes room.
    first.session.lose(first.at.now, &mut first.out);
    Desk::established(&rules, 1, &key(1));
    // So does a session that is dropped.
    Desk::established(&rules, 1, &key(1));
}

#[test]
fn g03_a_message_in_the_wrong_phase_ends_the_session() {
    let rules = rules(&[credential(1)]);
    let cancel = Cancel {
        seq_num: 1,
        reference: 1,
        account: 10,
        target: 0,
    };
    let sequence = Sequence {
        next_seq_num: 1,
        lapsed: 0,
        pad1: 0,
        pad2: 0,
        pad3: 0,
    };
    let reflected = Accepted {
        head: ReportHead::own(1, 10, 1, 1),
    };
    let ends = |desk: &mut Desk, bytes: &[u8]| {
        desk.receive(bytes);
        let ending = desk.session.ending().expect("ended");
        assert_eq!(ending.reason, TerminateReason::UnexpectedMessage);
        assert!(desk.commands.is_empty());
    };
    for bytes in [
        frame(&cancel),
        frame(&sequence),
        frame(&establish()),
        frame(&reflected),
    ] {
        ends(&mut Desk::open(&rules), &bytes);
    }
    let mut desk = Desk::open(&rules);
    let challenge = desk.challenge();
    let proof = negotiate(&challenge, 1, &key(1), WALL);
    desk.receive(&frame(&proof));
    ends(&mut desk, &frame(&cancel));
    for bytes in [frame(&proof), frame(&establish()), frame(&reflected)] {
        ends(&mut Desk::established(&rules, 1, &key(1)), &bytes);
    }
}

#[test]
fn g03_terms_that_cannot_be_are_refused() {
    let rules = rules(&[credential(1)]);
    for (bad, reason) in [
        (
            Establish {
                session_id: 2,
                ..establish()
            },
            EstablishmentRejectReason::UnknownSession,
        ),
        (
            Establish {
                keep_alive_ms: 99,
                ..establish()
            },
            EstablishmentRejectReason::KeepAliveInterval,
        ),
        (
            Establish {
                keep_alive_ms: 60_001,
                ..establish()
            },
            EstablishmentRejectReason::KeepAliveInterval,
        ),
        (
            Establish {
                next_seq_num: 0,
                ..establish()
            },
            EstablishmentRejectReason::SequenceNumber,
        ),
    ] {
        let mut desk = Desk::open(&rules);
        let challenge = desk.challenge();
        desk.answers(&negotiate(&challenge, 1, &key(1), WALL));
        let answers = desk.answers(&bad);
        assert!(
            matches!(answers[0], FromGateway::EstablishmentReject(reject)
            if reject.reason == reason.number())
        );
        assert_eq!(
            answers[1],
            terminate(TerminateReason::EstablishmentRefused),
            "and it ends"
        );
    }
}

#[test]
fn g10_who_does_not_log_on_in_time_is_ended() {
    let rules = rules(&[credential(1)]);
    let limit = Duration::from_secs(5);
    let mut silent = Desk::open(&rules);
    let mut halfway = Desk::open(&rules);
    silent.challenge();
    let challenge = halfway.challenge();
    halfway.answers(&negotiate(&challenge, 1, &key(1), WALL));
    for desk in [&mut silent, &mut halfway] {
        desk.pass(limit - Duration::from_nanos(1));
        assert!(desk.tick().is_empty());
        desk.pass(Duration::from_nanos(1));
        desk.tick();
        let ending = desk.session.ending().expect("ended");
        assert_eq!(ending.reason, TerminateReason::NegotiationTimeout);
    }
}

#[test]
fn g10_timings_that_cannot_be_are_refused() {
    let zero = Duration::ZERO;
    let good = Timing::default();
    assert!(good.check().is_ok());
    for bad in [
        Timing {
            negotiation: zero,
            ..good
        },
        Timing {
            partial_frame: zero,
            ..good
        },
        Timing {
            keep_alive_min: zero,
            ..good
        },
        Timing {
            close_grace: zero,
            ..good
        },
        Timing {
            clock_skew: zero,
            ..good
        },
        Timing {
            keep_alive_min: good.keep_alive_max * 2,
            ..good
        },
        Timing {
            keep_alive_max: Duration::from_secs(1 << 32),
            ..good
        },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}

/// The example in docs/wire.md.
#[test]
fn g07_the_documented_signature_is_this_one() {
    let key = ClientKey::from_seed(&[7; 32]);
    let negotiate = Negotiate {
        session_id: 2,
        credential_id: 3,
        time: 4,
        signature: [0; 64],
    };
    let signed = signed_bytes(1, &[9; 32], &negotiate);
    assert_eq!(&signed[..24], b"pitlane negotiate v1\0\0\0\0");
    assert_eq!(signed[24..48], [1, 3, 2].map(u64::to_le_bytes).concat());
    assert_eq!(signed[48..80], [9; 32]);
    assert_eq!(signed[80..], 4_u64.to_le_bytes());
    let hex: String = key.sign(&signed)[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(hex, "fc9137d33ebd0be6");
    assert_eq!(format!("{key:?}"), "ClientKey(secret)");
}
