//! Our order ids in a venue's own form, and back (rule O17).
//!
//! An id is 128 bits; written with enough of the venue's characters it is the
//! same number, so that the mapping needs no table and survives everything.

use super::{IdAlphabet, IdRule};
use crate::types::ClientOrderId;

const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl IdAlphabet {
    /// The digits in which a number is written, and how many 128 bits need.
    fn digits(self) -> (&'static [u8], usize) {
        match self {
            Self::LowerWithUnderscore => (&ALPHANUMERIC[..0], 35),
            Self::Alphanumeric => (ALPHANUMERIC, 22),
            Self::Digits => (&ALPHANUMERIC[..10], 39),
        }
    }
}

impl IdRule {
    /// Whether every id of ours has a form of the venue's.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.length_max >= self.alphabet.digits().1
    }

    /// The id as the venue writes it; always the same, and always of the same
    /// length. `None` where the venue's ids are too short to tell ours apart.
    #[must_use]
    pub fn name(&self, id: ClientOrderId) -> Option<String> {
        let (digits, length) = self.alphabet.digits();
        if !self.fits() {
            return None;
        }
        if digits.is_empty() {
            return Some(id.to_string());
        }
        let base = digits.len() as u128;
        let mut number = (u128::from(id.high) << 64) | u128::from(id.low);
        let mut text = vec![digits[0]; length];
        for place in text.iter_mut().rev() {
            let digit = usize::try_from(number % base).unwrap_or(0);
            *place = digits[digit];
            number /= base;
        }
        String::from_utf8(text).ok()
    }

    /// The id that the venue names so; `None` for a name that is none of ours.
    #[must_use]
    pub fn id(&self, name: &str) -> Option<ClientOrderId> {
        let (digits, length) = self.alphabet.digits();
        if digits.is_empty() {
            return ClientOrderId::from_text(name);
        }
        if name.len() != length {
            return None;
        }
        let mut number = 0u128;
        for byte in name.bytes() {
            let digit = digits.iter().position(|own| *own == byte)?;
            number = number
                .checked_mul(digits.len() as u128)?
                .checked_add(digit as u128)?;
        }
        let half = |number: u128| u64::try_from(number & u128::from(u64::MAX)).ok();
        Some(ClientOrderId {
            high: half(number >> 64)?,
            low: half(number)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules() -> [IdRule; 3] {
        [
            (IdAlphabet::LowerWithUnderscore, 36),
            (IdAlphabet::Alphanumeric, 22),
            (IdAlphabet::Digits, 40),
        ]
        .map(|(alphabet, length_max)| IdRule {
            length_max,
            alphabet,
        })
    }

    proptest! {
        #[test]
        fn o17_a_venues_name_is_one_to_one_within_its_length_and_alphabet(
            high: u64, low: u64, other: u64,
        ) {
            let id = ClientOrderId { high, low };
            for rule in rules() {
                let name = rule.name(id).unwrap();
                prop_assert!(name.len() <= rule.length_max);
                let allowed = |byte: u8| match rule.alphabet {
                    IdAlphabet::LowerWithUnderscore => {
                        byte == b'_' || byte.is_ascii_digit() || byte.is_ascii_lowercase()
                    }
                    IdAlphabet::Alphanumeric => byte.is_ascii_alphanumeric(),
                    IdAlphabet::Digits => byte.is_ascii_digit(),
                };
                prop_assert!(name.bytes().all(allowed), "{name}");
                prop_assert_eq!(rule.id(&name), Some(id));
                let same = rule.name(ClientOrderId { high, low: other }) == Some(name);
                prop_assert_eq!(same, other == low);
            }
        }
    }

    #[test]
    fn o17_names_that_cannot_hold_an_id_are_none_and_foreign_names_map_to_nothing() {
        for mut rule in rules() {
            assert!(rule.fits());
            let most = rule
                .name(ClientOrderId {
                    high: u64::MAX,
                    low: u64::MAX,
                })
                .unwrap();
            rule.length_max = most.len() - 1;
            assert_eq!(rule.name(ClientOrderId::default()), None);
            for foreign in [
                "",
                "co_",
                "-",
                &"z".repeat(22),
                &"9".repeat(39),
                &"é".repeat(11),
            ] {
                assert_eq!(rule.id(foreign), None, "{foreign}");
            }
        }
    }
}
