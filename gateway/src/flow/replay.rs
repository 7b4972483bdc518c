//! A flow straight into a simulated venue: no gateway, no risk, no thread.
//!
//! What the book alone makes of a file; the measure for every longer way.

use std::io::BufRead;

use pitlane::orders::venue::sim::{
    Phase, PhaseError, SimConfig, SimConfigError, SimInstrument, SimVenue,
};
use pitlane::orders::venue::{Venue, VenueError, VenueEvent, VenueOrder};
use pitlane::types::{ClientOrderId, InstrumentId, OrderType, Price, Quantity, Side, TimeInForce};

use super::comparison::{FlowComparison, FlowReport};
use super::error::FlowError;
use super::plan::{FlowAction, FlowPlan};
use super::reader::FlowReader;
use super::row::FlowOrderId;

/// What a replay did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowReplay {
    /// Orders that were entered to rest.
    pub entered: u64,
    /// Replaces sent.
    pub replaced: u64,
    /// Cancels sent.
    pub canceled: u64,
    /// Immediate-or-cancel orders sent.
    pub aggressed: u64,
    /// Messages that the venue refused: most are cancels and replaces of orders
    /// that have traded here and not there.
    pub refused: u64,
    /// Executions, two of each trade.
    pub executions: u64,
    /// How the fills compare.
    pub report: FlowReport,
}

/// Why a replay ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The file.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// The venue's size.
    #[error(transparent)]
    Config(#[from] SimConfigError),
    /// The opening auction cannot be held.
    #[error("line {line}: {error}")]
    Auction {
        /// The row of the opening.
        line: u64,
        /// Why.
        error: PhaseError,
    },
    /// The venue takes nothing, though its events are taken.
    #[error("line {line}: {error}")]
    Venue {
        /// The row that was to be sent.
        line: u64,
        /// Why.
        error: VenueError,
    },
}

/// The one instrument of a replay.
const INSTRUMENT: InstrumentId = InstrumentId(1);
/// Upper halves of ids: which kind of step made the order.
const NEW: u64 = 1;
const AGGRESS: u64 = 2;

/// Sends a whole file to a venue of `orders_max` resting orders.
///
/// # Errors
/// The file cannot be read or understood, or its auction cannot be held.
pub fn replay(input: impl BufRead, orders_max: usize) -> Result<FlowReplay, ReplayError> {
    let mut venue = SimVenue::new(&SimConfig {
        orders_max,
        ..SimConfig::new(vec![SimInstrument {
            phase: Phase::Closed,
            ..SimInstrument::new(INSTRUMENT)
        }])
    })?;
    let mut plan = FlowPlan::new(FlowReader::new(input)?);
    let mut comparison = FlowComparison::new();
    let mut done = FlowReplay {
        entered: 0,
        replaced: 0,
        canceled: 0,
        aggressed: 0,
        refused: 0,
        executions: 0,
        report: comparison.report(plan.expected()),
    };
    for step in &mut plan {
        let step = step?;
        let line = step.line;
        send(&mut venue, step.action, line, &mut done)?;
        while venue.poll(256, &mut |event| note(event, &mut comparison, &mut done)) > 0 {}
    }
    done.report = comparison.report(plan.expected());
    Ok(done)
}

fn send(
    venue: &mut SimVenue,
    action: FlowAction,
    line: u64,
    done: &mut FlowReplay,
) -> Result<(), ReplayError> {
    let sent = match action {
        FlowAction::New {
            order,
            side,
            price,
            quantity,
        } => {
            done.entered += 1;
            let day = TimeInForce::Day;
            venue.submit(&limit(resting_id(order), side, price, quantity, day))
        }
        FlowAction::Aggress {
            side,
            price,
            quantity,
            ..
        } => {
            done.aggressed += 1;
            let id = ClientOrderId {
                high: AGGRESS,
                low: done.aggressed,
            };
            let immediate = TimeInForce::ImmediateOrCancel;
            venue.submit(&limit(id, side, price, quantity, immediate))
        }
        FlowAction::Replace {
            order,
            price,
            total,
        } => {
            done.replaced += 1;
            venue.replace(resting_id(order), price, total)
        }
        FlowAction::Cancel { order } => {
            done.canceled += 1;
            venue.cancel(resting_id(order))
        }
        FlowAction::OpenAuction { price } => {
            let opened = venue.uncross(INSTRUMENT, Some(price));
            opened.map_err(|error| ReplayError::Auction { line, error })?;
            Ok(())
        }
    };
    sent.map_err(|error| ReplayError::Venue { line, error })
}

fn note(event: VenueEvent, comparison: &mut FlowComparison, done: &mut FlowReplay) {
    match event {
        VenueEvent::Executed {
            id,
            price,
            quantity,
            ..
        } => {
            done.executions += 1;
            if id.high == NEW {
                comparison.add(FlowOrderId(id.low), price, quantity);
            }
        }
        VenueEvent::Rejected { .. } | VenueEvent::CancelRejected { .. } => done.refused += 1,
        VenueEvent::Acknowledged { .. }
        | VenueEvent::Canceled { .. }
        | VenueEvent::Expired { .. }
        | VenueEvent::Replaced { .. }
        | VenueEvent::Busted { .. }
        | VenueEvent::Snapshot(_)
        | VenueEvent::OpenOrders { .. } => {}
    }
}

const fn resting_id(order: FlowOrderId) -> ClientOrderId {
    ClientOrderId {
        high: NEW,
        low: order.0,
    }
}

const fn limit(
    id: ClientOrderId,
    side: Side,
    price: Price,
    quantity: Quantity,
    time_in_force: TimeInForce,
) -> VenueOrder {
    VenueOrder {
        id,
        instrument: INSTRUMENT,
        side,
        order_type: OrderType::Limit,
        time_in_force,
        quantity: Some(quantity),
        volume: None,
        price: Some(price),
        stop: None,
        expires_at: None,
    }
}
