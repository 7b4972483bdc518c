//! Typed calls and wrappers over the dynamic strategy, with one engine that all
//! lanes share.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pitlane::lanes::{
    AsyncReservation, ChainError, Decision, Desk, DynamicBuilder, DynamicEngine, DynamicSubmitter,
    FromOrder, Heard, LaneError, LaneKey, PreTradeDriver, Wait, WaitLimit, chain,
};
use pitlane::time::Nanos;
use pitlane::types::AccountId;

const LONG: Duration = Duration::from_secs(20);

/// An engine with one purse of 100 for all accounts; its handles are amounts.
#[derive(Clone)]
struct Purse(Arc<Mutex<u64>>);

impl Purse {
    fn reserve(&self, amount: u64) -> Result<u64, &'static str> {
        let mut left = self.0.lock().expect("purse");
        *left = left.checked_sub(amount).ok_or("InsufficientFunds")?;
        Ok(amount)
    }
}

type Answer<T> = Result<Result<T, &'static str>, &'static str>;

impl PreTradeDriver for Purse {
    type Order = (u64, u64);
    type Request = u64;
    type Reservation = u64;
    type View = u64;
    type DropCopyView = u64;
    type Rejects = &'static str;
    type Report = (u64, u64);
    type Settled = u64;
    type Adjustments = u64;
    type Adjusted = ();
    type Error = &'static str;

    fn account_of(order: &(u64, u64)) -> Option<AccountId> {
        (order.0 != 0).then_some(AccountId(order.0))
    }
    fn report_account(report: &(u64, u64)) -> Option<AccountId> {
        (report.0 != 0).then_some(AccountId(report.0))
    }
    fn is_malformed(rejects: &&'static str) -> bool {
        rejects.is_empty()
    }
    fn start_pre_trade(&mut self, order: &(u64, u64), _: Nanos) -> Answer<u64> {
        Ok(Ok(order.1))
    }
    fn execute(&mut self, request: u64, _: Nanos) -> Answer<u64> {
        Ok(self.reserve(request))
    }
    fn execute_pre_trade(&mut self, order: &(u64, u64), _: Nanos) -> Answer<u64> {
        Ok(self.reserve(order.1))
    }
    fn check_order(&mut self, order: &(u64, u64), _: Nanos) -> Answer<()> {
        let left = *self.0.lock().expect("purse");
        Ok(if order.1 <= left {
            Ok(())
        } else {
            Err("InsufficientFunds")
        })
    }
    fn apply_drop_copy(&mut self, order: &(u64, u64), _: Nanos) -> Answer<(u64, u64)> {
        Ok(self.reserve(order.1).map(|amount| (amount, amount)))
    }
    fn apply_execution_report(
        &mut self,
        report: &(u64, u64),
        _: Nanos,
    ) -> Result<u64, &'static str> {
        Ok(report.1)
    }
    fn apply_account_adjustment(
        &mut self,
        _: AccountId,
        more: &u64,
        _: Nanos,
    ) -> Result<(), &'static str> {
        *self.0.lock().expect("purse") += *more;
        Ok(())
    }
    fn retire_account(&mut self, _: AccountId, _: Nanos) -> Result<(), &'static str> {
        Err("NotFlat")
    }
    fn view(&self, reservation: &u64) -> u64 {
        *reservation
    }
    fn commit(&mut self, _: &mut u64, _: Nanos) -> Result<(), &'static str> {
        Ok(())
    }
    fn rollback(&mut self, reservation: &mut u64, _: Nanos) -> Result<(), &'static str> {
        *self.0.lock().expect("purse") += *reservation;
        Ok(())
    }
    fn abandon(&mut self, _: u64) {}
}

type Submitter = DynamicSubmitter<Desk<Purse>>;

/// Queues retire after a millisecond.
fn start() -> (Purse, DynamicEngine<Desk<Purse>>, Submitter) {
    let purse = Purse(Arc::new(Mutex::new(100)));
    let engine = DynamicBuilder::new()
        .workers(2)
        .idle_cleanup_after(Duration::from_millis(1))
        .build_shared(purse.clone())
        .expect("engine");
    let submitter = engine.submitter().expect("submitter");
    (purse, engine, submitter)
}

fn accepted(submitter: &mut Submitter, account: u64, amount: u64) -> AsyncReservation<Purse> {
    let verdict = submitter.execute_pre_trade((account, amount), Wait::ForRoom);
    { verdict }.wait().expect("ran").expect("accepted")
}

fn left(purse: &Purse) -> u64 {
    *purse.0.lock().expect("purse")
}

fn until(holds: impl Fn() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "it did not come about");
        thread::yield_now();
    }
}

#[test]
fn l01_l10_l13_lanes_share_one_engine_and_wrappers_go_to_their_lane() {
    let (purse, engine, mut submitter) = start();
    let started = submitter.start_pre_trade((1, 60), Wait::ForRoom).wait();
    let mut request = started.expect("ran").expect("accepted");
    let mut reservation = request.execute().wait().expect("ran").expect("accepted");
    assert_eq!(reservation.view(), Ok(&60));
    let refused = submitter.execute_pre_trade((2, 60), Wait::ForRoom).wait();
    assert_eq!(refused.expect("ran").err(), Some("InsufficientFunds"));
    // A queue stays as long as a wrapper of its account is open.
    until(|| engine.queues() == 1);
    thread::sleep(Duration::from_millis(20));
    assert_eq!(engine.queues(), 1);
    // Finalized on a thread that has no submitter.
    let finisher = thread::spawn(move || reservation.rollback_and_close().wait());
    assert_eq!(finisher.join().expect("finisher"), Ok(()));
    until(|| engine.queues() == 0);
    assert_eq!(left(&purse), 100);

    let mut kept = accepted(&mut submitter, 1, 30);
    assert_eq!(submitter.commit(&kept).wait(), Ok(()));
    assert_eq!(kept.view(), Ok(&30), "a plain commit leaves it readable");
    assert_eq!(kept.close().wait(), Ok(()));
    assert_eq!(
        submitter.apply_execution_report((1, 4), Wait::No).wait(),
        Ok(4)
    );
    let mut adjusted = submitter.apply_account_adjustment(AccountId(1), 5, Wait::No);
    assert_eq!(adjusted.wait(), Ok(()));
    assert_eq!(left(&purse), 75);
    let missing = submitter.check_order((0, 1), Wait::No).wait();
    assert_eq!(
        missing.map_err(|f| f.error),
        Err(LaneError::MissingAccountId)
    );
    let retired = submitter.retire_account(AccountId(1), LONG).wait();
    assert_eq!(retired, Ok(Err("NotFlat")));
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
}

#[test]
fn l12_l19_a_dropped_wrapper_is_rolled_back_on_its_lane_however_full() {
    let (purse, engine, mut submitter) = start();
    let reservation = accepted(&mut submitter, 1, 60);
    let gate = Arc::new(Mutex::new(()));
    let shut = gate.lock().expect("gate");
    let passes = Arc::clone(&gate);
    let mut held = submitter.submit(AccountId(1), move |_: &mut Desk<Purse>| {
        drop(passes.lock().expect("gate"));
    });
    while submitter
        .try_submit(AccountId(1), |_: &mut Desk<Purse>| ())
        .is_ok()
    {}
    drop(reservation);
    assert_eq!(left(&purse), 40, "behind what its lane runs");
    drop(shut);
    held.wait().expect("ran");
    until(|| left(&purse) == 100);
    // A future that nobody waits for is rolled back likewise.
    drop(submitter.execute_pre_trade((1, 60), Wait::ForRoom));
    submitter
        .submit(AccountId(1), |_: &mut Desk<Purse>| ())
        .wait()
        .expect("ran");
    until(|| left(&purse) == 100);
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
}

#[test]
fn l26_a_stop_rolls_back_and_closes_what_is_open_and_releases_the_engine() {
    let (purse, engine, mut submitter) = start();
    let mut reservation = accepted(&mut submitter, 1, 60);
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
    assert_eq!(left(&purse), 100);
    assert_eq!(Arc::strong_count(&purse.0), 1, "the lanes' clones are gone");
    let outcome = reservation.commit_and_close().wait();
    assert_eq!(
        outcome.map_err(|failure| failure.error),
        Err(LaneError::Closed)
    );
    let late = submitter.execute_pre_trade((1, 1), Wait::ForRoom).wait();
    let failure = late.expect_err("stopped");
    assert_eq!(
        (failure.error, failure.payload),
        (LaneError::Stopped, Some((1, 1)))
    );
}

#[test]
fn l36_a_wrapper_is_not_finalized_inside_its_own_lane() {
    let (_purse, _engine, mut submitter) = start();
    let mut reservation = accepted(&mut submitter, 1, 60);
    let mut inside = submitter.submit(AccountId(1), move |_: &mut Desk<Purse>| {
        let refused = reservation.commit_and_close().wait();
        (reservation, refused.map_err(|failure| failure.error))
    });
    let (mut reservation, refused) = inside.wait().expect("ran");
    assert_eq!(refused, Err(LaneError::ReentrantLane));
    assert_eq!(reservation.commit_and_close().wait(), Ok(()));
    let key = submitter
        .submit(LaneKey::Engine, |_: &mut Desk<Purse>| ())
        .wait();
    assert_eq!(key, Ok(()));
}

#[test]
fn l31_l32_l35_a_chain_runs_as_one_task_and_does_not_wait() {
    let (purse, engine, mut submitter) = start();
    let gate = Arc::new(Mutex::new(()));
    let shut = gate.lock().expect("gate");
    let passes = Arc::clone(&gate);
    // Two orders, and nothing of the account in between.
    let bought = chain::<Purse, _, _>(FromOrder((1, 60)), move || {
        drop(passes.lock().expect("gate"));
        Ok(0)
    })
    .execute_pre_trade(
        |sum, reserved| {
            *sum += reserved.view();
            Ok(Decision::Commit)
        },
        |_, _| Ok(()),
    )
    .then(|sum| {
        assert_eq!(*sum, 60);
        Ok(())
    })
    .run(&mut submitter, Wait::ForRoom);
    let mut behind = submitter.execute_pre_trade((1, 60), Wait::ForRoom);
    assert!(!behind.is_done() && !bought.is_done());
    drop(shut);
    let outcome = { bought }.wait().expect("ran");
    assert!(outcome.end.is_completed() && outcome.retry_unsafe);
    let refused = behind.wait().expect("ran").err();
    assert_eq!(refused, Some("InsufficientFunds"));
    assert_eq!(left(&purse), 40);
    // What would wait fails, and its last hook runs.
    let limit = WaitLimit::millis(1_000);
    let waits = chain::<Purse, _, _>(AccountId(1), || Ok(()))
        .wait_for_report(limit, |(), _| Ok(Heard::Enough), |()| Ok(()))
        .run(&mut submitter, Wait::ForRoom);
    let outcome = { waits }.wait().expect("ran");
    assert!(matches!(outcome.end.error(), Some(ChainError::Wait(_))));
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
    let stopped = chain::<Purse, _, _>(AccountId(1), || Ok(())).run(&mut submitter, Wait::No);
    let failure = { stopped }.wait().map(drop).expect_err("stopped");
    assert_eq!(failure.error, LaneError::Stopped);
    assert!(failure.payload.is_some(), "the chain comes back");
}
