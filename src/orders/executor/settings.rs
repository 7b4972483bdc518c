//! What an executor is made of.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::limits;
use crate::orders::decision::KeyTable;
use crate::orders::venue::Venue;
use crate::types::InstrumentId;

/// How an executor waits and what it holds; every bound has a default.
#[derive(Clone, Debug)]
pub struct ExecutorSettings {
    /// The authorizer's keys.
    pub keys: KeyTable,
    /// How long an order may stay unacknowledged before it is `unknown`.
    pub ack_timeout: Duration,
    /// How long an answer to a query may take before it is asked again.
    pub query_timeout: Duration,
    /// The pause after the first query without an answer; it doubles, with
    /// jitter, up to 60 s.
    pub query_pause: Duration,
    /// How long an order may stay unanswered before a person is told.
    pub alarm_after: Duration,
    /// How long a cancel's caller waits for the venue's snapshot before it is
    /// told that the cancel is pending.
    pub cancel_wait: Duration,
    /// How long a working order may go without a word before it is asked for.
    pub audit_every: Duration,
    /// How long an identity is kept after its decision has expired.
    pub retention: Duration,
    /// Orders and void decisions in memory.
    pub orders_max: usize,
    /// Messages that wait for the authorizer; one more order is refused.
    pub outbox_max: usize,
    /// Orders that wait for each venue's rate; one more is refused.
    pub waiting_max: u32,
    /// The seed of the back-off's jitter.
    pub seed: u64,
}

impl Default for ExecutorSettings {
    fn default() -> Self {
        Self {
            keys: KeyTable::default(),
            ack_timeout: Duration::from_secs(2),
            query_timeout: Duration::from_secs(1),
            query_pause: Duration::from_millis(100),
            alarm_after: Duration::from_secs(60),
            cancel_wait: Duration::from_secs(2),
            audit_every: Duration::from_secs(30),
            retention: Duration::from_secs(3_600),
            orders_max: limits::EXECUTOR_ORDERS_MAX,
            outbox_max: limits::OUTBOX_MAX,
            waiting_max: limits::VENUE_WAITING_MAX,
            seed: 0,
        }
    }
}

/// A venue, and what it is called here.
pub struct VenueSetup {
    /// Its name in decisions.
    pub name: String,
    /// The way to it.
    pub venue: Box<dyn Venue>,
    /// Its instruments by their names in decisions.
    pub instruments: BTreeMap<String, InstrumentId>,
}
