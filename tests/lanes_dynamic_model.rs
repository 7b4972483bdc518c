//! Random programs against a sequential oracle (rule L37), for the dynamic
//! strategy: keys are held and released, queues retire and come back, futures
//! are taken or dropped, submitters come and go.

#[path = "support/pages.rs"]
mod pages;

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pages::{Entry, LONG, Library, Page, WAIT};
use pitlane::lanes::{
    DynamicBuilder, DynamicEngine, DynamicSubmitter, LaneError, LaneFuture, NoopObserver,
};
use pitlane::time::{SimClock, UnixNanos};
use pitlane::types::AccountId;
use proptest::prelude::*;

const KEYS: u64 = 6;
const QUEUES: usize = 4;
const CAPACITY: usize = 6;
const RESERVE: usize = 2;
const IDLE: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug)]
enum Step {
    NewSubmitter,
    DropSubmitter(usize),
    Send(usize, u64, bool),
    Submit(usize, u64),
    Hold(usize, u64),
    Release(u64),
    Idle,
    Take(usize),
    Forget(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..KEYS;
    prop_oneof![
        1 => Just(Step::NewSubmitter),
        1 => any::<usize>().prop_map(Step::DropSubmitter),
        10 => (any::<usize>(), key.clone(), any::<bool>())
            .prop_map(|(s, k, fact)| Step::Send(s, k, fact)),
        6 => (any::<usize>(), key.clone()).prop_map(|(s, k)| Step::Submit(s, k)),
        2 => (any::<usize>(), key.clone()).prop_map(|(s, k)| Step::Hold(s, k)),
        2 => key.prop_map(Step::Release),
        1 => Just(Step::Idle),
        3 => any::<usize>().prop_map(Step::Take),
        1 => any::<usize>().prop_map(Step::Forget),
    ]
}

/// One key, as the oracle sees it.
#[derive(Default)]
struct Lane {
    has_queue: bool,
    /// Its first operation waits at the gate.
    held: bool,
    waiting: Vec<u64>,
    ran: Vec<u64>,
}

type Sim = SimClock;

struct World {
    library: Arc<Library>,
    clock: Sim,
    engine: DynamicEngine<Page, NoopObserver, Sim>,
    submitters: Vec<DynamicSubmitter<Page, NoopObserver, Sim>>,
    futures: Vec<(u64, u64, LaneFuture<u64>)>,
    lanes: HashMap<u64, Lane>,
    value: u64,
    accepted: u64,
}

impl World {
    /// Whether the oracle takes an operation, or why not.
    fn accept(&mut self, key: u64, value: u64, fact: bool) -> Result<(), LaneError> {
        let queues = self.lanes.values().filter(|lane| lane.has_queue).count();
        let lane = self.lanes.entry(key).or_default();
        if !lane.has_queue && queues >= QUEUES && !fact {
            return Err(LaneError::QueueLimit);
        }
        lane.has_queue = true;
        if lane.waiting.len() + if fact { 0 } else { RESERVE } >= CAPACITY {
            return Err(LaneError::Full);
        }
        self.accepted += 1;
        if lane.held {
            lane.waiting.push(value);
        } else {
            lane.ran.push(value);
        }
        Ok(())
    }

    /// Waits until everything that no gate holds has run.
    fn settle(&self) -> Result<(), TestCaseError> {
        let ran: usize = self.lanes.values().map(|lane| lane.ran.len()).sum();
        let deadline = Instant::now() + LONG;
        while self.library.len() < ran {
            prop_assert!(Instant::now() < deadline, "accepted, but not run");
            thread::yield_now();
        }
        prop_assert_eq!(self.library.len(), ran);
        Ok(())
    }

    fn apply(&mut self, step: Step) -> Result<(), TestCaseError> {
        self.value += 1;
        let value = self.value;
        let count = self.submitters.len();
        match step {
            Step::NewSubmitter if count < 4 => {
                self.submitters.push(self.engine.submitter().expect("room"));
            }
            Step::DropSubmitter(which) if count > 1 => {
                self.submitters.remove(which % count);
            }
            Step::Send(which, key, fact) => {
                let entry = Entry {
                    account: key,
                    value,
                };
                let submitter = &mut self.submitters[which % count];
                let sent = if fact {
                    submitter.try_send_fact(entry)
                } else {
                    submitter.try_send(entry)
                };
                if let Err(refused) = &sent {
                    prop_assert_eq!(refused.payload, entry);
                }
                let expected = self.accept(key, value, fact);
                prop_assert_eq!(sent.map_err(|refused| refused.error), expected);
            }
            Step::Submit(which, key) => {
                let work = move |page: &mut Page| {
                    page.write(key, value);
                    value * 2
                };
                let sent = self.submitters[which % count].try_submit(AccountId(key), work);
                let expected = self.accept(key, value, false);
                match sent {
                    Ok(future) => {
                        prop_assert_eq!(expected, Ok(()));
                        self.futures.push((key, value, future));
                    }
                    Err(refused) => prop_assert_eq!(Err(refused.error), expected),
                }
            }
            Step::Hold(which, key) if self.lanes.get(&key).is_none_or(|lane| !lane.held) => {
                let entry = Entry {
                    account: key,
                    value: WAIT,
                };
                self.submitters[which % count]
                    .try_send_fact(entry)
                    .expect("an idle key has room");
                self.library.until_reached(key);
                let lane = self.lanes.entry(key).or_default();
                (lane.held, lane.has_queue) = (true, true);
                self.accepted += 1;
            }
            Step::Release(key) => self.release(key),
            Step::Idle => {
                let held = self.lanes.values().filter(|lane| lane.held).count();
                let deadline = Instant::now() + LONG;
                while self.engine.queues() > held {
                    prop_assert!(Instant::now() < deadline, "an idle queue stays");
                    self.clock.advance(IDLE);
                    thread::yield_now();
                }
                for lane in self.lanes.values_mut() {
                    lane.has_queue = lane.held;
                }
            }
            Step::Take(which) if !self.futures.is_empty() => {
                let which = which % self.futures.len();
                let (key, value, future) = &mut self.futures[which];
                if self.lanes[key].ran.contains(value) {
                    prop_assert_eq!(future.wait(), Ok(*value * 2));
                    drop(self.futures.swap_remove(which));
                } else {
                    prop_assert!(future.wait_timeout(Duration::ZERO).is_none());
                }
            }
            Step::Forget(which) if !self.futures.is_empty() => {
                let which = which % self.futures.len();
                drop(self.futures.swap_remove(which));
            }
            _ => {}
        }
        self.settle()
    }

    fn release(&mut self, key: u64) {
        if let Some(lane) = self.lanes.get_mut(&key)
            && lane.held
        {
            lane.held = false;
            lane.ran.push(WAIT);
            let waiting = std::mem::take(&mut lane.waiting);
            lane.ran.extend(waiting);
            self.library.open(key);
        }
    }
}

fn run(steps: Vec<Step>, hard: bool) -> Result<(), TestCaseError> {
    let library = Arc::new(Library::default());
    let clock = SimClock::new(UnixNanos(0));
    let engine = DynamicBuilder::new()
        .workers(1)
        // Every key may be held, and one is never.
        .max_workers(usize::try_from(KEYS).expect("few") + 1)
        .max_queues(QUEUES)
        .queue_capacity(CAPACITY)
        .fact_reserve(RESERVE)
        .idle_cleanup_after(IDLE)
        .clock(clock.clone())
        .build(library.pages())
        .expect("engine");
    let mut world = World {
        submitters: vec![engine.submitter().expect("submitter")],
        library: Arc::clone(&library),
        clock,
        engine,
        futures: Vec::new(),
        lanes: HashMap::new(),
        value: 0,
        accepted: 0,
    };
    let mut outcome = Ok(());
    for step in steps {
        outcome = world.apply(step);
        if outcome.is_err() {
            break;
        }
    }
    // Even a failure must not leave a gate shut under a stop.
    let mut aborted = 0;
    if hard {
        // The phase is raised before any gate opens, so what waits is aborted.
        let _ = world.engine.stop_hard(Duration::ZERO);
        for lane in world.lanes.values_mut() {
            aborted += lane.waiting.len() as u64;
            lane.waiting.clear();
        }
    }
    for key in 0..KEYS {
        world.release(key);
    }
    let report = world.engine.stop_graceful(LONG).expect("finished");
    outcome?;
    prop_assert!(report.is_balanced(), "{:?}", report);
    prop_assert_eq!(report.accepted, world.accepted);
    prop_assert_eq!(report.aborted, aborted);
    for (key, value, mut future) in world.futures {
        let outcome = future.try_get().expect("a stop resolves everything");
        if world.lanes[&key].ran.contains(&value) {
            prop_assert_eq!(outcome, Ok(value * 2));
        } else {
            prop_assert_eq!(outcome.map_err(|f| f.error), Err(LaneError::Stopped));
        }
    }
    for (key, lane) in &world.lanes {
        prop_assert_eq!(library.values(*key), lane.ran.clone());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn l02_l06_l37_random_programs_match_a_sequential_oracle(
        steps in proptest::collection::vec(step(), 0..80),
        hard in any::<bool>(),
    ) {
        run(steps, hard)?;
    }
}
