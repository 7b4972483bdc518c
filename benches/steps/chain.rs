//! Ours of the comparison: chains of ten steps.

use std::cell::Cell;
use std::hint::black_box;
use std::rc::Rc;

use pitlane::steps::{AsyncSteps, Compose, EventLoop};

/// Steps of a chain.
pub(super) const CHAIN: u64 = 10;
/// Chains that are timed together.
pub(super) const BATCH: u64 = 2_000;

/// Ten-step chains: built, run in one turn, and dropped.
pub(super) fn steps<const READY: usize>(event_loop: &EventLoop, sum: &Rc<Cell<u64>>) {
    let now = event_loop.now();
    for n in 0..BATCH / READY as u64 {
        let roots: [AsyncSteps; READY] = std::array::from_fn(|_| {
            let mut root = AsyncSteps::new(event_loop).expect("there is room");
            for _ in 0..CHAIN {
                let sum = sum.clone();
                root.add(move |_, ()| {
                    sum.set(sum.get().wrapping_add(n));
                    Ok(())
                });
            }
            root.execute().expect("once");
            root
        });
        // The shard read the clock once for everything that its turn does.
        event_loop.turn_at(now, 1_000);
        drop(black_box(roots));
    }
}
