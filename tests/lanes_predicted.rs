//! Live verdicts equal offline predictions (rule L38): a generated workload,
//! every verdict and balance of which is known beforehand, is run through the
//! risk engine on lanes, from several threads, and all of it is compared.

#[path = "risk_support/mod.rs"]
mod risk_support;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pitlane::lanes::{AsyncReservation, HdrObserver};
use pitlane::lanes::{Desk, EngineBuilder, LaneKey, OrderFuture, Wait};
use pitlane::risk::{Adjustment, BalanceField, Change, RiskEngine, SharedLimits};
use pitlane::types::{AccountId, Amount, Order, RejectCode};
use risk_support::{USD, amount, buy, config, report};

const ACCOUNTS: u64 = 200;
const ORDERS: u64 = 20_000;
const THREADS: u64 = 2;

/// One order's offline prediction.
struct Predicted {
    order: Order,
    /// What becomes of it when it is accepted.
    commit: bool,
    refused: Option<RejectCode>,
}

/// A cheap reproducible sequence.
fn next_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// The orders of one thread's accounts, and what each account is left with.
/// Few accounts send most of the orders; one order in twenty asks for more than
/// there is.
fn predict(thread: u64) -> (Vec<Predicted>, Vec<(AccountId, i128)>) {
    let mine: Vec<u64> = (0..ACCOUNTS).filter(|id| id % THREADS == thread).collect();
    let mut left = vec![1_000_000i128; mine.len()];
    let mut random = 0x5EED ^ (thread + 1);
    let mut predicted = Vec::new();
    for _ in 0..ORDERS / THREADS {
        let dice = next_random(&mut random);
        // Zipf-like: the smaller of two is the likelier.
        let spread = |dice: u64| usize::try_from(dice).unwrap_or(0) % mine.len();
        let index = spread(dice >> 8).min(spread(dice >> 40));
        let account = AccountId(mine[index]);
        let forced = dice.is_multiple_of(20);
        let quantity = if forced {
            100_001
        } else {
            1 + (dice >> 20) % 9
        };
        let cost = i128::from(quantity) * 10;
        let commit = dice & 0x1000 != 0;
        let refused = (cost > left[index]).then_some(RejectCode::InsufficientFunds);
        if refused.is_none() && commit {
            left[index] -= cost;
        }
        predicted.push(Predicted {
            order: buy(account, &quantity.to_string(), "10"),
            commit,
            refused,
        });
    }
    let left = mine.into_iter().map(AccountId).zip(left).collect();
    (predicted, left)
}

#[test]
fn l38_every_verdict_and_balance_is_as_predicted() {
    let mut config = config();
    config.spot_funds.enabled = true;
    config.accounts = (0..ACCOUNTS)
        .map(|id| pitlane::risk::AccountConfig {
            id: AccountId(id),
            group: None,
        })
        .collect();
    let shared = Arc::new(SharedLimits::new(&config).expect("a sound configuration"));
    let observer = HdrObserver::new();
    let engine = EngineBuilder::new()
        .shards(2)
        .observer(observer.clone())
        .build(move |shard| {
            let mine = |account| LaneKey::Account(account).shard(2) == shard;
            let engine = RiskEngine::with_accounts(&config, shard, Arc::clone(&shared), mine);
            Desk::new(shard, engine.expect("a sound configuration"))
        })
        .map(Arc::new)
        .expect("engine");
    let senders: Vec<_> = (0..THREADS)
        .map(|number| {
            let engine = Arc::clone(&engine);
            thread::spawn(move || {
                let mut submitter = engine.submitter().expect("submitter");
                let (predicted, left) = predict(number);
                for (account, _) in &left {
                    let funds = Adjustment {
                        asset: USD,
                        field: BalanceField::Available,
                        change: Change::Delta(amount("1000000")),
                        lower: None,
                        upper: None,
                    };
                    submitter
                        .apply_account_adjustment(*account, vec![funds], Wait::ForRoom)
                        .wait()
                        .expect("funded");
                }
                // Pipelined: a decision for the order before is taken as soon
                // as its own account's next order may depend on it.
                for Predicted {
                    order,
                    commit,
                    refused,
                } in predicted
                {
                    let mut future: OrderFuture<RiskEngine, AsyncReservation<RiskEngine>> =
                        submitter.execute_pre_trade(order, Wait::ForRoom);
                    let verdict = future.wait().expect("ran");
                    match (verdict, refused) {
                        (Ok(mut reservation), None) => {
                            // Ordered before the account's next order, waited
                            // for by nobody.
                            if !commit {
                                drop(reservation);
                                continue;
                            }
                            let token = *reservation.view().expect("open");
                            drop(reservation.commit_and_close());
                            let mut fill = report(&order, Some(token));
                            fill.price = order.price.expect("a limit order");
                            fill.quantity = order.quantity.expect("by quantity");
                            fill.is_final = true;
                            let settled = submitter.apply_execution_report(fill, Wait::ForRoom);
                            let outcome = { settled }.wait().expect("booked");
                            assert!(outcome.alarms.is_empty(), "{outcome:?}");
                        }
                        (Err(rejects), Some(code)) => assert_eq!(rejects.code(), code),
                        (verdict, refused) => {
                            panic!("{order:?}: {verdict:?}, predicted {refused:?}")
                        }
                    }
                }
                for (account, left) in left {
                    let mut balance = submitter.submit(account, move |desk: &mut Desk<_>| {
                        let engine: &mut RiskEngine = desk.driver();
                        engine.balance(account, USD)
                    });
                    let balance = balance.wait().expect("ran");
                    let scale = pitlane::types::AMOUNT_SCALE;
                    assert_eq!(
                        balance.available,
                        Amount::from_raw(left * scale),
                        "{account}"
                    );
                    assert_eq!(balance.held, Amount::ZERO, "{account}");
                }
            })
        })
        .collect();
    for sender in senders {
        sender.join().expect("every verdict as predicted");
    }
    let stopped = engine.stop_graceful(Duration::from_secs(20)).expect("stop");
    assert!(
        stopped.is_balanced() && stopped.panicked == 0,
        "{stopped:?}"
    );
    assert!(observer.snapshot().queue_wait_ns.count() > ORDERS / 64);
}
