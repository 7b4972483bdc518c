//! The list by which wrappers reach their lane without a ring: nothing is lost,
//! nothing comes twice, and the order is that of the submits (rules L7, L12, L19).

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::merge::{Merge, Rings, UNSEEN};
use super::node::{Door, NodeList, NodeQueue};
use super::reentry::EngineId;
use super::slab::{KeptSlot, SlabOwner, Slot};
use super::tickets::Tickets;
use super::time::IdleStrategy;

/// A shard's door that only gives tickets: the worker here never sleeps.
struct Counter(Tickets);

impl Door for Counter {
    fn ticket(&self) -> u64 {
        self.0.take_always()
    }
    fn wake(&self) {}
}

type Lists = std::sync::Arc<[NodeList]>;

fn lists() -> Lists {
    std::sync::Arc::new([NodeList::new(std::sync::Arc::new(Counter(Tickets::new())))])
}

/// A slot that a wrapper keeps, as when its result was taken: re-armed, and
/// loaded with a label.
struct Wrapper {
    kept: KeptSlot,
    owner: SlabOwner,
}

impl Wrapper {
    #[allow(unsafe_code)]
    fn new(lists: &Lists, label: u64) -> Self {
        let lists = std::sync::Arc::clone(lists);
        let mut owner = SlabOwner::new(1, EngineId::next(), IdleStrategy::shared(), lists);
        let (slot, _) = owner.claim().expect("a new slab is free");
        let mut kept = KeptSlot::keep(slot);
        // SAFETY: claimed above, and nobody else knows the slot.
        unsafe {
            slot.write(0u64);
            assert!(!slot.complete());
            let _: u64 = slot.read();
        }
        kept.rearm(false);
        // SAFETY: its result was read.
        unsafe { slot.write(label) };
        Self { kept, owner }
    }

    #[allow(unsafe_code)]
    fn post(&self) -> bool {
        // SAFETY: re-armed and loaded in `new`, and posted once.
        unsafe { self.kept.post(0) }
    }
}

/// The worker's side.
struct Worker {
    source: Source,
    merge: Merge,
    ran: Vec<u64>,
}

struct Source {
    lists: Lists,
    queue: NodeQueue,
}

impl Rings for Source {
    fn refresh(&mut self) -> usize {
        1
    }
    fn head(&mut self, _: usize) -> u64 {
        self.queue.head(&self.lists[0])
    }
    fn is_unordered(&self, _: usize) -> bool {
        true
    }
}

impl Worker {
    fn new(lists: &Lists) -> Self {
        let source = Source {
            lists: std::sync::Arc::clone(lists),
            queue: NodeQueue::new(),
        };
        Self {
            source,
            merge: Merge::new(1),
            ran: Vec::new(),
        }
    }

    /// Runs one node, if one is in sight. With `newest_first`, the planted
    /// fault: the list as it stands, in which the newest is first.
    fn look(&mut self, newest_first: bool) {
        if newest_first {
            self.source.head(0);
            let mut batch = Vec::new();
            while let Some(node) = self.source.queue.pop() {
                batch.push(node.slot);
            }
            batch.into_iter().rev().for_each(|slot| self.run(slot));
            return;
        }
        if self.merge.next(&mut self.source).is_none() {
            return;
        }
        let node = self.source.queue.pop().expect("in sight");
        self.merge.ran(node.ticket);
        self.run(node.slot);
        let head = self.source.head(0);
        assert!(head == UNSEEN || head > 0);
        self.merge.advance(0, head);
    }

    #[allow(unsafe_code)]
    fn run(&mut self, slot: Slot) {
        // SAFETY: a wrapper wrote its label, and this is the slot's worker.
        unsafe {
            self.ran.push(slot.read());
            slot.write(0u64);
            assert!(slot.complete(), "nobody waits");
        }
        slot.recycle();
    }

    /// The lane ends. Without `closes`, the planted fault: it only looks once more.
    fn finish(&mut self, closes: bool) {
        if closes {
            self.source.queue.close(&self.source.lists[0]);
        } else {
            self.source.head(0);
        }
        while let Some(node) = self.source.queue.pop() {
            self.run(node.slot);
        }
    }
}

fn hand_over(newest_first: bool) {
    loom::model(move || {
        let lists = lists();
        let (a, b) = (Wrapper::new(&lists, 1), Wrapper::new(&lists, 2));
        let baton = Arc::new(AtomicUsize::new(0));
        let first = {
            let baton = Arc::clone(&baton);
            thread::spawn(move || {
                assert!(a.post());
                baton.store(1, Ordering::Release);
                a
            })
        };
        let second = thread::spawn(move || {
            let handed_over = baton.load(Ordering::Acquire) == 1;
            assert!(b.post());
            (handed_over, b)
        });
        let mut worker = Worker::new(&lists);
        worker.look(newest_first);
        let a = first.join().expect("first");
        let (handed_over, mut b) = second.join().expect("second");
        while worker.ran.len() < 2 {
            worker.look(newest_first);
        }
        if handed_over {
            assert_eq!(worker.ran, [1, 2]);
        }
        assert_eq!(worker.ran.iter().sum::<u64>(), 3, "each once");
        assert!(b.owner.claim().is_some(), "free for its next use");
        drop(a);
    });
}

#[test]
fn loom_l07_l12_l37_nodes_run_once_in_the_order_of_their_posts() {
    hand_over(false);
}

/// The planted fault: nodes are run as the list has them.
#[test]
#[should_panic]
fn loom_l07_l12_l37_nodes_taken_newest_first_are_found() {
    hand_over(true);
}

/// A wrapper is dropped while its lane ends: its slot comes back either way.
fn drop_against_end(closes: bool) {
    loom::model(move || {
        let lists = lists();
        let wrapper = Wrapper::new(&lists, 1);
        let dropper = thread::spawn(move || {
            let posted = wrapper.post();
            if !posted {
                // As the wrapper does: nobody will run it.
                wrapper.kept.slot().recycle();
            }
            (posted, wrapper)
        });
        let mut worker = Worker::new(&lists);
        worker.look(false);
        worker.finish(closes);
        let (posted, mut wrapper) = dropper.join().expect("dropper");
        assert_eq!(worker.ran.len(), usize::from(posted), "run, or refused");
        assert!(wrapper.owner.claim().is_some(), "the slot came back");
    });
}

#[test]
fn loom_l19_l37_a_drop_against_the_end_of_its_lane_is_run_or_refused() {
    drop_against_end(true);
}

/// The planted fault: a lane that ends without closing its list.
#[test]
#[should_panic]
fn loom_l19_l37_a_list_that_is_not_closed_is_found() {
    drop_against_end(false);
}
