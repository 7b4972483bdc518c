//! A decision: what the authorizer allows, and under which identity (rule O1).

use super::instant::{read_instant, write_instant};
use super::json::Json;
use super::keys::{Role, Signer, is_name};
use crate::time::UnixNanos;
use crate::types::{AccountId, Amount, ClientOrderId, Price, Quantity, Side};

/// The schema of a decision, JSON Schema 2020-12.
pub const DECISION_SCHEMA: &str = include_str!("decision.schema.json");

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// As asked.
    Allow,
    /// Less than asked.
    Reduce,
    /// Not at all.
    Deny,
    /// A person decides.
    Escalate,
}

impl Verdict {
    /// Whether an order follows from it.
    #[must_use]
    pub const fn is_executable(self) -> bool {
        matches!(self, Self::Allow | Self::Reduce)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Reduce => "reduce",
            Self::Deny => "deny",
            Self::Escalate => "escalate",
        }
    }
}

/// How much an order is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// Of the base asset.
    Quantity(Quantity),
    /// Of the settlement asset.
    Volume(Amount),
}

/// The identity that an executable decision carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The order's identity, minted with the decision (rule O3).
    pub client_order_id: ClientOrderId,
    /// The authorizer's name for what it holds.
    pub reservation_id: String,
}

/// A decision as it was signed. Names that a venue may or may not know
/// (enforcement, order type, time in force) are kept as text: whether they are
/// served is asked later, and never guessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Its own name; 1 to 64 letters, digits, `.`, `_` or `-`.
    pub decision_id: String,
    /// Present exactly where the verdict is executable.
    pub grant: Option<Grant>,
    /// Who may bring it.
    pub agent_id: String,
    /// For whom.
    pub user_id: String,
    /// Whose account.
    pub account_id: AccountId,
    /// What was decided.
    pub verdict: Verdict,
    /// How binding it is; only `hard` is executed.
    pub enforcement: String,
    /// The venue's name.
    pub venue: String,
    /// The instrument's name; `/` and `:` may be in it, too.
    pub instrument: String,
    /// Buy or sell.
    pub side: Side,
    /// `market`, `limit`, `stop`, `stop_limit`, `post_only`, or another name.
    pub order_type: String,
    /// `day`, `gtc`, `ioc`, `fok`, `gtd`, or another name.
    pub time_in_force: String,
    /// How much, positive.
    pub size: Size,
    /// Absent exactly in a market order. Of a stop, its trigger.
    pub price: Option<Price>,
    /// A stop-limit order's trigger; a member of no other decision.
    pub stop_price: Option<Price>,
    /// When a good-till-date order ends; a member of no other decision.
    pub good_till: Option<UnixNanos>,
    /// When it was made.
    pub issued_at: UnixNanos,
    /// The last moment at which it may be brought.
    pub expires_at: UnixNanos,
    /// Which key signed it.
    pub key_id: String,
}

/// What is wrong with a decision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {what}")]
pub struct DecisionError {
    /// The member at fault.
    pub field: String,
    /// What is wrong with it.
    pub what: String,
}

impl Decision {
    /// Reads a decision strictly: every member, no other, each of its type.
    ///
    /// # Errors
    /// The first member at fault, and why.
    pub fn read(json: &Json) -> Result<Self, DecisionError> {
        let Json::Object(members) = json else {
            return Err(fault(
                "decision",
                format!("is {}, not an object", json.kind()),
            ));
        };
        let fields = Fields { json };
        let order_type = fields.name("order_type")?;
        let time_in_force = fields.name("time_in_force")?;
        let (stops, dated) = (order_type == "stop_limit", time_in_force == "gtd");
        for (member, _) in members {
            let known = FIELDS.contains(&member.as_str())
                || (member == "stop_price" && stops)
                || (member == "good_till" && dated);
            if !known {
                return Err(fault(member, "is no member of this decision"));
            }
        }
        let verdict = fields.verdict()?;
        let decision = Self {
            decision_id: fields.name("decision_id")?,
            grant: fields.grant(verdict)?,
            agent_id: fields.name("agent_id")?,
            user_id: fields.name("user_id")?,
            account_id: fields.account()?,
            verdict,
            enforcement: fields.name("enforcement")?,
            venue: fields.name("venue")?,
            instrument: fields.symbol("instrument")?,
            side: fields.side()?,
            size: fields.size()?,
            price: fields.price("price")?,
            stop_price: if stops {
                fields.price("stop_price")?
            } else {
                None
            },
            good_till: if dated {
                Some(fields.instant("good_till")?)
            } else {
                None
            },
            issued_at: fields.instant("issued_at")?,
            expires_at: fields.instant("expires_at")?,
            key_id: fields.name("key_id")?,
            order_type,
            time_in_force,
        };
        if decision.price.is_none() != (decision.order_type == "market") {
            return Err(fault("price", "is null exactly in a market order"));
        }
        if stops && decision.stop_price.is_none() {
            return Err(fault(
                "stop_price",
                "is null; a stop-limit order has its trigger there",
            ));
        }
        if decision.expires_at < decision.issued_at {
            return Err(fault("expires_at", "is before issued_at"));
        }
        Ok(decision)
    }

    /// The decision as JSON; reading it gives the same decision.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let text = |text: &str| Json::Text(text.to_owned());
        let price = |price: Option<Price>| price.map_or(Json::Null, |p| Json::Text(p.to_string()));
        let (quantity, volume) = match self.size {
            Size::Quantity(quantity) => (Json::Text(quantity.to_string()), Json::Null),
            Size::Volume(volume) => (Json::Null, Json::Text(volume.to_string())),
        };
        let grant = self.grant.as_ref();
        let side = match self.side {
            Side::Buy => "buy",
            Side::Sell => "sell",
        };
        let mut members = vec![
            ("decision_id", text(&self.decision_id)),
            (
                "client_order_id",
                grant.map_or(Json::Null, |grant| text(&grant.client_order_id.to_string())),
            ),
            ("agent_id", text(&self.agent_id)),
            ("user_id", text(&self.user_id)),
            ("account_id", text(&self.account_id.to_string())),
            ("verdict", text(self.verdict.name())),
            ("enforcement", text(&self.enforcement)),
            ("venue", text(&self.venue)),
            ("instrument", text(&self.instrument)),
            ("side", text(side)),
            ("order_type", text(&self.order_type)),
            ("time_in_force", text(&self.time_in_force)),
            ("qty", quantity),
            ("volume", volume),
            ("price", price(self.price)),
            (
                "reservation_id",
                grant.map_or(Json::Null, |grant| text(&grant.reservation_id)),
            ),
            ("issued_at", Json::Text(write_instant(self.issued_at))),
            ("expires_at", Json::Text(write_instant(self.expires_at))),
            ("key_id", text(&self.key_id)),
        ];
        if self.order_type == "stop_limit" {
            members.push(("stop_price", price(self.stop_price)));
        }
        if let Some(end) = self.good_till {
            members.push(("good_till", Json::Text(write_instant(end))));
        }
        let named = |(name, value): (&str, Json)| (name.to_owned(), value);
        Json::Object(members.into_iter().map(named).collect())
    }

    /// The body in which a decision travels: `{decision, signature}`, signed by
    /// an authorizer's key, whose name the decision gets.
    ///
    /// # Panics
    /// With a key of another role: that would be a signature for nothing.
    #[must_use]
    pub fn signed(mut self, signer: &Signer) -> Json {
        assert_eq!(
            signer.role(),
            Role::Authorizer,
            "decisions are the authorizer's"
        );
        signer.key_id().clone_into(&mut self.key_id);
        let decision = self.to_json();
        let signature = Json::Text(signer.sign(&decision.canonical()));
        Json::Object(vec![
            ("decision".to_owned(), decision),
            ("signature".to_owned(), signature),
        ])
    }
}

/// The members of every decision.
const FIELDS: [&str; 19] = [
    "decision_id",
    "client_order_id",
    "agent_id",
    "user_id",
    "account_id",
    "verdict",
    "enforcement",
    "venue",
    "instrument",
    "side",
    "order_type",
    "time_in_force",
    "qty",
    "volume",
    "price",
    "reservation_id",
    "issued_at",
    "expires_at",
    "key_id",
];

pub(crate) fn fault(field: &str, what: impl Into<String>) -> DecisionError {
    DecisionError {
        field: field.to_owned(),
        what: what.into(),
    }
}

/// The members of an object that is read strictly.
pub(crate) struct Fields<'a> {
    pub(crate) json: &'a Json,
}

impl<'a> Fields<'a> {
    pub(crate) fn get(&self, field: &str) -> Result<&'a Json, DecisionError> {
        self.json
            .member(field)
            .ok_or_else(|| fault(field, "is missing"))
    }

    pub(crate) fn text(&self, field: &str) -> Result<&'a str, DecisionError> {
        let value = self.get(field)?;
        let not_text = || fault(field, format!("is {}, not a text", value.kind()));
        value.text().ok_or_else(not_text)
    }

    /// A text, or null.
    pub(crate) fn optional(&self, field: &str) -> Result<Option<&'a str>, DecisionError> {
        match self.get(field)? {
            Json::Null => Ok(None),
            _ => self.text(field).map(Some),
        }
    }

    pub(crate) fn name(&self, field: &str) -> Result<String, DecisionError> {
        let text = self.text(field)?;
        if is_name(text) {
            return Ok(text.to_owned());
        }
        Err(fault(
            field,
            "is not 1 to 64 letters, digits, '.', '_' or '-'",
        ))
    }

    /// A name as markets write it: `BTC/USD` too.
    pub(crate) fn symbol(&self, field: &str) -> Result<String, DecisionError> {
        let text = self.text(field)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"./-_:".contains(&byte);
        if (1..=64).contains(&text.len()) && text.bytes().all(plain) {
            return Ok(text.to_owned());
        }
        Err(fault(
            field,
            "is not 1 to 64 letters, digits, or any of . / - _ :",
        ))
    }

    fn verdict(&self) -> Result<Verdict, DecisionError> {
        match self.text("verdict")? {
            "allow" => Ok(Verdict::Allow),
            "reduce" => Ok(Verdict::Reduce),
            "deny" => Ok(Verdict::Deny),
            "escalate" => Ok(Verdict::Escalate),
            _ => Err(fault("verdict", "is not allow, reduce, deny or escalate")),
        }
    }

    pub(crate) fn side(&self) -> Result<Side, DecisionError> {
        match self.text("side")? {
            "buy" => Ok(Side::Buy),
            "sell" => Ok(Side::Sell),
            _ => Err(fault("side", "is not buy or sell")),
        }
    }

    fn grant(&self, verdict: Verdict) -> Result<Option<Grant>, DecisionError> {
        let id = self.optional("client_order_id")?;
        let reservation = self.optional("reservation_id")?;
        for (field, is_there) in [
            ("client_order_id", id.is_some()),
            ("reservation_id", reservation.is_some()),
        ] {
            if is_there != verdict.is_executable() {
                return Err(fault(
                    field,
                    "is null exactly where the verdict is not executable",
                ));
            }
        }
        let (Some(id), Some(_)) = (id, reservation) else {
            return Ok(None);
        };
        let client_order_id = ClientOrderId::from_text(id)
            .ok_or_else(|| fault("client_order_id", "is not co_ and 32 lower-case hex digits"))?;
        Ok(Some(Grant {
            client_order_id,
            reservation_id: self.name("reservation_id")?,
        }))
    }

    pub(crate) fn account(&self) -> Result<AccountId, DecisionError> {
        let text = self.text("account_id")?;
        let number = text.parse().ok().map(AccountId);
        number
            .filter(|account| account.to_string() == text)
            .ok_or_else(|| fault("account_id", "is not a whole number of at most 64 bits"))
    }

    pub(crate) fn size(&self) -> Result<Size, DecisionError> {
        let positive = |field: &str, is_positive: bool| {
            is_positive
                .then_some(())
                .ok_or_else(|| fault(field, "is not above zero"))
        };
        match (self.optional("qty")?, self.optional("volume")?) {
            (Some(text), None) => {
                let quantity = decimal("qty", text, Quantity::parse)?;
                positive("qty", quantity.is_positive())?;
                Ok(Size::Quantity(quantity))
            }
            (None, Some(text)) => {
                let volume = decimal("volume", text, Amount::parse)?;
                positive("volume", volume.is_positive())?;
                Ok(Size::Volume(volume))
            }
            _ => Err(fault("qty", "exactly one of qty and volume is null")),
        }
    }

    pub(crate) fn price(&self, field: &str) -> Result<Option<Price>, DecisionError> {
        let text = self.optional(field)?;
        text.map(|text| decimal(field, text, Price::parse))
            .transpose()
    }

    pub(crate) fn instant(&self, field: &str) -> Result<UnixNanos, DecisionError> {
        let text = self.text(field)?;
        read_instant(text)
            .ok_or_else(|| fault(field, "is not a UTC time such as 2026-12-01T09:30:00.5Z"))
    }
}

/// A plain decimal: what the exact parser reads, in the one form of JSON's
/// numbers, without an exponent.
pub(crate) fn decimal<T, E: core::fmt::Display>(
    field: &str,
    text: &str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<T, DecisionError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
    let numeric = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let plain = numeric(whole) && numeric(rest) && (whole == "0" || !whole.starts_with('0'));
    if !plain {
        return Err(fault(field, "is not a plain decimal such as 12.5"));
    }
    parse(text).map_err(|error| fault(field, error.to_string()))
}
