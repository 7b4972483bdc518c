//! Frames and messages: exact both ways, cut anywhere, and never a panic.

use pitlane::types::{
    AccountId, Amount, ClientReference, InstrumentId, Order, OrderType, Price, Quantity,
    RejectCode, Side, TimeInForce,
};
use pitlane_gateway::wire::{
    Accepted, BLOCK_START, Block, Cancel, ENCODING_SBE, FRAME_MAX, FrameError, FromClient,
    FromGateway, NewOrder, Next, NotOnTheWire, SCHEMA_ID, SCHEMA_VERSION, TEMPLATES, next_frame,
    write_frame,
};
use proptest::prelude::*;

/// A frame with any header.
fn raw(length: u16, encoding: u16, header: [u16; 4], body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [length, encoding].into_iter().chain(header) {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(body);
    bytes
}

/// A well-formed frame with any block.
fn framed(template: u16, version: u16, block: &[u8], after: &[u8]) -> Vec<u8> {
    let length = u16::try_from(BLOCK_START + block.len() + after.len()).unwrap();
    let block_length = u16::try_from(block.len()).unwrap();
    let body: Vec<u8> = block.iter().chain(after).copied().collect();
    raw(
        length,
        ENCODING_SBE,
        [block_length, template, SCHEMA_ID, version],
        &body,
    )
}

fn cancel(seq_num: u64) -> Cancel {
    Cancel {
        seq_num,
        reference: 7,
        account: 8,
        target: 6,
    }
}

fn any_order() -> impl Strategy<Value = Order> {
    (
        any::<u64>(),
        any::<u32>(),
        any::<bool>(),
        prop::sample::select(vec![
            OrderType::Market,
            OrderType::Limit,
            OrderType::Stop,
            OrderType::StopLimit,
            OrderType::PostOnly,
        ]),
        prop::sample::select(vec![
            TimeInForce::Day,
            TimeInForce::GoodTillCancel,
            TimeInForce::ImmediateOrCancel,
            TimeInForce::FillOrKill,
        ]),
        any::<Option<i64>>(),
        any::<Option<i64>>(),
        any::<Option<i64>>(),
    )
        .prop_map(
            |(account, instrument, buys, order_type, time_in_force, price, quantity, volume)| {
                Order {
                    account: AccountId(account),
                    instrument: InstrumentId(instrument),
                    side: if buys { Side::Buy } else { Side::Sell },
                    order_type,
                    time_in_force,
                    quantity: quantity.map(Quantity::from_raw),
                    volume: volume.map(|raw| Amount::from_raw(i128::from(raw) * 1_000_000_000)),
                    price: price.map(Price::from_raw),
                }
            },
        )
}

/// Any message's frame, by template and any block bytes.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    (0..TEMPLATES.len(), any::<[u8; 32]>()).prop_map(|(index, seed)| {
        let template = &TEMPLATES[index];
        let block: Vec<u8> = seed
            .iter()
            .cycle()
            .take(template.block_length)
            .copied()
            .collect();
        framed(template.id, SCHEMA_VERSION, &block, &[])
    })
}

/// Decodes by direction and writes again.
fn rewritten(bytes: &[u8]) -> Vec<u8> {
    let Ok(Next::Frame(frame)) = next_frame(bytes) else {
        panic!("a whole frame");
    };
    let mut out = Vec::new();
    macro_rules! write {
        ($direction:ident, $($message:ident)*) => {
            match $direction::decode(&frame) {
                $(Ok($direction::$message(block)) => write_frame(&mut out, &block),)*
                Err(FrameError::Direction { .. }) => {}
                other => panic!("{other:?}"),
            }
        };
    }
    write!(FromClient, Negotiate Establish Sequence Terminate NewOrder Replace Cancel);
    if out.is_empty() {
        write!(FromGateway, Challenge NegotiationResponse NegotiationReject EstablishmentAck
            EstablishmentReject Sequence Terminate NotApplied Accepted Rejected Executed Canceled
            Replaced CancelRejected);
    }
    out
}

/// Splits a stream into frames: templates and blocks, and how it ended.
fn read_all(chunks: &[&[u8]]) -> (Vec<(u16, Vec<u8>)>, Option<FrameError>) {
    let (mut held, mut frames) = (Vec::new(), Vec::new());
    for chunk in chunks {
        held.extend_from_slice(chunk);
        loop {
            match next_frame(&held) {
                Ok(Next::Frame(frame)) => {
                    frames.push((frame.template, frame.block.to_vec()));
                    let length = frame.length;
                    held.drain(..length);
                }
                Ok(Next::Partial) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn g01_a_decoded_message_is_written_again_byte_for_byte(bytes in any_frame()) {
        prop_assert_eq!(rewritten(&bytes), bytes);
    }

    #[test]
    fn g02_an_order_comes_back_exactly_or_is_refused(order in any_order(), seq: u64, reference: u64) {
        let has_null = order.price.is_some_and(|p| p == Price::MIN)
            || order.quantity.is_some_and(|q| q == Quantity::MIN)
            || order.volume.is_some_and(|v| v.raw() == i128::from(i64::MIN) * 1_000_000_000);
        match NewOrder::new(seq, ClientReference(reference), &order) {
            Ok(message) => {
                prop_assert!(!has_null);
                prop_assert_eq!(message.order(), Ok(order));
                prop_assert_eq!((message.seq_num, message.reference), (seq, reference));
            }
            Err(error) => {
                let is_null = matches!(error, NotOnTheWire::Null { .. });
                prop_assert!(is_null && has_null);
            }
        }
    }

    #[test]
    fn g02_a_volume_is_never_rounded(raw: i128) {
        let order = Order {
            account: AccountId(1),
            instrument: InstrumentId(1),
            side: Side::Buy,
            order_type: OrderType::Market,
            time_in_force: TimeInForce::Day,
            quantity: None,
            volume: Some(Amount::from_raw(raw)),
            price: None,
        };
        let fits = raw % 1_000_000_000 == 0 && i64::try_from(raw / 1_000_000_000).is_ok();
        prop_assert_eq!(NewOrder::new(1, ClientReference(1), &order).is_ok(), fits);
    }

    #[test]
    fn f15_any_split_decodes_the_same(
        frames in prop::collection::vec(any_frame(), 1..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let stream = frames.concat();
        let mut points: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        points.extend([0, stream.len()]);
        points.sort_unstable();
        let chunks: Vec<&[u8]> = points.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        let whole = read_all(&[&stream]);
        prop_assert_eq!(whole.0.len(), frames.len());
        prop_assert_eq!(read_all(&chunks), whole);
    }

    #[test]
    fn g06_random_bytes_never_panic_and_read_alike_however_cut(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200),
        valid_start: bool,
        cut in any::<prop::sample::Index>(),
    ) {
        if valid_start && bytes.len() >= 10 {
            bytes[2..4].copy_from_slice(&ENCODING_SBE.to_le_bytes());
            bytes[1] = 0;
            bytes[8..10].copy_from_slice(&SCHEMA_ID.to_le_bytes());
        }
        let cut = cut.index(bytes.len() + 1);
        prop_assert_eq!(read_all(&[&bytes]), read_all(&[&bytes[..cut], &bytes[cut..]]));
        if let Ok(Next::Frame(frame)) = next_frame(&bytes) {
            let _ = FromClient::decode(&frame);
            let _ = FromGateway::decode(&frame);
        }
    }
}

#[test]
fn g06_headers_are_judged_before_the_frame_is_there() {
    // A length of 65,535, and of what a 32-bit reader would take for 4 GiB.
    assert_eq!(
        next_frame(&raw(0xFFFF, ENCODING_SBE, [0; 4], &[])[..4]),
        Err(FrameError::TooLong { length: 0xFFFF })
    );
    assert_eq!(
        next_frame(&[0xFF; 4]),
        Err(FrameError::Encoding { found: 0xFFFF })
    );
    let limit = u16::try_from(FRAME_MAX).unwrap();
    assert_eq!(
        next_frame(&raw(limit, ENCODING_SBE, [0; 4], &[])[..4]),
        Ok(Next::Partial)
    );
    assert_eq!(
        next_frame(&raw(limit + 1, ENCODING_SBE, [0; 4], &[])[..4]),
        Err(FrameError::TooLong {
            length: FRAME_MAX + 1
        })
    );
    assert_eq!(
        next_frame(&raw(11, ENCODING_SBE, [0; 4], &[])[..4]),
        Err(FrameError::TooShort { length: 11 })
    );
    // Twelve bytes tell the schema and the block's room.
    assert_eq!(
        next_frame(&raw(60, ENCODING_SBE, [48, 102, 1, 1], &[])),
        Err(FrameError::Schema { found: 1 })
    );
    assert_eq!(
        next_frame(&raw(60, ENCODING_SBE, [49, 102, SCHEMA_ID, 1], &[])),
        Err(FrameError::BlockBeyondFrame {
            template: 102,
            block: 49,
            room: 48
        })
    );
}

#[test]
fn g06_a_longer_block_is_read_and_a_shorter_one_refused() {
    let block = cancel(5);
    let bytes = bytemuck::bytes_of(&block);
    let newer = [bytes, &[0xAA; 8]].concat();
    let frame = framed(Cancel::TEMPLATE, SCHEMA_VERSION + 1, &newer, &[]);
    let Ok(Next::Frame(frame)) = next_frame(&frame) else {
        panic!("a frame");
    };
    assert_eq!(FromClient::decode(&frame), Ok(FromClient::Cancel(block)));

    let frame = framed(Cancel::TEMPLATE, SCHEMA_VERSION, &bytes[..24], &[]);
    let Ok(Next::Frame(frame)) = next_frame(&frame) else {
        panic!("a frame");
    };
    assert_eq!(
        FromClient::decode(&frame),
        Err(FrameError::BlockTooShort {
            template: 103,
            block: 24,
            required: 32
        })
    );
}

#[test]
fn g06_bytes_after_the_block_are_a_newer_versions_alone() {
    let block = cancel(5);
    let bytes = bytemuck::bytes_of(&block);
    let newer = framed(Cancel::TEMPLATE, SCHEMA_VERSION + 1, bytes, &[1, 2, 3]);
    let Ok(Next::Frame(frame)) = next_frame(&newer) else {
        panic!("a frame");
    };
    assert_eq!(frame.length, newer.len());
    assert_eq!(FromClient::decode(&frame), Ok(FromClient::Cancel(block)));
    assert_eq!(
        next_frame(&framed(Cancel::TEMPLATE, SCHEMA_VERSION, bytes, &[1, 2, 3])),
        Err(FrameError::Trailing {
            template: 103,
            count: 3
        })
    );
}

#[test]
fn g06_unknown_templates_are_skipped_and_reflected_ones_refused() {
    let frame = framed(999, SCHEMA_VERSION, &[0; 16], &[]);
    let Ok(Next::Frame(frame)) = next_frame(&frame) else {
        panic!("a frame");
    };
    assert_eq!(
        FromClient::decode(&frame),
        Ok(FromClient::Unknown { template: 999 })
    );
    let frame = framed(Accepted::TEMPLATE, SCHEMA_VERSION, &[0; 96], &[]);
    let Ok(Next::Frame(frame)) = next_frame(&frame) else {
        panic!("a frame");
    };
    assert_eq!(
        FromClient::decode(&frame),
        Err(FrameError::Direction { template: 201 })
    );
}

#[test]
fn g01_unknown_enum_values_have_a_code_each() {
    let order = NewOrder {
        seq_num: 1,
        reference: 1,
        account: 1,
        price: 1,
        quantity: 1,
        volume: i64::MIN,
        instrument: 1,
        side: 1,
        order_type: 2,
        time_in_force: 0,
        pad1: 0,
    };
    assert!(order.order().is_ok());
    for (bad, code) in [
        (NewOrder { side: 0, ..order }, RejectCode::InvalidFieldValue),
        (
            NewOrder { side: 255, ..order },
            RejectCode::InvalidFieldValue,
        ),
        (
            NewOrder {
                order_type: 0,
                ..order
            },
            RejectCode::UnsupportedOrderType,
        ),
        (
            NewOrder {
                time_in_force: 6,
                ..order
            },
            RejectCode::UnsupportedTimeInForce,
        ),
    ] {
        assert_eq!(bad.order(), Err(code));
    }
}

#[test]
fn g05_a_refusal_carries_its_codes_name_whole() {
    for &code in RejectCode::ALL {
        assert!(code.name().len() <= 32, "{code} fits its text field");
    }
}

/// The example in docs/wire.md.
#[test]
fn g01_the_documented_bytes_are_a_cancel() {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, &cancel(5));
    let text: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        text.join(" "),
        "2c 00 50 eb 20 00 67 00 4c 50 01 00 05 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00 \
         08 00 00 00 00 00 00 00 06 00 00 00 00 00 00 00"
    );
}
