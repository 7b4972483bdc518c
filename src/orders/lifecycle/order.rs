//! One order from its admission to its end: what was said of it, and what
//! happened to it (rules O19, O24 to O28).
//!
//! A fact is never refused: a fill that comes late, or is too much, is booked,
//! and what it breaks is told to the caller. An order that is over stays over.

use super::average::average_price;
use super::fill::{Booking, Fill, Standing};
use super::state::{Mover, OrderState};
use crate::orders::decision::Size;
use crate::orders::{Code, Refusal};
use crate::time::UnixNanos;
use crate::types::{
    AccountId, Amount, ClientOrderId, FillId, InstrumentId, OrderType, Price, Side, TimeInForce,
};

/// What an order is, as its decision said.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OrderTerms {
    /// Its identity.
    pub client_order_id: ClientOrderId,
    /// The decision that it follows from.
    pub decision_id: String,
    /// Whose order to read and to cancel.
    pub agent_id: String,
    /// For whom.
    pub user_id: String,
    /// Whose account.
    pub account: AccountId,
    /// Which venue, by its place in the executor.
    pub venue: u16,
    /// The instrument's name.
    pub instrument_name: String,
    /// What it trades.
    pub instrument: InstrumentId,
    /// Buy or sell.
    pub side: Side,
    /// How its price is set.
    pub order_type: OrderType,
    /// How long it stays.
    pub time_in_force: TimeInForce,
    /// How much.
    pub size: Size,
    /// The limit, or a stop's trigger.
    pub price: Option<Price>,
    /// A stop-limit order's trigger.
    pub stop_price: Option<Price>,
    /// When a good-till-date order ends.
    pub good_till: Option<UnixNanos>,
    /// The authorizer's name for its hold.
    pub reservation_id: String,
    /// When its decision expires.
    pub expires_at: UnixNanos,
}

/// An order with its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedOrder {
    /// As its decision said; size and price as last replaced.
    pub terms: OrderTerms,
    state: OrderState,
    fills: Vec<Booked>,
    filled: Amount,
    notional: Amount,
    /// Taken back by the venue, and not traded again.
    reversed: Amount,
    fees: Amount,
    /// Reversals that came before their fills.
    reversed_early: Vec<FillId>,
    /// A sum has left its range: the average price is no longer told.
    out_of_range: bool,
    /// Why it last did not go on.
    pub last_error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Booked {
    fill: Fill,
    reversed: bool,
}

impl TrackedOrder {
    /// An order that was just admitted: [`OrderState::New`].
    #[must_use]
    pub const fn new(terms: OrderTerms) -> Self {
        Self {
            terms,
            state: OrderState::New,
            fills: Vec::new(),
            filled: Amount::ZERO,
            notional: Amount::ZERO,
            reversed: Amount::ZERO,
            fees: Amount::ZERO,
            reversed_early: Vec::new(),
            out_of_range: false,
            last_error: None,
        }
    }

    /// Where it is in its life.
    #[must_use]
    pub const fn state(&self) -> OrderState {
        self.state
    }

    /// Moves it.
    ///
    /// # Errors
    /// [`Code::OrderState`], and nothing has changed; out of `unknown` without
    /// the venue's answer, too.
    pub fn advance(&mut self, to: OrderState, mover: Mover) -> Result<(), Refusal> {
        if !self.state.may_move(to, mover) {
            let detail = format!(
                "{}: no move to {to} from {}",
                self.terms.client_order_id, self.state
            );
            return Err(Refusal::new(Code::OrderState, detail));
        }
        self.state = to;
        Ok(())
    }

    /// Books a fill once; the state follows, unless it is unknown or terminal.
    pub fn book(&mut self, fill: Fill) -> Booking {
        if self
            .fills
            .iter()
            .any(|own| own.fill.fill_id == fill.fill_id)
        {
            return Booking::Duplicate;
        }
        let late = self.state.is_terminal();
        let early = self
            .reversed_early
            .iter()
            .position(|id| *id == fill.fill_id);
        let reversed = early
            .map(|at| self.reversed_early.swap_remove(at))
            .is_some();
        self.fills.push(Booked { fill, reversed });
        if !reversed {
            self.add(&fill);
        }
        let standing = self.standing();
        if !late && self.state != OrderState::Unknown {
            let to = self.state_by_fills();
            // A fill of an order that was never sent moves nothing.
            let _ = self.advance(to, Mover::Event);
        }
        Booking::Booked {
            late,
            overfilled: standing.excess.is_positive(),
        }
    }

    /// Takes a fill back, once: the fill, or `None` where it was taken back
    /// before or has not come yet. One that has not come is booked as reversed
    /// when it does. The order's state stays (rule O25).
    pub fn reverse(&mut self, fill_id: FillId) -> Option<Fill> {
        let Some(own) = self
            .fills
            .iter_mut()
            .find(|own| own.fill.fill_id == fill_id)
        else {
            if !self.reversed_early.contains(&fill_id) {
                self.reversed_early.push(fill_id);
            }
            return None;
        };
        if own.reversed {
            return None;
        }
        own.reversed = true;
        let fill = own.fill;
        self.subtract(&fill);
        let counted = self.counted_of(&fill);
        self.reversed = sum(self.reversed, counted, &mut self.out_of_range);
        Some(fill)
    }

    /// Books what stands in a reversed fill's place: the part of it that
    /// replaces the other works no more, but has not ended either.
    pub fn correct(&mut self, reversed: &Fill, fill: Fill) -> Booking {
        let booking = self.book(fill);
        if booking != Booking::Duplicate {
            let again = self.counted_of(&fill).min(self.counted_of(reversed));
            self.reversed = self.reversed.checked_sub(again).unwrap_or(Amount::ZERO);
        }
        booking
    }

    /// Has a new size and price at the venue from now on.
    pub fn replaced(&mut self, price: Price, size: Size) {
        self.terms.price = Some(price);
        self.terms.size = size;
        let standing = self.standing();
        if standing.cum == standing.size && !self.state.is_terminal() {
            let _ = self.advance(OrderState::Filled, Mover::Event);
        }
    }

    /// The state that the fills alone say.
    #[must_use]
    pub fn state_by_fills(&self) -> OrderState {
        let standing = self.standing();
        if standing.cum == standing.size {
            OrderState::Filled
        } else if self.fills.is_empty() {
            OrderState::Acked
        } else {
            OrderState::PartiallyFilled
        }
    }

    /// Where it stands; the parts add up to the size, always (rule O24).
    #[must_use]
    pub fn standing(&self) -> Standing {
        let size = match self.terms.size {
            Size::Quantity(quantity) => quantity.amount(),
            Size::Volume(volume) => volume,
        };
        let counted = match self.terms.size {
            Size::Quantity(_) => self.filled,
            Size::Volume(_) => self.notional,
        };
        let cum = counted.min(size).max(Amount::ZERO);
        let less = |from: Amount, by: Amount| from.checked_sub(by).unwrap_or(Amount::ZERO);
        let open = less(size, cum);
        let ended = if self.state.is_terminal() {
            open
        } else {
            self.reversed.min(open)
        };
        Standing {
            size,
            cum,
            leaves: less(open, ended),
            ended,
            excess: less(counted, cum).max(Amount::ZERO),
        }
    }

    /// Whether any fill was booked, reversed ones included.
    #[must_use]
    pub const fn has_fills(&self) -> bool {
        !self.fills.is_empty()
    }

    /// Whether this fill was booked.
    #[must_use]
    pub fn has_fill(&self, fill_id: FillId) -> bool {
        self.fills.iter().any(|own| own.fill.fill_id == fill_id)
    }

    /// A fill that was booked, reversed or not.
    #[must_use]
    pub fn fill(&self, fill_id: FillId) -> Option<Fill> {
        let own = self.fills.iter().find(|own| own.fill.fill_id == fill_id);
        own.map(|own| own.fill)
    }

    /// Whether this fill was taken back, or will be when it comes.
    #[must_use]
    pub fn is_reversed(&self, fill_id: FillId) -> bool {
        let own = self.fills.iter().find(|own| own.fill.fill_id == fill_id);
        own.map_or_else(
            || self.reversed_early.contains(&fill_id),
            |own| own.reversed,
        )
    }

    /// What was filled of the base asset and not taken back.
    #[must_use]
    pub const fn filled(&self) -> Amount {
        self.filled
    }

    /// What the fills cost beside their price.
    #[must_use]
    pub const fn fees(&self) -> Amount {
        self.fees
    }

    /// The average price, rounded half to even (rule O26).
    #[must_use]
    pub fn average_price(&self) -> Option<Price> {
        if self.out_of_range {
            return None;
        }
        average_price(self.notional, self.filled)
    }

    /// Whether a sum has left its range; a person must look.
    #[must_use]
    pub const fn is_out_of_range(&self) -> bool {
        self.out_of_range
    }

    fn counted_of(&self, fill: &Fill) -> Amount {
        match self.terms.size {
            Size::Quantity(_) => fill.quantity.amount(),
            Size::Volume(_) => fill.notional(),
        }
    }

    fn add(&mut self, fill: &Fill) {
        let lost = &mut self.out_of_range;
        self.filled = sum(self.filled, fill.quantity.amount(), lost);
        self.notional = sum(self.notional, fill.notional(), lost);
        self.fees = sum(self.fees, fill.fee, lost);
    }

    fn subtract(&mut self, fill: &Fill) {
        let lost = &mut self.out_of_range;
        let less = |amount: Amount| amount.checked_neg().unwrap_or(Amount::MAX);
        self.filled = sum(self.filled, less(fill.quantity.amount()), lost);
        self.notional = sum(self.notional, less(fill.notional()), lost);
        self.fees = sum(self.fees, less(fill.fee), lost);
    }
}

/// The sum, or the end of the range and a mark that it was left.
fn sum(to: Amount, more: Amount, lost: &mut bool) -> Amount {
    to.checked_add(more).unwrap_or_else(|| {
        *lost = true;
        if more.is_negative() {
            Amount::MIN
        } else {
            Amount::MAX
        }
    })
}
