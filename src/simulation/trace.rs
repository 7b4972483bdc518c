//! What happened, line by line: hashed, and written where somebody wants to read it.

use std::cell::RefCell;
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::rc::Rc;

use sha2::{Digest as _, Sha256};

use super::world::World;
use crate::dispatch::{Component, Context, ShardEvent};
use crate::time::{Clock as _, Nanos, SimClock};

/// See the module.
pub(super) struct Trace {
    hash: Sha256,
    lines: u64,
    sink: Option<Box<dyn Write>>,
    failure: Option<io::Error>,
    line: String,
}

impl Trace {
    pub(super) fn new(sink: Option<Box<dyn Write>>) -> Self {
        Self {
            hash: Sha256::new(),
            lines: 0,
            sink,
            failure: None,
            line: String::new(),
        }
    }

    pub(super) fn note(&mut self, now: Nanos, what: fmt::Arguments<'_>) {
        self.line.clear();
        // A string takes whatever is written to it.
        let _ = writeln!(self.line, "{} {what}", now.0);
        self.hash.update(self.line.as_bytes());
        self.lines += 1;
        let written = self
            .sink
            .as_mut()
            .map(|sink| sink.write_all(self.line.as_bytes()));
        if let Some(Err(error)) = written {
            self.sink = None;
            self.failure = Some(error);
        }
    }

    /// How many lines there were, and their SHA-256.
    ///
    /// # Errors
    /// They were not all written.
    pub(super) fn finish(&mut self) -> io::Result<(u64, [u8; 32])> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        if let Some(sink) = &mut self.sink {
            sink.flush()?;
        }
        Ok((self.lines, self.hash.clone().finalize().into()))
    }
}

/// Notes every publication, behind all other components.
pub(super) struct TraceFeed {
    pub(super) trace: Rc<RefCell<Trace>>,
    pub(super) clock: SimClock,
    pub(super) world: Rc<World>,
}

impl Component<ShardEvent> for TraceFeed {
    fn name(&self) -> &str {
        "trace"
    }

    fn maintain(&mut self, event: &ShardEvent, _: &Context<'_, ShardEvent>) {
        let (mut trace, now) = (self.trace.borrow_mut(), self.clock.now());
        match event {
            ShardEvent::Order(report) => {
                self.world.follow(report);
                trace.note(now, format_args!("{report:?}"));
            }
            ShardEvent::Mark { instrument, price } => {
                trace.note(now, format_args!("mark {instrument} {price}"));
            }
        }
    }

    fn on_event(&mut self, _: &ShardEvent, _: &Context<'_, ShardEvent>) {}
}
