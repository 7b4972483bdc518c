//! The engine's state as it is kept over a restart: read out one account or
//! order at a time, and set again as it was. No policy is asked and nothing is
//! calculated, so that what is set again does not depend on the configuration
//! (rule J5).
//!
//! Windows (rates, duplicates, repeated executions) are not kept: they are of
//! one run's clock, and begin empty.

use super::account::Account;
use super::engine::RiskEngine;
use super::holding::Balance;
use super::order_table::{Hold, Status};
use super::settings::SelfMatchScope;
use super::shared_sum::Round;
use super::token::ReservationToken;
use crate::limits::ACCOUNTS_MAX;
use crate::types::{AccountId, AssetId, FillId, InstrumentId, Order};

/// What a working order holds and counts, in units of amounts (18 decimals) and
/// of quantities and prices (9 decimals).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HoldImage {
    /// Held of the settlement asset.
    pub settlement: i128,
    /// Held of the base asset.
    pub base: i128,
    /// Expected, of the asset that it brings.
    pub incoming: i128,
    /// Of the account's gross credit.
    pub credit: i128,
    /// Of an order by volume: what was not traded.
    pub volume: i128,
    /// The price at which the hold is released.
    pub lock_price: i64,
    /// Counted into the position's working side.
    pub counted: i64,
    /// Traded so far.
    pub filled: i64,
    /// While a replace is not confirmed, the larger of both totals; else zero.
    pub replacing: i64,
    /// The hold is larger than the terms need: those of before may still trade.
    pub is_of_before: bool,
}

/// What an account has in one instrument and in both of its assets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountImage {
    /// Whose.
    pub account: AccountId,
    /// In which instrument.
    pub instrument: InstrumentId,
    /// The asset that it trades.
    pub base: AssetId,
    /// The asset that it is paid in.
    pub settlement: AssetId,
    /// What the account has of `base`.
    pub of_base: Balance,
    /// What the account has of `settlement`.
    pub of_settlement: Balance,
    /// Its position, in units of a quantity.
    pub net: i128,
    /// What its orders may add to the position.
    pub buying: i128,
    /// What its orders may take from the position.
    pub selling: i128,
    /// The price of its last trade; zero before the first.
    pub last_price: i64,
    /// Realized in `settlement`, in units of an amount.
    pub pnl: i128,
    /// Its gross credit in `settlement`.
    pub credit: i128,
}

/// Why something of an earlier run cannot be set again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The instrument is not configured any more.
    #[error(
        "account {account} has state in instrument {instrument}, which is not configured; \
         configure it again, or end what is open in it first"
    )]
    Instrument {
        /// Whose state.
        account: AccountId,
        /// In which.
        instrument: InstrumentId,
    },
    /// The instrument trades other assets than before.
    #[error("instrument {0} trades other assets than it did; give it a number of its own")]
    Assets(InstrumentId),
    /// The account is not there, or there is no room for it.
    #[error("account {0} finds no room in the shard")]
    Account(AccountId),
    /// As many orders are open as a shard holds.
    #[error("no room for the open orders")]
    Orders,
    /// A decision is of a kind that this program does not know.
    #[error(
        "the decision that holds as number {0} has an order type or a time in force that \
         this program does not know; start the program that wrote it"
    )]
    Decision(u64),
}

impl RiskEngine {
    /// What a working order holds; `None` for a token that names none.
    #[must_use]
    pub fn hold_image(&self, token: ReservationToken) -> Option<HoldImage> {
        let entry = self.entry(token).ok()?;
        let hold = &entry.hold;
        (entry.status == Status::Working).then_some(HoldImage {
            settlement: hold.settlement,
            base: hold.base,
            incoming: hold.incoming,
            credit: hold.credit,
            volume: hold.volume,
            lock_price: hold.lock_price,
            counted: hold.counted,
            filled: hold.filled,
            replacing: hold.replacing,
            is_of_before: hold.is_of_before,
        })
    }

    /// Whether accepting the order moved anything of its account.
    #[must_use]
    pub fn hold_moves(&self, token: ReservationToken) -> bool {
        self.entry(token).is_ok_and(|entry| {
            let Hold {
                settlement,
                base,
                incoming,
                credit,
                counted,
                ..
            } = entry.hold;
            settlement | base | incoming | credit != 0 || counted != 0
        })
    }

    /// What an account has; `None` where the account or the instrument is not
    /// known.
    #[must_use]
    pub fn account_image(
        &self,
        account: AccountId,
        instrument: InstrumentId,
    ) -> Option<AccountImage> {
        let number = self.accounts.find(account.0)?;
        let place = self.rules.instruments.find(instrument)?;
        let (base, settlement) = self.assets_of(place);
        let balance = |asset| {
            let holding = self.holdings.find(number, asset);
            holding.map_or_else(Balance::default, super::holding::Holding::balance)
        };
        let position = self.positions.get(number, place);
        let meter = self.meters.find(number, settlement);
        Some(AccountImage {
            account,
            instrument,
            base,
            settlement,
            of_base: balance(base),
            of_settlement: balance(settlement),
            net: position.net,
            buying: position.buying,
            selling: position.selling,
            last_price: position.last_price,
            pnl: meter.map_or(0, |meter| meter.pnl),
            credit: meter.map_or(0, |meter| meter.credit),
        })
    }

    /// Sets what an account has as it was; opens the account where no
    /// configuration names it.
    ///
    /// # Errors
    /// The configuration does not fit what was; nothing of it is set.
    pub fn restore_account(&mut self, image: &AccountImage) -> Result<(), RestoreError> {
        let Some(place) = self.rules.instruments.find(image.instrument) else {
            return Err(RestoreError::Instrument {
                account: image.account,
                instrument: image.instrument,
            });
        };
        if self.assets_of(place) != (image.base, image.settlement) {
            return Err(RestoreError::Assets(image.instrument));
        }
        let number = self.restored_account(image.account)?;
        let balances = [
            (image.base, image.of_base),
            (image.settlement, image.of_settlement),
        ];
        for (asset, balance) in balances {
            let holding = self.holdings.of(number, asset);
            holding.available = balance.available.raw();
            holding.held = balance.held.raw();
            holding.incoming = balance.incoming.raw();
            self.assets.insert(asset);
        }
        let position = self.positions.of(number, place);
        position.net = image.net;
        position.buying = image.buying;
        position.selling = image.selling;
        position.last_price = image.last_price;
        let meter = self.meters.of(number, image.settlement);
        let pnl = image.pnl.saturating_sub(meter.pnl);
        let credit = image.credit.saturating_sub(meter.credit);
        (meter.pnl, meter.credit) = (image.pnl, image.credit);
        self.publish_restored(place, pnl, credit);
        Ok(())
    }

    /// What spans shards learns of this shard's part.
    fn publish_restored(&mut self, instrument: u32, pnl: i128, credit: i128) {
        let slot = self.rules.instruments.get(instrument).settlement_slot;
        let Some(shared) = self.shared.slot(slot) else {
            return;
        };
        if let Some(part) = self.credit.get_mut(slot) {
            let unit = self.rules.config.gross_credit.unit.raw();
            part.add(&shared.credit, credit, unit, Round::Up);
        }
        if let Some((low, high)) = self.pnl.get_mut(slot) {
            let unit = self.rules.config.pnl.unit.raw();
            low.add(&shared.pnl_low, pnl, unit, Round::Down);
            high.add(&shared.pnl_high, pnl, unit, Round::Up);
        }
    }

    fn restored_account(&mut self, id: AccountId) -> Result<u32, RestoreError> {
        if let Some(number) = self.accounts.find(id.0) {
            return Ok(number);
        }
        if self.accounts.len() >= ACCOUNTS_MAX {
            return Err(RestoreError::Account(id));
        }
        Ok(self.accounts.insert(Account::new(id.0, 0, false)))
    }

    /// Opens a working order again, with the hold that it had. What its hold has
    /// moved is in its account's image, and is not moved again.
    ///
    /// # Errors
    /// The configuration does not fit what was; nothing is opened.
    pub fn restore_order(
        &mut self,
        order: &Order,
        image: &HoldImage,
    ) -> Result<ReservationToken, RestoreError> {
        let Some(place) = self.rules.instruments.find(order.instrument) else {
            return Err(RestoreError::Instrument {
                account: order.account,
                instrument: order.instrument,
            });
        };
        if self.orders.is_full() {
            return Err(RestoreError::Orders);
        }
        let account = self.restored_account(order.account)?;
        let index = self.orders.add(Status::Working, account, place, order);
        self.link(index);
        let entry = self.orders.get_mut(index);
        entry.hold = Hold {
            settlement: image.settlement,
            base: image.base,
            incoming: image.incoming,
            credit: image.credit,
            volume: image.volume,
            lock_price: image.lock_price,
            counted: image.counted,
            filled: image.filled,
            duplicate: 0,
            replacing: image.replacing,
            is_of_before: image.is_of_before,
        };
        let generation = entry.generation;
        if let Some(scope) = self.self_match_scope() {
            let owner = self.match_owner(account, scope);
            self.books.insert(owner, place, index, &mut self.orders);
        }
        Ok(ReservationToken {
            shard: self.shard,
            index,
            generation,
        })
    }

    fn self_match_scope(&self) -> Option<SelfMatchScope> {
        self.rules.config.self_match.map(|settings| settings.scope)
    }

    /// Blocks an account of an earlier run, or clears its block.
    ///
    /// # Errors
    /// There is no room for the account.
    pub fn restore_account_block(
        &mut self,
        account: AccountId,
        block: Option<crate::types::RejectCode>,
    ) -> Result<(), RestoreError> {
        let number = self.restored_account(account)?;
        self.accounts.get_mut(number).block = block;
        Ok(())
    }

    /// An account's own block, not that of its group or of all.
    #[must_use]
    pub fn own_block(&self, account: AccountId) -> Option<crate::types::RejectCode> {
        let number = self.accounts.find(account.0)?;
        self.accounts.get(number).block
    }

    /// Remembers a fill that was booked in an earlier run.
    pub fn restore_fill(&mut self, fill: FillId) {
        self.fills.first_time(fill.0);
    }

    /// Whether a fill was booked, as far as that is remembered.
    #[must_use]
    pub fn knows_fill(&self, fill: FillId) -> bool {
        self.fills.knows(fill.0)
    }
}
