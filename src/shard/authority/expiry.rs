//! Decisions that were never brought (rule O4).

use super::pending::Answer;
use crate::orders::decision::Decision;

/// The answers of all shards to [`Authorizer::due`](super::Authorizer::due).
#[derive(Debug)]
pub struct Due {
    open: Vec<Answer<Vec<Decision>>>,
}

impl Due {
    pub(super) const fn new(open: Vec<Answer<Vec<Decision>>>) -> Self {
        Self { open }
    }

    /// Gives what has come since the last call to `sink`; whether more is to
    /// come. A shard that is not there has none.
    pub fn poll(&mut self, sink: &mut dyn FnMut(Decision)) -> bool {
        self.open.retain_mut(|answer| match answer.try_take() {
            None => true,
            Some(decisions) => {
                decisions.into_iter().flatten().for_each(&mut *sink);
                false
            }
        });
        !self.open.is_empty()
    }
}
