//! What a queue's operations run on: a driver of its own, or a share of one
//! (rule L1).

use std::sync::Arc;

use crate::lanes::driver::LocalDriver;
use crate::lanes::key::LaneKey;
use crate::lanes::pre_trade::PreTradeDriver;

/// A pre-trade engine that all lanes share: a clone is another reference to
/// the same one, which orders what its accounts have in common itself. Nothing
/// needs to be implemented for it. Requests and reservations are `Send`,
/// because the operations of an account run now on one worker and now on
/// another; a driver whose handles are not does not compile with it:
///
/// ```compile_fail,E0277
/// use std::rc::Rc;
/// fn shared<D: pitlane::lanes::SharedDriver>() {}
/// fn needs<D>()
/// where
///     D: pitlane::lanes::PreTradeDriver<Request = Rc<u64>, Reservation = u64>,
///     D: Clone + Send + Sync,
/// {
///     shared::<D>();
/// }
/// ```
///
/// With `Send` handles the same compiles:
///
/// ```
/// fn shared<D: pitlane::lanes::SharedDriver>() {}
/// fn has<D>()
/// where
///     D: pitlane::lanes::PreTradeDriver<Request = u64, Reservation = u64>,
///     D: Clone + Send + Sync,
/// {
///     shared::<D>();
/// }
/// ```
pub trait SharedDriver:
    PreTradeDriver<Request: Send, Reservation: Send> + Clone + Send + Sync
{
}

impl<D> SharedDriver for D where
    D: PreTradeDriver<Request: Send, Reservation: Send> + Clone + Send + Sync
{
}

/// Makes the driver of a key.
pub(super) type Factory<D> = Arc<dyn Fn(LaneKey) -> D + Send + Sync>;

/// A queue's driver, between its batches; leased by the worker that runs one.
pub(super) struct Cell<D: LocalDriver> {
    pub(super) driver: Box<D>,
    /// It knows the queue that its wrappers' calls go to.
    pub(super) is_home: bool,
}
