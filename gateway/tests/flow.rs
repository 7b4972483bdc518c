//! Recorded flow: what a file means, what is sent for it, and how our fills
//! compare with its.

use core::num::NonZeroU32;
use std::collections::HashSet;

use pitlane::limits;
use pitlane::time::UnixNanos;
use pitlane::types::{Price, Quantity, Side};
use pitlane_gateway::flow::{
    FlowAction, FlowCause, FlowComparison, FlowError, FlowOrderId, FlowPlan, FlowProblem,
    FlowReader, FlowStep, ReplayError, replay,
};

/// Every kind of row: a crossed closed book, the auction and its echoes, a sweep
/// of two levels whose rest stays, a resting order that moves to cross, an
/// iceberg, a fill of an order that nobody saw, a replace of each kind.
const SMALL: &str = "\
ts_ns,event,order_id,side,price,qty
1,NEW,101,BUY,100.5,5
1,NEW,102,BUY,100,4
1,NEW,201,SELL,100,3
1,NEW,202,SELL,101,6
1,NEW,203,SELL,102,2
2,REPLACE,203,SELL,101.5,2
2,NEW,103,BUY,99,9
3,CANCEL,103,BUY,99,9
10,TRADE,0,,100.25,3
10,FILL,101,,100.25,3
10,FILL,201,,100.25,3
10,CANCEL,201,SELL,100,3
10,REPLACE,101,BUY,100.5,2
20,TRADE,901,BUY,101,6
20,FILL,202,SELL,101,6
20,TRADE,901,BUY,101.5,1
20,FILL,203,SELL,101.5,1
20,CANCEL,202,SELL,101,6
20,REPLACE,203,SELL,101.5,1
20,NEW,901,BUY,101,3
30,REPLACE,101,BUY,100.5,6
31,TRADE,203,SELL,101,1
31,FILL,203,SELL,101,1
31,FILL,901,BUY,101,1
31,CANCEL,203,SELL,101.5,1
31,REPLACE,901,BUY,101,2
40,TRADE,902,SELL,101,5
40,FILL,901,BUY,101,5
40,REPLACE,901,BUY,101,2
41,FILL,777,BUY,101,1
50,NEW,204,SELL,103,4
50,REPLACE,204,SELL,103,3
51,CANCEL,204,SELL,103,3
";

fn price(text: &str) -> Price {
    Price::parse(text).unwrap()
}

fn lots(units: i64) -> Quantity {
    Quantity::from_raw(units * 1_000_000_000)
}

fn plan_of(text: &str) -> Result<Vec<FlowStep>, FlowError> {
    FlowPlan::new(FlowReader::new(text.as_bytes())?).collect()
}

/// The header and these rows.
fn with_rows(rows: &str) -> String {
    format!("ts_ns,event,order_id,side,price,qty\n{rows}")
}

fn new(order: u64, side: Side, at: &str, of: i64) -> FlowAction {
    FlowAction::New {
        order: FlowOrderId(order),
        side,
        price: price(at),
        quantity: lots(of),
    }
}

fn replace(order: u64, at: &str, total: i64) -> FlowAction {
    FlowAction::Replace {
        order: FlowOrderId(order),
        price: price(at),
        total: lots(total),
    }
}

fn cancel(order: u64) -> FlowAction {
    FlowAction::Cancel {
        order: FlowOrderId(order),
    }
}

fn aggress(order: u64, side: Side, at: &str, of: i64) -> FlowAction {
    FlowAction::Aggress {
        order: FlowOrderId(order),
        side,
        price: price(at),
        quantity: lots(of),
    }
}

#[test]
fn steps_are_what_a_client_would_have_sent() {
    use Side::{Buy, Sell};
    let steps: Vec<_> = plan_of(SMALL)
        .unwrap()
        .into_iter()
        .map(|step| (step.line, step.time.0, step.action))
        .collect();
    let opening = FlowAction::OpenAuction {
        price: price("100.25"),
    };
    assert_eq!(
        steps,
        [
            (2, 1, new(101, Buy, "100.5", 5)),
            (3, 1, new(102, Buy, "100", 4)),
            (4, 1, new(201, Sell, "100", 3)),
            (5, 1, new(202, Sell, "101", 6)),
            (6, 1, new(203, Sell, "102", 2)),
            (7, 2, replace(203, "101.5", 2)),
            (8, 2, new(103, Buy, "99", 9)),
            (9, 3, cancel(103)),
            (10, 10, opening),
            (15, 20, aggress(901, Buy, "101", 6)),
            (17, 20, aggress(901, Buy, "101.5", 1)),
            (21, 20, new(901, Buy, "101", 3)),
            // 3 were filled in the auction: 9 in all leave 6.
            (22, 30, replace(101, "100.5", 9)),
            // Moved to cross: 1 was filled, 1 remains.
            (23, 31, replace(203, "101", 2)),
            (28, 40, aggress(902, Sell, "101", 5)),
            // Shown again after 6 were filled, 3 of them hidden.
            (30, 40, replace(901, "101", 8)),
            (32, 50, new(204, Sell, "103", 4)),
            (33, 50, replace(204, "103", 3)),
            (34, 51, cancel(204)),
        ]
    );
}

#[test]
fn fills_are_summed_by_order_and_price() {
    let mut plan = FlowPlan::new(FlowReader::new(SMALL.as_bytes()).unwrap());
    assert!(plan.by_ref().all(|step| step.is_ok()));
    let expected = plan.into_expected();
    assert_eq!(expected.len(), 7);
    let quantity = |order, at| expected.quantity(FlowOrderId(order), price(at));
    assert_eq!(quantity(101, "100.25"), Some(lots(3)));
    assert_eq!(quantity(203, "101"), Some(lots(1)));
    assert_eq!(quantity(203, "101.5"), Some(lots(1)));
    assert_eq!(quantity(901, "101"), Some(lots(6)), "two rows are one sum");
    assert_eq!(quantity(902, "101"), None, "an aggressor has no fill rows");
}

#[test]
fn o36_a_replay_makes_every_fill_that_the_visible_book_explains() {
    let done = replay(SMALL.as_bytes(), 64).unwrap();
    assert_eq!(
        (done.entered, done.replaced, done.canceled, done.aggressed),
        (8, 5, 2, 3)
    );
    assert_eq!(done.executions, 10);
    assert_eq!(done.refused, 1, "the iceberg's replace: it is gone here");
    let report = &done.report;
    assert_eq!((report.fills, report.exact, report.only_ours), (7, 5, 0));
    assert_eq!(report.exact_per_ten_thousand(), 7_142);
    let told: Vec<_> = report
        .first_differences
        .iter()
        .map(|one| (one.line, one.order.0, one.theirs, one.ours, one.cause))
        .collect();
    assert_eq!(
        told,
        [
            (25, 901, lots(6), lots(3), FlowCause::HiddenQuantity),
            (31, 777, lots(1), Quantity::ZERO, FlowCause::NeverInBook),
        ]
    );
    assert_eq!(
        report.to_string(),
        "5 of 7 fills by order and price made exactly (71.42%); 0 only here\n  \
         line 25: order 901 at 101: theirs 6, ours 3: it traded more than it showed (an iceberg)\n  \
         line 31: order 777 at 101: theirs 1, ours 0: it was never in the book (a stop, or \
         implied)\n"
    );
}

#[test]
fn a_comparison_tells_what_only_we_traded_and_what_differs() {
    let mut plan = FlowPlan::new(FlowReader::new(SMALL.as_bytes()).unwrap());
    assert!(plan.by_ref().all(|step| step.is_ok()));
    let expected = plan.into_expected();
    let mut comparison = FlowComparison::new();
    comparison.add(FlowOrderId(101), price("100.25"), lots(1));
    comparison.add(FlowOrderId(101), price("100.25"), lots(2));
    comparison.add(FlowOrderId(202), price("101"), lots(5));
    comparison.add(FlowOrderId(202), price("100"), lots(1));
    let report = comparison.report(&expected);
    assert_eq!((report.exact, report.only_ours, report.lost), (1, 1, 0));
    let causes: Vec<_> = report
        .first_differences
        .iter()
        .map(|one| (one.order.0, one.cause))
        .collect();
    assert_eq!(
        causes[..2],
        [
            (201, FlowCause::OtherOrderTraded),
            (202, FlowCause::EarlierDifference)
        ]
    );
    // A sum out of range is told, not wrapped.
    comparison.add(FlowOrderId(101), price("100.25"), Quantity::MAX);
    assert_eq!(comparison.report(&expected).lost, 1);
}

#[test]
fn an_auction_at_a_price_that_leaves_the_book_crossed_names_its_line() {
    let rows = "1,NEW,1,BUY,12,1\n1,NEW,2,BUY,10,5\n1,NEW,3,SELL,9,4\n2,TRADE,0,,11,1\n";
    match replay(with_rows(rows).as_bytes(), 64) {
        Err(ReplayError::Auction { line: 5, .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn columns_are_found_by_name_and_line_ends_do_not_matter() {
    let text = "\u{feff}qty,note,side,price,order_id,event,ts_ns\r\n\
        5,x,BUY,1.5,7,NEW,3\r\n\r\n2,,SELL,2,8,NEW,4";
    let steps = plan_of(text).unwrap();
    let actions: Vec<_> = steps.iter().map(|step| (step.time, step.action)).collect();
    assert_eq!(
        actions,
        [
            (UnixNanos(3), new(7, Side::Buy, "1.5", 5)),
            (UnixNanos(4), new(8, Side::Sell, "2", 2)),
        ]
    );
}

#[test]
fn bad_headers_are_told() {
    let told = |text: &str| FlowReader::new(text.as_bytes()).err().unwrap().to_string();
    assert_eq!(
        told(""),
        "line 1: the file is empty: it begins with a header that names its columns"
    );
    assert_eq!(
        told("ts_ns,event,order_id,side,qty\n"),
        "line 1, column price, \"ts_ns,event,order_id,side,qty\": the header does not name it: \
         name ts_ns, event, order_id, side, price and qty"
    );
    assert!(told("ts_ns,event,order_id,side,price,qty,qty").contains("column qty"));
}

#[test]
fn bad_fields_name_line_column_value_and_mend() {
    let cases = [
        (
            "x,NEW,1,BUY,1,1",
            "column ts_ns, \"x\": that is no whole number",
        ),
        ("-1,NEW,1,BUY,1,1", "column ts_ns, \"-1\""),
        ("18446744073709551616,NEW,1,BUY,1,1", "column ts_ns"),
        (
            "1,BUST,1,BUY,1,1",
            "column event, \"BUST\": that is no event: give NEW",
        ),
        ("1,NEW,1.5,BUY,1,1", "column order_id, \"1.5\""),
        (
            "1,NEW,1,buy,1,1",
            "column side, \"buy\": that is no side: give BUY or SELL",
        ),
        ("1,NEW,1,,1,1", "column side, \"\": that is no side"),
        ("1,NEW,1,BUY,1e3,1", "column price, \"1e3\""),
        (
            "1,NEW,1,BUY,0.0000000001,1",
            "column price, \"0.0000000001\"",
        ),
        (
            "1,NEW,1,BUY,0,1",
            "column price, \"0\": prices and quantities are above zero",
        ),
        ("1,NEW,1,BUY,1,-1", "column qty, \"-1\": prices"),
        (
            "1,NEW,1,BUY,1",
            "column qty, \"\": the line has no such field",
        ),
        ("1,NEW,1,BUY,1,1,1", "the line has 7 fields, the header 6"),
    ];
    for (row, told) in cases {
        let text = with_rows(&format!("1,NEW,9,SELL,5,1\n{row}\n1,NEW,8,SELL,5,1\n"));
        let error = plan_of(&text).unwrap_err();
        assert_eq!(error.line, 3, "{row}");
        let message = error.to_string();
        assert!(message.contains(told), "{row:?}: {message}");
        assert!(message.starts_with("line 3"), "{message}");
    }
}

#[test]
fn rows_that_contradict_the_book_are_told() {
    let cases = [
        (
            "1,TRADE,7,BUY,5,1",
            "column event, \"TRADE\": nothing trades before the opening",
        ),
        (
            "1,FILL,1,BUY,5,1",
            "column event, \"FILL\": nothing trades before",
        ),
        (
            "1,NEW,1,BUY,5,1",
            "column order_id, \"1\": the order rests already",
        ),
        (
            "1,CANCEL,2,BUY,5,1",
            "column order_id, \"2\": no such order rests",
        ),
        (
            "1,REPLACE,2,BUY,5,1",
            "column order_id, \"2\": no such order rests",
        ),
        (
            "1,REPLACE,1,SELL,5,1",
            "column order_id, \"1\": the order rests on the other side",
        ),
        (
            "1,TRADE,0,,5,1\n2,TRADE,0,,5,1",
            "column order_id, \"0\": the market is open already",
        ),
        (
            "1,TRADE,0,,5,1\n2,FILL,1,BUY,5,9000000000\n3,REPLACE,1,BUY,5,9000000000",
            "the order's quantities add up to more",
        ),
        (
            "1,TRADE,0,,5,1\n2,FILL,7,BUY,5,9000000000\n3,FILL,7,BUY,5,9000000000",
            "the order's quantities add up to more",
        ),
    ];
    for (rows, told) in cases {
        let text = with_rows(&format!("1,NEW,1,BUY,5,1\n{rows}\n"));
        let message = plan_of(&text).unwrap_err().to_string();
        assert!(message.contains(told), "{rows:?}: {message}");
    }
}

#[test]
fn a_plan_ends_after_its_first_error() {
    let text = with_rows("1,NEW,1,BUY,5,1\n1,CANCEL,9,BUY,5,1\n1,NEW,2,BUY,5,1\n");
    let mut plan = FlowPlan::new(FlowReader::new(text.as_bytes()).unwrap());
    assert!(plan.next().unwrap().is_ok());
    assert!(plan.next().unwrap().is_err());
    assert!(plan.next().is_none());
    assert!(plan.next().is_none());
}

#[test]
fn a_line_is_bounded_and_text() {
    let long = with_rows(&"1".repeat(limits::FLOW_LINE_BYTES_MAX + 1));
    let error = plan_of(&long).unwrap_err();
    assert!(matches!(error.problem, FlowProblem::TooLong(_)), "{error}");
    let mut bytes = with_rows("1,NEW,1,BUY,5,1\n").into_bytes();
    bytes.extend(b"1,NEW,\xff,BUY,5,1\n");
    let error = FlowReader::new(bytes.as_slice())
        .unwrap()
        .find_map(Result::err)
        .unwrap();
    assert_eq!(error.line, 3);
    assert!(matches!(error.problem, FlowProblem::NotText), "{error}");
}

#[test]
fn orders_are_spread_over_the_accounts_and_stay() {
    let accounts = NonZeroU32::new(10).unwrap();
    let used: HashSet<_> = (6_412_777_162_812..6_412_777_162_912)
        .map(|order| FlowOrderId(order).account(accounts).0)
        .collect();
    assert_eq!(used, (1..=10).collect());
    let one = FlowOrderId(u64::MAX);
    assert_eq!(one.account(accounts), one.account(accounts));
    assert_eq!(one.account(NonZeroU32::MIN).0, 1);
}
