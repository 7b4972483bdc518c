//! A gateway over real sockets with a small core behind it, for tests.
#![allow(dead_code)] // Each test binary uses a part of it.

pub(crate) mod core;
pub(crate) mod desk;
pub(crate) mod raw;

use std::sync::Arc;
use std::time::{Duration, Instant};

use pitlane::types::{
    AccountId, InstrumentId, Order, OrderType, PRICE_SCALE, Price, Quantity, Side, TimeInForce,
};
use pitlane_gateway::client::{Client, ClientError, ClientKey, Event, Logon};
use pitlane_gateway::server::{
    IoChoice, IoRefusal, Server, ServerConfig, ServerError, ServerHandle, ServerStats,
};
use pitlane_gateway::session::{Credential, CredentialId, Credentials, Permissions};

use self::core::{CoreKind, TestPath};

pub(crate) const GATEWAY: u64 = 77;
/// Longer than anything should take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Credential `id` may use accounts `10 × id` to `10 × id + 9`.
pub(crate) fn credential(id: u16) -> Credential {
    let first = u64::from(id) * 10;
    Credential {
        id: CredentialId(id),
        public_key: key(id).public(),
        accounts: (first..first + 10).map(AccountId).collect(),
        permissions: Permissions::TRADE,
        max_in_flight: 100_000,
    }
}

pub(crate) fn key(id: u16) -> ClientKey {
    let [low, high] = id.to_le_bytes();
    let mut seed = [9; 32];
    seed[0] = low;
    seed[1] = high;
    ClientKey::from_seed(&seed)
}

pub(crate) fn account(id: u16) -> AccountId {
    AccountId(u64::from(id) * 10)
}

pub(crate) fn order(account: AccountId) -> Order {
    Order {
        account,
        instrument: InstrumentId(3),
        side: Side::Buy,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        quantity: Some(Quantity::from_raw(5 * PRICE_SCALE)),
        volume: None,
        price: Some(Price::from_raw(100 * PRICE_SCALE)),
    }
}

pub(crate) struct Gateway {
    pub(crate) handle: ServerHandle,
    pub(crate) logon_keep_alive: Duration,
}

/// How a test's gateway differs from the usual one.
pub(crate) struct Setup {
    pub(crate) config: ServerConfig,
    pub(crate) credentials: Vec<Credential>,
    pub(crate) core: CoreKind,
}

impl Setup {
    pub(crate) fn new(io: IoChoice) -> Self {
        Self {
            config: ServerConfig {
                io,
                gateway_id: GATEWAY,
                tick: Duration::from_millis(5),
                ..ServerConfig::default()
            },
            credentials: (1..=40).map(credential).collect(),
            core: CoreKind::Inline,
        }
    }

    /// Starts it. On a host that refuses io_uring the reason must be a named
    /// one, and the test runs on what `Auto` falls back to.
    pub(crate) fn start(mut self) -> Gateway {
        let credentials = Arc::new(Credentials::new(&self.credentials).unwrap());
        let core = self.core;
        let start = |config: ServerConfig| {
            Server::start(config, Arc::clone(&credentials), move |port| {
                TestPath::new(core, port)
            })
        };
        let handle = match start(self.config.clone()) {
            Ok(handle) => handle,
            Err(ServerError::Uring(refused)) => {
                assert!(
                    !matches!(refused.reason, IoRefusal::Other(_)),
                    "a named reason: {refused}"
                );
                eprintln!("{refused}");
                self.config.io = IoChoice::Auto;
                start(self.config).unwrap()
            }
            Err(error) => panic!("{error}"),
        };
        Gateway {
            handle,
            logon_keep_alive: Duration::from_secs(10),
        }
    }
}

impl Gateway {
    pub(crate) fn logon(&self, id: u16) -> Logon {
        Logon {
            keep_alive: self.logon_keep_alive,
            ..Logon::new(GATEWAY, CredentialId(id), key(id))
        }
    }

    pub(crate) fn connect(&self, id: u16) -> Result<Client, ClientError> {
        Client::connect(self.handle.address(), &self.logon(id))
    }

    pub(crate) fn client(&self, id: u16) -> Client {
        self.connect(id).unwrap()
    }

    /// Waits until the counts are as they should be.
    pub(crate) fn await_stats(
        &self,
        what: &str,
        is_so: impl Fn(&ServerStats) -> bool,
    ) -> ServerStats {
        let begun = Instant::now();
        loop {
            let stats = self.handle.stats();
            if is_so(&stats) {
                return stats;
            }
            assert!(begun.elapsed() < PATIENCE, "never {what}: {stats:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The next event, which must come.
pub(crate) fn event(client: &mut Client) -> Event {
    client.next_event(PATIENCE).unwrap().expect("an event")
}

/// The same test on both reactors.
#[macro_export]
macro_rules! on_both_reactors {
    ($($name:ident)*) => {
        mod uring {
            $(#[test]
            fn $name() {
                super::$name(pitlane_gateway::server::IoChoice::Uring);
            })*
        }
        mod epoll {
            $(#[test]
            fn $name() {
                super::$name(pitlane_gateway::server::IoChoice::Epoll);
            })*
        }
    };
}
