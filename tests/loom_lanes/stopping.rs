//! A stop against a submit: what was accepted is seen by the worker's last look.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::entry::{Admission, Phase, SubmitterCell};

struct Shard {
    cell: SubmitterCell,
    admission: Admission,
    /// Stands for the ring: pushed with release, seen with acquire.
    pushed: AtomicUsize,
}

/// A submit that looks at the phase as the real one does.
fn submit(shard: &Shard, says_inside: bool) -> bool {
    if says_inside {
        shard.cell.enter(0);
    }
    let accepted = shard.admission.is_running();
    if accepted {
        shard.pushed.store(1, Ordering::Release);
        shard.cell.accept(1);
    }
    shard.cell.leave();
    accepted
}

fn stop_against_submit(says_inside: bool) {
    loom::model(move || {
        let shard = Arc::new(Shard {
            cell: SubmitterCell::new(),
            admission: Admission::new(),
            pushed: AtomicUsize::new(0),
        });
        let producer = {
            let shard = Arc::clone(&shard);
            thread::spawn(move || submit(&shard, says_inside))
        };
        shard.admission.raise(Phase::Graceful);
        while shard.cell.is_inside(0) {
            thread::yield_now();
        }
        shard.admission.seal();
        // The worker's last turn: the seal first, then the ring.
        assert!(shard.admission.is_sealed());
        let drained = shard.pushed.load(Ordering::Acquire);
        let accepted = producer.join().expect("producer");
        assert_eq!(drained, usize::from(accepted), "counts in, counts out");
        assert_eq!(shard.cell.accepted(), u64::from(accepted));
    });
}

#[test]
fn loom_l25_l27_l37_what_was_accepted_before_a_stop_is_drained() {
    stop_against_submit(true);
}

/// The planted fault: a submit that does not say that it is inside.
#[test]
#[should_panic]
fn loom_l25_l27_l37_a_submit_that_the_stop_cannot_see_is_found() {
    stop_against_submit(false);
}
