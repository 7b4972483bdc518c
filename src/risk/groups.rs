//! Groups of accounts and their currencies (rule K32); market data in (K34);
//! upkeep.

use super::account::Account;
use super::custom::RiskEvent;
use super::engine::RiskEngine;
use super::holding::Balance;
use super::market::{Quote, QuoteTarget, group_owner};
use super::rejects::Rejects;
use crate::limits::ACCOUNTS_MAX;
use crate::time::Nanos;
use crate::types::{
    AccountId, Amount, AssetId, GroupId, InstrumentId, Quantity, RejectCode, RejectScope,
};

/// Something that a call names is not known; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// The account is not known.
    #[error("account {0} is not known")]
    Account(AccountId),
    /// The instrument is not known.
    #[error("instrument {0} is not known")]
    Instrument(InstrumentId),
}

impl RiskEngine {
    /// Opens an account that has nothing, and that no configuration names; one
    /// that is open stays as it is.
    ///
    /// # Errors
    /// `CapacityExceeded`: the shard holds no more accounts.
    pub fn open_account(&mut self, id: AccountId) -> Result<(), Rejects> {
        if self.accounts.find(id.0).is_none() {
            if self.accounts.len() >= ACCOUNTS_MAX {
                return Err(Rejects::one(
                    RejectCode::CapacityExceeded,
                    RejectScope::Order,
                ));
            }
            self.accounts.insert(Account::new(id.0, 0, false));
        }
        Ok(())
    }

    /// Puts an account into a group, out of the one it was in.
    ///
    /// # Errors
    /// The account is not known.
    pub fn register(&mut self, account: AccountId, group: GroupId) -> Result<(), LookupError> {
        self.set_group(account, group.get())
    }

    /// Takes an account out of its group.
    ///
    /// # Errors
    /// The account is not known.
    pub fn unregister(&mut self, account: AccountId) -> Result<(), LookupError> {
        self.set_group(account, 0)
    }

    fn set_group(&mut self, id: AccountId, group: u32) -> Result<(), LookupError> {
        let number = self.accounts.find(id.0).ok_or(LookupError::Account(id))?;
        let account = self.accounts.get_mut(number);
        account.group = group;
        account.settings_version = 0;
        Ok(())
    }

    /// An account's group, if any.
    ///
    /// # Errors
    /// The account is not known.
    pub fn group_of(&self, id: AccountId) -> Result<Option<GroupId>, LookupError> {
        let number = self.accounts.find(id.0).ok_or(LookupError::Account(id))?;
        Ok(GroupId::new(self.accounts.get(number).group))
    }

    /// An account's currency: its group's, else the general one, if any.
    ///
    /// # Errors
    /// The account is not known.
    pub fn currency_of(&self, id: AccountId) -> Result<Option<AssetId>, LookupError> {
        let config = &self.rules.config;
        let own = self
            .group_of(id)?
            .and_then(|group| config.group_currency.get(&group));
        let currency = own.or(config.currency.as_ref());
        // The names were found when the configuration was taken.
        Ok(currency.and_then(|asset| config.asset("currency", asset).ok()))
    }

    /// Sets the currency of a group's accounts, or leaves them the general one.
    /// The next configuration says it anew.
    pub fn set_group_currency(&mut self, group: GroupId, currency: Option<AssetId>) {
        let currencies = &mut self.rules.config.group_currency;
        match currency {
            Some(asset) => drop(currencies.insert(group, asset.into())),
            None => drop(currencies.remove(&group)),
        }
    }

    /// Sets a quote for everyone, a group, or an account.
    ///
    /// # Errors
    /// The instrument, or the account, is not known.
    pub fn set_quote(
        &mut self,
        target: QuoteTarget,
        instrument: InstrumentId,
        quote: Quote,
        now: Nanos,
    ) -> Result<(), LookupError> {
        let number = self
            .rules
            .instruments
            .find(instrument)
            .ok_or(LookupError::Instrument(instrument))?;
        match target {
            QuoteTarget::All => self.market.set_general(number, quote, now),
            QuoteTarget::Group(group) => {
                let owner = group_owner(group.get());
                self.market.set_scoped(owner, number, quote, now);
            }
            QuoteTarget::Account(id) => {
                let account = self.accounts.find(id.0).ok_or(LookupError::Account(id))?;
                self.market
                    .set_scoped(u64::from(account), number, quote, now);
            }
        }
        if !self.custom.is_empty() {
            self.tell_custom(None, &RiskEvent::Quote(target, instrument, quote));
        }
        Ok(())
    }

    /// What an account has of an asset; nothing, where it has no record.
    #[must_use]
    pub fn balance(&self, account: AccountId, asset: AssetId) -> Balance {
        let number = self.accounts.find(account.0);
        number
            .and_then(|number| self.holdings.find(number, asset))
            .map_or_else(Balance::default, |holding| holding.balance())
    }

    /// Every balance that is not zero in all three, by account and asset.
    #[must_use]
    pub fn balances(&self) -> Vec<(AccountId, AssetId, Balance)> {
        let mut list: Vec<_> = self
            .holdings
            .iter()
            .filter(|(_, _, balance)| !balance.is_zero())
            .map(|(number, asset, balance)| {
                (AccountId(self.accounts.get(number).id), asset, balance)
            })
            .collect();
        list.sort_by_key(|(account, asset, _)| (*account, *asset));
        list
    }

    /// What an account bought less what it sold of an instrument, in units of
    /// a quantity; `None` where that is out of a quantity's range.
    #[must_use]
    pub fn position(&self, account: AccountId, instrument: InstrumentId) -> Option<Quantity> {
        let position = self
            .accounts
            .find(account.0)
            .zip(self.rules.instruments.find(instrument))
            .map_or(0, |(account, instrument)| {
                self.positions.get(account, instrument).net
            });
        i64::try_from(position).ok().map(Quantity::from_raw)
    }

    /// An account's realized profit less fees in a settlement asset (K18).
    #[must_use]
    pub fn realized_pnl(&self, account: AccountId, asset: AssetId) -> Amount {
        let number = self.accounts.find(account.0);
        let meter = number.and_then(|number| self.meters.find(number, asset));
        Amount::from_raw(meter.map_or(0, |meter| meter.pnl))
    }

    /// Gives the memory of windows that have become empty back, `budget`
    /// records at a time; for a shard that has nothing else to do.
    pub fn maintain(&mut self, now: Nanos, budget: u32) {
        let records = self.accounts.numbers().max(self.meters.numbers());
        let longest = self.rules.longest_window_ns;
        for _ in 0..budget.min(records) {
            self.maintained = if self.maintained + 1 < records {
                self.maintained + 1
            } else {
                0
            };
            if self.maintained < self.accounts.numbers() {
                let account = self.accounts.get_mut(self.maintained);
                self.pool.expire(&mut account.orders, now, longest);
            }
            if self.maintained < self.meters.numbers() {
                let meter = self.meters.at_number(self.maintained);
                self.pool.expire(&mut meter.orders, now, longest);
            }
        }
    }
}
