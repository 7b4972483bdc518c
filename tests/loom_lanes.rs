//! Every interleaving of the lanes' own protocols, on the very sources that run.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --test loom_lanes`. Each model has a twin
//! with a planted fault, which must fail: a model that finds nothing proves
//! nothing.

#![cfg(loom)]
#![allow(dead_code, unused_imports)]

use pitlane::{limits, time, types};

#[path = "../src/lanes/barrier.rs"]
mod barrier;
#[path = "../src/lanes/completion.rs"]
mod completion;
#[path = "../src/lanes/entry.rs"]
mod entry;
#[path = "../src/lanes/key.rs"]
#[allow(unreachable_pub)] // Public in the library.
mod key;
#[path = "../src/lanes/merge.rs"]
mod merge;
#[path = "../src/lanes/node.rs"]
mod node;
#[path = "../src/lanes/prefetch.rs"]
mod prefetch;
#[path = "../src/lanes/reentry.rs"]
mod reentry;
#[path = "../src/lanes/retired.rs"]
mod retired;
#[path = "../src/lanes/slab.rs"]
mod slab;
#[path = "../src/lanes/sync.rs"]
mod sync;
#[path = "../src/lanes/tickets.rs"]
mod tickets;
#[path = "../src/lanes/wake.rs"]
mod wake;

#[path = "loom_lanes/completing.rs"]
mod completing;
#[path = "loom_lanes/nodes.rs"]
mod nodes;
#[path = "loom_lanes/ordering.rs"]
mod ordering;
#[path = "loom_lanes/sleeping.rs"]
mod sleeping;
#[path = "loom_lanes/stopping.rs"]
mod stopping;
