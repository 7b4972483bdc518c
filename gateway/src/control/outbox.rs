//! The executor's outbox on its way to an authorizer in another process (rule O30).
//!
//! ```text
//!  executor ── bounded ──▶ thread ── POST, signed ──▶ authorizer
//!      ▲  └─ taken, by number ─┘ └─ GET due, once a second
//!      └───── decisions that were never brought
//! ```
//!
//! Nothing here is durable: what is not known to be taken is offered again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use pitlane::limits::{
    AUTHORITY_DUE_MAX, EXECUTOR_DELIVERIES_MAX, OUTBOX_POST_BYTES_MAX, OUTBOX_POST_MESSAGES_MAX,
};
use pitlane::orders::decision::{Decision, Json, Signer};
use pitlane::orders::executor::{self, Away, Message, SignedReport};

use crate::remote::{Answered, Remote};

/// How often it is asked which decisions were never brought.
const DUE_EVERY: Duration = Duration::from_secs(1);

/// How long a failure is left alone where only decisions are asked for.
const PAUSE: Duration = Duration::from_secs(1);

/// What the thread and the executor share.
#[derive(Default)]
struct Shared {
    /// The last message that was taken for good.
    taken: AtomicU64,
    /// Offers of this round and of those before it are lost.
    lost: AtomicU64,
    /// What goes wrong at present.
    fault: Mutex<Option<String>>,
}

/// The executor's end: where its messages go.
pub(crate) struct HttpOutbox {
    messages: Sender<(u64, Message)>,
    shared: Arc<Shared>,
    /// Counts the times that everything was offered anew.
    round: u64,
}

/// The thread; dropped after the executor's end, it finishes its request and ends.
pub(crate) struct OutboxThread {
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

/// What the thread works with.
struct Delivery {
    messages: Receiver<(u64, Message)>,
    due: Sender<Decision>,
    shared: Arc<Shared>,
    way: Remote,
    log: u64,
    signer: Signer,
    bell: Box<dyn Fn() + Send + Sync>,
}

/// Starts the thread; decisions that were never brought come out of the last part.
///
/// # Errors
/// The system refuses a thread.
pub(crate) fn start(
    log: u64,
    signer: Signer,
    way: Remote,
    bell: Box<dyn Fn() + Send + Sync>,
) -> std::io::Result<(HttpOutbox, OutboxThread, Receiver<Decision>)> {
    let (sender, messages) = bounded(EXECUTOR_DELIVERIES_MAX);
    let (due, decisions) = bounded(AUTHORITY_DUE_MAX);
    let shared = Arc::new(Shared::default());
    let outbox = HttpOutbox {
        messages: sender,
        shared: Arc::clone(&shared),
        round: 1,
    };
    let of_thread = Arc::clone(&shared);
    let delivery = Delivery {
        messages,
        due,
        shared,
        way,
        log,
        signer,
        bell,
    };
    let thread = Builder::new()
        .name("pitlane-outbox".into())
        .spawn(move || delivery.run())?;
    let thread = OutboxThread {
        thread: Some(thread),
        shared: of_thread,
    };
    Ok((outbox, thread, decisions))
}

impl executor::Receiver for HttpOutbox {
    fn offer(&mut self, message: &Message) -> Result<(), Away> {
        let sent = self.messages.try_send((self.round, message.clone()));
        sent.map_err(|_| Away)
    }

    fn taken(&mut self) -> Result<u64, Away> {
        // Pairs with the thread's store: what was taken before is known.
        if self.shared.lost.load(Ordering::Acquire) == self.round {
            self.round += 1;
            return Err(Away);
        }
        Ok(self.shared.taken.load(Ordering::Acquire))
    }
}

impl OutboxThread {
    /// Why nothing is delivered at present, if nothing is.
    pub(crate) fn fault(&self) -> Option<String> {
        let fault = self.shared.fault.lock();
        fault.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for OutboxThread {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic was printed by its thread; everything is offered again.
            let _ = thread.join();
        }
    }
}

impl Delivery {
    fn run(mut self) {
        let mut next_due = Instant::now();
        let mut left = None;
        loop {
            let wait = next_due.saturating_duration_since(Instant::now());
            let first = match left.take() {
                Some(first) => Ok(first),
                None => self.messages.recv_timeout(wait),
            };
            match first {
                Ok(first) => left = self.deliver(first),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if Instant::now() >= next_due {
                let asked = self.ask_due();
                let pause = if asked.is_ok() { DUE_EVERY } else { PAUSE };
                next_due = Instant::now() + pause;
            }
        }
    }

    /// Tells a batch that begins with this message; what did not fit it.
    fn deliver(&mut self, first: (u64, Message)) -> Option<(u64, Message)> {
        let round = first.0;
        if self.shared.lost.load(Ordering::Relaxed) >= round {
            // Of before the failure: it is offered again, in order.
            return None;
        }
        let mut body = String::new();
        let mut last = 0;
        let mut count = 0;
        let mut next = Some(first);
        while let Some((_, message)) = next.take_if(|(of, _)| *of == round) {
            let line = SignedReport::sign(self.log, &message, &self.signer).canonical();
            let line = String::from_utf8_lossy(&line);
            if !body.is_empty() && body.len() + line.len() >= OUTBOX_POST_BYTES_MAX {
                next = Some((round, message));
                break;
            }
            body.push_str(&line);
            body.push('\n');
            last = message.sequence;
            count += 1;
            if count == OUTBOX_POST_MESSAGES_MAX {
                break;
            }
            next = self.messages.try_recv().ok();
        }
        let taken = self.way.post("/v1/executor/messages", &body);
        let taken = taken
            .and_then(Answered::ok)
            .map_err(|error| error.to_string())
            .and_then(|answer| taken_of(&answer).ok_or_else(|| format!("no answer: {answer}")));
        *self
            .shared
            .fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = taken.as_ref().err().cloned();
        let taken = taken.ok();
        if let Some(taken) = taken {
            self.shared.taken.store(taken, Ordering::Release);
        }
        if taken.is_none_or(|taken| taken < last) {
            self.shared.lost.store(round, Ordering::Release);
        }
        (self.bell)();
        next
    }

    fn ask_due(&mut self) -> Result<(), String> {
        let answer = self.way.get("/v1/executor/due");
        let answer = answer.and_then(Answered::ok);
        let answer = answer.map_err(|error| error.to_string())?;
        let json = Json::read(answer.as_bytes()).map_err(|error| error.to_string())?;
        let Some(Json::List(decisions)) = json.member("decisions") else {
            return Err("no decisions in the answer".to_owned());
        };
        let mut any = false;
        for decision in decisions {
            let decision = Decision::read(decision).map_err(|error| error.to_string())?;
            // One that finds no room is listed again.
            any |= self.due.try_send(decision).is_ok();
        }
        if any {
            (self.bell)();
        }
        Ok(())
    }
}

fn taken_of(answer: &str) -> Option<u64> {
    let json = Json::read(answer.as_bytes()).ok()?;
    json.member("taken")?.text()?.parse().ok()
}
