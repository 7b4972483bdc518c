//! A whole shard in simulated time: the same seed does the same, and whatever the
//! seed, nothing is left over.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use pitlane::simulation::{
    DecisionsConfig, DecisionsSimulated, Simulated, SimulationConfig, SimulationError, simulate,
    simulate_decisions,
};
use pitlane::types::ReportKind;
use sha2::{Digest as _, Sha256};

#[derive(Clone, Default)]
struct Kept(Rc<RefCell<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn run(config: &SimulationConfig) -> (Simulated, Vec<u8>) {
    let kept = Kept::default();
    let sink: Box<dyn Write> = Box::new(kept.clone());
    let simulated = simulate(config, Some(sink), &mut |_| {}).unwrap();
    (simulated, kept.0.take())
}

#[test]
fn r75_a_seed_gives_the_same_trace_byte_for_byte() {
    let config = SimulationConfig {
        duration: Duration::from_secs(7),
        ..SimulationConfig::default()
    };
    let (first, trace) = run(&config);
    let (second, again) = run(&config);
    assert_eq!(first, second);
    assert!(trace == again, "the traces differ");
    assert_eq!(first.hash[..], Sha256::digest(&trace)[..]);
    let lines = trace.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(usize::try_from(first.lines).unwrap(), lines);
    let other = SimulationConfig { seed: 2, ..config };
    assert_ne!(run(&other).0.hash, first.hash);
}

#[test]
fn r75_time_moves_on_only_when_all_is_done() {
    let (_, trace) = run(&SimulationConfig::default());
    let mut last = 0;
    for line in String::from_utf8(trace).unwrap().lines() {
        let at: u64 = line.split_once(' ').unwrap().0.parse().unwrap();
        assert!(at >= last, "{line}");
        last = at;
    }
    assert!(last > 10_000_000_000, "ten seconds and the end");
}

#[test]
fn whatever_the_seed_every_order_ends_and_every_hold_comes_back() {
    let mut all = [0; 6];
    for seed in 1..=40 {
        let config = SimulationConfig {
            seed,
            duration: Duration::from_secs(6),
            accounts: 2 + seed * seed,
            orders_per_second: 100 * seed,
        };
        let simulated = simulate(&config, None, &mut |_| {}).unwrap();
        assert_eq!(
            simulated.violations, [""; 0],
            "replay: pitlane sim --seed {seed} --seconds 6 --accounts {} --rate {}",
            config.accounts, config.orders_per_second
        );
        assert_eq!(simulated.open, 0);
        let kinds = [
            ReportKind::Accepted,
            ReportKind::Rejected,
            ReportKind::Executed,
            ReportKind::Replaced,
            ReportKind::Canceled,
            ReportKind::CancelRejected,
        ];
        for (sum, kind) in all.iter_mut().zip(kinds) {
            *sum += simulated.reports.count(kind);
        }
    }
    assert!(
        all.iter().all(|&count| count > 1_000),
        "all happens: {all:?}"
    );
}

#[test]
fn settings_out_of_range_are_named() {
    let config = SimulationConfig {
        accounts: 1,
        ..SimulationConfig::default()
    };
    let error = simulate(&config, None, &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "accounts: 1; must be 2 to 10000");
}

struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error() {
    let config = SimulationConfig {
        duration: Duration::from_secs(1),
        ..SimulationConfig::default()
    };
    let error = simulate(&config, Some(Box::new(Full)), &mut |_| {}).unwrap_err();
    assert!(matches!(error, SimulationError::Trace(_)), "{error}");
}

fn decisions(seed: u64) -> DecisionsSimulated {
    let config = DecisionsConfig {
        seed,
        ..DecisionsConfig::default()
    };
    simulate_decisions(&config, None).unwrap()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What a run of all seeds must have seen, or it proves nothing.
fn happened(all: &DecisionsSimulated) -> [u64; 10] {
    [
        all.allowed,
        all.denied,
        all.lost,
        all.refused,
        all.sent,
        all.own_sent,
        all.crashes,
        all.voided,
        all.busts,
        all.overfills,
    ]
}

#[test]
fn o29_o30_j14_decisions_are_settled_once_whatever_the_seed() {
    let seeds = number("PITLANE_SEEDS").unwrap_or(1_000);
    let mut all = [0; 10];
    for seed in 0..seeds {
        let one = decisions(seed);
        assert_eq!(
            one.violation, None,
            "replay: pitlane sim --decisions --seed {seed} --trace FILE"
        );
        for (sum, count) in all.iter_mut().zip(happened(&one)) {
            *sum += count;
        }
    }
    assert!(all.iter().all(|&count| count > seeds / 50), "{all:?}");
}

#[test]
fn r75_decisions_of_a_seed_are_the_same_byte_for_byte() {
    for seed in 1..=10 {
        assert_eq!(decisions(seed), decisions(seed), "seed {seed}");
    }
    assert_ne!(decisions(1).hash, decisions(2).hash);
}
