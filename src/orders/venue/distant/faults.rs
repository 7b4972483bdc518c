//! What goes wrong on the way to a venue and back.

use core::ops::RangeInclusive;
use core::time::Duration;

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::Rng;

use crate::time::UnixNanos;

/// How often something happens, in a million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chance(u32);

impl Chance {
    /// Never.
    pub const NEVER: Self = Self(0);

    /// `times` in a million; more than a million is always.
    #[must_use]
    pub const fn in_a_million(times: u32) -> Self {
        Self(times)
    }

    /// Whether it happens now.
    pub(super) fn happens(self, random: &mut ChaCha12Rng) -> bool {
        self.0 > 0 && random.next_u64() % 1_000_000 < u64::from(self.0)
    }
}

/// See the module. The default is a perfect line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// A message is lost, in either direction; its sender does not know.
    pub lose: Chance,
    /// A message arrives twice, each time with a delay of its own.
    pub duplicate: Chance,
    /// How long a message takes.
    pub delay: RangeInclusive<Duration>,
    /// Whether a message may overtake an earlier one.
    pub reorder: bool,
    /// How much longer an answer to a query takes; it tells how things stood
    /// when the query arrived.
    pub snapshot_delay: Duration,
    /// How long after its arrival an order is not yet in an answer to a query;
    /// at most the settle time that the venue declares.
    pub listing_delay: Duration,
    /// When the venue cannot be reached; they do not overlap.
    pub outages: Vec<Outage>,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            lose: Chance::NEVER,
            duplicate: Chance::NEVER,
            delay: Duration::ZERO..=Duration::ZERO,
            reorder: false,
            snapshot_delay: Duration::ZERO,
            listing_delay: Duration::ZERO,
            outages: Vec::new(),
        }
    }
}

impl Faults {
    /// The outage at `now`.
    pub(super) fn outage(&self, now: UnixNanos) -> Option<OutageKind> {
        let at_now = |outage: &&Outage| outage.from <= now && now < outage.until;
        self.outages.iter().find(at_now).map(|outage| outage.kind)
    }

    /// The first time from `time` on at which messages are not held up.
    pub(super) fn reachable_from(&self, time: UnixNanos) -> UnixNanos {
        let holds_up = |outage: &&Outage| {
            outage.kind == OutageKind::Refused && outage.from <= time && time < outage.until
        };
        let outage = self.outages.iter().find(holds_up);
        outage.map_or(time, |outage| outage.until)
    }

    pub(super) fn delay(&self, random: &mut ChaCha12Rng) -> Duration {
        let least = self.delay.start().as_nanos();
        let range = self.delay.end().as_nanos().saturating_sub(least);
        if range == 0 {
            return *self.delay.start();
        }
        let more = u128::from(random.next_u64()) % (range + 1);
        let total = u64::try_from(least + more).unwrap_or(u64::MAX);
        Duration::from_nanos(total)
    }
}

/// A time in which the venue cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Its first moment.
    pub from: UnixNanos,
    /// The first moment after it.
    pub until: UnixNanos,
    /// What it looks like.
    pub kind: OutageKind,
}

/// What an outage looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutageKind {
    /// Nothing can be sent, and the sender is told. What the venue says waits
    /// until the line is back.
    Refused,
    /// All that is sent, in either direction, is lost in silence.
    Silent,
}
