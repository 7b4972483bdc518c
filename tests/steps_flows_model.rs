//! Random parallel flows that share a mutex, against a plain event-list model.
//!
//! Each child of one parallel step runs rounds: wait, enter the mutex, hold it,
//! leave it well or by an error; with a time limit over entering and holding, a
//! bounded queue, handlers that recover or do not, and a cancel from outside.
//! The model keeps a list of events and a queue, and knows nothing of steps.
//! Both tell what happened, with the time, and must tell the same.

#[path = "support/steps_lab.rs"]
mod lab;

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use lab::{Lab, Log};
use pitlane::steps::{AsyncSteps, Compose, EventLoop, Mutex, Step, StepResult};
use proptest::prelude::*;

/// One round of a child; times in microseconds.
#[derive(Clone, Copy, Debug)]
struct Round {
    gap: u64,
    hold: u64,
    ok: bool,
    limit: Option<u64>,
    recovers: bool,
}

#[derive(Clone, Debug)]
struct Case {
    children: Vec<Vec<Round>>,
    max: u32,
    max_queue: u32,
    cancel_at: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let round = (
        1u64..20_000,
        1u64..20_000,
        prop::bool::weighted(0.8),
        prop::option::weighted(0.4, 1u64..30_000),
        prop::bool::weighted(0.8),
    )
        .prop_map(|(gap, hold, ok, limit, recovers)| Round {
            gap,
            hold,
            ok,
            limit,
            recovers,
        });
    let child = prop::collection::vec(round, 1..4);
    let cancel_at = prop_oneof![1 => 1u64..100_000, 2 => Just(10_000_000)];
    (
        prop::collection::vec(child, 1..6),
        1u32..3,
        0u32..4,
        cancel_at,
    )
        .prop_map(|(children, max, max_queue, cancel_at)| Case {
            children,
            max,
            max_queue,
            cancel_at,
        })
}

/// What a child of the model does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Gap,
    Queued,
    Holding,
    Over,
}

/// An event of the model: what it is for dies with the child's stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    GapOver,
    HoldOver,
    Limit,
}

struct Model<'a> {
    case: &'a Case,
    now: u64,
    said: Vec<String>,
    /// When, whose, in which of its rounds, what.
    events: Vec<(u64, usize, usize, Event)>,
    round: Vec<usize>,
    doing: Vec<Doing>,
    inside: Vec<usize>,
    queue: VecDeque<usize>,
}

impl<'a> Model<'a> {
    /// What happens; `None` when two events fall on one time, whose order is
    /// another test's subject.
    fn run(case: &'a Case) -> Option<Vec<String>> {
        let count = case.children.len();
        let mut model = Model {
            case,
            now: 0,
            said: Vec::new(),
            events: Vec::new(),
            round: vec![0; count],
            doing: vec![Doing::Gap; count],
            inside: Vec::new(),
            queue: VecDeque::new(),
        };
        for child in 0..count {
            model.begin(child);
        }
        loop {
            model.events.sort_by_key(|event| event.0);
            let Some(&(at, child, round, event)) = model.events.first() else {
                model.say("end");
                return Some(model.said);
            };
            if at == case.cancel_at || model.events.get(1).is_some_and(|next| next.0 == at) {
                return None;
            }
            if at > case.cancel_at {
                model.now = case.cancel_at;
                model.cancel_all();
                model.say("cancelled");
                return Some(model.said);
            }
            model.now = at;
            model.events.remove(0);
            debug_assert_eq!(model.round[child], round);
            let failed = match event {
                Event::GapOver => model.enter(child),
                Event::HoldOver if model.round_of(child).ok => {
                    model.leave(child, None);
                    model.next(child);
                    None
                }
                Event::HoldOver => model.leave(child, Some("Bad")),
                Event::Limit => model.leave(child, Some("Timeout")),
            };
            if let Some(error) = failed {
                if event == Event::Limit {
                    // A time limit unwinds its flow outside of the flow's turn,
                    // in which the parallel step is told; the flow that is let
                    // in has the turn before that one.
                    model.admit();
                }
                model.cancel_all();
                model.say(&format!("parallel {error}"));
                model.say("end");
                return Some(model.said);
            }
            model.admit();
        }
    }

    fn say(&mut self, text: &str) {
        self.said.push(format!("{}us {text}", self.now));
    }

    fn round_of(&self, child: usize) -> Round {
        self.case.children[child][self.round[child]]
    }

    fn after(&mut self, child: usize, by: u64, event: Event) {
        self.events
            .push((self.now + by, child, self.round[child], event));
    }

    fn begin(&mut self, child: usize) {
        self.doing[child] = Doing::Gap;
        self.after(child, self.round_of(child).gap, Event::GapOver);
    }

    fn next(&mut self, child: usize) {
        self.events.retain(|event| event.1 != child);
        self.round[child] += 1;
        if self.round[child] == self.case.children[child].len() {
            self.doing[child] = Doing::Over;
        } else {
            self.begin(child);
        }
    }

    fn enter(&mut self, child: usize) -> Option<&'static str> {
        if let Some(limit) = self.round_of(child).limit {
            self.after(child, limit, Event::Limit);
        }
        if self.inside.len() < self.case.max as usize {
            self.hold(child);
            return None;
        }
        if self.queue.len() == self.case.max_queue as usize {
            return self.leave(child, Some("DefenseRejected"));
        }
        self.doing[child] = Doing::Queued;
        self.queue.push_back(child);
        None
    }

    fn hold(&mut self, child: usize) {
        self.inside.push(child);
        self.doing[child] = Doing::Holding;
        self.say(&format!("in {child}.{}", self.round[child]));
        self.after(child, self.round_of(child).hold, Event::HoldOver);
    }

    /// Lets in who waits longest, as long as there is room.
    fn admit(&mut self) {
        while self.inside.len() < self.case.max as usize
            && let Some(child) = self.queue.pop_front()
        {
            self.hold(child);
        }
    }

    /// The child leaves the mutex or its queue; with an error, its handlers are
    /// called. Returns the error when none of them recovers.
    fn leave(&mut self, child: usize, error: Option<&'static str>) -> Option<&'static str> {
        let name = format!("{child}.{}", self.round[child]);
        let held = self.doing[child] == Doing::Holding;
        self.inside.retain(|inside| *inside != child);
        self.queue.retain(|queued| *queued != child);
        let error = error?;
        if held {
            self.say(&format!("cancel in {name}"));
            self.say(&format!("inner {name} {error}"));
        }
        self.say(&format!("cancel {name}"));
        self.say(&format!("outer {name} {error}"));
        if self.round_of(child).recovers {
            self.next(child);
            return None;
        }
        self.doing[child] = Doing::Over;
        Some(error)
    }

    fn cancel_all(&mut self) {
        for child in 0..self.doing.len() {
            let name = format!("{child}.{}", self.round[child]);
            match self.doing[child] {
                Doing::Gap => self.say(&format!("cancel gap {name}")),
                Doing::Queued => self.say(&format!("cancel {name}")),
                Doing::Holding => {
                    self.say(&format!("cancel in {name}"));
                    self.say(&format!("cancel {name}"));
                }
                Doing::Over => {}
            }
        }
    }
}

/// The engine's half: says things with the time.
#[derive(Clone)]
struct Teller {
    log: Log,
    event_loop: EventLoop,
    mutex: Mutex,
}

impl Teller {
    fn say(&self, text: &str) {
        let now = self.event_loop.now().0 / 1_000;
        self.log.say(format!("{now}us {text}"));
    }

    /// Waits until a callback completes, or fails, the step.
    fn wait(&self, step: &mut Step<'_>, micros: u64, ok: bool) -> StepResult {
        let handle = step.wait_external()?;
        let event_loop = self.event_loop.clone();
        let complete = move || {
            // Stale when the step ended otherwise.
            let _ = if ok {
                event_loop.complete(handle, ())
            } else {
                event_loop.fail(handle, "Bad".into())
            };
        };
        let delay = Duration::from_micros(micros);
        let set = self.event_loop.deferred(delay, complete);
        set.expect("there is room");
        Ok(())
    }

    fn says(&self, text: String) -> impl FnOnce(&mut Step<'_>) + use<> {
        let teller = self.clone();
        move |_| teller.say(&text)
    }

    fn round(&self, to: &mut Step<'_>, name: &str, round: Round) {
        let (teller, mine) = (self.clone(), name.to_owned());
        to.add(move |step, ()| {
            step.set_cancel(teller.says(format!("cancel gap {mine}")))?;
            teller.wait(step, round.gap, true)
        });
        let (teller, mine) = (self.clone(), name.to_owned());
        let (handler, theirs) = (self.clone(), name.to_owned());
        to.add_or(
            move |step, ()| {
                if let Some(limit) = round.limit {
                    step.set_timeout(Duration::from_micros(limit))?;
                }
                step.set_cancel(teller.says(format!("cancel {mine}")))?;
                teller.hold(step, &mine, round);
                Ok(())
            },
            move |step, error| {
                handler.say(&format!("outer {theirs} {}", error.code()));
                if round.recovers {
                    step.success(())
                } else {
                    Ok(())
                }
            },
        );
    }

    fn hold(&self, to: &mut Step<'_>, name: &str, round: Round) {
        let (teller, mine) = (self.clone(), name.to_owned());
        let (handler, theirs) = (self.clone(), name.to_owned());
        to.sync_or(
            &self.mutex,
            move |step, ()| {
                teller.say(&format!("in {mine}"));
                step.set_cancel(teller.says(format!("cancel in {mine}")))?;
                teller.wait(step, round.hold, round.ok)
            },
            move |_, error| {
                handler.say(&format!("inner {theirs} {}", error.code()));
                Ok(())
            },
        );
    }

    fn run(case: &Case) -> Vec<String> {
        let lab = Lab::new();
        let max = NonZeroU32::new(case.max).expect("1 or 2");
        let teller = Self {
            log: lab.log.clone(),
            event_loop: lab.event_loop.clone(),
            mutex: Mutex::with_queue(max, case.max_queue),
        };
        let mut root = AsyncSteps::new(&lab.event_loop).expect("there is room");
        let said = teller.clone();
        root.set_cancel_handler(move || said.say("cancelled"));
        let said = teller.clone();
        let mut parallel = root.parallel_or(move |step, error| {
            said.say(&format!("parallel {}", error.code()));
            step.success(())
        });
        for (child, rounds) in case.children.clone().into_iter().enumerate() {
            let teller = teller.clone();
            parallel.add(move |step, ()| {
                for (index, round) in rounds.into_iter().enumerate() {
                    teller.round(step, &format!("{child}.{index}"), round);
                }
                Ok(())
            });
        }
        let said = teller.clone();
        root.add(move |_, ()| {
            said.say("end");
            Ok(())
        });
        root.execute().expect("once");
        lab.advance(Duration::from_micros(case.cancel_at));
        root.cancel();
        let story = lab.log.take();
        drop(root);
        lab.advance(Duration::from_secs(1)); // Completions that nobody waits for.
        assert_eq!((teller.mutex.inside(), teller.mutex.waiting()), (0, 0));
        lab.assert_empty();
        assert!(lab.log.take().is_empty(), "nothing runs afterwards");
        story
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn s13_random_parallel_flows_share_a_mutex_as_an_event_list_says(case in cases()) {
        let expected = Model::run(&case);
        prop_assume!(expected.is_some());
        prop_assert_eq!(Some(Teller::run(&case)), expected);
    }
}
