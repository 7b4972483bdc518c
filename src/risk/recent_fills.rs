//! Which fills were booked: the last [`FILL_IDS_MAX`], the oldest forgotten
//! first (rule K28).

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use crate::limits::FILL_IDS_MAX;

pub(crate) struct RecentFills {
    ids: HashSet<u64, FixedState>,
    order: VecDeque<u64>,
}

impl RecentFills {
    pub(crate) fn new() -> Self {
        Self {
            ids: HashSet::default(),
            order: VecDeque::new(),
        }
    }

    /// Whether the fill is among them.
    pub(crate) fn knows(&self, id: u64) -> bool {
        self.ids.contains(&id)
    }

    /// Remembers a fill; `false` if it was known.
    pub(crate) fn first_time(&mut self, id: u64) -> bool {
        if !self.ids.insert(id) {
            return false;
        }
        if self.order.len() >= FILL_IDS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        self.order.push_back(id);
        true
    }
}
