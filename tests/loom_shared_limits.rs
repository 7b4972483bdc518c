//! Every interleaving of the shards' shared counters, at a small size. Run with
//! `RUSTFLAGS="--cfg loom" cargo test --release --test loom_shared_limits`.
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use pitlane::risk::{SharedSum, SharedWindow};
use pitlane::time::Nanos;

/// Two shards, two attempts each, one of which has an old clock: of the four at
/// most `limit` pass within a window.
fn never_more_than(limit: u32, times: [[u64; 2]; 2], window_ns: u64) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let window = Arc::new(SharedWindow::new(limit));
        let attempts = move |window: Arc<SharedWindow>, times: [u64; 2]| {
            times
                .into_iter()
                .filter(|at| window.hit(Nanos(*at), limit, window_ns))
                .collect::<Vec<_>>()
        };
        let other = {
            let window = Arc::clone(&window);
            let times = times[1];
            thread::spawn(move || attempts(window, times))
        };
        let mut passed = attempts(Arc::clone(&window), times[0]);
        passed.extend(other.join().expect("no panic"));
        passed.sort_unstable();
        assert!(!passed.is_empty(), "the first attempt passes");
        for group in passed.windows(limit as usize + 1) {
            assert!(group[limit as usize] - group[0] >= window_ns, "{passed:?}");
        }
    });
}

#[test]
fn k14_one_in_a_window() {
    never_more_than(1, [[0, 0], [0, 0]], 10);
    never_more_than(1, [[0, 10], [3, 13]], 10);
}

#[test]
fn k14_two_in_a_window() {
    never_more_than(2, [[0, 4], [2, 12]], 10);
    never_more_than(2, [[5, 6], [0, 20]], 10);
}

/// Two shards take three of a limit of five each, then one gives back: never
/// over the limit, and exactly what was taken stays.
#[test]
fn k20_a_sum_is_never_over_its_limit() {
    loom::model(|| {
        let sum = Arc::new(SharedSum::new());
        let shard = |sum: &SharedSum| {
            let taken = sum.take(3, 5);
            assert!(sum.get() <= 5, "over the limit");
            if taken {
                sum.add(-3);
            }
            sum.take(2, 5)
        };
        let other = {
            let sum = Arc::clone(&sum);
            thread::spawn(move || shard(&sum))
        };
        let mine = shard(&sum);
        let theirs = other.join().expect("no panic");
        assert!(mine || theirs, "there was room for one at least");
        assert_eq!(sum.get(), 2 * (i64::from(mine) + i64::from(theirs)));
    });
}
