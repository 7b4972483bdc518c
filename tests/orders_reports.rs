//! What an executor tells, signed by it (rule O39).

use pitlane::orders::decision::{
    Decision, Json, KeyTable, Role, SignatureError, SignedDecision, Signer, Size, Validity, Verdict,
};
use pitlane::orders::executor::{
    Execution, Message, MessageBody, Release, ReportError, SignedReport,
};
use pitlane::time::UnixNanos;
use pitlane::types::{AccountId, Amount, ClientOrderId, FillId, Price, Quantity, Side};
use proptest::prelude::*;

const NOW: UnixNanos = UnixNanos(1_796_000_000_000_000_000);
const ID: ClientOrderId = ClientOrderId {
    high: 0x0123_4567_89ab_cdef,
    low: 42,
};

fn signer() -> Signer {
    Signer::new("executor-1", Role::Executor, &[3; 32]).unwrap()
}

fn keys() -> KeyTable {
    let mut keys = KeyTable::default();
    let holds = Validity::default();
    keys.add("executor-1", Role::Executor, &signer().public(), holds)
        .unwrap();
    keys
}

fn execution() -> Execution {
    Execution {
        fill_id: FillId(77),
        user_id: "ann".into(),
        account_id: Some(AccountId(42)),
        instrument: "GOLD".into(),
        side: Some(Side::Buy),
        qty: Quantity::from_raw(2_500_000_000),
        price: Price::from_raw(2_650_250_000_000),
        fee: Amount::from_raw(-1),
        reservation_id: "r-0.17".into(),
        client_order_id: ID,
        venue: "sim".into(),
        external: false,
        release_remainder: true,
    }
}

fn external() -> Execution {
    Execution {
        user_id: String::new(),
        account_id: None,
        instrument: String::new(),
        side: None,
        reservation_id: String::new(),
        external: true,
        release_remainder: false,
        ..execution()
    }
}

fn bodies() -> [MessageBody; 4] {
    [
        MessageBody::Execution(execution()),
        MessageBody::Execution(external()),
        MessageBody::Reversal(execution()),
        MessageBody::Release(Release {
            reservation_id: "r-0.17".into(),
            account_id: AccountId(42),
            client_order_id: ID,
        }),
    ]
}

fn signed(body: MessageBody) -> Vec<u8> {
    let message = Message { sequence: 5, body };
    SignedReport::sign(9, &message, &signer()).canonical()
}

fn read(text: &[u8]) -> Result<SignedReport, ReportError> {
    SignedReport::read(text, &keys(), NOW)
}

/// Signs whatever it is.
fn signed_json(report: Json) -> Vec<u8> {
    let signature = Json::Text(signer().sign(&report.canonical()));
    let members = vec![
        ("report".to_owned(), report),
        ("signature".to_owned(), signature),
    ];
    Json::Object(members).canonical()
}

fn report_of(body: MessageBody) -> Vec<(String, Json)> {
    let text = Json::read(&signed(body)).unwrap();
    match text.member("report") {
        Some(Json::Object(members)) => members.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn o39_what_was_signed_is_read_as_it_was() {
    for body in bodies() {
        let report = read(&signed(body.clone())).unwrap();
        assert_eq!(report.log, 9);
        assert_eq!(report.key_id, "executor-1");
        assert_eq!(report.message, Message { sequence: 5, body });
    }
}

#[test]
fn o39_every_bit_of_every_byte_counts() {
    for body in bodies() {
        let text = signed(body);
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut altered = text.clone();
                altered[at] ^= 1 << bit;
                let told = read(&altered);
                assert!(told.is_err(), "{}", String::from_utf8_lossy(&altered));
            }
        }
        for end in 0..text.len() {
            assert!(read(&text[..end]).is_err());
        }
    }
}

#[test]
fn o39_white_space_and_the_order_of_members_do_not_count() {
    let mut members = report_of(MessageBody::Execution(execution()));
    let text = String::from_utf8(signed(MessageBody::Execution(execution()))).unwrap();
    let loose = text.replace("\":", "\" :\n ").replace(',', " ,\t");
    assert_eq!(read(loose.as_bytes()), read(text.as_bytes()));
    members.reverse();
    let turned = signed_json(Json::Object(members));
    assert_eq!(read(&turned), read(text.as_bytes()));
}

#[test]
fn o39_a_signature_of_one_purpose_serves_no_other() {
    // The authorizer's key, under the same name.
    let mut others = KeyTable::default();
    let public = signer().public();
    others
        .add("executor-1", Role::Authorizer, &public, Validity::default())
        .unwrap();
    let text = signed(MessageBody::Execution(execution()));
    let refused = SignedReport::read(&text, &others, NOW);
    assert_eq!(
        refused,
        Err(ReportError::Signature(SignatureError::UnknownKey))
    );
    // The same bytes, signed as a decision would be.
    let authorizer = Signer::new("executor-1", Role::Authorizer, &[3; 32]).unwrap();
    let report = Json::Object(report_of(MessageBody::Execution(execution())));
    let signature = Json::Text(authorizer.sign(&report.canonical()));
    let members = vec![
        ("report".to_owned(), report),
        ("signature".to_owned(), signature),
    ];
    let refused = read(&Json::Object(members).canonical());
    assert_eq!(refused, Err(ReportError::Signature(SignatureError::Wrong)));
    // And a decision that the executor's key signs is none.
    let json = decision().to_json();
    let signature = Json::Text(signer().sign(&json.canonical()));
    let members = vec![
        ("decision".to_owned(), json),
        ("signature".to_owned(), signature),
    ];
    let body = Json::Object(members).canonical();
    assert!(SignedDecision::read(&body, &others, NOW).is_err());
    assert!(SignedDecision::read(&body, &keys(), NOW).is_err());
}

#[test]
#[should_panic(expected = "reports are the executor's to sign")]
fn o39_an_authorizers_key_signs_no_report() {
    let authorizer = Signer::new("authorizer-1", Role::Authorizer, &[1; 32]).unwrap();
    let [body, ..] = bodies();
    drop(SignedReport::sign(
        1,
        &Message { sequence: 1, body },
        &authorizer,
    ));
}

#[test]
fn o39_keys_hold_in_their_time_and_not_once_revoked() {
    let text = signed(MessageBody::Execution(execution()));
    let ended = Validity {
        not_after: Some(UnixNanos(NOW.0 - 1)),
        ..Validity::default()
    };
    let mut keys = KeyTable::default();
    keys.add("executor-1", Role::Executor, &signer().public(), ended)
        .unwrap();
    let before = UnixNanos(NOW.0 - 1);
    assert!(SignedReport::read(&text, &keys, before).is_ok());
    let late = Err(ReportError::Signature(SignatureError::NotValid));
    assert_eq!(SignedReport::read(&text, &keys, NOW), late);
    keys.revoke("executor-1");
    assert_eq!(SignedReport::read(&text, &keys, before), late);
}

#[test]
fn o39_a_signed_report_is_read_strictly() {
    for body in bodies() {
        let members = report_of(body);
        for place in 0..members.len() {
            let mut fewer = members.clone();
            let (name, _) = fewer.remove(place);
            assert!(read(&signed_json(Json::Object(fewer))).is_err(), "{name}");
            let mut wrong = members.clone();
            wrong[place].1 = Json::List(Vec::new());
            assert!(read(&signed_json(Json::Object(wrong))).is_err(), "{name}");
        }
        let mut more = members.clone();
        more.push(("note".into(), Json::Null));
        assert!(read(&signed_json(Json::Object(more))).is_err());
    }
    for (member, value) in [
        ("kind", "trade"),
        ("sequence", "0"),
        ("sequence", "05"),
        ("sequence", "18446744073709551616"),
        ("log", "+1"),
        ("account_id", "042"),
        ("side", "up"),
        ("qty", "1e3"),
        ("qty", ".5"),
        ("price", "1.0000000001"),
        ("fee", " 1"),
        ("client_order_id", "co_1"),
        ("venue", ""),
        ("user_id", ""),
    ] {
        let mut members = report_of(MessageBody::Execution(execution()));
        let place = members.iter().position(|(name, _)| name == member).unwrap();
        members[place].1 = Json::Text(value.to_owned());
        let told = read(&signed_json(Json::Object(members)));
        assert!(
            matches!(told, Err(ReportError::Content(_))),
            "{member} {value}: {told:?}"
        );
    }
}

proptest! {
    #[test]
    fn o39_whatever_traded_reads_back(
        fill: u64,
        sequence in 1..u64::MAX,
        log: u64,
        qty: i64,
        price: i64,
        fee: i128,
        account: u64,
        ends: bool,
        buys: bool,
        instrument in "[A-Za-z0-9./_:-]{1,64}",
    ) {
        let body = MessageBody::Execution(Execution {
            fill_id: FillId(fill),
            account_id: Some(AccountId(account)),
            qty: Quantity::from_raw(qty),
            price: Price::from_raw(price),
            fee: Amount::from_raw(fee),
            side: Some(if buys { Side::Buy } else { Side::Sell }),
            release_remainder: ends,
            instrument,
            ..execution()
        });
        let message = Message { sequence, body };
        let text = SignedReport::sign(log, &message, &signer()).canonical();
        let report = read(&text).unwrap();
        prop_assert_eq!(report.message, message);
        prop_assert_eq!(report.log, log);
    }
}

fn decision() -> Decision {
    Decision {
        decision_id: "d-1".into(),
        grant: None,
        agent_id: "agent-7".into(),
        user_id: "ann".into(),
        account_id: AccountId(42),
        verdict: Verdict::Deny,
        enforcement: "hard".into(),
        venue: "sim".into(),
        instrument: "GOLD".into(),
        side: Side::Buy,
        order_type: "limit".into(),
        time_in_force: "gtc".into(),
        size: Size::Quantity(Quantity::from_raw(1)),
        price: Some(Price::from_raw(1)),
        stop_price: None,
        good_till: None,
        issued_at: NOW,
        expires_at: NOW,
        key_id: "executor-1".into(),
    }
}
