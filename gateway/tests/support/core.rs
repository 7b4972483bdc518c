//! A core that accepts everything: in line, or behind a thread.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use pitlane::shard::RECOVERED_PORT;
use pitlane::types::{
    ClientOrderId, ClientReference, Command, FillId, InstrumentId, Price, Quantity, Report,
    ReportKind, ShardId, Side,
};
use pitlane_gateway::server::{Full, OrderPath};

/// Orders for this instrument trade once for each nano-unit of their quantity.
pub(crate) const FILLS: InstrumentId = InstrumentId(900);
/// Orders for this instrument find the ring full.
pub(crate) const FULL: InstrumentId = InstrumentId(901);
/// Orders for this instrument are never answered.
pub(crate) const MUTE: InstrumentId = InstrumentId(902);
/// Orders for this instrument are answered when the next command comes.
pub(crate) const LATE: InstrumentId = InstrumentId(903);

/// Orders for this instrument are reported as if they were of an earlier run: to every
/// I/O thread, under a session that is gone.
pub(crate) const RECOVERED: InstrumentId = InstrumentId(904);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoreKind {
    /// In the I/O thread.
    Inline,
    /// Behind a thread, which wakes the I/O thread.
    Threaded,
}

pub(crate) enum TestPath {
    Inline {
        port: usize,
        core: Core,
        submitted: Vec<Command>,
        flushed: Vec<Command>,
        reports: VecDeque<Report>,
    },
    Threaded {
        port: usize,
        batch: Vec<Command>,
        commands: Sender<Vec<Command>>,
        reports: Receiver<Report>,
        /// One that was taken to see whether there are any.
        peeked: Option<Report>,
        waker: Arc<Mutex<Option<Waker>>>,
    },
}

impl TestPath {
    pub(crate) fn new(kind: CoreKind, port: usize) -> Self {
        match kind {
            CoreKind::Inline => Self::Inline {
                port,
                core: Core::default(),
                submitted: Vec::new(),
                flushed: Vec::new(),
                reports: VecDeque::new(),
            },
            CoreKind::Threaded => {
                let (commands, for_core) = channel::<Vec<Command>>();
                let (to_path, reports) = channel();
                let waker = Arc::new(Mutex::new(None::<Waker>));
                let to_wake = Arc::clone(&waker);
                std::thread::spawn(move || {
                    let mut core = Core::default();
                    for batch in for_core {
                        for command in batch {
                            core.run(&command, &mut |report| {
                                // The path is gone when the gateway has stopped.
                                let _ = to_path.send(report);
                            });
                        }
                        if let Some(waker) = to_wake.lock().unwrap().take() {
                            waker.wake();
                        }
                    }
                });
                Self::Threaded {
                    port,
                    batch: Vec::new(),
                    commands,
                    reports,
                    peeked: None,
                    waker,
                }
            }
        }
    }
}

impl OrderPath for TestPath {
    fn submit(&mut self, command: &Command) -> Result<(), Full> {
        let (port, batch) = match self {
            Self::Inline {
                port, submitted, ..
            } => (port, submitted),
            Self::Threaded { port, batch, .. } => (port, batch),
        };
        assert_eq!(usize::from(command.origin().port), *port);
        if let Command::NewOrder { order, .. } = command
            && order.instrument == FULL
        {
            return Err(Full);
        }
        batch.push(*command);
        Ok(())
    }

    fn flush(&mut self) {
        match self {
            Self::Inline {
                submitted, flushed, ..
            } => flushed.append(submitted),
            Self::Threaded {
                batch, commands, ..
            } => commands.send(std::mem::take(batch)).unwrap(),
        }
    }

    fn turn(&mut self) -> bool {
        if let Self::Inline {
            core,
            flushed,
            reports,
            ..
        } = self
        {
            for command in flushed.drain(..) {
                core.run(&command, &mut |report| reports.push_back(report));
            }
        }
        false
    }

    fn drain(&mut self, budget: usize, sink: &mut dyn FnMut(&Report)) -> usize {
        let mut count = 0;
        while count < budget {
            let next = match self {
                Self::Inline { reports, .. } => reports.pop_front(),
                Self::Threaded {
                    reports, peeked, ..
                } => peeked.take().or_else(|| reports.try_recv().ok()),
            };
            let Some(report) = next else { break };
            sink(&report);
            count += 1;
        }
        count
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Inline { reports, .. } if reports.is_empty() => Poll::Pending,
            Self::Inline { .. } => Poll::Ready(()),
            Self::Threaded {
                reports,
                peeked,
                waker,
                ..
            } => {
                *waker.lock().unwrap() = Some(context.waker().clone());
                if peeked.is_none() {
                    *peeked = reports.try_recv().ok();
                }
                if peeked.is_some() {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            }
        }
    }
}

/// Numbers reports and orders, and agrees to everything.
#[derive(Default)]
pub(crate) struct Core {
    sequence: u64,
    orders: u64,
    late: Vec<Report>,
}

impl Core {
    fn run(&mut self, command: &Command, sink: &mut dyn FnMut(Report)) {
        for report in self.late.drain(..) {
            sink(report);
        }
        match *command {
            Command::NewOrder {
                reference, order, ..
            } => {
                if order.instrument == MUTE {
                    return;
                }
                let quantity = order.quantity.unwrap_or_default();
                let mut report = self.report(command, ReportKind::Accepted, reference);
                report.instrument = order.instrument;
                report.side = order.side;
                report.price = order.price.unwrap_or_default();
                report.quantity = quantity;
                report.leaves = quantity;
                self.orders += 1;
                report.client_order_id = ClientOrderId {
                    high: 1,
                    low: self.orders,
                };
                if order.instrument == RECOVERED {
                    report.origin.port = RECOVERED_PORT;
                    report.origin.session = u32::MAX;
                }
                if order.instrument == LATE {
                    self.late.push(report);
                    return;
                }
                sink(report);
                if order.instrument == FILLS {
                    for filled in 1..=quantity.raw() {
                        self.sequence += 1;
                        sink(Report {
                            kind: ReportKind::Executed,
                            sequence: self.sequence,
                            fill_id: FillId(self.sequence),
                            quantity: Quantity::from_raw(1),
                            cumulative: Quantity::from_raw(filled),
                            leaves: Quantity::from_raw(quantity.raw() - filled),
                            ..report
                        });
                    }
                }
            }
            Command::Replace {
                target,
                price,
                quantity,
                ..
            } => {
                let mut report = self.report(command, ReportKind::Replaced, target);
                report.price = price;
                report.quantity = quantity;
                report.leaves = quantity;
                sink(report);
            }
            Command::Cancel { target, .. } => {
                sink(self.report(command, ReportKind::Canceled, target));
            }
        }
    }

    fn report(
        &mut self,
        command: &Command,
        kind: ReportKind,
        order_reference: ClientReference,
    ) -> Report {
        self.sequence += 1;
        Report {
            kind,
            side: Side::Buy,
            reject: None,
            shard: ShardId(0),
            origin: command.origin(),
            account: command.account(),
            instrument: InstrumentId(3),
            reference: command.reference(),
            order_reference,
            client_order_id: ClientOrderId { high: 1, low: 0 },
            sequence: self.sequence,
            fill_id: FillId(0),
            price: Price::ZERO,
            quantity: Quantity::ZERO,
            cumulative: Quantity::ZERO,
            leaves: Quantity::ZERO,
        }
    }
}
