//! A blocking client: logon, pipelined sending, and typed events.
//!
//! ```no_run
//! use std::time::Duration;
//! use pitlane::types::*;
//! use pitlane_gateway::client::{Client, ClientKey, Event, Logon};
//! use pitlane_gateway::session::CredentialId;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = ClientKey::from_seed(&[7; 32]);
//! let logon = Logon::new(1, CredentialId(1), key);
//! let mut client = Client::connect("127.0.0.1:4000".parse()?, &logon)?;
//! client.sender().new_order(ClientReference(1), &Order {
//!     account: AccountId(42),
//!     instrument: InstrumentId(1),
//!     side: Side::Buy,
//!     order_type: OrderType::Limit,
//!     time_in_force: TimeInForce::Day,
//!     quantity: Some(Quantity::from_raw(10 * PRICE_SCALE)),
//!     volume: None,
//!     price: Some(Price::from_raw(99 * PRICE_SCALE)),
//! })?;
//! client.sender().flush()?;
//! while let Some(event) = client.next_event(Duration::from_secs(1))? {
//!     println!("{event:?}");
//! }
//! client.finish()?;
//! # Ok(())
//! # }
//! ```
//!
//! What is sent waits in a buffer until `flush`, so that many messages leave in
//! one write. [`Client::split`] gives the two halves to two threads. It does
//! not reconnect, and resends nothing.

mod connection;
mod error;
mod event;
mod key;
mod logon;
mod receiver;
mod sender;

pub use connection::Client;
pub use error::ClientError;
pub use event::Event;
pub use key::{ClientKey, KeyError};
pub use logon::Logon;
pub use receiver::Receiver;
pub use sender::Sender;
