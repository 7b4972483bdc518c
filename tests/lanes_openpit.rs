//! The crate `openpit` behind lanes, in both of its forms (rules L1, L14, L15,
//! L19): its own engines and policies, compared with a bare one.
//!
//! `cargo test --features openpit --test lanes_openpit`

#[path = "support/planted.rs"]
mod planted;
mod risk_peer;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use openpit::param::{
    AccountId as PeerAccount, AdjustmentAmount, Fee, Pnl, PositionSize, Price, Quantity, Side,
    Trade, TradeAmount,
};
use openpit::pretrade::policies::{
    OrderValidationPolicy, RateLimit, RateLimitBrokerBarrier, RateLimitPolicy, RateLimitSettings,
    SpotFundsPolicy, SpotFundsPricingSource, SpotFundsSettings,
};
use openpit::pretrade::{
    PolicyPreTradeResult, PostTradeResult, PreTradeContext, PreTradeLock, PreTradePolicy,
    RejectCode, Rejects,
};
use openpit::{
    Engine, EngineTraitOf, FullSync, HasAccountId, LocalSync, Mutation, Mutations, OrderOperation,
    RequestFieldAccessError, SpotFundsMarketData, SyncMode,
};
use pitlane::lanes::openpit::{OpenpitConfigure, OpenpitDriver, OpenpitError};
use pitlane::lanes::{
    AsyncEngine, Desk, DynamicBuilder, EngineBuilder, LaneError, LaneKey, Submitter, Wait,
};
use pitlane::types::{AccountId, GroupId};
use risk_peer::{PeerAdjustment, PeerReport, asset, instrument};

const LONG: Duration = Duration::from_secs(20);
/// Quantities that make the policy below misbehave.
const PANIC_IN_CHECK: &str = "0.666";
const PANIC_IN_COMMIT: &str = "0.777";

type Traded<S> = EngineTraitOf<OrderOperation, PeerReport, PeerAdjustment, S>;
type LocalDriver = OpenpitDriver<Traded<LocalSync>>;
type SharedEngine = Arc<Engine<Traded<FullSync>>>;
type Log = Arc<Mutex<Vec<(&'static str, ThreadId)>>>;

/// A policy of a user's: says where its finalizers run, and panics on demand.
struct Tripwire(Log);

impl<A, S: SyncMode> PreTradePolicy<OrderOperation, PeerReport, A, S> for Tripwire {
    fn name(&self) -> &'static str {
        "tripwire"
    }

    fn perform_pre_trade_check(
        &self,
        _: &PreTradeContext<S::StorageLockingPolicyFactory>,
        order: &OrderOperation,
        mutations: &mut Mutations,
    ) -> Result<Option<PolicyPreTradeResult>, Rejects> {
        let TradeAmount::Quantity(quantity) = order.trade_amount else {
            panic!("orders have quantities");
        };
        let amount = quantity.to_string();
        assert!(amount != PANIC_IN_CHECK, "a planted panic");
        let (log, undone) = (Arc::clone(&self.0), Arc::clone(&self.0));
        mutations.push(Mutation::new(
            move || {
                note(&log, "commit");
                assert!(amount != PANIC_IN_COMMIT, "a planted panic");
            },
            move || note(&undone, "rollback"),
        ));
        Ok(None)
    }
}

fn note(log: &Log, what: &'static str) {
    log.lock()
        .expect("log")
        .push((what, thread::current().id()));
}

fn spot_funds() -> SpotFundsSettings {
    SpotFundsSettings::new(0, SpotFundsPricingSource::Mark, std::iter::empty()).expect("sound")
}

fn local(log: &Log) -> Engine<Traded<LocalSync>> {
    let builder = Engine::builder::<OrderOperation, PeerReport, PeerAdjustment>().no_sync();
    let funds = SpotFundsPolicy::<LocalSync, LocalSync>::new(
        spot_funds(),
        None::<SpotFundsMarketData<LocalSync>>,
        builder.storage_builder(),
    );
    builder
        .pre_trade(OrderValidationPolicy::new())
        .pre_trade(Tripwire(Arc::clone(log)))
        .pre_trade(funds)
        .build()
        .expect("sound")
}

/// All accounts together may send `orders` in an hour.
fn shared(log: &Log, orders: usize) -> SharedEngine {
    let builder = Engine::builder::<OrderOperation, PeerReport, PeerAdjustment>().full_sync();
    let limit = RateLimit {
        max_orders: orders,
        window: Duration::from_secs(3_600),
    };
    let broker = RateLimitBrokerBarrier { limit };
    let rate = RateLimitSettings::new(Some(broker), [], [], []).expect("sound");
    let rate = RateLimitPolicy::new(rate, builder.storage_builder());
    let funds = SpotFundsPolicy::<FullSync, FullSync>::new(
        spot_funds(),
        None::<SpotFundsMarketData<FullSync>>,
        builder.storage_builder(),
    );
    let engine = builder
        .pre_trade(OrderValidationPolicy::new())
        .pre_trade(rate)
        .pre_trade(Tripwire(Arc::clone(log)))
        .pre_trade(funds)
        .build();
    Arc::new(engine.expect("sound"))
}

fn order(account: u64, quantity: &str) -> OrderOperation {
    OrderOperation {
        instrument: instrument("AAPL", "USD"),
        account_id: PeerAccount::from_u64(account),
        side: Side::Buy,
        trade_amount: TradeAmount::Quantity(Quantity::from_str(quantity).expect("a quantity")),
        price: Some(Price::from_str("10").expect("a price")),
    }
}

fn dollars(amount: &str) -> Vec<PeerAdjustment> {
    vec![PeerAdjustment {
        asset: asset("USD"),
        balance: Some(AdjustmentAmount::Delta(
            PositionSize::from_str(amount).expect("an amount"),
        )),
        held: None,
        incoming: None,
    }]
}

fn filled(account: u64, quantity: &str, lock: PreTradeLock) -> PeerReport {
    PeerReport {
        instrument: instrument("AAPL", "USD"),
        account: PeerAccount::from_u64(account),
        side: Side::Buy,
        trade: Some(Trade {
            price: Price::from_str("10").expect("a price"),
            quantity: Quantity::from_str(quantity).expect("a quantity"),
        }),
        fee: Fee::ZERO,
        fee_asset: asset("USD"),
        pnl: Pnl::ZERO,
        remaining: Quantity::from_str("0").expect("a quantity"),
        is_final: true,
        lock,
    }
}

fn codes(rejects: &Rejects) -> Vec<RejectCode> {
    rejects.iter().map(|reject| reject.code).collect()
}

/// Two accounts of different shards of two.
fn far_apart() -> [u64; 2] {
    let shard = |account| LaneKey::Account(AccountId(account)).shard(2);
    let other = (2..).find(|&other| shard(other) != shard(1));
    [1, other.expect("there is one")]
}

type Lanes = AsyncEngine<Desk<LocalDriver>>;

fn local_lanes(shards: usize, log: &Log) -> (Lanes, Submitter<Desk<LocalDriver>>) {
    planted::quiet();
    let log = Arc::clone(log);
    let lanes = EngineBuilder::new()
        .shards(shards)
        .build(move |shard| Desk::new(shard, OpenpitDriver::new(local(&log))))
        .expect("engine");
    let submitter = lanes.submitter().expect("submitter");
    (lanes, submitter)
}

/// What a random step came to, in words that both sides have.
#[derive(Debug, PartialEq)]
enum Came {
    Adjusted(Result<String, String>),
    Verdict(Result<String, Vec<RejectCode>>),
    Booked(PostTradeResult),
}

#[test]
fn l01_openpit_an_engine_for_each_shard_answers_as_a_bare_one_does() {
    let log = Log::default();
    let (lanes, mut submitter) = local_lanes(2, &log);
    let bare = local(&Log::default());
    let mut dice = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = move |end: u64| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        (dice >> 33) % end
    };
    let mut seen = [0; 5];
    for step in 0..600 {
        let account = below(5) + 1;
        let quantity = (below(9) + 1).to_string();
        let kind = below(5);
        let wanted = order(account, &quantity);
        let theirs = PeerAccount::from_u64(account);
        let (ours, expected) = match kind {
            0 => {
                // Some are more than the crate's amounts can hold together.
                let amount = match below(4) {
                    0 => "79000000000000000000000000000".to_owned(),
                    _ => (i64::try_from(below(90)).expect("small") - 30).to_string(),
                };
                let adjusted = submitter
                    .apply_account_adjustment(AccountId(account), dollars(&amount), Wait::ForRoom)
                    .wait()
                    .map(|result| format!("{result:?}"))
                    .map_err(|failure| match failure.error {
                        LaneError::Driver(OpenpitError::Adjust(error)) => format!("{error:?}"),
                        other => panic!("{other:?}"),
                    });
                let expected = bare.apply_account_adjustment(theirs, &dollars(&amount));
                (
                    Came::Adjusted(adjusted),
                    Came::Adjusted(
                        expected
                            .map(|result| format!("{result:?}"))
                            .map_err(|error| format!("{error:?}")),
                    ),
                )
            }
            1 => {
                let checked = submitter.check_order(Box::new(wanted.clone()), Wait::ForRoom);
                let expected = bare.execute_pre_trade_dry_run(wanted);
                let verdict = { checked }.wait().expect("ran");
                (
                    Came::Verdict(
                        verdict
                            .map(|()| String::new())
                            .map_err(|rejects| codes(&rejects)),
                    ),
                    Came::Verdict(
                        expected
                            .rejects()
                            .map_or(Ok(String::new()), |r| Err(codes(r))),
                    ),
                )
            }
            _ => {
                // In two stages or one; committed and filled, or rolled back.
                let mut ours = if kind == 2 {
                    let started =
                        submitter.start_pre_trade(Box::new(wanted.clone()), Wait::ForRoom);
                    match { started }.wait().expect("ran") {
                        Ok(mut request) => request.execute().wait().expect("ran"),
                        Err(rejects) => Err(rejects),
                    }
                } else {
                    let executed =
                        submitter.execute_pre_trade(Box::new(wanted.clone()), Wait::ForRoom);
                    { executed }.wait().expect("ran")
                };
                let mut expected = bare.execute_pre_trade(wanted);
                let shown = match &ours {
                    Ok(reservation) => {
                        let view = reservation.view().expect("open");
                        Ok(format!("{:?} {:?}", view.lock, view.account_adjustments))
                    }
                    Err(rejects) => Err(codes(rejects)),
                };
                let shown_there = match &expected {
                    Ok(r) => Ok(format!("{:?} {:?}", r.lock(), r.account_adjustments())),
                    Err(rejects) => Err(codes(rejects)),
                };
                assert_eq!(shown, shown_there, "step {step}");
                match (&mut ours, &mut expected) {
                    (Ok(reservation), Ok(theirs)) if kind == 4 => {
                        reservation.rollback_and_close().wait().expect("undone");
                        theirs.rollback();
                        (Came::Verdict(shown), Came::Verdict(shown_there))
                    }
                    (Ok(reservation), Ok(theirs)) => {
                        reservation.commit_and_close().wait().expect("kept");
                        let lock = theirs.lock().clone();
                        theirs.commit();
                        let booked = submitter
                            .apply_execution_report(
                                Box::new(filled(account, &quantity, lock.clone())),
                                Wait::ForRoom,
                            )
                            .wait()
                            .expect("booked");
                        let there = bare.apply_execution_report(&filled(account, &quantity, lock));
                        (Came::Booked(booked), Came::Booked(there))
                    }
                    _ => (Came::Verdict(shown), Came::Verdict(shown_there)),
                }
            }
        };
        assert_eq!(ours, expected, "step {step}");
        seen[match ours {
            Came::Adjusted(Ok(_)) => 0,
            Came::Adjusted(Err(_)) => 1,
            Came::Verdict(Ok(_)) => 2,
            Came::Verdict(Err(_)) => 3,
            Came::Booked(_) => 4,
        }] += 1;
    }
    assert!(
        seen.iter().all(|&count| count > 10),
        "all kinds of answers: {seen:?}"
    );
    assert!(lanes.stop_graceful(LONG).expect("stop").is_balanced());
}

#[test]
fn l13_openpit_follows_drop_copies_and_retires_accounts() {
    let (lanes, mut submitter) = local_lanes(1, &Log::default());
    // No funds: as an order it is refused, as somebody's fact it is followed.
    let mut copy = submitter
        .apply_drop_copy(Box::new(order(1, "4")), Wait::No)
        .wait()
        .expect("ran")
        .expect("followed");
    let view = copy.view().expect("open");
    assert!(!view.view.account_adjustments.is_empty());
    assert!(!view.is_account_blocked);
    let mut retired = submitter.retire_account(AccountId(1), LONG);
    let refused = retired
        .wait()
        .expect("ran")
        .expect_err("it holds something");
    assert!(matches!(refused, OpenpitError::Retire(_)), "{refused}");
    copy.rollback_and_close().wait().expect("undone");
    let mut retired = submitter.retire_account(AccountId(1), LONG);
    assert_eq!(retired.wait(), Ok(Ok(())));
    assert!(lanes.stop_graceful(LONG).expect("stop").is_balanced());
}

/// How many of 2 × 8 orders, sent from two threads, are accepted.
fn accepted_of_sixteen(
    lanes: &AsyncEngine<Desk<OpenpitDriver<Traded<FullSync>, SharedEngine>>>,
) -> usize {
    thread::scope(|scope| {
        let senders = far_apart().map(|account| {
            let mut submitter = lanes.submitter().expect("submitter");
            scope.spawn(move || {
                let adjusted = submitter.apply_account_adjustment(
                    AccountId(account),
                    dollars("10000"),
                    Wait::ForRoom,
                );
                { adjusted }.wait().expect("seeded");
                let verdicts = (0..8).map(|_| {
                    let executed =
                        submitter.execute_pre_trade(Box::new(order(account, "1")), Wait::ForRoom);
                    let verdict = { executed }.wait().expect("ran");
                    match verdict {
                        Ok(mut kept) => kept.commit_and_close().wait().expect("kept"),
                        Err(rejects) => {
                            assert_eq!(codes(&rejects), [RejectCode::RateLimitExceeded]);
                            return 0;
                        }
                    }
                    1
                });
                verdicts.sum::<usize>()
            })
        });
        let accepted = senders.map(|sender| sender.join().expect("sent"));
        accepted.iter().sum()
    })
}

#[test]
fn l01_openpit_limits_span_shards_where_they_share_one_engine() {
    let one = OpenpitDriver::new(shared(&Log::default(), 8));
    let lanes = EngineBuilder::new()
        .shards(2)
        .build(move |shard| Desk::new(shard, one.clone()))
        .expect("engine");
    assert_eq!(accepted_of_sixteen(&lanes), 8, "of both shards together");
    assert!(lanes.stop_graceful(LONG).expect("stop").is_balanced());
    // With an engine for each shard the same limit holds for each.
    let lanes = EngineBuilder::new()
        .shards(2)
        .build(|shard| Desk::new(shard, OpenpitDriver::new(shared(&Log::default(), 8))))
        .expect("engine");
    assert_eq!(accepted_of_sixteen(&lanes), 16);
}

#[test]
#[allow(unsafe_code)]
fn l01_openpit_one_engine_drives_the_dynamic_strategy() {
    const ACCOUNTS: u64 = 12;
    let log = Log::default();
    let driver = OpenpitDriver::new(shared(&log, 1_000));
    // SAFETY: the tripwire's mutations hold an `Arc` of a mutex and a string.
    let driver = unsafe { driver.leased() };
    let lanes = DynamicBuilder::new()
        .workers(2)
        .max_workers(2)
        .build_shared(driver)
        .expect("engine");
    thread::scope(|scope| {
        for sender in 0..3 {
            let mut submitter = lanes.submitter().expect("submitter");
            scope.spawn(move || {
                for account in (1..=ACCOUNTS).filter(|account| account % 3 == sender) {
                    submitter
                        .apply_account_adjustment(AccountId(account), dollars("100"), Wait::ForRoom)
                        .wait()
                        .expect("seeded");
                    let mut kept: Vec<_> = (0..11)
                        .map(|_| {
                            submitter
                                .execute_pre_trade(Box::new(order(account, "1")), Wait::ForRoom)
                        })
                        .collect();
                    // 100 dollars are ten orders; the eleventh finds none left.
                    let mut verdicts: Vec<_> = kept
                        .iter_mut()
                        .map(|executed| executed.wait().expect("ran"))
                        .collect();
                    let refused = verdicts.pop().expect("eleven").expect_err("no funds");
                    assert_eq!(codes(&refused), [RejectCode::InsufficientFunds]);
                    let mut odd = false;
                    for reservation in verdicts {
                        let mut reservation = reservation.expect("accepted");
                        odd = !odd;
                        if odd {
                            reservation.commit_and_close().wait().expect("kept");
                        }
                        // The others are rolled back where they are dropped.
                    }
                }
            });
        }
    });
    assert!(lanes.stop_graceful(LONG).expect("stop").is_balanced());
    let log = log.lock().expect("log");
    let count = |what| log.iter().filter(|entry| entry.0 == what).count();
    assert_eq!(count("commit"), 5 * 12);
    // The refused order's policies had registered theirs before.
    assert_eq!(count("rollback"), 5 * 12 + 12);
    let threads: HashSet<_> = log.iter().map(|entry| entry.1).collect();
    assert!(!threads.contains(&thread::current().id()) && threads.len() <= 2);
}

#[test]
fn l14_openpit_a_check_that_panics_blocks_its_account() {
    let (lanes, mut submitter) = local_lanes(1, &Log::default());
    for account in [1, 2] {
        submitter
            .apply_account_adjustment(AccountId(account), dollars("100"), Wait::ForRoom)
            .wait()
            .expect("seeded");
    }
    let mut verdict = |account, quantity| {
        let executed =
            submitter.execute_pre_trade(Box::new(order(account, quantity)), Wait::ForRoom);
        { executed }.wait().map(|verdict| verdict.map(drop))
    };
    let panicked = verdict(1, PANIC_IN_CHECK).expect_err("panicked");
    assert_eq!(panicked.error, LaneError::TaskFailed);
    let refused = verdict(1, "1").expect("ran").expect_err("blocked");
    assert_eq!(codes(&refused), [RejectCode::AccountBlocked]);
    assert_eq!(verdict(2, "1"), Ok(Ok(())), "nobody else");
    let unblock = |desk: &mut Desk<LocalDriver>| {
        let engine = desk.driver().engine();
        engine.accounts().unblock(PeerAccount::from_u64(1));
    };
    submitter
        .submit(AccountId(1), unblock)
        .wait()
        .expect("unblocked");
    let executed = submitter.execute_pre_trade(Box::new(order(1, "1")), Wait::ForRoom);
    assert!({ executed }.wait().expect("ran").is_ok());
    let report = lanes.stop_graceful(LONG).expect("stop");
    assert!(report.is_balanced() && report.panicked == 1, "{report:?}");
}

#[test]
fn l14_openpit_a_finalizer_that_panics_halts_the_engine() {
    let (_lanes, mut submitter) = local_lanes(1, &Log::default());
    for account in [1, 2] {
        submitter
            .apply_account_adjustment(AccountId(account), dollars("100"), Wait::ForRoom)
            .wait()
            .expect("seeded");
    }
    let mut bad = submitter
        .execute_pre_trade(Box::new(order(1, PANIC_IN_COMMIT)), Wait::ForRoom)
        .wait()
        .expect("ran")
        .expect("accepted");
    let failed = bad.commit_and_close().wait().expect_err("panicked");
    assert_eq!(failed.error, LaneError::TaskFailed);
    let refused = submitter
        .execute_pre_trade(Box::new(order(2, "1")), Wait::ForRoom)
        .wait()
        .expect("ran")
        .expect_err("halted");
    assert_eq!(codes(&refused), [RejectCode::SystemUnavailable]);
    let followed = submitter.apply_drop_copy(Box::new(order(2, "1")), Wait::ForRoom);
    assert!({ followed }.wait().expect("ran").is_ok(), "facts pass");
    let is_halted = |desk: &mut Desk<LocalDriver>| desk.driver().is_halted();
    assert_eq!(submitter.submit(AccountId(2), is_halted).wait(), Ok(true));
    assert_eq!(submitter.unblock_all(Wait::No).wait(), Ok(()));
    assert_eq!(submitter.submit(AccountId(2), is_halted).wait(), Ok(false));
    let executed = submitter.execute_pre_trade(Box::new(order(2, "1")), Wait::ForRoom);
    assert!({ executed }.wait().expect("ran").is_ok());
}

#[test]
fn l19_openpit_what_is_dropped_rolls_back_on_its_worker() {
    let log = Log::default();
    let (lanes, mut submitter) = local_lanes(1, &log);
    submitter
        .apply_account_adjustment(AccountId(1), dollars("20"), Wait::ForRoom)
        .wait()
        .expect("seeded");
    let reserve = |submitter: &mut Submitter<_>| {
        let executed = submitter.execute_pre_trade(Box::new(order(1, "2")), Wait::ForRoom);
        { executed }.wait().expect("ran")
    };
    // All the funds, thrice: each time they have come back.
    let wrapper = reserve(&mut submitter).expect("accepted");
    assert!(reserve(&mut submitter).is_err(), "all is reserved");
    thread::spawn(move || drop(wrapper))
        .join()
        .expect("dropped");
    drop(submitter.execute_pre_trade(Box::new(order(1, "2")), Wait::ForRoom));
    let request = submitter
        .start_pre_trade(Box::new(order(1, "2")), Wait::ForRoom)
        .wait()
        .expect("ran")
        .expect("started");
    drop(request);
    let last = reserve(&mut submitter).expect("the funds are back");
    assert!(lanes.stop_graceful(LONG).expect("stop").is_balanced());
    assert_eq!(last.view().err(), None, "what was copied stays");
    drop(last);
    let worker: HashSet<_> = log
        .lock()
        .expect("log")
        .iter()
        .map(|entry| entry.1)
        .collect();
    assert_eq!(worker.len(), 1);
    assert!(!worker.contains(&thread::current().id()));
    let log = log.lock().expect("log");
    // Of the wrapper, the refused order, the future, and the one left at the stop.
    assert_eq!(log.len(), 4);
    assert!(log.iter().all(|entry| entry.0 == "rollback"));
}

/// An order or report that may name nobody.
#[derive(Clone, Debug, PartialEq)]
struct Anybody(Option<u64>);

impl HasAccountId for Anybody {
    fn account_id(&self) -> Result<PeerAccount, RequestFieldAccessError> {
        self.0
            .map(PeerAccount::from_u64)
            .ok_or_else(|| RequestFieldAccessError::new("account_id"))
    }
}

#[test]
fn l15_openpit_nobodys_orders_and_reports_come_back() {
    let lanes = EngineBuilder::new()
        .build(|shard| {
            let engine = Engine::builder::<Anybody, Anybody, ()>().no_sync();
            let engine = engine.pre_trade(Open).build().expect("sound");
            Desk::new(shard, OpenpitDriver::new(engine))
        })
        .expect("engine");
    let mut submitter = lanes.submitter().expect("submitter");
    let nobody = Anybody(None);
    let mut executed = submitter.execute_pre_trade(Box::new(nobody.clone()), Wait::ForRoom);
    let failed = executed.wait().expect_err("nobody's");
    assert_eq!(failed.error, LaneError::MissingAccountId);
    assert_eq!(failed.payload, Some(Box::new(nobody.clone())));
    let mut reported = submitter.apply_execution_report(Box::new(nobody.clone()), Wait::ForRoom);
    let failed = reported.wait().expect_err("nobody's");
    assert_eq!(failed.error, LaneError::MissingAccountId);
    assert_eq!(failed.payload, Some(Box::new(nobody)), "a fact is not lost");
    let reported = submitter.apply_execution_report(Box::new(Anybody(Some(1))), Wait::ForRoom);
    assert!({ reported }.wait().is_ok());
}

/// Lets everything pass.
struct Open;

impl<S: SyncMode> PreTradePolicy<Anybody, Anybody, (), S> for Open {
    fn name(&self) -> &'static str {
        "open"
    }
}

#[test]
fn l04_l13_openpit_blocks_groups_and_configures_over_all_shards() {
    let (lanes, mut submitter) = local_lanes(2, &Log::default());
    let (us, accounts) = (
        GroupId::new(7).expect("a group"),
        far_apart().map(AccountId),
    );
    for account in accounts {
        let adjusted = submitter.apply_account_adjustment(account, dollars("100"), Wait::ForRoom);
        { adjusted }.wait().expect("seeded");
    }
    let verdicts = |submitter: &mut Submitter<_>| {
        far_apart().map(|account| {
            let checked = submitter.check_order(Box::new(order(account, "1")), Wait::ForRoom);
            { checked }
                .wait()
                .expect("ran")
                .map_err(|rejects| codes(&rejects))
        })
    };
    let blocked = || Err(vec![RejectCode::AccountBlocked]);
    assert_eq!(verdicts(&mut submitter), [Ok(()), Ok(())]);
    let mut joined = submitter.join_group(accounts.to_vec(), us, Wait::No);
    assert_eq!(joined.wait(), Ok(()));
    let mut stopped = submitter.block_group(us, "a planted block".into(), Wait::No);
    assert_eq!(stopped.wait(), Ok(()));
    assert_eq!(verdicts(&mut submitter), [blocked(), blocked()]);
    let mut left = submitter.leave_group(vec![accounts[1]], us, Wait::No);
    assert_eq!(left.wait(), Ok(()));
    assert_eq!(verdicts(&mut submitter), [blocked(), Ok(())]);
    let mut again = submitter.leave_group(vec![accounts[1]], us, Wait::No);
    let failure = again.wait().expect_err("not in it");
    assert!(matches!(
        failure.error,
        LaneError::Driver(OpenpitError::Group(_))
    ));
    // That is the crate's engine-wide block, which is another one.
    assert_eq!(submitter.unblock_all(Wait::No).wait(), Ok(()));
    assert_eq!(verdicts(&mut submitter), [blocked(), Ok(())]);
    assert_eq!(submitter.unblock_group(us, Wait::No).wait(), Ok(()));
    assert_eq!(verdicts(&mut submitter), [Ok(()), Ok(())]);
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let notes = Arc::clone(&seen);
    let mut configured = submitter.configure(
        OpenpitConfigure::new(move |engine: &Engine<Traded<LocalSync>>| {
            engine
                .accounts()
                .block(PeerAccount::from_u64(far_apart()[0]), "one".into());
            notes.lock().expect("notes").insert(thread::current().id());
        }),
        Wait::No,
    );
    assert_eq!(configured.wait(), Ok(()));
    assert_eq!(seen.lock().expect("seen").len(), 2, "on each shard");
    assert_eq!(verdicts(&mut submitter), [blocked(), Ok(())]);
    assert!(lanes.stop_graceful(LONG).expect("stop").is_balanced());
}
