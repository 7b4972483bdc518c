//! What is asked of the authorizer, and what it says.

use std::time::Duration;

use crate::limits::{DECISION_TTL_MAX, DECISION_TTL_MIN};
use crate::orders::decision::{
    Decision, DecisionError, Size, Verdict, order_type_name, time_in_force_name,
};
use crate::risk::Rejects;
use crate::time::UnixNanos;
use crate::types::{AccountId, OrderType, Price, Side, TimeInForce};

/// An order that an agent asks to be allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionRequest {
    /// Who asks, and who alone may bring the decision; 1 to 64 letters, digits,
    /// `.`, `_` or `-`, as every name here.
    pub agent_id: String,
    /// For whom.
    pub user_id: String,
    /// Whose account. That the agent may use it is the caller's to check.
    pub account: AccountId,
    /// The venue's name.
    pub venue: String,
    /// The instrument's name at that venue.
    pub instrument: String,
    /// Buy or sell.
    pub side: Side,
    /// How its price is set.
    pub order_type: OrderType,
    /// How long it stays.
    pub time_in_force: TimeInForce,
    /// How much; positive.
    pub size: Size,
    /// Absent exactly in a market order. Of a stop, its trigger.
    pub price: Option<Price>,
    /// The trigger, exactly in a stop-limit order.
    pub stop_price: Option<Price>,
    /// The end, exactly in a good-till-date order.
    pub good_till: Option<UnixNanos>,
    /// How long the decision may be brought:
    /// [`DECISION_TTL_MIN`] to [`DECISION_TTL_MAX`].
    pub ttl: Duration,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decided {
    /// Allowed: the hold is durable, and the decision signed.
    Allowed(Box<Allowed>),
    /// Refused: every reason, in policy order (rules K2, K26). Nothing is held.
    Denied(Rejects),
}

/// An allowed order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// What was allowed.
    pub decision: Decision,
    /// The body that the executor takes, `{decision, signature}` as JSON.
    pub body: String,
}

/// Why there is no decision; nothing is known to be held.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Undecided {
    /// The request is none.
    #[error("{0}")]
    Invalid(DecisionError),
    /// As many requests wait for the account's shard as may: later.
    #[error("as many requests wait for this account's shard as may; try again later")]
    Busy,
    /// The account's shard is not there, has stopped, or its journal has failed.
    #[error("this account's shard does not answer: it has stopped, or its journal has failed")]
    NotThere,
    /// No answer in time. What it holds, if anything, is released after the
    /// decision would have expired.
    #[error("no answer in time; what is held, if anything, is released when it expires")]
    Late,
}

impl DecisionRequest {
    /// The decision as it would be, without what the shard adds.
    ///
    /// # Errors
    /// The first member that no decision could have.
    pub(super) fn draft(&self, now: UnixNanos, key_id: &str) -> Result<Decision, DecisionError> {
        if !(DECISION_TTL_MIN..=DECISION_TTL_MAX).contains(&self.ttl) {
            let what = format!("is not {DECISION_TTL_MIN:?} to {DECISION_TTL_MAX:?}");
            let field = "ttl".to_owned();
            return Err(DecisionError { field, what });
        }
        let draft = Decision {
            decision_id: "d".to_owned(),
            grant: None,
            agent_id: self.agent_id.clone(),
            user_id: self.user_id.clone(),
            account_id: self.account,
            verdict: Verdict::Deny,
            enforcement: "hard".to_owned(),
            venue: self.venue.clone(),
            instrument: self.instrument.clone(),
            side: self.side,
            order_type: order_type_name(self.order_type).to_owned(),
            time_in_force: time_in_force_name(self.time_in_force).to_owned(),
            size: self.size,
            price: self.price,
            stop_price: self.stop_price,
            good_till: self.good_till,
            issued_at: now,
            expires_at: now.after(self.ttl),
            key_id: key_id.to_owned(),
        };
        let spare = |field: &str, what: &str| {
            Err(DecisionError {
                field: field.to_owned(),
                what: what.to_owned(),
            })
        };
        if self.stop_price.is_some() && self.order_type != OrderType::StopLimit {
            return spare("stop_price", "is a member of a stop-limit order alone");
        }
        if self.good_till.is_some() != (self.time_in_force == TimeInForce::GoodTillDate) {
            return spare("good_till", "is there exactly in a good-till-date order");
        }
        // The executor reads it by the same rules: what it would not take is not
        // signed.
        Decision::read(&draft.to_json())
    }
}
