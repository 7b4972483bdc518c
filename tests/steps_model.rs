//! Random trees of steps against a plain recursive model.
//!
//! A tree says what every body does: succeed, fail, wait for a completion or an
//! error from outside, loop, add sub-steps; with handlers, time limits, a cancel
//! from outside, and parallel-free order. The model walks the tree with a
//! virtual clock and an event list; the engine runs the same tree on simulated
//! time. Both tell what happened, with the time, and must tell the same.

#[path = "support/steps_lab.rs"]
mod lab;

use lab::{Lab, Log, ms};
use pitlane::steps::{AsyncSteps, Compose, EventLoop, Step, StepResult};
use proptest::prelude::*;

/// What an error handler does.
#[derive(Clone, Debug)]
enum Handling {
    Silent,
    Succeed,
    Change,
    Recover(Vec<Node>),
}

/// What a body does once it said its name.
#[derive(Clone, Debug)]
enum Act {
    Succeed,
    Fail,
    /// Waits that many milliseconds for a completion, or an error, from outside.
    Wait(u64, bool),
    /// Waits for a time limit of its own alone.
    Limit(u64),
    SubSteps(Vec<Node>),
    Repeat(u64, Vec<Node>),
    Break,
    Continue,
    Relinquish,
    Panic,
}

#[derive(Clone, Debug)]
struct Node {
    act: Act,
    handling: Option<Handling>,
    limit: Option<u64>,
    cancel: bool,
}

/// Every node gets a number, so that traces tell them apart.
#[derive(Clone, Debug)]
struct Numbered {
    number: u32,
    act: NumberedAct,
    handling: Option<NumberedHandling>,
    limit: Option<u64>,
    cancel: bool,
}

#[derive(Clone, Debug)]
enum NumberedAct {
    Plain(Act),
    SubSteps(Vec<Numbered>),
    Repeat(u64, Vec<Numbered>),
}

#[derive(Clone, Debug)]
enum NumberedHandling {
    Silent,
    Succeed,
    Change,
    Recover(Vec<Numbered>),
}

fn number(nodes: &[Node], next: &mut u32) -> Vec<Numbered> {
    nodes
        .iter()
        .map(|node| {
            *next += 1;
            Numbered {
                number: *next,
                act: match &node.act {
                    Act::SubSteps(nodes) => NumberedAct::SubSteps(number(nodes, next)),
                    Act::Repeat(count, nodes) => NumberedAct::Repeat(*count, number(nodes, next)),
                    plain => NumberedAct::Plain(plain.clone()),
                },
                handling: node.handling.as_ref().map(|handling| match handling {
                    Handling::Silent => NumberedHandling::Silent,
                    Handling::Succeed => NumberedHandling::Succeed,
                    Handling::Change => NumberedHandling::Change,
                    Handling::Recover(nodes) => NumberedHandling::Recover(number(nodes, next)),
                }),
                limit: node.limit,
                cancel: node.cancel,
            }
        })
        .collect()
}

fn nodes(depth: u32) -> BoxedStrategy<Vec<Node>> {
    let leaf = prop_oneof![
        3 => Just(Act::Succeed),
        2 => Just(Act::Fail),
        3 => (1u64..20, any::<bool>()).prop_map(|(after, ok)| Act::Wait(after, ok)),
        1 => (1u64..20).prop_map(Act::Limit),
        1 => Just(Act::Break),
        1 => Just(Act::Continue),
        1 => Just(Act::Relinquish),
        1 => Just(Act::Panic),
    ];
    let act = if depth == 0 {
        leaf.boxed()
    } else {
        prop_oneof![
            2 => leaf,
            2 => nodes(depth - 1).prop_map(Act::SubSteps),
            1 => (0u64..3, nodes(depth - 1)).prop_map(|(count, nodes)| Act::Repeat(count, nodes)),
        ]
        .boxed()
    };
    let handling = if depth == 0 {
        prop_oneof![
            Just(Handling::Silent),
            Just(Handling::Succeed),
            Just(Handling::Change)
        ]
        .boxed()
    } else {
        prop_oneof![
            Just(Handling::Silent),
            Just(Handling::Succeed),
            Just(Handling::Change),
            nodes(depth - 1).prop_map(Handling::Recover)
        ]
        .boxed()
    };
    let node = (
        act,
        prop::option::of(handling),
        prop::option::weighted(0.3, 1u64..30),
        any::<bool>(),
    )
        .prop_map(|(act, handling, limit, cancel)| Node {
            act,
            handling,
            limit,
            cancel,
        });
    prop::collection::vec(node, 1..4).boxed()
}

/// The plain model: recursion, a clock, and the limits that are armed.
struct Model {
    now: u64,
    said: Vec<String>,
    /// Armed limits: due when, armed as which, by the step of which depth.
    limits: Vec<(u64, u64, usize)>,
    armed: u64,
    cancel_at: u64,
    /// The steps that are active, outermost first, with what their cancel
    /// handler says.
    active: Vec<Option<u32>>,
}

/// How a step of the model ends: well, by an error, or, `None`, by the cancel.
type Ended = Result<(), Option<&'static str>>;

impl Model {
    fn run(nodes: &[Numbered], cancel_at: u64) -> Vec<String> {
        let mut model = Self {
            now: 0,
            said: Vec::new(),
            limits: Vec::new(),
            armed: 0,
            cancel_at,
            active: Vec::new(),
        };
        match model.level(nodes) {
            Ok(()) => model.say("end"),
            Err(Some(error)) => model.say(&format!("unhandled {error}")),
            Err(None) => {
                while let Some(active) = model.active.pop() {
                    if let Some(n) = active {
                        model.say(&format!("cancel {n}"));
                    }
                }
                model.say("cancelled");
            }
        }
        model.said
    }

    fn say(&mut self, text: &str) {
        self.said.push(format!("{}ms {text}", self.now));
    }

    fn arm(&mut self, after: u64, depth: usize) {
        self.disarm(depth);
        self.armed += 1;
        self.limits.push((self.now + after, self.armed, depth));
    }

    fn disarm(&mut self, depth: usize) {
        self.limits.retain(|(_, _, of)| *of != depth);
    }

    /// Fires the first limit that is due by `now`, if one is.
    fn fire(&mut self) -> Ended {
        match self.limits.iter().min().copied() {
            Some(limit) if limit.0 <= self.now => {
                self.limits.retain(|armed| *armed != limit);
                Err(Some("Timeout"))
            }
            _ => Ok(()),
        }
    }

    /// Waits for a completion, or for ever; a limit or the cancel may be first.
    fn wait(&mut self, completion: Option<u64>, ok: bool) -> Ended {
        let completion = completion.map_or(u64::MAX, |after| self.now + after);
        let limit = self.limits.iter().map(|limit| limit.0).min();
        let limit = limit.unwrap_or(u64::MAX);
        if self.cancel_at < completion.min(limit) {
            self.now = self.cancel_at;
            return Err(None);
        }
        // At one time the limit is first: it was set before.
        self.now = completion.min(limit);
        self.fire()?;
        if ok { Ok(()) } else { Err(Some("Outside")) }
    }

    fn level(&mut self, nodes: &[Numbered]) -> Ended {
        nodes.iter().try_for_each(|node| {
            self.fire()?;
            self.step(node)
        })
    }

    fn step(&mut self, node: &Numbered) -> Ended {
        let depth = self.active.len();
        self.active.push(node.cancel.then_some(node.number));
        self.say(&format!("body {}", node.number));
        if let Some(limit) = node.limit {
            self.arm(limit, depth);
        }
        let ended = self.act(node, depth);
        let ended = self.unwind(node, depth, ended);
        if ended != Err(None) {
            self.disarm(depth);
            self.active.truncate(depth);
        }
        ended
    }

    fn act(&mut self, node: &Numbered, depth: usize) -> Ended {
        match &node.act {
            NumberedAct::SubSteps(nodes) => self.level(nodes),
            NumberedAct::Repeat(count, nodes) => {
                for _ in 0..*count {
                    match self.level(nodes) {
                        Err(Some("LoopBreak")) => return Ok(()),
                        Ok(()) | Err(Some("LoopCont")) => self.fire()?,
                        other => return other,
                    }
                }
                Ok(())
            }
            NumberedAct::Plain(act) => match act {
                Act::Fail => Err(Some("Bad")),
                Act::Panic => Err(Some("InternalError")),
                Act::Break => Err(Some("LoopBreak")),
                Act::Continue => Err(Some("LoopCont")),
                Act::Wait(after, ok) => self.wait(Some(*after), *ok),
                Act::Limit(after) => {
                    self.arm(*after, depth);
                    self.wait(None, false)
                }
                _ => Ok(()),
            },
        }
    }

    fn unwind(&mut self, node: &Numbered, depth: usize, ended: Ended) -> Ended {
        let Err(Some(error)) = ended else {
            return ended;
        };
        self.disarm(depth);
        if let Some(n) = self.active[depth].take() {
            self.say(&format!("cancel {n}"));
        }
        let Some(handling) = &node.handling else {
            return ended;
        };
        self.say(&format!("handler {} {error}", node.number));
        match handling {
            NumberedHandling::Silent => ended,
            NumberedHandling::Succeed => Ok(()),
            NumberedHandling::Change => Err(Some("Changed")),
            NumberedHandling::Recover(nodes) => self.level(nodes),
        }
    }
}

/// The engine's half: says things with the time.
#[derive(Clone)]
struct Teller {
    log: Log,
    event_loop: EventLoop,
}

impl Teller {
    fn say(&self, text: &str) {
        let now = self.event_loop.now().0 / 1_000_000;
        self.log.say(format!("{now}ms {text}"));
    }

    /// Adds the steps of a level.
    fn add(&self, to: &mut impl Compose, nodes: &[Numbered]) {
        for node in nodes {
            let (teller, mine) = (self.clone(), node.clone());
            let body = move |step: &mut Step<'_>, ()| teller.body(step, &mine);
            match node.handling.clone() {
                None => to.add(body),
                Some(handling) => {
                    let (teller, n) = (self.clone(), node.number);
                    to.add_or(body, move |step, error| {
                        teller.say(&format!("handler {n} {}", error.code()));
                        match handling {
                            NumberedHandling::Silent => Ok(()),
                            NumberedHandling::Succeed => step.success(()),
                            NumberedHandling::Change => Err("Changed".into()),
                            NumberedHandling::Recover(nodes) => {
                                teller.add(step, &nodes);
                                Ok(())
                            }
                        }
                    })
                }
            };
        }
    }

    fn body(&self, step: &mut Step<'_>, node: &Numbered) -> StepResult {
        let n = node.number;
        self.say(&format!("body {n}"));
        if let Some(limit) = node.limit {
            step.set_timeout(ms(limit))?;
        }
        if node.cancel {
            let teller = self.clone();
            step.set_cancel(move |_| teller.say(&format!("cancel {n}")))?;
        }
        match node.act.clone() {
            NumberedAct::SubSteps(nodes) => self.add(step, &nodes),
            NumberedAct::Repeat(count, nodes) => {
                let teller = self.clone();
                step.repeat(count, move |step, _| {
                    teller.add(step, &nodes);
                    Ok(())
                });
            }
            NumberedAct::Plain(act) => match act {
                Act::Fail => return Err("Bad".into()),
                Act::Panic => panic!("as the tree says"),
                Act::Break => return step.break_loop(),
                Act::Continue => return step.continue_loop(),
                Act::Limit(after) => return step.set_timeout(ms(after)),
                Act::Relinquish => {
                    step.relinquish();
                }
                Act::Wait(after, ok) => {
                    let handle = step.wait_external()?;
                    let event_loop = self.event_loop.clone();
                    let complete = move || {
                        // Stale when a limit was first.
                        let _ = if ok {
                            event_loop.complete(handle, ())
                        } else {
                            event_loop.fail(handle, "Outside".into())
                        };
                    };
                    self.event_loop
                        .deferred(ms(after), complete)
                        .expect("there is room");
                }
                _ => return step.success(()),
            },
        }
        Ok(())
    }

    fn run(nodes: &[Numbered], cancel_at: u64) -> Vec<String> {
        let lab = Lab::new();
        let teller = Self {
            log: lab.log.clone(),
            event_loop: lab.event_loop.clone(),
        };
        let mut root = AsyncSteps::new(&lab.event_loop).expect("there is room");
        let said = teller.clone();
        root.set_unhandled_error(move |error| said.say(&format!("unhandled {}", error.code())));
        let said = teller.clone();
        root.set_cancel_handler(move || said.say("cancelled"));
        teller.add(&mut root, nodes);
        root.add(move |_, ()| {
            teller.say("end");
            Ok(())
        });
        root.execute().expect("once");
        lab.advance(ms(cancel_at));
        root.cancel();
        let story = lab.log.take();
        drop(root);
        lab.advance(ms(100)); // Completions that nobody waits for any more.
        lab.assert_empty();
        assert!(lab.log.take().is_empty(), "nothing runs afterwards");
        story
    }
}

/// Panics of the trees are part of them, and not to be printed.
fn quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload_as_str() != Some("as the tree says") {
                usual(info);
            }
        }));
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn s04_random_trees_agree_with_a_recursive_model(
        tree in nodes(3),
        cancel_at in prop_oneof![1u64..40, Just(1_000u64)],
    ) {
        quiet();
        let tree = number(&tree, &mut 0);
        let expected = Model::run(&tree, cancel_at);
        prop_assert_eq!(Teller::run(&tree, cancel_at), expected, "{:#?}", tree);
    }

    /// The same inputs replay the same trace.
    #[test]
    fn s17_the_same_tree_tells_the_same_again(tree in nodes(2), cancel_at in 1u64..40) {
        quiet();
        let tree = number(&tree, &mut 0);
        prop_assert_eq!(Teller::run(&tree, cancel_at), Teller::run(&tree, cancel_at));
    }
}
