//! What crosses boundaries: ids, fixed-point money, orders, reports, rejects.

mod command;
mod decimal;
mod decimal_text;
mod division;
mod ids;
mod money;
mod money_serde;
mod order;
mod reject;
mod report;

pub use command::Command;
pub use decimal::ConvertError;
pub use decimal_text::{ParseError, ParseErrorKind};
pub use division::{Division, DivisionError, Rounding};
pub use ids::{
    AccountId, AssetId, ClientOrderId, ClientReference, FillId, GroupId, InstrumentId, ShardId,
};
pub use money::{AMOUNT_SCALE, Amount, PRICE_SCALE, Price, Quantity};
pub use order::{Order, OrderType, Side, TimeInForce};
pub use reject::{RejectCode, RejectScope};
pub use report::{Origin, Report, ReportKind};
