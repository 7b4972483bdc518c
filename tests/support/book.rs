//! A driver for lane tests: writes down what ran, in order, on which thread.

#![allow(dead_code)]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use pitlane::lanes::{LaneKey, LocalDriver, Rest};
use pitlane::time::Nanos;
use pitlane::types::{AccountId, ShardId};

/// A command: an entry for an account's page; `PANIC` panics, `WAIT` waits at
/// the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) account: u64,
    pub(crate) value: u64,
}

pub(crate) const PANIC: u64 = u64::MAX;
pub(crate) const WAIT: u64 = u64::MAX - 1;

/// What all shards' drivers of one test share.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) entries: Mutex<Vec<(ShardId, ThreadId, Entry)>>,
    pub(crate) aborted: Mutex<Vec<Entry>>,
    pub(crate) panicked: Mutex<Vec<Option<LaneKey>>>,
    pub(crate) released: AtomicUsize,
    pub(crate) released_on: Mutex<Vec<ThreadId>>,
}

impl Ledger {
    pub(crate) fn values(&self, account: u64) -> Vec<u64> {
        let entries = self.entries.lock().expect("ledger");
        entries
            .iter()
            .filter(|(_, _, entry)| entry.account == account)
            .map(|(_, _, entry)| entry.value)
            .collect()
    }

    pub(crate) fn released(&self) -> usize {
        self.released.load(Ordering::SeqCst)
    }
}

/// `!Send`, as drivers may be.
pub(crate) struct Book {
    shard: ShardId,
    pub(crate) page: Rc<RefCell<Vec<Entry>>>,
    ledger: Arc<Ledger>,
    gate: Arc<Mutex<Receiver<()>>>,
    reached: Sender<()>,
}

/// Opens the gate that `WAIT` commands wait at.
pub(crate) struct Opener {
    open: Sender<()>,
    reached: Receiver<()>,
}

impl Opener {
    pub(crate) fn open(&self) {
        self.open.send(()).expect("the gate is there");
    }

    /// Waits until a command waits at the gate: it has begun, so that no stop
    /// can abort it.
    pub(crate) fn until_reached(&self) {
        self.reached.recv().expect("the book is there");
    }
}

/// A factory of books that share a ledger and a gate.
pub(crate) fn library() -> (
    Arc<Ledger>,
    Opener,
    impl Fn(ShardId) -> Book + Send + Sync + 'static,
) {
    let ledger = Arc::new(Ledger::default());
    let (open, receiver) = channel();
    let (reaches, reached) = channel();
    let gate = Arc::new(Mutex::new(receiver));
    let shared = Arc::clone(&ledger);
    let factory = move |shard| Book {
        shard,
        page: Rc::default(),
        ledger: Arc::clone(&shared),
        gate: Arc::clone(&gate),
        reached: reaches.clone(),
    };
    (ledger, Opener { open, reached }, factory)
}

impl Book {
    pub(crate) fn write(&mut self, account: u64, value: u64) {
        let entry = Entry { account, value };
        self.page.borrow_mut().push(entry);
        self.ledger.entries.lock().expect("ledger").push((
            self.shard,
            std::thread::current().id(),
            entry,
        ));
    }

    pub(crate) fn wait_at_gate(&self) {
        // A test that does not look has dropped its end, or never will.
        let _ = self.reached.send(());
        self.gate
            .lock()
            .expect("gate")
            .recv()
            .expect("the test opens it");
    }
}

impl LocalDriver for Book {
    type Command = Entry;

    fn key(command: &Entry) -> LaneKey {
        LaneKey::Account(AccountId(command.account))
    }

    fn command(&mut self, command: &Entry, _now: Nanos) {
        assert!(command.value != PANIC, "a command that panics");
        if command.value == WAIT {
            self.wait_at_gate();
        }
        self.write(command.account, command.value);
    }

    fn aborted(&mut self, command: &Entry, _now: Nanos) {
        self.ledger.aborted.lock().expect("ledger").push(*command);
    }

    fn rest(&self, _now: Nanos) -> Rest {
        // So that a lost wake shows as a hang, not as a slow test.
        Rest::UntilWoken
    }

    fn panicked(&mut self, key: Option<LaneKey>) {
        self.ledger.panicked.lock().expect("ledger").push(key);
    }
}

impl Drop for Book {
    fn drop(&mut self) {
        self.ledger.released.fetch_add(1, Ordering::SeqCst);
        self.ledger
            .released_on
            .lock()
            .expect("ledger")
            .push(std::thread::current().id());
    }
}
