//! `GET /metrics`: counts in the text form of Prometheus.

use core::fmt::{Display, Write as _};
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::problem::Problem;
use super::router::{SharedDesk, answer};
use crate::control::ExecutorReport;
use crate::server::ServerStats;

pub(super) async fn metrics(State(desk): State<SharedDesk>) -> Result<Response, Problem> {
    let mut page = Page::default();
    if let Some(handle) = &desk.executor {
        let report = answer(handle.report(true)).await?;
        executor(&mut page, &report);
    }
    if let Some(sessions) = &desk.sessions {
        gateway(&mut page, &sessions());
    }
    let turned_away = desk.turned_away.load(Ordering::Relaxed);
    page.counter(
        "http_connections_turned_away",
        "HTTP connections closed at once, for the cap.",
        turned_away,
    );
    let form = HeaderValue::from_static("text/plain; version=0.0.4");
    Ok(([(CONTENT_TYPE, form)], page.0).into_response())
}

/// The page so far.
#[derive(Default)]
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a text cannot fail.
        let _ = writeln!(self.0, "# HELP pitlane_{name} {help}");
        let _ = writeln!(self.0, "# TYPE pitlane_{name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = writeln!(self.0, "pitlane_{name}{labels} {value}");
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        let name = format!("{name}_total");
        self.head(&name, "counter", help);
        self.value(&name, "", value);
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, "gauge", help);
        self.value(name, "", value);
    }
}

fn executor(page: &mut Page, report: &ExecutorReport) {
    page.head("orders", "gauge", "Orders in memory, by state.");
    for (state, count) in &report.orders {
        page.value("orders", &format!("{{state=\"{state}\"}}"), count);
    }
    page.head(
        "venue_up",
        "gauge",
        "Whether the venue could be reached when last tried.",
    );
    for venue in &report.venues {
        // A venue's name needs no escape.
        let labels = format!("{{venue=\"{}\"}}", venue.name);
        page.value("venue_up", &labels, u8::from(venue.up));
    }
    page.gauge(
        "outbox_messages",
        "Messages that wait for the authorizer.",
        report.undelivered,
    );
    page.gauge(
        "open_questions",
        "Orders that only their venue can settle.",
        report.open_questions,
    );
    page.gauge(
        "requests_in_flight",
        "Requests that the executor has taken and not answered.",
        report.in_flight,
    );
    page.gauge(
        "accounts_blocked",
        "Accounts that take no new orders.",
        report.blocked.len(),
    );
    page.gauge(
        "executor_failed",
        "Whether the executor's journal has failed.",
        u8::from(report.failed),
    );
    let counts = &report.counts;
    for (name, help, value) in [
        (
            "illegal_moves",
            "Moves that the table of states does not have.",
            counts.illegal_moves,
        ),
        (
            "late_fills",
            "Fills of orders that were over.",
            counts.late_fills,
        ),
        (
            "overfills",
            "Fills beyond what an order was for.",
            counts.overfills,
        ),
        (
            "external_fills",
            "Fills of nobody's order, set aside.",
            counts.external_fills,
        ),
        (
            "duplicate_fills",
            "Fills that came again.",
            counts.duplicate_fills,
        ),
        (
            "reversals",
            "Fills that the venue took back.",
            counts.reversals,
        ),
        (
            "unanswered",
            "Orders that were unknown for longer than configured.",
            counts.unanswered,
        ),
        ("unknown", "Orders that became unknown.", counts.unknown),
        (
            "foreign_orders",
            "Answers about orders that are none of ours.",
            counts.foreign_orders,
        ),
        (
            "fill_mismatches",
            "Orders of which the venue knows less than was booked.",
            counts.fill_mismatches,
        ),
        ("voided", "Decisions that were voided.", counts.voided),
    ] {
        page.counter(&format!("executor_{name}"), help, value);
    }
}

fn gateway(page: &mut Page, stats: &ServerStats) {
    page.gauge(
        "connections",
        "Connections of binary clients now.",
        stats.connections,
    );
    for (name, help, value) in [
        (
            "connections_accepted",
            "Connections of binary clients.",
            stats.accepted,
        ),
        (
            "connections_turned_away",
            "Closed at once, for a cap.",
            stats.turned_away,
        ),
        (
            "sessions_established",
            "Sessions that logged on.",
            stats.established,
        ),
        (
            "logons_refused",
            "Logons that were refused.",
            stats.logons_refused,
        ),
        ("commands", "Commands handed to the core.", stats.commands),
        (
            "commands_refused",
            "Refused by the gateway itself.",
            stats.refused,
        ),
        ("reports", "Reports queued for clients.", stats.reports),
        (
            "reports_undelivered",
            "Reports without a session.",
            stats.undelivered,
        ),
        (
            "slow_readers",
            "Sessions ended, their client did not read.",
            stats.slow_readers,
        ),
        (
            "sessions_lost",
            "Connections lost without a Terminate.",
            stats.lost,
        ),
    ] {
        page.counter(&format!("gateway_{name}"), help, value);
    }
}
