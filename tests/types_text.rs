//! Text to money and back: exact, or refused at the right byte (rule K10).

use num_bigint::BigInt;
use pitlane::types::{Amount, ParseError, ParseErrorKind, Price, Quantity};
use proptest::prelude::*;

fn fault(text: &str) -> (ParseErrorKind, usize) {
    let error = Price::parse(text).expect_err(text);
    (error.kind, error.position)
}

/// The same grammar, written down a second time: by splitting, not by a scan.
fn oracle(text: &str, decimals: usize) -> Option<BigInt> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |part: &str| -> Option<String> {
        if part.is_empty() {
            return Some(String::new());
        }
        let groups: Vec<&str> = part.split('_').collect();
        let sound = groups
            .iter()
            .all(|g| !g.is_empty() && g.bytes().all(|b| b.is_ascii_digit()));
        sound.then(|| groups.concat())
    };
    let (whole, fraction) = (plain(whole)?, plain(fraction)?);
    if whole.is_empty() && fraction.is_empty() || fraction.len() > decimals {
        return None;
    }
    let raw: BigInt = format!("{whole}{fraction:0<decimals$}").parse().ok()?;
    Some(if negative { -raw } else { raw })
}

/// Texts near to numbers: most of them wrong in one place.
fn scribble() -> impl Strategy<Value = String> {
    prop_oneof![
        "[-+]?[0-9]{0,12}(\\.[0-9]{0,11})?",
        "[-+]?[0-9]{1,22}(\\.[0-9]{0,20})?",
        "[-+]?[0-9_]{0,12}(\\.[0-9_]{0,10})?",
        "[-+0-9._eE ,]{0,14}",
        "-?(9223372036|170141183460469231731)\\.?[0-9]{0,19}",
        "[-+]?[0-9]{0,5}[ \u{a0}xe\u{2212}\u{0663}][0-9]{0,5}",
        "\\PC{0,6}",
    ]
}

/// Whether some number begins with this text.
fn begins_a_number(prefix: &str, parses: impl Fn(&str) -> bool) -> bool {
    let prefix = prefix.strip_suffix('_').unwrap_or(prefix);
    parses(prefix) || parses(&format!("{prefix}0"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn k12_every_text_against_a_second_grammar(text in scribble()) {
        let price = oracle(&text, 9).and_then(|raw| i64::try_from(raw).ok());
        prop_assert_eq!(Price::parse(&text).ok().map(Price::raw), price);
        prop_assert_eq!(Quantity::parse(&text).ok().map(Quantity::raw), price);
        let amount = oracle(&text, 18).and_then(|raw| i128::try_from(raw).ok());
        prop_assert_eq!(Amount::parse(&text).ok().map(Amount::raw), amount);
    }

    /// The byte at fault is the first after which no number can follow: what
    /// stands before it is the beginning of one, and with it there is none.
    #[test]
    fn k10_the_position_is_the_first_byte_at_fault(text in scribble()) {
        if let Err(ParseError { kind, position, .. }) = Price::parse(&text) {
            let parses = |text: &str| Price::parse(text).is_ok();
            prop_assert!(begins_a_number(&text[..position], parses), "{} at {}", text, position);
            if let Some(found) = text[position..].chars().next() {
                let with = &text[..position + found.len_utf8()];
                let goes_on = !with.ends_with('_') && begins_a_number(with, parses);
                prop_assert!(!goes_on, "{} at {}", text, position);
            } else {
                prop_assert!(matches!(kind, ParseErrorKind::Empty | ParseErrorKind::NoDigits));
            }
        }
    }

    #[test]
    fn k12_what_is_shown_is_read_back(word in any::<i64>(), wide in any::<i128>(), shift in 0u32..128) {
        let word = word >> (shift / 2);
        let price = Price::from_raw(word);
        prop_assert_eq!(price.to_string().parse(), Ok(price));
        let quantity = Quantity::from_raw(word);
        prop_assert_eq!(quantity.to_string().parse(), Ok(quantity));
        let amount = Amount::from_raw(wide >> shift);
        prop_assert_eq!(amount.to_string().parse(), Ok(amount));
    }
}

#[test]
fn k10_the_ends_of_the_range_are_read_and_the_next_digit_is_refused() {
    for (text, raw) in [
        ("9223372036.854775807", i64::MAX),
        ("-9223372036.854775808", i64::MIN),
    ] {
        assert_eq!(Price::parse(text).map(Price::raw), Ok(raw));
        assert_eq!(Price::from_raw(raw).to_string(), text);
    }
    let out_of_range = ParseErrorKind::OutOfRange {
        largest: "9223372036.854775807",
    };
    assert_eq!(fault("9223372036.854775808"), (out_of_range, 19));
    assert_eq!(fault("-9223372036.854775809"), (out_of_range, 20));
    assert_eq!(fault("9223372037"), (out_of_range, 9));
    assert_eq!(
        fault("99999999999999999999999999999999999999999999"),
        (out_of_range, 9)
    );

    for (text, raw) in [
        ("170141183460469231731.687303715884105727", i128::MAX),
        ("-170141183460469231731.687303715884105728", i128::MIN),
    ] {
        assert_eq!(Amount::parse(text).map(Amount::raw), Ok(raw));
        assert_eq!(Amount::from_raw(raw).to_string(), text);
    }
    let error = Amount::parse("170141183460469231731.687303715884105728").expect_err("one beyond");
    assert_eq!(error.position, 39);
    let error = Amount::parse("340282366920938463463374607431768211456").expect_err("2^128");
    assert_eq!(error.position, 20);
}

#[test]
fn k10_the_forms_that_are_numbers() {
    for (text, shown) in [
        ("+5", "5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("007", "7"),
        ("1_000", "1000"),
        ("1_0_0.0_1", "100.01"),
        ("-0", "0"),
        ("-0.000000000", "0"),
        ("+.000000001", "0.000000001"),
        ("00000000000000000000000000000000000000000001", "1"),
    ] {
        assert_eq!(
            Price::parse(text).map(|price| price.to_string()),
            Ok(shown.to_string()),
            "{text}"
        );
    }
    assert_eq!(Price::parse("-0"), Ok(Price::ZERO));
}

#[test]
fn k10_each_fault_by_its_name_and_place() {
    use ParseErrorKind::{
        Blank, Comma, Empty, Exponent, NoDigits, TooManyDecimals, Underscore, Unexpected,
    };
    for (text, kind, position) in [
        ("", Empty, 0),
        ("-", NoDigits, 1),
        (".", NoDigits, 1),
        ("+.", NoDigits, 2),
        (" 5", Blank, 0),
        ("5 ", Blank, 1),
        ("1 000", Blank, 1),
        ("5\u{a0}", Blank, 1),
        ("5\n", Blank, 1),
        ("1,000", Comma, 1),
        ("1e5", Exponent, 1),
        ("1.5E-3", Exponent, 3),
        ("e5", Unexpected('e'), 0),
        ("_1", Underscore, 0),
        ("1_", Underscore, 1),
        ("1__0", Underscore, 1),
        ("1_.0", Underscore, 1),
        ("1._0", Underscore, 2),
        ("-_1", Underscore, 1),
        ("1.2.3", Unexpected('.'), 3),
        ("--5", Unexpected('-'), 1),
        ("5-", Unexpected('-'), 1),
        ("0x10", Unexpected('x'), 1),
        ("NaN", Unexpected('N'), 0),
        ("inf", Unexpected('i'), 0),
        ("\u{2212}5", Unexpected('\u{2212}'), 0),
        ("\u{0663}", Unexpected('\u{0663}'), 0),
        ("5$", Unexpected('$'), 1),
        ("5\0", Unexpected('\0'), 1),
        ("1.0000000000", TooManyDecimals { most: 9 }, 11),
        ("0.1234567891", TooManyDecimals { most: 9 }, 11),
    ] {
        assert_eq!(fault(text), (kind, position), "{text:?}");
    }
    let error = Amount::parse("0.0000000000000000001").expect_err("19 decimals");
    assert_eq!(
        (error.kind, error.position),
        (TooManyDecimals { most: 18 }, 20)
    );
}

#[test]
fn k10_every_message_says_where_what_and_what_to_do() {
    for (text, message) in [
        (
            "",
            "byte 0: the text is empty; write a number such as 12.5, or leave the field out",
        ),
        (
            "1e5",
            "byte 1: an exponent; write the number out, as in 1500 for 1.5e3",
        ),
        (
            "1.0000000000",
            "byte 11: more than 9 decimals; shorten it, nothing is rounded here",
        ),
        (
            "9223372037",
            "byte 9: out of range; the largest value is 9223372036.854775807",
        ),
        (
            "5\u{7}",
            "byte 1: '\\u{7}' is no part of a number; write one such as -12.5",
        ),
    ] {
        assert_eq!(Price::parse(text).expect_err(text).to_string(), message);
    }
}

#[test]
fn k10_money_is_shown_as_plain_text_and_padded_as_asked() {
    let price = Price::parse("-12.50").expect("a number");
    assert_eq!(price.to_string(), "-12.5");
    assert_eq!(
        format!("{price:>8}|{price:<8}|{price:?}"),
        "   -12.5|-12.5   |-12.5"
    );
}
