//! Decisions: strict reading, the canonical form, signatures (rules O1, O2, O5,
//! O6).

use pitlane::orders::Code;
use pitlane::orders::decision::{
    DECISION_SCHEMA, Decision, Grant, Json, KeyError, KeyTable, Role, SignatureError,
    SignedDecision, Signer, Size, Validity, Verdict,
};
use pitlane::time::UnixNanos;
use pitlane::types::{AccountId, ClientOrderId, Side};
use proptest::prelude::*;

const NOW: UnixNanos = UnixNanos(1_796_000_000_000_000_000);

fn signer(role: Role, secret: u8) -> Signer {
    Signer::new(&format!("key-{secret}"), role, &[secret; 32]).unwrap()
}

fn keys(signer: &Signer, validity: Validity) -> KeyTable {
    let mut keys = KeyTable::default();
    let (id, role) = (signer.key_id().to_owned(), signer.role());
    keys.add(&id, role, &signer.public(), validity).unwrap();
    keys
}

fn decision() -> Decision {
    Decision {
        decision_id: "d-1".into(),
        grant: Some(Grant {
            client_order_id: ClientOrderId { high: 7, low: 9 },
            reservation_id: "r-0.1.3".into(),
        }),
        agent_id: "agent-7".into(),
        user_id: "ann".into(),
        account_id: AccountId(42),
        verdict: Verdict::Allow,
        enforcement: "hard".into(),
        venue: "sim".into(),
        instrument: "GOLD".into(),
        side: Side::Buy,
        order_type: "limit".into(),
        time_in_force: "day".into(),
        size: Size::Quantity("2.5".parse().unwrap()),
        price: Some("2650.25".parse().unwrap()),
        stop_price: None,
        good_till: None,
        issued_at: NOW,
        expires_at: UnixNanos(NOW.0 + 60_000_000_000),
        key_id: "key-1".into(),
    }
}

/// The decision with a member replaced, or removed.
fn with(name: &str, value: Option<Json>) -> Json {
    let Json::Object(mut members) = decision().to_json() else {
        unreachable!("a decision is an object")
    };
    let at = members.iter().position(|(own, _)| own == name);
    match (at, value) {
        (Some(at), Some(value)) => members[at].1 = value,
        (Some(at), None) => drop(members.remove(at)),
        (None, Some(value)) => members.push((name.into(), value)),
        (None, None) => {}
    }
    Json::Object(members)
}

fn text(text: &str) -> Json {
    Json::Text(text.into())
}

fn body(decision: Decision) -> Vec<u8> {
    let json = decision.signed(&signer(Role::Authorizer, 1));
    serde_json::to_vec(&json).unwrap()
}

fn read(body: &[u8]) -> Result<SignedDecision, Code> {
    let keys = keys(&signer(Role::Authorizer, 1), Validity::default());
    SignedDecision::read(body, &keys, NOW).map_err(|refusal| refusal.code)
}

#[test]
fn o01_a_decision_is_read_as_it_is_written() {
    let mut all = vec![decision()];
    all.push(Decision {
        verdict: Verdict::Deny,
        grant: None,
        order_type: "market".into(),
        price: None,
        size: Size::Volume("1000000000000.000000000000000001".parse().unwrap()),
        side: Side::Sell,
        ..decision()
    });
    all.push(Decision {
        order_type: "stop_limit".into(),
        stop_price: Some("-1.5".parse().unwrap()),
        time_in_force: "gtd".into(),
        good_till: Some(UnixNanos(NOW.0 + 1)),
        ..decision()
    });
    for one in all {
        assert_eq!(Decision::read(&one.to_json()).as_ref(), Ok(&one));
        assert_eq!(
            read(&body(one.clone())).map(|signed| signed.decision),
            Ok(one)
        );
    }
}

#[test]
fn o01_unknown_missing_and_mistyped_members_are_refused_by_name() {
    let Json::Object(members) = decision().to_json() else {
        unreachable!("a decision is an object")
    };
    for (name, _) in &members {
        let missing = Decision::read(&with(name, None)).unwrap_err();
        assert_eq!(
            (&missing.field, missing.what.as_str()),
            (name, "is missing")
        );
        let list = Json::List(vec![text("1")]);
        for other in [Json::Bool(true), list, Json::Object(Vec::new())] {
            let mistyped = Decision::read(&with(name, Some(other))).unwrap_err();
            assert_eq!(&mistyped.field, name, "{}", mistyped.what);
        }
    }
    for unknown in ["note", "stop_price", "good_till", "Qty", ""] {
        let error = Decision::read(&with(unknown, Some(text("1")))).unwrap_err();
        assert_eq!(error.field, unknown);
    }
    assert!(Decision::read(&Json::List(Vec::new())).is_err());
}

#[test]
fn o01_values_out_of_their_domain_are_refused_by_name() {
    for (name, value) in [
        ("decision_id", text("")),
        ("decision_id", text(&"d".repeat(65))),
        ("decision_id", text("a b")),
        (
            "client_order_id",
            text("co_0123456789ABCDEF0123456789abcdef"),
        ),
        (
            "client_order_id",
            text("co_0123456789abcdef0123456789abcde"),
        ),
        (
            "client_order_id",
            text("xx_0123456789abcdef0123456789abcdef"),
        ),
        ("client_order_id", Json::Null),
        ("reservation_id", Json::Null),
        ("account_id", text("042")),
        ("account_id", text("+42")),
        ("account_id", text("18446744073709551616")),
        ("verdict", text("ALLOW")),
        ("side", text("short")),
        ("qty", text("0")),
        ("qty", text("-1")),
        ("qty", text("1e3")),
        ("qty", text("1_000")),
        ("qty", text("+1")),
        ("qty", text("1.")),
        ("qty", text("01")),
        ("qty", text("1.0000000001")),
        ("qty", text("9223372036.854775808")),
        ("qty", Json::Null),
        ("price", text("2650,25")),
        ("price", Json::Null),
        ("issued_at", text("yesterday")),
        ("expires_at", text("1971-01-01T00:00:00Z")),
    ] {
        let error = Decision::read(&with(name, Some(value.clone()))).unwrap_err();
        assert_eq!(error.field, name, "{value:?}: {error}");
    }
    let both = Decision::read(&with("volume", Some(text("5")))).unwrap_err();
    assert_eq!(both.field, "qty");
    let market = Decision::read(&with("order_type", Some(text("market")))).unwrap_err();
    assert_eq!(market.field, "price");
    let denied = Decision::read(&with("verdict", Some(text("deny")))).unwrap_err();
    assert_eq!(denied.field, "client_order_id");
}

#[test]
fn o01_the_published_schema_names_the_members_that_are_read() {
    let schema: serde_json::Value = serde_json::from_str(DECISION_SCHEMA).unwrap();
    let mut required: Vec<_> = schema["required"].as_array().unwrap().clone();
    required.sort_by_key(ToString::to_string);
    let mut members: Vec<_> = serde_json::to_value(decision().to_json())
        .unwrap()
        .as_object()
        .unwrap()
        .keys()
        .map(|name| serde_json::Value::from(name.as_str()))
        .collect();
    members.sort_by_key(ToString::to_string);
    assert_eq!(required, members);
    let properties = schema["properties"].as_object().unwrap();
    for name in &members {
        assert!(properties.contains_key(name.as_str().unwrap()), "{name}");
    }
    assert_eq!(
        properties.len(),
        members.len() + 2,
        "stop_price and good_till"
    );
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn o02_white_space_and_member_order_do_not_matter() {
    let signed = String::from_utf8(body(decision())).unwrap();
    let value: serde_json::Value = serde_json::from_str(&signed).unwrap();
    let pretty = serde_json::to_vec_pretty(&value).unwrap();
    let mut reversed = Json::read(signed.as_bytes()).unwrap();
    if let Json::Object(members) = &mut reversed {
        members.reverse();
        if let Json::Object(inner) = &mut members[1].1 {
            inner.reverse();
        }
    }
    let escaped = signed.replace("\"ann\"", "\"\\u0061nn\"");
    let first = read(signed.as_bytes()).unwrap();
    for same in [
        pretty,
        serde_json::to_vec(&reversed).unwrap(),
        escaped.into_bytes(),
    ] {
        assert_ne!(same, signed.as_bytes());
        assert_eq!(read(&same).unwrap(), first, "the digest is the same, too");
    }
}

#[test]
fn o02_every_changed_member_and_every_flipped_bit_of_the_signature_is_refused() {
    let signer = signer(Role::Authorizer, 1);
    let Json::Object(signed) = decision().signed(&signer) else {
        unreachable!("a body is an object")
    };
    let Json::Object(members) = &signed[0].1 else {
        unreachable!("a decision is an object")
    };
    for (at, (name, _)) in members.iter().enumerate() {
        let mut changed = signed.clone();
        if let Json::Object(members) = &mut changed[0].1 {
            members[at].1 = text("other");
        }
        let changed = serde_json::to_vec(&Json::Object(changed)).unwrap();
        assert_eq!(read(&changed), Err(Code::BadSignature), "{name}");
    }
    let hex = signed[1].1.text().unwrap().to_owned();
    let digit = |nibble: u32| char::from_digit(nibble, 16).unwrap();
    for at in 0..hex.len() {
        for bit in 0..4 {
            let nibble = hex[at..=at].chars().next().unwrap().to_digit(16).unwrap();
            let flipped = format!(
                "{}{}{}",
                &hex[..at],
                digit(nibble ^ 1 << bit),
                &hex[at + 1..]
            );
            let mut changed = signed.clone();
            changed[1].1 = Json::Text(flipped);
            let changed = serde_json::to_vec(&Json::Object(changed)).unwrap();
            assert_eq!(read(&changed), Err(Code::BadSignature));
        }
    }
    for form in [
        hex.to_uppercase(),
        format!("{hex}0"),
        String::new(),
        "zz".repeat(64),
    ] {
        let mut changed = signed.clone();
        changed[1].1 = Json::Text(form);
        let changed = serde_json::to_vec(&Json::Object(changed)).unwrap();
        assert_eq!(read(&changed), Err(Code::BadSignature));
    }
}

#[test]
fn o02_a_signature_for_one_purpose_serves_no_other() {
    let canonical = decision().to_json().canonical();
    let executor = signer(Role::Executor, 1);
    let (authorizer, same_secret) = (signer(Role::Authorizer, 1), executor.public());
    assert_eq!(authorizer.public(), same_secret);
    let table = keys(&authorizer, Validity::default());
    let verify =
        |signature: &str| table.verify(Role::Authorizer, "key-1", &canonical, signature, NOW);
    assert_eq!(verify(&authorizer.sign(&canonical)), Ok(()));
    assert_eq!(
        verify(&executor.sign(&canonical)),
        Err(SignatureError::Wrong),
        "same secret, other context"
    );
    let other = table.verify(
        Role::Executor,
        "key-1",
        &canonical,
        &executor.sign(&canonical),
        NOW,
    );
    assert_eq!(other, Err(SignatureError::UnknownKey), "a key has one role");
}

#[test]
fn o02_keys_hold_in_their_time_and_rotate_without_a_gap() {
    let (old, new) = (signer(Role::Authorizer, 1), signer(Role::Authorizer, 2));
    let ending = Validity {
        not_after: Some(NOW),
        ..Validity::default()
    };
    let coming = Validity {
        not_before: Some(UnixNanos(NOW.0 - 10)),
        ..Validity::default()
    };
    let mut table = keys(&old, ending);
    table
        .add("key-2", Role::Authorizer, &new.public(), coming)
        .unwrap();
    let canonical = decision().to_json().canonical();
    let verify = |table: &KeyTable, signer: &Signer, at: u64| {
        let at = UnixNanos(at);
        table.verify(
            Role::Authorizer,
            signer.key_id(),
            &canonical,
            &signer.sign(&canonical),
            at,
        )
    };
    for (at, old_holds, new_holds) in [
        (NOW.0 - 11, true, false),
        (NOW.0 - 10, true, true),
        (NOW.0, true, true),
        (NOW.0 + 1, false, true),
    ] {
        assert_eq!(verify(&table, &old, at).is_ok(), old_holds, "{at}");
        assert_eq!(verify(&table, &new, at).is_ok(), new_holds, "{at}");
    }
    assert!(table.revoke("key-2") && !table.revoke("key-3"));
    assert_eq!(verify(&table, &new, NOW.0), Err(SignatureError::NotValid));
}

#[test]
fn o02_weak_shared_and_misnamed_keys_are_not_taken() {
    let mut table = KeyTable::default();
    let mut add =
        |name: &str, role, key: &[u8; 32]| table.add(name, role, key, Validity::default());
    let mut small_order = [0; 32];
    small_order[0] = 1;
    assert_eq!(
        add("weak", Role::Authorizer, &small_order),
        Err(KeyError::Key)
    );
    let key = signer(Role::Authorizer, 1).public();
    assert_eq!(add("", Role::Authorizer, &key), Err(KeyError::Name));
    assert_eq!(add("a", Role::Authorizer, &key), Ok(()));
    assert_eq!(add("b", Role::Executor, &key), Err(KeyError::Shared));
    let other = signer(Role::Authorizer, 2).public();
    assert_eq!(add("a", Role::Authorizer, &other), Err(KeyError::Twice));
}

#[test]
fn o05_what_has_no_good_signature_is_refused_before_it_is_parsed() {
    let good = String::from_utf8(body(decision())).unwrap();
    let twice = good.replacen("\"side\":\"buy\"", "\"side\":\"buy\",\"side\":\"buy\"", 1);
    let bare = good.replacen("\"account_id\":\"42\"", "\"account_id\":42", 1);
    let more = good.replacen("\"signature\"", "\"note\":null,\"signature\"", 1);
    let unknown_key = good.replacen("key-1", "key-9", 1);
    let large = good.clone() + &" ".repeat(10_000);
    for bad in [
        twice,
        bare,
        more,
        unknown_key,
        large,
        "[]".into(),
        good[1..].to_owned(),
    ] {
        assert_ne!(bad, good);
        assert_eq!(read(bad.as_bytes()), Err(Code::BadSignature), "{bad}");
    }
    let stranger = decision().signed(&signer(Role::Authorizer, 3));
    let stranger = serde_json::to_vec(&stranger).unwrap();
    assert_eq!(read(&stranger), Err(Code::BadSignature));
}

#[test]
fn o06_what_is_signed_but_no_decision_is_refused() {
    let signer = signer(Role::Authorizer, 1);
    for wrong in [
        with("qty", Some(text("0"))),
        with("note", Some(text("x"))),
        with("side", None),
    ] {
        let signature = Json::Text(signer.sign(&wrong.canonical()));
        let json = Json::Object(vec![
            ("decision".into(), wrong),
            ("signature".into(), signature),
        ]);
        let body = serde_json::to_vec(&json).unwrap();
        assert_eq!(read(&body), Err(Code::BadDecision));
    }
}

proptest! {
    #[test]
    fn o05_no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert_eq!(read(&bytes), Err(Code::BadSignature));
    }

    #[test]
    fn o02_any_byte_changed_in_the_body_is_noticed(at in 0usize..900, with in 0x20u8..0x7f) {
        let mut changed = body(decision());
        let at = at % changed.len();
        let before = changed[at];
        changed[at] = with;
        prop_assert_eq!(read(&changed).is_ok(), before == with);
    }
}
