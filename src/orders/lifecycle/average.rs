//! The average price of fills: exact until it is shown (rule O26).

use crate::types::{Amount, PRICE_SCALE, Price};

/// `notional / filled`, rounded half to even at the ninth decimal.
///
/// `None` where nothing was filled, or the result is no price.
pub(crate) fn average_price(notional: Amount, filled: Amount) -> Option<Price> {
    // A sum of quantities has nine decimals, so this division is exact.
    let quantity = filled.raw() / i128::from(PRICE_SCALE);
    if quantity <= 0 {
        return None;
    }
    let down = notional.raw().div_euclid(quantity);
    let rest = notional.raw().rem_euclid(quantity);
    // Compared with what is left to the next one, so that nothing is doubled.
    let up = match rest.cmp(&(quantity - rest)) {
        core::cmp::Ordering::Less => 0,
        core::cmp::Ordering::Equal => down.rem_euclid(2),
        core::cmp::Ordering::Greater => 1,
    };
    i64::try_from(down + up).ok().map(Price::from_raw)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::Quantity;

    fn average(fills: &[(i64, i64)]) -> Option<i64> {
        let mut notional = Amount::ZERO;
        let mut filled = Amount::ZERO;
        for &(price, quantity) in fills {
            let quantity = Quantity::from_raw(quantity);
            let traded = Price::from_raw(price).notional(quantity);
            notional = notional.checked_add(traded).unwrap();
            filled = filled.checked_add(quantity.amount()).unwrap();
        }
        average_price(notional, filled).map(Price::raw)
    }

    #[test]
    fn o26_a_tie_goes_to_the_even_neighbour() {
        assert_eq!(average(&[(1, 1), (2, 1)]), Some(2));
        assert_eq!(average(&[(2, 1), (3, 1)]), Some(2));
        assert_eq!(average(&[(-1, 1), (-2, 1)]), Some(-2));
        assert_eq!(average(&[(-2, 1), (-3, 1)]), Some(-2));
        assert_eq!(average(&[(1, 1), (2, 2)]), Some(2));
        assert_eq!(average(&[(1, 2), (2, 1)]), Some(1));
        assert_eq!(average(&[]), None);
        assert_eq!(average(&[(i64::MAX, i64::MAX)]), Some(i64::MAX));
    }

    proptest! {
        #[test]
        fn o26_the_average_is_that_of_exact_arithmetic(
            fills in prop::collection::vec((any::<i32>(), 1i32..i32::MAX), 1..20),
        ) {
            let fills: Vec<_> = fills
                .into_iter()
                .map(|(price, quantity)| (i64::from(price) << 20, i64::from(quantity)))
                .collect();
            let worth: i128 = fills.iter().map(|&(p, q)| i128::from(p) * i128::from(q)).sum();
            let size: i128 = fills.iter().map(|&(_, q)| i128::from(q)).sum();
            let shown = i128::from(average(&fills).unwrap());
            // Twice the distance is at most one unit, and one exactly only
            // beside an odd neighbour.
            let doubled = 2 * (shown * size - worth).abs();
            prop_assert!(doubled < size || (doubled == size && shown % 2 == 0));
        }
    }
}
