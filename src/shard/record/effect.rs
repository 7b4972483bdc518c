//! The kinds of records, and their way from and to bytes.

use super::account::AccountRecord;
use super::block::BlockRecord;
use super::bytes::{BODY_MAX, DECISION_BODY_MAX, Put, Take};
use super::decision::DecisionRecord;
use super::hold::HoldRecord;
use super::order::{OrderRecord, OrderStanding};
use super::report::{self, ReportMark};
use super::start::{AdjustmentRecord, ConfigRecord};
use super::told::ToldRecord;
use crate::journal::RecordKind;
use crate::types::{ClientOrderId, Report};

/// The layout of every kind's body.
pub(crate) const EFFECT_VERSION: u8 = 1;

const ORDER: RecordKind = RecordKind(1);
const ACCOUNT: RecordKind = RecordKind(2);
const REPORT: RecordKind = RecordKind(3);
const BLOCK: RecordKind = RecordKind(4);
const DECISION: RecordKind = RecordKind(5);
const HOLD: RecordKind = RecordKind(6);
const TOLD: RecordKind = RecordKind(7);
const CONFIG: RecordKind = RecordKind(16);
const ADJUSTMENT: RecordKind = RecordKind(17);

/// One thing that a turn has changed, as it is now, or has told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// An order.
    Order(OrderRecord),
    /// An account in one instrument.
    Account(AccountRecord),
    /// What a client is told.
    Report(Report),
    /// A block, or its end.
    Block(BlockRecord),
    /// A decision that was allowed.
    Decision(Box<DecisionRecord>),
    /// What a decision holds.
    Hold(HoldRecord),
    /// What an executor has told.
    Told(ToldRecord),
    /// Which settings the shard runs with.
    Config(ConfigRecord),
    /// A balance that was set.
    Adjustment(AdjustmentRecord),
}

/// A record's body cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Written by another program, or a newer one.
    #[error(
        "a record of kind {}, version {version}, which this program does not know; \
         start the program that wrote it",
        kind.0
    )]
    Unknown {
        /// Its kind.
        kind: RecordKind,
        /// Its layout's version.
        version: u8,
    },
    /// Its fields make no sense, though its checksum holds.
    #[error("a record of kind {} whose fields make no sense: a fault of the program that wrote it", kind.0)]
    Malformed {
        /// Its kind.
        kind: RecordKind,
    },
}

/// A body with its kind.
pub(crate) struct Encoded<const MAX: usize> {
    kind: RecordKind,
    body: Put<MAX>,
}

impl<const MAX: usize> Encoded<MAX> {
    pub(crate) const fn kind(&self) -> RecordKind {
        self.kind
    }

    pub(crate) fn body(&self) -> &[u8] {
        self.body.bytes()
    }
}

/// Any effect but a decision, which is longer.
#[inline]
pub(crate) fn encode(effect: &Effect) -> Encoded<BODY_MAX> {
    encode_in(effect)
}

/// Any effect.
pub(crate) fn encode_long(effect: &Effect) -> Encoded<DECISION_BODY_MAX> {
    encode_in(effect)
}

#[inline]
fn encode_in<const MAX: usize>(effect: &Effect) -> Encoded<MAX> {
    let mut body = Put::new();
    let kind = match effect {
        Effect::Order(order) => {
            order.put(&mut body);
            ORDER
        }
        Effect::Account(account) => {
            account.put(&mut body);
            ACCOUNT
        }
        Effect::Report(told) => {
            report::put(told, &mut body);
            REPORT
        }
        Effect::Block(block) => {
            block.put(&mut body);
            BLOCK
        }
        Effect::Decision(decision) => {
            decision.put(&mut body);
            DECISION
        }
        Effect::Hold(hold) => {
            hold.put(&mut body);
            HOLD
        }
        Effect::Told(told) => {
            told.put(&mut body);
            TOLD
        }
        Effect::Config(config) => {
            config.put(&mut body);
            CONFIG
        }
        Effect::Adjustment(adjustment) => {
            adjustment.put(&mut body);
            ADJUSTMENT
        }
    };
    Encoded { kind, body }
}

/// Reads a record's body.
///
/// # Errors
/// Of another kind or version, or of values that none of ours has.
#[inline]
pub fn decode(kind: RecordKind, version: u8, body: &[u8]) -> Result<Effect, DecodeError> {
    let unknown = DecodeError::Unknown { kind, version };
    if version != EFFECT_VERSION {
        return Err(unknown);
    }
    let mut from = Take(body);
    let effect = match kind {
        ORDER => OrderRecord::take(&mut from).map(Effect::Order),
        ACCOUNT => AccountRecord::take(&mut from).map(Effect::Account),
        REPORT => report::take(&mut from).map(Effect::Report),
        BLOCK => BlockRecord::take(&mut from).map(Effect::Block),
        DECISION => DecisionRecord::take(&mut from).map(|one| Effect::Decision(Box::new(one))),
        HOLD => HoldRecord::take(&mut from).map(Effect::Hold),
        TOLD => ToldRecord::take(&mut from).map(Effect::Told),
        CONFIG => ConfigRecord::take(&mut from).map(Effect::Config),
        ADJUSTMENT => AdjustmentRecord::take(&mut from).map(Effect::Adjustment),
        _ => return Err(unknown),
    };
    effect
        .filter(|_| from.end().is_some())
        .ok_or(DecodeError::Malformed { kind })
}

/// As much of a record as a shard's state needs: what is behind it in a record
/// is neither read nor judged.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart where it is made"
)]
pub(crate) enum Glance {
    /// The order is over.
    Ended(ClientOrderId),
    /// A client was told something.
    Told(ReportMark),
    /// All of any other record.
    Effect(Effect),
}

/// Reads what a state needs of a record's body.
///
/// # Errors
/// As [`decode`], where it is read.
#[inline]
pub(crate) fn glance(kind: RecordKind, version: u8, body: &[u8]) -> Result<Glance, DecodeError> {
    let malformed = DecodeError::Malformed { kind };
    if version == EFFECT_VERSION && kind == REPORT {
        return ReportMark::read(body).map(Glance::Told).ok_or(malformed);
    }
    if version == EFFECT_VERSION && kind == ORDER {
        let (id, standing) = OrderRecord::standing_of(body).ok_or(malformed)?;
        if standing != OrderStanding::Open {
            return Ok(Glance::Ended(id));
        }
    }
    decode(kind, version, body).map(Glance::Effect)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrayvec::ArrayString;

    use crate::orders::decision::{Decision, Grant, Size, Verdict};
    use crate::orders::{CostImage, PendingCancel, PendingReplace};
    use crate::risk::{AccountImage, Balance, HoldImage};
    use crate::shard::record::{
        AdjustmentKind, HoldStanding, OrderStanding, ToldKind, ToldOutcome, venue_name,
    };
    use crate::time::UnixNanos;
    use crate::types::{
        AccountId, Amount, AssetId, ClientOrderId, ClientReference, FillId, InstrumentId, Order,
        OrderType, Origin, Price, Quantity, RejectCode, RejectScope, ReportKind, ShardId, Side,
        TimeInForce,
    };

    fn order(standing: OrderStanding) -> OrderRecord {
        let terms = Order {
            account: AccountId(u64::MAX),
            instrument: InstrumentId(3),
            side: Side::Sell,
            order_type: OrderType::StopLimit,
            time_in_force: TimeInForce::GoodTillDate,
            quantity: Some(Quantity::from_raw(i64::MAX)),
            volume: None,
            price: Some(Price::from_raw(i64::MIN)),
        };
        let is_open = standing == OrderStanding::Open;
        OrderRecord {
            id: ClientOrderId { high: 1, low: 2 },
            standing,
            origin: Origin {
                port: 4,
                credential: 5,
                session: 6,
            },
            reference: ClientReference(7),
            order: terms,
            cumulative: Quantity::from_raw(8),
            replacing: is_open.then_some(PendingReplace {
                reference: ClientReference(9),
                after: Order {
                    price: Some(Price::from_raw(10)),
                    ..terms
                },
            }),
            cancelling: is_open.then_some(PendingCancel::Client(ClientReference(11))),
            hold: if is_open {
                HoldImage {
                    settlement: i128::MAX,
                    base: i128::MIN,
                    incoming: 1,
                    credit: 2,
                    volume: 3,
                    lock_price: 4,
                    counted: 5,
                    filled: 6,
                    replacing: 7,
                    is_of_before: true,
                }
            } else {
                HoldImage::default()
            },
        }
    }

    fn effects() -> Vec<Effect> {
        let balance = |n| Balance {
            available: Amount::from_raw(n),
            held: Amount::from_raw(n + 1),
            incoming: Amount::from_raw(n + 2),
        };
        let account = AccountRecord {
            image: AccountImage {
                account: AccountId(1),
                instrument: InstrumentId(2),
                base: AssetId(3),
                settlement: AssetId(4),
                of_base: balance(-5),
                of_settlement: balance(50),
                net: -1,
                buying: i128::MAX,
                selling: 7,
                last_price: -9,
                pnl: i128::MIN,
                credit: 11,
            },
            cost: CostImage {
                is_short: true,
                size: u64::MAX,
                cost: u128::MAX,
            },
        };
        let report = Report {
            kind: ReportKind::CancelRejected,
            side: Side::Buy,
            reject: Some((RejectCode::OrderPending, RejectScope::Account)),
            shard: ShardId(1),
            origin: Origin::default(),
            account: AccountId(2),
            instrument: InstrumentId(3),
            reference: ClientReference(4),
            order_reference: ClientReference(5),
            client_order_id: ClientOrderId { high: 6, low: 7 },
            sequence: 8,
            fill_id: FillId(9),
            price: Price::from_raw(10),
            quantity: Quantity::from_raw(11),
            cumulative: Quantity::from_raw(12),
            leaves: Quantity::from_raw(13),
        };
        let mut by_volume = order(OrderStanding::Open);
        by_volume.order.quantity = None;
        by_volume.order.volume = Some(Amount::from_raw(-1));
        by_volume.replacing = None;
        by_volume.cancelling = Some(PendingCancel::Risk);
        let block = |account, cause| Effect::Block(BlockRecord { account, cause });
        vec![
            Effect::Order(order(OrderStanding::Open)),
            Effect::Order(order(OrderStanding::Filled)),
            Effect::Order(by_volume),
            Effect::Account(account),
            Effect::Report(report),
            block(Some(AccountId(0)), Some(RejectCode::Other)),
            block(None, None),
        ]
        .into_iter()
        .chain(effects_of_authority())
        .collect()
    }

    fn effects_of_authority() -> Vec<Effect> {
        let name = |letter: &str| letter.repeat(64);
        let decision = Decision {
            decision_id: name("d"),
            grant: Some(Grant {
                client_order_id: ClientOrderId { high: 1, low: 2 },
                reservation_id: name("r"),
            }),
            agent_id: name("a"),
            user_id: name("u"),
            account_id: AccountId(u64::MAX),
            verdict: Verdict::Allow,
            enforcement: name("e"),
            venue: name("v"),
            instrument: name("i"),
            side: Side::Sell,
            order_type: name("o"),
            time_in_force: name("t"),
            size: Size::Volume(Amount::from_raw(i128::MAX)),
            price: Some(Price::from_raw(-1)),
            stop_price: Some(Price::from_raw(-2)),
            good_till: Some(UnixNanos(3)),
            issued_at: UnixNanos(4),
            expires_at: UnixNanos(5),
            key_id: name("k"),
        };
        let short = Decision {
            verdict: Verdict::Reduce,
            size: Size::Quantity(Quantity::from_raw(7)),
            price: None,
            stop_price: None,
            good_till: None,
            key_id: "k".into(),
            ..decision.clone()
        };
        let decided = |decision| {
            Effect::Decision(Box::new(DecisionRecord {
                number: 6,
                instrument: InstrumentId(7),
                due_at: UnixNanos(8),
                decision,
            }))
        };
        let hold = |standing, hold| {
            Effect::Hold(HoldRecord {
                number: 9,
                standing,
                hold,
            })
        };
        let held = order(OrderStanding::Open).hold;
        let told = ToldRecord {
            stream: u64::MAX,
            sequence: 1,
            kind: ToldKind::Execution,
            outcome: ToldOutcome::Settled,
            ends: true,
            account: Some(AccountId(2)),
            instrument: Some(InstrumentId(3)),
            side: Some(Side::Sell),
            client_order_id: ClientOrderId { high: 4, low: 5 },
            fill_id: FillId(6),
            quantity: Quantity::from_raw(7),
            price: Price::from_raw(8),
            fee: Amount::from_raw(i128::MIN),
            venue: venue_name(&name("v")),
        };
        let set_aside = ToldRecord {
            kind: ToldKind::Reversal,
            outcome: ToldOutcome::SetAside,
            ends: false,
            account: None,
            instrument: None,
            side: None,
            venue: venue_name(""),
            ..told
        };
        vec![
            decided(decision),
            decided(short),
            hold(HoldStanding::Given, held),
            hold(HoldStanding::Brought, HoldImage::default()),
            hold(HoldStanding::Ended, HoldImage::default()),
            Effect::Told(told),
            Effect::Told(set_aside),
            Effect::Config(ConfigRecord {
                digest: [9; 16],
                program: ArrayString::from("1.2.3").unwrap(),
            }),
            Effect::Adjustment(AdjustmentRecord {
                account: AccountId(1),
                asset: AssetId(2),
                kind: AdjustmentKind::Opening,
                amount: Amount::from_raw(i128::MIN),
            }),
        ]
    }

    #[test]
    fn j05_every_effect_reads_back_with_or_without_its_units_padding() {
        for effect in effects() {
            let encoded = encode_long(&effect);
            let mut padded = encoded.body().to_vec();
            for _ in 0..64 {
                let read = decode(encoded.kind(), EFFECT_VERSION, &padded);
                assert_eq!(read.as_ref(), Ok(&effect));
                padded.push(0);
            }
        }
    }

    #[test]
    fn j05_what_is_cut_follows_or_is_unknown_is_an_error() {
        for effect in effects() {
            let encoded = encode_long(&effect);
            let kind = encoded.kind();
            let body = encoded.body();
            for len in 0..body.len() {
                let cut = decode(kind, EFFECT_VERSION, &body[..len]);
                assert_eq!(cut, Err(DecodeError::Malformed { kind }), "{len}");
            }
            let mut longer = body.to_vec();
            longer.push(1);
            let read = decode(kind, EFFECT_VERSION, &longer);
            assert_eq!(read, Err(DecodeError::Malformed { kind }));
            let read = decode(kind, EFFECT_VERSION + 1, body);
            assert!(matches!(read, Err(DecodeError::Unknown { .. })));
        }
        let kind = RecordKind(8);
        assert!(matches!(
            decode(kind, EFFECT_VERSION, &[]),
            Err(DecodeError::Unknown { .. })
        ));
    }
}
