//! What recorders have counted, at one moment: quantiles, `.hlog`, Prometheus.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use super::counts::{Counts, VALUE_MAX};

/// The quantiles that the Prometheus text gives.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];

/// What a distribution's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds; given to Prometheus as seconds.
    Nanoseconds,
    /// A number of things.
    Count,
}

/// One measured value's distribution.
#[derive(Clone, Debug)]
pub struct Distribution {
    name: &'static str,
    unit: Unit,
    histogram: Histogram<u64>,
    clamped: u64,
}

impl Distribution {
    /// Nothing measured yet. The name is a metric's: lower case, underscores.
    #[must_use]
    pub fn new(name: &'static str, unit: Unit) -> Self {
        // The bounds are constants that the crate accepts (every test makes one).
        let histogram = Histogram::new_with_bounds(1, VALUE_MAX, 2)
            .unwrap_or_else(|_| unreachable!("1 to 2^36 with two digits is a valid range"));
        Self {
            name,
            unit,
            histogram,
            clamped: 0,
        }
    }

    /// Adds what a recorder has counted.
    pub fn add(&mut self, counts: &Counts) {
        self.clamped += counts.add_to(&mut self.histogram);
    }

    /// How many values were measured.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// How many of them were above [`VALUE_MAX`] and counted as it.
    #[must_use]
    pub const fn clamped(&self) -> u64 {
        self.clamped
    }

    /// The value at a quantile from 0 to 1; zero where nothing was measured.
    #[must_use]
    pub fn at_quantile(&self, quantile: f64) -> u64 {
        self.histogram.value_at_quantile(quantile)
    }

    /// The histogram itself.
    #[must_use]
    pub const fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// Adds a Prometheus summary to `text`; the metric's name is `prefix`, the
    /// distribution's name and its unit.
    pub fn prometheus(&self, prefix: &str, text: &mut String) {
        let unit = match self.unit {
            Unit::Nanoseconds => "_seconds",
            Unit::Count => "",
        };
        let name = format!("{prefix}{}{unit}", self.name);
        // Writing to a string does not fail.
        let _ = writeln!(text, "# TYPE {name} summary");
        for quantile in QUANTILES {
            let value = self.scaled(self.at_quantile(quantile));
            let _ = writeln!(text, "{name}{{quantile=\"{quantile}\"}} {value}");
        }
        let _ = writeln!(text, "{name}_count {}", self.count());
        let _ = writeln!(text, "# TYPE {name}_clamped_total counter");
        let _ = writeln!(text, "{name}_clamped_total {}", self.clamped);
    }

    /// Nanoseconds as decimal seconds, exactly; other values as they are.
    fn scaled(&self, value: u64) -> String {
        match self.unit {
            Unit::Nanoseconds => {
                format!("{}.{:09}", value / 1_000_000_000, value % 1_000_000_000)
            }
            Unit::Count => value.to_string(),
        }
    }
}

/// Writes an HDR interval log with one line per distribution, tagged with its
/// name, for the usual viewers: when measuring began, and how long it went on.
///
/// # Errors
/// What the writer answers.
pub fn write_hlog(
    distributions: &[&Distribution],
    to: &mut impl Write,
    begun: SystemTime,
    interval: Duration,
) -> io::Result<()> {
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .with_base_time(begun)
        .begin_log_with(to, &mut serializer)?;
    for distribution in distributions {
        log.write_histogram(
            &distribution.histogram,
            Duration::ZERO,
            interval,
            Tag::new(distribution.name),
        )
        .map_err(|error| io::Error::other(format!("{error:?}")))?;
    }
    Ok(())
}
