//! A shard's seat at a window that spans shards (rule K14): from here it
//! counts, and what it has learnt about the others is kept here.
//!
//! Called by one thread at a time, in order, every verdict is that of one
//! exact sliding window over all attempts, whichever shard made them. Called
//! by many at once, never more than the limit passes, and no slot is lost; but
//! slots that one shard is in the middle of taking are refused to the others.

use std::sync::Arc;

use super::shared_window::{Lane, ONE_ATTEMPT, SharedWindow, room};
use super::sync::Ordering;
use super::window::Rate;
use crate::limits::SHARDS_MAX;
use crate::time::Nanos;

/// The most slots taken at a time.
const BLOCK: u64 = 64;
/// Of the slots that are free, every lane takes at most one in this many.
const SHARE: u64 = 4;

const _: () = assert!(BLOCK < ONE_ATTEMPT, "a block fits in a lane's room");

/// See the module. The lane is free for another seat once it is dropped.
pub struct Seat {
    own: Arc<Lane>,
    window: Arc<SharedWindow>,
    /// Under which the lane's room was taken.
    rate: Rate,
    /// The latest time that was judged.
    latest: Nanos,
    /// By lane, the attempts known to be a window old; and all of them.
    known: Box<[u64; SHARDS_MAX]>,
    expired: u64,
}

impl Seat {
    /// A seat of its own, for at most `limit` attempts in any `window_ns`;
    /// none is left when [`SHARDS_MAX`] are taken.
    #[must_use]
    pub fn new(window: &Arc<SharedWindow>, limit: u32, window_ns: u64) -> Option<Self> {
        let own = window.hold_lane()?;
        Some(Self {
            latest: own.latest(),
            own,
            window: Arc::clone(window),
            rate: Rate {
                count: limit,
                window_ns,
            },
            known: Box::new([0; SHARDS_MAX]),
            expired: 0,
        })
    }

    /// Another limit from now on; what was counted stays.
    pub fn set_limit(&mut self, limit: u32, window_ns: u64) {
        let rate = Rate {
            count: limit,
            window_ns,
        };
        if self.rate == rate {
            return;
        }
        // Room was judged by the other limit.
        self.own.give_room_back(&self.window.taken);
        self.rate = rate;
        self.known.fill(0);
        self.expired = 0;
    }

    /// Logs an attempt at `now`; whether it is one of at most the limit in the
    /// window that ends with it. A time before an earlier call's is taken as
    /// that. A limit beyond the capacity passes nothing, as cannot be judged;
    /// configuration refuses it before.
    #[inline]
    pub fn hit(&mut self, now: Nanos) -> bool {
        self.latest = self.latest.max(now);
        let mut word = self.own.word.load(Ordering::Relaxed);
        while room(word) > 0 {
            self.own.write(word, self.latest);
            // Release: who sees the attempt counted sees its time, and the
            // taking of its slot. Acquire is not needed: the room is our own.
            match self.own.word.compare_exchange_weak(
                word,
                word + ONE_ATTEMPT - 1,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(found) => word = found,
            }
        }
        self.hit_without_room()
    }

    /// What [`hit`](Self::hit) would answer, without logging.
    #[must_use]
    pub fn peek(&self, now: Nanos) -> bool {
        if room(self.own.word.load(Ordering::Relaxed)) > 0 {
            return true;
        }
        if !self.can_judge() {
            return false;
        }
        let now = self.latest.max(now);
        let lanes = self.window.lanes().zip(self.known.iter());
        let expired: u64 = lanes
            .map(|(lane, known)| lane.expired(*known, now, self.rate.window_ns))
            .sum();
        let taken = self.window.taken.load(Ordering::Acquire);
        let used = taken.saturating_sub(expired);
        let limit = u64::from(self.rate.count);
        used < limit || (used == limit && self.window.lanes().any(Lane::has_room))
    }

    fn can_judge(&self) -> bool {
        self.rate.count > 0 && self.rate.count as usize <= self.window.capacity()
    }

    #[cold]
    #[inline(never)]
    fn hit_without_room(&mut self) -> bool {
        let taken = self.take();
        if taken == 0 {
            // A refused attempt uses a slot too.
            self.window.taken.fetch_add(1, Ordering::AcqRel);
        }
        // Nobody else changes the word of a lane without room.
        let word = self.own.word.load(Ordering::Relaxed);
        self.own.write(word, self.latest);
        let next = word + ONE_ATTEMPT + taken.saturating_sub(1);
        self.own.word.store(next, Ordering::Release);
        taken > 0
    }

    /// Takes slots, one of which is for the attempt at hand; zero where the
    /// limit is reached.
    fn take(&mut self) -> u64 {
        if !self.can_judge() {
            return 0;
        }
        loop {
            let taken = self.window.taken.load(Ordering::Acquire);
            let mut block = self.block(taken);
            if block < BLOCK {
                self.count_expired();
                block = self.block(taken);
            }
            if block == 0 {
                return u64::from(self.take_from_others());
            }
            // An expired attempt's slot was taken before it was used, so a
            // count that has not moved has every one of them.
            if self
                .window
                .taken
                .compare_exchange_weak(taken, taken + block, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
            {
                return block;
            }
        }
    }

    /// How many slots to take; the nearer the limit, the fewer.
    fn block(&self, taken: u64) -> u64 {
        let used = taken.saturating_sub(self.expired);
        let free = u64::from(self.rate.count).saturating_sub(used);
        (free / (SHARE * self.window.lanes_opened())).clamp(u64::from(free > 0), BLOCK)
    }

    fn count_expired(&mut self) {
        let mut expired = 0;
        for (lane, known) in self.window.lanes().zip(self.known.iter_mut()) {
            *known = lane.expired(*known, self.latest, self.rate.window_ns);
            expired += *known;
        }
        self.expired = expired;
    }

    /// Takes one slot that another lane has and does not use.
    fn take_from_others(&mut self) -> bool {
        let limit = u64::from(self.rate.count);
        for number in 0..SHARDS_MAX {
            let Some(mut word) = self.window.lane(number).map(Lane::see) else {
                break;
            };
            while room(word) > 0 {
                // Its slots were judged at another time; they are judged again
                // at ours. Expired attempts are counted before the slots, so
                // that theirs are among those.
                self.count_expired();
                let taken = self.window.taken.load(Ordering::Acquire);
                if taken.saturating_sub(self.expired) > limit {
                    return false;
                }
                match self.window.lane(number).map(|lane| lane.take_one(word)) {
                    Some(Ok(_)) => return true,
                    Some(Err(found)) => word = found,
                    None => break,
                }
            }
        }
        false
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.own.let_go(&self.window.taken);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;

    /// Keeps every attempt forever and counts.
    #[derive(Default)]
    struct Oracle(Vec<u64>);

    impl Oracle {
        fn hit(&mut self, now: u64, limit: u32, window_ns: u64) -> bool {
            self.0.push(now);
            let recent = self.0.iter().rev();
            recent.take_while(|at| now - **at < window_ns).count() <= limit as usize
        }
    }

    proptest! {
        /// One to four shards take turns; seats are left and taken again, and
        /// limits change on all of them. The logs wrap many times.
        #[test]
        fn k14_seats_in_turn_are_one_exact_window(
            shards in 1usize..=4,
            steps in prop::collection::vec((0usize..4, 0u64..40, 0u32..60), 1..400),
            limits in prop::collection::vec((0u32..300, 1u64..2_000), 1..4),
        ) {
            let most = limits.iter().map(|(limit, _)| *limit).max().unwrap_or(0);
            let window = Arc::new(SharedWindow::new(most));
            let (mut limit, mut window_ns) = limits[0];
            let mut seats: Vec<_> = (0..shards)
                .map(|_| Seat::new(&window, limit, window_ns).expect("a seat"))
                .collect();
            let mut oracle = Oracle::default();
            let mut now = 0;
            for (shard, delta, what) in steps {
                now += delta;
                let seat = &mut seats[shard % shards];
                if what == 0 {
                    (limit, window_ns) = limits[shard % limits.len()];
                    for seat in &mut seats {
                        seat.set_limit(limit, window_ns);
                    }
                    continue;
                }
                if what == 1 {
                    seats.swap_remove(shard % shards);
                    seats.push(Seat::new(&window, limit, window_ns).expect("a seat"));
                    continue;
                }
                for _ in 0..what % 13 {
                    let judged = seat.peek(Nanos(now));
                    let expected = oracle.hit(now, limit, window_ns);
                    prop_assert_eq!(judged, expected, "peeked");
                    prop_assert_eq!(seat.hit(Nanos(now)), expected);
                }
            }
        }
    }

    /// A limit that is far is used in blocks, and to its last slot.
    #[test]
    fn k14_the_last_slot_passes_wherever_it_lies() {
        const LIMIT: u32 = 5_000;
        let window = Arc::new(SharedWindow::new(LIMIT));
        let mut seats = [0; 4].map(|_| Seat::new(&window, LIMIT, 10).expect("a seat"));
        // Every seat holds a block now.
        for seat in &mut seats {
            assert!(seat.hit(Nanos(0)));
        }
        assert_eq!(window.taken.load(Ordering::Relaxed), 4 * BLOCK);
        for _ in 4..LIMIT {
            assert!(seats[2].hit(Nanos(9)));
        }
        assert!(!seats.iter_mut().any(|seat| seat.hit(Nanos(9))));
        assert!(seats[1].hit(Nanos(19)));
    }

    /// At one moment, threads at once get no more than the limit, and what
    /// some of them took and did not use yet is there when all are done.
    #[test]
    fn k14_threads_at_once_get_exactly_the_limit() {
        const THREADS: usize = 4;
        for limit in [1, 7, 64, 300, 1_111, 4_096] {
            let window = Arc::new(SharedWindow::new(limit));
            for turn in 0..20u64 {
                let (passed, start) = (AtomicUsize::new(0), Barrier::new(THREADS));
                std::thread::scope(|scope| {
                    for _ in 0..THREADS {
                        scope.spawn(|| {
                            let mut seat = Seat::new(&window, limit, 10).expect("a seat");
                            start.wait();
                            let tries = 0..limit.div_ceil(2);
                            let hits = tries.filter(|_| seat.hit(Nanos(turn * 10))).count();
                            passed.fetch_add(hits, Ordering::Relaxed);
                            // Nobody leaves before all are done.
                            start.wait();
                            let left = room(seat.own.word.load(Ordering::Acquire));
                            let hits = (0..left).filter(|_| seat.hit(Nanos(turn * 10)));
                            passed.fetch_add(hits.count(), Ordering::Relaxed);
                            start.wait();
                        });
                    }
                });
                assert_eq!(passed.into_inner(), limit as usize, "of {limit}");
            }
        }
    }

    #[test]
    fn k14_seats_end_and_come_back() {
        let window = Arc::new(SharedWindow::new(1));
        let mut seats: Vec<_> = (0..SHARDS_MAX)
            .map(|_| Seat::new(&window, 1, 10).expect("a seat"))
            .collect();
        assert!(Seat::new(&window, 1, 10).is_none());
        assert!(seats[9].hit(Nanos(1)));
        seats.clear();
        let mut seat = Seat::new(&window, 1, 10).expect("a seat");
        assert!(!seat.hit(Nanos(2)), "what was counted stays");
    }
}
