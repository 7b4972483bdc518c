//! Durations as people write them: a whole number and its unit.

use core::time::Duration;

/// The units, from the smallest, with their nanoseconds.
const UNITS: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// `500ms`, `5s`, `2m`: `None` for anything else, and beyond 584 years.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let (_, nanos) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let count: u64 = number.parse().ok()?;
    count.checked_mul(nanos).map(Duration::from_nanos)
}

/// The shortest text that [`parse`] reads back.
pub(super) fn text(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let (name, size) = UNITS
        .into_iter()
        .rev()
        .find(|&(_, size)| nanos.is_multiple_of(u128::from(size)))
        .unwrap_or(UNITS[0]);
    let count = nanos / u128::from(size);
    if count == 0 {
        "0s".to_string()
    } else {
        format!("{count}{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_and_its_unit() {
        assert_eq!(parse("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse("5s"), Some(Duration::from_secs(5)));
        assert_eq!(parse("0s"), Some(Duration::ZERO));
        for bad in [
            "",
            "5",
            "s",
            "5 s",
            " 5s",
            "1.5s",
            "-5s",
            "+5s",
            "5sec",
            "5S",
            "99999999999h",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(nanos in any::<u64>(), unit in 0usize..6) {
            let size = UNITS[unit].1;
            let duration = Duration::from_nanos(nanos / size * size);
            prop_assert_eq!(parse(&text(duration)), Some(duration));
        }
    }
}
