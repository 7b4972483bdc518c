//! Random programs of chains that wait, reports, orders, cancels, time and
//! stops, against a plain model: what runs in which order, and that everything
//! resolves (rules L6, L27, L35).

#[path = "support/toy_engine.rs"]
mod toy_engine;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pitlane::lanes::{
    ChainEnd, ChainError, ChainFuture, Desk, EngineBuilder, Heard, HookResult, Lane, LaneError,
    LaneFuture, NoopObserver, Progress, Submitter, Wait, WaitLimit, chain,
};
use pitlane::time::{SimClock, UnixNanos};
use pitlane::types::AccountId;
use proptest::prelude::*;
use toy_engine::{Toy, ToyError, ToyWorld};

const ACCOUNTS: usize = 3;
/// A wait's time limit.
const LIMIT_MS: u64 = 10;
/// Two accounts' worth of line places.
const SLOTS: usize = 64;
const PER_ACCOUNT: usize = 8;

/// What a chain does between two waits, and how it hears.
#[derive(Clone, Copy, Debug)]
enum Hears {
    /// Goes on by a report of this value.
    Value(u64),
    /// Fails by the first report.
    Fails,
    /// Panics at the first report.
    Panics,
    /// Waits for its steps, which take so many milliseconds.
    Steps(u64),
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    waits: [Hears; 2],
    /// Whether a time that is up fails it.
    late_fails: bool,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Chain(usize, Plan),
    Order(usize),
    Report(usize, u64),
    Adjust(usize),
    /// Nobody waits for the chain any more.
    DropFuture(usize),
    Advance(u64),
    /// The lane runs until it has nothing to do.
    Turn,
}

fn hears() -> impl Strategy<Value = Hears> {
    prop_oneof![
        4 => (1u64..4).prop_map(Hears::Value),
        1 => Just(Hears::Fails),
        1 => Just(Hears::Panics),
        2 => (1u64..20).prop_map(Hears::Steps),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let plan = ([hears(), hears()], any::<bool>())
        .prop_map(|(waits, late_fails)| Plan { waits, late_fails });
    prop_oneof![
        3 => (0..ACCOUNTS, plan).prop_map(|(account, plan)| Act::Chain(account, plan)),
        6 => (0..ACCOUNTS).prop_map(Act::Order),
        6 => (0..ACCOUNTS, 1u64..4).prop_map(|(account, value)| Act::Report(account, value)),
        1 => (0..ACCOUNTS).prop_map(Act::Adjust),
        1 => (0..8usize).prop_map(Act::DropFuture),
        2 => (1u64..8).prop_map(Act::Advance),
        6 => Just(Act::Turn),
    ]
}

/// What was sent, in order of sending, by number.
#[derive(Clone, Copy, Debug)]
enum Sent {
    Chain(usize, Plan),
    Order(usize),
    Report(usize, u64),
    Adjust(usize),
}

impl Sent {
    fn account(self) -> usize {
        match self {
            Self::Chain(account, _)
            | Self::Order(account)
            | Self::Report(account, _)
            | Self::Adjust(account) => account,
        }
    }
}

/// What happened, in the lane.
type Seen = (usize, &'static str);

/// How an operation resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Resolved {
    Ran,
    Failed,
    Full,
    Stopped,
}

/// The plain model of a lane: a queue, and a line for each account.
#[derive(Default)]
struct Model {
    queue: VecDeque<(usize, Sent)>,
    lines: [VecDeque<(usize, Sent)>; ACCOUNTS],
    waits: [Option<(usize, Plan, usize, u64)>; ACCOUNTS],
    /// Accounts whose chain is done, in that order.
    releasing: VecDeque<usize>,
    now: u64,
    seen: Vec<Seen>,
    resolved: Vec<(usize, Resolved)>,
}

impl Model {
    fn holds(&self, account: usize) -> bool {
        self.waits[account].is_some() || self.releasing.contains(&account)
    }

    fn wait(&mut self, number: usize, account: usize, plan: Plan, place: usize) {
        match plan.waits.get(place) {
            None => {
                self.seen.push((number, "done"));
                self.end(number, account, Resolved::Ran);
            }
            Some(_) => {
                let due = self.now
                    + match plan.waits[place] {
                        Hears::Steps(takes) => takes.min(LIMIT_MS),
                        _ => LIMIT_MS,
                    };
                self.waits[account] = Some((number, plan, place, due));
            }
        }
    }

    fn end(&mut self, number: usize, account: usize, how: Resolved) {
        self.waits[account] = None;
        self.resolved.push((number, how));
        self.releasing.push_back(account);
    }

    fn run(&mut self, number: usize, sent: Sent) {
        match sent {
            Sent::Chain(account, plan) => {
                self.seen.push((number, "begin"));
                self.wait(number, account, plan, 0);
            }
            Sent::Order(_) => {
                self.seen.push((number, "order"));
                self.resolved.push((number, Resolved::Ran));
            }
            Sent::Adjust(_) => self.resolved.push((number, Resolved::Ran)),
            Sent::Report(account, value) => {
                self.resolved.push((number, Resolved::Ran));
                let Some((chain, plan, place, _)) = self.waits[account] else {
                    return;
                };
                match plan.waits[place] {
                    Hears::Value(wanted) => {
                        self.seen.push((chain, "heard"));
                        if wanted == value {
                            self.wait(chain, account, plan, place + 1);
                        }
                    }
                    Hears::Fails | Hears::Panics => {
                        self.seen.push((chain, "heard"));
                        self.end(chain, account, Resolved::Failed);
                    }
                    Hears::Steps(_) => {}
                }
            }
        }
    }

    fn take(&mut self, number: usize, sent: Sent) {
        let account = sent.account();
        let is_order = matches!(sent, Sent::Chain(..) | Sent::Order(_));
        if !is_order || !self.holds(account) {
            self.run(number, sent);
        } else if self.lines[account].len() < PER_ACCOUNT
            && self.lines.iter().map(VecDeque::len).sum::<usize>() < SLOTS / 2
        {
            self.lines[account].push_back((number, sent));
        } else {
            self.resolved.push((number, Resolved::Full));
        }
    }

    /// What was sent, then whatever is due, and whatever may run then.
    fn settle(&mut self) {
        while let Some((number, sent)) = self.queue.pop_front() {
            self.take(number, sent);
        }
        loop {
            let due = (0..ACCOUNTS)
                .filter_map(|account| {
                    let (.., due) = self.waits[account]?;
                    (due <= self.now).then_some((due, account))
                })
                .min();
            if let Some((_, account)) = due {
                self.time_up(account);
                continue;
            }
            let Some(account) = self.releasing.front().copied() else {
                break;
            };
            if self.waits[account].is_none()
                && let Some((number, sent)) = self.lines[account].pop_front()
            {
                self.run(number, sent);
                continue;
            }
            self.releasing.pop_front();
        }
    }

    fn time_up(&mut self, account: usize) {
        let Some((number, plan, place, _)) = self.waits[account].take() else {
            return;
        };
        let late = !matches!(plan.waits[place], Hears::Steps(takes) if takes < LIMIT_MS);
        self.seen
            .push((number, if late { "late" } else { "steps" }));
        if late && plan.late_fails {
            self.end(number, account, Resolved::Failed);
        } else {
            self.wait(number, account, plan, place + 1);
        }
    }

    /// A hard stop.
    fn stop(&mut self) {
        for wait in &mut self.waits {
            if let Some((number, ..)) = wait.take() {
                self.resolved.push((number, Resolved::Failed));
            }
        }
        let lines = self.lines.iter_mut().flat_map(|line| line.drain(..));
        for (number, _) in self.queue.drain(..).chain(lines) {
            self.resolved.push((number, Resolved::Stopped));
        }
    }

    fn act(&mut self, number: usize, act: Act) {
        let sent = match act {
            Act::Chain(account, plan) => Sent::Chain(account, plan),
            Act::Order(account) => Sent::Order(account),
            Act::Report(account, value) => Sent::Report(account, value),
            Act::Adjust(account) => Sent::Adjust(account),
            Act::Advance(ms) => {
                self.now += ms;
                return;
            }
            Act::Turn => return self.settle(),
            Act::DropFuture(_) => return,
        };
        self.queue.push_back((number, sent));
    }
}

type Log = Arc<Mutex<Vec<Seen>>>;

/// What a chain's state is: its number, and where it notes what it sees.
type State = (usize, Log);

fn note(state: &State, what: &'static str) {
    state.1.lock().expect("log").push((state.0, what));
}

fn late(state: &State, fails: bool) -> HookResult {
    note(state, "late");
    if fails { Err("late".into()) } else { Ok(()) }
}

/// A future of what was sent; looked at until it has resolved.
enum Future {
    Chain(ChainFuture<Toy, State>),
    Order(LaneFuture<()>),
    Report(LaneFuture<u64, ToyError, (AccountId, u64)>),
    Adjust(LaneFuture<(), ToyError, Vec<u64>>),
}

fn of_error<E, P>(error: &LaneError<E>, payload: Option<&P>, has_payload: bool) -> Resolved {
    assert_eq!(payload.is_some(), has_payload);
    match error {
        LaneError::Full => Resolved::Full,
        LaneError::Stopped => Resolved::Stopped,
        _ => panic!("another error"),
    }
}

impl Future {
    fn resolved(&mut self) -> Option<Resolved> {
        Some(match self {
            Self::Chain(future) => match future.try_get()? {
                Ok(outcome) => match outcome.end {
                    ChainEnd::Completed => Resolved::Ran,
                    ChainEnd::Failed(
                        ChainError::Hook(_) | ChainError::HookPanicked | ChainError::Stopped,
                    ) => Resolved::Failed,
                    other => panic!("{other:?}"),
                },
                Err(failure) => of_error(&failure.error, failure.payload.as_ref(), true),
            },
            Self::Order(future) => match future.try_get()? {
                Ok(()) => Resolved::Ran,
                Err(failure) => of_error(&failure.error, failure.payload.as_ref(), false),
            },
            Self::Report(future) => match future.try_get()? {
                Ok(_) => Resolved::Ran,
                Err(failure) => of_error(&failure.error, failure.payload.as_ref(), true),
            },
            Self::Adjust(future) => match future.try_get()? {
                Ok(()) => Resolved::Ran,
                Err(failure) => of_error(&failure.error, failure.payload.as_ref(), true),
            },
        })
    }
}

struct Real {
    world: ToyWorld,
    clock: SimClock,
    lane: Lane<Desk<Toy>, NoopObserver, SimClock>,
    submitter: Submitter<Desk<Toy>, NoopObserver, SimClock>,
    futures: Vec<(usize, Option<Future>)>,
    log: Log,
    resolved: Vec<(usize, Resolved)>,
}

impl Real {
    fn settle(&mut self) {
        while self.lane.turn(64) == Progress::Worked {}
        self.look();
    }

    fn look(&mut self) {
        for (number, place) in &mut self.futures {
            if let Some(resolved) = place.as_mut().and_then(Future::resolved) {
                self.resolved.push((*number, resolved));
                *place = None;
            }
        }
    }

    fn chain(&mut self, number: usize, account: AccountId, plan: Plan) -> Future {
        let log = Arc::clone(&self.log);
        let mut built = chain::<Toy, State, _>(account, move || {
            let state = (number, log);
            note(&state, "begin");
            Ok(state)
        });
        let limit = WaitLimit::new(Duration::from_millis(LIMIT_MS)).expect("a limit");
        let fails = plan.late_fails;
        for hears in plan.waits {
            built = match hears {
                Hears::Steps(takes) => built.wait_for_steps(
                    limit,
                    move |step| {
                        use pitlane::steps::Compose;
                        step.add_or(
                            move |step, ()| step.set_timeout(Duration::from_millis(takes)),
                            move |step, _| {
                                if takes < LIMIT_MS {
                                    step.success(())
                                } else {
                                    Ok(())
                                }
                            },
                        );
                        Ok(())
                    },
                    move |state, end| match end {
                        Ok(()) => {
                            note(state, "steps");
                            Ok(())
                        }
                        Err(_) => late(state, fails),
                    },
                ),
                _ => built.wait_for_report(
                    limit,
                    move |state, settled| {
                        note(state, "heard");
                        match hears {
                            Hears::Value(value) if value == settled.report().1 => Ok(Heard::Enough),
                            Hears::Value(_) => Ok(Heard::Waiting),
                            Hears::Fails => Err("planted".into()),
                            _ => panic!("a planted panic"),
                        }
                    },
                    move |state| late(state, fails),
                ),
            };
        }
        let built = built.then(|state| {
            note(state, "done");
            Ok(())
        });
        Future::Chain(built.run(&mut self.submitter, Wait::No))
    }

    fn act(&mut self, number: usize, act: Act) {
        let id = |account: usize| AccountId(account as u64 + 1);
        let future = match act {
            Act::Chain(account, plan) => self.chain(number, id(account), plan),
            Act::Order(account) => {
                let state = (number, Arc::clone(&self.log));
                let run = move |_: &mut Desk<Toy>| note(&state, "order");
                Future::Order(self.submitter.submit(id(account), run))
            }
            Act::Report(account, value) => {
                let report = (id(account), value);
                Future::Report(self.submitter.apply_execution_report(report, Wait::No))
            }
            Act::Adjust(account) => Future::Adjust(self.submitter.apply_account_adjustment(
                id(account),
                vec![1],
                Wait::No,
            )),
            Act::DropFuture(place) => {
                if let Some((_, future)) = self.futures.get_mut(place) {
                    *future = None;
                }
                return;
            }
            Act::Advance(ms) => return self.clock.advance(Duration::from_millis(ms)),
            Act::Turn => return self.settle(),
        };
        self.futures.push((number, Some(future)));
    }
}

/// By account, because accounts have no order among them.
fn by_account(seen: &[Seen], acts: &[Act]) -> [Vec<Seen>; ACCOUNTS] {
    core::array::from_fn(|account| {
        let of = |number: usize| match acts[number] {
            Act::Chain(of, _) | Act::Order(of) => of,
            _ => ACCOUNTS,
        };
        seen.iter()
            .copied()
            .filter(|(number, _)| of(*number) == account)
            .collect()
    })
}

fn check(acts: &[Act], hard: bool) -> Result<(), TestCaseError> {
    std::panic::set_hook(Box::new(|_| {}));
    let world = ToyWorld::new();
    let clock = SimClock::new(UnixNanos(0));
    let (engine, mut seeds) = EngineBuilder::new()
        .clock(clock.clone())
        .completion_slots(SLOTS)
        .build_inline(world.factory())
        .expect("engine");
    let mut real = Real {
        world,
        clock,
        lane: seeds.remove(0).build(),
        submitter: engine.submitter().expect("submitter"),
        futures: Vec::new(),
        log: Log::default(),
        resolved: Vec::new(),
    };
    let mut model = Model::default();
    for (number, &act) in acts.iter().enumerate() {
        model.act(number, act);
        real.act(number, act);
    }
    let Real {
        world: _world,
        clock,
        mut lane,
        submitter,
        futures,
        log,
        resolved,
    } = real;
    drop(submitter);
    if hard {
        model.stop();
        drop(lane);
    } else {
        model.settle();
        while model.waits.iter().any(Option::is_some) {
            model.now += 1;
            model.settle();
        }
        let stopping = std::thread::spawn(move || engine.stop_graceful(Duration::from_secs(20)));
        while lane.turn(64) != Progress::Finished {
            // Until what is ready has run, then the next millisecond.
            while lane.turn(64) == Progress::Worked {}
            clock.advance(Duration::from_millis(1));
        }
        let report = stopping.join().expect("joined").expect("stopped");
        prop_assert!(report.is_balanced(), "{:?}", report);
    }
    let mut resolved = resolved;
    let mut kept: Vec<usize> = resolved.iter().map(|(number, _)| *number).collect();
    for (number, future) in futures {
        if let Some(mut future) = future {
            let how = future.resolved();
            prop_assert!(how.is_some(), "operation {} did not resolve", number);
            resolved.extend(how.map(|how| (number, how)));
            kept.push(number);
        }
    }
    model.resolved.retain(|(number, _)| kept.contains(number));
    model.resolved.sort_by_key(|(number, _)| *number);
    resolved.sort_by_key(|(number, _)| *number);
    prop_assert_eq!(resolved, model.resolved);
    let seen = log.lock().expect("log").clone();
    prop_assert_eq!(by_account(&seen, acts), by_account(&model.seen, acts));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn l35_random_programs_of_waiting_chains_do_what_a_plain_model_says(
        acts in proptest::collection::vec(act(), 0..60),
        hard in any::<bool>(),
    ) {
        check(&acts, hard)?;
    }
}
