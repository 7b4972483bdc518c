//! A record's rows.

use pitlane::journal::RecordView;
use pitlane::orders::decision::Verdict;
use pitlane::shard::record::{
    AccountRecord, AdjustmentRecord, BlockRecord, ConfigRecord, DecisionRecord, Effect,
    OrderRecord, OrderStanding, ToldKind, ToldOutcome, ToldRecord, decode,
};
use pitlane::types::{
    ClientOrderId, OrderType, Price, Quantity, Report, ReportKind, Side, TimeInForce,
};
use rusqlite::{Connection, Result, params};

/// Where a row is from.
struct From {
    shard: u16,
    sequence: i64,
    at: i64,
}

/// Writes what a record tells. A record that this program does not know has no
/// row: the shard that wrote it would have been refused before.
pub(super) fn write(file: &Connection, shard: u16, record: &RecordView<'_>) -> Result<()> {
    let from = From {
        shard,
        sequence: record.sequence.cast_signed(),
        at: record.wall.0.cast_signed(),
    };
    match decode(record.kind, record.version, record.body) {
        Ok(Effect::Order(order)) => order_row(file, &from, &order),
        Ok(Effect::Account(account)) => balance_row(file, &from, &account),
        Ok(Effect::Report(report)) => report_row(file, &from, &report),
        Ok(Effect::Block(block)) => block_row(file, &from, &block),
        Ok(Effect::Told(told)) => told_row(file, &from, &told),
        Ok(Effect::Decision(decision)) => decision_row(file, &from, &decision),
        Ok(Effect::Config(config)) => config_row(file, &from, &config),
        Ok(Effect::Adjustment(one)) => adjustment_row(file, &from, &one),
        // A decision's hold is in the balances.
        Ok(_) | Err(_) => Ok(()),
    }
}

fn order_row(file: &Connection, from: &From, record: &OrderRecord) -> Result<()> {
    let order = &record.order;
    let state = match record.standing {
        OrderStanding::Open => "open",
        OrderStanding::Filled => "filled",
        OrderStanding::Canceled => "canceled",
        OrderStanding::Rejected => "rejected",
    };
    file.prepare_cached(
        "INSERT INTO orders VALUES
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?15, ?16)
         ON CONFLICT (client_order_id) DO UPDATE SET quantity_e9 = ?8, volume = ?9,
             price_e9 = ?10, filled_e9 = ?11, state = ?12, changed_ns = ?15, sequence = ?16",
    )?
    .execute(params![
        record.id.to_string(),
        from.shard,
        order.account.0.cast_signed(),
        order.instrument.0,
        side(order.side),
        order_type(order.order_type),
        time_in_force(order.time_in_force),
        order.quantity.map(Quantity::raw),
        order.volume.map(|volume| volume.to_string()),
        order.price.map(Price::raw),
        record.cumulative.raw(),
        state,
        record.origin.credential,
        record.reference.0.cast_signed(),
        from.at,
        from.sequence,
    ])?;
    Ok(())
}

fn balance_row(file: &Connection, from: &From, record: &AccountRecord) -> Result<()> {
    let image = &record.image;
    // Positions have the decimals of a quantity, in a wider integer.
    let position = i64::try_from(image.net).map_or_else(
        |_| format!("{}e-9", image.net),
        |net| Quantity::from_raw(net).to_string(),
    );
    file.prepare_cached(
        "INSERT OR REPLACE INTO balances VALUES
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        image.account.0.cast_signed(),
        image.instrument.0,
        image.base.0,
        image.of_base.available.to_string(),
        image.of_base.held.to_string(),
        image.settlement.0,
        image.of_settlement.available.to_string(),
        image.of_settlement.held.to_string(),
        position,
        image.pnl.to_string(),
        from.at,
        from.shard,
        from.sequence,
    ])?;
    Ok(())
}

fn report_row(file: &Connection, from: &From, report: &Report) -> Result<()> {
    let is_fill = report.kind == ReportKind::Executed;
    file.prepare_cached(
        "INSERT OR REPLACE INTO reports VALUES
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
    )?
    .execute(params![
        from.shard,
        from.sequence,
        from.at,
        report_kind(report.kind),
        report.origin.credential,
        report.sequence.cast_signed(),
        report.account.0.cast_signed(),
        report.instrument.0,
        side(report.side),
        report.reference.0.cast_signed(),
        report.order_reference.0.cast_signed(),
        identity(report.client_order_id),
        report.reject.map(|(code, _)| code.name()),
        is_fill.then(|| report.fill_id.0.cast_signed()),
        report.price.raw(),
        report.quantity.raw(),
        report.cumulative.raw(),
        report.leaves.raw(),
    ])?;
    if is_fill {
        fill_row(file, from, report)?;
    }
    Ok(())
}

const FILL: &str = "INSERT OR REPLACE INTO fills VALUES
     (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

/// A fill at the shard's own venue, which has no name and takes no fee.
fn fill_row(file: &Connection, from: &From, report: &Report) -> Result<()> {
    file.prepare_cached(FILL)?.execute(params![
        from.shard,
        from.sequence,
        from.at,
        "",
        report.fill_id.0.cast_signed(),
        report.client_order_id.to_string(),
        report.account.0.cast_signed(),
        report.instrument.0,
        side(report.side),
        report.price.raw(),
        report.quantity.raw(),
        "0",
        "settled",
    ])?;
    Ok(())
}

/// A fill that an executor told, or one that its venue has taken back.
fn told_row(file: &Connection, from: &From, told: &ToldRecord) -> Result<()> {
    let outcome = match (told.kind, told.outcome) {
        (ToldKind::Release, _) | (_, ToldOutcome::Repeated) => return Ok(()),
        (ToldKind::Reversal, ToldOutcome::Settled | ToldOutcome::NoHold) => "reversed",
        (ToldKind::Execution, ToldOutcome::Settled) => "settled",
        (ToldKind::Execution, ToldOutcome::NoHold) => "no_hold",
        (_, ToldOutcome::SetAside) => "set_aside",
    };
    file.prepare_cached(FILL)?.execute(params![
        from.shard,
        from.sequence,
        from.at,
        told.venue.as_str(),
        told.fill_id.0.cast_signed(),
        told.client_order_id.to_string(),
        told.account.map(|account| account.0.cast_signed()),
        told.instrument.map(|instrument| instrument.0),
        told.side.map(side),
        told.price.raw(),
        told.quantity.raw(),
        told.fee.to_string(),
        outcome,
    ])?;
    Ok(())
}

fn block_row(file: &Connection, from: &From, block: &BlockRecord) -> Result<()> {
    // A group repeats an account's block whenever the account changes.
    let same: bool = file
        .prepare_cached(
            "SELECT cause IS ?3 FROM blocks WHERE shard = ?1 AND account IS ?2
             ORDER BY sequence DESC LIMIT 1",
        )?
        .query_map(
            params![
                from.shard,
                block.account.map(|account| account.0.cast_signed()),
                block.cause.map(|cause| cause.name())
            ],
            |row| row.get(0),
        )?
        .next()
        .unwrap_or(Ok(false))?;
    if same {
        return Ok(());
    }
    file.prepare_cached("INSERT OR REPLACE INTO blocks VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![
            from.shard,
            from.sequence,
            from.at,
            block.account.map(|account| account.0.cast_signed()),
            block.cause.map(|cause| cause.name()),
        ])?;
    Ok(())
}

fn decision_row(file: &Connection, from: &From, record: &DecisionRecord) -> Result<()> {
    let decision = &record.decision;
    let Some(grant) = &decision.grant else {
        return Ok(());
    };
    let verdict = match decision.verdict {
        Verdict::Allow => "allow",
        Verdict::Reduce => "reduce",
        _ => "other",
    };
    file.prepare_cached(
        "INSERT OR REPLACE INTO decisions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        grant.client_order_id.to_string(),
        decision.decision_id,
        decision.agent_id,
        decision.account_id.0.cast_signed(),
        verdict,
        decision.issued_at.0.cast_signed(),
        decision.expires_at.0.cast_signed(),
        from.shard,
        from.sequence,
    ])?;
    Ok(())
}

fn config_row(file: &Connection, from: &From, config: &ConfigRecord) -> Result<()> {
    let digest: String = config
        .digest
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    file.prepare_cached("INSERT OR REPLACE INTO config_changes VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![
            from.shard,
            from.sequence,
            from.at,
            config.program.as_str(),
            digest,
        ])?;
    Ok(())
}

fn adjustment_row(file: &Connection, from: &From, one: &AdjustmentRecord) -> Result<()> {
    file.prepare_cached("INSERT OR REPLACE INTO adjustments VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
        .execute(params![
            from.shard,
            from.sequence,
            from.at,
            one.account.0.cast_signed(),
            one.asset.0,
            "opening",
            one.amount.to_string(),
        ])?;
    Ok(())
}

/// A refusal has no order.
fn identity(id: ClientOrderId) -> Option<String> {
    (id != ClientOrderId::default()).then(|| id.to_string())
}

const fn side(side: Side) -> &'static str {
    match side {
        Side::Buy => "buy",
        Side::Sell => "sell",
    }
}

const fn order_type(order_type: OrderType) -> &'static str {
    match order_type {
        OrderType::Market => "market",
        OrderType::Limit => "limit",
        OrderType::Stop => "stop",
        OrderType::StopLimit => "stop_limit",
        OrderType::PostOnly => "post_only",
    }
}

const fn time_in_force(time: TimeInForce) -> &'static str {
    match time {
        TimeInForce::Day => "day",
        TimeInForce::GoodTillCancel => "good_till_cancel",
        TimeInForce::ImmediateOrCancel => "immediate_or_cancel",
        TimeInForce::FillOrKill => "fill_or_kill",
        TimeInForce::GoodTillDate => "good_till_date",
    }
}

const fn report_kind(kind: ReportKind) -> &'static str {
    match kind {
        ReportKind::Accepted => "accepted",
        ReportKind::Rejected => "rejected",
        ReportKind::Executed => "executed",
        ReportKind::Canceled => "canceled",
        ReportKind::Replaced => "replaced",
        ReportKind::CancelRejected => "cancel_rejected",
    }
}
