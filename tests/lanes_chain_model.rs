//! Random chains against a plain model of what each step does (rules L31 to L34).

#[path = "support/toy_engine.rs"]
mod toy_engine;

use std::sync::{Arc, Mutex};

use pitlane::lanes::{
    Chain, ChainEnd, ChainError, Decision, EngineBuilder, FromOrder, HookResult, OfOrder, Wait,
    chain,
};
use pitlane::types::AccountId;
use proptest::prelude::*;
use toy_engine::{FAIL, MALFORMED, PANIC, Toy, ToyOrder, ToyWorld};

/// What a hook does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hook {
    Commit,
    Rollback,
    Error,
    Panic,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Then(Hook),
    Check(Hook),
    PreTrade {
        reserved: Hook,
        rejected: Hook,
    },
    DropCopy(Hook),
    Report {
        made: Hook,
        value: u64,
        settled: Hook,
    },
    ForeignReport,
    Adjust {
        made: Hook,
        adjusted: Hook,
    },
    Retire(Hook),
}

#[derive(Clone, Debug)]
struct Plan {
    amount: u64,
    begin: Hook,
    steps: Vec<Step>,
    finally: Option<Hook>,
}

/// Everything that can be seen of a chain.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    calls: Vec<(&'static str, u64)>,
    hooks: Vec<&'static str>,
    end: String,
    retry_unsafe: bool,
    reserved: u64,
}

fn hook() -> impl Strategy<Value = Hook> {
    prop_oneof![
        12 => Just(Hook::Commit),
        1 => Just(Hook::Rollback),
        1 => Just(Hook::Error),
        1 => Just(Hook::Panic),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let value = prop_oneof![4 => 1u64..9, 1 => Just(FAIL)];
    prop_oneof![
        hook().prop_map(Step::Then),
        hook().prop_map(Step::Check),
        (hook(), hook()).prop_map(|(reserved, rejected)| Step::PreTrade { reserved, rejected }),
        hook().prop_map(Step::DropCopy),
        (hook(), value, hook()).prop_map(|(made, value, settled)| Step::Report {
            made,
            value,
            settled
        }),
        Just(Step::ForeignReport),
        (hook(), hook()).prop_map(|(made, adjusted)| Step::Adjust { made, adjusted }),
        hook().prop_map(Step::Retire),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let amount = prop_oneof![
        6 => 1u64..60,
        1 => Just(101),
        1 => Just(FAIL),
        1 => Just(PANIC),
        1 => Just(MALFORMED)
    ];
    let steps = proptest::collection::vec(step(), 0..8);
    let finally = proptest::option::of(hook());
    (amount, hook(), steps, finally).prop_map(|(amount, begin, steps, finally)| Plan {
        amount,
        begin,
        steps,
        finally,
    })
}

/// The model: a plain walk over the plan.
struct Model<'a> {
    plan: &'a Plan,
    seen: Seen,
}

type Ends = Result<(), &'static str>;

impl Model<'_> {
    fn hook(&mut self, name: &'static str, hook: Hook) -> Ends {
        self.seen.hooks.push(name);
        match hook {
            Hook::Commit | Hook::Rollback => Ok(()),
            Hook::Error => Err("hook"),
            Hook::Panic => Err("hook panicked"),
        }
    }

    fn call(&mut self, name: &'static str, value: u64) {
        self.seen.calls.push((name, value));
    }

    fn driver_panics(&mut self) -> Ends {
        self.call("panicked", 0);
        Err("driver panicked")
    }

    /// The engine's answer: a refusal is `Ok(false)`.
    fn judge(&mut self, amount: u64) -> Result<bool, &'static str> {
        match amount {
            FAIL => Err("driver"),
            PANIC => self.driver_panics().map(|()| false),
            MALFORMED => Err("driver result"),
            _ => Ok(self.seen.reserved + amount <= 100),
        }
    }

    fn decide(&mut self, name: &'static str, hook: Hook) -> Ends {
        let amount = self.plan.amount;
        self.seen.reserved += amount;
        let said = self.hook(name, hook);
        if said.is_ok() && hook == Hook::Commit {
            self.call("commit", amount);
            return Ok(());
        }
        self.call("rollback", amount);
        self.seen.reserved -= amount;
        said.and(Err("rejected"))
    }

    fn step(&mut self, step: Step) -> Ends {
        let amount = self.plan.amount;
        match step {
            Step::Then(hook) => self.hook("then", hook),
            Step::Check(hook) => {
                self.call("check", amount);
                self.judge(amount)?;
                self.hook("checked", hook)
            }
            Step::PreTrade { reserved, rejected } => {
                self.seen.retry_unsafe = true;
                self.call("both", amount);
                if self.judge(amount)? {
                    return self.decide("reserved", reserved);
                }
                self.hook("rejected", rejected).and(Err("rejected"))
            }
            Step::DropCopy(hook) => {
                self.seen.retry_unsafe = true;
                self.call("copy", amount);
                self.decide("applied", hook)
            }
            Step::Report {
                made,
                value,
                settled,
            } => {
                self.hook("report", made)?;
                self.seen.retry_unsafe = true;
                self.call("report", value);
                if value == FAIL {
                    return Err("driver");
                }
                self.hook("settled", settled)
            }
            Step::ForeignReport => Err("other account"),
            Step::Adjust { made, adjusted } => {
                self.hook("adjustments", made)?;
                self.seen.retry_unsafe = true;
                self.call("adjust", 3);
                self.hook("adjusted", adjusted)
            }
            Step::Retire(hook) => {
                self.seen.retry_unsafe = true;
                self.call("retire", 1);
                self.hook("retired", hook)
            }
        }
    }

    fn run(mut self) -> Seen {
        if let Err(end) = self.hook("begin", self.plan.begin) {
            self.seen.end = if end == "hook" { "begin" } else { end }.into();
            return self.seen;
        }
        let mut end = Ok(());
        for step in &self.plan.steps {
            end = self.step(*step);
            if end.is_err() {
                break;
            }
        }
        if let Some(hook) = self.plan.finally {
            let last = self.hook("finally", hook);
            if matches!(end, Ok(()) | Err("rejected"))
                && let Err(failed) = last
            {
                end = Err(if failed == "hook" { "finally" } else { failed });
            }
        }
        self.seen.end = end.err().unwrap_or("completed").into();
        self.seen
    }
}

type Hooks = Arc<Mutex<Vec<&'static str>>>;

fn act(hooks: &Hooks, name: &'static str, hook: Hook) -> HookResult<Decision> {
    hooks.lock().expect("hooks").push(name);
    match hook {
        Hook::Commit => Ok(Decision::Commit),
        Hook::Rollback => Ok(Decision::Rollback),
        Hook::Error => Err("planted".into()),
        Hook::Panic => panic!("a planted panic"),
    }
}

fn add(chain: Chain<Toy, Hooks, OfOrder>, step: Step) -> Chain<Toy, Hooks, OfOrder> {
    match step {
        Step::Then(hook) => chain.then(move |s| act(s, "then", hook).map(drop)),
        Step::Check(hook) => chain.check_order(move |s, _| act(s, "checked", hook).map(drop)),
        Step::PreTrade { reserved, rejected } => chain.execute_pre_trade(
            move |s, _| act(s, "reserved", reserved),
            move |s, _| act(s, "rejected", rejected).map(drop),
        ),
        Step::DropCopy(hook) => chain.apply_drop_copy(
            move |s, _| act(s, "applied", hook),
            |_, _| unreachable!("the toy follows everything"),
        ),
        Step::Report {
            made,
            value,
            settled,
        } => chain.apply_execution_report(
            move |s| act(s, "report", made).map(|_| (AccountId(1), value)),
            move |s, _| act(s, "settled", settled).map(drop),
        ),
        Step::ForeignReport => {
            chain.apply_execution_report(|_| Ok((AccountId(2), 1)), |_, _| Ok(()))
        }
        Step::Adjust { made, adjusted } => chain.apply_account_adjustment(
            move |s| act(s, "adjustments", made).map(|_| vec![1, 2]),
            move |s, _| act(s, "adjusted", adjusted).map(drop),
        ),
        Step::Retire(hook) => chain.retire_account(move |s| act(s, "retired", hook).map(drop)),
    }
}

fn run(plan: &Plan) -> Seen {
    let world = ToyWorld::new();
    let (engine, seeds) = EngineBuilder::new()
        .build_inline(world.factory())
        .expect("engine");
    let mut lanes: Vec<_> = seeds.into_iter().map(|seed| seed.build()).collect();
    let mut submitter = engine.submitter().expect("submitter");
    let hooks = Hooks::default();
    let (state, begin) = (Arc::clone(&hooks), plan.begin);
    let source = FromOrder(ToyOrder {
        account: Some(1),
        amount: plan.amount,
    });
    let mut built = chain(source, move || {
        act(&state, "begin", begin)?;
        Ok(state)
    });
    for step in &plan.steps {
        built = add(built, *step);
    }
    let mut future = match plan.finally {
        Some(hook) => built
            .finally(move |s, _| act(s, "finally", hook).map(drop))
            .run(&mut submitter, Wait::No),
        None => built.run(&mut submitter, Wait::No),
    };
    lanes[0].turn(10);
    let outcome = future.try_get().expect("one turn").expect("started");
    let end = match &outcome.end {
        ChainEnd::Completed => "completed",
        ChainEnd::Rejected => "rejected",
        ChainEnd::Failed(error) => match error {
            ChainError::Begin(_) => "begin",
            ChainError::Hook(_) => "hook",
            ChainError::HookPanicked => "hook panicked",
            ChainError::Finally(_) => "finally",
            ChainError::Driver(_) => "driver",
            ChainError::DriverPanicked => "driver panicked",
            ChainError::DriverResult => "driver result",
            ChainError::OtherAccount => "other account",
            other => panic!("{other:?}"),
        },
    };
    let reserved = lanes[0].driver().expect("desk").driver().reserved;
    let hooks = hooks.lock().expect("hooks").clone();
    Seen {
        calls: world.calls(),
        hooks,
        end: end.into(),
        retry_unsafe: outcome.retry_unsafe,
        reserved,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn l32_l34_random_chains_do_what_a_plain_model_says(plan in plan()) {
        std::panic::set_hook(Box::new(|_| {}));
        let seen = Model { plan: &plan, seen: Seen::default() }.run();
        prop_assert_eq!(run(&plan), seen, "{:?}", plan);
    }
}
