//! The bundled observer of lanes: one recorder for each worker and each
//! producer, merged when somebody looks (rule L30).

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::telemetry::{Counts, Distribution, Unit, write_hlog};

use super::key::LaneKey;
use super::observer::{Hooks, Observer, Place};

/// Operations between two that are measured: measuring one costs three clock
/// reads, so one in 64 costs about a nanosecond each.
const SAMPLE_EVERY: u32 = 64;

/// Records queue wait, run time, submit wait and depth of an engine's lanes.
///
/// Clones share the recorders: keep one, give one to the engine. Each submitter
/// and each worker writes its own recorder, with no lock and no allocation;
/// [`snapshot`](Self::snapshot) reads them all while they run. Counts are since
/// the observer was made.
#[derive(Clone, Debug)]
pub struct HdrObserver {
    recorders: Arc<Mutex<Vec<Arc<Recorder>>>>,
    sample_every: u32,
}

/// One thread's counts. Held by the observer and, while it is in use, by the
/// hooks of one submitter or worker.
#[derive(Debug, Default)]
struct Recorder {
    queue_wait_ns: Counts,
    run_ns: Counts,
    submit_wait_ns: Counts,
    depth: Counts,
}

/// The distributions of an engine's lanes.
#[derive(Clone, Debug)]
pub struct LaneSnapshot {
    /// From a submit's stamp to the clock of the batch that took it.
    pub queue_wait_ns: Distribution,
    /// How long operations ran.
    pub run_ns: Distribution,
    /// How long submits waited for room; those that waited only.
    pub submit_wait_ns: Distribution,
    /// Messages in the ring after a submit.
    pub depth: Distribution,
}

/// The hooks of one submitter or worker.
#[derive(Debug)]
pub struct HdrHooks(Arc<Recorder>);

impl HdrObserver {
    /// An observer that measures one operation in 64 (and every wait for room).
    #[must_use]
    pub fn new() -> Self {
        Self {
            recorders: Arc::default(),
            sample_every: SAMPLE_EVERY,
        }
    }

    /// Measures one operation in `every`; 1 is each, 0 counts as 1.
    #[must_use]
    pub fn sampling(every: u32) -> Self {
        Self {
            recorders: Arc::default(),
            sample_every: every.max(1),
        }
    }

    /// What all recorders have counted so far, merged.
    #[must_use]
    pub fn snapshot(&self) -> LaneSnapshot {
        let mut merged = LaneSnapshot::new();
        for recorder in self.recorders().iter() {
            merged.queue_wait_ns.add(&recorder.queue_wait_ns);
            merged.run_ns.add(&recorder.run_ns);
            merged.submit_wait_ns.add(&recorder.submit_wait_ns);
            merged.depth.add(&recorder.depth);
        }
        merged
    }

    fn recorders(&self) -> MutexGuard<'_, Vec<Arc<Recorder>>> {
        // The list is whole at every moment.
        self.recorders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for HdrObserver {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for HdrObserver {
    type Hooks = HdrHooks;

    fn hooks(&self, _place: Place) -> HdrHooks {
        let mut recorders = self.recorders();
        // A recorder whose thread is gone is written on by the next one; so
        // there are never more than there were threads at once.
        if let Some(free) = recorders.iter().find(|r| Arc::strong_count(r) == 1) {
            return HdrHooks(Arc::clone(free));
        }
        let recorder = Arc::new(Recorder::default());
        recorders.push(Arc::clone(&recorder));
        HdrHooks(recorder)
    }

    fn sample_every(&self) -> u32 {
        self.sample_every
    }
}

impl Hooks for HdrHooks {
    #[inline]
    fn on_enqueue(&mut self, _key: LaneKey, depth: usize) {
        self.0.depth.record(depth as u64);
    }

    #[inline]
    fn on_dequeue(&mut self, _key: LaneKey, waited_ns: u64) {
        self.0.queue_wait_ns.record(waited_ns);
    }

    #[inline]
    fn on_complete(&mut self, _key: LaneKey, ran_ns: u64) {
        // An aborted operation did not run.
        if ran_ns > 0 {
            self.0.run_ns.record(ran_ns);
        }
    }

    fn on_queue_full_blocked(&mut self, _key: LaneKey, waiting_ns: u64) {
        self.0.submit_wait_ns.record(waiting_ns);
    }
}

impl LaneSnapshot {
    fn new() -> Self {
        Self {
            queue_wait_ns: Distribution::new("queue_wait", Unit::Nanoseconds),
            run_ns: Distribution::new("run", Unit::Nanoseconds),
            submit_wait_ns: Distribution::new("submit_wait", Unit::Nanoseconds),
            depth: Distribution::new("depth", Unit::Count),
        }
    }

    fn all(&self) -> [&Distribution; 4] {
        [
            &self.queue_wait_ns,
            &self.run_ns,
            &self.submit_wait_ns,
            &self.depth,
        ]
    }

    /// Writes an HDR interval log with one tagged line per distribution: when
    /// measuring began, and how long it went on.
    ///
    /// # Errors
    /// What the writer answers.
    pub fn write_hlog(
        &self,
        to: &mut impl Write,
        begun: SystemTime,
        interval: Duration,
    ) -> io::Result<()> {
        write_hlog(&self.all(), to, begun, interval)
    }

    /// Prometheus text: one summary per distribution, times in seconds.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let mut text = String::new();
        for distribution in self.all() {
            distribution.prometheus("pitlane_lane_", &mut text);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    #[test]
    fn l30_recorders_merge_while_they_live_and_after() {
        let observer = HdrObserver::new();
        let mut worker = observer.hooks(Place::Producer);
        worker.on_dequeue(LaneKey::Engine, 1_000);
        let mut other = observer.hooks(Place::Producer);
        other.on_dequeue(LaneKey::Engine, 3_000);
        other.on_complete(LaneKey::Engine, 0);
        other.on_complete(LaneKey::Engine, 50);
        other.on_enqueue(LaneKey::Engine, 12);
        other.on_queue_full_blocked(LaneKey::Engine, u64::MAX);
        assert_eq!(observer.snapshot().queue_wait_ns.count(), 2);
        drop(other);
        let mut next = observer.hooks(Place::Producer);
        next.on_dequeue(LaneKey::Engine, 5_000);
        let snapshot = observer.snapshot();
        assert_eq!(snapshot.queue_wait_ns.count(), 3, "nothing is forgotten");
        assert_eq!(snapshot.run_ns.count(), 1, "an abort did not run");
        assert_eq!(snapshot.depth.at_quantile(1.0), 12);
        assert_eq!(snapshot.submit_wait_ns.clamped(), 1);
    }

    #[test]
    fn l30_hlog_and_prometheus_give_what_was_recorded() {
        let observer = HdrObserver::new();
        let mut hooks = observer.hooks(Place::Producer);
        for _ in 0..10 {
            hooks.on_dequeue(LaneKey::Engine, 200);
        }
        let snapshot = observer.snapshot();
        let text = snapshot.prometheus();
        assert!(
            text.contains("pitlane_lane_queue_wait_seconds{quantile=\"0.5\"} 0.000000200\n"),
            "{text}"
        );
        assert!(text.contains("pitlane_lane_queue_wait_seconds_count 10\n"));

        let mut log = Vec::new();
        snapshot
            .write_hlog(&mut log, SystemTime::UNIX_EPOCH, Duration::from_secs(2))
            .expect("a vector takes it");
        let queue_wait = IntervalLogIterator::new(&log)
            .filter_map(Result::ok)
            .find_map(|entry| match entry {
                LogEntry::Interval(interval)
                    if interval.tag().is_some_and(|t| t.as_str() == "queue_wait") =>
                {
                    Some(interval.encoded_histogram().to_owned())
                }
                _ => None,
            })
            .expect("a line with the tag");
        let bytes = base64_decoded(&queue_wait);
        let read: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .expect("a histogram");
        assert_eq!((read.len(), read.value_at_quantile(0.5)), (10, 200));
    }

    fn base64_decoded(text: &str) -> Vec<u8> {
        let digit = |byte: u8| -> u32 {
            match byte {
                b'A'..=b'Z' => u32::from(byte - b'A'),
                b'a'..=b'z' => u32::from(byte - b'a') + 26,
                b'0'..=b'9' => u32::from(byte - b'0') + 52,
                b'+' => 62,
                b'/' => 63,
                _ => 0,
            }
        };
        let mut bytes = Vec::new();
        for quad in text.as_bytes().chunks(4) {
            let word = quad.iter().fold(0, |word, &byte| word << 6 | digit(byte));
            bytes.extend_from_slice(&word.to_be_bytes()[1..]);
        }
        bytes
    }
}
