//! The whole life of an order over HTTP: asked for, decided by the accounts' risk,
//! brought, executed, settled in the same books.

#[path = "support/http_desk.rs"]
mod http_desk;

use std::time::Instant;

use http_desk::{Caller, Desk, Dev, PATIENCE};
use pitlane::orders::decision::{KeyTable, Role, SignedDecision, Validity};
use pitlane::time::{Clock, SystemClock};
use pitlane::types::ClientOrderId;
use serde_json::{Value, json};

fn ask(account: u64, side: &str, qty: &str, price: &str) -> Value {
    json!({
        "account_id": account.to_string(), "venue": "sim", "instrument": "ACME/USD",
        "side": side, "order_type": "limit", "time_in_force": "gtc", "qty": qty,
        "price": price,
    })
}

/// The body that was allowed, as it came.
fn allowed(agent: &Caller, request: &Value) -> String {
    let (status, text) = agent.text("POST", "/v1/decisions", &request.to_string());
    assert_eq!(status, 200, "{text}");
    text
}

/// The codes of the rejects.
fn denied(agent: &Caller, request: &Value) -> Vec<String> {
    let (status, value) = agent.post("/v1/decisions", &request.to_string());
    assert_eq!(
        (status, &value["code"]),
        (422, &json!("A2M_DENIED")),
        "{value}"
    );
    let rejects = value["rejects"].as_array().unwrap().iter();
    rejects
        .map(|one| one["code"].as_str().unwrap().to_owned())
        .collect()
}

fn id_of(body: &str) -> ClientOrderId {
    let body: Value = serde_json::from_str(body).unwrap();
    let text = body["decision"]["client_order_id"].as_str().unwrap();
    ClientOrderId::from_text(text).unwrap()
}

/// Until the account is allowed what it asks: what it needs was settled before.
fn until_allowed(agent: &Caller, request: &Value) -> String {
    let begun = Instant::now();
    loop {
        let (status, text) = agent.text("POST", "/v1/decisions", &request.to_string());
        if status == 200 {
            return text;
        }
        assert!(begun.elapsed() < PATIENCE, "never: {text}");
        std::thread::yield_now();
    }
}

/// Spot funds are on: what is held, and what was filled, shows in what is allowed.
fn desk(authorizer: &str) -> Desk {
    Desk::deciding(authorizer, "")
}

#[test]
fn o31_an_order_is_asked_for_decided_brought_and_settled() {
    let desk = desk("");
    let (a, b) = (desk.caller("token-a"), desk.caller("token-b"));
    let buy = allowed(&a, &ask(1, "buy", "5", "100.00"));
    let sell = allowed(&b, &ask(2, "sell", "5", "100.00"));
    let mut keys = KeyTable::default();
    let public = http_desk::authorizer().public();
    keys.add(
        http_desk::KEY_ID,
        Role::Authorizer,
        &public,
        Validity::default(),
    )
    .unwrap();
    let read = SignedDecision::read(buy.as_bytes(), &keys, SystemClock::new().wall());
    let decision = read.unwrap().decision;
    assert_eq!((&*decision.agent_id, &*decision.user_id), ("a", "a"));
    a.bring(&buy);
    b.bring(&sell);
    let order = a.until(id_of(&buy), "filled");
    assert_eq!(
        (&order["filled_qty"], &order["avg_px"]),
        (&json!("5"), &json!("100"))
    );
    b.until(id_of(&sell), "filled");
    // 100,000 less the 500 that were paid: not one cent more is allowed.
    until_allowed(&a, &ask(1, "buy", "1", "99500.00"));
    let all = ask(1, "buy", "1", "0.01");
    assert_eq!(denied(&a, &all), ["InsufficientFunds"]);
}

#[test]
fn o04_a_decision_holds_and_one_that_is_never_brought_is_released() {
    let desk = desk("skew = \"0s\"");
    let a = desk.caller("token-a");
    let mut all = ask(1, "buy", "1", "100000.00");
    all["ttl_seconds"] = json!("1");
    let first = allowed(&a, &all);
    assert_eq!(denied(&a, &all), ["InsufficientFunds"], "it is held");
    // Nobody brings it; the next is allowed when the first is void.
    until_allowed(&a, &all);
    let refused = a.refused("POST", "/v1/orders", &first);
    assert_eq!(
        refused,
        (422, "A2M_DECISION_EXPIRED".into()),
        "void stays void"
    );
}

#[test]
fn o14_a_refused_decision_releases_what_it_held() {
    let desk = desk("");
    let (a, ops) = (desk.caller("token-a"), desk.caller("token-ops"));
    let all = ask(1, "buy", "1", "100000.00");
    let body = allowed(&a, &all);
    ops.post("/v1/admin/blocks/1", "");
    let refused = a.refused("POST", "/v1/orders", &body);
    assert_eq!(refused, (422, "A2M_ACCOUNT_BLOCKED".into()));
    ops.ask("DELETE", "/v1/admin/blocks/1", "");
    until_allowed(&a, &all);
}

#[test]
fn o31_a_decision_is_of_the_agents_accounts_alone_and_a_request_is_read_strictly() {
    let desk = desk("");
    let a = desk.caller("token-a");
    for account in [2, 3, 99] {
        let request = ask(account, "buy", "1", "1").to_string();
        let refused = a.refused("POST", "/v1/decisions", &request);
        assert_eq!(refused, (403, "A2M_FORBIDDEN".into()), "{account}");
    }
    for (member, value, part) in [
        ("account_id", json!(1), "a number is written as a text"),
        ("qty", json!("-1"), "qty"),
        ("qty", Value::Null, "qty"),
        ("qty", json!("1e3"), "qty"),
        ("volume", json!("5"), "qty"),
        ("price", Value::Null, "price"),
        ("side", json!("both"), "side"),
        ("order_type", json!("magic"), "order_type"),
        ("time_in_force", json!("later"), "time_in_force"),
        ("ttl_seconds", json!("0"), "ttl_seconds"),
        ("ttl_seconds", json!("86401"), "ttl_seconds"),
        ("stop_price", json!("5"), "stop_price"),
        ("good_till", json!("2030-01-01T00:00:00Z"), "good_till"),
        ("verdict", json!("allow"), "verdict"),
        ("agent_id", json!("b"), "agent_id"),
    ] {
        let mut request = ask(1, "buy", "1", "100");
        request[member] = value;
        let (status, told) = a.post("/v1/decisions", &request.to_string());
        assert_eq!(
            (status, &told["code"]),
            (400, &json!("A2M_BAD_REQUEST")),
            "{request}"
        );
        assert!(told["message"].as_str().unwrap().contains(part), "{told}");
    }
    for (member, value, code) in [
        ("venue", "elsewhere", "UnknownVenue"),
        ("instrument", "GOLD", "UnknownInstrument"),
    ] {
        let mut request = ask(1, "buy", "1", "100");
        request[member] = json!(value);
        assert_eq!(denied(&a, &request), [code]);
    }
}

#[test]
fn o31_without_its_key_an_authorizer_decides_nothing_and_settles_all_the_same() {
    let desk = Desk::new();
    let a = desk.caller("token-a");
    let refused = a.refused(
        "POST",
        "/v1/decisions",
        &ask(1, "buy", "1", "1").to_string(),
    );
    assert_eq!(refused, (503, "A2M_NO_AUTHORIZER".into()));
}

#[test]
fn o31_a_block_is_in_the_books_of_every_order() {
    let desk = desk("");
    let (a, ops) = (desk.caller("token-a"), desk.caller("token-ops"));
    let held = allowed(&a, &ask(1, "buy", "1", "100"));
    assert_eq!(ops.post("/v1/admin/blocks/1", "").0, 200);
    assert_eq!(denied(&a, &ask(1, "buy", "1", "100")), ["AccountBlocked"]);
    let (_, list) = ops.get("/v1/admin/blocks");
    let expected = json!({ "blocks": [
        { "account": "1", "cause": "AccountBlocked" },
        { "account": "1", "cause": "executor" },
    ] });
    assert_eq!(list, expected);
    // What was allowed before does not go out either.
    let refused = a.refused("POST", "/v1/orders", &held);
    assert_eq!(refused, (422, "A2M_ACCOUNT_BLOCKED".into()));
    assert_eq!(ops.ask("DELETE", "/v1/admin/blocks/1", "").0, 200);
    allowed(&a, &ask(1, "buy", "1", "100"));
    let refused = ops.refused("POST", "/v1/admin/blocks/99", "");
    assert_eq!(refused, (404, "A2M_NO_SUCH_ACCOUNT".into()));
}

#[test]
fn o04_o30_a_hold_outlives_a_kill_and_is_settled_once() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    let asked = |account: u64, side: &str, price: &str| {
        let mut request = ask(account, side, "10", price);
        request["instrument"] = json!("ACME-USD");
        request
    };
    let agent = dev.agent();
    let body = allowed(&agent, &asked(1, "buy", "100000.00"));
    assert_eq!(
        denied(&agent, &asked(1, "buy", "0.01")),
        ["InsufficientFunds"],
        "all of it is held"
    );
    let dev = dev.killed_and_started();
    let agent = dev.agent();
    assert_eq!(
        denied(&agent, &asked(1, "buy", "0.01")),
        ["InsufficientFunds"],
        "as before"
    );
    let sell = allowed(&agent, &asked(2, "sell", "100.00"));
    agent.bring(&sell);
    agent.until(id_of(&sell), "acked");
    agent.bring(&body);
    agent.until(id_of(&body), "filled");
    // It paid 1,000: the rest of what was held is free, and no more.
    let rest = until_allowed(&agent, &asked(1, "buy", "99900.00"));
    assert_eq!(
        denied(&agent, &asked(1, "buy", "0.01")),
        ["InsufficientFunds"]
    );
    let dev = dev.killed_and_started();
    let agent = dev.agent();
    assert_eq!(
        denied(&agent, &asked(1, "buy", "0.01")),
        ["InsufficientFunds"]
    );
    assert_eq!(agent.order(id_of(&body))["filled_qty"], "10");
    drop(rest);
}
