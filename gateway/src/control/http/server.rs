//! The listener, its connections, and their bounds.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use pitlane::limits::HTTP_HEAD_BYTES_MAX;
use pitlane::orders::decision::KeyTable;
use pitlane::shard::authority::Authorizer;
use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

use super::access::Access;
use super::router::{Desk, router};
use super::settlements::Settlements;
use crate::config::HttpSettings;
use crate::control::ExecutorHandle;
use crate::server::ServerStats;

/// How long accepting pauses where the system has no descriptor left.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a client may leave what it was sent unread.
const UNREAD_MOST: Duration = Duration::from_secs(30);

/// How long requests may take that were there when the server was stopped.
const DRAIN: Duration = Duration::from_secs(3);

/// Reads the binary gateway's counts.
pub type SessionsReader = Box<dyn Fn() -> ServerStats + Send + Sync>;

/// What an HTTP server is made of.
pub struct HttpSetup {
    /// Its address and bounds.
    pub settings: HttpSettings,
    /// Who may ask.
    pub access: Access,
    /// Who executes decisions, if this process does.
    pub executor: Option<ExecutorHandle>,
    /// Who decides, and keeps the accounts' blocks.
    pub authorizer: Option<Authorizer>,
    /// Whose signatures count on what executors elsewhere tell.
    pub keys: KeyTable,
    /// The binary gateway's counts, for the metrics.
    pub sessions: Option<SessionsReader>,
}

/// Why there is no HTTP server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The address cannot be had.
    #[error("[http] listen = \"{address}\": {source}; free the port or name another")]
    Bind {
        /// Which.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The system refuses a thread or its descriptors.
    #[error("http: the system refuses a thread or its descriptors: {0}")]
    System(#[from] io::Error),
}

/// An HTTP server that runs; dropped, it stops: requests that are there are
/// answered within three seconds.
pub struct HttpServer {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl HttpServer {
    /// Binds and serves.
    ///
    /// # Errors
    /// The address, or a thread, cannot be had.
    pub fn start(setup: HttpSetup) -> Result<Self, HttpError> {
        let settings = setup.settings;
        let in_use = |source| HttpError::Bind {
            address: settings.listen,
            source,
        };
        let listener = TcpListener::bind(settings.listen).map_err(in_use)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let (stop, stopped) = watch::channel(false);
        let turned_away = Arc::new(AtomicU64::new(0));
        let desk = Arc::new(Desk {
            access: setup.access,
            executor: setup.executor,
            settlements: Settlements::new(setup.authorizer.clone(), setup.keys),
            authorizer: setup.authorizer,
            sessions: setup.sessions,
            read_timeout: settings.read_timeout,
            request_timeout: settings.request_timeout,
            turned_away: Arc::clone(&turned_away),
        });
        let thread = Builder::new().name("pitlane-http".into()).spawn(move || {
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                    // The descriptor was made for this runtime a moment ago.
                    return;
                };
                let listening = Listening {
                    listener,
                    router: router(desk),
                    settings,
                    stopped,
                    turned_away,
                };
                listening.serve().await;
            });
        })?;
        Ok(Self {
            address,
            stop,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            // A panic was printed by its thread.
            let _ = thread.join();
        }
    }
}

struct Listening {
    listener: tokio::net::TcpListener,
    router: Router,
    settings: HttpSettings,
    stopped: watch::Receiver<bool>,
    turned_away: Arc<AtomicU64>,
}

impl Listening {
    async fn serve(mut self) {
        let most = self.settings.max_connections;
        let places = Arc::new(Semaphore::new(most as usize));
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                _ = self.stopped.changed() => break,
            };
            let Ok((stream, _)) = accepted else {
                // The backlog keeps who comes meanwhile.
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                self.turned_away.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            let connection = Connection {
                router: self.router.clone(),
                stopped: self.stopped.clone(),
                read_timeout: self.settings.read_timeout,
            };
            tokio::spawn(async move {
                connection.serve(stream).await;
                drop(place);
            });
        }
        drop(self.listener);
        // Every place is free when every connection is over.
        let _ = tokio::time::timeout(DRAIN, places.acquire_many(most)).await;
    }
}

struct Connection {
    router: Router,
    stopped: watch::Receiver<bool>,
    read_timeout: Duration,
}

impl Connection {
    async fn serve(mut self, stream: TcpStream) {
        // Without these an answer may be late, or wait for ever; it is served.
        let _ = stream.set_nodelay(true);
        let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(UNREAD_MOST));
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(self.read_timeout)
            .max_buf_size(HTTP_HEAD_BYTES_MAX);
        let service = TowerToHyperService::new(self.router);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let mut connection = core::pin::pin!(connection);
        tokio::select! {
            // What breaks a connection is its client's to see.
            _ = connection.as_mut() => return,
            _ = self.stopped.changed() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use crossbeam_channel::bounded;
    use crossbeam_utils::sync::Parker;
    use data_encoding::HEXLOWER;
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::config::Config;

    /// An executor's thread that is stuck: what is asked waits.
    #[test]
    fn o31_a_late_answer_a_full_queue_and_a_dead_executor_are_told_as_such() {
        let (asks, waiting) = bounded(1);
        let hash = HEXLOWER.encode(&Sha256::digest(b"one"));
        let text = format!("[[admin]]\nid = \"a\"\ntoken_sha256 = \"{hash}\"\n");
        let config = Config::parse("test.toml", &text).unwrap();
        let server = HttpServer::start(HttpSetup {
            settings: HttpSettings {
                listen: "127.0.0.1:0".parse().unwrap(),
                request_timeout: Duration::from_millis(300),
                ..HttpSettings::default()
            },
            access: Access::new(&config),
            executor: Some(ExecutorHandle::new(asks, Parker::new().unparker().clone())),
            authorizer: None,
            keys: KeyTable::default(),
            sessions: None,
        })
        .unwrap();
        let answer = |route: &str| {
            let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
            let head = "Host: x\r\nAuthorization: Bearer one\r\nConnection: close";
            let request = format!("GET {route} HTTP/1.1\r\n{head}\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
            assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
            answer
        };
        let late = answer("/v1/venues");
        assert!(late.contains("A2M_NO_ANSWER"), "{late}");
        let full = answer("/v1/venues");
        assert!(full.contains("A2M_CAPACITY"), "{full}");
        drop(waiting);
        let dead = answer("/v1/venues");
        assert!(dead.contains("A2M_STOPPING"), "{dead}");
        assert!(answer("/readyz").contains("does not answer"));
    }
}
