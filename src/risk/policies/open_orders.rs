//! Open orders (rule K23): the most that an account may have working,
//! reservations included.

use crate::risk::rejects::{PolicyId, Rejects};
use crate::types::RejectCode;

/// The most that [`check`] can say.
pub(crate) const REJECTS: usize = 1;

/// `open` without the order itself.
pub(crate) fn check(limit: Option<u32>, open: u32, rejects: &mut Rejects) {
    if limit.is_some_and(|limit| open >= limit) {
        rejects.add(PolicyId::OPEN_ORDERS, RejectCode::OpenOrdersLimitExceeded);
    }
}
