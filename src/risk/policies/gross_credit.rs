//! Gross credit (rule K20): what an account's working orders and positions are
//! worth together, and what everyone's are.
//!
//! An order that only reduces a position takes no credit: it brings what is
//! owed nearer to zero.

use crate::risk::rejects::{PolicyId, Rejects};
use crate::types::RejectCode;

/// The most that [`check`] can say: the account's, the firm's.
pub(crate) const REJECTS: usize = 2;

/// `used` by the account, `added` by the order less what it gives back.
pub(crate) fn check(
    limit: Option<i128>,
    used: i128,
    added: Result<i128, RejectCode>,
    firm_has_room: impl FnOnce(i128) -> bool,
    rejects: &mut Rejects,
) {
    let added = match added {
        Ok(added) => added,
        Err(code) => return rejects.add(PolicyId::CREDIT, code),
    };
    if added <= 0 {
        return;
    }
    let own = limit.is_none_or(|limit| used.checked_add(added).is_some_and(|sum| sum <= limit));
    if !own {
        rejects.add(PolicyId::CREDIT, RejectCode::CreditLimitExceeded);
    }
    if !firm_has_room(added) {
        rejects.add(PolicyId::CREDIT, RejectCode::CreditLimitExceeded);
    }
}
