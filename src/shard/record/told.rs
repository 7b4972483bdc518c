//! What an executor has told, and what became of it.

use arrayvec::ArrayString;

use super::bytes::{Put, Take};
use super::order::side;
use crate::types::{AccountId, Amount, ClientOrderId, FillId, InstrumentId, Price, Quantity, Side};

/// A venue's name, as it is kept: its first 64 bytes.
pub type VenueName = ArrayString<64>;

/// What a message was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ToldKind {
    /// Something traded.
    Execution = 1,
    /// A hold's end.
    Release = 2,
    /// An execution is void.
    Reversal = 3,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ToldOutcome {
    /// It settled its decision's hold.
    Settled = 1,
    /// There was no such hold: an execution was booked all the same, and alarmed.
    NoHold = 2,
    /// The execution was told before; only the end that came with it counted.
    Repeated = 3,
    /// It cannot be booked: of nobody's account, or of an instrument that has no
    /// name here. A person must look.
    SetAside = 4,
}

/// A message of an executor that was taken for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldRecord {
    /// Which executor's log counts it.
    pub stream: u64,
    /// Its number there.
    pub sequence: u64,
    /// What it was.
    pub kind: ToldKind,
    /// What became of it.
    pub outcome: ToldOutcome,
    /// The order is over.
    pub ends: bool,
    /// Whose account; `None`: nobody's here.
    pub account: Option<AccountId>,
    /// Which instrument; `None`: none of that name.
    pub instrument: Option<InstrumentId>,
    /// Buy or sell, where something traded.
    pub side: Option<Side>,
    /// The order.
    pub client_order_id: ClientOrderId,
    /// The execution; zero where nothing traded.
    pub fill_id: FillId,
    /// How much.
    pub quantity: Quantity,
    /// At which price.
    pub price: Price,
    /// What the account pays beside it.
    pub fee: Amount,
    /// At which venue.
    pub venue: VenueName,
}

mod has {
    pub(super) const END: u8 = 1;
    pub(super) const ACCOUNT: u8 = 2;
    pub(super) const INSTRUMENT: u8 = 4;
}

impl ToldRecord {
    pub(super) fn put<const MAX: usize>(&self, out: &mut Put<MAX>) {
        let flags = [
            (has::END, self.ends),
            (has::ACCOUNT, self.account.is_some()),
            (has::INSTRUMENT, self.instrument.is_some()),
        ];
        let flags = flags
            .iter()
            .filter(|(_, is_there)| *is_there)
            .fold(0, |all, (bit, _)| all | bit);
        out.u64(self.stream);
        out.u64(self.sequence);
        out.u8(self.kind as u8);
        out.u8(self.outcome as u8);
        out.u8(flags);
        out.u8(self.side.map_or(0, |side| side as u8));
        out.u32(self.instrument.map_or(0, |instrument| instrument.0));
        out.u64(self.account.map_or(0, |account| account.0));
        out.u64(self.client_order_id.high);
        out.u64(self.client_order_id.low);
        out.u64(self.fill_id.0);
        out.i64(self.quantity.raw());
        out.i64(self.price.raw());
        out.i128(self.fee.raw());
        out.text(&self.venue);
    }

    pub(super) fn take(from: &mut Take<'_>) -> Option<Self> {
        let stream = from.u64()?;
        let sequence = from.u64()?;
        let kind = match from.u8()? {
            1 => ToldKind::Execution,
            2 => ToldKind::Release,
            3 => ToldKind::Reversal,
            _ => return None,
        };
        let outcome = match from.u8()? {
            1 => ToldOutcome::Settled,
            2 => ToldOutcome::NoHold,
            3 => ToldOutcome::Repeated,
            4 => ToldOutcome::SetAside,
            _ => return None,
        };
        let flags = from.u8()?;
        let there = |bit: u8| flags & bit != 0;
        let side = match from.u8()? {
            0 => None,
            byte => Some(side(byte)?),
        };
        let instrument = InstrumentId(from.u32()?);
        let account = AccountId(from.u64()?);
        Some(Self {
            stream,
            sequence,
            kind,
            outcome,
            ends: there(has::END),
            account: there(has::ACCOUNT).then_some(account),
            instrument: there(has::INSTRUMENT).then_some(instrument),
            side,
            client_order_id: ClientOrderId {
                high: from.u64()?,
                low: from.u64()?,
            },
            fill_id: FillId(from.u64()?),
            quantity: Quantity::from_raw(from.i64()?),
            price: Price::from_raw(from.i64()?),
            fee: Amount::from_raw(from.i128()?),
            venue: VenueName::from(from.text()?).ok()?,
        })
    }
}

/// A name as it is kept.
pub(crate) fn venue_name(name: &str) -> VenueName {
    let cut = &name[..name.floor_char_boundary(VenueName::new_const().capacity())];
    VenueName::from(cut).unwrap_or_default()
}
