//! Pre-trade risk: what an order must pass before it may be sent, and what
//! its account has left (rules K1 to K39).
//!
//! One [`RiskEngine`] per shard, owned by its worker: no lock, no allocation
//! per order. What spans shards is in [`SharedLimits`].

#![allow(dead_code)] // Until the main-stage policies, which follow, use it.

mod account;
mod admission;
mod config;
mod config_error;
mod engine;
mod finalize;
mod instruments;
mod meter;
mod order_table;
mod policies;
mod profile;
mod rejects;
mod replace;
mod report;
mod settings;
mod shared;
mod shared_window;
mod sync;
mod table;
mod token;
mod window;

pub use admission::ExecuteError;
pub use config::{
    AccountConfig, AssetRef, InstrumentConfig, InstrumentRef, RiskConfig, UnknownAccounts,
};
pub use config_error::ConfigError;
pub use engine::RiskEngine;
pub use finalize::Reservation;
pub use rejects::{PolicyId, Reject, Rejects};
pub use report::{Alarms, ExecutionReport, ReportOutcome};
pub use settings::{
    CollarRule, CreditRule, CreditScope, CreditSettings, DuplicateSettings, FundsMode, FundsRule,
    FundsSettings, OpenOrdersRule, PnlRule, PnlScope, PnlSettings, PositionRule, Pricing, RateRule,
    RateScope, RateSubject, RepeatedRule, RestrictedRule, Restriction, SelfMatchAction,
    SelfMatchScope, SelfMatchSettings, SizeRule, ValidationSettings,
};
pub use shared::SharedLimits;
pub use shared_window::SharedWindow;
pub use token::{RequestToken, ReservationToken, TokenError};
