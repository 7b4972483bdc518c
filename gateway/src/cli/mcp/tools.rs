//! The tools: what they are called, what they take, and which route that is.

use pitlane::types::ClientOrderId;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// A request of the HTTP side.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Call {
    Get(String),
    Post(String, String),
}

pub(super) const STATUS: &str = "a2m_order_status";
pub(super) const CANCEL: &str = "a2m_cancel_order";
pub(super) const SUBMIT: &str = "a2m_submit_order";
pub(super) const DECIDE: &str = "a2m_request_decision";

/// Every tool.
pub(super) fn all() -> Vec<Tool> {
    let asks = ToolAnnotations::new().read_only(true);
    let cancels = ToolAnnotations::new().destructive(true).idempotent(true);
    let submits = ToolAnnotations::new().destructive(true).idempotent(true);
    let decides = ToolAnnotations::new().destructive(false).idempotent(false);
    let id = json!({
        "type": "object",
        "properties": { "client_order_id": {
            "type": "string", "pattern": "^co_[0-9a-f]{32}$",
            "description": "The order's identity, from its decision",
        } },
        "required": ["client_order_id"],
        "additionalProperties": false,
    });
    vec![
        tool(STATUS, "An order of this agent's as it is now", &id, asks),
        tool(
            CANCEL,
            "Cancel what still works of an order. It is cancelled when the answer's state says so; \
             A2M_CANCEL_PENDING means that the venue has not confirmed it yet: ask its status",
            &id,
            cancels,
        ),
        tool(
            SUBMIT,
            "Bring a signed decision: the order goes to its venue. The same decision again is the \
             same order, never a second one",
            &json!({
                "type": "object",
                "properties": {
                    "decision": { "type": "object", "description": "As the authorizer gave it" },
                    "signature": { "type": "string", "description": "128 hex digits" },
                },
                "required": ["decision", "signature"],
                "additionalProperties": false,
            }),
            submits,
        ),
        tool(
            DECIDE,
            "Ask whether an order is allowed. The answer is what a2m_submit_order takes; what the \
             order needs is held until then, or until the decision expires",
            &decision_schema(),
            decides,
        ),
    ]
}

fn tool(name: &'static str, about: &'static str, schema: &Value, hints: ToolAnnotations) -> Tool {
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, about, schema).with_annotations(hints)
}

fn decision_schema() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    json!({
        "type": "object",
        "properties": {
            "account_id": text("The account's number, as a text"),
            "venue": text("The venue's name"),
            "instrument": text("The instrument's name at the venue"),
            "side": { "enum": ["buy", "sell"] },
            "order_type": { "enum": ["market", "limit", "stop", "stop_limit", "post_only"] },
            "time_in_force": { "enum": ["day", "gtc", "ioc", "fok", "gtd"] },
            "qty": text("How much of the base asset, such as \"12.5\"; or volume"),
            "volume": text("How much of the settlement asset; or qty"),
            "price": text("All but market orders have one; of a stop, its trigger"),
            "stop_price": text("The trigger of a stop_limit order"),
            "good_till": text("The end of a gtd order, such as 2026-12-01T09:30:00Z"),
            "user_id": text("For whom; the agent where absent"),
            "ttl_seconds": text("How long the decision may be brought; \"60\" where absent"),
        },
        "required": [
            "account_id", "venue", "instrument", "side", "order_type", "time_in_force",
        ],
        "additionalProperties": false,
    })
}

/// Which route a call is; or what is wrong with its arguments. `None` where there
/// is no such tool.
pub(super) fn call(name: &str, arguments: JsonObject) -> Option<Result<Call, String>> {
    let made = match name {
        STATUS => order_id(&arguments).map(|id| Call::Get(format!("/v1/agent/orders/{id}"))),
        CANCEL => order_id(&arguments)
            .map(|id| Call::Post(format!("/v1/orders/{id}/cancel"), String::new())),
        SUBMIT => Ok(body("/v1/orders", arguments)),
        DECIDE => Ok(body("/v1/decisions", arguments)),
        _ => return None,
    };
    Some(made)
}

/// The gateway judges a body, strictly, and says what is wrong with it.
fn body(route: &str, arguments: JsonObject) -> Call {
    Call::Post(route.to_owned(), Value::Object(arguments).to_string())
}

/// An id is part of an address: it is nothing else than one.
fn order_id(arguments: &JsonObject) -> Result<ClientOrderId, String> {
    let id = arguments.get("client_order_id").and_then(Value::as_str);
    let id = id.and_then(ClientOrderId::from_text);
    match (id, arguments.len()) {
        (Some(id), 1) => Ok(id),
        _ => {
            Err("the one argument is client_order_id, co_ and 32 lower-case hex digits".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: &Value) -> JsonObject {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn o34_each_tool_is_its_route_and_an_id_is_nothing_else() {
        let id = "co_00000000000000000000000000000007";
        let one = json!({ "client_order_id": id });
        let expected = Call::Get(format!("/v1/agent/orders/{id}"));
        assert_eq!(call(STATUS, object(&one)), Some(Ok(expected)));
        let expected = Call::Post(format!("/v1/orders/{id}/cancel"), String::new());
        assert_eq!(call(CANCEL, object(&one)), Some(Ok(expected)));
        let signed = json!({ "decision": { "a": "b" }, "signature": "00" });
        let expected = Call::Post("/v1/orders".to_owned(), signed.to_string());
        assert_eq!(call(SUBMIT, object(&signed)), Some(Ok(expected)));
        for wrong in [
            json!({}),
            json!({ "client_order_id": 7 }),
            json!({ "client_order_id": "../admin/orders" }),
            json!({ "client_order_id": id, "more": "" }),
        ] {
            assert!(call(STATUS, object(&wrong)).unwrap().is_err(), "{wrong}");
            assert!(call(CANCEL, object(&wrong)).unwrap().is_err(), "{wrong}");
        }
        assert_eq!(call("a2m_sell_everything", object(&one)), None);
        assert_eq!(all().len(), 4);
    }
}
