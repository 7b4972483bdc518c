//! A signed decision on arrival: its form, its signature, then its content
//! (rules O5, O6).

use sha2::{Digest as _, Sha256};

use super::document::{Decision, DecisionError};
use super::json::Json;
use super::keys::{KeyTable, Role};
use crate::limits;
use crate::orders::{Code, Refusal};
use crate::time::UnixNanos;

/// A decision that its authorizer has signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedDecision {
    /// What was decided.
    pub decision: Decision,
    /// SHA-256 of the canonical form: two bodies with one digest say the same.
    pub digest: [u8; 32],
}

impl SignedDecision {
    /// Reads `{"decision": {…}, "signature": "…"}`.
    ///
    /// # Errors
    /// [`Code::BadSignature`] for what is no JSON of that form or not signed by
    /// a key that holds at `now`; then [`Code::BadDecision`].
    pub fn read(body: &[u8], keys: &KeyTable, now: UnixNanos) -> Result<Self, Refusal> {
        let unsigned = |why: String| Refusal::new(Code::BadSignature, why);
        if body.len() > limits::DECISION_BYTES_MAX {
            let most = limits::DECISION_BYTES_MAX;
            return Err(unsigned(format!("the body has more than {most} bytes")));
        }
        let json = Json::read(body).map_err(|error| unsigned(format!("the body: {error}")))?;
        let (decision, signature) = parts(&json, "decision").map_err(unsigned)?;
        let key_id = decision.member("key_id").and_then(Json::text);
        let key_id = key_id.ok_or_else(|| unsigned("decision.key_id is no text".into()))?;
        let canonical = decision.canonical();
        keys.verify(Role::Authorizer, key_id, &canonical, signature, now)
            .map_err(|error| unsigned(error.to_string()))?;
        let decision = Decision::read(decision).map_err(|DecisionError { field, what }| {
            Refusal::new(Code::BadDecision, format!("decision.{field} {what}"))
        })?;
        Ok(Self {
            decision,
            digest: Sha256::digest(&canonical).into(),
        })
    }

    /// What two decisions that say the same have in common.
    #[must_use]
    pub fn digest_of(decision: &Decision) -> [u8; 32] {
        Sha256::digest(decision.to_json().canonical()).into()
    }
}

/// The two members that a signed body has, and no other: what was signed, under its
/// name, and the signature.
pub(crate) fn parts<'a>(json: &'a Json, signed: &str) -> Result<(&'a Json, &'a str), String> {
    let Json::Object(members) = json else {
        return Err(format!("the body is {}, not an object", json.kind()));
    };
    if let Some((name, _)) = members
        .iter()
        .find(|(name, _)| name != signed && name != "signature")
    {
        return Err(format!(
            "the body has the member {name:?}; it has {signed} and signature alone"
        ));
    }
    let document = json.member(signed);
    let document = document.ok_or_else(|| format!("the body has no {signed}"))?;
    let signature = json.member("signature").and_then(Json::text);
    Ok((document, signature.ok_or("signature is no text")?))
}
