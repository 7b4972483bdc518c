//! One row, read: what is to be done, and what must come of it.

use pitlane::types::{
    AccountId, Amount, AssetId, GroupId, InstrumentId, OrderType, Price, Quantity, Side,
    TimeInForce,
};

use super::ScenarioError;
use super::names::Names;
use super::table::Cells;

/// What a row does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Seed,
    Group,
    Tick,
    Order,
    Fill,
    Cancel,
    Adjust,
    Block,
    Unblock,
    UnblockAll,
    DropCopy,
    Retire,
    Advance,
}

const ACTIONS: [(&str, Action); 13] = [
    ("SEED", Action::Seed),
    ("GROUP", Action::Group),
    ("TICK", Action::Tick),
    ("ORDER", Action::Order),
    ("FILL", Action::Fill),
    ("CANCEL", Action::Cancel),
    ("ADJUST", Action::Adjust),
    ("BLOCK", Action::Block),
    ("UNBLOCK", Action::Unblock),
    ("UNBLOCK_ALL", Action::UnblockAll),
    ("DROPCOPY", Action::DropCopy),
    ("RETIRE", Action::Retire),
    ("ADVANCE", Action::Advance),
];

/// A row, with its names found and its numbers read.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) action: Action,
    pub(super) action_name: &'static str,
    pub(super) account_name: String,
    pub(super) account: Option<AccountId>,
    pub(super) group: Option<GroupId>,
    pub(super) instrument: Option<InstrumentId>,
    pub(super) side: Option<Side>,
    pub(super) qty: Option<Quantity>,
    pub(super) volume: Option<Amount>,
    pub(super) price: Option<Price>,
    pub(super) asset: Option<AssetId>,
    pub(super) amount: Option<Amount>,
    pub(super) fee: Amount,
    pub(super) fee_asset: Option<AssetId>,
    pub(super) pnl: Amount,
    pub(super) id: String,
    pub(super) leaves: Option<Quantity>,
    pub(super) is_final: bool,
    pub(super) advance_ns: u64,
    pub(super) tif: TimeInForce,
    pub(super) order_type: Option<OrderType>,
    /// `true` for OK and ACCEPT.
    pub(super) expect_accept: bool,
    pub(super) expect_text: String,
    pub(super) reject: String,
}

impl Row {
    pub(super) fn read(cells: &Cells, names: &mut Names) -> Result<Self, ScenarioError> {
        let line = cells.line;
        let fault = |column: &str, problem: &str| {
            ScenarioError::text(
                line,
                format!("{column} \"{}\": {problem}", cells.get(column)),
            )
        };
        let wanted = cells.get("action").to_uppercase();
        let (action_name, action) = ACTIONS
            .into_iter()
            .find(|(name, _)| *name == wanted)
            .ok_or_else(|| fault("action", "no such action"))?;
        let side = match cells.get("side").to_uppercase().as_str() {
            "" => None,
            "BUY" | "B" => Some(Side::Buy),
            "SELL" | "S" => Some(Side::Sell),
            _ => return Err(fault("side", "BUY or SELL")),
        };
        let group = match cells.get("group") {
            "" => None,
            name => Some(
                names
                    .group(name)
                    .ok_or_else(|| fault("group", "zero is not a group"))?,
            ),
        };
        let instrument = match cells.get("instrument") {
            "" => None,
            name => Some(
                names
                    .instrument(name)
                    .ok_or_else(|| fault("instrument", "write BASE/SETTLEMENT"))?,
            ),
        };
        let (fee, fee_asset) = match cells.get("fee").split_once(' ') {
            Some((fee, asset)) => (fee, Some(names.asset(asset.trim()))),
            None => (cells.get("fee"), None),
        };
        let fee: Option<Amount> = number(line, "fee", fee)?;
        let expect = cells.get("expect").to_uppercase();
        let expect_accept = match expect.as_str() {
            "" | "OK" | "ACCEPT" => true,
            "REJECT" => false,
            _ => return Err(fault("expect", "OK, ACCEPT or REJECT")),
        };
        Ok(Self {
            line,
            action,
            action_name,
            account_name: cells.get("account").to_owned(),
            account: Some(cells.get("account"))
                .filter(|name| !name.is_empty())
                .map(|name| names.account(name)),
            group,
            instrument,
            side,
            qty: number(line, "qty", cells.get("qty"))?,
            volume: number(line, "volume", cells.get("volume"))?,
            price: number(line, "price", cells.get("price"))?,
            asset: Some(cells.get("asset"))
                .filter(|name| !name.is_empty())
                .map(|name| names.asset(name)),
            amount: number(line, "amount", cells.get("amount"))?,
            fee: fee.unwrap_or(Amount::ZERO),
            fee_asset,
            pnl: number(line, "pnl", cells.get("pnl"))?.unwrap_or(Amount::ZERO),
            id: cells.get("id").to_owned(),
            leaves: number(line, "leaves", cells.get("leaves"))?,
            is_final: !matches!(
                cells.get("final").to_lowercase().as_str(),
                "no" | "false" | "n"
            ),
            advance_ns: duration_ns(cells.get("at"))
                .ok_or_else(|| fault("at", "a duration, such as 5, 1.5s or 250ms"))?,
            tif: match cells.get("tif").to_uppercase().as_str() {
                "" | "DAY" => TimeInForce::Day,
                "GTC" => TimeInForce::GoodTillCancel,
                "IOC" => TimeInForce::ImmediateOrCancel,
                "FOK" => TimeInForce::FillOrKill,
                _ => return Err(fault("tif", "DAY, GTC, IOC or FOK")),
            },
            order_type: match cells.get("type").to_uppercase().as_str() {
                "" => None,
                "LIMIT" => Some(OrderType::Limit),
                "MARKET" => Some(OrderType::Market),
                "STOP" => Some(OrderType::Stop),
                "STOP_LIMIT" => Some(OrderType::StopLimit),
                "POST_ONLY" => Some(OrderType::PostOnly),
                _ => {
                    let types = "LIMIT, MARKET, STOP, STOP_LIMIT or POST_ONLY";
                    return Err(fault("type", types));
                }
            },
            expect_accept,
            expect_text: expect,
            reject: cells.get("reject").to_owned(),
        })
    }

    /// What the action cannot do without.
    pub(super) fn need<T: Copy>(&self, value: Option<T>, column: &str) -> Result<T, ScenarioError> {
        value.ok_or_else(|| {
            ScenarioError::text(self.line, format!("{} needs {column}", self.action_name))
        })
    }
}

fn number<T>(line: usize, column: &str, text: &str) -> Result<Option<T>, ScenarioError>
where
    T: core::str::FromStr<Err = pitlane::types::ParseError>,
{
    if text.is_empty() {
        return Ok(None);
    }
    text.parse()
        .map(Some)
        .map_err(|error| ScenarioError::text(line, format!("{column} \"{text}\": {error}")))
}

/// Seconds without a unit; `ns`, `us`, `ms`, `s`, `m`, `h` otherwise.
fn duration_ns(text: &str) -> Option<u64> {
    if text.is_empty() {
        return Some(0);
    }
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit_ns: i128 = match &text[digits.len()..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "" | "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let value: Price = digits.trim().trim_start_matches('+').parse().ok()?;
    u64::try_from(i128::from(value.raw()) * unit_ns / 1_000_000_000).ok()
}
