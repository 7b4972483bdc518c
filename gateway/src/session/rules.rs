//! The numbers that sessions go by, and the time that they are told.

use core::time::Duration;
use std::sync::Arc;

use pitlane::time::{Nanos, UnixNanos};

use super::Credentials;

/// The time of a call: sessions read no clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct At {
    /// Monotonic.
    pub now: Nanos,
    /// The wall's.
    pub wall: UnixNanos,
}

/// Deadlines and intervals (rule G10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// From the connection to the session established.
    pub negotiation: Duration,
    /// From a frame's first byte to its last.
    pub partial_frame: Duration,
    /// How far a client's clock may be off at logon.
    pub clock_skew: Duration,
    /// The shortest keep-alive interval that a client may ask for.
    pub keep_alive_min: Duration,
    /// The longest keep-alive interval that a client may ask for.
    pub keep_alive_max: Duration,
    /// How long a session that ended may take to read what is left for it.
    pub close_grace: Duration,
}

impl Default for Timing {
    /// 5 s to log on, 1 s for a frame, 5 s of skew, intervals from 100 ms to
    /// 60 s, 1 s to close.
    fn default() -> Self {
        Self {
            negotiation: Duration::from_secs(5),
            partial_frame: Duration::from_secs(1),
            clock_skew: Duration::from_secs(5),
            keep_alive_min: Duration::from_millis(100),
            keep_alive_max: Duration::from_secs(60),
            close_grace: Duration::from_secs(1),
        }
    }
}

/// What all sessions of a gateway share.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Which gateway this is: clients sign it.
    pub gateway_id: u64,
    /// Who may log on.
    pub credentials: Arc<Credentials>,
    /// Deadlines and intervals.
    pub timing: Timing,
}

/// Why timings are not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// A deadline that has passed before it began.
    #[error("{name} is zero; set it above zero")]
    Zero {
        /// Which.
        name: &'static str,
    },
    /// No interval is allowed.
    #[error("keep_alive_min is above keep_alive_max; no interval would be allowed")]
    NoInterval,
    /// Intervals are whole milliseconds in 32 bits on the wire.
    #[error("keep_alive_max is above 49 days, the longest that the wire can say")]
    TooLong,
}

impl Timing {
    /// Whether sessions can go by these numbers.
    ///
    /// # Errors
    /// The first that they cannot.
    pub fn check(&self) -> Result<(), RulesError> {
        for (name, value) in [
            ("negotiation", self.negotiation),
            ("partial_frame", self.partial_frame),
            ("clock_skew", self.clock_skew),
            ("keep_alive_min", self.keep_alive_min),
            ("close_grace", self.close_grace),
        ] {
            if value.is_zero() {
                return Err(RulesError::Zero { name });
            }
        }
        if self.keep_alive_min > self.keep_alive_max {
            return Err(RulesError::NoInterval);
        }
        if u32::try_from(self.keep_alive_max.as_millis()).is_err() {
            return Err(RulesError::TooLong);
        }
        Ok(())
    }
}
