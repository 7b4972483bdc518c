//! Both halves together, for one thread.

use core::time::Duration;
use std::net::SocketAddr;
use std::time::Instant;

use super::logon::connect;
use super::{ClientError, Event, Logon, Receiver, Sender};
use crate::wire::TerminateReason;

/// A session with a gateway.
#[derive(Debug)]
pub struct Client {
    sender: Sender,
    receiver: Receiver,
}

impl Client {
    pub(super) const fn new(sender: Sender, receiver: Receiver) -> Self {
        Self { sender, receiver }
    }

    /// Connects and logs on.
    ///
    /// # Errors
    /// The connection failed, or the gateway refuses: the error says which, and
    /// what to look at.
    pub fn connect(address: SocketAddr, logon: &Logon) -> Result<Self, ClientError> {
        connect(address, logon)
    }

    /// To send with.
    pub const fn sender(&mut self) -> &mut Sender {
        &mut self.sender
    }

    /// The next event; `None` when none came within `wait`. Keep-alives are
    /// sent meanwhile.
    ///
    /// # Errors
    /// As [`Receiver::next_event`] and [`Sender::flush`].
    pub fn next_event(&mut self, wait: Duration) -> Result<Option<Event>, ClientError> {
        if let Some(event) = self.receiver.buffered()? {
            return Ok(Some(event));
        }
        let begun = Instant::now();
        loop {
            self.sender.keep_alive()?;
            let left = wait.saturating_sub(begun.elapsed());
            let slice = left.min(self.sender.keep_alive_interval() / 2);
            match self.receiver.next_event(slice)? {
                Some(Event::KeepAlive { is_lapsed: true }) => self.sender.say_here()?,
                Some(event) => return Ok(Some(event)),
                None if left.is_zero() => return Ok(None),
                None => {}
            }
        }
    }

    /// The next event of those that have been read; `None` where the next call
    /// would read from the socket.
    ///
    /// # Errors
    /// The gateway sent what cannot be.
    pub fn buffered_event(&mut self) -> Result<Option<Event>, ClientError> {
        self.receiver.buffered()
    }

    /// Ends the session cleanly; returns what still came, without keep-alives.
    ///
    /// # Errors
    /// The connection failed, or the gateway ended the session for a reason of
    /// its own.
    pub fn finish(mut self) -> Result<Vec<Event>, ClientError> {
        self.sender.terminate()?;
        let limit = self.sender.keep_alive_interval();
        let begun = Instant::now();
        let mut events = Vec::new();
        loop {
            let left = limit.saturating_sub(begun.elapsed());
            match self.receiver.next_event(left)? {
                Some(Event::Terminated {
                    reason: Some(TerminateReason::Finished),
                }) => return Ok(events),
                Some(Event::Terminated { reason }) => {
                    return Err(ClientError::Terminated { reason });
                }
                Some(Event::KeepAlive { .. }) => {}
                Some(event) => events.push(event),
                None if left.is_zero() => return Err(ClientError::Silent { limit }),
                None => {}
            }
        }
    }

    /// The two halves, for two threads. The sender must then be made to say
    /// that it is there: [`Sender::keep_alive`].
    #[must_use]
    pub fn split(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }
}
