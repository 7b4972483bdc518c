//! Exact sliding windows of one shard's own counts (rules K14, K24).
//!
//! A window logs its last attempts, at most as many as its limit, in chunks of
//! a pool that all windows share: an idle account's window holds no memory but
//! its 16-byte head, and a busy one takes and gives chunks without allocating
//! once the pool has grown.

use crate::time::Nanos;

const NONE: u32 = u32::MAX;
/// Seven stamps and the link fill a cache line.
const STAMPS: usize = 7;

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Chunk {
    stamps: [u64; STAMPS],
    next: u32,
}

/// One window; lives in the record whose attempts it counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// The chunk of the oldest stamp; `NONE` when empty.
    first: u32,
    /// The chunk of the newest stamp.
    last: u32,
    len: u32,
    /// Where in `first` the oldest stamp is.
    start: u8,
    /// Where in `last` the next stamp goes.
    end: u8,
}

impl Window {
    pub(crate) const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
        len: 0,
        start: 0,
        end: 0,
    };

    #[cfg(test)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A limit on how often: `count` in any `window_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) count: u32,
    pub(crate) window_ns: u64,
}

/// The chunks of every window of a shard.
pub(crate) struct WindowPool {
    chunks: Vec<Chunk>,
    free: u32,
}

impl WindowPool {
    pub(crate) const fn new() -> Self {
        Self {
            chunks: Vec::new(),
            free: NONE,
        }
    }

    /// Logs an attempt; whether it is one of at most `rate.count` in the window
    /// that ends with it.
    #[inline]
    pub(crate) fn hit(&mut self, window: &mut Window, now: Nanos, rate: Rate) -> bool {
        self.expire(window, now, rate.window_ns);
        if rate.count == 0 {
            return false;
        }
        let passes = window.len < rate.count;
        while window.len >= rate.count {
            self.pop(window);
        }
        self.push(window, now.0);
        passes
    }

    /// What [`hit`](Self::hit) would answer.
    pub(crate) fn peek(&self, window: &Window, now: Nanos, rate: Rate) -> bool {
        if window.len < rate.count {
            return true;
        }
        let Some(mut skip) = window.len.checked_sub(rate.count) else {
            return true;
        };
        if rate.count == 0 {
            return false;
        }
        // The oldest of the last `count` attempts.
        let (mut chunk, mut at) = (window.first, usize::from(window.start));
        while skip > 0 {
            skip -= 1;
            at += 1;
            if at == STAMPS {
                (chunk, at) = (self.chunks[chunk as usize].next, 0);
            }
        }
        expired(self.chunks[chunk as usize].stamps[at], now, rate.window_ns)
    }

    /// Forgets what is older than the window, so that an idle one is empty.
    #[inline]
    pub(crate) fn expire(&mut self, window: &mut Window, now: Nanos, window_ns: u64) {
        if window.len == 0 || !expired(self.oldest(window), now, window_ns) {
            return;
        }
        // Stamps do not fall: with the newest one all of them are past.
        let last = &self.chunks[window.last as usize];
        if expired(last.stamps[usize::from(window.end) - 1], now, window_ns) {
            self.clear(window);
            return;
        }
        self.pop(window);
        while expired(self.oldest(window), now, window_ns) {
            self.pop(window);
        }
    }

    #[inline]
    fn oldest(&self, window: &Window) -> u64 {
        self.chunks[window.first as usize].stamps[usize::from(window.start)]
    }

    /// Gives all of a window's memory back, whose chunks are linked already.
    #[inline]
    pub(crate) fn clear(&mut self, window: &mut Window) {
        if window.len > 0 {
            self.chunks[window.last as usize].next = self.free;
            self.free = window.first;
            *window = Window::EMPTY;
        }
    }

    #[inline]
    fn push(&mut self, window: &mut Window, stamp: u64) {
        if window.len == 0 {
            let chunk = self.take();
            (window.first, window.last, window.start, window.end) = (chunk, chunk, 0, 0);
        } else if usize::from(window.end) == STAMPS {
            let chunk = self.take();
            self.chunks[window.last as usize].next = chunk;
            (window.last, window.end) = (chunk, 0);
        }
        self.chunks[window.last as usize].stamps[usize::from(window.end)] = stamp;
        window.end += 1;
        window.len += 1;
    }

    #[inline]
    fn pop(&mut self, window: &mut Window) {
        window.len -= 1;
        window.start += 1;
        if window.len == 0 {
            self.give(window.first);
            *window = Window::EMPTY;
        } else if usize::from(window.start) == STAMPS {
            let next = self.chunks[window.first as usize].next;
            self.give(window.first);
            (window.first, window.start) = (next, 0);
        }
    }

    fn take(&mut self) -> u32 {
        if self.free == NONE {
            let chunk = u32::try_from(self.chunks.len()).unwrap_or(NONE);
            self.chunks.push(Chunk {
                stamps: [0; STAMPS],
                next: NONE,
            });
            chunk
        } else {
            let chunk = self.free;
            self.free = self.chunks[chunk as usize].next;
            chunk
        }
    }

    fn give(&mut self, chunk: u32) {
        self.chunks[chunk as usize].next = self.free;
        self.free = chunk;
    }
}

/// A whole window has passed since the stamp; one in the future has not.
const fn expired(stamp: u64, now: Nanos, window_ns: u64) -> bool {
    match now.0.checked_sub(stamp) {
        Some(age) => age >= window_ns,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The oracle keeps every attempt forever and counts.
        #[test]
        fn k14_window_is_exact(
            steps in prop::collection::vec((0u64..40, 0usize..3), 1..400),
            count in 0u32..20,
            window_ns in 1u64..200,
        ) {
            let mut pool = WindowPool::new();
            let mut windows = [Window::EMPTY; 3];
            let mut oracle: [Vec<u64>; 3] = Default::default();
            let mut now = 0;
            for (delta, which) in steps {
                now += delta;
                let rate = Rate { count, window_ns };
                oracle[which].push(now);
                let recent = oracle[which].iter().filter(|at| now - **at < window_ns).count();
                let expected = recent <= count as usize;
                prop_assert_eq!(pool.peek(&windows[which], Nanos(now), rate), expected);
                prop_assert_eq!(pool.hit(&mut windows[which], Nanos(now), rate), expected);
            }
            for window in &mut windows {
                pool.expire(window, Nanos(now + window_ns), window_ns);
                prop_assert!(window.is_empty());
            }
            let mut free = 0;
            let mut at = pool.free;
            while at != NONE {
                free += 1;
                at = pool.chunks[at as usize].next;
            }
            prop_assert_eq!(free, pool.chunks.len(), "every chunk came back");
        }
    }
}
