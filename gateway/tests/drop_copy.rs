//! Drop copy: a session that is told of what others' orders come to (rule G22).

#[path = "support/trading.rs"]
mod trading;

use pitlane::types::{AccountId, ClientReference, RejectCode, Side};
use pitlane_gateway::assembly::Gateway;
use pitlane_gateway::client::Event;
use pitlane_gateway::config::Config;
use pitlane_gateway::wire::ReportHead;
use trading::{PATIENCE, client, limit, next, public, send};

const MODES: [&str; 2] = [
    "mode = 'inline'\n[engine]\nshards = 1",
    "mode = 'ring'\nio_threads = 2\n[engine]\nshards = 2",
];

fn config(mode: &str) -> String {
    let public = public(2);
    let copier = format!(
        "[[credential]]\nid = 2\npublic_key = \"{public}\"\naccounts = [1, 2]\n\
         permissions = [\"drop_copy\"]"
    );
    trading::config(mode, &copier)
}

fn start(mode: &str) -> Gateway {
    let config = Config::parse("the test", &config(mode)).unwrap();
    Gateway::start(&config, 1).unwrap()
}

/// What a report says of an order, apart from the numbers of its session.
fn said(event: &Event) -> (std::mem::Discriminant<Event>, u64, ReportHead) {
    let head = event.report().unwrap();
    let unnumbered = ReportHead {
        seq_num: 0,
        ..*head
    };
    (std::mem::discriminant(event), head.account, unnumbered)
}

#[test]
fn g22_a_drop_copy_hears_every_report_of_its_accounts_in_order_and_no_other() {
    for mode in MODES {
        let gateway = start(mode);
        let (mut trader, mut copier) = (client(&gateway, 1), client(&gateway, 2));
        let orders = [
            limit(1, Side::Sell, 100, 5),
            limit(3, Side::Buy, 100, 2),
            limit(3, Side::Sell, 200, 1),
            limit(1, Side::Buy, 50, 1_000_000),
            limit(1, Side::Sell, 100, 4),
        ];
        let mut told = Vec::new();
        for (reference, order) in (1..).zip(&orders) {
            send(&mut trader, reference, order);
            loop {
                let event = next(&mut trader);
                let is_answer = event.report().unwrap().reference == reference;
                told.push(event);
                if is_answer {
                    break;
                }
            }
        }
        trader
            .sender()
            .cancel(ClientReference(6), AccountId(1), ClientReference(5))
            .unwrap();
        trader.sender().flush().unwrap();
        loop {
            let event = next(&mut trader);
            told.push(event);
            if matches!(event, Event::Canceled(_)) {
                break;
            }
        }
        let of_its_accounts: Vec<_> = told
            .iter()
            .map(said)
            .filter(|(_, account, _)| *account == 1)
            .collect();
        assert!(of_its_accounts.len() >= 5, "{of_its_accounts:?}");
        let copied: Vec<_> = of_its_accounts
            .iter()
            .map(|_| said(&next(&mut copier)))
            .collect();
        assert_eq!(copied, of_its_accounts, "{mode}");
        assert!(copier.finish().unwrap().is_empty(), "and nothing else");
        trader.finish().unwrap();
        assert!(gateway.stop(PATIENCE).lanes.unwrap().is_balanced());
    }
}

#[test]
fn g08_a_drop_copy_credential_enters_nothing() {
    let gateway = start(MODES[0]);
    let mut copier = client(&gateway, 2);
    send(&mut copier, 1, &limit(1, Side::Sell, 100, 5));
    let Event::Rejected(rejected) = next(&mut copier) else {
        panic!("rejected");
    };
    assert_eq!(rejected.code(), Some(RejectCode::AccountNotAuthorized));
    let sender = copier.sender();
    sender
        .cancel(ClientReference(2), AccountId(1), ClientReference(1))
        .unwrap();
    sender.flush().unwrap();
    assert!(matches!(next(&mut copier), Event::CancelRejected(_)));
}

#[test]
fn g22_reports_go_on_when_a_drop_copy_has_gone() {
    let gateway = start(MODES[0]);
    let (mut trader, copier) = (client(&gateway, 1), client(&gateway, 2));
    copier.finish().unwrap();
    send(&mut trader, 1, &limit(1, Side::Sell, 100, 5));
    assert!(matches!(next(&mut trader), Event::Accepted(_)));
    let mut copier = client(&gateway, 2);
    send(&mut trader, 2, &limit(1, Side::Sell, 100, 5));
    assert!(matches!(next(&mut trader), Event::Accepted(_)));
    let copied = next(&mut copier);
    assert_eq!(
        copied.report().unwrap().reference,
        2,
        "not what was before it"
    );
}

#[test]
fn g08_drop_copy_stands_alone_in_the_configuration() {
    let text = config(MODES[0]).replace("[\"drop_copy\"]", "[\"drop_copy\", \"cancel\"]");
    let error = Config::parse("the test", &text).unwrap_err().to_string();
    assert!(
        error.contains("permissions") && error.contains("a credential of its own"),
        "{error}"
    );
}
