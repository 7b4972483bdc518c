//! Fixed-point money: exact, checked, never a float (rules K9 to K11).
//!
//! [`Price`] and [`Quantity`] are `i64` with 9 decimals; [`Amount`] (notional,
//! balance, profit and loss, fee) is `i128` with 18, so that a price times a
//! quantity is exact with no division and no rounding.

use core::fmt;

/// Units of [`Price`] and [`Quantity`] in 1: 10^9.
pub const PRICE_SCALE: i64 = 1_000_000_000;
/// Units of [`Amount`] in 1: 10^18.
pub const AMOUNT_SCALE: i128 = 1_000_000_000_000_000_000;

macro_rules! fixed {
    ($(#[$doc:meta])* $name:ident($inner:ty), $decimals:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name($inner);

        impl $name {
            /// Nothing.
            pub const ZERO: Self = Self(0);
            /// The largest value.
            pub const MAX: Self = Self(<$inner>::MAX);
            /// The smallest value.
            pub const MIN: Self = Self(<$inner>::MIN);
            /// How many decimals the type has.
            pub const DECIMALS: u32 = $decimals;

            #[doc = concat!("From a count of the smallest unit, 10^-", stringify!($decimals), ".")]
            #[must_use]
            pub const fn from_raw(raw: $inner) -> Self {
                Self(raw)
            }

            /// The count of the smallest unit.
            #[must_use]
            pub const fn raw(self) -> $inner {
                self.0
            }

            /// `None` where the sum is out of range.
            #[must_use]
            pub const fn checked_add(self, other: Self) -> Option<Self> {
                match self.0.checked_add(other.0) {
                    Some(raw) => Some(Self(raw)),
                    None => None,
                }
            }

            /// `None` where the difference is out of range.
            #[must_use]
            pub const fn checked_sub(self, other: Self) -> Option<Self> {
                match self.0.checked_sub(other.0) {
                    Some(raw) => Some(Self(raw)),
                    None => None,
                }
            }

            /// `None` for the smallest value, which has no opposite.
            #[must_use]
            pub const fn checked_neg(self) -> Option<Self> {
                match self.0.checked_neg() {
                    Some(raw) => Some(Self(raw)),
                    None => None,
                }
            }

            /// The distance from zero; `None` for the smallest value, which has no
            /// opposite.
            #[must_use]
            pub const fn checked_abs(self) -> Option<Self> {
                match self.0.checked_abs() {
                    Some(raw) => Some(Self(raw)),
                    None => None,
                }
            }

            /// Above zero.
            #[must_use]
            pub const fn is_positive(self) -> bool {
                self.0 > 0
            }

            /// Below zero.
            #[must_use]
            pub const fn is_negative(self) -> bool {
                self.0 < 0
            }

            /// Exactly zero.
            #[must_use]
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

fixed! {
    /// A price in units of the settlement asset for one of the base asset;
    /// ±9,223,372,036.854775807, 9 decimals.
    Price(i64), 9
}
fixed! {
    /// An amount of the base asset; ±9,223,372,036.854775807, 9 decimals.
    Quantity(i64), 9
}
fixed! {
    /// An amount of one asset: a notional, a balance, a profit, a fee;
    /// about ±1.7e20, 18 decimals.
    Amount(i128), 18
}

impl Price {
    /// Price times quantity: exact, and always in range.
    #[must_use]
    pub const fn notional(self, quantity: Quantity) -> Amount {
        // i64 × i64 is at most 2^126: it cannot overflow an i128.
        Amount(self.0 as i128 * quantity.0 as i128)
    }
}

impl Quantity {
    /// The same quantity as an amount of its asset: exact, always in range.
    #[must_use]
    pub const fn amount(self) -> Amount {
        Amount(self.0 as i128 * PRICE_SCALE as i128)
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_fixed(
            f,
            self.0 < 0,
            u128::from(self.0.unsigned_abs()),
            Self::DECIMALS,
        )
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_fixed(
            f,
            self.0 < 0,
            u128::from(self.0.unsigned_abs()),
            Self::DECIMALS,
        )
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_fixed(f, self.0 < 0, self.0.unsigned_abs(), Self::DECIMALS)
    }
}

/// Plain decimal text without trailing zeros: `-12.5`, `0`, `3`.
fn write_fixed(
    f: &mut fmt::Formatter<'_>,
    negative: bool,
    magnitude: u128,
    decimals: u32,
) -> fmt::Result {
    let scale = 10u128.pow(decimals);
    let (whole, mut fraction) = (magnitude / scale, magnitude % scale);
    let mut digits = decimals as usize;
    let mut text = arrayvec::ArrayString::<64>::new();
    fmt::Write::write_fmt(&mut text, format_args!("{whole}"))?;
    if fraction != 0 {
        while fraction % 10 == 0 {
            fraction /= 10;
            digits -= 1;
        }
        fmt::Write::write_fmt(&mut text, format_args!(".{fraction:0digits$}"))?;
    }
    f.pad_integral(!negative, "", &text)
}
