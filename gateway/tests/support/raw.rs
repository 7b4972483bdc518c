//! A connection on which anything can be sent.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use pitlane_gateway::wire::{
    Block, Establish, FromGateway, Next, Terminate, TerminateReason, next_frame, write_frame,
};

use super::PATIENCE;

pub(crate) struct Raw {
    pub(crate) stream: TcpStream,
    held: Vec<u8>,
    /// Whether the connection ended with a reset, which may take what was
    /// written before it away.
    pub(crate) was_reset: bool,
}

impl Raw {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).unwrap())
    }

    pub(crate) fn over(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self {
            stream,
            held: Vec::new(),
            was_reset: false,
        }
    }

    pub(crate) fn send<B: Block>(&mut self, block: &B) {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, block);
        self.send_bytes(&bytes);
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The next message; `None` at the end of the connection.
    pub(crate) fn next(&mut self) -> Option<FromGateway> {
        let mut chunk = [0; 4096];
        loop {
            if let Next::Frame(frame) = next_frame(&self.held).unwrap() {
                let message = FromGateway::decode(&frame).unwrap();
                let length = frame.length;
                self.held.drain(..length);
                return Some(message);
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => {
                    assert!(self.held.is_empty(), "ends between frames");
                    return None;
                }
                Ok(count) => self.held.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    self.was_reset = true;
                    return None;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Reads to the end, which must be a `Terminate`; its reason.
    pub(crate) fn reason(&mut self) -> TerminateReason {
        let mut last = None;
        while let Some(message) = self.next() {
            last = Some(message);
        }
        match last {
            Some(FromGateway::Terminate(Terminate { reason, .. })) => {
                TerminateReason::from_number(reason).unwrap()
            }
            other => panic!("ended with {other:?}"),
        }
    }
}

pub(crate) fn establish(keep_alive_ms: u32) -> Establish {
    Establish {
        session_id: 1,
        next_seq_num: 1,
        keep_alive_ms,
        pad1: 0,
    }
}
