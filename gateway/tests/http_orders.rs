//! The whole life of an order over HTTP: real sockets, the journal on a disk, the
//! simulated venue's book (rules O31 to O33).

#[path = "support/http_desk.rs"]
mod http_desk;

use std::time::Duration;

use http_desk::{Desk, PATIENCE, authorizer, body, client_key, decision, id, raw, signed};
use pitlane::orders::decision::DECISION_SCHEMA;
use pitlane::types::{
    AccountId, ClientReference, InstrumentId, Order, OrderType, PRICE_SCALE, Price, Quantity, Side,
    TimeInForce,
};
use pitlane_gateway::client::{Client, Event, Logon};
use pitlane_gateway::session::CredentialId;
use serde_json::{Value, json};

/// What the contract lists of an order.
const MEMBERS: [&str; 10] = [
    "client_order_id",
    "decision_id",
    "venue",
    "venue_order_id",
    "state",
    "time_in_force",
    "filled_qty",
    "avg_px",
    "fees",
    "last_error",
];

#[test]
fn o31_two_agents_orders_meet_and_both_are_filled() {
    let desk = Desk::new();
    let (a, b) = (desk.caller("token-a"), desk.caller("token-b"));
    let taken = a.bring(&body(1, "a", 1, Side::Buy, "100.5"));
    for member in MEMBERS {
        assert!(taken.get(member).is_some(), "{member} of {taken}");
    }
    assert_eq!(taken["client_order_id"], id(1).to_string());
    let resting = a.until(id(1), "acked");
    assert_eq!(resting["filled_qty"], "0");
    assert_eq!(resting["avg_px"], Value::Null);
    b.bring(&body(2, "b", 2, Side::Sell, "100"));
    let filled = a.until(id(1), "filled");
    assert_eq!(filled["filled_qty"], "5");
    assert_eq!(filled["avg_px"], "100.5", "the resting order's price");
    assert_eq!(filled["venue"], "sim");
    assert_eq!(filled["decision_id"], "d-1");
    b.until(id(2), "filled");
}

#[test]
fn o31_a_decisions_order_meets_a_binary_clients() {
    let desk = Desk::new();
    let a = desk.caller("token-a");
    a.bring(&body(1, "a", 1, Side::Buy, "100"));
    a.until(id(1), "acked");
    let logon = Logon::new(1, CredentialId(1), client_key());
    let mut client = Client::connect(desk.gateway.address(), &logon).unwrap();
    let order = Order {
        account: AccountId(3),
        instrument: InstrumentId(1),
        side: Side::Sell,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        quantity: Some(Quantity::from_raw(2 * PRICE_SCALE)),
        volume: None,
        price: Some(Price::from_raw(100 * PRICE_SCALE)),
    };
    let sender = client.sender();
    sender.new_order(ClientReference(1), &order).unwrap();
    sender.flush().unwrap();
    loop {
        let event = client.next_event(PATIENCE).unwrap().expect("an event");
        if let Event::Executed(fill) = event {
            assert_eq!(fill.head.leaves(), Quantity::ZERO);
            break;
        }
    }
    let order = a.until(id(1), "partially_filled");
    assert_eq!(
        (&order["filled_qty"], &order["leaves"]),
        (&json!("2"), &json!("3"))
    );
    // O25: cancelled with what it has.
    let (status, order) = a.cancel(id(1));
    assert_eq!(
        (status, &order["state"]),
        (200, &json!("cancelled")),
        "{order}"
    );
    assert_eq!(
        (&order["filled_qty"], &order["ended"]),
        (&json!("2"), &json!("3"))
    );
}

#[test]
fn o15_o16_the_same_again_is_the_same_order_and_another_under_its_name_is_refused() {
    let desk = Desk::new();
    let a = desk.caller("token-a");
    let first = body(1, "a", 1, Side::Buy, "100");
    a.bring(&first);
    a.until(id(1), "acked");
    assert_eq!(a.bring(&first)["state"], "acked");
    // White space and order of members do not matter.
    let value: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(
        a.bring(&serde_json::to_string_pretty(&value).unwrap())["state"],
        "acked"
    );
    let other = body(1, "a", 1, Side::Buy, "101");
    let refused = a.refused("POST", "/v1/orders", &other);
    assert_eq!(refused, (409, "A2M_IDEMPOTENCY".into()));
    let mut renamed = decision(1, "a", 1, Side::Buy, "100");
    renamed.decision_id = "another".into();
    let refused = a.refused("POST", "/v1/orders", &signed(renamed, &authorizer()));
    assert_eq!(refused, (409, "A2M_IDEMPOTENCY".into()));
}

#[test]
fn o31_what_is_no_signed_decision_is_refused_with_its_code() {
    let desk = Desk::new();
    let a = desk.caller("token-a");
    let good = body(1, "a", 1, Side::Buy, "100");
    let mut stale = decision(2, "a", 1, Side::Buy, "100");
    stale.issued_at = pitlane::time::UnixNanos(1);
    stale.expires_at = pitlane::time::UnixNanos(2);
    let mut elsewhere = decision(3, "a", 1, Side::Buy, "100");
    elsewhere.venue = "nowhere".into();
    let forged = good.replace("\"100\"", "\"99\"");
    for (text, status, code) in [
        (String::new(), 422, "A2M_BAD_SIGNATURE"),
        ("{".into(), 422, "A2M_BAD_SIGNATURE"),
        ("[]".into(), 422, "A2M_BAD_SIGNATURE"),
        (
            good.replacen('{', "{\"more\":\"x\",", 1),
            422,
            "A2M_BAD_SIGNATURE",
        ),
        (forged, 422, "A2M_BAD_SIGNATURE"),
        (signed(stale, &authorizer()), 422, "A2M_DECISION_EXPIRED"),
        (signed(elsewhere, &authorizer()), 422, "A2M_NO_ROUTE"),
        (body(4, "b", 2, Side::Buy, "100"), 401, "A2M_AGENT_UNKNOWN"),
    ] {
        assert_eq!(
            a.refused("POST", "/v1/orders", &text),
            (status, code.to_owned()),
            "{text}"
        );
    }
    // None of them has touched it.
    assert_eq!(a.bring(&good)["client_order_id"], id(1).to_string());
}

#[test]
fn o31_every_route_but_the_two_health_ones_needs_a_token() {
    let desk = Desk::new();
    let nobody = desk.caller("token-of-nobody");
    assert_eq!(nobody.get("/healthz"), (200, json!({ "healthy": true })));
    assert_eq!(nobody.get("/readyz"), (200, json!({ "ready": true })));
    let order = format!("/v1/agent/orders/{}", id(1));
    let cancel = format!("/v1/orders/{}/cancel", id(1));
    let routes = [
        ("POST", "/v1/orders"),
        ("GET", order.as_str()),
        ("POST", cancel.as_str()),
        ("POST", "/v1/decisions"),
        ("GET", "/v1/venues"),
        ("GET", "/v1/schema/decision"),
        ("GET", "/metrics"),
        ("GET", "/v1/admin/orders"),
        ("GET", "/v1/admin/blocks"),
        ("POST", "/v1/admin/blocks/1"),
        ("DELETE", "/v1/admin/blocks/1"),
        ("GET", "/no/such/route"),
    ];
    for (method, route) in routes {
        let refused = nobody.refused(method, route, "");
        assert_eq!(
            refused,
            (401, "A2M_UNAUTHENTICATED".into()),
            "{method} {route}"
        );
    }
    let request = "GET /v1/venues HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let answer = raw(desk.http(), request).to_ascii_lowercase();
    assert!(answer.starts_with("http/1.1 401 "), "{answer}");
    assert!(answer.contains("www-authenticate: bearer\r\n"), "{answer}");
}

#[test]
fn o31_an_agents_token_and_an_admins_open_different_doors() {
    let desk = Desk::new();
    let (a, ops) = (desk.caller("token-a"), desk.caller("token-ops"));
    for (method, route) in [
        ("GET", "/v1/admin/orders"),
        ("GET", "/v1/admin/blocks"),
        ("POST", "/v1/admin/blocks/1"),
        ("DELETE", "/v1/admin/blocks/1"),
    ] {
        assert_eq!(
            a.refused(method, route, ""),
            (403, "A2M_FORBIDDEN".into()),
            "{route}"
        );
    }
    let order = format!("/v1/agent/orders/{}", id(1));
    for (method, route) in [
        ("POST", "/v1/orders"),
        ("GET", &order),
        ("POST", "/v1/decisions"),
    ] {
        assert_eq!(
            ops.refused(method, route, ""),
            (403, "A2M_FORBIDDEN".into()),
            "{route}"
        );
    }
    assert_eq!(
        a.refused("GET", "/nowhere", ""),
        (404, "A2M_NO_SUCH_ROUTE".into())
    );
    assert_eq!(
        a.refused("GET", "/v1/orders", ""),
        (405, "A2M_METHOD".into())
    );
    assert_eq!(
        ops.get("/v1/admin/orders"),
        (200, json!({ "orders": [], "more": false }))
    );
}

#[test]
fn o32_another_agents_order_answers_byte_for_byte_as_none_does() {
    let desk = Desk::new();
    let a = desk.caller("token-a");
    a.bring(&body(1, "a", 1, Side::Buy, "100"));
    a.until(id(1), "acked");
    let answer = |method: &str, route: &str, token: &str| {
        let request = format!(
            "{method} {route} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
             Content-Length: 0\r\nConnection: close\r\n\r\n"
        );
        let text = raw(desk.http(), &request);
        let lines = text.lines().filter(|line| !line.starts_with("date: "));
        lines.collect::<Vec<_>>().join("\n")
    };
    for (method, of) in [
        (
            "GET",
            (|id: &str| format!("/v1/agent/orders/{id}")) as fn(&str) -> String,
        ),
        ("POST", |id| format!("/v1/orders/{id}/cancel")),
    ] {
        let not_there = answer(method, &of(&id(99).to_string()), "token-b");
        assert!(not_there.starts_with("HTTP/1.1 404 "), "{not_there}");
        assert!(not_there.contains("A2M_NOT_FOUND"), "{not_there}");
        let anothers = answer(method, &of(&id(1).to_string()), "token-b");
        assert_eq!(anothers, not_there);
        assert_eq!(answer(method, &of("no-id"), "token-b"), not_there);
        assert_eq!(answer(method, &of("%ff"), "token-b"), not_there);
    }
    assert_eq!(
        a.order(id(1))["state"],
        "acked",
        "and nothing was done to it"
    );
}

#[test]
fn o33_a_cancel_is_confirmed_by_the_venue_and_of_an_order_that_is_over_gives_it() {
    let desk = Desk::new();
    let a = desk.caller("token-a");
    a.bring(&body(1, "a", 1, Side::Buy, "100"));
    let (status, order) = a.cancel(id(1));
    assert_eq!(
        (status, &order["state"]),
        (200, &json!("cancelled")),
        "{order}"
    );
    assert_eq!(a.cancel(id(1)), (200, order), "the same again");
}

#[test]
fn o31_venues_say_what_they_take_and_the_schema_is_served() {
    let desk = Desk::new();
    let a = desk.caller("token-a");
    let (status, venues) = a.get("/v1/venues");
    assert_eq!(status, 200);
    let venue = &venues["venues"][0];
    assert_eq!(
        (&venue["name"], &venue["up"]),
        (&json!("sim"), &json!(true))
    );
    assert_eq!(venue["instruments"], json!(["ACME/USD"]));
    assert!(
        venue["order_types"]
            .as_array()
            .unwrap()
            .contains(&json!("stop_limit"))
    );
    assert!(
        venue["times_in_force"]
            .as_array()
            .unwrap()
            .contains(&json!("gtd"))
    );
    let schema: Value = serde_json::from_str(DECISION_SCHEMA).unwrap();
    assert_eq!(a.get("/v1/schema/decision"), (200, schema));
}

#[test]
fn o31_admins_list_orders_and_block_accounts() {
    let desk = Desk::new();
    let (a, b, ops) = (
        desk.caller("token-a"),
        desk.caller("token-b"),
        desk.caller("token-ops"),
    );
    for number in 1..=3 {
        a.bring(&body(number, "a", 1, Side::Buy, "100"));
        a.until(id(number), "acked");
    }
    a.cancel(id(2));
    let ids = |route: &str| {
        let (status, list) = ops.get(route);
        assert_eq!(status, 200, "{list}");
        let orders = list["orders"].as_array().unwrap().clone();
        let ids = orders.iter().map(|one| one["client_order_id"].clone());
        (ids.collect::<Vec<_>>(), list["more"].clone())
    };
    let of = |numbers: &[u64]| -> Vec<Value> {
        numbers
            .iter()
            .map(|one| json!(id(*one).to_string()))
            .collect()
    };
    assert_eq!(ids("/v1/admin/orders"), (of(&[1, 2, 3]), json!(false)));
    assert_eq!(
        ids("/v1/admin/orders?state=acked"),
        (of(&[1, 3]), json!(false))
    );
    assert_eq!(
        ids("/v1/admin/orders?state=acked&limit=1"),
        (of(&[1]), json!(true))
    );
    assert_eq!(
        ids("/v1/admin/orders?state=unknown"),
        (of(&[]), json!(false))
    );
    for query in [
        "state=nothing",
        "limit=0",
        "limit=1001",
        "limit=x",
        "more=1",
    ] {
        let refused = ops.refused("GET", &format!("/v1/admin/orders?{query}"), "");
        assert_eq!(refused, (400, "A2M_BAD_REQUEST".into()), "{query}");
    }
    let blocked = json!({ "account": "1", "blocked": true });
    assert_eq!(ops.post("/v1/admin/blocks/1", ""), (200, blocked));
    assert_eq!(
        ops.get("/v1/admin/blocks"),
        (
            200,
            json!({ "blocks": [
            { "account": "1", "cause": "AccountBlocked" },
            { "account": "1", "cause": "executor" },
        ] })
        )
    );
    let order = body(4, "a", 1, Side::Buy, "100");
    let refused = a.refused("POST", "/v1/orders", &order);
    assert_eq!(refused, (422, "A2M_ACCOUNT_BLOCKED".into()));
    b.bring(&body(5, "b", 2, Side::Buy, "100"));
    let free = json!({ "account": "1", "blocked": false });
    assert_eq!(ops.ask("DELETE", "/v1/admin/blocks/1", ""), (200, free));
    // O14: a void decision stays void.
    let refused = a.refused("POST", "/v1/orders", &order);
    assert_eq!(refused, (422, "A2M_ACCOUNT_BLOCKED".into()));
    a.bring(&body(6, "a", 1, Side::Buy, "100"));
    let refused = ops.refused("POST", "/v1/admin/blocks/one", "");
    assert_eq!(refused, (400, "A2M_BAD_REQUEST".into()));
}

#[test]
fn o31_metrics_are_prometheus_text_and_count_orders_by_state() {
    let desk = Desk::new();
    let a = desk.caller("token-a");
    a.bring(&body(1, "a", 1, Side::Buy, "100"));
    a.until(id(1), "acked");
    let (status, page) = a.text("GET", "/metrics", "");
    assert_eq!(status, 200);
    assert!(
        page.contains("\npitlane_orders{state=\"acked\"} 1\n"),
        "{page}"
    );
    assert!(
        page.contains("\npitlane_orders{state=\"filled\"} 0\n"),
        "{page}"
    );
    assert!(
        page.contains("\npitlane_venue_up{venue=\"sim\"} 1\n"),
        "{page}"
    );
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<u64>().is_ok(), "{line}");
        let name = name.split('{').next().unwrap();
        assert!(
            page.contains(&format!("# TYPE {name} ")),
            "{name} has its type"
        );
        assert!(
            page.contains(&format!("# HELP {name} ")),
            "{name} has its help"
        );
    }
}

#[test]
fn o31_many_callers_at_once_each_get_their_own_answer() {
    let desk = Desk::new();
    let address = desk.http();
    let threads: Vec<_> = (0..8u64)
        .map(|thread| {
            std::thread::spawn(move || {
                let a = http_desk::Caller::new(address, "token-a");
                for order in 0..25 {
                    let number = thread * 100 + order + 1;
                    let taken = a.bring(&body(number, "a", 1, Side::Buy, "1"));
                    assert_eq!(taken["client_order_id"], id(number).to_string());
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let (_, list) = desk.caller("token-ops").get("/v1/admin/orders");
    assert_eq!(list["orders"].as_array().unwrap().len(), 200);
    let stopped = desk.gateway.stop(Duration::from_secs(5));
    assert!(stopped.lanes.unwrap().is_balanced());
}

#[test]
fn the_page_has_every_route_and_every_code_with_its_status() {
    let page = include_str!("../../docs/http.md");
    for code in pitlane_gateway::control::http::HttpCode::ALL {
        let row = format!("| `{}` | {} | ", code.name(), code.status());
        assert!(page.contains(&row), "docs/http.md lacks {row}");
    }
    let router = include_str!("../src/control/http/router.rs");
    let routes = router.split('"').skip(1).step_by(2);
    let routes = routes.filter(|text| text.starts_with('/'));
    let mut count = 0;
    for route in routes {
        assert!(
            page.contains(&format!(" {route}` |")),
            "docs/http.md lacks {route}"
        );
        count += 1;
    }
    assert_eq!(count, 14);
}
