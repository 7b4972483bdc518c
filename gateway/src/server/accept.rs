//! Listening and accepting, on either reactor through tokio's readiness: it is
//! not hot, and can be dropped at any time.

use core::net::SocketAddr;
use std::io;
use std::net::TcpListener as StdTcpListener;
use std::rc::Rc;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};

use super::error::is_exhausted;
use super::seat::SeatId;
use super::worker::Worker;
use super::{OrderPath, ServerError};

/// Connections that the kernel holds for us until they are accepted.
const BACKLOG: i32 = 1_024;

/// One listener for each thread, on the same address.
pub(super) fn listeners(
    address: SocketAddr,
    count: u16,
) -> Result<Vec<StdTcpListener>, ServerError> {
    let refuse = |source| ServerError::Bind { address, source };
    if count == 1 {
        return Ok(vec![listen(address, false).map_err(refuse)?]);
    }
    // A port shared with another process would take a part of its clients and
    // nobody would know: first make sure that nobody listens there.
    let probe = listen(address, false).map_err(refuse)?;
    let address = probe.local_addr().map_err(refuse)?;
    drop(probe);
    (0..count)
        .map(|_| listen(address, true).map_err(refuse))
        .collect()
}

fn listen(address: SocketAddr, is_shared: bool) -> io::Result<StdTcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    // Connections of an earlier run that linger do not hold the port.
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(is_shared)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Accepts until it is dropped; `serve` is called for each connection that got
/// a seat.
pub(super) async fn accept<P: OrderPath>(
    worker: Rc<Worker<P>>,
    listener: TcpListener,
    serve: impl Fn(&Rc<Worker<P>>, TcpStream, SeatId),
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // At a cap the stream is closed by being dropped.
                if let Some(id) = worker.seat() {
                    if stream.set_nodelay(true).is_ok() {
                        serve(&worker, stream, id);
                    } else {
                        worker.leave(id);
                    }
                }
            }
            Err(error) if is_exhausted(&error) => {
                worker.count_accept_pause();
                tokio::time::sleep(worker.config.accept_pause).await;
            }
            // The connection was gone before it was taken.
            Err(_) => {}
        }
    }
}
