//! What happens, at random: agents ask, bring, repeat, alter and cancel; markets
//! trade; lines and processes fail.

use std::time::Duration;

use super::run::{About, Checked, Issued, Simulation};
use super::system::{ACCOUNTS, AGENT, INSTRUMENT, MARKET, NAME, VENUE};
use crate::orders::decision::Size;
use crate::orders::executor::OrderView;
use crate::orders::lifecycle::OrderState;
use crate::orders::venue::distant::{Chance, Faults, Outage, OutageKind};
use crate::orders::venue::{Venue as _, VenueError, VenueEvent, VenueOrder};
use crate::shard::authority::DecisionRequest;
use crate::simulation::dice::Dice;
use crate::time::{Clock as _, UnixNanos};
use crate::types::{
    AccountId, ClientOrderId, ClientReference, Command, FillId, Order, OrderType, Origin,
    PRICE_SCALE, Price, Quantity, Side, TimeInForce,
};

/// Clients of the shards themselves.
const CLIENT: Origin = Origin {
    port: 0,
    credential: 1,
    session: 1,
};

/// Numbers of executions that no venue gave.
const FALSE_FILLS: u64 = 1 << 60;

impl Simulation {
    pub(super) fn act(&mut self) -> Checked {
        match self.dice.within(0..=99) {
            0..=19 => self.ask(),
            20..=35 => self.bring(),
            36..=42 => self.cancel(),
            43..=54 => self.trade(),
            55..=62 => self.own_order(),
            63..=65 => self.own_cancel(),
            66..=70 => self.system.sync(),
            71..=73 => self.crash_executor(),
            74..=76 => self.crash_shards()?,
            77 => {
                self.crash_executor();
                self.crash_shards()?;
            }
            78..=80 => self.toggle_away(),
            81..=82 => self.replay_fills(),
            83..=84 => self.bust()?,
            85 => self.overfill()?,
            86 => self.sweep()?,
            87 => self.set_clock(),
            88 => {
                let seconds = self.dice.within(1..=8);
                self.pass(Duration::from_secs(seconds))?;
            }
            _ => {
                let length = self.dice.within(0..=700);
                self.pass(Duration::from_millis(length))?;
            }
        }
        Ok(())
    }

    fn account(&mut self) -> AccountId {
        AccountId(self.dice.within(1..=ACCOUNTS))
    }

    fn side(&mut self) -> Side {
        if self.dice.percent(50) {
            Side::Buy
        } else {
            Side::Sell
        }
    }

    fn price(&mut self) -> Price {
        Price::from_raw(self.few(98..=102) * PRICE_SCALE)
    }

    fn few(&mut self, range: core::ops::RangeInclusive<u64>) -> i64 {
        i64::try_from(self.dice.within(range)).unwrap_or(1)
    }

    fn ask(&mut self) {
        let (order_type, time_in_force) = match self.dice.within(0..=7) {
            0 => (OrderType::Limit, TimeInForce::ImmediateOrCancel),
            1 => (OrderType::Limit, TimeInForce::FillOrKill),
            2 => (OrderType::Limit, TimeInForce::GoodTillDate),
            3 => (OrderType::PostOnly, TimeInForce::Day),
            _ => (OrderType::Limit, TimeInForce::GoodTillCancel),
        };
        let soon = self.system.clock.wall().after(Duration::from_secs(3));
        let is_dated = time_in_force == TimeInForce::GoodTillDate;
        let quantity = self.few(1..=12) * PRICE_SCALE;
        let request = DecisionRequest {
            agent_id: AGENT.to_owned(),
            user_id: "ann".to_owned(),
            account: self.account(),
            venue: VENUE.to_owned(),
            instrument: NAME.to_owned(),
            side: self.side(),
            order_type,
            time_in_force,
            size: Size::Quantity(Quantity::from_raw(quantity)),
            price: Some(self.price()),
            stop_price: None,
            good_till: is_dated.then_some(soon),
            ttl: Duration::from_secs(self.dice.within(1..=15)),
        };
        self.note(format_args!("ask {request:?}"));
        // A shard that is not there, or busy, has not been asked.
        if let Ok(deciding) = self.system.authorizer.decide(&request) {
            self.asked.push((deciding, self.system.starts));
        }
    }

    /// One of the decisions, the latest most often.
    fn any_issued(&mut self) -> Option<usize> {
        let count = self.issued.len() as u64;
        let back = if self.dice.percent(70) { 4 } else { count };
        let back = self.dice.within(0..=back.min(count).max(1) - 1);
        let place = count.checked_sub(1 + back)?;
        usize::try_from(place).ok()
    }

    fn bring(&mut self) {
        let Some(place) = self.any_issued() else {
            return;
        };
        let Issued { id, body, .. } = &self.issued[place];
        let (id, mut body, mut agent) = (*id, body.clone().into_bytes(), AGENT);
        let mut about = About::Order(id);
        if self.dice.percent(8) {
            about = About::Altered;
            self.alter(&mut body);
        } else if self.dice.percent(4) {
            about = About::Stolen;
            agent = "agent-9";
        }
        let request = self.request(about);
        self.note(format_args!("bring {id} as {request}: {about:?}"));
        self.outcome.brought += 1;
        self.system.executor().submit(request, agent, &body);
    }

    /// One byte is another.
    fn alter(&mut self, body: &mut [u8]) {
        let at = self.dice.within(0..=body.len() as u64 - 1);
        let byte = &mut body[usize::try_from(at).unwrap_or(0)];
        let other = self.dice.within(1..=9);
        *byte = match *byte {
            // A digit stays one, so that what is read is well formed.
            digit @ b'0'..=b'9' => {
                let moved = u64::from(digit - b'0') + other;
                b'0' + u8::try_from(moved % 10).unwrap_or(0)
            }
            other => other ^ 1,
        };
    }

    fn cancel(&mut self) {
        let Some(place) = self.any_issued() else {
            return;
        };
        let id = self.issued[place].id;
        let request = self.request(About::Cancel);
        self.note(format_args!("cancel {id} as {request}"));
        self.system.executor().cancel(request, AGENT, id);
    }

    /// Somebody else trades, at the executor's venue or at a shard's.
    fn trade(&mut self) {
        let place = self.dice.within(0..=self.system.seats.len() as u64 + 1);
        let (side, price) = (self.side(), self.price());
        let quantity = self.few(1..=12) * PRICE_SCALE;
        self.market_orders += 1;
        let order = VenueOrder {
            id: ClientOrderId {
                high: MARKET,
                low: self.market_orders,
            },
            instrument: INSTRUMENT,
            side,
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::ImmediateOrCancel,
            expires_at: None,
            quantity: Some(Quantity::from_raw(quantity)),
            volume: None,
            price: Some(price),
            stop: None,
        };
        let seat = usize::try_from(place).unwrap_or(0);
        let system = &self.system;
        let venue = system.seats.get(seat).map(|seat| &seat.venue);
        let (venue, now) = (venue.unwrap_or(&system.venue), system.clock.wall());
        let mut far = venue.far();
        while far.inner_mut().submit(&order) == Err(VenueError::Busy) {
            far.advance_to(now);
        }
        far.advance_to(now);
        drop(far);
        self.note(format_args!(
            "market at {place}: {side:?} {quantity} {price}"
        ));
    }

    fn own_order(&mut self) {
        let account = self.account();
        self.references += 1;
        let reference = ClientReference(self.references);
        let is_short = self.dice.percent(20);
        let order = Order {
            account,
            instrument: INSTRUMENT,
            side: self.side(),
            order_type: OrderType::Limit,
            time_in_force: if is_short {
                TimeInForce::ImmediateOrCancel
            } else {
                TimeInForce::Day
            },
            quantity: Some(Quantity::from_raw(self.few(1..=8) * PRICE_SCALE)),
            volume: None,
            price: Some(self.price()),
        };
        let command = Command::NewOrder {
            origin: CLIENT,
            reference,
            order,
        };
        self.own.push((account, reference));
        self.command(account, &command);
    }

    fn own_cancel(&mut self) {
        let count = self.own.len() as u64;
        if count == 0 {
            return;
        }
        let place = usize::try_from(self.dice.within(0..=count - 1)).unwrap_or(0);
        let (account, target) = self.own[place];
        self.references += 1;
        let command = Command::Cancel {
            origin: CLIENT,
            reference: ClientReference(self.references),
            account,
            target,
        };
        self.command(account, &command);
    }

    fn command(&mut self, account: AccountId, command: &Command) {
        let now = self.system.clock.now();
        self.note(format_args!("own {command:?}"));
        let seat = self.system.seat_of(account);
        if seat.shard.takes_commands() {
            seat.shard.command(command, now);
        }
    }

    fn crash_executor(&mut self) {
        let kept = usize::try_from(self.dice.within(0..=3)).unwrap_or(0);
        self.note(format_args!("the executor is killed, {kept} groups kept"));
        self.outcome.crashes += 1;
        self.system.crash_executor(kept);
        self.requests.clear();
    }

    fn crash_shards(&mut self) -> Checked {
        self.note(format_args!("the shards are killed"));
        self.outcome.crashes += 1;
        let dice = &mut self.dice;
        let mut kept = || usize::try_from(dice.within(0..=3)).unwrap_or(0);
        let crashed = self.system.crash_shards(&mut kept);
        crashed.map_err(|error| format!("the shards do not start again: {error}"))?;
        self.forget_ledgers();
        Ok(())
    }

    fn toggle_away(&mut self) {
        let away = !self.system.line.is_away();
        self.note(format_args!("away: {away}"));
        self.system.line.set_away(away);
    }

    /// Everything that the venue has of an order is told again.
    fn replay_fills(&mut self) {
        let Some(place) = self.any_issued() else {
            return;
        };
        let id = self.issued[place].id;
        self.note(format_args!("the fills of {id} again"));
        let mut far = self.system.venue.far();
        for event in far.truth(id) {
            if matches!(event, VenueEvent::Executed { .. }) {
                far.tell(event);
            }
        }
    }

    /// The line is good for a while: what a venue says once, and nothing repeats.
    fn reliably(&mut self, act: impl FnOnce(&mut Self)) -> Checked {
        self.system.venue.far().set_faults(Faults::default());
        act(self);
        self.pass(Duration::from_millis(600))?;
        self.system.sync();
        self.settle()?;
        let now = self.system.clock.wall();
        let faults = faults(&mut self.dice, now);
        self.system.venue.far().set_faults(faults);
        Ok(())
    }

    fn bust(&mut self) -> Checked {
        let views = self.system.executor().orders();
        let traded: Vec<_> = views
            .iter()
            .filter(|one| !one.filled_qty.is_zero())
            .collect();
        let Some(last) = (traded.len() as u64).checked_sub(1) else {
            return Ok(());
        };
        let id = traded[usize::try_from(self.dice.within(0..=last)).unwrap_or(0)].client_order_id;
        let truth = self.system.venue.far().truth(id);
        let Some(&VenueEvent::Executed { fill_id, .. }) = truth.first() else {
            return Ok(());
        };
        self.outcome.busts += 1;
        self.note(format_args!("bust of {fill_id:?} of {id}"));
        self.busted.insert(id);
        self.reliably(|all| {
            all.system.venue.far().bust(id, fill_id);
        })
    }

    /// More is filled of an order than it had.
    fn overfill(&mut self) -> Checked {
        let views = self.system.executor().orders();
        let busted = &self.busted;
        let is_whole = |view: &OrderView| {
            view.state == OrderState::Filled && !busted.contains(&view.client_order_id)
        };
        let Some(view) = views.into_iter().find(is_whole) else {
            return Ok(());
        };
        self.outcome.overfills += 1;
        let extra = VenueEvent::Executed {
            id: view.client_order_id,
            fill_id: FillId(FALSE_FILLS + self.outcome.overfills),
            price: Price::from_raw(100 * PRICE_SCALE),
            quantity: Quantity::from_raw(PRICE_SCALE),
            leaves: Quantity::ZERO,
            aggressor: false,
        };
        self.note(format_args!("overfill {extra:?}"));
        self.extras.push(extra);
        self.reliably(|all| all.system.venue.far().tell(extra))
    }

    /// What was never brought is found out, and voided.
    pub(super) fn sweep(&mut self) -> Checked {
        let mut due = self.system.authorizer.due();
        self.settle()?;
        let mut listed = Vec::new();
        due.poll(&mut |decision| listed.push(decision));
        for decision in listed {
            let voided = self.system.executor().void_unseen(&decision);
            self.outcome.voided += u64::from(voided);
            self.note(format_args!("due {}: {voided}", decision.decision_id));
        }
        Ok(())
    }

    /// The executor's wall clock jumps, within what is allowed.
    fn set_clock(&mut self) {
        let ahead = self.dice.within(0..=8_000);
        let base = self.system.clock.wall().0 - 4_000_000_000;
        let wall = UnixNanos(base + ahead * 1_000_000);
        self.note(format_args!("the executor's clock says {}", wall.0));
        self.system.executor_clock.set_wall(wall);
    }
}

pub(super) fn faults(dice: &mut Dice, now: UnixNanos) -> Faults {
    let millis = |dice: &mut Dice, most| Duration::from_millis(dice.within(0..=most));
    let from = now.after(millis(dice, 5_000));
    let kind = if dice.percent(50) {
        OutageKind::Silent
    } else {
        OutageKind::Refused
    };
    let often = |dice: &mut Dice, part| {
        let times = u32::try_from(dice.within(0..=2)).unwrap_or(0);
        Chance::in_a_million(times * part)
    };
    Faults {
        lose: often(dice, 100_000),
        duplicate: often(dice, 150_000),
        delay: millis(dice, 20)..=Duration::from_millis(20) + millis(dice, 300),
        reorder: dice.percent(50),
        snapshot_delay: millis(dice, 300),
        listing_delay: millis(dice, 400),
        outages: vec![Outage {
            from,
            until: from.after(millis(dice, 4_000)),
            kind,
        }],
    }
}
