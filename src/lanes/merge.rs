//! Which ring is next: submission order across submitters (rule L7).
//!
//! Every submit made while more than one submitter exists carries a ticket from
//! its shard's counter, taken after the producer saw room, so tickets are dense:
//! each one taken is pushed. A message without a ticket (`0`) is older than any
//! ticket in another ring, and in sight before that ring is: a registration
//! waits for it. The worker runs the smallest ticket in sight once nothing smaller can
//! be in hiding: either it is the very next one and none is outstanding, or a
//! scan of every ring, begun after the ticket was seen, found nothing smaller.
//! `docs/ordering.md` has the proof.

/// A ring whose head was not in sight at the last look.
pub(crate) const UNSEEN: u64 = u64::MAX;
/// The ticket of a message that was sent while there was one submitter.
pub(crate) const UNTICKETED: u64 = 0;

/// What the merge looks at.
pub(crate) trait Rings {
    /// Takes in rings that were registered since; how many there are now.
    fn refresh(&mut self) -> usize;
    /// The ticket at the head of a ring, as an acquire load sees it, or
    /// [`UNSEEN`].
    fn head(&mut self, ring: usize) -> u64;
    /// Whether a smaller ticket may come to a ring whose head is in sight.
    fn is_unordered(&self, ring: usize) -> bool;
}

/// The worker's view of its rings' heads.
#[derive(Debug)]
pub(crate) struct Merge {
    heads: Vec<u64>,
    /// One more than the highest ticket that ran; the first ticket is 1.
    expected: u64,
    /// Tickets below `expected` that have not run: taken, not yet seen.
    holes: u64,
}

impl Merge {
    pub(crate) fn new(rings_max: usize) -> Self {
        Self {
            heads: Vec::with_capacity(rings_max),
            expected: 1,
            holes: 0,
        }
    }

    /// The ring whose head runs next; `None` when nothing is in sight.
    #[inline]
    pub(crate) fn next(&mut self, rings: &mut impl Rings) -> Option<usize> {
        let (ring, ticket) = self.smallest();
        if self.is_next(ticket) {
            return Some(ring);
        }
        self.settle(rings, ticket)
    }

    /// Whether a message with this ticket may run without another look.
    #[inline]
    pub(crate) fn is_next(&self, ticket: u64) -> bool {
        ticket == UNTICKETED || (self.holes == 0 && ticket == self.expected)
    }

    /// Accounts for a message that is being run.
    #[inline]
    pub(crate) fn ran(&mut self, ticket: u64) {
        if ticket == UNTICKETED {
            return;
        }
        if ticket >= self.expected {
            self.holes += ticket - self.expected;
            self.expected = ticket + 1;
        } else {
            self.holes -= 1;
        }
    }

    /// What a look at the ring finds at its head after a run: a message there
    /// may have no ticket, and is then older than any ticket in sight.
    #[inline]
    pub(crate) fn advance(&mut self, ring: usize, head: u64) {
        self.heads[ring] = head;
    }

    /// There are this many rings now.
    pub(crate) fn know(&mut self, count: usize) {
        self.heads.resize(count, UNSEEN);
    }

    /// A ring is gone; the last one takes its place.
    pub(crate) fn remove(&mut self, ring: usize) {
        self.heads.swap_remove(ring);
    }

    /// Looks again until the smallest ticket in sight was in sight before a
    /// whole scan began.
    fn settle(&mut self, rings: &mut impl Rings, seen: u64) -> Option<usize> {
        let mut before = seen;
        loop {
            self.scan(rings);
            let (ring, ticket) = self.smallest();
            if ticket == UNSEEN {
                return None;
            }
            if ticket == before || self.is_next(ticket) {
                return Some(ring);
            }
            before = ticket;
        }
    }

    fn scan(&mut self, rings: &mut impl Rings) {
        let count = rings.refresh();
        self.know(count);
        for (ring, head) in self.heads.iter_mut().enumerate() {
            if *head == UNSEEN || rings.is_unordered(ring) {
                *head = rings.head(ring);
            }
        }
    }

    #[inline]
    fn smallest(&self) -> (usize, u64) {
        let mut best = (0, UNSEEN);
        for (ring, &head) in self.heads.iter().enumerate() {
            if head < best.1 {
                best = (ring, head);
            }
        }
        best
    }
}
