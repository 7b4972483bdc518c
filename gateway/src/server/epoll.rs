//! The epoll reactor: a current-thread tokio runtime, and a task per
//! connection, for hosts that refuse io_uring.

use core::future::poll_fn;
use core::task::{Context, Poll};
use std::io;
use std::net::Shutdown;
use std::rc::Rc;

use socket2::SockRef;
use tokio::net::TcpStream;

use super::OrderPath;
use super::seat::{SeatId, Stage};
use super::worker::Worker;

/// Reads of one connection in one go, before others get their turn.
const READS_MAX: usize = 4;

pub(super) fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Serves a connection to its end.
pub(super) async fn serve<P: OrderPath>(worker: Rc<Worker<P>>, stream: TcpStream, id: SeatId) {
    let mut connection = Connection {
        stream,
        id,
        input: vec![0; worker.config.read_buffer].into_boxed_slice(),
        held: 0,
        output: None,
        is_read_over: false,
        is_finished: false,
    };
    poll_fn(|context| connection.poll(&worker, context)).await;
    drop(connection);
    worker.leave(id);
}

struct Connection {
    stream: TcpStream,
    id: SeatId,
    input: Box<[u8]>,
    /// Bytes at the beginning of `input` that are part of a frame.
    held: usize,
    /// What is being written, and how much of it has been.
    output: Option<(Vec<u8>, usize)>,
    is_read_over: bool,
    is_finished: bool,
}

impl Connection {
    fn poll<P: OrderPath>(&mut self, worker: &Worker<P>, context: &mut Context<'_>) -> Poll<()> {
        let mut reads = 0;
        // A read's answers are written before the next read.
        while self.poll_read(worker, context) {
            self.poll_write(worker, context);
            reads += 1;
            if reads == READS_MAX {
                context.waker().wake_by_ref();
                break;
            }
        }
        self.poll_write(worker, context);
        match worker.stage(self.id, context) {
            Stage::Open | Stage::Finishing => Poll::Pending,
            Stage::Finished if self.is_read_over => Poll::Ready(()),
            Stage::Finished => {
                if !self.is_finished {
                    self.is_finished = true;
                    // An error means that the other end is gone: the read ends.
                    let _ = SockRef::from(&self.stream).shutdown(Shutdown::Write);
                }
                Poll::Pending
            }
            Stage::Abort => Poll::Ready(()),
        }
    }

    /// Reads once; whether there may be more.
    fn poll_read<P: OrderPath>(&mut self, worker: &Worker<P>, context: &mut Context<'_>) -> bool {
        while !self.is_read_over {
            let result = match self.stream.poll_read_ready(context) {
                Poll::Pending => return false,
                Poll::Ready(Err(error)) => Err(error),
                Poll::Ready(Ok(())) => self.stream.try_read(&mut self.input[self.held..]),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(count) if count > 0 => {
                    let filled = self.held + count;
                    let done = worker.receive(self.id, &self.input[..filled]);
                    self.input.copy_within(done..filled, 0);
                    self.held = filled - done;
                    return true;
                }
                _ => {
                    self.is_read_over = true;
                    worker.lose(self.id);
                }
            }
        }
        false
    }

    fn poll_write<P: OrderPath>(&mut self, worker: &Worker<P>, context: &mut Context<'_>) {
        loop {
            if self.output.is_none() {
                self.output = worker.next_write(self.id).map(|buffer| (buffer, 0));
            }
            let Some((buffer, written)) = &mut self.output else {
                return;
            };
            let result = match self.stream.poll_write_ready(context) {
                Poll::Pending => return,
                Poll::Ready(Err(error)) => Err(error),
                Poll::Ready(Ok(())) => self.stream.try_write(&buffer[*written..]),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(count) if *written + count < buffer.len() => *written += count,
                Ok(_) => self.give_back(worker),
                Err(_) => {
                    self.is_read_over = true;
                    worker.lose(self.id);
                    self.give_back(worker);
                }
            }
        }
    }

    fn give_back<P: OrderPath>(&mut self, worker: &Worker<P>) {
        if let Some((buffer, _)) = self.output.take() {
            worker.wrote(self.id, buffer);
        }
    }
}
