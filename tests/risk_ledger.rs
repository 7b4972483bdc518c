//! For every account and asset, after any sequence: available + held =
//! deposits − withdrawals ± trades − fees, exactly (rule K37); and what is held
//! is the sum over the orders that live (I4).

mod risk_support;

use std::collections::BTreeMap;

use pitlane::risk::{Adjustment, Change, Quote, QuoteTarget, ReservationToken, RiskEngine};
use pitlane::types::{AccountId, Amount, AssetId, Order, OrderType, Price, Quantity, Side};
use proptest::prelude::*;
use risk_support::*;

#[derive(Clone, Debug)]
enum Step {
    Order {
        account: u64,
        buy: bool,
        qty: i64,
        price: Option<i64>,
        volume: Option<i64>,
        keep: bool,
    },
    Report {
        which: usize,
        qty: i64,
        at: i64,
        fee: i64,
        last: bool,
    },
    Replace {
        which: usize,
        qty: i64,
        price: i64,
    },
    Deposit {
        account: u64,
        base: bool,
        units: i64,
    },
    DropCopy {
        account: u64,
        buy: bool,
        qty: i64,
        price: i64,
    },
    Stray {
        account: u64,
        buy: bool,
        qty: i64,
        at: i64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let raw = 1i64..3_000_000_000;
    let maybe = prop::option::of(raw.clone());
    let order = (
        1u64..3,
        any::<bool>(),
        raw.clone(),
        maybe.clone(),
        maybe,
        any::<bool>(),
    );
    let report = (
        0usize..8,
        0i64..4_000_000_000,
        raw.clone(),
        -5i64..9,
        any::<bool>(),
    );
    let replace = (0usize..8, raw.clone(), raw.clone());
    let deposit = (1u64..3, any::<bool>(), -50i64..100);
    let fact = (1u64..3, any::<bool>(), raw.clone(), raw);
    prop_oneof![
        4 => order.prop_map(|(account, buy, qty, price, volume, keep)| {
            Step::Order { account, buy, qty, price, volume, keep }
        }),
        4 => report.prop_map(|(which, qty, at, fee, last)| {
            Step::Report { which, qty, at, fee, last }
        }),
        1 => replace.prop_map(|(which, qty, price)| Step::Replace { which, qty, price }),
        2 => deposit.prop_map(|(account, base, units)| Step::Deposit { account, base, units }),
        1 => fact.clone().prop_map(|(account, buy, qty, price)| {
            Step::DropCopy { account, buy, qty, price }
        }),
        1 => fact.prop_map(|(account, buy, qty, at)| Step::Stray { account, buy, qty, at }),
    ]
}

fn side(buy: bool) -> Side {
    if buy { Side::Buy } else { Side::Sell }
}

fn order(account: u64, buy: bool, qty: i64, price: Option<i64>) -> Order {
    Order {
        side: side(buy),
        quantity: Some(Quantity::from_raw(qty)),
        price: price.map(Price::from_raw),
        order_type: if price.is_some() {
            OrderType::Limit
        } else {
            OrderType::Market
        },
        ..self::buy(AccountId(account), "1", "1")
    }
}

/// What a plain bookkeeper writes down.
#[derive(Default)]
struct Ledger(BTreeMap<(AccountId, AssetId), i128>);

impl Ledger {
    fn add(&mut self, account: AccountId, asset: AssetId, raw: i128) {
        *self.0.entry((account, asset)).or_default() += raw;
    }

    fn trade(&mut self, account: AccountId, side: Side, qty: i64, at: i64) {
        let paid = i128::from(qty) * i128::from(at);
        let units = i128::from(qty) * 1_000_000_000;
        let (of_usd, of_base) = match side {
            Side::Buy => (-paid, units),
            Side::Sell => (paid, -units),
        };
        self.add(account, USD, of_usd);
        self.add(account, AAPL, of_base);
    }

    fn check(&self, engine: &RiskEngine) {
        for account in [ONE, TWO] {
            for asset in [USD, AAPL] {
                let balance = engine.balance(account, asset);
                let expected = self.0.get(&(account, asset)).copied().unwrap_or(0);
                assert_eq!(
                    balance.available.raw() + balance.held.raw(),
                    expected,
                    "{account} {asset}"
                );
                assert!(!balance.held.is_negative() && !balance.incoming.is_negative());
            }
        }
    }
}

fn run(steps: Vec<Step>) {
    let mut engine = engine(&config_with("spot_funds = {slippage_bps = 33}"));
    let quote = Quote {
        mark: Some(price("1.333333333")),
        ..Quote::default()
    };
    engine
        .set_quote(QuoteTarget::All, AAPL_USD, quote, ms(0))
        .expect("set");
    let mut ledger = Ledger::default();
    let mut open: Vec<(ReservationToken, Order)> = Vec::new();
    for step in steps {
        match step {
            Step::Order {
                account,
                buy,
                qty,
                price,
                volume,
                keep,
            } => {
                let mut order = order(account, buy, qty, price);
                if let Some(volume) = volume {
                    order.quantity = None;
                    order.volume = Some(Amount::from_raw(i128::from(volume) * 1_000_000_007));
                }
                if let Ok(token) = engine.execute_pre_trade(&order, ms(0)) {
                    if keep {
                        engine.commit(token).expect("fresh");
                        open.push((token, order));
                    } else {
                        engine.rollback(token).expect("fresh");
                    }
                }
            }
            Step::Report {
                which,
                qty,
                at,
                fee,
                last,
            } if which < open.len() => {
                let (token, order) = open[which];
                let mut said = report(&order, Some(token));
                (said.quantity, said.price) = (Quantity::from_raw(qty), Price::from_raw(at));
                said.fee = Amount::from_raw(i128::from(fee) * 1_000_003);
                said.is_final = last;
                engine.apply_execution_report(&said, ms(0)).expect("ours");
                ledger.trade(order.account, order.side, qty, at);
                ledger.add(order.account, USD, -said.fee.raw());
                engine.unblock_account(order.account).expect("known");
                if last {
                    open.remove(which);
                }
            }
            Step::Replace { which, qty, price } if which < open.len() => {
                let (token, mut order) = open[which];
                let before = order;
                order.quantity = Some(Quantity::from_raw(qty));
                order.price = Some(Price::from_raw(price));
                if engine.replace(token, &order, ms(0)).is_ok() {
                    if qty % 2 == 0 {
                        engine.revert_replace(token, &before, ms(0)).expect("works");
                    } else {
                        open[which].1 = order;
                    }
                }
            }
            Step::Deposit {
                account,
                base,
                units,
            } => {
                let asset = if base { AAPL } else { USD };
                let delta = Amount::from_raw(i128::from(units) * 1_000_000_000_000_000_000);
                let change = Adjustment::available(asset, Change::Delta(delta));
                engine.adjust(AccountId(account), &[change]).expect("known");
                ledger.add(AccountId(account), asset, delta.raw());
            }
            Step::DropCopy {
                account,
                buy,
                qty,
                price,
            } => {
                let order = order(account, buy, qty, Some(price));
                let copy = engine
                    .apply_drop_copy(&order, ms(0))
                    .expect("can be evaluated");
                engine.commit(copy.token).expect("fresh");
                open.push((copy.token, order));
            }
            Step::Stray {
                account,
                buy,
                qty,
                at,
            } => {
                let order = order(account, buy, qty, Some(at));
                let mut said = report(&order, None);
                (said.quantity, said.price) = (Quantity::from_raw(qty), Price::from_raw(at));
                engine.apply_execution_report(&said, ms(0)).expect("booked");
                ledger.trade(order.account, order.side, qty, at);
            }
            Step::Report { .. } | Step::Replace { .. } => {}
        }
        ledger.check(&engine);
    }
    for (token, order) in open {
        let mut said = report(&order, Some(token));
        said.is_final = true;
        engine.apply_execution_report(&said, ms(0)).expect("ours");
    }
    ledger.check(&engine);
    for account in [ONE, TWO] {
        for asset in [USD, AAPL] {
            let balance = engine.balance(account, asset);
            assert!(
                balance.held.is_zero() && balance.incoming.is_zero(),
                "I4: nothing lives"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn k37_k11_every_balance_adds_up_exactly(steps in prop::collection::vec(step(), 1..80)) {
        run(steps);
    }
}
