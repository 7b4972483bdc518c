//! The journal's watermark under loom: who sees a sequence may act on what was
//! done before it, and a failure ends it.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release --test loom_journal`
#![cfg(loom)]

#[path = "../src/journal/sync.rs"]
mod sync;
#[allow(dead_code, unreachable_pub)] // Public in the library.
#[path = "../src/journal/watermark.rs"]
mod watermark;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use watermark::{Condition, Watermark};

#[test]
fn j03_who_sees_a_sequence_sees_what_was_written_before_it() {
    loom::model(|| {
        let shared = Arc::new((Watermark::new(0), AtomicU64::new(0)));
        let writer = shared.clone();
        let thread = thread::spawn(move || {
            // The write and the sync: relaxed, so that the watermark alone orders it.
            writer.1.store(1, Ordering::Relaxed);
            writer.0.advance(1);
        });
        if shared.0.durable() == 1 {
            assert_eq!(shared.1.load(Ordering::Relaxed), 1);
        }
        thread.join().expect("it does not panic");
        assert_eq!(shared.0.durable(), 1);
    });
}

#[test]
fn j08_who_sees_the_failure_sees_the_last_sequence() {
    loom::model(|| {
        let shared = Arc::new(Watermark::new(0));
        let writer = shared.clone();
        let thread = thread::spawn(move || {
            writer.advance(1);
            writer.set_space_low(true);
            writer.fail();
        });
        if shared.condition() == Condition::Failed {
            assert_eq!(shared.durable(), 1);
        }
        thread.join().expect("it does not panic");
        assert_eq!(
            shared.condition(),
            Condition::Failed,
            "over everything else"
        );
    });
}
