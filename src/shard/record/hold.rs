//! What a decision holds.

use super::bytes::{Put, Take};
use crate::risk::HoldImage;

/// Whether a decision still holds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum HoldStanding {
    /// Nothing was heard of it since it was given out.
    Given = 1,
    /// Its executor has told of it: it was brought.
    Brought = 2,
    /// It is over, and what was left of its hold is free.
    Ended = 3,
}

/// The hold of a decision, as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldRecord {
    /// Which decision's.
    pub number: u64,
    /// Whether it is over.
    pub standing: HoldStanding,
    /// What it holds; nothing once it is over.
    pub hold: HoldImage,
}

impl HoldRecord {
    pub(super) fn put<const MAX: usize>(&self, out: &mut Put<MAX>) {
        out.u64(self.number);
        out.u8(self.standing as u8);
        if self.standing == HoldStanding::Ended {
            return;
        }
        let hold = &self.hold;
        out.u8(u8::from(hold.is_of_before));
        out.i128(hold.settlement);
        out.i128(hold.base);
        out.i128(hold.incoming);
        out.i128(hold.credit);
        out.i128(hold.volume);
        out.i64(hold.lock_price);
        out.i64(hold.counted);
        out.i64(hold.filled);
        out.i64(hold.replacing);
    }

    pub(super) fn take(from: &mut Take<'_>) -> Option<Self> {
        let number = from.u64()?;
        let standing = match from.u8()? {
            1 => HoldStanding::Given,
            2 => HoldStanding::Brought,
            3 => HoldStanding::Ended,
            _ => return None,
        };
        if standing == HoldStanding::Ended {
            let hold = HoldImage::default();
            return Some(Self {
                number,
                standing,
                hold,
            });
        }
        let is_of_before = match from.u8()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let hold = HoldImage {
            settlement: from.i128()?,
            base: from.i128()?,
            incoming: from.i128()?,
            credit: from.i128()?,
            volume: from.i128()?,
            lock_price: from.i64()?,
            counted: from.i64()?,
            filled: from.i64()?,
            replacing: from.i64()?,
            is_of_before,
        };
        Some(Self {
            number,
            standing,
            hold,
        })
    }
}
