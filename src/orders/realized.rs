//! What each account's trades have realized, by average cost.
//!
//! A venue tells prices, not profits; the P&L kill switch (K18) needs profits.
//! A trade that opens or adds to a position pays into its cost; one that closes
//! takes out its share of the cost, and the difference to what it trades at is
//! realized. The share is rounded against the account, by less than the
//! smallest unit, and what is rounded stays in the cost, so that money that came
//! and went, what is realized and what is still in the position always add up
//! (K11). Positions are those traded since the first start: an opening balance has no
//! known cost and is none.

use hashbrown::HashMap;

use crate::types::{AccountId, Amount, InstrumentId, Price, Quantity, Side};

/// The positions of one shard's accounts, at cost.
#[derive(Default)]
pub struct RealizedPnl {
    positions: HashMap<(AccountId, InstrumentId), Position, foldhash::fast::RandomState>,
}

/// An open position; the default is flat.
#[derive(Clone, Copy, Default)]
struct Position {
    is_short: bool,
    /// How much, in units of a quantity.
    size: u64,
    /// What a long one has cost, or a short one has brought; 18 decimals.
    cost: u128,
}

/// The position or its cost would leave the range of its type; nothing is
/// realized, and the position is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the position's size or cost is out of range")]
pub struct OutOfRange;

impl RealizedPnl {
    /// Books a trade of `quantity`, which is positive, at `price`; what it has
    /// realized, in the settlement asset.
    ///
    /// # Errors
    /// [`OutOfRange`]; also for a price below zero, at which a cost by size has
    /// no meaning.
    pub fn book(
        &mut self,
        account: AccountId,
        instrument: InstrumentId,
        side: Side,
        quantity: Quantity,
        price: Price,
    ) -> Result<Amount, OutOfRange> {
        let quantity = u64::try_from(quantity.raw()).map_err(|_| OutOfRange)?;
        let price = u64::try_from(price.raw()).map_err(|_| OutOfRange)?;
        let position = self.positions.entry((account, instrument)).or_default();
        let (after, realized) = position.trade(side == Side::Sell, quantity, price)?;
        *position = after;
        Ok(realized)
    }
}

/// An open position at cost, as it is kept over a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostImage {
    /// It is short.
    pub is_short: bool,
    /// How much, in units of a quantity.
    pub size: u64,
    /// What a long one has cost, or a short one has brought; 18 decimals.
    pub cost: u128,
}

impl RealizedPnl {
    /// What is open of an instrument; flat where nothing was traded.
    #[must_use]
    pub fn cost_image(&self, account: AccountId, instrument: InstrumentId) -> CostImage {
        let position = self.positions.get(&(account, instrument));
        position.map_or_else(CostImage::default, |position| CostImage {
            is_short: position.is_short,
            size: position.size,
            cost: position.cost,
        })
    }

    /// Sets what is open as it was.
    pub fn restore(&mut self, account: AccountId, instrument: InstrumentId, image: CostImage) {
        let position = Position {
            is_short: image.is_short,
            size: image.size,
            cost: image.cost,
        };
        self.positions.insert((account, instrument), position);
    }
}

impl Position {
    fn trade(self, sells: bool, quantity: u64, price: u64) -> Result<(Self, Amount), OutOfRange> {
        let worth = |quantity: u64| u128::from(quantity) * u128::from(price);
        if self.size == 0 || self.is_short == sells {
            let size = self.size.checked_add(quantity).ok_or(OutOfRange)?;
            let cost = self.cost.checked_add(worth(quantity)).ok_or(OutOfRange)?;
            return Ok((
                Self {
                    is_short: sells,
                    size,
                    cost,
                },
                Amount::ZERO,
            ));
        }
        let closed = quantity.min(self.size);
        // A long position's cost is what it gives up, a short one's what it
        // keeps: more of the one and less of the other is against the account.
        let share = share_of(self.cost, closed, self.size, !self.is_short);
        let (gained, given) = if self.is_short {
            (share, worth(closed))
        } else {
            (worth(closed), share)
        };
        let signed = |amount: u128| i128::try_from(amount).map_err(|_| OutOfRange);
        let realized = signed(gained)?
            .checked_sub(signed(given)?)
            .ok_or(OutOfRange)?;
        let opened = quantity - closed;
        let after = if opened > 0 {
            Self {
                is_short: sells,
                size: opened,
                cost: worth(opened),
            }
        } else {
            Self {
                is_short: self.is_short,
                size: self.size - closed,
                cost: self.cost - share,
            }
        };
        Ok((after, Amount::from_raw(realized)))
    }
}

/// `cost × part / whole`, for a part that is at most the whole, which is not
/// zero: exact to the unit, rounded as asked. The product has up to 192 bits and
/// is divided limb by limb.
fn share_of(cost: u128, part: u64, whole: u64, round_up: bool) -> u128 {
    const LOW: u128 = u64::MAX as u128;
    let (part, whole) = (u128::from(part), u128::from(whole));
    let low = (cost & LOW) * part;
    let high = (cost >> 64) * part + (low >> 64);
    let mut rest = high >> 64;
    let mut quotient = 0u128;
    for limb in [high & LOW, low & LOW] {
        // `rest` is below `whole`, so the step fits, and each digit 64 bits.
        let step = (rest << 64) | limb;
        quotient = (quotient << 64) | (step / whole);
        rest = step % whole;
    }
    quotient + u128::from(round_up && rest > 0)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use proptest::prelude::*;

    use super::*;

    const ME: AccountId = AccountId(1);
    const IT: InstrumentId = InstrumentId(1);

    fn book(pnl: &mut RealizedPnl, side: Side, quantity: i64, price: i64) -> i128 {
        let (quantity, price) = (Quantity::from_raw(quantity), Price::from_raw(price));
        pnl.book(ME, IT, side, quantity, price).unwrap().raw()
    }

    #[test]
    fn k18_a_round_trip_realizes_the_difference_long_and_short() {
        let mut pnl = RealizedPnl::default();
        assert_eq!(book(&mut pnl, Side::Buy, 10, 100), 0);
        assert_eq!(book(&mut pnl, Side::Sell, 4, 130), 120);
        // Sells what is left at a loss, and five more: short at 90.
        assert_eq!(book(&mut pnl, Side::Sell, 11, 90), -60);
        assert_eq!(book(&mut pnl, Side::Buy, 5, 80), 50);
        assert_eq!(book(&mut pnl, Side::Buy, 1, 70), 0, "flat before: it opens");
    }

    #[test]
    fn k11_a_share_that_does_not_divide_is_rounded_against_the_account() {
        let mut pnl = RealizedPnl::default();
        book(&mut pnl, Side::Buy, 2, 5);
        book(&mut pnl, Side::Buy, 1, 0);
        // 10 for three: the first gives up 4, the second half of 6, then all.
        assert_eq!(book(&mut pnl, Side::Sell, 1, 5), 1);
        assert_eq!(book(&mut pnl, Side::Sell, 1, 5), 2);
        assert_eq!(book(&mut pnl, Side::Sell, 1, 5), 2);
        book(&mut pnl, Side::Sell, 2, 5);
        book(&mut pnl, Side::Sell, 1, 0);
        assert_eq!(
            book(&mut pnl, Side::Buy, 1, 2),
            1,
            "short: keeps 3 of 10 for three"
        );
    }

    #[test]
    fn what_is_out_of_range_changes_nothing() {
        let mut pnl = RealizedPnl::default();
        let most = Quantity::MAX;
        for _ in 0..2 {
            pnl.book(ME, IT, Side::Buy, most, Price::MAX).unwrap();
        }
        assert_eq!(
            pnl.book(ME, IT, Side::Buy, most, Price::MAX),
            Err(OutOfRange)
        );
        assert_eq!(
            pnl.book(ME, IT, Side::Buy, Quantity::from_raw(1), Price::MIN),
            Err(OutOfRange)
        );
        assert_eq!(
            book(&mut pnl, Side::Sell, i64::MAX, i64::MAX),
            0,
            "as if it had not been"
        );
    }

    proptest! {
        #[test]
        fn k11_what_came_and_went_is_realized_or_still_in_the_position(
            trades in prop::collection::vec((any::<bool>(), 1i64.., 0i64..), 1..40),
        ) {
            let mut pnl = RealizedPnl::default();
            let (mut cash, mut realized) = (BigInt::ZERO, BigInt::ZERO);
            let mut net = BigInt::ZERO;
            for (sells, quantity, price) in trades {
                let side = if sells { Side::Sell } else { Side::Buy };
                let (size, at) = (Quantity::from_raw(quantity), Price::from_raw(price));
                let Ok(gain) = pnl.book(ME, IT, side, size, at) else { continue };
                let sign = if sells { 1 } else { -1 };
                cash += BigInt::from(quantity) * price * sign;
                net += BigInt::from(quantity) * -sign;
                realized += gain.raw();
                let position = pnl.positions[&(ME, IT)];
                let of_position = if position.is_short { -1 } else { 1 };
                prop_assert_eq!(&net, &(BigInt::from(position.size) * of_position));
                prop_assert_eq!(&cash, &(&realized - BigInt::from(position.cost) * of_position));
            }
        }

        #[test]
        fn k12_a_share_is_the_exact_quotient_rounded_as_asked(
            cost in 0u128.., part in 1u64.., whole in 1u64.., round_up: bool,
        ) {
            let (part, whole) = (part.min(whole), part.max(whole));
            let exact = BigInt::from(cost) * part;
            let down = &exact / whole;
            let wanted = if round_up && &down * whole != exact { down + 1 } else { down };
            prop_assert_eq!(BigInt::from(share_of(cost, part, whole, round_up)), wanted);
        }
    }
}
