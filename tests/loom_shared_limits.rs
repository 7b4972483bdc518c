//! Every interleaving of the shards' shared counters, at a small size. Run with
//! `RUSTFLAGS="--cfg loom" cargo test --release --test loom_shared_limits`.
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use pitlane::risk::{Seat, SharedSum, SharedWindow};
use pitlane::time::Nanos;

/// Two shards, two attempts each, one of which has an old clock: of the four at
/// most `limit` pass within a window. At one moment, exactly that many.
fn never_more_than(limit: u32, times: [[u64; 2]; 2], window_ns: u64) {
    let at_once = times.as_flattened().iter().all(|at| *at == times[0][0]);
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let window = std::sync::Arc::new(SharedWindow::new(limit));
        let [mut mine, mut theirs] =
            [0; 2].map(|_| Seat::new(&window, limit, window_ns).expect("a seat"));
        let attempts = |seat: &mut Seat, times: [u64; 2]| {
            times
                .into_iter()
                .filter(|at| seat.hit(Nanos(*at)))
                .collect::<Vec<_>>()
        };
        let other = thread::spawn(move || {
            let passed = attempts(&mut theirs, times[1]);
            (theirs, passed)
        });
        let mut passed = attempts(&mut mine, times[0]);
        let (_theirs, more) = other.join().expect("no panic");
        passed.extend(more);
        passed.sort_unstable();
        assert!(!passed.is_empty(), "the first attempt passes");
        if at_once {
            assert_eq!(passed.len(), (limit as usize).min(4), "none is lost");
        }
        for group in passed.windows(limit as usize + 1) {
            assert!(group[limit as usize] - group[0] >= window_ns, "{passed:?}");
        }
    });
}

#[test]
fn k14_one_in_a_window() {
    never_more_than(1, [[0, 0], [0, 0]], 10);
    never_more_than(1, [[0, 10], [3, 13]], 10);
    never_more_than(3, [[7, 7], [7, 7]], 10);
}

#[test]
fn k14_two_in_a_window() {
    never_more_than(2, [[0, 4], [2, 12]], 10);
    never_more_than(2, [[5, 6], [0, 20]], 10);
    never_more_than(2, [[7, 7], [7, 7]], 10);
}

/// The other shard holds a block of two of sixteen; whoever is first uses its
/// last slot, and nobody a seventeenth.
#[test]
fn k14_room_is_used_once() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let window = std::sync::Arc::new(SharedWindow::new(16));
        let [mut mine, mut theirs] = [0; 2].map(|_| Seat::new(&window, 16, 10).expect("a seat"));
        assert!(theirs.hit(Nanos(0)), "which takes two");
        for _ in 0..14 {
            assert!(mine.hit(Nanos(0)));
        }
        let other = thread::spawn(move || {
            let passed = theirs.hit(Nanos(9));
            (theirs, passed)
        });
        let first = mine.hit(Nanos(9));
        let second = mine.hit(Nanos(10));
        let (_theirs, third) = other.join().expect("no panic");
        assert!(first != third, "one of both has the last slot");
        assert!(second, "the first ones are a window old");
    });
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
