//! What the executor tells, signed, so that anybody who has its public key can check
//! who executed what (rule O39).
//!
//! The signature is Ed25519 over a text that names its purpose and the report in the
//! canonical form of RFC 8785, by a key of the executor's role: one for a decision is
//! none for a report, and the other way round.

use super::message::{Execution, Message, MessageBody, Release};
use crate::limits;
use crate::orders::decision::{
    DecisionError, Fields, Json, KeyTable, Role, SignatureError, Signer, decimal, fault, parts,
};
use crate::time::UnixNanos;
use crate::types::{AccountId, Amount, ClientOrderId, FillId, Price, Quantity, Side};

/// A message of an executor, with whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedReport {
    /// The executor's log, which counts the messages.
    pub log: u64,
    /// Which key signed it.
    pub key_id: String,
    /// What is told.
    pub message: Message,
}

/// Why a text is no signed report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// It is no JSON, or has other members than `report` and `signature`.
    #[error("{0}")]
    Form(String),
    /// It is not signed by a key that may.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// It is signed, and says nothing that is known.
    #[error("report.{0}")]
    Content(DecisionError),
}

impl SignedReport {
    /// Signs a message: the body `{report, signature}`.
    ///
    /// # Panics
    /// With a key of another role: that would be a signature for nothing.
    #[must_use]
    pub fn sign(log: u64, message: &Message, signer: &Signer) -> Json {
        assert_eq!(
            signer.role(),
            Role::Executor,
            "reports are the executor's to sign"
        );
        let report = to_json(log, message, signer.key_id());
        let signature = Json::Text(signer.sign(&report.canonical()));
        Json::Object(vec![
            ("report".to_owned(), report),
            ("signature".to_owned(), signature),
        ])
    }

    /// Reads `{"report": {…}, "signature": "…"}`, strictly.
    ///
    /// # Errors
    /// Its form, then its signature by a key that holds at `now`, then its members.
    pub fn read(body: &[u8], keys: &KeyTable, now: UnixNanos) -> Result<Self, ReportError> {
        if body.len() > limits::DECISION_BYTES_MAX {
            let most = limits::DECISION_BYTES_MAX;
            return Err(ReportError::Form(format!("it has more than {most} bytes")));
        }
        let json = Json::read(body).map_err(|error| ReportError::Form(error.to_string()))?;
        let (report, signature) = parts(&json, "report").map_err(ReportError::Form)?;
        let key_id = report.member("key_id").and_then(Json::text);
        let key_id =
            key_id.ok_or_else(|| ReportError::Form("report.key_id is no text".to_owned()))?;
        keys.verify(Role::Executor, key_id, &report.canonical(), signature, now)?;
        let (log, message) = from_json(report).map_err(ReportError::Content)?;
        Ok(Self {
            log,
            key_id: key_id.to_owned(),
            message,
        })
    }
}

const EXECUTION: [&str; 16] = [
    "kind",
    "log",
    "sequence",
    "key_id",
    "fill_id",
    "user_id",
    "account_id",
    "instrument",
    "side",
    "qty",
    "price",
    "fee",
    "reservation_id",
    "client_order_id",
    "venue",
    "external",
];
const END: &str = "release_remainder";
const RELEASE: [&str; 7] = [
    "kind",
    "log",
    "sequence",
    "key_id",
    "reservation_id",
    "account_id",
    "client_order_id",
];

fn to_json(log: u64, message: &Message, key_id: &str) -> Json {
    let kind = match message.body {
        MessageBody::Execution(_) => "execution",
        MessageBody::Release(_) => "release",
        MessageBody::Reversal(_) => "reversal",
    };
    let mut members = vec![
        ("kind", text(kind)),
        ("log", text(&log.to_string())),
        ("sequence", text(&message.sequence.to_string())),
        ("key_id", text(key_id)),
    ];
    match &message.body {
        MessageBody::Execution(one) | MessageBody::Reversal(one) => {
            members.extend(execution_members(one));
        }
        MessageBody::Release(one) => members.extend([
            ("reservation_id", text(&one.reservation_id)),
            ("account_id", text(&one.account_id.to_string())),
            ("client_order_id", text(&one.client_order_id.to_string())),
        ]),
    }
    let named = |(name, value): (&str, Json)| (name.to_owned(), value);
    Json::Object(members.into_iter().map(named).collect())
}

fn execution_members(one: &Execution) -> [(&'static str, Json); 13] {
    let or_null = |value: Option<String>| value.map_or(Json::Null, Json::Text);
    let side = one.side.map(|side| match side {
        Side::Buy => "buy".to_owned(),
        Side::Sell => "sell".to_owned(),
    });
    [
        ("fill_id", text(&one.fill_id.0.to_string())),
        ("user_id", text(&one.user_id)),
        (
            "account_id",
            or_null(one.account_id.map(|id| id.to_string())),
        ),
        ("instrument", text(&one.instrument)),
        ("side", or_null(side)),
        ("qty", text(&one.qty.to_string())),
        ("price", text(&one.price.to_string())),
        ("fee", text(&one.fee.to_string())),
        ("reservation_id", text(&one.reservation_id)),
        ("client_order_id", text(&one.client_order_id.to_string())),
        ("venue", text(&one.venue)),
        ("external", Json::Bool(one.external)),
        (END, Json::Bool(one.release_remainder)),
    ]
}

fn text(text: &str) -> Json {
    Json::Text(text.to_owned())
}

fn from_json(report: &Json) -> Result<(u64, Message), DecisionError> {
    let fields = Fields { json: report };
    let kind = fields.text("kind")?;
    let is_release = kind == "release";
    let Json::Object(members) = report else {
        return Err(fault("report", "is no object"));
    };
    for (member, _) in members {
        let is_known = if is_release {
            RELEASE.contains(&member.as_str())
        } else {
            EXECUTION.contains(&member.as_str()) || member == END
        };
        if !is_known {
            return Err(fault(member, "is no member of this report"));
        }
    }
    let body = match kind {
        "release" => MessageBody::Release(Release {
            reservation_id: fields.name("reservation_id")?,
            account_id: fields.account()?,
            client_order_id: client_order_id(&fields)?,
        }),
        "execution" => MessageBody::Execution(execution(&fields)?),
        "reversal" => MessageBody::Reversal(execution(&fields)?),
        _ => return Err(fault("kind", "is not execution, release or reversal")),
    };
    let sequence = number(&fields, "sequence")?;
    if sequence == 0 {
        return Err(fault("sequence", "is zero; the first is 1"));
    }
    Ok((number(&fields, "log")?, Message { sequence, body }))
}

fn execution(fields: &Fields<'_>) -> Result<Execution, DecisionError> {
    let external = flag(fields, "external")?;
    // Of an order that is not ours little is known.
    let name = |field: &str| match fields.text(field)? {
        "" if external => Ok(String::new()),
        _ => fields.name(field),
    };
    let is_null = |field: &str| fields.get(field).map(|value| *value == Json::Null);
    let account_id: Option<AccountId> = if external && is_null("account_id")? {
        None
    } else {
        Some(fields.account()?)
    };
    let side = if external && is_null("side")? {
        None
    } else {
        Some(fields.side()?)
    };
    Ok(Execution {
        fill_id: FillId(number(fields, "fill_id")?),
        user_id: name("user_id")?,
        account_id,
        instrument: match fields.text("instrument")? {
            "" if external => String::new(),
            _ => fields.symbol("instrument")?,
        },
        side,
        qty: decimal("qty", fields.text("qty")?, Quantity::parse)?,
        price: decimal("price", fields.text("price")?, Price::parse)?,
        fee: decimal("fee", fields.text("fee")?, Amount::parse)?,
        reservation_id: name("reservation_id")?,
        client_order_id: client_order_id(fields)?,
        venue: fields.name("venue")?,
        external,
        release_remainder: flag(fields, END)?,
    })
}

fn client_order_id(fields: &Fields<'_>) -> Result<ClientOrderId, DecisionError> {
    let text = fields.text("client_order_id")?;
    let id = ClientOrderId::from_text(text);
    id.ok_or_else(|| fault("client_order_id", "is not co_ and 32 lower-case hex digits"))
}

fn number(fields: &Fields<'_>, field: &str) -> Result<u64, DecisionError> {
    let text = fields.text(field)?;
    let number = text.parse().ok();
    number
        .filter(|number: &u64| number.to_string() == text)
        .ok_or_else(|| fault(field, "is not a whole number of at most 64 bits"))
}

fn flag(fields: &Fields<'_>, field: &str) -> Result<bool, DecisionError> {
    match fields.get(field)? {
        Json::Bool(flag) => Ok(*flag),
        other => Err(fault(
            field,
            format!("is {}, not true or false", other.kind()),
        )),
    }
}
