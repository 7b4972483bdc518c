//! A policy of your own: no new orders while the account's realized profit of
//! the day is locked in. `cargo run --example custom_policy`.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use pitlane::risk::{
    ExecutionReport, OrderContext, Policy, RiskConfig, RiskEngine, RiskEvent, SharedLimits, Verdict,
};
use pitlane::time::Nanos;
use pitlane::types::{
    AccountId, Amount, InstrumentId, Order, OrderType, Price, Quantity, RejectCode, ShardId, Side,
    TimeInForce,
};

/// Refuses buys once an account has made `target`.
struct ProfitLock {
    target: Amount,
    made: HashMap<AccountId, Amount>,
}

impl Policy for ProfitLock {
    fn name(&self) -> &str {
        "profit lock"
    }

    fn main(&self, context: &OrderContext<'_>, verdict: &mut Verdict<'_>) {
        let made = self.made.get(&context.order.account);
        if context.order.side == Side::Buy && made.is_some_and(|made| *made >= self.target) {
            // A number of this policy's own: what it means is for its docs.
            verdict.reject(RejectCode::Custom, 1);
        }
    }

    fn on_event(&mut self, event: &RiskEvent<'_>) -> Option<RejectCode> {
        if let RiskEvent::Report(report) = event {
            let made = self.made.entry(report.account).or_default();
            match made.checked_add(report.pnl) {
                Some(sum) => *made = sum,
                // What cannot be counted blocks the account.
                None => return Some(RejectCode::ArithmeticOverflow),
            }
        }
        None
    }
}

const CONFIG: &str = r#"
assets = { AAPL = 1, USD = 2 }
instruments = [{ id = 1, base = "AAPL", settlement = "USD" }]
accounts = [{ id = 7 }]
spot_funds = { mode = "track" }
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let config = RiskConfig::from_toml(CONFIG)?;
    let shared = Arc::new(SharedLimits::new(&config)?);
    let mut engine = RiskEngine::new(&config, ShardId(0), shared)?;
    engine.add_policy(Box::new(ProfitLock {
        target: "100".parse()?,
        made: HashMap::new(),
    }))?;

    let order = Order {
        account: AccountId(7),
        instrument: InstrumentId(1),
        side: Side::Buy,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        quantity: Some("10".parse()?),
        volume: None,
        price: Some("185".parse()?),
    };
    let token = engine.execute_pre_trade(&order, Nanos(0))?;
    engine.commit(token)?;
    println!("accepted: {token:?}");

    engine.apply_execution_report(
        &ExecutionReport {
            token: Some(token),
            account: order.account,
            instrument: order.instrument,
            side: order.side,
            fill_id: None,
            price: Price::from_raw(184_000_000_000),
            quantity: Quantity::from_raw(10_000_000_000),
            fee: Amount::ZERO,
            fee_asset: None,
            pnl: "120".parse()?,
            is_final: true,
        },
        Nanos(1),
    )?;
    match engine.execute_pre_trade(&order, Nanos(2)) {
        Ok(_) => return Err("the profit is locked in".into()),
        Err(rejects) => println!("refused: {rejects}"),
    }
    Ok(())
}
