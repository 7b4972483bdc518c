//! A `Send` driver for tests of the dynamic strategy: one page for each key,
//! and gates that its operations can wait at.

#![allow(dead_code)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use pitlane::lanes::{LaneKey, LocalDriver};
use pitlane::time::Nanos;
use pitlane::types::AccountId;

pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A command: an entry for an account's page; `PANIC` panics, `WAIT` waits at
/// the account's gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) account: u64,
    pub(crate) value: u64,
}

pub(crate) const PANIC: u64 = u64::MAX;
pub(crate) const WAIT: u64 = u64::MAX - 1;

/// What all pages of one test share.
#[derive(Default)]
pub(crate) struct Library {
    pub(crate) entries: Mutex<Vec<(ThreadId, Entry)>>,
    pub(crate) aborted: Mutex<Vec<Entry>>,
    pub(crate) panicked: Mutex<Vec<Option<LaneKey>>>,
    pub(crate) made: AtomicUsize,
    pub(crate) released: AtomicUsize,
    /// By account: how many wait at its gate, and how many may pass.
    gates: Mutex<HashMap<u64, (usize, usize)>>,
    moved: Condvar,
}

impl Library {
    pub(crate) fn values(&self, account: u64) -> Vec<u64> {
        let entries = self.entries.lock().expect("entries");
        entries
            .iter()
            .filter(|(_, entry)| entry.account == account)
            .map(|(_, entry)| entry.value)
            .collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.lock().expect("entries").len()
    }

    fn wait_at(&self, account: u64) {
        let mut gates = self.gates.lock().expect("gates");
        gates.entry(account).or_default().0 += 1;
        self.moved.notify_all();
        // A test that has failed opens no gate; its engine still has to end.
        let deadline = Instant::now() + 2 * LONG;
        loop {
            let gate = gates.entry(account).or_default();
            if gate.1 > 0 {
                gate.0 -= 1;
                gate.1 -= 1;
                return;
            }
            assert!(Instant::now() < deadline, "nobody opened the gate");
            let waited = self.moved.wait_timeout(gates, Duration::from_millis(100));
            gates = waited.expect("gates").0;
        }
    }

    /// Waits until an operation waits at the account's gate.
    pub(crate) fn until_reached(&self, account: u64) {
        let mut gates = self.gates.lock().expect("gates");
        let deadline = Instant::now() + LONG;
        while gates.get(&account).is_none_or(|gate| gate.0 == 0) {
            assert!(Instant::now() < deadline, "nobody came to the gate");
            let waited = self.moved.wait_timeout(gates, Duration::from_millis(100));
            gates = waited.expect("gates").0;
        }
    }

    /// Whether an operation waits at the account's gate.
    pub(crate) fn is_reached(&self, account: u64) -> bool {
        let gates = self.gates.lock().expect("gates");
        gates.get(&account).is_some_and(|gate| gate.0 > 0)
    }

    pub(crate) fn open(&self, account: u64) {
        let mut gates = self.gates.lock().expect("gates");
        gates.entry(account).or_default().1 += 1;
        self.moved.notify_all();
    }

    /// Pages of one library, for a builder.
    pub(crate) fn pages(self: &Arc<Self>) -> impl Fn(LaneKey) -> Page + Send + Sync + 'static {
        let library = Arc::clone(self);
        move |key| {
            library.made.fetch_add(1, Ordering::SeqCst);
            Page {
                key,
                lines: 0,
                library: Arc::clone(&library),
            }
        }
    }
}

/// One key's page; `Send`.
pub(crate) struct Page {
    pub(crate) key: LaneKey,
    /// Entries on this page.
    pub(crate) lines: usize,
    pub(crate) library: Arc<Library>,
}

impl Page {
    pub(crate) fn write(&mut self, account: u64, value: u64) {
        self.lines += 1;
        let entry = Entry { account, value };
        let mut entries = self.library.entries.lock().expect("entries");
        entries.push((std::thread::current().id(), entry));
    }

    pub(crate) fn wait_at_gate(&self, account: u64) {
        self.library.wait_at(account);
    }
}

impl LocalDriver for Page {
    type Command = Entry;

    fn key(command: &Entry) -> LaneKey {
        LaneKey::Account(AccountId(command.account))
    }

    fn command(&mut self, command: &Entry, _now: Nanos) {
        assert!(command.value != PANIC, "a command that panics");
        if command.value == WAIT {
            self.wait_at_gate(command.account);
        }
        self.write(command.account, command.value);
    }

    fn aborted(&mut self, command: &Entry, _now: Nanos) {
        self.library.aborted.lock().expect("aborted").push(*command);
    }

    fn panicked(&mut self, key: Option<LaneKey>) {
        self.library.panicked.lock().expect("panicked").push(key);
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.library.released.fetch_add(1, Ordering::SeqCst);
    }
}
