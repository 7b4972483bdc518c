//! The receiving half: one read brings many events.

use core::time::Duration;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Instant;

use super::{ClientError, Event};
use crate::wire::{
    Accepted, Block, CancelRejected, Canceled, Executed, FRAME_MAX, FromGateway, KeepAliveLapsed,
    Next, Rejected, Replaced, ReportHead, TerminateReason, next_frame,
};

const BUFFER_LENGTH: usize = 64 * 1_024;
/// Intervals without a word after which the gateway is given up.
const SILENT_INTERVALS: u32 = 3;

/// The receiving half of a [`Client`](super::Client).
#[derive(Debug)]
pub struct Receiver {
    stream: TcpStream,
    buffer: Box<[u8]>,
    /// What has not been looked at: `buffer[begin..end]`.
    begin: usize,
    end: usize,
    expected: u64,
    keep_alive: Duration,
    heard: Instant,
    timeout: Option<Duration>,
}

impl Receiver {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            buffer: vec![0; BUFFER_LENGTH].into_boxed_slice(),
            begin: 0,
            end: 0,
            expected: 1,
            keep_alive: Duration::MAX,
            heard: Instant::now(),
            timeout: None,
        }
    }

    pub(super) const fn agree(&mut self, expected: u64, keep_alive: Duration) {
        self.expected = expected;
        self.keep_alive = keep_alive;
    }

    /// The next event; `None` when none came within `wait`.
    ///
    /// # Errors
    /// The connection failed, the gateway was silent for three intervals, or it
    /// sent what cannot be.
    pub fn next_event(&mut self, wait: Duration) -> Result<Option<Event>, ClientError> {
        loop {
            if let Some(event) = self.buffered()? {
                return Ok(Some(event));
            }
            if !self.read(wait)? {
                let limit = self.keep_alive.saturating_mul(SILENT_INTERVALS);
                if self.heard.elapsed() >= limit {
                    return Err(ClientError::Silent { limit });
                }
                return Ok(None);
            }
        }
    }

    /// The next event of those that have been read; never waits.
    ///
    /// # Errors
    /// The gateway sent what cannot be.
    pub fn buffered(&mut self) -> Result<Option<Event>, ClientError> {
        loop {
            let Next::Frame(frame) = next_frame(&self.buffer[self.begin..self.end])? else {
                return Ok(None);
            };
            let length = frame.length;
            // Reports are read straight into their events; all else is rare.
            macro_rules! report {
                ($message:ident) => {{
                    let block: $message = frame.read()?;
                    self.begin += length;
                    self.expect(&block.head)?;
                    return Ok(Some(Event::$message(block)));
                }};
            }
            match frame.template {
                Accepted::TEMPLATE => report!(Accepted),
                Executed::TEMPLATE => report!(Executed),
                Canceled::TEMPLATE => report!(Canceled),
                Replaced::TEMPLATE => report!(Replaced),
                Rejected::TEMPLATE => report!(Rejected),
                CancelRejected::TEMPLATE => report!(CancelRejected),
                _ => {}
            }
            let message = FromGateway::decode(&frame)?;
            self.begin += length;
            if let Some(event) = self.session_event(&message)? {
                return Ok(Some(event));
            }
        }
    }

    pub(super) fn next_message(&mut self, limit: Duration) -> Result<FromGateway, ClientError> {
        let begun = Instant::now();
        loop {
            if let Some(message) = self.buffered_message()? {
                return Ok(message);
            }
            let left = limit.saturating_sub(begun.elapsed());
            if left.is_zero() || !self.read(left)? {
                return Err(ClientError::Silent { limit });
            }
        }
    }

    fn buffered_message(&mut self) -> Result<Option<FromGateway>, ClientError> {
        match next_frame(&self.buffer[self.begin..self.end])? {
            Next::Partial => Ok(None),
            Next::Frame(frame) => {
                let message = FromGateway::decode(&frame)?;
                self.begin += frame.length;
                Ok(Some(message))
            }
        }
    }

    /// Reads once; `false` when nothing came in time.
    fn read(&mut self, wait: Duration) -> Result<bool, ClientError> {
        self.make_room();
        // Zero would mean for ever.
        let wait = Some(wait.max(Duration::from_millis(1)));
        if self.timeout != wait {
            self.stream
                .set_read_timeout(wait)
                .map_err(ClientError::io("setting the read timeout"))?;
            self.timeout = wait;
        }
        loop {
            match self.stream.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Err(ClientError::Closed),
                Ok(count) => {
                    self.end += count;
                    self.heard = Instant::now();
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Ok(false),
                    _ => return Err(ClientError::io("receiving")(error)),
                },
            }
        }
    }

    /// Moves the partial frame, if any, to the beginning when it is near the end.
    fn make_room(&mut self) {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        } else if self.buffer.len() - self.begin < FRAME_MAX {
            self.buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
    }

    #[cold]
    fn session_event(&mut self, message: &FromGateway) -> Result<Option<Event>, ClientError> {
        match message {
            FromGateway::NotApplied(block) => Ok(Some(Event::NotApplied {
                from_seq_num: block.from_seq_num,
                count: block.count,
            })),
            FromGateway::Sequence(block) => {
                if block.next_seq_num != self.expected {
                    return Err(self.out_of_sequence(block.next_seq_num));
                }
                Ok(Some(Event::KeepAlive {
                    is_lapsed: block.lapsed == KeepAliveLapsed::Lapsed.number(),
                }))
            }
            FromGateway::Terminate(block) => Ok(Some(Event::Terminated {
                reason: TerminateReason::from_number(block.reason),
            })),
            FromGateway::Unknown { .. } => Ok(None),
            other => Err(ClientError::Unexpected {
                doing: "established",
                template: other.template(),
            }),
        }
    }

    #[inline]
    fn expect(&mut self, head: &ReportHead) -> Result<(), ClientError> {
        if head.seq_num != self.expected {
            return Err(self.out_of_sequence(head.seq_num));
        }
        self.expected = self.expected.checked_add(1).ok_or(ClientError::Exhausted)?;
        Ok(())
    }

    #[cold]
    const fn out_of_sequence(&self, found: u64) -> ClientError {
        ClientError::Sequence {
            expected: self.expected,
            found,
        }
    }
}
