//! What waits until the group of records that it belongs to is durable (rule
//! J3): in order, marked once for each turn.

use std::collections::VecDeque;

/// See the module.
pub(super) struct Held<T> {
    items: VecDeque<T>,
    /// How many items, oldest first, may leave after which record is durable.
    marks: VecDeque<Mark>,
    /// Items of the turn that has not ended.
    unmarked: usize,
}

struct Mark {
    count: usize,
    after: u64,
}

impl<T> Held<T> {
    pub(super) fn with_capacity(items: usize) -> Self {
        Self {
            items: VecDeque::with_capacity(items),
            marks: VecDeque::with_capacity(items),
            unmarked: 0,
        }
    }

    pub(super) fn push(&mut self, item: T) {
        self.items.push_back(item);
        self.unmarked += 1;
    }

    /// What was pushed since the last mark leaves when record `after` is
    /// durable. Marks never fall.
    pub(super) fn mark(&mut self, after: u64) {
        let count = std::mem::take(&mut self.unmarked);
        if count == 0 {
            return;
        }
        match self.marks.back_mut() {
            Some(last) if last.after == after => last.count += count,
            _ => self.marks.push_back(Mark { count, after }),
        }
    }

    /// Whether the oldest may leave.
    pub(super) fn is_due(&self, durable: u64) -> bool {
        self.marks.front().is_some_and(|mark| mark.after <= durable)
    }

    /// The oldest, if it may leave.
    pub(super) fn due(&self, durable: u64) -> Option<&T> {
        self.is_due(durable).then(|| self.items.front())?
    }

    /// Takes the oldest, if it may leave.
    pub(super) fn take_due(&mut self, durable: u64) -> Option<T> {
        let mark = self
            .marks
            .front_mut()
            .filter(|mark| mark.after <= durable)?;
        mark.count -= 1;
        if mark.count == 0 {
            self.marks.pop_front();
        }
        self.items.pop_front()
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain list of (item, the record that it waits for).
        #[test]
        fn j03_nothing_leaves_before_its_record_and_all_leave_in_order(
            steps in prop::collection::vec((0u8..4, 0u64..4), 0..200),
        ) {
            let mut held = Held::with_capacity(0);
            let mut plain: VecDeque<(u32, Option<u64>)> = VecDeque::new();
            let (mut item, mut last, mut durable) = (0, 0, 0);
            for (what, step) in steps {
                match what {
                    0 => {
                        item += 1;
                        held.push(item);
                        plain.push_back((item, None));
                    }
                    1 => {
                        last += step;
                        held.mark(last);
                        for (_, after) in &mut plain {
                            after.get_or_insert(last);
                        }
                    }
                    2 => durable = (durable + step).min(last),
                    _ => {
                        let may = plain.front().is_some_and(|(_, after)| {
                            after.is_some_and(|after| after <= durable)
                        });
                        let expected = if may { plain.pop_front() } else { None };
                        prop_assert_eq!(held.is_due(durable), may);
                        let due = held.due(durable).copied();
                        let taken = held.take_due(durable);
                        prop_assert_eq!(due, taken);
                        prop_assert_eq!(taken, expected.map(|(item, _)| item));
                    }
                }
                prop_assert_eq!(held.len(), plain.len());
            }
        }
    }
}
