//! What a client is told.

use super::bytes::{Put, Take};
use super::order::side;
use crate::types::{
    AccountId, ClientOrderId, ClientReference, FillId, InstrumentId, Origin, Price, Quantity,
    RejectCode, RejectScope, Report, ReportKind, ShardId,
};

pub(super) fn put<const MAX: usize>(report: &Report, out: &mut Put<MAX>) {
    out.u8(report.kind as u8);
    out.u8(report.side as u8);
    out.u16(report.reject.map_or(0, |(code, _)| code.number()));
    out.u8(report.reject.map_or(0, |(_, scope)| scope as u8));
    out.u8(0);
    out.u16(report.shard.0);
    out.u16(report.origin.port);
    out.u16(report.origin.credential);
    out.u32(report.origin.session);
    out.u64(report.account.0);
    out.u32(report.instrument.0);
    out.u32(0);
    out.u64(report.reference.0);
    out.u64(report.order_reference.0);
    out.u64(report.client_order_id.high);
    out.u64(report.client_order_id.low);
    out.u64(report.sequence);
    out.u64(report.fill_id.0);
    out.i64(report.price.raw());
    out.i64(report.quantity.raw());
    out.i64(report.cumulative.raw());
    out.i64(report.leaves.raw());
}

/// Bytes of every report.
const BYTES: usize = 112;

/// What a report leaves in a shard's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReportMark {
    pub(crate) credential: u16,
    /// The report's number among the credential's.
    pub(crate) number: u64,
    /// The execution that it tells of.
    pub(crate) fill: Option<FillId>,
}

impl ReportMark {
    pub(crate) fn of(report: &Report) -> Self {
        Self {
            credential: report.origin.credential,
            number: report.sequence,
            fill: (report.kind == ReportKind::Executed).then_some(report.fill_id),
        }
    }

    /// The same out of a record, without the rest of it.
    #[inline]
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let body = body.first_chunk::<BYTES>()?;
        let at = |at: usize| Take(&body[at..]);
        Some(Self {
            credential: at(10).u16()?,
            number: at(64).u64()?,
            fill: (kind(body[0])? == ReportKind::Executed).then_some(FillId(at(72).u64()?)),
        })
    }
}

#[inline]
pub(super) fn take(all: &mut Take<'_>) -> Option<Report> {
    let from = &mut all.part::<BYTES>()?;
    let kind = kind(from.u8()?)?;
    let side = side(from.u8()?)?;
    let code = from.u16()?;
    let reject = match from.u8()? {
        0 => None,
        1 => Some((RejectCode::from_number(code)?, RejectScope::Order)),
        2 => Some((RejectCode::from_number(code)?, RejectScope::Account)),
        _ => return None,
    };
    from.u8()?;
    let shard = ShardId(from.u16()?);
    let origin = Origin {
        port: from.u16()?,
        credential: from.u16()?,
        session: from.u32()?,
    };
    let account = AccountId(from.u64()?);
    let instrument = InstrumentId(from.u32()?);
    from.u32()?;
    Some(Report {
        kind,
        side,
        reject,
        shard,
        origin,
        account,
        instrument,
        reference: ClientReference(from.u64()?),
        order_reference: ClientReference(from.u64()?),
        client_order_id: ClientOrderId {
            high: from.u64()?,
            low: from.u64()?,
        },
        sequence: from.u64()?,
        fill_id: FillId(from.u64()?),
        price: Price::from_raw(from.i64()?),
        quantity: Quantity::from_raw(from.i64()?),
        cumulative: Quantity::from_raw(from.i64()?),
        leaves: Quantity::from_raw(from.i64()?),
    })
}

const fn kind(byte: u8) -> Option<ReportKind> {
    Some(match byte {
        1 => ReportKind::Accepted,
        2 => ReportKind::Rejected,
        3 => ReportKind::Executed,
        4 => ReportKind::Canceled,
        5 => ReportKind::Replaced,
        6 => ReportKind::CancelRejected,
        _ => return None,
    })
}
