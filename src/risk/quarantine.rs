//! What happened but did not fit: kept until a person takes it (rule K9).

use super::engine::RiskEngine;
use super::report::ExecutionReport;
use crate::limits::QUARANTINE_MAX;
use crate::types::{AccountId, Amount, AssetId, FillId, InstrumentId};

/// A change of a balance that could not be booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuarantinedLeg {
    /// Whose.
    pub account: AccountId,
    /// Of which asset; `None` where the instrument was not known.
    pub asset: Option<AssetId>,
    /// The instrument, where it was not known.
    pub instrument: Option<InstrumentId>,
    /// What should have been added to what is available.
    pub amount: Amount,
    /// The fill that it is of.
    pub fill_id: Option<FillId>,
}

impl RiskEngine {
    /// What could not be booked, oldest first.
    pub fn quarantined(&self) -> impl Iterator<Item = &QuarantinedLeg> {
        self.quarantined.iter()
    }

    /// Takes the oldest leg out, for a person to settle.
    pub fn take_quarantined(&mut self) -> Option<QuarantinedLeg> {
        self.quarantined.pop_front()
    }

    /// Legs that were dropped because there was no more room: reconcile.
    #[must_use]
    pub const fn quarantine_dropped(&self) -> u64 {
        self.quarantine_dropped
    }

    pub(super) fn quarantine(
        &mut self,
        account: u32,
        asset: AssetId,
        amount: i128,
        fill_id: Option<FillId>,
    ) {
        self.keep_leg(QuarantinedLeg {
            account: AccountId(self.accounts.get(account).id),
            asset: Some(asset),
            instrument: None,
            amount: Amount::from_raw(amount),
            fill_id,
        });
    }

    /// A fill of an instrument that is not known: its quantity is kept.
    pub(super) fn quarantine_report(&mut self, account: u32, report: &ExecutionReport) {
        self.keep_leg(QuarantinedLeg {
            account: AccountId(self.accounts.get(account).id),
            asset: None,
            instrument: Some(report.instrument),
            amount: report.quantity.amount(),
            fill_id: report.fill_id,
        });
    }

    fn keep_leg(&mut self, leg: QuarantinedLeg) {
        if self.quarantined.len() >= QUARANTINE_MAX {
            self.quarantined.pop_front();
            self.quarantine_dropped += 1;
        }
        self.quarantined.push_back(leg);
    }
}
