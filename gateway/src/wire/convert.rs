//! Between blocks and the core's types: exact both ways, or refused.

use pitlane::types::{
    AMOUNT_SCALE, AccountId, Amount, ClientOrderId, ClientReference, Command, InstrumentId, Order,
    OrderType, Origin, PRICE_SCALE, Price, Quantity, RejectCode, RejectScope, Report, ReportKind,
    Side, TimeInForce,
};

use super::{
    Accepted, Cancel, CancelRejected, Canceled, Executed, NewOrder, Rejected, Replace, Replaced,
    ReportHead, SIDE_NULL, write_frame,
};

/// "None" of an optional decimal.
const DECIMAL_NULL: i64 = i64::MIN;
/// Units of an [`Amount`] in one unit of a decimal on the wire.
const AMOUNT_PER_DECIMAL: i128 = AMOUNT_SCALE / PRICE_SCALE as i128;
/// The shard of a report that no shard made.
const SHARD_NULL: u16 = u16::MAX;

/// Why an order cannot be written down in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotOnTheWire {
    /// The one value that stands for "none".
    #[error("the {field} is the smallest number, which stands for none on the wire")]
    Null {
        /// Which field.
        field: &'static str,
    },
    /// More than nine decimals, or beyond ±9,223,372,036.854775807.
    #[error("volume {volume}: the wire has 9 decimals, up to ±9223372036.854775807")]
    Volume {
        /// What was to be written.
        volume: Amount,
    },
}

impl NewOrder {
    /// The message for an order.
    ///
    /// # Errors
    /// A number that the wire cannot carry exactly.
    pub fn new(
        seq_num: u64,
        reference: ClientReference,
        order: &Order,
    ) -> Result<Self, NotOnTheWire> {
        Ok(Self {
            seq_num,
            reference: reference.0,
            account: order.account.0,
            price: decimal("price", order.price.map(Price::raw))?,
            quantity: decimal("quantity", order.quantity.map(Quantity::raw))?,
            volume: match order.volume {
                None => DECIMAL_NULL,
                Some(volume) => volume_decimal(volume)?,
            },
            instrument: order.instrument.0,
            side: order.side as u8,
            order_type: order.order_type as u8,
            time_in_force: order.time_in_force as u8,
            pad1: 0,
        })
    }

    /// The order, as it was written.
    ///
    /// # Errors
    /// The code of the first field that has a value which this version does
    /// not know.
    #[inline]
    pub fn order(&self) -> Result<Order, RejectCode> {
        Ok(Order {
            account: AccountId(self.account),
            instrument: InstrumentId(self.instrument),
            side: side(self.side).ok_or(RejectCode::InvalidFieldValue)?,
            order_type: match self.order_type {
                1 => OrderType::Market,
                2 => OrderType::Limit,
                3 => OrderType::Stop,
                4 => OrderType::StopLimit,
                5 => OrderType::PostOnly,
                _ => return Err(RejectCode::UnsupportedOrderType),
            },
            time_in_force: match self.time_in_force {
                0 => TimeInForce::Day,
                1 => TimeInForce::GoodTillCancel,
                3 => TimeInForce::ImmediateOrCancel,
                4 => TimeInForce::FillOrKill,
                _ => return Err(RejectCode::UnsupportedTimeInForce),
            },
            quantity: present(self.quantity).map(Quantity::from_raw),
            volume: present(self.volume)
                .map(|raw| Amount::from_raw(i128::from(raw) * AMOUNT_PER_DECIMAL)),
            price: present(self.price).map(Price::from_raw),
        })
    }
}

impl Replace {
    /// The command.
    #[must_use]
    pub const fn command(&self, origin: Origin) -> Command {
        Command::Replace {
            origin,
            reference: ClientReference(self.reference),
            account: AccountId(self.account),
            target: ClientReference(self.target),
            price: Price::from_raw(self.price),
            quantity: Quantity::from_raw(self.quantity),
        }
    }
}

impl Cancel {
    /// The command.
    #[must_use]
    pub const fn command(&self, origin: Origin) -> Command {
        Command::Cancel {
            origin,
            reference: ClientReference(self.reference),
            account: AccountId(self.account),
            target: ClientReference(self.target),
        }
    }
}

impl ReportHead {
    /// What the gateway says about a message that never reached a shard: all
    /// zero but what the message said.
    #[must_use]
    pub const fn own(seq_num: u64, account: u64, reference: u64, order_reference: u64) -> Self {
        Self {
            seq_num,
            report_seq: 0,
            account,
            reference,
            order_reference,
            order_id_high: 0,
            order_id_low: 0,
            price: 0,
            quantity: 0,
            cumulative: 0,
            leaves: 0,
            instrument: 0,
            shard: SHARD_NULL,
            side: SIDE_NULL,
            pad1: 0,
        }
    }

    fn of(seq_num: u64, report: &Report) -> Self {
        Self {
            seq_num,
            report_seq: report.sequence,
            account: report.account.0,
            reference: report.reference.0,
            order_reference: report.order_reference.0,
            order_id_high: report.client_order_id.high,
            order_id_low: report.client_order_id.low,
            price: report.price.raw(),
            quantity: report.quantity.raw(),
            cumulative: report.cumulative.raw(),
            leaves: report.leaves.raw(),
            instrument: report.instrument.0,
            shard: report.shard.0,
            side: report.side as u8,
            pad1: 0,
        }
    }

    /// The order's identity; `None` where none was minted.
    #[must_use]
    pub fn client_order_id(&self) -> Option<ClientOrderId> {
        let id = ClientOrderId {
            high: self.order_id_high,
            low: self.order_id_low,
        };
        (id != ClientOrderId::default()).then_some(id)
    }

    /// The trade's price in `Executed`, else the order's.
    #[must_use]
    pub const fn price(&self) -> Price {
        Price::from_raw(self.price)
    }

    /// The trade's quantity in `Executed`, else the order's.
    #[must_use]
    pub const fn quantity(&self) -> Quantity {
        Quantity::from_raw(self.quantity)
    }

    /// Filled so far.
    #[must_use]
    pub const fn cumulative(&self) -> Quantity {
        Quantity::from_raw(self.cumulative)
    }

    /// Still working.
    #[must_use]
    pub const fn leaves(&self) -> Quantity {
        Quantity::from_raw(self.leaves)
    }

    /// The order's side, where it is known.
    #[must_use]
    pub const fn side(&self) -> Option<Side> {
        side(self.side)
    }

    /// Whether the gateway itself refused, before any shard saw the message;
    /// the reference is then unused.
    #[must_use]
    pub const fn is_gateways_own(&self) -> bool {
        self.shard == SHARD_NULL
    }
}

impl Rejected {
    /// A refusal.
    #[must_use]
    pub fn new(head: ReportHead, code: RejectCode, scope: RejectScope) -> Self {
        Self {
            head,
            code: code.number(),
            scope: scope as u8,
            pad2: 0,
            pad3: 0,
            text: text(code),
        }
    }

    /// Why; `None` for a code that this version does not know.
    #[must_use]
    pub const fn code(&self) -> Option<RejectCode> {
        RejectCode::from_number(self.code)
    }
}

impl CancelRejected {
    /// A refusal.
    #[must_use]
    pub fn new(head: ReportHead, code: RejectCode, scope: RejectScope) -> Self {
        Self {
            head,
            code: code.number(),
            scope: scope as u8,
            pad2: 0,
            pad3: 0,
            text: text(code),
        }
    }

    /// Why; `None` for a code that this version does not know.
    #[must_use]
    pub const fn code(&self) -> Option<RejectCode> {
        RejectCode::from_number(self.code)
    }
}

/// Appends the frame of a report.
#[inline]
pub fn write_report(out: &mut Vec<u8>, seq_num: u64, report: &Report) {
    let head = ReportHead::of(seq_num, report);
    match report.kind {
        ReportKind::Accepted => write_frame(out, &Accepted { head }),
        ReportKind::Executed => write_frame(
            out,
            &Executed {
                head,
                fill_id: report.fill_id.0,
            },
        ),
        ReportKind::Canceled => write_frame(out, &Canceled { head }),
        ReportKind::Replaced => write_frame(out, &Replaced { head }),
        ReportKind::Rejected => {
            let (code, scope) = refusal(report);
            write_frame(out, &Rejected::new(head, code, scope));
        }
        ReportKind::CancelRejected => {
            let (code, scope) = refusal(report);
            write_frame(out, &CancelRejected::new(head, code, scope));
        }
    }
}

/// A refusal without a reason is still told, as `Other`.
fn refusal(report: &Report) -> (RejectCode, RejectScope) {
    report
        .reject
        .unwrap_or((RejectCode::Other, RejectScope::Order))
}

const fn side(number: u8) -> Option<Side> {
    match number {
        1 => Some(Side::Buy),
        2 => Some(Side::Sell),
        _ => None,
    }
}

const fn present(raw: i64) -> Option<i64> {
    if raw == DECIMAL_NULL { None } else { Some(raw) }
}

fn decimal(field: &'static str, raw: Option<i64>) -> Result<i64, NotOnTheWire> {
    match raw {
        None => Ok(DECIMAL_NULL),
        Some(DECIMAL_NULL) => Err(NotOnTheWire::Null { field }),
        Some(raw) => Ok(raw),
    }
}

fn volume_decimal(volume: Amount) -> Result<i64, NotOnTheWire> {
    let raw = volume.raw();
    if raw % AMOUNT_PER_DECIMAL != 0 {
        return Err(NotOnTheWire::Volume { volume });
    }
    match i64::try_from(raw / AMOUNT_PER_DECIMAL) {
        Ok(raw) => decimal("volume", Some(raw)),
        Err(_) => Err(NotOnTheWire::Volume { volume }),
    }
}

/// A code's name, zero-padded.
fn text(code: RejectCode) -> [u8; 32] {
    let mut text = [0; 32];
    let name = code.name().as_bytes();
    let length = name.len().min(text.len());
    text[..length].copy_from_slice(&name[..length]);
    text
}
