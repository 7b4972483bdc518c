//! Money arithmetic against two oracles: integers of any width, and
//! `rust_decimal` inside its range (rules K9, K11, K12).

use num_bigint::BigInt;
use pitlane::types::{Amount, ConvertError, DivisionError, Price, Quantity, Rounding};
use proptest::prelude::*;
use rust_decimal::Decimal;

/// Values of every size, the ends and their neighbours often.
fn word() -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => any::<i64>(),
        3 => -2_000_000_000_000i64..2_000_000_000_000,
        2 => (any::<i64>(), 0u32..64).prop_map(|(value, shift)| value >> shift),
        2 => prop::sample::select(vec![
            i64::MIN, i64::MIN + 1, -1_000_000_000, -1, 0, 1, 1_000_000_000, i64::MAX - 1, i64::MAX,
        ]),
    ]
}

fn double_word() -> impl Strategy<Value = i128> {
    prop_oneof![
        3 => (any::<i128>(), 0u32..128).prop_map(|(value, shift)| value >> shift),
        3 => (word(), word()).prop_map(|(a, b)| i128::from(a) * i128::from(b)),
        1 => any::<i128>(),
        2 => prop::sample::select(vec![
            i128::MIN, i128::MIN + 1, -1_000_000_000_000_000_000, -1, 0, 1,
            1_000_000_000_000_000_000, i128::MAX - 1, i128::MAX,
        ]),
    ]
}

/// The largest whole number of a `Decimal`: 2^96 − 1.
const DECIMAL_MOST: i128 = (1 << 96) - 1;

fn rounding() -> impl Strategy<Value = Rounding> {
    prop::sample::select(vec![Rounding::Down, Rounding::Up])
}

/// What an operation must answer: the exact value if it fits, else nothing.
fn fits<T: TryFrom<BigInt>>(exact: BigInt) -> Option<T> {
    T::try_from(exact).ok()
}

fn big(value: impl Into<BigInt>) -> BigInt {
    value.into()
}

/// The quotient by its definition, found by search and not by a division rule:
/// the largest (smallest) whole number whose product stays below (above).
fn holds_the_rounding(
    dividend: &BigInt,
    divisor: &BigInt,
    quotient: &BigInt,
    way: Rounding,
) -> bool {
    let sign = if *divisor < big(0) { -1 } else { 1 };
    let short_of = |q: BigInt| (q * divisor - dividend) * sign <= big(0);
    let reaches = |q: BigInt| (q * divisor - dividend) * sign >= big(0);
    match way {
        Rounding::Down => short_of(quotient.clone()) && !short_of(quotient + 1),
        Rounding::Up => reaches(quotient.clone()) && !reaches(quotient - 1),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn k12_word_sums_against_wide_integers(a in word(), b in word()) {
        let (x, y) = (Price::from_raw(a), Price::from_raw(b));
        prop_assert_eq!(x.checked_add(y).map(Price::raw), fits(big(a) + b));
        prop_assert_eq!(x.checked_sub(y).map(Price::raw), fits(big(a) - b));
        prop_assert_eq!(x.checked_neg().map(Price::raw), fits(-big(a)));
        prop_assert_eq!(x.checked_abs().map(Price::raw), fits(big(big(a).magnitude().clone())));
        let (x, y) = (Quantity::from_raw(a), Quantity::from_raw(b));
        prop_assert_eq!(x.checked_add(y).map(Quantity::raw), fits(big(a) + b));
        prop_assert_eq!(x.checked_sub(y).map(Quantity::raw), fits(big(a) - b));
        prop_assert_eq!(x.checked_neg().map(Quantity::raw), fits(-big(a)));
        prop_assert_eq!(x.checked_abs().map(Quantity::raw), fits(big(big(a).magnitude().clone())));
        prop_assert_eq!(x.cmp(&y), big(a).cmp(&big(b)));
        prop_assert_eq!((x.is_positive(), x.is_negative(), x.is_zero()), (a > 0, a < 0, a == 0));
    }

    #[test]
    fn k12_amount_sums_against_wide_integers(a in double_word(), b in double_word()) {
        let (x, y) = (Amount::from_raw(a), Amount::from_raw(b));
        prop_assert_eq!(x.checked_add(y).map(Amount::raw), fits(big(a) + b));
        prop_assert_eq!(x.checked_sub(y).map(Amount::raw), fits(big(a) - b));
        prop_assert_eq!(x.checked_neg().map(Amount::raw), fits(-big(a)));
        prop_assert_eq!(x.checked_abs().map(Amount::raw), fits(big(big(a).magnitude().clone())));
        prop_assert_eq!(x.cmp(&y), big(a).cmp(&big(b)));
    }

    /// The two products have no error case: here it shows that they need none.
    #[test]
    fn k12_products_against_wide_integers(a in word(), b in word()) {
        let notional = Price::from_raw(a).notional(Quantity::from_raw(b));
        prop_assert_eq!(big(notional.raw()), big(a) * b);
        prop_assert_eq!(big(Quantity::from_raw(a).amount().raw()), big(a) * 1_000_000_000);
    }

    #[test]
    fn k12_quotients_against_wide_integers(v in double_word(), d in word(), way in rounding()) {
        let by_price = Amount::from_raw(v).quantity_at(Price::from_raw(d), way);
        let by_quantity = Amount::from_raw(v).price_over(Quantity::from_raw(d), way);
        prop_assert_eq!(
            by_price.map(|q| (q.quotient.raw(), q.residue)),
            by_quantity.map(|q| (q.quotient.raw(), q.residue))
        );
        match by_price {
            Ok(division) => {
                let quotient = big(division.quotient.raw());
                prop_assert!(holds_the_rounding(&big(v), &big(d), &quotient, way));
                prop_assert_eq!(big(division.residue.raw()), big(v) - quotient * d);
            }
            Err(DivisionError::ByZero) => prop_assert_eq!(d, 0),
            Err(_) => {
                // The answer of a saturated neighbour must lie beyond either end.
                let beyond = |end: i64| !holds_the_rounding(&big(v), &big(d), &big(end), way);
                prop_assert!(d != 0 && beyond(i64::MIN) && beyond(i64::MAX));
                prop_assert!((big(v) / d).magnitude() >= big(i64::MAX).magnitude());
            }
        }
    }

    /// Volumes and prices of the size that orders have, where quotients do fit.
    #[test]
    fn k11_a_volume_is_used_up_exactly(
        v in 1i128..1_000_000_000_000_000_000_000_000_000,
        p in 1i64..1_000_000_000_000_000,
        way in rounding(),
    ) {
        let (volume, price) = (Amount::from_raw(v), Price::from_raw(p));
        if let Ok(division) = volume.quantity_at(price, way) {
            let used = price.notional(division.quotient);
            prop_assert_eq!(used.checked_add(division.residue), Some(volume));
            let residue = division.residue.raw();
            match way {
                Rounding::Down => prop_assert!((0..i128::from(p)).contains(&residue)),
                Rounding::Up => prop_assert!((0..i128::from(p)).contains(&-residue)),
            }
        }
    }

    #[test]
    fn k12_slippage_against_wide_integers(
        a in word(),
        bps in any::<i32>(),
        small in -20_000i32..20_000,
        way in rounding(),
    ) {
        for bps in [bps, small] {
            let exact = big(a) * (10_000i64 + i64::from(bps));
            match Price::from_raw(a).moved_by(bps, way) {
                Some(moved) => {
                    prop_assert!(holds_the_rounding(&exact, &big(10_000), &big(moved.raw()), way));
                }
                None => {
                    let ten_thousand = big(10_000);
                    for end in [i64::MIN, i64::MAX] {
                        prop_assert!(!holds_the_rounding(&exact, &ten_thousand, &big(end), way));
                    }
                }
            }
        }
    }

    #[test]
    fn k12_words_against_rust_decimal(a in word(), b in word()) {
        let (x, y) = (Price::from_raw(a), Quantity::from_raw(b));
        let (dx, dy) = (Decimal::from(x), Decimal::from(y));
        prop_assert_eq!(Price::try_from(dx), Ok(x));
        prop_assert_eq!(Quantity::try_from(dy), Ok(y));
        prop_assert_eq!(x.to_string(), dx.normalize().to_string());
        let sum = x.checked_add(Price::from_raw(b));
        prop_assert_eq!(sum.ok_or(ConvertError::OutOfRange), Price::try_from(dx + dy));
        // Its products round once 96 bits are full; only exact ones are compared.
        if let Some(product) = dx.checked_mul(dy).filter(|product| product.scale() == 18) {
            let notional = x.notional(y);
            prop_assert_eq!(Amount::try_from(product), Ok(notional));
            prop_assert_eq!(Decimal::try_from(notional), Ok(product));
            prop_assert_eq!(notional.to_string(), product.normalize().to_string());
        }
    }

    #[test]
    fn k12_amounts_convert_exactly_or_not_at_all(a in double_word(), zeros in 0u32..19) {
        // Amounts with trailing zeros reach beyond what 18 decimals leave room for.
        let power = 10i128.pow(zeros);
        let amount = Amount::from_raw(a / power * power);
        match Decimal::try_from(amount) {
            Ok(decimal) => {
                prop_assert_eq!(Amount::try_from(decimal), Ok(amount));
                prop_assert_eq!(decimal.normalize().to_string(), amount.to_string());
            }
            Err(error) => {
                prop_assert_eq!(error, ConvertError::OutOfRange);
                let mut digits = big(amount.raw());
                for _ in 0..18 {
                    if &digits % 10 == big(0) {
                        digits /= 10;
                    }
                }
                prop_assert!(digits.magnitude().bits() > 96);
            }
        }
    }

    #[test]
    fn k12_decimals_convert_exactly_or_say_why(
        mantissa in -DECIMAL_MOST..=DECIMAL_MOST,
        shift in 0u32..96,
        scale in 0u32..29,
    ) {
        let decimal = Decimal::from_i128_with_scale(mantissa >> shift, scale);
        match Price::try_from(decimal) {
            Ok(price) => prop_assert_eq!(Decimal::from(price), decimal),
            Err(ConvertError::TooManyDecimals { most }) => {
                prop_assert!(most == 9 && decimal.normalize().scale() > 9);
            }
            Err(_) => prop_assert!(decimal.abs() > Decimal::from(Price::MAX)),
        }
        match Amount::try_from(decimal) {
            Ok(amount) => prop_assert_eq!(Decimal::try_from(amount), Ok(decimal)),
            Err(ConvertError::TooManyDecimals { most }) => {
                prop_assert!(most == 18 && decimal.normalize().scale() > 18);
            }
            Err(_) => prop_assert!(decimal.abs() > Decimal::from(170_141_183_460_469_231_731u128)),
        }
    }
}

#[test]
fn k09_the_types_have_the_stated_sizes_and_scales() {
    assert_eq!(
        (
            size_of::<Price>(),
            size_of::<Quantity>(),
            size_of::<Amount>()
        ),
        (8, 8, 16)
    );
    assert_eq!(
        (Price::DECIMALS, Quantity::DECIMALS, Amount::DECIMALS),
        (9, 9, 18)
    );
    let largest = Price::MAX.notional(Quantity::MAX);
    assert_eq!(
        largest.to_string(),
        "85070591730234615847.396907784232501249"
    );
    assert_eq!(
        Price::MIN.notional(Quantity::MIN).to_string(),
        "85070591730234615865.843651857942052864"
    );
}

#[test]
fn k11_thirds_round_the_named_way_and_leave_the_rest() {
    let volume = Amount::parse("1").expect("a number");
    let price = Price::parse("3").expect("a number");
    let down = volume.quantity_at(price, Rounding::Down).expect("in range");
    assert_eq!(down.quotient.to_string(), "0.333333333");
    assert_eq!(down.residue.to_string(), "0.000000001");
    let up = volume.quantity_at(price, Rounding::Up).expect("in range");
    assert_eq!(up.quotient.to_string(), "0.333333334");
    assert_eq!(up.residue.to_string(), "-0.000000002");

    let exact = volume.quantity_at(Price::parse("4").expect("a number"), Rounding::Up);
    assert_eq!(
        exact.map(|q| (q.quotient.to_string(), q.residue)),
        Ok(("0.25".into(), Amount::ZERO))
    );
}

#[test]
fn k11_a_quotient_that_does_not_exist_is_an_error() {
    let one = Price::from_raw(1);
    assert_eq!(
        Amount::MAX.quantity_at(Price::ZERO, Rounding::Down),
        Err(DivisionError::ByZero)
    );
    assert_eq!(
        Amount::MAX.quantity_at(one, Rounding::Down),
        Err(DivisionError::OutOfRange)
    );
    let minus_one = Price::from_raw(-1);
    assert_eq!(
        Amount::MIN.quantity_at(minus_one, Rounding::Up),
        Err(DivisionError::OutOfRange)
    );
}

#[test]
fn k11_slippage_rounds_at_the_ninth_decimal() {
    let mark = Price::from_raw(1_000_000_001);
    let buy = mark.moved_by(1, Rounding::Up).expect("in range");
    let sell = mark.moved_by(-1, Rounding::Down).expect("in range");
    assert_eq!(
        (buy.to_string(), sell.to_string()),
        ("1.000100002".into(), "0.9999".into())
    );
    assert_eq!(mark.moved_by(-10_000, Rounding::Down), Some(Price::ZERO));
    assert_eq!(Price::MAX.moved_by(1, Rounding::Down), None);
}
