//! Pre-trade risk: what an order must pass before it may be sent, and what
//! its account has left (rules K1 to K39).
//!
//! One [`RiskEngine`] per shard, owned by its worker: no lock, no allocation
//! per order. What spans shards is in [`SharedLimits`].

mod account;
mod adjust;
mod admission;
mod blocks;
mod config;
mod config_error;
mod custom;
mod custom_calls;
mod drop_copy;
mod engine;
mod exposure;
mod finalize;
mod groups;
mod holding;
mod image;
mod instruments;
mod live;
mod main_stage;
mod market;
mod meter;
mod order_table;
mod pnl_sum;
mod policies;
mod position;
mod profile;
mod quarantine;
mod recent_fills;
mod rejects;
mod replace;
mod report;
mod retire;
mod rule;
mod seat;
mod seats;
mod settings;
mod shared;
mod shared_sum;
mod shared_window;
mod sync;
mod table;
mod token;
mod value;
mod window;

pub use adjust::{AdjustError, Adjustment, BalanceField, Change};
pub use admission::ExecuteError;
pub use blocks::{Block, BlockError};
pub use config::{
    AccountConfig, AssetRef, InstrumentConfig, InstrumentRef, RiskConfig, UnknownAccounts,
};
pub use config_error::ConfigError;
pub use custom::{FinalizeFailed, Mutation, OrderContext, Policy, RiskEvent, Verdict};
pub use drop_copy::{DropCopy, DropCopyChange};
pub use engine::RiskEngine;
pub use finalize::Reservation;
pub use groups::LookupError;
pub use holding::Balance;
pub use image::{AccountImage, HoldImage, RestoreError};
pub use market::{Quote, QuoteTarget};
pub use quarantine::QuarantinedLeg;
pub use rejects::{PolicyId, Reject, Rejects};
pub use report::{Alarms, ExecutionReport, ReportOutcome};
pub use retire::RetireError;
pub use seat::Seat;
pub use settings::{
    CollarRule, CreditRule, CreditScope, CreditSettings, DuplicateSettings, FundsMode, FundsRule,
    FundsSettings, OpenOrdersRule, PnlRule, PnlScope, PnlSettings, PositionRule, Pricing, RateRule,
    RateScope, RateSubject, RepeatedRule, RestrictedRule, Restriction, SelfMatchAction,
    SelfMatchScope, SelfMatchSettings, SizeRule, ValidationSettings,
};
pub use shared::SharedLimits;
pub use shared_sum::SharedSum;
pub use shared_window::SharedWindow;
pub use token::{RequestToken, ReservationToken, TokenError};
