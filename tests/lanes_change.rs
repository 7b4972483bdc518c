//! Blocks, groups and configuration through the lanes (rules L4, L12, L13, L16).

#[path = "support/planted.rs"]
mod planted;
mod risk_support;
#[path = "support/toy_engine.rs"]
mod toy_engine;

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pitlane::lanes::{
    AsyncEngine, Change, ChangeFuture, ControlDriver, Desk, DynamicBuilder, DynamicSubmitter,
    EngineBuilder, Hooks, LaneError, LaneFuture, LaneKey, Observer, Place, RiskError, SharedRisk,
    Submitter, Wait,
};
use pitlane::risk::{AccountConfig, BlockError, LookupError, RiskConfig, RiskEngine, SharedLimits};
use pitlane::types::{AccountId, GroupId, RejectCode};
use risk_support::{USD, buy, codes, config_with, group};
use toy_engine::{FAIL, Toy, ToyError, ToyWorld};

const LONG: Duration = Duration::from_secs(20);
const ACCOUNTS: u64 = 8;
const NOBODY: AccountId = AccountId(99);
const CAUSE: RejectCode = RejectCode::AccountBlocked;
const OTHER: RejectCode = RejectCode::SystemUnavailable;

fn config(toml: &str) -> RiskConfig {
    let account = |id| AccountConfig {
        id: AccountId(id),
        group: None,
    };
    RiskConfig {
        accounts: (1..=ACCOUNTS).map(account).collect(),
        ..config_with(toml)
    }
}

fn sharded(shards: u16) -> AsyncEngine<Desk<RiskEngine>> {
    let config = config("");
    let shared = Arc::new(SharedLimits::new(&config).expect("sound"));
    EngineBuilder::new()
        .shards(usize::from(shards))
        .build(move |shard| {
            let mine = |account| LaneKey::Account(account).shard(shards) == shard;
            let engine = RiskEngine::with_accounts(&config, shard, Arc::clone(&shared), mine);
            Desk::new(shard, engine.expect("sound"))
        })
        .expect("engine")
}

fn made<D: ControlDriver>(mut change: ChangeFuture<D>) -> Result<(), LaneError<D::Error>> {
    let outcome = change.wait_timeout(LONG).expect("in time");
    assert!(change.is_done());
    outcome.map_err(|failure| failure.error)
}

/// The same story, through the submitter of either strategy.
macro_rules! everything_is_changed {
    ($submitter:ident) => {{
        let (us, them) = (group(1), group(2));
        let refusals = |submitter: &mut _| -> Vec<Option<RejectCode>> {
            (1..=ACCOUNTS)
                .map(|id| {
                    let order = buy(AccountId(id), "1", "10");
                    let checked = $submitter::check_order(submitter, order, Wait::ForRoom);
                    let verdict = { checked }.wait().expect("ran");
                    verdict.err().map(|rejects| codes(&rejects)[0])
                })
                .collect()
        };
        move |submitter: &mut $submitter<_>| {
            let all: Vec<_> = (1..=ACCOUNTS).map(AccountId).collect();
            let free = vec![None; all.len()];
            let half = |cause| -> Vec<Option<RejectCode>> {
                (1..=ACCOUNTS)
                    .map(|id| (id <= 4).then_some(cause))
                    .collect()
            };
            assert_eq!(refusals(submitter), free);
            // A group that spans shards; they are blocked together.
            let joined = submitter.join_group(all[..4].to_vec(), us, Wait::No);
            assert_eq!(made(joined), Ok(()));
            assert_eq!(made(submitter.block_group(them, CAUSE, Wait::No)), Ok(()));
            assert_eq!(refusals(submitter), free, "nobody is in it");
            let blocked = submitter.block_group(us, CAUSE, Wait::AtMost(LONG));
            assert_eq!(made(blocked), Ok(()));
            assert_eq!(refusals(submitter), half(CAUSE));
            let replaced = submitter.replace_group_block(us, OTHER, Wait::ForRoom);
            assert_eq!(made(replaced), Ok(()));
            assert_eq!(refusals(submitter), half(OTHER));
            assert_eq!(made(submitter.unblock_group(us, Wait::No)), Ok(()));
            assert_eq!(refusals(submitter), free);
            let not_blocked = submitter.replace_group_block(us, OTHER, Wait::No);
            let error = made(not_blocked).expect_err("not blocked");
            assert_eq!(error, LaneError::Driver(BlockError::NotBlocked.into()));
            // Those who leave are free; those who join a blocked group are not.
            let joined = submitter.join_group(vec![all[4], all[0]], them, Wait::No);
            assert_eq!(made(joined), Ok(()));
            let them_only: Vec<_> = [Some(CAUSE), None, None, None, Some(CAUSE)].into();
            assert_eq!(refusals(submitter)[..5], them_only);
            let left = submitter.leave_group(vec![all[0], all[4]], them, Wait::No);
            assert_eq!(made(left), Ok(()));
            assert_eq!(refusals(submitter), free);
            let unknown = submitter.join_group(vec![NOBODY], us, Wait::No);
            let error = made(unknown).expect_err("nobody");
            assert_eq!(
                error,
                LaneError::Driver(LookupError::Account(NOBODY).into())
            );
            // One account, and then everyone.
            for id in &all {
                assert_eq!(made(submitter.block_account(*id, CAUSE, Wait::No)), Ok(()));
            }
            assert_eq!(
                made(submitter.replace_block(all[0], OTHER, Wait::No)),
                Ok(())
            );
            assert_eq!(made(submitter.unblock_account(all[1], Wait::No)), Ok(()));
            let now = refusals(submitter);
            assert_eq!(now[..3], [Some(OTHER), None, Some(CAUSE)]);
            assert_eq!(made(submitter.unblock_all(Wait::No)), Ok(()));
            assert_eq!(refusals(submitter), free);
            assert_eq!(made(submitter.block_group(us, CAUSE, Wait::No)), Ok(()));
            assert_eq!(made(submitter.unblock_all(Wait::No)), Ok(()));
            assert_eq!(refusals(submitter), free);
            // A configuration that refuses everything, one that cannot be, and back.
            let tiny = Arc::new(config("order_size = [{max_quantity = '0.5'}]"));
            assert_eq!(made(submitter.configure(tiny, Wait::No)), Ok(()));
            let refused = refusals(submitter);
            assert!(refused.iter().all(Option::is_some), "{refused:?}");
            let bad = Arc::new(RiskConfig {
                instruments: Vec::new(),
                ..config("")
            });
            let error = made(submitter.configure(bad, Wait::No)).expect_err("instruments");
            assert!(
                matches!(error, LaneError::Driver(RiskError::Config(_))),
                "{error}"
            );
            assert_eq!(refusals(submitter), refused, "the old one stays");
            assert_eq!(
                made(submitter.configure(Arc::new(config("")), Wait::No)),
                Ok(())
            );
            assert_eq!(refusals(submitter), free);
        }
    }};
}

#[test]
fn l04_l13_sharded_changes_hold_on_every_shard_when_they_resolve() {
    type S = Submitter<Desk<RiskEngine>>;
    let engine = sharded(3);
    let mut submitter: S = engine.submitter().expect("submitter");
    everything_is_changed!(Submitter)(&mut submitter);
    let currency = submitter.set_group_currency(group(1), Some(USD), Wait::No);
    assert_eq!(made(currency), Ok(()));
    let all: Vec<_> = (1..=ACCOUNTS).map(AccountId).collect();
    for account in all {
        let of = move |desk: &mut Desk<RiskEngine>| desk.driver().currency_of(account);
        let expected = (account.0 <= 4 && account.0 > 1).then_some(USD);
        assert_eq!(submitter.submit(account, of).wait(), Ok(Ok(expected)));
    }
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
}

#[test]
fn l01_l04_l13_dynamic_changes_hold_for_every_key_when_they_resolve() {
    let risk = SharedRisk::new(&config(""), 4).expect("sound");
    let engine = DynamicBuilder::new()
        .workers(2)
        .build_shared(risk)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    everything_is_changed!(DynamicSubmitter)(&mut submitter);
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
}

/// Work that stands in a lane until the sender is used.
fn gate() -> (Sender<()>, impl FnOnce() + Send + 'static) {
    let (open, gate) = channel();
    (open, move || gate.recv().expect("opened"))
}

#[test]
fn l04_each_change_runs_in_its_own_lane() {
    let risk = SharedRisk::new(&config(""), 2).expect("sound");
    let engine = DynamicBuilder::new()
        .workers(2)
        .max_workers(8)
        .build_shared(risk)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let group = group(1);
    let (one, two) = (AccountId(1), AccountId(2));
    type Sends = fn(&mut DynamicSubmitter<Desk<SharedRisk>>, GroupId) -> ChangeFuture<SharedRisk>;
    let cases: [(LaneKey, LaneKey, Sends); 8] = [
        (group.into(), one.into(), |s, g| {
            s.block_group(g, CAUSE, Wait::No)
        }),
        (group.into(), LaneKey::Engine, |s, g| {
            s.replace_group_block(g, OTHER, Wait::No)
        }),
        (group.into(), one.into(), |s, g| {
            s.unblock_group(g, Wait::No)
        }),
        (group.into(), one.into(), |s, g| {
            s.set_group_currency(g, Some(USD), Wait::No)
        }),
        // Membership: of the accounts that it names, the first one's.
        (two.into(), one.into(), |s, g| {
            s.join_group(vec![AccountId(2), AccountId(1)], g, Wait::No)
        }),
        (two.into(), group.into(), |s, g| {
            s.leave_group(vec![AccountId(2), AccountId(1)], g, Wait::No)
        }),
        (LaneKey::Engine, group.into(), |s, _| {
            s.unblock_all(Wait::No)
        }),
        (LaneKey::Engine, one.into(), |s, _| {
            s.configure(Arc::new(config("")), Wait::No)
        }),
    ];
    for (number, (own, other, send)) in cases.into_iter().enumerate() {
        let (open, stand) = gate();
        let mut held = submitter.submit(own, move |_: &mut Desk<SharedRisk>| stand());
        let mut change = send(&mut submitter, group);
        let mut beside = submitter.submit(other, |_: &mut Desk<SharedRisk>| ());
        assert_eq!(beside.wait(), Ok(()), "case {number}: another lane goes on");
        assert!(
            !change.is_done(),
            "case {number}: behind what its lane runs"
        );
        assert!(change.try_get().is_none());
        assert!(change.wait_timeout(Duration::ZERO).is_none());
        open.send(()).expect("held");
        held.wait().expect("ran");
        assert_eq!(change.wait(), Ok(()), "case {number}");
        let again = change.wait().map_err(|failure| failure.error);
        assert_eq!(again, Err(LaneError::ValueConsumed));
    }
}

/// Each thread's notes, without its name.
fn by_thread(world: &ToyWorld) -> Vec<Vec<(&'static str, u64)>> {
    let mut notes: HashMap<ThreadId, Vec<_>> = HashMap::new();
    for (what, number, thread) in world.log.lock().expect("log").iter() {
        notes.entry(*thread).or_default().push((*what, *number));
    }
    notes.into_values().collect()
}

fn toys(world: &ToyWorld, shards: usize) -> AsyncEngine<Desk<Toy>> {
    planted::quiet();
    EngineBuilder::new()
        .shards(shards)
        .build(world.factory())
        .expect("engine")
}

/// Lets others run between a submit's pushes.
#[derive(Clone)]
struct Yielding;

impl Observer for Yielding {
    type Hooks = Self;
    fn hooks(&self, _: Place) -> Self {
        Self
    }
}

impl Hooks for Yielding {
    fn on_enqueue(&mut self, _: LaneKey, _: usize) {
        thread::yield_now();
    }
}

#[test]
fn l04_every_shard_makes_all_changes_in_one_order() {
    const SENDERS: u64 = 3;
    const EACH: u64 = 1_000;
    planted::quiet();
    let world = ToyWorld::new();
    let engine = EngineBuilder::new()
        .shards(3)
        .observer(Yielding)
        .build(world.factory())
        .expect("engine");
    let sequencer = engine.sequencer().expect("sequencer");
    let start = Barrier::new(4);
    thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (mut submitter, start) = (engine.submitter().expect("submitter"), &start);
            scope.spawn(move || {
                let mut changes = VecDeque::new();
                start.wait();
                for n in 0..EACH {
                    let number = 10_000 * (sender + 1) + n;
                    // Two groups: what orders them is not their lane.
                    let group = group(if n % 2 == 0 { 1 } else { 2 });
                    changes.push_back(submitter.block_group(group, number, Wait::ForRoom));
                    if changes.len() == 32 {
                        assert_eq!(changes.pop_front().map(made), Some(Ok(())));
                    }
                }
                for change in changes {
                    assert_eq!(made(change), Ok(()));
                }
            });
        }
        start.wait();
        for n in 0..50 {
            let change = move |desk: &mut Desk<Toy>| desk.driver().change(&Change::Configure(n));
            let all = sequencer.everywhere(change).expect("running").wait();
            assert!(all.iter().all(|outcome| *outcome == Ok(Ok(()))));
        }
    });
    let orders = by_thread(&world);
    assert_eq!(orders.len(), 3);
    assert_eq!(orders[0].len() as u64, SENDERS * EACH + 50);
    assert!(orders.iter().all(|order| *order == orders[0]));
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
}

#[test]
fn l04_of_a_change_of_membership_each_shard_gets_its_own_accounts() {
    let world = ToyWorld::new();
    let engine = toys(&world, 3);
    let mut submitter = engine.submitter().expect("submitter");
    let accounts: Vec<_> = (1..=20).map(AccountId).collect();
    let joined = submitter.join_group(accounts.clone(), group(1), Wait::No);
    assert_eq!(made(joined), Ok(()));
    let mut sums: Vec<_> = by_thread(&world)
        .into_iter()
        .map(|notes| notes[0])
        .collect();
    sums.sort_unstable();
    let of_shard = |shard| {
        let own = accounts
            .iter()
            .filter(|a| LaneKey::Account(**a).shard(3).0 == shard);
        ("join", own.map(|account| account.0).sum())
    };
    let mut expected: Vec<(_, u64)> = (0..3).map(of_shard).collect();
    expected.sort_unstable();
    assert_eq!(sums, expected);
    let mut nobody = submitter.leave_group(Vec::new(), group(1), Wait::No);
    assert!(nobody.is_done(), "at once");
    let failure = nobody.wait().expect_err("no account");
    assert_eq!(failure.error, LaneError::MissingAccountId);
    assert_eq!(
        failure.payload,
        Some(Change::LeaveGroup(Vec::new(), group(1)))
    );
}

#[test]
fn l13_l14_a_change_that_fails_on_the_engine_is_its_own_error() {
    let world = ToyWorld::new();
    let engine = toys(&world, 2);
    let mut submitter = engine.submitter().expect("submitter");
    let mut failed = submitter.block_group(group(1), FAIL, Wait::No);
    let failure = failed.wait().expect_err("fails");
    assert_eq!(failure.error, LaneError::Driver(ToyError));
    assert_eq!(failure.payload, None, "the driver has seen it");
}

/// Holds up the lane of account 1, and fills its ring for orders.
fn fill(
    submitter: &mut Submitter<Desk<Toy>>,
    world: &ToyWorld,
    reserve: usize,
) -> Vec<LaneFuture<()>> {
    let stand = |desk: &mut Desk<Toy>| desk.driver().wait_at_gate();
    let mut futures = vec![submitter.submit(AccountId(1), stand)];
    world.until_reached();
    while let Ok(future) = submitter.try_submit(AccountId(1), |_: &mut Desk<Toy>| ()) {
        futures.push(future);
    }
    for _ in 0..reserve {
        // Facts, which use the reserve.
        drop(submitter.apply_execution_report((AccountId(1), 1), Wait::No));
    }
    futures
}

#[test]
fn l04_l12_l16_a_change_that_finds_no_room_on_one_shard_is_taken_by_none() {
    const CAPACITY: usize = 16;
    const RESERVE: usize = 4;
    planted::quiet();
    let world = ToyWorld::new();
    let engine = EngineBuilder::new()
        .shards(2)
        .ring_capacity(CAPACITY)
        .fact_reserve(RESERVE)
        .build(world.factory())
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let _orders = fill(&mut submitter, &world, 0);
    // Orders are refused, a change is not: it may use the reserve.
    let mut changes: Vec<_> = (0..RESERVE as u64)
        .map(|cause| submitter.block_group(group(1), cause, Wait::No))
        .collect();
    assert!(changes.iter().all(|change| !change.is_done()));
    let refused = |mut change: ChangeFuture<Toy>| {
        assert!(change.is_done(), "at once");
        change
            .wait()
            .map_err(|failure| (failure.error, failure.payload))
    };
    let change = Change::BlockGroup(group(1), 9);
    let full = refused(submitter.change(change.clone(), Wait::No));
    assert_eq!(full, Err((LaneError::Full, Some(change.clone()))));
    let brief = Wait::AtMost(Duration::from_millis(5));
    let late = refused(submitter.change(change.clone(), brief));
    assert_eq!(
        late,
        Err((LaneError::SubmitCancelled, Some(change.clone())))
    );
    let expired = refused(submitter.change(change.clone(), Wait::AtMost(Duration::ZERO)));
    assert_eq!(
        expired,
        Err((LaneError::SubmitCancelled, Some(change.clone())))
    );
    // One that waits gets in when the lane goes on.
    let waited = thread::scope(|scope| {
        let waiter = scope.spawn(|| made(submitter.block_group(group(1), 7, Wait::ForRoom)));
        world.open();
        waiter.join().expect("waiter")
    });
    assert_eq!(waited, Ok(()));
    for change in &mut changes {
        assert_eq!(change.wait(), Ok(()));
    }
    let orders = by_thread(&world);
    let expected: Vec<_> = [0, 1, 2, 3, 7].map(|cause| ("block_group", cause)).into();
    assert_eq!(
        orders,
        [expected.clone(), expected],
        "and none of the refused"
    );
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
}

#[test]
fn l16_l25_a_stop_gives_changes_back_that_no_lane_began() {
    let world = ToyWorld::new();
    let engine = Arc::new(toys(&world, 1));
    let mut submitter = engine.submitter().expect("submitter");
    let mut probe = engine.submitter().expect("submitter");
    let _orders = fill(&mut submitter, &world, 0);
    let mut waits = submitter.configure(5, Wait::No);
    let stopper = {
        let engine = Arc::clone(&engine);
        thread::spawn(move || engine.stop_hard(LONG))
    };
    let refused = loop {
        let mut change = probe.block_group(group(1), 5, Wait::No);
        if let Some(Err(failure)) = change.try_get()
            && failure.error == LaneError::Stopped
        {
            break failure.payload;
        }
        thread::yield_now();
    };
    assert_eq!(refused, Some(Change::BlockGroup(group(1), 5)));
    world.open();
    assert!(
        stopper
            .join()
            .expect("stopper")
            .expect("stop")
            .is_balanced()
    );
    let failure = waits.wait().expect_err("aborted");
    assert_eq!(failure.error, LaneError::Stopped);
    assert_eq!(failure.payload, Some(Change::Configure(5)));
}

#[test]
fn l36_a_change_from_inside_a_lane_that_it_concerns_is_refused() {
    let world = ToyWorld::new();
    let engine = Arc::new(toys(&world, 2));
    let mut submitter = engine.submitter().expect("submitter");
    let inner = Arc::new(Mutex::new(engine.submitter().expect("submitter")));
    let inside = Arc::clone(&inner);
    let mut refused = submitter.submit(AccountId(1), move |_: &mut Desk<Toy>| {
        let mut submitter = inside.lock().expect("inner");
        let mut change = submitter.block_group(group(1), 5, Wait::ForRoom);
        assert!(change.is_done());
        change
            .wait()
            .map_err(|failure| (failure.error, failure.payload.is_some()))
    });
    assert_eq!(refused.wait(), Ok(Err((LaneError::ReentrantLane, true))));
    assert!(world.calls().is_empty());
    // A future that came from outside is not waited for inside, and stays good.
    let change = inner
        .lock()
        .expect("inner")
        .block_group(group(1), 6, Wait::ForRoom);
    let mut outcome = submitter.submit(AccountId(1), move |_: &mut Desk<Toy>| {
        let mut change = change;
        let waited = if change.is_done() {
            Err(LaneError::ReentrantLane)
        } else {
            change.wait().map_err(|failure| failure.error)
        };
        (waited, Box::new(change))
    });
    let (waited, mut change) = outcome.wait().expect("ran");
    assert_eq!(waited, Err(LaneError::ReentrantLane));
    assert_eq!(change.wait(), Ok(()));
}

#[test]
fn l21_a_change_is_a_future_with_one_waker() {
    let world = ToyWorld::new();
    let engine = toys(&world, 2);
    let mut submitter = engine.submitter().expect("submitter");
    let stand = |desk: &mut Desk<Toy>| desk.driver().wait_at_gate();
    let _held = submitter.submit(AccountId(1), stand);
    world.until_reached();
    let mut change = submitter.unblock_all(Wait::No);
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut change).poll(&mut context).is_pending());
    world.open();
    assert!(
        change
            .wait_timeout(LONG)
            .is_some_and(|outcome| outcome.is_ok())
    );
    let again = Pin::new(&mut change).poll(&mut context);
    assert!(
        matches!(again, Poll::Ready(Err(failure)) if failure.error == LaneError::ValueConsumed)
    );
}
