//! The way back: one ring of reports from each shard to each I/O thread.
//!
//! The shard never waits for a reader. What finds no room in the ring is kept
//! in order behind it, and while anything is kept the shard takes no new
//! commands (the reader drains, or its clients stop being answered), so that
//! what is kept is bounded by the orders that are open. No report is dropped.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use atomic_waker::AtomicWaker;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::limits::REPORT_RING_CAPACITY;
use crate::types::Report;

/// The port that a drop copy's reports name: they are for every session that is to
/// have copies of their account's, whoever sent the command.
pub const DROP_COPY_PORT: u16 = u16::MAX;

/// The port that reports name of orders of an earlier run, until their client speaks of
/// them: they go to every I/O thread, and the one that has a session of the credential
/// tells it.
pub const RECOVERED_PORT: u16 = u16::MAX - 1;

/// The shard's end.
pub struct ReportSender {
    ring: Producer<Report>,
    kept: VecDeque<Report>,
    bell: Arc<AtomicWaker>,
    unannounced: bool,
}

/// The I/O thread's end.
pub struct ReportReceiver {
    ring: Consumer<Report>,
}

/// What wakes an I/O thread: shared by all shards that report to it.
#[derive(Clone, Debug, Default)]
pub struct ReportBell(Arc<AtomicWaker>);

/// A ring of reports to the thread that waits at `bell`.
#[must_use]
pub fn report_ring(bell: &ReportBell) -> (ReportSender, ReportReceiver) {
    report_ring_of(REPORT_RING_CAPACITY, bell)
}

fn report_ring_of(capacity: usize, bell: &ReportBell) -> (ReportSender, ReportReceiver) {
    let (producer, consumer) = RingBuffer::new(capacity);
    let bell = Arc::clone(&bell.0);
    let sender = ReportSender {
        ring: producer,
        kept: VecDeque::new(),
        bell,
        unannounced: false,
    };
    (sender, ReportReceiver { ring: consumer })
}

impl ReportSender {
    /// Sends a report; never waits, never loses it.
    pub fn send(&mut self, report: Report) {
        self.unannounced = true;
        if !self.kept.is_empty() {
            self.kept.push_back(report);
            return;
        }
        if let Err(rtrb::PushError::Full(report)) = self.ring.push(report) {
            self.kept.push_back(report);
        }
    }

    /// Moves what was kept into the ring, and wakes the reader once for all
    /// that was sent since the last call. Whether anything was moved.
    pub fn flush(&mut self) -> bool {
        if self.ring.is_abandoned() {
            // Its I/O thread has ended: nobody is left to be told.
            self.kept.clear();
        }
        let before = self.kept.len();
        while let Some(report) = self.kept.pop_front() {
            if let Err(rtrb::PushError::Full(report)) = self.ring.push(report) {
                self.kept.push_front(report);
                break;
            }
        }
        if self.unannounced {
            self.unannounced = !self.kept.is_empty();
            self.bell.wake();
        }
        before != self.kept.len()
    }

    /// Whether reports wait for room in the ring.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        !self.kept.is_empty()
    }
}

impl ReportReceiver {
    /// Gives at most `budget` reports to `sink`, oldest first; how many.
    pub fn drain(&mut self, budget: usize, sink: &mut dyn FnMut(&Report)) -> usize {
        let count = self.ring.slots().min(budget);
        let Ok(chunk) = self.ring.read_chunk(count) else {
            return 0;
        };
        let (first, second) = chunk.as_slices();
        first.iter().for_each(&mut *sink);
        second.iter().for_each(&mut *sink);
        chunk.commit_all();
        count
    }

    /// Whether a report waits.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.ring.is_empty()
    }
}

impl ReportBell {
    /// Wakes who waits: something that is no report has changed.
    pub fn ring(&self) {
        self.0.wake();
    }

    /// Ready when one of `receivers` has a report; else the task is woken when
    /// one comes.
    pub fn poll_ready(&self, cx: &mut Context<'_>, receivers: &[ReportReceiver]) -> Poll<()> {
        if receivers.iter().any(ReportReceiver::is_ready) {
            return Poll::Ready(());
        }
        // Registered before the second look: a report that came after the
        // first look is seen by it, and any later one rings this waker.
        self.0.register(cx.waker());
        if receivers.iter().any(ReportReceiver::is_ready) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;
    use crate::types::{
        AccountId, ClientOrderId, ClientReference, FillId, InstrumentId, Origin, Price, Quantity,
        ReportKind, ShardId, Side,
    };

    fn report(sequence: u64) -> Report {
        Report {
            kind: ReportKind::Accepted,
            side: Side::Buy,
            reject: None,
            shard: ShardId(0),
            origin: Origin::default(),
            account: AccountId(1),
            instrument: InstrumentId(1),
            reference: ClientReference(sequence),
            order_reference: ClientReference(sequence),
            client_order_id: ClientOrderId::default(),
            sequence,
            fill_id: FillId(0),
            price: Price::ZERO,
            quantity: Quantity::ZERO,
            cumulative: Quantity::ZERO,
            leaves: Quantity::ZERO,
        }
    }

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn f20_a_full_ring_keeps_every_report_in_order() {
        let (mut sender, mut receiver) = report_ring_of(4, &ReportBell::default());
        for sequence in 1..=11 {
            sender.send(report(sequence));
        }
        assert!(sender.is_behind());
        let mut seen = Vec::new();
        for _ in 0..3 {
            receiver.drain(3, &mut |r| seen.push(r.sequence));
            receiver.drain(3, &mut |r| seen.push(r.sequence));
            sender.flush();
        }
        assert_eq!(seen, (1..=11).collect::<Vec<_>>());
        assert!(!sender.is_behind());
    }

    #[test]
    fn one_wake_for_a_batch_and_none_for_nothing() {
        let bell = ReportBell::default();
        let (mut sender, mut receiver) = report_ring_of(16, &bell);
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let mut cx = Context::from_waker(&waker);
        assert!(
            bell.poll_ready(&mut cx, std::slice::from_ref(&receiver))
                .is_pending()
        );
        sender.flush();
        assert_eq!(wakes.0.load(Ordering::SeqCst), 0);
        sender.send(report(1));
        sender.send(report(2));
        sender.flush();
        sender.flush();
        assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
        assert!(
            bell.poll_ready(&mut cx, std::slice::from_ref(&receiver))
                .is_ready()
        );
        assert_eq!(receiver.drain(8, &mut |_| {}), 2);
        assert!(
            bell.poll_ready(&mut cx, std::slice::from_ref(&receiver))
                .is_pending()
        );
    }
}
