//! Random programs against a sequential oracle (rule L37): submitters come and
//! go, lanes are turned at any moment, futures are taken, timed out or dropped.
//! Everything is on one thread, so the oracle knows the exact order.

#[path = "support/book.rs"]
mod book;

use std::collections::VecDeque;
use std::time::Duration;

use book::{Book, Entry, library};
use pitlane::lanes::{
    AsyncEngine, Class, EngineBuilder, Lane, LaneError, LaneFuture, Progress, Submitter,
};
use pitlane::types::AccountId;
use proptest::prelude::*;

const SHARDS: u16 = 2;
const CAPACITY: usize = 16;
const RESERVE: usize = 4;
const SLOTS: usize = 12;

#[derive(Clone, Debug)]
enum Step {
    NewSubmitter,
    DropSubmitter(usize),
    Send(usize, u64, bool),
    Submit(usize, u64),
    Batch(usize, Vec<u64>),
    Direct(u64),
    Turn(usize, usize),
    Take(usize),
    Forget(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let account = 0..6u64;
    prop_oneof![
        1 => Just(Step::NewSubmitter),
        1 => any::<usize>().prop_map(Step::DropSubmitter),
        6 => (any::<usize>(), account.clone(), any::<bool>())
            .prop_map(|(s, a, fact)| Step::Send(s, a, fact)),
        6 => (any::<usize>(), account.clone()).prop_map(|(s, a)| Step::Submit(s, a)),
        3 => (any::<usize>(), proptest::collection::vec(account.clone(), 0..8))
            .prop_map(|(s, all)| Step::Batch(s, all)),
        1 => account.prop_map(Step::Direct),
        6 => (any::<usize>(), 1..9usize).prop_map(|(l, budget)| Step::Turn(l, budget)),
        4 => any::<usize>().prop_map(Step::Take),
        1 => any::<usize>().prop_map(Step::Forget),
    ]
}

/// What waits at a shard, in submission order: whose ring, and the entry.
type Queue = VecDeque<(usize, Entry)>;

/// The sequential oracle.
#[derive(Default)]
struct Oracle {
    queues: [Queue; SHARDS as usize],
    ran: Vec<Entry>,
    accepted: u64,
}

impl Oracle {
    /// Messages of a submitter's ring to a shard.
    fn depth(&self, submitter: usize, shard: usize) -> usize {
        let mine = |entry: &&(usize, Entry)| entry.0 == submitter;
        self.queues[shard].iter().filter(mine).count()
    }

    fn submit(&mut self, submitter: usize, shard: usize, entry: Entry, class: Class) -> bool {
        let reserve = if class == Class::Order { RESERVE } else { 0 };
        if self.depth(submitter, shard) + reserve >= CAPACITY {
            return false;
        }
        self.queues[shard].push_back((submitter, entry));
        self.accepted += 1;
        true
    }

    fn turn(&mut self, shard: usize, budget: usize) -> usize {
        let count = budget.min(self.queues[shard].len());
        for (_, entry) in self.queues[shard].drain(..count) {
            self.ran.push(entry);
        }
        count
    }
}

/// The real thing beside the oracle.
struct World {
    engine: AsyncEngine<Book>,
    lanes: Vec<Lane<Book>>,
    /// With the name by which the oracle knows it, and its futures that are out.
    submitters: Vec<(usize, Submitter<Book>)>,
    names: usize,
    futures: Vec<(usize, Entry, LaneFuture<u64>)>,
    value: u64,
    oracle: Oracle,
}

impl World {
    fn entry(&mut self, account: u64) -> (usize, Entry) {
        self.value += 1;
        let shard = self.engine.shard_of(AccountId(account));
        let entry = Entry {
            account,
            value: self.value,
        };
        (usize::from(shard.0), entry)
    }

    /// Slots that a submitter's futures and abandoned operations hold.
    fn slots_out(&self, name: usize) -> usize {
        self.futures.iter().filter(|f| f.0 == name).count()
    }

    fn apply(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::NewSubmitter => {
                if self.submitters.len() < 5 {
                    let submitter = self.engine.submitter().expect("within the limit");
                    self.submitters.push((self.names, submitter));
                    self.names += 1;
                }
            }
            Step::DropSubmitter(which) => {
                if self.submitters.len() > 1 {
                    let which = which % self.submitters.len();
                    self.submitters.remove(which);
                }
            }
            Step::Send(which, account, fact) => {
                let which = which % self.submitters.len();
                let (shard, entry) = self.entry(account);
                let (name, submitter) = &mut self.submitters[which];
                let (sent, class) = if fact {
                    (submitter.try_send_fact(entry), Class::Fact)
                } else {
                    (submitter.try_send(entry), Class::Order)
                };
                let expected = self.oracle.submit(*name, shard, entry, class);
                prop_assert_eq!(sent.is_ok(), expected);
                if let Err(refused) = sent {
                    prop_assert_eq!(refused.error, LaneError::Full);
                    prop_assert_eq!(refused.payload, entry);
                }
            }
            Step::Submit(which, account) => {
                let which = which % self.submitters.len();
                let (shard, entry) = self.entry(account);
                let name = self.submitters[which].0;
                // A forgotten future's slot comes back when it has run.
                if self.slots_out(name) >= SLOTS / 2 {
                    return Ok(());
                }
                let work = move |book: &mut Book| {
                    book.write(entry.account, entry.value);
                    entry.value * 2
                };
                let submitter = &mut self.submitters[which].1;
                match submitter.try_submit(AccountId(account), work) {
                    Ok(future) => {
                        let taken = self.oracle.submit(name, shard, entry, Class::Order);
                        prop_assert!(taken);
                        self.futures.push((name, entry, future));
                    }
                    Err(refused) => {
                        prop_assert_eq!(refused.error, LaneError::Full);
                    }
                }
            }
            Step::Batch(which, accounts) => {
                let which = which % self.submitters.len();
                let all: Vec<_> = accounts.iter().map(|&a| self.entry(a)).collect();
                let (name, submitter) = &mut self.submitters[which];
                let sent: Vec<bool> = submitter.batch(|batch| {
                    all.iter()
                        .map(|(_, entry)| batch.send(*entry).is_ok())
                        .collect()
                });
                for ((shard, entry), sent) in all.into_iter().zip(sent) {
                    let expected = self.oracle.submit(*name, shard, entry, Class::Order);
                    prop_assert_eq!(sent, expected);
                }
            }
            Step::Direct(account) => {
                let (shard, entry) = self.entry(account);
                self.lanes[shard].command(&entry).expect("running");
                // Everything before it ran first.
                self.oracle.turn(shard, usize::MAX);
                self.oracle.ran.push(entry);
                self.oracle.accepted += 1;
            }
            Step::Turn(lane, budget) => {
                let lane = lane % self.lanes.len();
                let progress = self.lanes[lane].turn(budget);
                let taken = self.oracle.turn(lane, budget);
                let expected = if taken > 0 {
                    Progress::Worked
                } else {
                    Progress::Idle
                };
                prop_assert_eq!(progress, expected);
            }
            Step::Take(which) => {
                if !self.futures.is_empty() {
                    let which = which % self.futures.len();
                    let (_, entry, future) = &mut self.futures[which];
                    let ran = self.oracle.ran.contains(entry);
                    let result = future.wait_timeout(Duration::ZERO);
                    prop_assert_eq!(result.is_some(), ran);
                    if let Some(result) = result {
                        prop_assert_eq!(result, Ok(entry.value * 2));
                        drop(self.futures.swap_remove(which));
                    }
                }
            }
            Step::Forget(which) => {
                if !self.futures.is_empty() {
                    let which = which % self.futures.len();
                    drop(self.futures.swap_remove(which));
                }
            }
        }
        Ok(())
    }
}

fn run(steps: Vec<Step>, hard: bool) -> Result<(), TestCaseError> {
    let (ledger, _opener, factory) = library();
    let (engine, seeds) = EngineBuilder::new()
        .shards(usize::from(SHARDS))
        .ring_capacity(CAPACITY)
        .fact_reserve(RESERVE)
        .completion_slots(SLOTS)
        .build_inline(factory)
        .expect("engine");
    let first = engine.submitter().expect("submitter");
    let mut world = World {
        lanes: seeds.into_iter().map(|seed| seed.build()).collect(),
        engine,
        submitters: vec![(0, first)],
        names: 1,
        futures: Vec::new(),
        value: 0,
        oracle: Oracle::default(),
    };
    for step in steps {
        world.apply(step)?;
        // Account by account, in order, and nothing else.
        let ran = ledger.entries.lock().expect("ledger").len();
        prop_assert_eq!(ran, world.oracle.ran.len());
    }
    let waiting: u64 = world.oracle.queues.iter().map(|q| q.len() as u64).sum();
    if hard {
        world.lanes.clear();
    } else {
        prop_assert!(world.engine.refuse_new_work());
        for lane in &mut world.lanes {
            while lane.turn(7) != Progress::Finished {}
        }
        for shard in 0..usize::from(SHARDS) {
            world.oracle.turn(shard, usize::MAX);
        }
    }
    let report = world
        .engine
        .stop_hard(Duration::from_secs(5))
        .expect("finished");
    prop_assert!(report.is_balanced(), "{:?}", report);
    prop_assert_eq!(report.accepted, world.oracle.accepted);
    prop_assert_eq!(report.aborted, if hard { waiting } else { 0 });
    for (_, entry, mut future) in world.futures {
        let outcome = future.try_get().expect("a stop resolves everything");
        if world.oracle.ran.contains(&entry) {
            prop_assert_eq!(outcome, Ok(entry.value * 2));
        } else {
            prop_assert_eq!(outcome.map_err(|f| f.error), Err(LaneError::Stopped));
        }
    }
    for account in 0..6 {
        let expected: Vec<_> = world
            .oracle
            .ran
            .iter()
            .filter(|entry| entry.account == account)
            .map(|entry| entry.value)
            .collect();
        prop_assert_eq!(ledger.values(account), expected);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn l06_l07_l37_random_programs_match_a_sequential_oracle(
        steps in proptest::collection::vec(step(), 0..160),
        hard in any::<bool>(),
    ) {
        run(steps, hard)?;
    }
}
