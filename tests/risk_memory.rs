//! What accounts and orders cost, everything counted (target P16).

#[path = "support/counting_allocator.rs"]
mod counting_allocator;
mod risk_support;

use counting_allocator::{CountingAllocator, counts};
use pitlane::risk::{AccountConfig, Adjustment, Change, RiskEngine};
use pitlane::types::AccountId;
use risk_support::*;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const ACCOUNTS: u64 = 100_000;
const ORDERS: u64 = 50_000;

const POLICIES: &str = "
rate_limit = [{scope = 'account', limit = 20, window_ms = 10}]
position = [{long = '1000', short = '1000'}]
gross_credit = {rules = [{asset = 'USD', limit = '1000000'}]}
duplicate = {repeats = 9, window_ms = 10}
open_orders = [{limit = 100}]
self_match = {}
spot_funds = {enabled = true}
";

/// Of this thread; below zero where it freed what another had allocated.
fn live_bytes() -> i64 {
    let counts = counts();
    let signed = |bytes: u64| i64::try_from(bytes).expect("fits");
    signed(counts.bytes) - signed(counts.bytes_freed)
}

fn build(orders: usize) -> RiskEngine {
    let mut config = config_with(POLICIES);
    config.accounts.clear();
    config.unknown_accounts = pitlane::risk::UnknownAccounts::Open;
    config.expected_accounts = usize::try_from(ACCOUNTS).expect("small");
    config.expected_open_orders = orders;
    engine(&config)
}

#[test]
fn p16_an_idle_account_takes_256_bytes_at_most() {
    let before = live_bytes();
    let mut engine = build(0);
    for id in 0..ACCOUNTS {
        let change = Change::Absolute(amount("1000"));
        engine.open_account(AccountId(id)).expect("room");
        engine
            .adjust(AccountId(id), &[Adjustment::available(USD, change)])
            .expect("known");
        // It traded once, and its windows are empty again.
        if id.is_multiple_of(10) {
            let order = buy(AccountId(id), "1", "10");
            let token = working(&mut engine, &order, ms(id));
            let mut done = report(&order, Some(token));
            done.is_final = true;
            engine.apply_execution_report(&done, ms(id)).expect("ours");
        }
    }
    engine.maintain(ms(ACCOUNTS + 1_000), u32::MAX);
    let each = (live_bytes() - before) / i64::try_from(ACCOUNTS).expect("small");
    println!("an idle account takes {each} bytes");
    assert!(each <= 256, "{each} bytes");
    drop(engine);
}

#[test]
fn p16_an_open_order_takes_512_bytes_at_most() {
    let mut engine = build(usize::try_from(ORDERS).expect("small"));
    for id in 0..100 {
        let change = Change::Absolute(amount("1000000"));
        engine.open_account(AccountId(id)).expect("room");
        engine
            .adjust(AccountId(id), &[Adjustment::available(USD, change)])
            .expect("known");
    }
    // The table of orders has its room from the start: it is counted apart.
    let table = 320;
    let before = live_bytes();
    let mut accepted = 0;
    for number in 0..ORDERS {
        let mut order = buy(AccountId(number % 100), "0.1", "1");
        order.price = Some(pitlane::types::Price::from_raw(
            1_000_000_000 + i64::try_from(number).expect("small"),
        ));
        accepted += i64::from(place(&mut engine, &order, ms(number)).is_empty());
        if accepted == 100 * 100 {
            break;
        }
    }
    assert_eq!(accepted, 10_000, "a hundred for each of a hundred accounts");
    let each = (live_bytes() - before) / accepted + table;
    println!("an open order takes {each} bytes");
    assert!(each <= 512, "{each} bytes");
}

#[test]
fn p16_accounts_in_the_configuration_take_no_more() {
    let mut config = config_with(POLICIES);
    config.accounts = (0..1_000)
        .map(|id| AccountConfig {
            id: AccountId(id),
            group: None,
        })
        .collect();
    let before = live_bytes();
    let engine = engine(&config);
    let own = live_bytes() - before;
    assert_eq!(engine.accounts_open(), 1_000);
    assert!(
        own < 1_000 * 256 + 100_000,
        "{own} bytes, the engine's own included"
    );
}
