//! Feeds: components that pass reports on (client reports, drop copy), and one that
//! counts them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::component::{Component, Context};
use super::events::ShardEvent;
use crate::types::{Report, ReportKind};

/// Where a feed's reports go: a ring to an I/O thread, a file, a test's list.
///
/// It is told of every report, in the order in which the shard published them. A
/// sink that has no room keeps the report or ends its session; it must not lose it.
pub trait ReportSink: 'static {
    /// Takes one report.
    fn report(&mut self, report: &Report);
}

impl<F: FnMut(&Report) + 'static> ReportSink for F {
    fn report(&mut self, report: &Report) {
        self(report);
    }
}

/// Passes every report on, as maintenance: also when it is stopped, because what
/// happened is told (the order and completeness of a drop copy are no author's choice).
#[derive(Debug)]
pub struct ReportFeed<S> {
    name: Box<str>,
    sink: S,
}

impl<S: ReportSink> ReportFeed<S> {
    /// A feed under this name (in alarms).
    #[must_use]
    pub fn new(name: &str, sink: S) -> Self {
        Self {
            name: name.into(),
            sink,
        }
    }

    /// Where its reports go.
    pub const fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }
}

impl<S: ReportSink> Component<ShardEvent> for ReportFeed<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn accepts(&self, event: &ShardEvent) -> bool {
        event.report().is_some()
    }

    fn maintain(&mut self, event: &ShardEvent, _: &Context<'_, ShardEvent>) {
        if let Some(report) = event.report() {
            self.sink.report(report);
        }
    }

    fn on_event(&mut self, _: &ShardEvent, _: &Context<'_, ShardEvent>) {}
}

/// Counts reports by kind, as maintenance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportCounter {
    counts: [u64; 6],
}

impl ReportCounter {
    /// How many reports of a kind there were.
    #[must_use]
    pub const fn count(&self, kind: ReportKind) -> u64 {
        self.counts[Self::place(kind)]
    }

    /// Counts what others counted, too.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = count.saturating_add(more);
        }
    }

    const fn place(kind: ReportKind) -> usize {
        match kind {
            ReportKind::Accepted => 0,
            ReportKind::Rejected => 1,
            ReportKind::Executed => 2,
            ReportKind::Canceled => 3,
            ReportKind::Replaced => 4,
            ReportKind::CancelRejected => 5,
        }
    }
}

impl Component<ShardEvent> for ReportCounter {
    fn name(&self) -> &str {
        "report counter"
    }

    fn maintain(&mut self, event: &ShardEvent, _: &Context<'_, ShardEvent>) {
        if let Some(report) = event.report() {
            let count = &mut self.counts[Self::place(report.kind)];
            *count = count.saturating_add(1);
        }
    }

    fn on_event(&mut self, _: &ShardEvent, _: &Context<'_, ShardEvent>) {}
}

/// Counts reports by kind where any thread can read them: one writer, no locked
/// instruction.
#[derive(Debug, Default)]
pub struct ReportMeter {
    counts: [AtomicU64; 6],
}

impl ReportMeter {
    /// What was counted so far.
    #[must_use]
    pub fn read(&self) -> ReportCounter {
        ReportCounter {
            counts: self
                .counts
                .each_ref()
                .map(|one| one.load(Ordering::Relaxed)),
        }
    }
}

/// The component that writes a meter; a meter has one.
#[derive(Debug)]
pub struct MeteredReports(Arc<ReportMeter>);

impl MeteredReports {
    /// Counts into this meter.
    #[must_use]
    pub const fn new(meter: Arc<ReportMeter>) -> Self {
        Self(meter)
    }
}

impl Component<ShardEvent> for MeteredReports {
    fn name(&self) -> &str {
        "report meter"
    }

    fn maintain(&mut self, event: &ShardEvent, _: &Context<'_, ShardEvent>) {
        if let Some(report) = event.report() {
            let count = &self.0.counts[ReportCounter::place(report.kind)];
            count.store(
                count.load(Ordering::Relaxed).wrapping_add(1),
                Ordering::Relaxed,
            );
        }
    }

    fn on_event(&mut self, _: &ShardEvent, _: &Context<'_, ShardEvent>) {}
}
