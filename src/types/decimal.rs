//! Conversions to and from `rust_decimal`, for the edges of a program that
//! speaks it. Exact or an error; nothing is rounded (rule K9).
//!
//! A [`Decimal`] is a 96-bit whole number with 0 to 28 decimals: every price and
//! quantity fits, the larger amounts do not.

use rust_decimal::Decimal;

use super::{Amount, Price, Quantity};

/// Why a conversion would not be exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The value has more decimals than the type, after trailing zeros are gone.
    #[error("more than {most} decimals; round it first, the way that you mean")]
    TooManyDecimals {
        /// How many the type has.
        most: u32,
    },
    /// The value is out of the type's range.
    #[error("out of range")]
    OutOfRange,
}

/// A decimal in units of 10^-`decimals`.
fn units(value: Decimal, decimals: u32) -> Result<i128, ConvertError> {
    let (mantissa, scale) = (value.mantissa(), value.scale());
    if let Some(missing) = decimals.checked_sub(scale) {
        return mantissa
            .checked_mul(10i128.pow(missing))
            .ok_or(ConvertError::OutOfRange);
    }
    let excess = 10i128.pow(scale - decimals);
    if mantissa % excess != 0 {
        return Err(ConvertError::TooManyDecimals { most: decimals });
    }
    Ok(mantissa / excess)
}

macro_rules! word_conversions {
    ($name:ident) => {
        impl TryFrom<Decimal> for $name {
            type Error = ConvertError;

            fn try_from(value: Decimal) -> Result<Self, ConvertError> {
                let raw = units(value, Self::DECIMALS)?;
                i64::try_from(raw)
                    .map(Self::from_raw)
                    .map_err(|_| ConvertError::OutOfRange)
            }
        }

        impl From<$name> for Decimal {
            fn from(value: $name) -> Self {
                Decimal::new(value.raw(), $name::DECIMALS)
            }
        }
    };
}

word_conversions!(Price);
word_conversions!(Quantity);

impl TryFrom<Decimal> for Amount {
    type Error = ConvertError;

    fn try_from(value: Decimal) -> Result<Self, ConvertError> {
        units(value, Self::DECIMALS).map(Self::from_raw)
    }
}

impl TryFrom<Amount> for Decimal {
    type Error = ConvertError;

    fn try_from(value: Amount) -> Result<Self, ConvertError> {
        let (mut mantissa, mut scale) = (value.raw(), Amount::DECIMALS);
        loop {
            if let Ok(decimal) = Decimal::try_from_i128_with_scale(mantissa, scale) {
                return Ok(decimal);
            }
            if scale == 0 || mantissa % 10 != 0 {
                return Err(ConvertError::OutOfRange);
            }
            mantissa /= 10;
            scale -= 1;
        }
    }
}
