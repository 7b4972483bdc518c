//! The peer's engine behind our own words: what the differential test and the
//! benchmark drive beside ours.
#![allow(dead_code, unreachable_pub)] // Every user takes its own part.

use openpit::param::{
    AccountId, AdjustmentAmount, Asset, Fee, MonetaryAmount, Pnl, PositionSize, Price, Quantity,
    Side, Trade, TradeAmount, Volume,
};
use openpit::pretrade::PreTradeLock;
use openpit::{
    HasAccountAdjustmentBalance, HasAccountAdjustmentBalanceAverageEntryPrice,
    HasAccountAdjustmentBalanceLowerBound, HasAccountAdjustmentBalanceUpperBound,
    HasAccountAdjustmentHeld, HasAccountAdjustmentHeldLowerBound,
    HasAccountAdjustmentHeldUpperBound, HasAccountAdjustmentIncoming,
    HasAccountAdjustmentIncomingLowerBound, HasAccountAdjustmentIncomingUpperBound,
    HasAccountAdjustmentPnlOperation, HasAccountId, HasBalanceAsset, HasExecutionReportFillFee,
    HasExecutionReportIsFinal, HasExecutionReportLastTrade, HasFee, HasInstrument, HasPnl,
    HasPreTradeLock, HasRemainingReservedQuantity, HasSide, Instrument, OrderOperation, PnlState,
    RequestFieldAccessError,
};
use pitlane::types::{self, Amount, Order};

#[derive(Debug)]
pub struct PeerReport {
    pub instrument: Instrument,
    pub account: AccountId,
    pub side: Side,
    pub trade: Option<Trade>,
    pub fee: Fee,
    pub fee_asset: Asset,
    pub pnl: Pnl,
    pub remaining: Quantity,
    pub is_final: bool,
    pub lock: PreTradeLock,
}

#[derive(Debug)]
pub struct PeerAdjustment {
    pub asset: Asset,
    pub balance: Option<AdjustmentAmount>,
    pub held: Option<AdjustmentAmount>,
    pub incoming: Option<AdjustmentAmount>,
}

macro_rules! field {
    ($type:ident, $trait:ident, $method:ident, $result:ty, |$this:ident| $value:expr) => {
        impl $trait for $type {
            fn $method(&self) -> Result<$result, RequestFieldAccessError> {
                let $this = self;
                Ok($value)
            }
        }
    };
}

field!(PeerReport, HasAccountId, account_id, AccountId, |r| r
    .account);
field!(PeerReport, HasSide, side, Side, |r| r.side);
field!(
    PeerReport,
    HasExecutionReportLastTrade,
    last_trade,
    Option<Trade>,
    |r| r.trade
);
field!(
    PeerReport,
    HasExecutionReportFillFee,
    fill_fee,
    Option<MonetaryAmount>,
    |r| Some(MonetaryAmount {
        amount: r.fee,
        currency: r.fee_asset.clone(),
    })
);
field!(
    PeerReport,
    HasRemainingReservedQuantity,
    remaining_reserved_quantity,
    Quantity,
    |r| r.remaining
);
field!(PeerReport, HasExecutionReportIsFinal, is_final, bool, |r| r
    .is_final);
field!(PeerReport, HasPreTradeLock, lock, PreTradeLock, |r| r
    .lock
    .clone());
field!(PeerReport, HasPnl, pnl, Pnl, |r| r.pnl);
field!(PeerReport, HasFee, fee, Fee, |r| r.fee);

impl HasInstrument for PeerReport {
    fn instrument(&self) -> Result<&Instrument, RequestFieldAccessError> {
        Ok(&self.instrument)
    }
}

impl HasBalanceAsset for PeerAdjustment {
    fn balance_asset(&self) -> Result<&Asset, RequestFieldAccessError> {
        Ok(&self.asset)
    }
}

impl HasAccountAdjustmentBalance for PeerAdjustment {
    fn balance(&self) -> Result<Option<AdjustmentAmount>, RequestFieldAccessError> {
        Ok(self.balance)
    }

    fn balance_realized_pnl(&self) -> Result<Option<PnlState>, RequestFieldAccessError> {
        Ok(None)
    }
}

field!(
    PeerAdjustment,
    HasAccountAdjustmentPnlOperation,
    account_adjustment_pnl_operation,
    Option<PnlState>,
    |_a| None
);
field!(
    PeerAdjustment,
    HasAccountAdjustmentBalanceAverageEntryPrice,
    balance_average_entry_price,
    Option<Price>,
    |_a| None
);
field!(
    PeerAdjustment,
    HasAccountAdjustmentBalanceLowerBound,
    balance_lower,
    Option<PositionSize>,
    |_a| None
);
field!(
    PeerAdjustment,
    HasAccountAdjustmentBalanceUpperBound,
    balance_upper,
    Option<PositionSize>,
    |_a| None
);
field!(
    PeerAdjustment,
    HasAccountAdjustmentHeld,
    held,
    Option<AdjustmentAmount>,
    |a| a.held
);
field!(
    PeerAdjustment,
    HasAccountAdjustmentHeldLowerBound,
    held_lower,
    Option<PositionSize>,
    |_a| None
);
field!(
    PeerAdjustment,
    HasAccountAdjustmentHeldUpperBound,
    held_upper,
    Option<PositionSize>,
    |_a| None
);
field!(
    PeerAdjustment,
    HasAccountAdjustmentIncoming,
    incoming,
    Option<AdjustmentAmount>,
    |a| a.incoming
);
field!(
    PeerAdjustment,
    HasAccountAdjustmentIncomingLowerBound,
    incoming_lower,
    Option<PositionSize>,
    |_a| None
);
field!(
    PeerAdjustment,
    HasAccountAdjustmentIncomingUpperBound,
    incoming_upper,
    Option<PositionSize>,
    |_a| None
);

pub fn asset(name: &str) -> Asset {
    Asset::new(name).expect("an asset")
}

pub fn instrument(base: &str, settlement: &str) -> Instrument {
    Instrument::new(asset(base), asset(settlement))
}

pub fn price(price: types::Price) -> Price {
    Price::from_str(&price.to_string()).expect("in range")
}

pub fn quantity(quantity: types::Quantity) -> Quantity {
    Quantity::from_str(&quantity.to_string()).expect("in range")
}

pub fn position(amount: Amount) -> PositionSize {
    PositionSize::from_str(&amount.to_string()).expect("in range")
}

pub fn side(side: types::Side) -> Side {
    match side {
        types::Side::Buy => Side::Buy,
        types::Side::Sell => Side::Sell,
    }
}

/// Our order in the peer's words; it must have an amount.
pub fn order(order: &Order, instrument: &Instrument) -> OrderOperation {
    let trade_amount = match (order.quantity, order.volume) {
        (Some(size), _) => TradeAmount::Quantity(quantity(size)),
        (None, volume) => {
            let volume = volume.expect("an amount").to_string();
            TradeAmount::Volume(Volume::from_str(&volume).expect("in range"))
        }
    };
    OrderOperation {
        instrument: instrument.clone(),
        account_id: AccountId::from_u64(order.account.0),
        side: side(order.side),
        trade_amount,
        price: order.price.map(price),
    }
}
