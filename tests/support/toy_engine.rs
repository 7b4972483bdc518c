//! A pre-trade engine for wrapper tests: accounts with a budget, handles that
//! cannot be sent, and a log of every call.

#![allow(dead_code)]

use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use pitlane::lanes::{Change, ChangeOf, ControlDriver, Desk, LaneKey, PreTradeDriver};
use pitlane::time::Nanos;
use pitlane::types::{AccountId, ShardId};

/// An order for `amount` of an account's budget of 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ToyOrder {
    pub(crate) account: Option<u64>,
    pub(crate) amount: u64,
}

/// What makes the toy misbehave.
pub(crate) const FAIL: u64 = 1_001;
pub(crate) const PANIC: u64 = 1_002;
pub(crate) const MALFORMED: u64 = 1_003;
/// Accepted, and its finalization panics.
pub(crate) const PANIC_LATER: u64 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ToyError;

/// (what, account or amount, on which thread)
pub(crate) type Log = Arc<Mutex<Vec<(&'static str, u64, ThreadId)>>>;

pub(crate) struct Toy {
    pub(crate) log: Log,
    gate: Arc<Mutex<Receiver<()>>>,
    reached: Sender<()>,
    pub(crate) reserved: u64,
}

/// `!Send`, as an engine's handles may be.
pub(crate) struct ToyHandle(Rc<u64>);

pub(crate) struct ToyWorld {
    pub(crate) log: Log,
    gate: Sender<()>,
    receiver: Arc<Mutex<Receiver<()>>>,
    reaches: Sender<()>,
    reached: Mutex<Receiver<()>>,
}

impl ToyWorld {
    pub(crate) fn new() -> Self {
        let (gate, receiver) = channel();
        let (reaches, reached) = channel();
        Self {
            log: Log::default(),
            gate,
            receiver: Arc::new(Mutex::new(receiver)),
            reaches,
            reached: Mutex::new(reached),
        }
    }

    pub(crate) fn factory(&self) -> impl Fn(ShardId) -> Desk<Toy> + Send + Sync + 'static {
        let (log, gate) = (Arc::clone(&self.log), Arc::clone(&self.receiver));
        let reached = self.reaches.clone();
        move |shard| {
            let toy = Toy {
                log: Arc::clone(&log),
                gate: Arc::clone(&gate),
                reached: reached.clone(),
                reserved: 0,
            };
            Desk::new(shard, toy)
        }
    }

    pub(crate) fn open(&self) {
        self.gate.send(()).expect("the gate is there");
    }

    /// Waits until a lane waits at the gate: what holds it up has begun.
    pub(crate) fn until_reached(&self) {
        let reached = self.reached.lock().expect("reached");
        reached.recv().expect("the world is there");
    }

    pub(crate) fn calls(&self) -> Vec<(&'static str, u64)> {
        let log = self.log.lock().expect("log");
        log.iter().map(|&(what, n, _)| (what, n)).collect()
    }

    /// Every call was made on one thread, which is not this one.
    pub(crate) fn one_worker(&self) -> bool {
        let log = self.log.lock().expect("log");
        log.iter()
            .all(|entry| entry.2 == log[0].2 && entry.2 != thread::current().id())
    }
}

impl Toy {
    fn note(&self, what: &'static str, number: u64) {
        let entry = (what, number, thread::current().id());
        self.log.lock().expect("log").push(entry);
    }

    pub(crate) fn wait_at_gate(&self) {
        // A world that is gone does not look.
        let _ = self.reached.send(());
        self.gate.lock().expect("gate").recv().expect("opened");
    }

    fn judge(&self, amount: u64) -> Result<Result<(), Vec<&'static str>>, ToyError> {
        match amount {
            FAIL => Err(ToyError),
            PANIC => panic!("a planted panic"),
            MALFORMED => Ok(Err(Vec::new())),
            _ if self.reserved + amount > 100 => Ok(Err(vec!["InsufficientFunds"])),
            _ => Ok(Ok(())),
        }
    }
}

impl PreTradeDriver for Toy {
    type Order = ToyOrder;
    type Request = ToyHandle;
    type Reservation = ToyHandle;
    type View = u64;
    type DropCopyView = (u64, bool);
    type Rejects = Vec<&'static str>;
    type Report = (AccountId, u64);
    type Settled = u64;
    type Adjustments = Vec<u64>;
    type Adjusted = ();
    type Error = ToyError;

    fn account_of(order: &ToyOrder) -> Option<AccountId> {
        order.account.map(AccountId)
    }
    fn report_account(report: &(AccountId, u64)) -> Option<AccountId> {
        Some(report.0)
    }
    fn is_malformed(rejects: &Vec<&'static str>) -> bool {
        rejects.is_empty()
    }
    fn start_pre_trade(
        &mut self,
        order: &ToyOrder,
        _: Nanos,
    ) -> Result<Result<ToyHandle, Self::Rejects>, ToyError> {
        self.note("start", order.amount);
        Ok(Ok(ToyHandle(Rc::new(order.amount))))
    }
    fn execute(
        &mut self,
        request: ToyHandle,
        _: Nanos,
    ) -> Result<Result<ToyHandle, Self::Rejects>, ToyError> {
        self.note("execute", *request.0);
        Ok(self.judge(*request.0)?.map(|()| {
            self.reserved += *request.0;
            request
        }))
    }
    fn execute_pre_trade(
        &mut self,
        order: &ToyOrder,
        _: Nanos,
    ) -> Result<Result<ToyHandle, Self::Rejects>, ToyError> {
        self.note("both", order.amount);
        Ok(self.judge(order.amount)?.map(|()| {
            self.reserved += order.amount;
            ToyHandle(Rc::new(order.amount))
        }))
    }
    fn check_order(
        &mut self,
        order: &ToyOrder,
        _: Nanos,
    ) -> Result<Result<(), Self::Rejects>, ToyError> {
        self.note("check", order.amount);
        self.judge(order.amount)
    }
    fn apply_drop_copy(
        &mut self,
        order: &ToyOrder,
        _: Nanos,
    ) -> Result<Result<(ToyHandle, (u64, bool)), Self::Rejects>, ToyError> {
        self.note("copy", order.amount);
        self.reserved += order.amount;
        Ok(Ok((ToyHandle(Rc::new(order.amount)), (order.amount, true))))
    }
    fn apply_execution_report(
        &mut self,
        report: &(AccountId, u64),
        _: Nanos,
    ) -> Result<u64, ToyError> {
        self.note("report", report.1);
        if report.1 == FAIL {
            return Err(ToyError);
        }
        Ok(report.1 + 1)
    }
    fn apply_account_adjustment(
        &mut self,
        _: AccountId,
        adjustments: &Vec<u64>,
        _: Nanos,
    ) -> Result<(), ToyError> {
        self.note("adjust", adjustments.iter().sum());
        Ok(())
    }
    fn retire_account(&mut self, account: AccountId, _: Nanos) -> Result<(), ToyError> {
        self.note("retire", account.0);
        Ok(())
    }
    fn view(&self, reservation: &ToyHandle) -> u64 {
        *reservation.0
    }
    fn commit(&mut self, reservation: &mut ToyHandle, _: Nanos) -> Result<(), ToyError> {
        self.note("commit", *reservation.0);
        assert!(*reservation.0 != PANIC_LATER, "a planted panic");
        Ok(())
    }
    fn rollback(&mut self, reservation: &mut ToyHandle, _: Nanos) -> Result<(), ToyError> {
        self.note("rollback", *reservation.0);
        self.reserved -= *reservation.0;
        Ok(())
    }
    fn abandon(&mut self, request: ToyHandle) {
        self.note("abandon", *request.0);
    }
    fn panicked(&mut self, _key: Option<LaneKey>) {
        self.note("panicked", 0);
    }
}

impl ControlDriver for Toy {
    type Cause = u64;
    type Currency = u64;
    type Config = u64;

    /// Notes what is changed; a cause of `FAIL` fails.
    fn change(&mut self, change: &ChangeOf<Self>) -> Result<(), ToyError> {
        let (what, number) = match change {
            Change::BlockAccount(_, cause) => ("block", *cause),
            Change::BlockGroup(_, cause) => ("block_group", *cause),
            Change::UnblockGroup(group) => ("unblock_group", u64::from(group.get())),
            Change::GroupCurrency(_, currency) => ("currency", currency.unwrap_or(0)),
            Change::JoinGroup(accounts, _) => ("join", accounts.iter().map(|a| a.0).sum()),
            Change::LeaveGroup(accounts, _) => ("leave", accounts.iter().map(|a| a.0).sum()),
            Change::UnblockAll => ("unblock_all", 0),
            Change::Configure(config) => ("configure", *config),
            _ => ("other", 0),
        };
        if number == FAIL {
            return Err(ToyError);
        }
        self.note(what, number);
        Ok(())
    }
}
