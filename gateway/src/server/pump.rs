//! The task that fetches reports which come on their own, and the breath that
//! it takes so that nothing else starves.

use core::future::poll_fn;
use core::task::Poll;
use std::rc::Rc;

use super::OrderPath;
use super::worker::Worker;

/// Which reactor a thread runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reactor {
    Uring,
    Epoll,
}

pub(super) async fn pump<P: OrderPath>(worker: Rc<Worker<P>>, reactor: Reactor) {
    loop {
        let mut has_waited = false;
        poll_fn(|context| {
            let polled = worker.poll_pump(context);
            has_waited |= polled.is_pending();
            polled
        })
        .await;
        worker.pump();
        if !has_waited {
            breathe(reactor).await;
        }
    }
}

/// Lets the other tasks run, and the reactor look at the sockets.
///
/// On tokio-uring a yield is not enough: what tasks submit reaches the kernel
/// only when the thread parks. An operation that does nothing completes only
/// after that.
async fn breathe(reactor: Reactor) {
    match reactor {
        Reactor::Uring => {
            // It cannot fail in a way that matters: whatever it says, the
            // thread has parked.
            let _ = tokio_uring::no_op().await;
        }
        Reactor::Epoll => {
            let mut has_yielded = false;
            poll_fn(|context| {
                if has_yielded {
                    return Poll::Ready(());
                }
                has_yielded = true;
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        }
    }
}
