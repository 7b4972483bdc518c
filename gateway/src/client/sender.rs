//! The sending half: messages wait in a buffer until they are flushed.

use core::time::Duration;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use pitlane::types::{AccountId, ClientReference, Order, Price, Quantity};

use super::ClientError;
use crate::wire::{
    Block, Cancel, KeepAliveLapsed, NewOrder, Replace, Sequence, Terminate, TerminateReason,
    write_frame,
};

/// At this many bytes the buffer is flushed by itself.
const BUFFER_MOST: usize = 64 * 1_024;

/// The sending half of a [`Client`](super::Client).
#[derive(Debug)]
pub struct Sender {
    stream: TcpStream,
    buffer: Vec<u8>,
    session_id: u64,
    next_seq_num: u64,
    keep_alive: Duration,
    flushed: Instant,
}

impl Sender {
    pub(super) fn new(
        stream: TcpStream,
        session_id: u64,
        next_seq_num: u64,
        keep_alive: Duration,
    ) -> Self {
        Self {
            stream,
            buffer: Vec::with_capacity(BUFFER_MOST + 1_024),
            session_id,
            next_seq_num,
            keep_alive,
            flushed: Instant::now(),
        }
    }

    /// Queues an order; `reference` must be above all others that the
    /// credential used for the account. Returns the message's number.
    ///
    /// # Errors
    /// A number that the wire cannot carry exactly: nothing is queued. Or the
    /// connection failed.
    pub fn new_order(
        &mut self,
        reference: ClientReference,
        order: &Order,
    ) -> Result<u64, ClientError> {
        let message = NewOrder::new(self.next_seq_num, reference, order)?;
        self.queue(&message)
    }

    /// Queues a new price and total quantity for the order `target`.
    ///
    /// # Errors
    /// The connection failed.
    pub fn replace(
        &mut self,
        reference: ClientReference,
        account: AccountId,
        target: ClientReference,
        price: Price,
        quantity: Quantity,
    ) -> Result<u64, ClientError> {
        let message = Replace {
            seq_num: self.next_seq_num,
            reference: reference.0,
            account: account.0,
            target: target.0,
            price: price.raw(),
            quantity: quantity.raw(),
        };
        self.queue(&message)
    }

    /// Queues a cancel of the order `target`.
    ///
    /// # Errors
    /// The connection failed.
    pub fn cancel(
        &mut self,
        reference: ClientReference,
        account: AccountId,
        target: ClientReference,
    ) -> Result<u64, ClientError> {
        let message = Cancel {
            seq_num: self.next_seq_num,
            reference: reference.0,
            account: account.0,
            target: target.0,
        };
        self.queue(&message)
    }

    /// Sends all that is queued, in one write.
    ///
    /// # Errors
    /// The connection failed.
    pub fn flush(&mut self) -> Result<(), ClientError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.stream
            .write_all(&self.buffer)
            .map_err(ClientError::io("sending"))?;
        self.buffer.clear();
        self.flushed = Instant::now();
        Ok(())
    }

    /// Says that we are still here, if nothing was sent for half an interval.
    /// Call it at least that often while there is nothing else to send.
    ///
    /// # Errors
    /// The connection failed.
    pub fn keep_alive(&mut self) -> Result<(), ClientError> {
        if self.flushed.elapsed() * 2 < self.keep_alive {
            return Ok(());
        }
        self.say_here()
    }

    pub(super) fn say_here(&mut self) -> Result<(), ClientError> {
        let message = Sequence {
            next_seq_num: self.next_seq_num,
            lapsed: KeepAliveLapsed::NotLapsed.number(),
            pad1: 0,
            pad2: 0,
            pad3: 0,
        };
        write_frame(&mut self.buffer, &message);
        self.flush()
    }

    /// Sends all that is queued and says that it was all. The gateway answers
    /// with a `Terminate`, after all reports until then.
    ///
    /// # Errors
    /// The connection failed.
    pub fn terminate(&mut self) -> Result<(), ClientError> {
        let message = Terminate {
            session_id: self.session_id,
            reason: TerminateReason::Finished.number(),
            pad1: 0,
            pad2: 0,
            pad3: 0,
        };
        write_frame(&mut self.buffer, &message);
        self.flush()
    }

    /// Closes the connection for both halves, without a word.
    pub fn abandon(self) {
        // An error means that it is closed already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// The number of the next message.
    #[must_use]
    pub const fn next_seq_num(&self) -> u64 {
        self.next_seq_num
    }

    /// How often something must be sent.
    #[must_use]
    pub const fn keep_alive_interval(&self) -> Duration {
        self.keep_alive
    }

    #[inline]
    fn queue<B: Block>(&mut self, message: &B) -> Result<u64, ClientError> {
        let number = self.next_seq_num;
        self.next_seq_num = number.checked_add(1).ok_or(ClientError::Exhausted)?;
        write_frame(&mut self.buffer, message);
        if self.buffer.len() >= BUFFER_MOST {
            self.flush()?;
        }
        Ok(number)
    }
}
