//! The life of an I/O thread: set up, run, drain, end.

use core::time::Duration;
use std::net::TcpListener as StdTcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, LocalSet, spawn_local};

use super::accept::accept;
use super::handle::IoUsed;
use super::pump::{Reactor, pump};
use super::seat::SeatId;
use super::stats::StatCells;
use super::stop::{Order, Summary};
use super::worker::{Shared, Worker};
use super::{IoChoice, IoRefused, OrderPath, ServerError, epoll, uring};

/// What a thread is started with.
pub(super) struct Setup {
    pub(super) number: u16,
    pub(super) listener: StdTcpListener,
    pub(super) shared: Shared,
    pub(super) cells: Arc<StatCells>,
    pub(super) stop: watch::Receiver<Order>,
    pub(super) tick: Arc<Notify>,
}

/// Runs an I/O thread to its end; `ready` is told how its set-up went.
pub(super) fn run<P: OrderPath + 'static>(
    setup: Setup,
    make_path: impl FnOnce() -> P,
    ready: impl FnOnce(Result<IoUsed, ServerError>),
) -> Summary {
    let config = &setup.shared.config;
    let refused = match config.io {
        IoChoice::Epoll => None,
        IoChoice::Auto | IoChoice::Uring => match uring::runtime(config.ring_entries) {
            Ok(runtime) => return runtime.block_on(on_uring(setup, make_path, ready)),
            Err(refused) => Some(refused),
        },
    };
    match (config.io, refused) {
        (IoChoice::Uring, Some(refused)) => {
            ready(Err(ServerError::Uring(refused)));
            Summary::default()
        }
        _ => match epoll::runtime() {
            Ok(runtime) => {
                LocalSet::new().block_on(&runtime, on_epoll(setup, refused, make_path, ready))
            }
            Err(source) => {
                ready(Err(ServerError::Runtime {
                    thread: setup.number,
                    source,
                }));
                Summary::default()
            }
        },
    }
}

async fn on_uring<P: OrderPath + 'static>(
    setup: Setup,
    make_path: impl FnOnce() -> P,
    ready: impl FnOnce(Result<IoUsed, ServerError>),
) -> Summary {
    let serve = |worker: &Rc<Worker<P>>, stream, id: SeatId| {
        spawn_local(uring::serve(Rc::clone(worker), stream, id));
    };
    live(setup, Reactor::Uring, None, make_path, ready, serve).await
}

async fn on_epoll<P: OrderPath + 'static>(
    setup: Setup,
    refused: Option<IoRefused>,
    make_path: impl FnOnce() -> P,
    ready: impl FnOnce(Result<IoUsed, ServerError>),
) -> Summary {
    let serve = |worker: &Rc<Worker<P>>, stream, id: SeatId| {
        spawn_local(epoll::serve(Rc::clone(worker), stream, id));
    };
    live(setup, Reactor::Epoll, refused, make_path, ready, serve).await
}

async fn live<P: OrderPath + 'static>(
    setup: Setup,
    reactor: Reactor,
    refused: Option<IoRefused>,
    make_path: impl FnOnce() -> P,
    ready: impl FnOnce(Result<IoUsed, ServerError>),
    serve: impl Fn(&Rc<Worker<P>>, TcpStream, SeatId) + 'static,
) -> Summary {
    let listener = match TcpListener::from_std(setup.listener) {
        Ok(listener) => listener,
        Err(source) => {
            ready(Err(ServerError::Runtime {
                thread: setup.number,
                source,
            }));
            return Summary::default();
        }
    };
    let worker = Rc::new(Worker::new(
        setup.shared,
        setup.number,
        setup.cells,
        make_path(),
    ));
    ready(Ok(match reactor {
        Reactor::Uring => IoUsed::Uring,
        Reactor::Epoll => IoUsed::Epoll { refused },
    }));
    let accepting = spawn_local(accept(Rc::clone(&worker), listener, serve));
    let pumping = spawn_local(pump(Rc::clone(&worker), reactor));
    let mut stop = setup.stop;
    let order = until(&worker, &mut stop, &setup.tick, Duration::MAX, || false).await;
    end(accepting).await;
    let summary = wind_up(&worker, &mut stop, &setup.tick, order).await;
    end(pumping).await;
    worker.finish();
    summary
}

/// Ticks until another order comes, `limit` has passed, or `is_done` says so.
async fn until<P: OrderPath>(
    worker: &Worker<P>,
    stop: &mut watch::Receiver<Order>,
    tick: &Notify,
    limit: Duration,
    is_done: impl Fn() -> bool,
) -> Order {
    let begun = Instant::now();
    loop {
        worker.tick();
        if is_done() || begun.elapsed() >= limit {
            return Order::Run;
        }
        tokio::select! {
            changed = stop.changed() => {
                // Nobody is left who could say so: stop as if told to.
                return changed.map_or(Order::Kill, |()| *stop.borrow_and_update());
            }
            () = tick.notified() => {}
        }
    }
}

/// Lets what is in flight be answered, tells the sessions, and waits for them
/// to have read it.
async fn wind_up<P: OrderPath>(
    worker: &Worker<P>,
    stop: &mut watch::Receiver<Order>,
    tick: &Notify,
    order: Order,
) -> Summary {
    worker.refuse_new_work();
    let mut order = order;
    if let Order::Drain(limit) = order {
        order = until(worker, stop, tick, limit, || worker.in_flight() == 0).await;
    }
    let in_flight = worker.in_flight();
    let sessions_told = worker.terminate_all();
    let mut unread = worker.remaining().1;
    if order != Order::Kill {
        // Ticks end what lingers beyond its grace.
        let grace = worker.config.timing.close_grace;
        let limit = grace.saturating_add(worker.config.tick * 4);
        until(worker, stop, tick, limit, || worker.remaining().1 == 0).await;
        unread = worker.remaining().1;
        until(worker, stop, tick, limit, || worker.remaining().0 == 0).await;
    }
    worker.abort_all();
    // Shut down, every operation completes.
    while worker.remaining().0 > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Summary {
        sessions_told,
        in_flight,
        unread,
        panicked: 0,
    }
}

/// Ends a task and waits until it is gone.
async fn end(task: JoinHandle<()>) {
    task.abort();
    // It was cancelled, or had ended: either is what was wanted.
    let _ = task.await;
}
