//! The journal's watermark under loom: who sees a sequence may act on what was
//! done before it, and a failure ends it.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release --test loom_journal`
#![cfg(loom)]

#[path = "../src/journal/sync.rs"]
mod sync;
#[allow(dead_code)]
#[path = "../src/journal/watermark.rs"]
mod watermark;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use watermark::{Condition, Watermark};

#[test]
fn j03_who_sees_a_sequence_sees_what_was_written_before_it() {
    loom::model(|| {
        let shared = Arc::new((Watermark::new(0), UnsafeCell::new(0_u64)));
        let writer = shared.clone();
        let thread = thread::spawn(move || {
            // The write and the sync.
            // SAFETY: loom finds any access that the pair does not order.
            writer.1.with_mut(|disk| unsafe { *disk = 1 });
            writer.0.advance(1);
        });
        if shared.0.durable() == 1 {
            // SAFETY: loom finds any access that the pair does not order.
            assert_eq!(shared.1.with(|disk| unsafe { *disk }), 1);
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
