//! Blocks, groups, live configuration, custom policies, panics.

mod risk_support;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use pitlane::risk::{
    Block, BlockError, ConfigError, ExecuteError, FinalizeFailed, Mutation, OrderContext, Policy,
    RiskEngine, RiskEvent, SharedLimits, Verdict,
};
use pitlane::types::{AccountId, GroupId, RejectCode, ShardId};
use risk_support::*;

use RejectCode::*;

const RATE: &str = "rate_limit = [{scope = 'account', limit = 2, window_ms = 100}]";

#[test]
fn k01_k31_blocks_come_first_narrowest_first_and_use_no_slot() {
    let mut engine = engine(&config_with(RATE));
    engine.register(ONE, group(5)).expect("known");
    let bad = buy(ONE, "0", "10");
    engine.block_all(ComplianceRestriction);
    assert_eq!(place(&mut engine, &bad, ms(0)), [ComplianceRestriction]);
    engine.block_group(group(5), JurisdictionRestriction);
    assert_eq!(place(&mut engine, &bad, ms(0)), [JurisdictionRestriction]);
    engine.block_account(ONE, AccountBlocked).expect("known");
    for _ in 0..5 {
        assert_eq!(place(&mut engine, &bad, ms(0)), [AccountBlocked]);
    }
    engine.unblock_account(ONE).expect("known");
    assert_eq!(
        place(&mut engine, &bad, ms(0)),
        [JurisdictionRestriction],
        "no group block is lifted"
    );
    engine.unblock_all();
    assert_eq!(place(&mut engine, &buy(ONE, "1", "10"), ms(0)), []);
    assert_eq!(place(&mut engine, &buy(ONE, "1", "10"), ms(0)), []);
}

#[test]
fn k26_k31_the_first_cause_stays_until_it_is_replaced() {
    let mut engine = engine(&config());
    assert_eq!(
        engine.replace_block(ONE, Other),
        Err(BlockError::NotBlocked)
    );
    engine
        .block_account(ONE, ComplianceRestriction)
        .expect("known");
    engine.block_account(ONE, AccountBlocked).expect("known");
    assert_eq!(engine.block_of(ONE), Ok(Some(ComplianceRestriction)));
    engine
        .replace_block(ONE, AccountNotAuthorized)
        .expect("blocked");
    assert_eq!(engine.block_of(ONE), Ok(Some(AccountNotAuthorized)));
    engine.block_group(group(3), Other);
    engine
        .replace_group_block(group(3), ExchangeClosed)
        .expect("blocked");
    assert_eq!(
        engine.replace_group_block(group(4), Other),
        Err(BlockError::NotBlocked)
    );
    assert_eq!(
        engine.block_account(AccountId(99), Other),
        Err(BlockError::UnknownAccount(AccountId(99)))
    );
    engine.block_all(SystemUnavailable);

    let mut kept = Vec::new();
    engine.blocks(&mut |block| kept.push(block));
    let mut restarted = self::engine(&config());
    for block in &kept {
        restarted.restore_block(*block).expect("known");
    }
    let mut again = Vec::new();
    restarted.blocks(&mut |block| again.push(block));
    assert_eq!(kept, again);
    assert!(kept.contains(&Block::Group(group(3), ExchangeClosed)));
}

#[test]
fn k31_a_blocked_account_may_cancel_and_its_working_orders_are_named() {
    let mut engine = engine(&config());
    let first = working(&mut engine, &buy(ONE, "1", "10"), ms(0));
    let second = working(&mut engine, &buy(ONE, "2", "10"), ms(0));
    let other = working(&mut engine, &buy(TWO, "2", "10"), ms(0));
    let _reserved = engine
        .execute_pre_trade(&buy(ONE, "3", "10"), ms(0))
        .expect("accepted");
    engine.block_account(ONE, AccountBlocked).expect("known");
    assert_eq!(engine.allow_cancel(ONE, ms(0)), Ok(()));
    let mut listed = Vec::new();
    engine.working_orders(ONE, &mut |token| listed.push(token));
    assert_eq!(listed, [first, second]);
    listed.clear();
    engine.working_orders_of(None, &mut |token| listed.push(token));
    assert_eq!(listed, [first, second, other]);
    engine.register(TWO, group(5)).expect("known");
    listed.clear();
    engine.working_orders_of(Some(group(5)), &mut |token| listed.push(token));
    assert_eq!(listed, [other]);
    let refused = engine
        .replace(first, &buy(ONE, "1", "11"), ms(0))
        .expect_err("blocked");
    assert_eq!(codes(&refused), [AccountBlocked]);
}

#[test]
fn k04_a_started_request_looks_at_blocks_again() {
    let mut engine = engine(&config());
    let request = engine
        .start_pre_trade(&buy(ONE, "1", "10"), ms(0))
        .expect("started");
    engine.block_account(ONE, AccountBlocked).expect("known");
    let Err(ExecuteError::Rejected(rejects)) = engine.execute(request, ms(0)) else {
        panic!("blocked meanwhile");
    };
    assert_eq!(codes(&rejects), [AccountBlocked]);
    assert_eq!(engine.orders_open(), 0, "the request is finished");
}

#[test]
fn k07_a_halt_reaches_every_shard_before_the_call_returns() {
    let config = config();
    let shared = Arc::new(SharedLimits::new(&config).expect("sound"));
    let mut one = RiskEngine::new(&config, ShardId(0), Arc::clone(&shared)).expect("sound");
    let mut two = RiskEngine::new(&config, ShardId(1), shared).expect("sound");
    one.block_all(AccountBlocked);
    assert_eq!(
        place(&mut two, &buy(ONE, "1", "1"), ms(0)),
        [AccountBlocked]
    );
    let copy = two
        .apply_drop_copy(&buy(ONE, "1", "1"), ms(0))
        .expect("passes");
    assert!(copy.blocked);
    one.unblock_all();
    assert_eq!(place(&mut two, &buy(ONE, "1", "1"), ms(0)), []);
}

#[test]
fn k32_groups_and_currencies() {
    assert_eq!(GroupId::new(0), None, "zero is not a group");
    let mut engine = engine(&config_with(
        "currency = 'USD'\ngroup_currency = {5 = 3}\naccounts = [{id = 1, group = 5}, {id = 2}]",
    ));
    assert_eq!(engine.group_of(ONE), Ok(Some(group(5))));
    assert_eq!(engine.currency_of(ONE), Ok(Some(BTC)));
    assert_eq!(engine.currency_of(TWO), Ok(Some(USD)));
    engine.unregister(ONE).expect("known");
    assert_eq!(engine.group_of(ONE), Ok(None));
    assert_eq!(engine.currency_of(ONE), Ok(Some(USD)));
    assert!(engine.register(AccountId(9), group(5)).is_err());
}

#[test]
fn k35_a_change_holds_from_the_next_order_and_a_bad_one_changes_nothing() {
    let mut engine = engine(&config_with(RATE));
    let order = buy(ONE, "10", "10");
    assert_eq!(place(&mut engine, &order, ms(0)), []);
    let limits = config_with(
        "order_size = [{max_quantity = '5'}]\nrate_limit = [{scope = 'account', limit = 1, window_ms = 100}]",
    );
    assert_eq!(
        engine
            .reconfigure(&limits)
            .map_err(|error| error.to_string()),
        Ok(2)
    );
    assert_eq!(
        place(&mut engine, &order, ms(0)),
        [RateLimitExceeded, OrderQtyExceedsLimit]
    );
    let broken = config_with("order_size = [{}]");
    assert!(engine.reconfigure(&broken).is_err());
    assert!(engine.reconfigure_toml("instruments = []").is_err());
    let mut moved = config();
    moved.instruments.reverse();
    assert!(matches!(
        engine.reconfigure(&moved),
        Err(ConfigError::Value { .. })
    ));
    assert_eq!(engine.config_version(), 2);
    assert_eq!(place(&mut engine, &order, ms(200)), [OrderQtyExceedsLimit]);
    engine.reconfigure(&config()).expect("sound");
    assert_eq!(place(&mut engine, &order, ms(200)), []);
}

#[test]
fn k35_f27_a_request_is_judged_by_one_version_and_counted_once() {
    let mut engine = engine(&config_with(RATE));
    let request = engine
        .start_pre_trade(&buy(ONE, "10", "10"), ms(0))
        .expect("started");
    let other = engine
        .start_pre_trade(&buy(ONE, "1", "10"), ms(0))
        .expect("started");
    engine
        .reconfigure(&config_with(&format!(
            "order_size = [{{max_quantity = '5'}}]\n{RATE}"
        )))
        .expect("sound");
    let Err(ExecuteError::Rejected(rejects)) = engine.execute(request, ms(0)) else {
        panic!("too large for the version that decides");
    };
    assert_eq!(codes(&rejects), [OrderQtyExceedsLimit]);
    assert!(
        engine.execute(other, ms(0)).is_ok(),
        "no third slot is asked for"
    );
}

#[test]
fn k35_every_check_can_be_switched_off_and_on_and_counts_what_works() {
    let off = "spot_funds = {enabled = false}\n";
    let mut engine = engine(&config_with(off));
    working(&mut engine, &buy(ONE, "6", "10"), ms(0));
    let position = config_with(&format!("{off}position = [{{long = '10'}}]"));
    let credit = config_with(&format!(
        "{off}gross_credit = {{rules = [{{asset = 'USD', limit = '100'}}]}}"
    ));
    for _ in 0..2 {
        engine.reconfigure(&position).expect("sound");
        assert_eq!(
            place(&mut engine, &buy(ONE, "5", "10"), ms(0)),
            [PositionLimitExceeded]
        );
        engine.reconfigure(&credit).expect("sound");
        assert_eq!(
            place(&mut engine, &buy(ONE, "5", "10"), ms(0)),
            [CreditLimitExceeded]
        );
        let token = engine
            .execute_pre_trade(&buy(ONE, "4", "10"), ms(0))
            .expect("exactly 100");
        engine.rollback(token).expect("fresh");
        engine.reconfigure(&config_with(off)).expect("sound");
        let token = engine
            .execute_pre_trade(&buy(ONE, "500", "10"), ms(0))
            .expect("off");
        engine.rollback(token).expect("fresh");
    }
}

/// Counts what it is told, and does what the order's quantity says.
#[derive(Default)]
struct Probe {
    log: Rc<RefCell<Vec<String>>>,
}

impl Policy for Probe {
    fn name(&self) -> &str {
        "probe"
    }

    fn rejects_max(&self) -> usize {
        2
    }

    fn start(&self, context: &OrderContext<'_>, verdict: &mut Verdict<'_>) {
        match context
            .order
            .quantity
            .map(|quantity| quantity.to_string())
            .as_deref()
        {
            Some("13") => verdict.reject(Custom, 13),
            Some("14") => panic!("a check fails"),
            Some("15") => verdict.reject_account(Custom, 15),
            Some("16") => (0..9).for_each(|_| verdict.reject(Custom, 16)),
            _ => {}
        }
    }

    fn seen(&mut self, context: &OrderContext<'_>) {
        self.log
            .borrow_mut()
            .push(format!("seen {}", context.order.account));
    }

    fn main(&self, context: &OrderContext<'_>, verdict: &mut Verdict<'_>) {
        let quantity = context.order.quantity.map_or(0, |quantity| quantity.raw());
        for key in 1..=2 {
            verdict.register(Mutation {
                key,
                amount: quantity.into(),
            });
        }
        if quantity == 17_000_000_000 {
            (0..9).for_each(|_| verdict.register(Mutation::default()));
        }
    }

    fn apply(&mut self, mutation: Mutation) {
        assert!(
            mutation.amount != 18_000_000_000 || mutation.key != 2,
            "applying the second fails"
        );
        self.log
            .borrow_mut()
            .push(format!("apply {}", mutation.key));
    }

    fn commit(&mut self, mutation: Mutation) -> Result<(), FinalizeFailed> {
        self.log
            .borrow_mut()
            .push(format!("commit {}", mutation.key));
        match mutation.amount {
            19_000_000_000 => Err(FinalizeFailed),
            20_000_000_000 => panic!("a finalizer fails"),
            _ => Ok(()),
        }
    }

    fn rollback(&mut self, mutation: Mutation) -> Result<(), FinalizeFailed> {
        self.log
            .borrow_mut()
            .push(format!("rollback {}", mutation.key));
        Ok(())
    }

    fn on_event(&mut self, event: &RiskEvent<'_>) -> Option<RejectCode> {
        let RiskEvent::Report(report) = event else {
            return None;
        };
        assert!(report.fee != amount("66"), "an event fails");
        (report.fee == amount("77")).then_some(RiskLimitExceeded)
    }
}

fn probed() -> (RiskEngine, Rc<RefCell<Vec<String>>>) {
    let mut engine = engine(&config_with("spot_funds = {rules = [], mode = 'track'}"));
    let probe = Probe::default();
    let log = Rc::clone(&probe.log);
    engine.add_policy(Box::new(probe)).expect("room");
    (engine, log)
}

#[test]
fn k25_a_custom_policy_judges_registers_and_finalizes_newest_first() {
    let (mut engine, log) = probed();
    let token = engine
        .execute_pre_trade(&buy(ONE, "1", "1"), ms(0))
        .expect("accepted");
    engine.rollback(token).expect("fresh");
    let token = engine
        .execute_pre_trade(&buy(ONE, "1", "1"), ms(0))
        .expect("accepted");
    engine.commit(token).expect("fresh");
    assert_eq!(
        engine.check_order(&buy(ONE, "1", "1"), ms(0)),
        Ok(()),
        "leaves no trace"
    );
    assert_eq!(
        *log.borrow(),
        [
            "seen 1",
            "apply 1",
            "apply 2",
            "rollback 2",
            "rollback 1",
            "seen 1",
            "apply 1",
            "apply 2",
            "commit 2",
            "commit 1"
        ]
    );
    let rejects = engine
        .execute_pre_trade(&buy(ONE, "13", "1"), ms(0))
        .expect_err("refused");
    let said: Vec<_> = rejects
        .iter()
        .map(|r| (r.code, r.detail, r.policy.0))
        .collect();
    assert_eq!(said, [(Custom, 13, 64)]);
    let rejects = engine
        .execute_pre_trade(&buy(ONE, "16", "1"), ms(0))
        .expect_err("refused");
    assert_eq!(rejects.len(), 2, "no more than it said");
    assert_eq!(
        place(&mut engine, &buy(ONE, "17", "1"), ms(0)),
        [CapacityExceeded]
    );
    assert_eq!(place(&mut engine, &buy(ONE, "15", "1"), ms(0)), [Custom]);
    assert_eq!(
        place(&mut engine, &buy(ONE, "1", "1"), ms(0)),
        [AccountBlocked],
        "latched"
    );
}

#[test]
fn k25_a_custom_policys_answer_to_an_event_blocks() {
    let (mut engine, _) = probed();
    let mut fee = report(&buy(ONE, "1", "1"), None);
    (fee.fee, fee.is_final) = (amount("77"), true);
    engine.apply_execution_report(&fee, ms(0)).expect("booked");
    assert_eq!(engine.block_of(ONE), Ok(Some(RiskLimitExceeded)));
}

#[test]
fn k02_more_rejects_than_there_is_room_for_are_refused_when_the_policy_is_added() {
    struct Talker;
    impl Policy for Talker {
        fn name(&self) -> &str {
            "talker"
        }
        fn rejects_max(&self) -> usize {
            15
        }
    }
    let mut engine = engine(&config());
    assert!(matches!(
        engine.add_policy(Box::new(Talker)),
        Err(ConfigError::TooManyRejects { .. })
    ));
}

#[test]
fn k07_f23_a_check_that_panics_refuses_rolls_back_and_blocks_its_account() {
    let (mut engine, log) = probed();
    let before = engine.balances();
    assert_eq!(
        place(&mut engine, &buy(ONE, "14", "1"), ms(0)),
        [PolicyFailed]
    );
    assert_eq!(
        place(&mut engine, &buy(ONE, "1", "1"), ms(0)),
        [AccountBlocked]
    );
    log.borrow_mut().clear();
    assert_eq!(
        place(&mut engine, &buy(TWO, "18", "1"), ms(0)),
        [PolicyFailed]
    );
    assert_eq!(*log.borrow(), ["seen 2", "apply 1", "rollback 1"]);
    assert_eq!(engine.balances(), before, "I4: nothing is held");
    assert_eq!(place(&mut engine, &buy(THREE, "1", "1"), ms(0)), []);
}

#[test]
fn k07_f23_a_finalizer_that_fails_arms_the_kill_switch_for_everyone() {
    for quantity in ["19", "20"] {
        let (mut engine, log) = probed();
        let token = engine
            .execute_pre_trade(&buy(ONE, quantity, "1"), ms(0))
            .expect("accepted");
        assert_eq!(engine.commit(token), Ok(()), "the order is kept");
        assert!(
            log.borrow().contains(&"commit 1".into()),
            "the others are finished too"
        );
        assert_eq!(
            place(&mut engine, &buy(TWO, "1", "1"), ms(0)),
            [KillSwitchArmed]
        );
        engine.unblock_account(TWO).expect("known");
        assert_eq!(
            place(&mut engine, &buy(TWO, "1", "1"), ms(0)),
            [KillSwitchArmed]
        );
        assert!(
            engine.apply_drop_copy(&buy(TWO, "1", "1"), ms(0)).is_ok(),
            "drop copy passes"
        );
        engine.unblock_all();
        assert_eq!(place(&mut engine, &buy(TWO, "1", "1"), ms(0)), []);
    }
    let (mut engine, _) = probed();
    let mut fee = report(&buy(ONE, "1", "1"), None);
    (fee.fee, fee.is_final) = (amount("66"), true);
    let outcome = engine.apply_execution_report(&fee, ms(0)).expect("booked");
    assert!(
        outcome
            .alarms
            .contains(pitlane::risk::Alarms::POLICY_FAILED)
    );
    assert_eq!(
        place(&mut engine, &buy(TWO, "1", "1"), ms(0)),
        [KillSwitchArmed]
    );
}
