//! Runs a scenario's rows and judges each by what it expects.

use std::path::Path;
use std::sync::Arc;

use pitlane::risk::{
    Adjustment, AssetRef, Change, ExecutionReport, InstrumentConfig, Quote, QuoteTarget, Rejects,
    RiskEngine, SharedLimits,
};
use pitlane::time::Nanos;
use pitlane::types::{Order, OrderType, Price, Quantity, RejectCode, ShardId};

use super::ScenarioError;
use super::book::OpenOrders;
use super::front_matter::{self, FrontMatter};
use super::names::{Names, split};
use super::row::{Action, Row};
use super::table;

/// What became of one row.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RowResult {
    /// The file, as it was named.
    pub file: String,
    /// Which row of the file's tables, from 1.
    pub row: usize,
    /// As in the table.
    pub account: String,
    /// As in the table, in capitals.
    pub action: String,
    /// `OK`, `ACCEPT` or `REJECT`, with the code where the table has one.
    pub expected: String,
    /// `ACCEPT` for an order that passed, `OK` for another row that did,
    /// `REJECT`.
    pub got: String,
    /// Why it was rejected; the wanted one where it is among several.
    pub code: Option<String>,
    /// Whether the row did what it expected.
    pub ok: bool,
}

/// What an account has at the end.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct BalanceLine {
    /// As in the table.
    pub account: String,
    /// As in the table.
    pub asset: String,
    /// Plain decimal text.
    pub available: String,
    /// Plain decimal text.
    pub held: String,
    /// Plain decimal text.
    pub incoming: String,
}

/// A scenario that was run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The scenario's name; empty where it has none.
    pub name: String,
    /// Every row, in the order of the file.
    pub rows: Vec<RowResult>,
    /// Every balance that is not zero in all three, by account and asset.
    pub balances: Vec<BalanceLine>,
    /// What in the front matter means nothing.
    pub warnings: Vec<String>,
}

impl Outcome {
    /// Whether every row did what it expected.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.rows.iter().all(|row| row.ok)
    }
}

/// Reads, runs and judges a file.
///
/// # Errors
/// The file cannot be read; no row was judged.
pub fn run_file(path: &Path) -> Result<Outcome, ScenarioError> {
    let text = std::fs::read_to_string(path).map_err(|source| ScenarioError::Read {
        path: path.to_owned(),
        source,
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    run_text(&text, &path.display().to_string(), folder)
}

/// Runs a scenario's text; `folder` is where its policies' file is looked for.
///
/// # Errors
/// The text cannot be read; no row was judged.
pub fn run_text(text: &str, file: &str, folder: &Path) -> Result<Outcome, ScenarioError> {
    let mut names = Names::default();
    let (front, tables, first_line) = front_matter::read(text, folder, &mut names)?;
    configured_instruments(&front, &mut names);
    let cells = table::rows(tables, first_line)?;
    let rows = cells
        .iter()
        .map(|cells| Row::read(cells, &mut names))
        .collect::<Result<Vec<_>, _>>()?;
    let mut run = Run::new(front, names)?;
    for row in rows.iter().filter(|row| row.action == Action::Group) {
        run.group(row)?;
    }
    let mut results = Vec::with_capacity(rows.len());
    for (number, row) in rows.iter().enumerate() {
        let got = run.row(row)?;
        results.push(judge(file, number + 1, row, &got));
    }
    Ok(Outcome {
        balances: run.balances(),
        name: run.name,
        rows: results,
        warnings: run.warnings,
    })
}

/// Instruments of the policies' file keep their names and numbers.
fn configured_instruments(front: &FrontMatter, names: &mut Names) {
    for entry in &front.config.instruments {
        let asset = |asset: &AssetRef| match asset {
            AssetRef::Name(name) => name.clone(),
            AssetRef::Id(id) => names.asset_name(*id),
        };
        let name = entry
            .name
            .clone()
            .unwrap_or_else(|| format!("{}/{}", asset(&entry.base), asset(&entry.settlement)));
        names.instruments.insert(name, entry.id);
    }
}

fn judge(file: &str, number: usize, row: &Row, got: &Result<(), Vec<RejectCode>>) -> RowResult {
    let is_order = matches!(row.action, Action::Order | Action::DropCopy);
    let wanted = |code: &&RejectCode| code.name().eq_ignore_ascii_case(&row.reject);
    let (text, code, ok) = match got {
        Ok(()) => (
            if is_order { "ACCEPT" } else { "OK" },
            None,
            row.expect_accept,
        ),
        Err(codes) => {
            let found = codes.iter().find(wanted);
            let ok = !row.expect_accept && (row.reject.is_empty() || found.is_some());
            ("REJECT", found.or(codes.first()).copied(), ok)
        }
    };
    let expected = match (row.expect_text.as_str(), row.reject.as_str()) {
        ("", _) => "OK".to_owned(),
        (expect, "") => expect.to_owned(),
        (expect, reject) => format!("{expect} {reject}"),
    };
    RowResult {
        file: file.to_owned(),
        row: number,
        account: row.account_name.clone(),
        action: row.action_name.to_owned(),
        expected,
        got: text.to_owned(),
        code: code.map(|code| code.name().to_owned()),
        ok,
    }
}

struct Run {
    name: String,
    warnings: Vec<String>,
    names: Names,
    engine: RiskEngine,
    open: OpenOrders,
    now: Nanos,
}

type Got = Result<(), Vec<RejectCode>>;

fn codes(rejects: &Rejects) -> Vec<RejectCode> {
    rejects.iter().map(|reject| reject.code).collect()
}

impl Run {
    fn new(front: FrontMatter, names: Names) -> Result<Self, ScenarioError> {
        let mut config = front.config;
        let settings = |error: String| ScenarioError::Settings(error);
        for (name, id) in &names.assets {
            config.assets.insert(name.clone(), *id);
        }
        for (name, id) in &names.instruments {
            if config.instruments.iter().any(|entry| entry.id == *id) {
                continue;
            }
            let Some((base, settlement)) = split(name) else {
                continue;
            };
            config.instruments.push(InstrumentConfig {
                id: *id,
                name: Some(name.clone()),
                base: base.into(),
                settlement: settlement.into(),
                allow_non_positive_price: false,
            });
        }
        let shared = SharedLimits::new(&config).map_err(|error| settings(error.to_string()))?;
        let mut engine = RiskEngine::new(&config, ShardId(0), Arc::new(shared))
            .map_err(|error| settings(error.to_string()))?;
        for account in names.accounts() {
            engine
                .open_account(account)
                .map_err(|rejects| settings(rejects.to_string()))?;
        }
        Ok(Self {
            name: front.name,
            warnings: front.warnings,
            names,
            engine,
            open: OpenOrders::default(),
            now: Nanos(0),
        })
    }

    fn group(&mut self, row: &Row) -> Result<(), ScenarioError> {
        let account = row.need(row.account, "an account")?;
        let group = row.need(row.group, "a group")?;
        self.engine
            .register(account, group)
            .map_err(|error| ScenarioError::text(row.line, error.to_string()))
    }

    fn row(&mut self, row: &Row) -> Result<Got, ScenarioError> {
        let got = match row.action {
            // Applied before all else.
            Action::Group => Ok(()),
            Action::Seed | Action::Adjust => return self.adjust(row),
            Action::Tick => return self.tick(row),
            Action::Order | Action::DropCopy => return self.order(row),
            Action::Fill => return self.fill(row),
            Action::Cancel => return self.cancel(row),
            Action::Block | Action::Unblock => return self.block(row),
            Action::UnblockAll => {
                self.engine.unblock_all();
                Ok(())
            }
            Action::Retire => {
                let account = row.need(row.account, "an account")?;
                self.engine
                    .retire(account)
                    .map_err(|_| vec![RejectCode::Other])
            }
            Action::Advance => {
                self.now = Nanos(self.now.0.saturating_add(row.advance_ns));
                Ok(())
            }
        };
        Ok(got)
    }

    fn adjust(&mut self, row: &Row) -> Result<Got, ScenarioError> {
        let account = row.need(row.account, "an account")?;
        let asset = row.need(row.asset, "an asset")?;
        let amount = row.need(row.amount, "an amount")?;
        let change = match row.action {
            Action::Seed => Change::Absolute(amount),
            _ => Change::Delta(amount),
        };
        let batch = [Adjustment::available(asset, change)];
        Ok(self
            .engine
            .adjust(account, &batch)
            .map_err(|error| vec![error.code]))
    }

    fn tick(&mut self, row: &Row) -> Result<Got, ScenarioError> {
        let instrument = row.need(row.instrument, "an instrument")?;
        let price = row.need(row.price, "a price")?;
        let quote = Quote {
            mark: Some(price),
            bid: Some(price),
            ask: Some(price),
        };
        let target = match (row.account, row.group) {
            (Some(account), _) => QuoteTarget::Account(account),
            (None, Some(group)) => QuoteTarget::Group(group),
            (None, None) => QuoteTarget::All,
        };
        Ok(self
            .engine
            .set_quote(target, instrument, quote, self.now)
            .map_err(|_| vec![RejectCode::UnknownInstrument]))
    }

    fn order(&mut self, row: &Row) -> Result<Got, ScenarioError> {
        let order = Order {
            account: row.need(row.account, "an account")?,
            instrument: row.need(row.instrument, "an instrument")?,
            side: row.need(row.side, "a side")?,
            order_type: row.order_type.unwrap_or(if row.price.is_some() {
                OrderType::Limit
            } else {
                OrderType::Market
            }),
            time_in_force: row.tif,
            quantity: row.qty,
            volume: row.volume,
            price: row.price,
        };
        let verdict = if row.action == Action::DropCopy {
            self.engine
                .apply_drop_copy(&order, self.now)
                .map(|copy| copy.token)
        } else {
            self.engine.execute_pre_trade(&order, self.now)
        };
        let token = match verdict {
            Ok(token) => token,
            Err(rejects) => return Ok(Err(codes(&rejects))),
        };
        // The reservation was made in the line before.
        if self.engine.commit(token).is_ok() {
            self.open.add(&row.id, token, &order);
        }
        Ok(Ok(()))
    }

    fn fill(&mut self, row: &Row) -> Result<Got, ScenarioError> {
        let account = row.need(row.account, "an account")?;
        let at = self.open.find(row);
        let open = at.map(|at| self.open.get_mut(at).clone());
        let instrument = row
            .instrument
            .or(open.as_ref().map(|open| open.order.instrument));
        let side = row.side.or(open.as_ref().map(|open| open.order.side));
        let quantity = row.qty.unwrap_or(Quantity::ZERO);
        let price = if quantity.is_zero() {
            Price::ZERO
        } else {
            row.need(row.price, "a price")?
        };
        let report = ExecutionReport {
            token: open.as_ref().map(|open| open.token),
            account,
            instrument: row.need(instrument, "an instrument")?,
            side: row.need(side, "a side")?,
            fill_id: None,
            price,
            quantity,
            fee: row.fee,
            fee_asset: row.fee_asset.or(row.asset),
            pnl: row.pnl,
            is_final: row.is_final,
        };
        let mut got = self.report(&report);
        let left = open
            .as_ref()
            .and_then(|open| open.left.checked_sub(quantity))
            .unwrap_or(Quantity::ZERO);
        if got.is_ok() && row.leaves.is_some_and(|leaves| leaves != left) {
            // The trade is booked; the table's figure is not ours.
            got = Err(vec![RejectCode::InvalidFieldValue]);
        }
        if let Some(at) = at {
            if row.is_final {
                self.open.remove(at);
            } else {
                self.open.get_mut(at).left = left;
            }
        }
        Ok(got)
    }

    /// A report is booked whatever it says; it is a reject when it blocked.
    fn report(&mut self, report: &ExecutionReport) -> Got {
        match self.engine.apply_execution_report(report, self.now) {
            Ok(outcome) => match outcome.blocked {
                None => Ok(()),
                Some(cause) => Err(vec![cause]),
            },
            Err(_) => Err(vec![RejectCode::UnknownOrder]),
        }
    }

    fn cancel(&mut self, row: &Row) -> Result<Got, ScenarioError> {
        let account = row.need(row.account, "an account")?;
        if let Err(rejects) = self.engine.allow_cancel(account, self.now) {
            return Ok(Err(codes(&rejects)));
        }
        let Some(at) = self.open.find(row) else {
            return Ok(Err(vec![RejectCode::UnknownOrder]));
        };
        let open = self.open.remove(at);
        Ok(self.report(&ExecutionReport {
            token: Some(open.token),
            account,
            instrument: open.order.instrument,
            side: open.order.side,
            fill_id: None,
            price: Price::ZERO,
            quantity: Quantity::ZERO,
            fee: row.fee,
            fee_asset: row.fee_asset.or(row.asset),
            pnl: row.pnl,
            is_final: true,
        }))
    }

    fn block(&mut self, row: &Row) -> Result<Got, ScenarioError> {
        let blocks = row.action == Action::Block;
        let cause = RejectCode::AccountBlocked;
        match (row.account, row.group) {
            (Some(account), _) => {
                let done = if blocks {
                    self.engine.block_account(account, cause)
                } else {
                    self.engine.unblock_account(account)
                };
                return Ok(done.map_err(|_| vec![RejectCode::UnknownAccount]));
            }
            (None, Some(group)) if blocks => self.engine.block_group(group, cause),
            (None, Some(group)) => self.engine.unblock_group(group),
            (None, None) if blocks => self.engine.block_all(cause),
            (None, None) => {
                return Err(ScenarioError::text(
                    row.line,
                    "UNBLOCK needs an account or a group; UNBLOCK_ALL clears everything",
                ));
            }
        }
        Ok(Ok(()))
    }

    fn balances(&self) -> Vec<BalanceLine> {
        let mut lines: Vec<BalanceLine> = self
            .engine
            .balances()
            .into_iter()
            .map(|(account, asset, balance)| BalanceLine {
                account: self.names.account_name(account),
                asset: self.names.asset_name(asset),
                available: balance.available.to_string(),
                held: balance.held.to_string(),
                incoming: balance.incoming.to_string(),
            })
            .collect();
        lines.sort_by(|one, other| (&one.account, &one.asset).cmp(&(&other.account, &other.asset)));
        lines
    }
}
