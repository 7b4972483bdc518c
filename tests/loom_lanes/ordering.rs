//! The merge of rings: if one submit returned before another began, it runs
//! first, whichever rings they went to (rule L7).

use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

use super::barrier;
use super::entry::SubmitterCell;
use super::merge::{Merge, Rings, UNSEEN, UNTICKETED};
use super::tickets::Tickets;

/// A ring of two messages: (ticket, label), published by the tail.
struct Ring {
    tickets: [AtomicU64; 2],
    labels: [AtomicU64; 2],
    tail: AtomicUsize,
    submitter: SubmitterCell,
}

impl Default for Ring {
    fn default() -> Self {
        Self {
            tickets: Default::default(),
            labels: Default::default(),
            tail: AtomicUsize::new(0),
            submitter: SubmitterCell::new(),
        }
    }
}

impl Ring {
    fn push(&self, ticket: u64, label: u64) {
        let tail = self.tail.load(Ordering::Relaxed);
        self.tickets[tail].store(ticket, Ordering::Relaxed);
        self.labels[tail].store(label, Ordering::Relaxed);
        self.tail.store(tail + 1, Ordering::Release);
    }
}

/// A shard: rings that are registered as the real gate does it.
struct Shard {
    tickets: Tickets,
    version: AtomicUsize,
    registered: Mutex<Vec<Arc<Ring>>>,
    /// Whether a registration waits for pushes that missed its announcement.
    waits: bool,
}

impl Shard {
    fn new() -> Arc<Self> {
        Self::with(true)
    }

    fn with(waits: bool) -> Arc<Self> {
        Arc::new(Self {
            waits,
            tickets: Tickets::new(),
            version: AtomicUsize::new(0),
            registered: Mutex::new(Vec::new()),
        })
    }

    fn submitter(&self) -> Arc<Ring> {
        let ring = Arc::new(Ring::default());
        let others = self.registered.lock().expect("registration").clone();
        self.tickets.set_live(others.len() + 1);
        if self.waits {
            barrier::heavy();
            for other in &others {
                if let Some(push) = other.submitter.pushing() {
                    while !other.submitter.is_over(push) {
                        thread::yield_now();
                    }
                }
            }
        }
        let mut registered = self.registered.lock().expect("registration");
        registered.push(Arc::clone(&ring));
        self.version.fetch_add(1, Ordering::Release);
        ring
    }

    fn submit(&self, ring: &Ring, label: u64) {
        ring.submitter.enter(0);
        let ticket = self.tickets.take(1).unwrap_or(UNTICKETED);
        ring.push(ticket, label);
        ring.submitter.accept(1);
        ring.submitter.leave();
    }
}

/// The worker's side.
struct Seen {
    shard: Arc<Shard>,
    version: usize,
    rings: Vec<(Arc<Ring>, usize)>,
}

impl Rings for Seen {
    fn is_unordered(&self, _ring: usize) -> bool {
        false
    }

    fn refresh(&mut self) -> usize {
        let version = self.shard.version.load(Ordering::Acquire);
        if version != self.version {
            self.version = version;
            let registered = self.shard.registered.lock().expect("registration");
            for ring in &registered[self.rings.len()..] {
                self.rings.push((Arc::clone(ring), 0));
            }
        }
        self.rings.len()
    }

    fn head(&mut self, ring: usize) -> u64 {
        let (ring, head) = &self.rings[ring];
        if ring.tail.load(Ordering::Acquire) > *head {
            ring.tickets[*head].load(Ordering::Relaxed)
        } else {
            UNSEEN
        }
    }
}

/// The worker. With `first_in_sight`, the planted fault: no merge, the first
/// ring that has a message.
struct Worker {
    seen: Seen,
    merge: Merge,
    first_in_sight: bool,
    ran: Vec<u64>,
}

impl Worker {
    fn new(shard: &Arc<Shard>, first_in_sight: bool) -> Self {
        Self {
            seen: Seen {
                shard: Arc::clone(shard),
                version: 0,
                rings: Vec::new(),
            },
            merge: Merge::new(2),
            first_in_sight,
            ran: Vec::new(),
        }
    }

    /// Looks `looks` times, and runs what it finds.
    fn look(&mut self, looks: usize) {
        for _ in 0..looks {
            let next = if self.first_in_sight {
                let rings = self.seen.refresh();
                (0..rings).find(|&ring| self.seen.head(ring) != UNSEEN)
            } else {
                self.merge.next(&mut self.seen)
            };
            let Some(ring) = next else { continue };
            let ticket = self.seen.head(ring);
            let (from, head) = &mut self.seen.rings[ring];
            self.ran.push(from.labels[*head].load(Ordering::Relaxed));
            *head += 1;
            if !self.first_in_sight {
                self.merge.ran(ticket);
                let head = self.seen.head(ring);
                self.merge.advance(ring, head);
            }
        }
    }

    /// The labels in the order in which they ran, once everything is pushed.
    fn finish(mut self, count: usize) -> Vec<u64> {
        self.look(count - self.ran.len());
        assert_eq!(self.ran.len(), count, "all is in sight");
        self.ran
    }
}

fn position(ran: &[u64], label: u64) -> usize {
    ran.iter().position(|&l| l == label).expect("it ran")
}

/// Two submitters exist; one hands over to the other, while a third message
/// overlaps both.
fn hand_over(first_in_sight: bool) {
    loom::model(move || {
        let shard = Shard::new();
        let (a, b) = (shard.submitter(), shard.submitter());
        let baton = Arc::new(AtomicUsize::new(0));
        let first = {
            let (shard, baton) = (Arc::clone(&shard), Arc::clone(&baton));
            thread::spawn(move || {
                shard.submit(&b, 1);
                baton.store(1, Ordering::Release);
            })
        };
        let second = {
            let shard = Arc::clone(&shard);
            thread::spawn(move || {
                let handed_over = baton.load(Ordering::Acquire) == 1;
                shard.submit(&a, 2);
                handed_over
            })
        };
        let mut worker = Worker::new(&shard, first_in_sight);
        worker.look(2);
        first.join().expect("first");
        let handed_over = second.join().expect("second");
        let ran = worker.finish(2);
        if handed_over {
            assert_eq!(ran, [1, 2], "the first returned before the second began");
        }
    });
}

#[test]
fn loom_l07_l37_submits_run_in_order_across_rings() {
    hand_over(false);
}

/// The planted fault: rings are taken as they come into sight.
#[test]
#[should_panic]
fn loom_l07_l37_a_missing_merge_is_found() {
    hand_over(true);
}

/// A hole: a ticket that was taken and is pushed late, after a later one ran.
#[test]
fn loom_l07_l37_a_late_push_does_not_let_its_followers_overtake() {
    loom::model(|| {
        let shard = Shard::new();
        let (a, b) = (shard.submitter(), shard.submitter());
        let baton = Arc::new(AtomicUsize::new(0));
        let slow = {
            let (shard, baton) = (Arc::clone(&shard), Arc::clone(&baton));
            thread::spawn(move || {
                shard.submit(&b, 1);
                baton.store(1, Ordering::Release);
            })
        };
        let fast = {
            let shard = Arc::clone(&shard);
            thread::spawn(move || {
                shard.submit(&a, 2);
                let handed_over = baton.load(Ordering::Acquire) == 1;
                shard.submit(&a, 3);
                handed_over
            })
        };
        let mut worker = Worker::new(&shard, false);
        worker.look(2);
        slow.join().expect("slow");
        let handed_over = fast.join().expect("fast");
        let ran = worker.finish(3);
        assert!(position(&ran, 2) < position(&ran, 3));
        if handed_over {
            assert!(position(&ran, 1) < position(&ran, 3), "{ran:?}");
        }
    });
}

/// The first submitter sends without a ticket; then, from another thread, a
/// second one is made and sends.
fn new_submitter(waits: bool) {
    loom::model(move || {
        let shard = Shard::with(waits);
        let a = shard.submitter();
        let baton = Arc::new(AtomicUsize::new(0));
        let first = {
            let (shard, baton) = (Arc::clone(&shard), Arc::clone(&baton));
            thread::spawn(move || {
                shard.submit(&a, 1);
                baton.store(1, Ordering::Release);
            })
        };
        let second = {
            let shard = Arc::clone(&shard);
            thread::spawn(move || {
                let b = shard.submitter();
                let handed_over = baton.load(Ordering::Acquire) == 1;
                shard.submit(&b, 2);
                handed_over
            })
        };
        let mut worker = Worker::new(&shard, false);
        worker.look(2);
        first.join().expect("first");
        let handed_over = second.join().expect("second");
        let ran = worker.finish(2);
        if handed_over {
            assert_eq!(ran, [1, 2]);
        }
    });
}

#[test]
fn loom_l07_l37_a_new_submitter_does_not_overtake_the_one_before_it() {
    new_submitter(true);
}

/// The planted fault, once a real one: a push that missed the announcement is
/// not in sight when the new ring is.
#[test]
#[should_panic]
fn loom_l07_l37_a_registration_that_does_not_wait_is_found() {
    new_submitter(false);
}
