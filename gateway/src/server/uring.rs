//! The io_uring reactor: a runtime per thread, and a task per connection.
//!
//! A connection has one read and at most one write in flight. They are awaited
//! to their end even when the connection is given up: the socket is shut down,
//! which completes both. A read that is dropped would go on and swallow bytes.

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;
use std::io;
use std::net::Shutdown;
use std::rc::Rc;

use tokio::net::TcpStream as Accepted;
use tokio_uring::buf::BoundedBuf;
use tokio_uring::net::TcpStream;

use super::seat::{SeatId, Stage};
use super::worker::Worker;
use super::{IoRefused, OrderPath};

/// A runtime, or why the system refuses it.
pub(super) fn runtime(entries: u32) -> Result<tokio_uring::Runtime, IoRefused> {
    // Completions are taken when the thread enters the kernel, not by
    // interrupting it; and only this thread submits. Both are newer than
    // io_uring itself, so that a kernel may refuse them alone.
    let mut tuned = tokio_uring::uring_builder();
    tuned.setup_coop_taskrun().setup_single_issuer();
    let mut builder = tokio_uring::builder();
    builder.entries(entries).uring_builder(&tuned);
    match tokio_uring::Runtime::new(&builder) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            builder.uring_builder(&tokio_uring::uring_builder());
            tokio_uring::Runtime::new(&builder)
        }
        other => other,
    }
    .map_err(|error| IoRefused::here(&error))
}

/// Serves a connection to its end.
pub(super) async fn serve<P: OrderPath>(worker: Rc<Worker<P>>, stream: Accepted, id: SeatId) {
    // A read of a non-blocking socket would come back at once, and empty.
    if let Ok(stream) = stream.into_std()
        && stream.set_nonblocking(false).is_ok()
    {
        converse(&worker, &TcpStream::from_std(stream), id).await;
    }
    worker.lose(id);
    worker.leave(id);
}

async fn converse<P: OrderPath>(worker: &Worker<P>, stream: &TcpStream, id: SeatId) {
    let buffer = Vec::with_capacity(worker.config.read_buffer);
    let mut reading = pin!(Some(read(stream, buffer)));
    let mut writing = None;
    let mut socket = SocketEnd::default();
    poll_fn(|context| {
        loop {
            // 1: what has come. Its answers are queued when this is done.
            let mut idle = None;
            if let Some(read) = reading.as_mut().as_pin_mut()
                && let Poll::Ready((result, mut buffer)) = read.poll(context)
            {
                reading.set(None);
                match result {
                    Ok(count) if count > 0 => {
                        let done = worker.receive(id, &buffer);
                        keep_from(&mut buffer, done);
                        idle = Some(buffer);
                    }
                    _ => worker.lose(id),
                }
            }
            // 2: write, before the next read is set up: somebody waits for it.
            loop {
                if writing.is_none()
                    && let Some(buffer) = worker.next_write(id)
                {
                    writing = Some(stream.write(buffer.slice_full()).submit());
                }
                let Some(write) = &mut writing else { break };
                let Poll::Ready((result, part)) = Pin::new(write).poll(context) else {
                    break;
                };
                writing = None;
                match result {
                    Ok(count) if count < part.bytes_init() && count > 0 => {
                        writing = Some(stream.write(part.slice(count..)).submit());
                    }
                    Ok(_) => worker.wrote(id, part.into_inner()),
                    Err(_) => {
                        worker.lose(id);
                        worker.wrote(id, part.into_inner());
                        socket.abort(stream);
                    }
                }
            }
            // 3: the next read; it is submitted when it is first polled.
            let Some(buffer) = idle else { break };
            reading.set(Some(read(stream, buffer)));
        }
        socket.follow(worker.stage(id, context), stream);
        if reading.is_none() && writing.is_none() {
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
}

/// What has been done to the socket.
#[derive(Default)]
struct SocketEnd {
    is_finished: bool,
    is_aborted: bool,
}

impl SocketEnd {
    fn follow(&mut self, stage: Stage, stream: &TcpStream) {
        match stage {
            Stage::Open | Stage::Finishing => {}
            Stage::Finished => {
                if !self.is_finished {
                    self.is_finished = true;
                    // An error means that the other end is gone: the read ends.
                    let _ = stream.shutdown(Shutdown::Write);
                }
            }
            Stage::Abort => self.abort(stream),
        }
    }

    fn abort(&mut self, stream: &TcpStream) {
        if !self.is_aborted {
            self.is_aborted = true;
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Reads behind what the buffer holds.
async fn read(stream: &TcpStream, buffer: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
    let held = buffer.len();
    let (result, part) = stream.read(buffer.slice(held..)).await;
    (result, part.into_inner())
}

/// Moves what is left to the buffer's beginning: less than a frame.
fn keep_from(buffer: &mut Vec<u8>, done: usize) {
    let left = buffer.len() - done;
    buffer.copy_within(done.., 0);
    buffer.truncate(left);
}
