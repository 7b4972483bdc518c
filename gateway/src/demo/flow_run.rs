//! Recorded order flow, sent through the gateway, and the fills compared.

use core::num::NonZeroU32;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hashbrown::HashMap;
use pitlane::orders::venue::sim::Phase;
use pitlane::time::UnixNanos;
use pitlane::types::{Order, OrderType, Price, Quantity, Side, TimeInForce};

use super::DemoError;
use super::outcome::{FlowOutcome, Outcome, grouped};
use super::setup::{Demo, DemoSettings, INSTRUMENT, Limits};
use super::traffic::Traffic;
use crate::assembly::Gateway;
use crate::flow::{FlowAction, FlowComparison, FlowOrderId, FlowPlan, FlowReader, FlowStep};
use crate::progress::Progress;

/// How long the venue may take to hold the opening auction.
const AUCTION_WAIT: Duration = Duration::from_secs(10);
/// Steps between two looks at the clock for progress.
const LOOK_EVERY: u64 = 1_024;

/// What to send, and how fast.
#[derive(Clone, Debug)]
pub struct FlowSettings {
    /// The file.
    pub path: PathBuf,
    /// Times its own pace, above zero; `None`: as fast as it is taken.
    pub speed: Option<f64>,
}

/// Sends the file's flow as orders of the settings' accounts.
///
/// # Errors
/// The file cannot be read or understood, the gateway does not start, or the
/// session fails.
pub fn run_flow(settings: &DemoSettings, flow: &FlowSettings) -> Result<Outcome, DemoError> {
    let path = &flow.path;
    let open = |source| DemoError::Open {
        path: path.clone(),
        source,
    };
    let wrong = |source| DemoError::Flow {
        path: path.clone(),
        source,
    };
    // The header is read before anything is started.
    let reader = FlowReader::new(BufReader::new(File::open(path).map_err(open)?)).map_err(wrong)?;
    let mut plan = FlowPlan::new(reader);

    let demo = Demo::start(settings, Limits::None, Phase::Closed)?;
    let mut run = FlowRun {
        traffic: Traffic::new(demo.client, u64::from(settings.window), 0, true),
        accounts: NonZeroU32::new(settings.accounts).unwrap_or(NonZeroU32::MIN),
        references: HashMap::default(),
        orders: HashMap::default(),
        comparison: FlowComparison::new(),
    };
    let mut progress = Progress::new(settings.progress);
    let mut pace = Pace {
        speed: flow.speed,
        first: None,
    };
    let mut steps = 0u64;
    for step in &mut plan {
        let step = step.map_err(wrong)?;
        if let Some(due) = pace.due(step.time) {
            run.traffic.wait_until(due)?;
        }
        run.send(&step, &demo.gateway)?;
        run.compare();
        steps += 1;
        if steps.is_multiple_of(LOOK_EVERY) {
            progress.tick(|| format!("{} messages sent, at line {}", grouped(steps), step.line));
        }
    }
    run.traffic.settle()?;
    run.compare();
    let rows = plan.rows_read();
    let report = run.comparison.report(&plan.into_expected());
    run.traffic.finish()?;
    let orders = run.traffic.ledger().counts().submitted;
    let outcome = FlowOutcome::new(display(path), rows, orders, &report);
    Outcome::of(demo.gateway, run.traffic, settings, Some(outcome))
}

fn display(path: &Path) -> String {
    path.display().to_string()
}

/// When each step is due.
struct Pace {
    speed: Option<f64>,
    first: Option<UnixNanos>,
}

impl Pace {
    /// Since the run began; `None` where it goes as fast as it is taken.
    fn due(&mut self, time: UnixNanos) -> Option<Duration> {
        let speed = self.speed?;
        let first = *self.first.get_or_insert(time);
        let nanos = time.0.saturating_sub(first.0);
        // Pacing is no money: what a float cannot tell apart, no one can see.
        Some(Duration::from_nanos(nanos).div_f64(speed))
    }
}

/// A flow on its way through a session.
struct FlowRun {
    traffic: Traffic,
    accounts: NonZeroU32,
    /// The file's resting orders, by its ids: our references.
    references: HashMap<FlowOrderId, u64>,
    /// The same the other way, for all that ever rested.
    orders: HashMap<u64, FlowOrderId>,
    comparison: FlowComparison,
}

impl FlowRun {
    fn send(&mut self, step: &FlowStep, gateway: &Gateway) -> Result<(), DemoError> {
        match step.action {
            FlowAction::New {
                order,
                side,
                price,
                quantity,
            } => {
                let day = TimeInForce::Day;
                let reference = self
                    .traffic
                    .submit(&self.limit(order, side, price, quantity, day))?;
                self.references.insert(order, reference);
                self.orders.insert(reference, order);
            }
            FlowAction::Aggress {
                order,
                side,
                price,
                quantity,
            } => {
                let immediate = TimeInForce::ImmediateOrCancel;
                self.traffic
                    .submit(&self.limit(order, side, price, quantity, immediate))?;
            }
            // The plan names only orders that it has entered.
            FlowAction::Replace {
                order,
                price,
                total,
            } => {
                if let Some(&reference) = self.references.get(&order) {
                    self.traffic.replace(reference, price, total)?;
                }
            }
            FlowAction::Cancel { order } => {
                if let Some(&reference) = self.references.get(&order) {
                    self.traffic.cancel(reference)?;
                }
            }
            FlowAction::OpenAuction { price } => {
                // What came before the opening is in the book when it is held.
                self.traffic.settle()?;
                let opened = gateway
                    .venue()
                    .uncross(INSTRUMENT, Some(price), AUCTION_WAIT);
                opened.map_err(|source| DemoError::Auction {
                    line: step.line,
                    source,
                })?;
            }
        }
        Ok(())
    }

    fn limit(
        &self,
        order: FlowOrderId,
        side: Side,
        price: Price,
        quantity: Quantity,
        time_in_force: TimeInForce,
    ) -> Order {
        Order {
            account: order.account(self.accounts),
            instrument: INSTRUMENT,
            side,
            order_type: OrderType::Limit,
            time_in_force,
            quantity: Some(quantity),
            volume: None,
            price: Some(price),
        }
    }

    /// Compares what was heard: fills of orders that rested.
    fn compare(&mut self) {
        for heard in self.traffic.take_heard() {
            if let Some(&order) = self.orders.get(&heard.order) {
                self.comparison.add(order, heard.price, heard.quantity);
            }
        }
    }
}
