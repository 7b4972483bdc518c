//! The thread that owns an executor: it takes what is asked, turns the executor,
//! gives answers when they are durable, and sleeps until something is due.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};
use crossbeam_utils::sync::{Parker, Unparker};
use pitlane::limits::{BATCH_MAX, EXECUTOR_IN_FLIGHT_MAX};
use pitlane::orders::executor::{
    Authority, Executor, ExecutorParts, ExecutorSettings, History, JournalLog, Record, VenueSetup,
};
use pitlane::orders::venue::Venue;
use pitlane::time::{Clock, Nanos, SystemClock};
use pitlane::types::InstrumentId;
use tokio::sync::oneshot;

use super::asks::{Ask, ExecutorHandle, ExecutorReport, OrderAnswer};
pub use super::sweep::Due;
use super::sweep::Sweep;

/// The longest sleep: the wall's clock may have been set meanwhile.
const SLEEP_MOST: Duration = Duration::from_secs(1);

/// How often what ended long ago is forgotten.
const FORGET_EVERY: Duration = Duration::from_secs(60);

/// Where an executor's thread comes from: made first, so that its journal and its
/// venue know whom to wake.
pub struct ExecutorStart {
    parker: Parker,
}

/// The way to a venue.
pub struct VenueWay {
    /// What decisions call it.
    pub name: String,
    /// The way there.
    pub venue: Box<dyn Venue + Send>,
    /// Its instruments, by their names in decisions.
    pub instruments: BTreeMap<String, InstrumentId>,
}

/// What an executor is made of on its thread.
pub struct ExecutorSetup {
    /// How it waits and what it holds.
    pub settings: ExecutorSettings,
    /// Its venues, by place.
    pub venues: Vec<VenueWay>,
    /// Its journal.
    pub log: JournalLog,
    /// What the journal had.
    pub records: Vec<Record>,
    /// Orders that are no longer in memory.
    pub history: Box<dyn History + Send>,
    /// Who settles; called on the thread.
    pub authority: Box<dyn FnOnce() -> Authority + Send>,
    /// Where decisions come from that were never brought, to be voided.
    pub due: Due,
    /// Requests that may wait.
    pub requests_max: usize,
}

/// An executor's thread; dropped, it ends: what was taken is written, what was not
/// answered is not.
pub struct ExecutorThread {
    handle: ExecutorHandle,
    stop: Arc<AtomicBool>,
    unparker: Unparker,
    thread: Option<JoinHandle<()>>,
}

/// Who waits for what.
enum Waiting {
    Order(oneshot::Sender<OrderAnswer>),
    Mark(Box<dyn FnOnce()>),
}

/// The executor with all that the thread keeps beside it.
struct Desk {
    executor: Executor,
    asks: Receiver<Ask>,
    waiting: HashMap<u64, Waiting, foldhash::fast::RandomState>,
    requests: u64,
    clock: SystemClock,
    next_forget: Nanos,
    sweep: Sweep,
}

impl Default for ExecutorStart {
    fn default() -> Self {
        Self {
            parker: Parker::new(),
        }
    }
}

impl ExecutorStart {
    /// Wakes the thread that will be.
    #[must_use]
    pub fn waker(&self) -> Box<dyn Fn() + Send> {
        self.bell()
    }

    /// The same, for several threads.
    #[must_use]
    pub fn bell(&self) -> Box<dyn Fn() + Send + Sync> {
        let unparker = self.parker.unparker().clone();
        Box::new(move || unparker.unpark())
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(self, setup: ExecutorSetup) -> io::Result<ExecutorThread> {
        let (sender, asks) = bounded(setup.requests_max);
        let unparker = self.parker.unparker().clone();
        let handle = ExecutorHandle::new(sender, unparker.clone());
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = Builder::new()
            .name("pitlane-executor".into())
            .spawn(move || {
                let mut desk = Desk::new(setup, asks);
                desk.run(&self.parker, &told);
            })?;
        Ok(ExecutorThread {
            handle,
            stop,
            unparker,
            thread: Some(thread),
        })
    }
}

impl ExecutorThread {
    /// To ask it.
    #[must_use]
    pub fn handle(&self) -> ExecutorHandle {
        self.handle.clone()
    }
}

impl Drop for ExecutorThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.unparker.unpark();
        if let Some(thread) = self.thread.take() {
            // A panic was printed by its thread; whoever asked was refused.
            let _ = thread.join();
        }
    }
}

impl Desk {
    fn new(setup: ExecutorSetup, asks: Receiver<Ask>) -> Self {
        let clock = SystemClock::new();
        let venues = setup.venues.into_iter();
        let venues = venues.map(|way| VenueSetup {
            name: way.name,
            venue: way.venue,
            instruments: way.instruments,
        });
        let parts = ExecutorParts {
            settings: setup.settings,
            venues: venues.collect(),
            log: Box::new(setup.log),
            recovered: (0, setup.records),
            history: setup.history,
            authority: (setup.authority)(),
        };
        Self {
            executor: Executor::new(parts, clock),
            asks,
            waiting: HashMap::default(),
            requests: 0,
            next_forget: clock.now().after(FORGET_EVERY),
            sweep: Sweep::new(setup.due),
            clock,
        }
    }

    fn run(&mut self, parker: &Parker, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            let taken = self.take_asks();
            let progress = self.executor.turn();
            let answered = self.give_answers();
            self.forget();
            self.sweep.turn(&mut self.executor, self.clock.now());
            if progress.more || taken == BATCH_MAX || (answered && !self.asks.is_empty()) {
                continue;
            }
            let now = self.clock.now();
            let due = progress.next_due.map(|due| due.since(now));
            let sleep = due.map_or(SLEEP_MOST, Duration::from_nanos);
            parker.park_timeout(sleep.min(SLEEP_MOST));
        }
    }

    /// Takes what was asked, as far as it may wait; how much.
    fn take_asks(&mut self) -> usize {
        let mut taken = 0;
        while taken < BATCH_MAX && self.waiting.len() < EXECUTOR_IN_FLIGHT_MAX {
            let Ok(ask) = self.asks.try_recv() else { break };
            self.take(ask);
            taken += 1;
        }
        taken
    }

    fn take(&mut self, ask: Ask) {
        match ask {
            Ask::Submit {
                agent,
                body,
                answer,
            } => {
                let request = self.await_order(answer);
                self.executor.submit(request, &agent, &body);
            }
            Ask::Cancel { agent, id, answer } => {
                let request = self.await_order(answer);
                self.executor.cancel(request, &agent, id);
            }
            Ask::Read { agent, id, answer } => {
                let request = self.await_order(answer);
                self.executor.read(request, &agent, id);
            }
            Ask::Orders {
                state,
                most,
                answer,
            } => {
                let orders = self.executor.orders_in(state, most);
                self.await_mark(move || _ = answer.send(orders));
            }
            Ask::Block {
                account,
                blocked,
                answer,
            } => {
                if blocked {
                    self.executor.block(account);
                } else {
                    self.executor.unblock(account);
                }
                self.await_mark(move || _ = answer.send(()));
            }
            Ask::Report { census, answer } => {
                // Counts are nobody's order: they need not wait for the disk.
                let _ = answer.send(self.report(census));
            }
        }
    }

    fn number(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }

    fn await_order(&mut self, answer: oneshot::Sender<OrderAnswer>) -> u64 {
        let request = self.number();
        self.waiting.insert(request, Waiting::Order(answer));
        request
    }

    fn await_mark(&mut self, tell: impl FnOnce() + 'static) {
        let request = self.number();
        self.waiting.insert(request, Waiting::Mark(Box::new(tell)));
        self.executor.mark(request);
    }

    /// Gives what may be given; whether there was anything.
    fn give_answers(&mut self) -> bool {
        let before = self.waiting.len();
        while let Some(answer) = self.executor.next_answer() {
            if let Some(Waiting::Order(sender)) = self.waiting.remove(&answer.request) {
                // Who asked may have gone; what was done stays done.
                let _ = sender.send(answer.result);
            }
        }
        while let Some(mark) = self.executor.next_mark() {
            if let Some(Waiting::Mark(tell)) = self.waiting.remove(&mark) {
                tell();
            }
        }
        if self.executor.has_failed() {
            // Marks are not reached any more.
            self.waiting
                .retain(|_, waiting| matches!(waiting, Waiting::Order(_)));
        }
        self.waiting.len() < before
    }

    fn forget(&mut self) {
        let now = self.clock.now();
        if now >= self.next_forget {
            self.next_forget = now.after(FORGET_EVERY);
            self.executor.forget_old();
        }
    }

    fn report(&self, census: bool) -> ExecutorReport {
        let orders = census.then(|| self.executor.orders_by_state());
        ExecutorReport {
            counts: self.executor.counts(),
            orders: orders.unwrap_or_default(),
            undelivered: self.executor.undelivered(),
            open_questions: self.executor.open_questions(),
            in_flight: self.waiting.len(),
            venues: self.executor.venues(),
            blocked: self.executor.blocked(),
            failed: self.executor.has_failed(),
        }
    }
}
