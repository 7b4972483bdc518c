//! What is asked of the authorizer, and what it says.

use std::time::Duration;

use crate::limits::{DECISION_TTL_MAX, DECISION_TTL_MIN};
use crate::orders::decision::{
    Decision, DecisionError, Fields, Json, Size, Verdict, fault, order_type, order_type_name,
    time_in_force, time_in_force_name,
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
    /// There is no key to sign with: this authorizer settles, and decides nothing.
    #[error("this authorizer has no key: it settles, and decides nothing")]
    NoKey,
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

/// The members that a request must have.
const NEEDED: [&str; 6] = [
    "account_id",
    "venue",
    "instrument",
    "side",
    "order_type",
    "time_in_force",
];

/// Those that it may have; absent, they are null.
const OTHERS: [&str; 7] = [
    "user_id",
    "qty",
    "volume",
    "price",
    "stop_price",
    "good_till",
    "ttl_seconds",
];

/// How long a decision may be brought where its request does not say.
const TTL: Duration = Duration::from_secs(60);

impl DecisionRequest {
    /// Reads the JSON of an order that the agent asks to be allowed: the members of
    /// a decision that an agent can know, `ttl_seconds` (text, 60 where absent)
    /// beside them, and no other. What is not needed may be null or absent;
    /// `user_id` is the agent then.
    ///
    /// # Errors
    /// The first member at fault, or that it is no JSON.
    pub fn read(agent_id: &str, body: &[u8]) -> Result<Self, DecisionError> {
        let json = Json::read(body).map_err(|error| fault("request", error.to_string()))?;
        let Json::Object(mut members) = json else {
            return Err(fault(
                "request",
                format!("is {}, not an object", json.kind()),
            ));
        };
        let is_known = |name: &str| NEEDED.contains(&name) || OTHERS.contains(&name);
        if let Some((member, _)) = members.iter().find(|(name, _)| !is_known(name)) {
            return Err(fault(member, "is no member of a request"));
        }
        for name in OTHERS {
            if members.iter().all(|(own, _)| own != name) {
                members.push((name.to_owned(), Json::Null));
            }
        }
        let json = Json::Object(members);
        let fields = Fields { json: &json };
        let user_id = match fields.optional("user_id")? {
            None => agent_id.to_owned(),
            Some(_) => fields.name("user_id")?,
        };
        let good_till = match fields.optional("good_till")? {
            None => None,
            Some(_) => Some(fields.instant("good_till")?),
        };
        let type_name = fields.text("order_type")?;
        let time_name = fields.text("time_in_force")?;
        Ok(Self {
            agent_id: agent_id.to_owned(),
            user_id,
            account: fields.account()?,
            venue: fields.name("venue")?,
            instrument: fields.symbol("instrument")?,
            side: fields.side()?,
            order_type: order_type(type_name).ok_or_else(|| {
                fault(
                    "order_type",
                    "is not market, limit, stop, stop_limit or post_only",
                )
            })?,
            time_in_force: time_in_force(time_name)
                .ok_or_else(|| fault("time_in_force", "is not day, gtc, ioc, fok or gtd"))?,
            size: fields.size()?,
            price: fields.price("price")?,
            stop_price: fields.price("stop_price")?,
            good_till,
            ttl: ttl(fields.optional("ttl_seconds")?)?,
        })
    }

    /// The decision as it would be, without what the shard adds.
    ///
    /// # Errors
    /// The first member that no decision could have.
    pub(super) fn draft(&self, now: UnixNanos, key_id: &str) -> Result<Decision, DecisionError> {
        if !(DECISION_TTL_MIN..=DECISION_TTL_MAX).contains(&self.ttl) {
            let what = format!("is not {DECISION_TTL_MIN:?} to {DECISION_TTL_MAX:?}");
            return Err(fault("ttl", what));
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
        if self.stop_price.is_some() && self.order_type != OrderType::StopLimit {
            return Err(fault(
                "stop_price",
                "is a member of a stop-limit order alone",
            ));
        }
        if self.good_till.is_some() != (self.time_in_force == TimeInForce::GoodTillDate) {
            return Err(fault(
                "good_till",
                "is there exactly in a good-till-date order",
            ));
        }
        // The executor reads it by the same rules: what it would not take is not
        // signed.
        Decision::read(&draft.to_json())
    }
}

fn ttl(text: Option<&str>) -> Result<Duration, DecisionError> {
    let Some(text) = text else { return Ok(TTL) };
    let most = DECISION_TTL_MAX.as_secs();
    let seconds: Option<u64> = text.parse().ok();
    let seconds =
        seconds.filter(|number| (1..=most).contains(number) && number.to_string() == text);
    seconds.map(Duration::from_secs).ok_or_else(|| {
        fault(
            "ttl_seconds",
            format!("is not a text of a whole number, 1 to {most}"),
        )
    })
}
