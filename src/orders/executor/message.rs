//! What the executor tells the authorizer (rules O23, O27, O28, O30).

use serde::{Deserialize, Serialize};

use crate::types::{AccountId, Amount, ClientOrderId, FillId, Price, Quantity, Side};

/// One message; they are delivered by sequence, without gaps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// From 1.
    pub sequence: u64,
    /// What happened.
    pub body: MessageBody,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum MessageBody {
    /// Something traded.
    Execution(Execution),
    /// What is left of a hold is free.
    Release(Release),
    /// An execution that was told earlier is void.
    Reversal(Execution),
}

/// A trade (rule O23).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Unique at its venue.
    pub fill_id: FillId,
    /// For whom; empty where the order is not ours.
    pub user_id: String,
    /// Whose account; not there where the order is not ours.
    pub account_id: Option<AccountId>,
    /// What was traded; empty where the order is not ours.
    pub instrument: String,
    /// Buy or sell; not there where the order is not ours.
    pub side: Option<Side>,
    /// How much.
    pub qty: Quantity,
    /// At which price.
    pub price: Price,
    /// What the account pays beside it.
    pub fee: Amount,
    /// The hold that it settles; empty where the order is not ours.
    pub reservation_id: String,
    /// The order.
    pub client_order_id: ClientOrderId,
    /// The venue's name.
    pub venue: String,
    /// Whether the order is not ours.
    pub external: bool,
    /// Whether the order is over, and what is left of its hold is free.
    pub release_remainder: bool,
}

/// The end of a hold (rule O27).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// The hold.
    pub reservation_id: String,
    /// Whose account.
    pub account_id: AccountId,
    /// The order.
    pub client_order_id: ClientOrderId,
}

/// Where messages go. It never blocks.
///
/// Messages are offered by sequence, each once while nothing goes wrong, many
/// before the first is taken: one that is taken for good only when a disk has it
/// would else cost a sync each.
pub trait Receiver {
    /// Offers a message; those before it were offered. One that it has had
    /// before is not an error.
    ///
    /// # Errors
    /// It cannot be reached now. Everything that is not taken is offered again,
    /// later.
    fn offer(&mut self, message: &Message) -> Result<(), Away>;

    /// The sequence up to which it has taken, for good, what was offered to it.
    /// A lower one than before says nothing.
    ///
    /// # Errors
    /// It has gone away with what was offered and is not taken, which is offered
    /// again, later.
    fn taken(&mut self) -> Result<u64, Away>;
}

/// The authorizer is not there now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the authorizer does not answer; the message is kept")]
pub struct Away;

/// An authorizer in this process: it is told within the record group of what it
/// is told, so that nothing is sent to oneself (rule O4). On a restart it is
/// told everything again, from the first.
pub trait Settlement {
    /// Whether the hold is there and of this account.
    fn holds(&self, reservation_id: &str, account: AccountId) -> bool;

    /// Settles. It happened: it cannot be refused.
    fn settle(&mut self, message: &Message);
}

/// Who settles.
pub enum Authority {
    /// An authorizer in this process.
    Local(Box<dyn Settlement>),
    /// One elsewhere, reached through the outbox.
    Remote(Box<dyn Receiver>),
}
