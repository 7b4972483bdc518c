//! Which executions were told: the last [`FILL_IDS_MAX`], by venue (rule O23).

use std::collections::VecDeque;

use hashbrown::HashSet;

use crate::limits::{AUTHORITY_VENUES_MAX, FILL_IDS_MAX};
use crate::shard::record::{ToldKind, VenueName};
use crate::types::FillId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Told {
    venue: u16,
    fill_id: FillId,
    /// It was taken back, rather than told.
    reversed: bool,
}

/// See the module; the oldest is forgotten first. Messages that come again under
/// their own number are known by that, whatever their age.
#[derive(Debug, Default)]
pub(super) struct ToldFills {
    venues: Vec<VenueName>,
    told: HashSet<Told, foldhash::fast::RandomState>,
    order: VecDeque<Told>,
}

impl ToldFills {
    /// Remembers an execution, or its reversal; false if it was known. Of a venue
    /// beyond [`AUTHORITY_VENUES_MAX`] none is known: it is booked rather than
    /// taken for another's.
    pub(super) fn first_time(&mut self, venue: &VenueName, fill: FillId, kind: ToldKind) -> bool {
        let Some(venue) = self.place_of(venue) else {
            return true;
        };
        let told = Told {
            venue,
            fill_id: fill,
            reversed: kind == ToldKind::Reversal,
        };
        if !self.told.insert(told) {
            return false;
        }
        if self.order.len() >= FILL_IDS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.told.remove(&oldest);
        }
        self.order.push_back(told);
        true
    }

    fn place_of(&mut self, venue: &VenueName) -> Option<u16> {
        let known = self.venues.iter().position(|own| own == venue);
        let place = known.unwrap_or(self.venues.len());
        if known.is_none() {
            if self.venues.len() >= AUTHORITY_VENUES_MAX {
                return None;
            }
            self.venues.push(*venue);
        }
        u16::try_from(place).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shard::record::venue_name;

    #[test]
    fn o23_an_execution_is_known_by_its_venue_and_its_number() {
        let mut fills = ToldFills::default();
        let (one, other) = (venue_name("one"), venue_name("other"));
        let mut first = |venue, fill, kind| fills.first_time(venue, FillId(fill), kind);
        assert!(first(&one, 7, ToldKind::Execution));
        assert!(!first(&one, 7, ToldKind::Execution));
        assert!(first(&other, 7, ToldKind::Execution), "another venue's");
        assert!(first(&one, 7, ToldKind::Reversal), "taken back");
        assert!(!first(&one, 7, ToldKind::Reversal));
    }

    #[test]
    fn o23_beyond_its_bound_the_oldest_is_forgotten_and_no_venue_is_mixed_up() {
        let mut fills = ToldFills::default();
        let venue = venue_name("sim");
        for fill in 0..=FILL_IDS_MAX as u64 {
            assert!(fills.first_time(&venue, FillId(fill), ToldKind::Execution));
        }
        assert!(!fills.first_time(&venue, FillId(1), ToldKind::Execution));
        assert!(fills.first_time(&venue, FillId(0), ToldKind::Execution));
        for number in 1..AUTHORITY_VENUES_MAX {
            let venue = venue_name(&format!("v-{number}"));
            assert!(fills.first_time(&venue, FillId(5), ToldKind::Execution));
        }
        let beyond = venue_name("beyond");
        for _ in 0..2 {
            assert!(fills.first_time(&beyond, FillId(5), ToldKind::Execution));
        }
    }
}
