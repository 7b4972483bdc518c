//! A shard that starts again with what its journal says (rule J5).

use super::Admission;
use super::journaling::ShardJournal;
use super::reconciliation::VenueMemory;
use super::record::{AdjustmentRecord, ConfigRecord, Effect};
use super::reports::{DROP_COPY_PORT, RECOVERED_PORT};
use super::state::ShardState;
use crate::journal::{Condition, JournalPort};
use crate::orders::venue::Venue;
use crate::orders::{CostImage, IdentitySource, OpenOrder};
use crate::risk::RestoreError;
use crate::time::Nanos;
use crate::types::Origin;

impl<V: Venue, I: IdentitySource> Admission<V, I> {
    /// The shard with a journal, and with the state that the journal had. To be
    /// called before anything else.
    ///
    /// # Errors
    /// The configuration does not fit the state, and what to do.
    pub fn with_journal(
        mut self,
        port: JournalPort,
        state: &ShardState,
        memory: VenueMemory,
    ) -> Result<Self, RestoreError> {
        self.restore(state)?;
        self.journal = Some(Box::new(ShardJournal::new(port, state.halt())));
        self.outlet.hold();
        self.callbacks.hold_reports();
        for order in state.open_orders() {
            match memory {
                VenueMemory::Kept => self.reconciliation.add(order.id, order.order.account),
                VenueMemory::Lost => {
                    let open = self.orders.get_mut(order.id).map(|open| *open);
                    if let Some(open) = open {
                        self.end_unknown(&open, Nanos(0));
                    }
                }
            }
        }
        Ok(self)
    }

    /// Writes down what the shard is started with, as far as its journal does not
    /// have it: the settings, and what accounts are given that have not traded.
    /// Before the first turn; it waits for the journal where there is much.
    pub fn write_start(
        &mut self,
        state: &ShardState,
        config: &ConfigRecord,
        openings: impl Iterator<Item = AdjustmentRecord>,
    ) {
        if state.config() != Some(config) {
            self.write_effect(&Effect::Config(*config));
        }
        for one in openings {
            if state.opening(one.account, one.asset) == Some(one.amount) {
                continue;
            }
            self.write_effect(&Effect::Adjustment(one));
            self.split_group();
            let is_behind = |journal: &ShardJournal| {
                journal.condition() == Condition::Running && !journal.takes_work()
            };
            while self.journal.as_deref().is_some_and(is_behind) {
                std::thread::yield_now();
            }
        }
    }

    fn restore(&mut self, state: &ShardState) -> Result<(), RestoreError> {
        for record in state.accounts() {
            let image = &record.image;
            self.risk.restore_account(image)?;
            if record.cost != CostImage::default() {
                self.realized
                    .restore(image.account, image.instrument, record.cost);
            }
        }
        for order in state.open_orders() {
            // While a replace is on its way, risk has the new terms.
            let terms = order.replacing.map_or(order.order, |one| one.after);
            let reservation = self.risk.restore_order(&terms, &order.hold)?;
            let opened = self.orders.open(OpenOrder {
                id: order.id,
                reservation,
                origin: recovered(order.origin),
                reference: order.reference,
                order: order.order,
                cumulative: order.cumulative,
                replacing: order.replacing,
                cancelling: order.cancelling,
            });
            opened.map_err(|_| RestoreError::Orders)?;
        }
        self.restore_authority(state.authority())?;
        for (account, cause) in state.blocks() {
            self.risk.restore_account_block(account, cause)?;
        }
        if let Some(cause) = state.halt() {
            self.risk.block_all(cause);
        }
        for fill in state.fills() {
            self.risk.restore_fill(fill);
        }
        for (credential, last) in state.reports() {
            self.sequences[usize::from(credential)] = last;
        }
        Ok(())
    }

    /// An order of an earlier run belongs to the connection that speaks of it.
    #[inline]
    pub(super) fn adopt(open: &mut OpenOrder, origin: Origin) {
        if open.origin.port == RECOVERED_PORT {
            open.origin = origin;
        }
    }
}

/// Who hears of an order whose connection ended with the process. One that no I/O
/// thread sent has nobody now either.
const fn recovered(origin: Origin) -> Origin {
    if origin.port == DROP_COPY_PORT {
        return origin;
    }
    Origin {
        port: RECOVERED_PORT,
        ..origin
    }
}
