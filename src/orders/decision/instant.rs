//! Points of time as decisions write them: RFC 3339, in UTC, to the nanosecond.

use std::time::{Duration, UNIX_EPOCH};

use crate::time::UnixNanos;

/// Reads `2026-12-01T09:30:00.5Z`: UTC, marked `Z`, at most nine decimals.
///
/// `None` for any other text, and before 1970 or beyond 2554.
#[must_use]
pub fn read_instant(text: &str) -> Option<UnixNanos> {
    // One way to write it: no lower-case marks, no blank for the T, no offset.
    let marked = text.ends_with('Z') && text.as_bytes().get(10) == Some(&b'T');
    if !marked || text.len() > 30 {
        return None;
    }
    let time = humantime::parse_rfc3339(text).ok()?;
    let nanos = time.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    u64::try_from(nanos).ok().map(UnixNanos)
}

/// Writes a point of time as [`read_instant`] reads it.
#[must_use]
pub fn write_instant(time: UnixNanos) -> String {
    humantime::format_rfc3339_nanos(UNIX_EPOCH + Duration::from_nanos(time.0)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_of_time_is_read_as_it_is_written_and_in_one_way() {
        for nanos in [0, 1, 1_796_000_000_123_456_789, u64::MAX] {
            let text = write_instant(UnixNanos(nanos));
            assert_eq!(read_instant(&text), Some(UnixNanos(nanos)), "{text}");
        }
        assert_eq!(
            read_instant("1970-01-01T00:00:01.5Z"),
            Some(UnixNanos(1_500_000_000))
        );
        for bad in [
            "",
            "1970-01-01T00:00:01",
            "1970-01-01 00:00:01Z",
            "1970-01-01t00:00:01z",
            "1970-01-01T00:00:01+00:00",
            "1970-13-01T00:00:01Z",
            "1970-01-01T00:00:01.1234567890Z",
            "1969-12-31T23:59:59Z",
            "1796000000",
        ] {
            assert_eq!(read_instant(bad), None, "{bad}");
        }
    }
}
