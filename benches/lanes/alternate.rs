//! Runs contestants in turn, each on its own pinned pair of threads, and
//! compares their medians.

use std::thread;

use pitlane::host::{Cpu, Target, allowed_cpus, pin_current_thread};
use pitlane::time::IdleStrategy;

/// The two CPUs of a run: the caller's, and the one that answers.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) caller: Cpu,
    pub(super) answerer: Cpu,
}

impl Pair {
    /// The first two CPUs; with one only, both are that one.
    pub(super) fn find() -> Self {
        let cpus = allowed_cpus();
        Self {
            caller: cpus[0],
            answerer: cpus[1.min(cpus.len() - 1)],
        }
    }

    /// Runs `body` on a thread that `body` may pin: this one stays free, so
    /// that the next run still sees all CPUs.
    pub(super) fn apart<R: Send>(self, body: impl FnOnce() -> R + Send) -> R {
        thread::scope(|scope| scope.spawn(body).join().expect("the run"))
    }
}

/// Where a system allows it; where not, the run is noisier.
pub(super) fn pin(cpu: Cpu) {
    let _ = pin_current_thread(Target::Allowed(cpu));
}

/// Every hot thread spins: two threads, two CPUs.
pub(super) fn idle() -> IdleStrategy {
    IdleStrategy::busy()
}

/// One contestant of a comparison; answers nanoseconds, or whatever is compared.
pub(super) type Contestant<'a> = (&'a str, Box<dyn Fn(Pair) -> f64 + Sync + 'a>);

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs all in turn, `rounds` times; the medians, the first as the yardstick,
/// and the lowest: what a round was like that nobody disturbed.
pub(super) fn compare(title: &str, rounds: usize, contestants: &[Contestant<'_>]) {
    let pair = Pair::find();
    let mut results = vec![Vec::with_capacity(rounds); contestants.len()];
    for _ in 0..rounds {
        for ((_, run), results) in contestants.iter().zip(&mut results) {
            results.push(pair.apart(|| run(pair)));
        }
    }
    let lowest: Vec<f64> = results
        .iter()
        .map(|results| results.iter().copied().fold(f64::INFINITY, f64::min))
        .collect();
    let medians: Vec<f64> = results.into_iter().map(median).collect();
    println!("{title}");
    println!("  {:<46} {:>12} {:>9} {:>12}", "", "median", "", "lowest");
    for (((name, _), ns), low) in contestants.iter().zip(&medians).zip(&lowest) {
        println!(
            "  {name:<46} {ns:>9.1} ns {:>7.2} x {low:>9.1} ns",
            ns / medians[0]
        );
    }
}
