//! The divisions that money cannot avoid, each with a direction and a residue
//! (rule K11).
//!
//! A quotient here is never "about right": it is rounded the way that the
//! caller names, and what it leaves comes back, so that nothing is lost. Which
//! way is against the account is the caller's to know.

use super::{Amount, Price, Quantity};

/// Which way a quotient that is not exact goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the next smaller value, towards minus infinity.
    Down,
    /// To the next larger value, towards plus infinity.
    Up,
}

/// A quotient with what it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division<Q> {
    /// The rounded quotient.
    pub quotient: Q,
    /// Dividend − quotient × divisor, exactly; zero if nothing was rounded, else
    /// smaller than the divisor.
    pub residue: Amount,
}

/// Why there is no quotient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DivisionError {
    /// The divisor is zero.
    #[error("a division by zero")]
    ByZero,
    /// The quotient does not fit its type.
    #[error("the quotient is out of range; the largest is 9223372036.854775807")]
    OutOfRange,
}

impl Amount {
    /// The quantity that this volume buys or sells at `price`.
    ///
    /// # Errors
    /// [`DivisionError`], if the price is zero or the quantity out of range.
    pub const fn quantity_at(
        self,
        price: Price,
        rounding: Rounding,
    ) -> Result<Division<Quantity>, DivisionError> {
        match divide(self.raw(), price.raw(), rounding) {
            Ok((quotient, residue)) => Ok(Division {
                quotient: Quantity::from_raw(quotient),
                residue: Amount::from_raw(residue),
            }),
            Err(error) => Err(error),
        }
    }

    /// The average price at which `quantity` makes this notional.
    ///
    /// # Errors
    /// [`DivisionError`], if the quantity is zero or the price out of range.
    pub const fn price_over(
        self,
        quantity: Quantity,
        rounding: Rounding,
    ) -> Result<Division<Price>, DivisionError> {
        match divide(self.raw(), quantity.raw(), rounding) {
            Ok((quotient, residue)) => Ok(Division {
                quotient: Price::from_raw(quotient),
                residue: Amount::from_raw(residue),
            }),
            Err(error) => Err(error),
        }
    }
}

/// Basis points in 1.
const BASIS_POINTS: i128 = 10_000;

impl Price {
    /// This price moved by `basis_points` (hundredths of a percent) of itself, as
    /// slippage is applied: to the price, not to the notional.
    ///
    /// `None` where the result is out of range.
    #[must_use]
    pub fn moved_by(self, basis_points: i32, rounding: Rounding) -> Option<Self> {
        // At most 2^63 × 2^32, which an i128 holds.
        let product = i128::from(self.raw()) * (BASIS_POINTS + i128::from(basis_points));
        let (quotient, _) = floor_or_ceiling(product, BASIS_POINTS, rounding);
        i64::try_from(quotient).ok().map(Self::from_raw)
    }
}

/// 18 decimals by 9 give 9: the raw values divide without any scaling.
const fn divide(
    dividend: i128,
    divisor: i64,
    rounding: Rounding,
) -> Result<(i64, i128), DivisionError> {
    let divisor = divisor as i128;
    if divisor == 0 {
        return Err(DivisionError::ByZero);
    }
    if dividend == i128::MIN && divisor == -1 {
        return Err(DivisionError::OutOfRange);
    }
    let (quotient, residue) = floor_or_ceiling(dividend, divisor, rounding);
    if quotient < i64::MIN as i128 || quotient > i64::MAX as i128 {
        return Err(DivisionError::OutOfRange);
    }
    #[allow(clippy::cast_possible_truncation)] // Compared with both ends above.
    Ok((quotient as i64, residue))
}

/// Needs a divisor that is not zero and a quotient that exists.
const fn floor_or_ceiling(dividend: i128, divisor: i128, rounding: Rounding) -> (i128, i128) {
    let (quotient, residue) = (dividend / divisor, dividend % divisor);
    // `/` cuts towards zero: that is down for a positive quotient, up for a negative one.
    let below_zero = (residue < 0) != (divisor < 0);
    match rounding {
        _ if residue == 0 => (quotient, residue),
        Rounding::Down if below_zero => (quotient - 1, residue + divisor),
        Rounding::Up if !below_zero => (quotient + 1, residue - divisor),
        Rounding::Down | Rounding::Up => (quotient, residue),
    }
}
