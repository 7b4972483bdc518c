//! Retirement: an account that has nothing left leaves no memory (rule K33).

use super::custom::RiskEvent;
use super::engine::RiskEngine;
use crate::types::AccountId;

/// Why an account cannot be retired; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RetireError {
    /// There is no such account.
    #[error("the account is not known")]
    UnknownAccount,
    /// The configuration names it.
    #[error("the configuration names the account; take it out first")]
    Configured,
    /// A balance, a position, or a P&L is not zero.
    #[error("the account's state is not zero")]
    StateNotZero,
    /// A request, a reservation or a working order is open.
    #[error("the account has an open operation")]
    OperationOpen,
    /// A custom policy keeps something of it.
    #[error("a custom policy keeps something of the account")]
    PolicyRefuses,
}

impl RiskEngine {
    /// Forgets an account and frees its memory. A block goes with it.
    ///
    /// # Errors
    /// Why it cannot go; nothing was changed.
    pub fn retire(&mut self, id: AccountId) -> Result<(), RetireError> {
        self.settle_dropped();
        let number = self
            .accounts
            .find(id.0)
            .ok_or(RetireError::UnknownAccount)?;
        let account = *self.accounts.get(number);
        if account.configured || self.rules.names(id) {
            return Err(RetireError::Configured);
        }
        if account.open_orders != 0 {
            return Err(RetireError::OperationOpen);
        }
        let instruments = u32::try_from(self.rules.instruments.len()).unwrap_or(u32::MAX);
        for instrument in self.rules.instruments.iter() {
            self.assets.insert(instrument.base);
            self.assets.insert(instrument.settlement);
        }
        let balances_left = self.assets.iter().any(|asset| {
            let holding = self.holdings.find(number, *asset);
            let meter = self.meters.find(number, *asset);
            holding.is_some_and(|holding| !holding.balance().is_zero())
                || meter.is_some_and(|meter| meter.pnl != 0)
        });
        let positions_left =
            (0..instruments).any(|instrument| self.positions.get(number, instrument).net != 0);
        if balances_left || positions_left {
            return Err(RetireError::StateNotZero);
        }
        if self.custom.iter().any(|policy| !policy.may_retire(id)) {
            return Err(RetireError::PolicyRefuses);
        }
        let mut windows = vec![account.orders];
        for asset in &self.assets {
            self.holdings.remove(number, *asset);
            windows.extend(
                self.meters
                    .remove_asset(number, *asset)
                    .map(|meter| meter.orders),
            );
        }
        for instrument in 0..instruments {
            self.positions.remove(number, instrument);
            self.market.forget(u64::from(number), instrument);
            windows.extend(
                self.meters
                    .remove_fills(number, instrument)
                    .map(|meter| meter.orders),
            );
        }
        let messages = self.meters.remove_messages(number);
        windows.extend(messages.into_iter().flatten().map(|meter| meter.orders));
        for window in &mut windows {
            self.pool.clear(window);
        }
        self.accounts.remove(number);
        if !self.custom.is_empty() {
            self.tell_custom(None, &RiskEvent::Retired(id));
        }
        Ok(())
    }
}
