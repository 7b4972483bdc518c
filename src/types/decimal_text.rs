//! Text to money: a small exact parser (rule K10).
//!
//! It promises that what it takes is exactly what the text says, and that what
//! it refuses is refused with the byte at fault and what to do. It never
//! rounds, never reads a float, and does not allocate.
//!
//! The grammar, which scenario files, configuration and the command line share:
//!
//! ```text
//! number  = [sign] ( digits [ "." [digits] ] | "." digits )
//! sign    = "-" | "+"
//! digits  = digit { ["_"] digit }
//! ```
//!
//! So `+5`, `.5`, `5.`, `007` and `1_000` are numbers, for each can be read in
//! one way only; `-0` is zero. A comma is none, for it is a decimal mark to one
//! reader and a group mark to the next.

use core::fmt;
use core::str::FromStr;

use super::{Amount, Price, Quantity};

/// Why a text is not a number of its type, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// The byte at fault, from 0; the text's length where it ends too soon.
    pub position: usize,
}

/// What is wrong with a text that should be a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// There is no text.
    Empty,
    /// The text ends where a digit must stand: `-`, `.`, `+.`.
    NoDigits,
    /// A blank, of any alphabet, before, in or after the number.
    Blank,
    /// A comma, which readers take for different things.
    Comma,
    /// An exponent: `1e5`.
    Exponent,
    /// An underscore that does not stand between two digits.
    Underscore,
    /// More decimals than the type has, zeros included.
    TooManyDecimals {
        /// How many the type has.
        most: u32,
    },
    /// The digit at fault carries the value out of the type's range.
    OutOfRange {
        /// The largest value of the type; the smallest is one unit beyond its
        /// opposite.
        largest: &'static str,
    },
    /// Anything else that is no part of a number.
    Unexpected(char),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: ", self.position)?;
        match self.kind {
            ParseErrorKind::Empty => f.write_str(
                "the text is empty; write a number such as 12.5, or leave the field out",
            ),
            ParseErrorKind::NoDigits => {
                f.write_str("a digit is missing; write a number such as -12.5")
            }
            ParseErrorKind::Blank => {
                f.write_str("a blank; remove it, digits may be grouped as in 1_000")
            }
            ParseErrorKind::Comma => f.write_str(
                "a comma; the decimal mark is a point, digits may be grouped as in 1_000",
            ),
            ParseErrorKind::Exponent => {
                f.write_str("an exponent; write the number out, as in 1500 for 1.5e3")
            }
            ParseErrorKind::Underscore => {
                f.write_str("an underscore stands between two digits only; write 1_000")
            }
            ParseErrorKind::TooManyDecimals { most } => {
                write!(
                    f,
                    "more than {most} decimals; shorten it, nothing is rounded here"
                )
            }
            ParseErrorKind::OutOfRange { largest } => {
                write!(f, "out of range; the largest value is {largest}")
            }
            ParseErrorKind::Unexpected(found) => {
                write!(
                    f,
                    "{found:?} is no part of a number; write one such as -12.5"
                )
            }
        }
    }
}

impl core::error::Error for ParseError {}

/// What a type can hold, in its smallest unit.
struct Range {
    decimals: u32,
    magnitude_most: u128,
    magnitude_least: u128,
    largest: &'static str,
}

const WORD: Range = Range {
    decimals: Price::DECIMALS,
    magnitude_most: i64::MAX.unsigned_abs() as u128,
    magnitude_least: i64::MIN.unsigned_abs() as u128,
    largest: "9223372036.854775807",
};

const DOUBLE_WORD: Range = Range {
    decimals: Amount::DECIMALS,
    magnitude_most: i128::MAX.unsigned_abs(),
    magnitude_least: i128::MIN.unsigned_abs(),
    largest: "170141183460469231731.687303715884105727",
};

const _: () = assert!(
    Price::DECIMALS == Quantity::DECIMALS,
    "one range serves both"
);

/// The number in units of 10^-decimals.
fn parse_units(text: &str, range: &Range) -> Result<i128, ParseError> {
    let fault = |kind, position| Err(ParseError { kind, position });
    let bytes = text.as_bytes();
    if bytes.is_empty() {
        return fault(ParseErrorKind::Empty, 0);
    }
    let negative = bytes[0] == b'-';
    let limit = if negative {
        range.magnitude_least
    } else {
        range.magnitude_most
    };
    let mut magnitude = 0u128;
    // What a digit of the whole part counts; then, after the point, of the next decimal.
    let unit = 10u128.pow(range.decimals);
    let mut place = unit;
    let mut any_digit = false;
    let mut in_fraction = false;
    let mut position = usize::from(negative || bytes[0] == b'+');
    while let Some(&byte) = bytes.get(position) {
        match byte {
            b'0'..=b'9' => {
                let digit = u128::from(byte - b'0');
                let sum = if in_fraction {
                    if place == 1 {
                        let most = range.decimals;
                        return fault(ParseErrorKind::TooManyDecimals { most }, position);
                    }
                    place /= 10;
                    Some(magnitude + digit * place)
                } else {
                    magnitude
                        .checked_mul(10)
                        .and_then(|tens| tens.checked_add(digit * unit))
                };
                match sum {
                    Some(sum) if sum <= limit => magnitude = sum,
                    _ => {
                        let largest = range.largest;
                        return fault(ParseErrorKind::OutOfRange { largest }, position);
                    }
                }
                any_digit = true;
            }
            b'.' if !in_fraction => in_fraction = true,
            b'_' => {
                let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
                if !(position > 0 && is_digit(position - 1) && is_digit(position + 1)) {
                    return fault(ParseErrorKind::Underscore, position);
                }
            }
            _ => return fault(foreign(text, position, any_digit), position),
        }
        position += 1;
    }
    if !any_digit {
        return fault(ParseErrorKind::NoDigits, position);
    }
    // A magnitude is at most 2^127; that one is the smallest value, and only if negative.
    Ok(if negative {
        0i128.wrapping_sub_unsigned(magnitude)
    } else {
        0i128.wrapping_add_unsigned(magnitude)
    })
}

/// Names what stands where only digits, a point or an underscore may.
fn foreign(text: &str, position: usize, after_digit: bool) -> ParseErrorKind {
    match text[position..].chars().next() {
        Some(',') => ParseErrorKind::Comma,
        Some('e' | 'E') if after_digit => ParseErrorKind::Exponent,
        Some(blank) if blank.is_whitespace() => ParseErrorKind::Blank,
        Some(other) => ParseErrorKind::Unexpected(other),
        None => ParseErrorKind::NoDigits,
    }
}

macro_rules! from_text {
    ($name:ident, $range:ident, $narrow:expr, $decimals:literal) => {
        impl $name {
            #[doc = concat!("Reads plain decimal text of at most ", $decimals, " decimals:")]
            /// exact or refused (rule K10).
            ///
            /// `+5`, `.5`, `5.`, `007`, `1_000` are numbers, `-0` is zero.
            ///
            /// # Errors
            /// Too many decimals, an exponent, a blank, a comma, anything else that
            /// is no part of a number, or out of range: with the byte at fault.
            pub fn parse(text: &str) -> Result<Self, ParseError> {
                parse_units(text, &$range).map($narrow)
            }
        }

        impl FromStr for $name {
            type Err = ParseError;

            fn from_str(text: &str) -> Result<Self, ParseError> {
                Self::parse(text)
            }
        }
    };
}

from_text!(Price, WORD, |raw| Self::from_raw(word(raw)), "9");
from_text!(Quantity, WORD, |raw| Self::from_raw(word(raw)), "9");
from_text!(Amount, DOUBLE_WORD, Self::from_raw, "18");

/// A value that was held to the range of `i64` digit by digit.
#[allow(clippy::cast_possible_truncation)] // `WORD` bounds it; K10's tests try both ends.
const fn word(raw: i128) -> i64 {
    debug_assert!(raw >= i64::MIN as i128 && raw <= i64::MAX as i128);
    raw as i64
}
