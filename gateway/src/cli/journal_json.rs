//! A journal's records as JSON: amounts as exact decimal text, absent fields
//! left out.

use pitlane::journal::RecordView;
use pitlane::shard::record::{
    AccountRecord, DecisionRecord, Effect, HoldRecord, HoldStanding, OrderRecord, OrderStanding,
    ToldKind, ToldOutcome, ToldRecord, decode,
};
use pitlane::types::{Amount, Price, Quantity, Report, ReportKind};
use serde_json::{Map, Value, json};

/// One record; one that cannot be understood says why, and shows its bytes.
pub(super) fn object(record: &RecordView<'_>) -> Value {
    let mut fields = Map::new();
    fields.insert("sequence".into(), json!(record.sequence));
    fields.insert("group".into(), json!(record.group));
    fields.insert("wall_ns".into(), json!(record.wall.0));
    fields.insert("segment".into(), json!(record.segment));
    fields.insert("offset".into(), json!(record.offset));
    let (kind, content) = match decode(record.kind, record.version, record.body) {
        Ok(Effect::Order(order)) => ("order", order_fields(&order)),
        Ok(Effect::Account(account)) => ("account", account_fields(&account)),
        Ok(Effect::Report(report)) => ("report", report_fields(&report)),
        Ok(Effect::Block(block)) => (
            "block",
            json!({
                "account": block.account,
                "cause": block.cause.map(|cause| cause.name()),
            }),
        ),
        Ok(Effect::Decision(decision)) => ("decision", decision_fields(&decision)),
        Ok(Effect::Hold(hold)) => ("hold", hold_fields(&hold)),
        Ok(Effect::Told(told)) => ("told", told_fields(&told)),
        Ok(Effect::Config(config)) => (
            "config",
            json!({"program": config.program.as_str(), "digest": hex(&config.digest)}),
        ),
        Ok(Effect::Adjustment(one)) => (
            "adjustment",
            json!({
                "account": one.account,
                "asset": one.asset,
                "adjusts": "opening",
                "amount": text(one.amount),
            }),
        ),
        Ok(_) => ("newer", json!({})),
        Err(error) => (
            "unknown",
            json!({
                "number": record.kind.0,
                "version": record.version,
                "error": error.to_string(),
                "bytes": hex(record.body),
            }),
        ),
    };
    fields.insert("kind".into(), json!(kind));
    if let Value::Object(content) = content {
        fields.extend(content.into_iter().filter(|(_, value)| !value.is_null()));
    }
    Value::Object(fields)
}

fn order_fields(record: &OrderRecord) -> Value {
    let order = &record.order;
    let standing = match record.standing {
        OrderStanding::Open => "open",
        OrderStanding::Filled => "filled",
        OrderStanding::Canceled => "canceled",
        OrderStanding::Rejected => "rejected",
    };
    let after = record.replacing.map(|replace| replace.after);
    let hold = &record.hold;
    let is_open = record.standing == OrderStanding::Open;
    let held = |raw: i128| is_open.then(|| text(Amount::from_raw(raw)));
    json!({
        "client_order_id": record.id.to_string(),
        "standing": standing,
        "credential": record.origin.credential,
        "reference": record.reference,
        "account": order.account,
        "instrument": order.instrument,
        "side": order.side,
        "order_type": order.order_type,
        "time_in_force": order.time_in_force,
        "quantity": order.quantity.map(text),
        "volume": order.volume.map(text),
        "price": order.price.map(text),
        "cumulative": text(record.cumulative),
        "replace_price": after.and_then(|after| after.price).map(text),
        "replace_quantity": after.and_then(|after| after.quantity).map(text),
        "cancel_asked": record.cancelling.map(|_| true),
        "held_settlement": held(hold.settlement),
        "held_base": held(hold.base),
        "lock_price": is_open.then(|| text(Price::from_raw(hold.lock_price))),
    })
}

fn account_fields(record: &AccountRecord) -> Value {
    let image = &record.image;
    // Positions have the decimals of a quantity, in a wider integer.
    let position = i64::try_from(image.net).map_or_else(
        |_| format!("{}e-9", image.net),
        |net| text(Quantity::from_raw(net)),
    );
    json!({
        "account": image.account,
        "instrument": image.instrument,
        "base": image.base,
        "base_available": text(image.of_base.available),
        "base_held": text(image.of_base.held),
        "base_incoming": text(image.of_base.incoming),
        "settlement": image.settlement,
        "settlement_available": text(image.of_settlement.available),
        "settlement_held": text(image.of_settlement.held),
        "settlement_incoming": text(image.of_settlement.incoming),
        "position": position,
        "last_price": text(Price::from_raw(image.last_price)),
        "pnl": text(Amount::from_raw(image.pnl)),
        "credit": text(Amount::from_raw(image.credit)),
    })
}

/// As it was signed, with the hold's number.
fn decision_fields(record: &DecisionRecord) -> Value {
    let mut fields = serde_json::to_value(record.decision.to_json()).unwrap_or_default();
    if let Value::Object(fields) = &mut fields {
        fields.insert("hold".into(), json!(record.number));
        fields.insert("due_ns".into(), json!(record.due_at.0));
    }
    fields
}

fn hold_fields(record: &HoldRecord) -> Value {
    let standing = match record.standing {
        HoldStanding::Given => "given",
        HoldStanding::Brought => "brought",
        HoldStanding::Ended => "ended",
    };
    let hold = &record.hold;
    let is_open = record.standing != HoldStanding::Ended;
    let held = |raw: i128| is_open.then(|| text(Amount::from_raw(raw)));
    json!({
        "hold": record.number,
        "standing": standing,
        "held_settlement": held(hold.settlement),
        "held_base": held(hold.base),
        "lock_price": is_open.then(|| text(Price::from_raw(hold.lock_price))),
        "filled": is_open.then(|| text(Quantity::from_raw(hold.filled))),
    })
}

fn told_fields(record: &ToldRecord) -> Value {
    let message = match record.kind {
        ToldKind::Execution => "execution",
        ToldKind::Release => "release",
        ToldKind::Reversal => "reversal",
    };
    let outcome = match record.outcome {
        ToldOutcome::Settled => "settled",
        ToldOutcome::NoHold => "no_hold",
        ToldOutcome::Repeated => "repeated",
        ToldOutcome::SetAside => "set_aside",
    };
    let trades = record.kind != ToldKind::Release;
    json!({
        "stream": record.stream,
        "message": record.sequence,
        "told": message,
        "outcome": outcome,
        "ends": record.ends,
        "account": record.account,
        "instrument": record.instrument,
        "side": record.side,
        "client_order_id": record.client_order_id.to_string(),
        "venue": trades.then(|| record.venue.as_str()),
        "fill_id": trades.then_some(record.fill_id),
        "price": trades.then(|| text(record.price)),
        "quantity": trades.then(|| text(record.quantity)),
        "fee": trades.then(|| text(record.fee)),
    })
}

/// The name of a report's kind.
pub(super) const fn kind_name(kind: ReportKind) -> &'static str {
    match kind {
        ReportKind::Accepted => "accepted",
        ReportKind::Rejected => "rejected",
        ReportKind::Executed => "executed",
        ReportKind::Canceled => "canceled",
        ReportKind::Replaced => "replaced",
        ReportKind::CancelRejected => "cancel_rejected",
    }
}

fn report_fields(report: &Report) -> Value {
    let fill = (report.kind == ReportKind::Executed).then_some(report.fill_id);
    json!({
        "report": kind_name(report.kind),
        "number": report.sequence,
        "credential": report.origin.credential,
        "account": report.account,
        "instrument": report.instrument,
        "side": report.side,
        "reference": report.reference,
        "order_reference": report.order_reference,
        "client_order_id": report.client_order_id.to_string(),
        "code": report.reject.map(|(code, _)| code.name()),
        "fill_id": fill,
        "price": text(report.price),
        "quantity": text(report.quantity),
        "cumulative": text(report.cumulative),
        "leaves": text(report.leaves),
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map")]
fn text(value: impl ToString) -> String {
    value.to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
