//! What decisions hold and what their fills move, against plain sums (rules O4, O23,
//! O24, O27, O28, O30; invariant I4), with a process that is killed between any two
//! groups of its journal.

use std::collections::{BTreeMap, BTreeSet};

use pitlane::orders::executor::{Execution, Message, MessageBody, Receiver};
use pitlane::shard::authority::{Allowed, Decided};
use pitlane::types::{Amount, RejectCode, Side};
use proptest::prelude::*;

use crate::journaled::OPENING;
use crate::rig::{Rig, execution, release, request, units};
use crate::shard_cases::ACCOUNTS;

/// One thing that happens; orders and fills are named by how long ago they were.
#[derive(Clone, Copy, Debug)]
enum Act {
    Ask {
        account: u64,
        buys: bool,
        quantity: i64,
        price: i64,
    },
    Fill {
        order: usize,
        quantity: i64,
        price: i64,
        fee: i64,
        ends: bool,
    },
    /// A fill again, under a new number.
    Again {
        fill: usize,
    },
    Reverse {
        fill: usize,
    },
    Release {
        order: usize,
    },
    /// The last message again, under its own number.
    Redeliver,
    Sync,
    Crash {
        kept: usize,
    },
}

fn act() -> impl Strategy<Value = Act> {
    let price = 97..=103_i64;
    prop_oneof![
        6 => (1..=ACCOUNTS, any::<bool>(), 1..=4_000_i64, price.clone()).prop_map(
            |(account, buys, quantity, price)| Act::Ask { account, buys, quantity, price }
        ),
        8 => (0..6_usize, 1..=3_000_i64, price, -2..=3_i64, prop::bool::weighted(0.2)).prop_map(
            |(order, quantity, price, fee, ends)| Act::Fill { order, quantity, price, fee, ends }
        ),
        1 => (0..5_usize).prop_map(|fill| Act::Again { fill }),
        2 => (0..5_usize).prop_map(|fill| Act::Reverse { fill }),
        2 => (0..6_usize).prop_map(|order| Act::Release { order }),
        1 => Just(Act::Redeliver),
        2 => Just(Act::Sync),
        2 => (0..6_usize).prop_map(|kept| Act::Crash { kept }),
    ]
}

/// Of one asset, in raw units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pot {
    available: i128,
    held: i128,
}

impl Pot {
    fn hold(&mut self, amount: i128) {
        self.available -= amount;
        self.held += amount;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Account {
    /// The base and the settlement asset.
    pots: [Pot; 2],
    net: i64,
    is_blocked: bool,
}

#[derive(Clone, Copy, Debug)]
struct Order {
    account: u64,
    side: Side,
    price: i64,
    left: i64,
    is_over: bool,
}

/// The plain sums.
#[derive(Clone, Debug)]
struct Model {
    accounts: BTreeMap<u64, Account>,
    orders: Vec<Order>,
    reversed: BTreeSet<u64>,
    filled: BTreeSet<u64>,
}

impl Model {
    fn new() -> Self {
        let pot = Pot {
            available: OPENING,
            held: 0,
        };
        let account = Account {
            pots: [pot; 2],
            net: 0,
            is_blocked: false,
        };
        Self {
            accounts: (1..=ACCOUNTS).map(|id| (id, account)).collect(),
            orders: Vec::new(),
            reversed: BTreeSet::new(),
            filled: BTreeSet::new(),
        }
    }

    fn account(&mut self, id: u64) -> &mut Account {
        self.accounts.get_mut(&id).unwrap()
    }

    /// Which asset an order holds of, and how much for so much of it.
    fn held_for(order: &Order, quantity: i64) -> (usize, i128) {
        match order.side {
            Side::Buy => (1, units(quantity * order.price)),
            Side::Sell => (0, units(quantity)),
        }
    }

    fn ask(&mut self, order: Order) -> bool {
        let (asset, amount) = Self::held_for(&order, order.left);
        let account = self.account(order.account);
        if account.is_blocked || account.pots[asset].available < amount {
            return false;
        }
        account.pots[asset].hold(amount);
        self.orders.push(order);
        true
    }

    fn move_assets(&mut self, id: u64, side: Side, quantity: i64, price: i64, fee: i64) {
        let account = self.account(id);
        let sign = if side == Side::Buy { 1 } else { -1 };
        account.pots[0].available += units(sign * quantity);
        account.pots[1].available -= units(sign * quantity * price + fee);
        account.net += sign * quantity;
    }

    fn fill(
        &mut self,
        fill: u64,
        place: usize,
        (quantity, price, fee): (i64, i64, i64),
        ends: bool,
    ) {
        let order = self.orders[place];
        if self.filled.insert(fill) {
            if !order.is_over {
                let of_hold = quantity.min(order.left).max(0);
                let (asset, amount) = Self::held_for(&order, of_hold);
                self.account(order.account).pots[asset].hold(-amount);
            }
            self.move_assets(order.account, order.side, quantity, price, fee);
            let left = &mut self.orders[place].left;
            *left -= quantity;
            if *left < 0 {
                self.account(order.account).is_blocked = true;
            }
        }
        if ends {
            self.release(place);
        }
    }

    fn release(&mut self, place: usize) {
        let order = self.orders[place];
        if !order.is_over {
            let (asset, amount) = Self::held_for(&order, order.left.max(0));
            self.account(order.account).pots[asset].hold(-amount);
            self.orders[place].is_over = true;
        }
    }

    fn reverse(&mut self, fill: u64, place: usize, (quantity, price, fee): (i64, i64, i64)) {
        if self.reversed.insert(fill) {
            let Order { account, side, .. } = self.orders[place];
            self.move_assets(account, side.opposite(), quantity, price, -fee);
        }
    }
}

/// A fill that was told: its number, its order's place, and the message.
#[derive(Clone)]
struct Fill {
    number: u64,
    order: usize,
    terms: (i64, i64, i64),
    execution: Execution,
}

/// The shard, the model, and how the model was at the end of every group.
struct Pair {
    rig: Rig,
    model: Model,
    allowed: Vec<Allowed>,
    fills: Vec<Fill>,
    last: Option<MessageBody>,
    next_fill: u64,
    /// By the number of groups: the model, orders and fills that were there, and
    /// the messages that were taken.
    history: BTreeMap<usize, (Model, usize, usize, u64)>,
}

impl Pair {
    fn new() -> Self {
        let mut pair = Self {
            rig: Rig::new(),
            model: Model::new(),
            allowed: Vec::new(),
            fills: Vec::new(),
            last: None,
            next_fill: 1,
            history: BTreeMap::new(),
        };
        pair.rig.syncs = false;
        pair.note();
        pair
    }

    fn groups(&self) -> usize {
        self.rig.journal.read_from(0, &mut |_| {})
    }

    fn note(&mut self) {
        let so_far = (
            self.model.clone(),
            self.allowed.len(),
            self.fills.len(),
            self.rig.sequence,
        );
        self.history.insert(self.groups(), so_far);
    }

    fn tell(&mut self, body: MessageBody) {
        self.rig.sequence += 1;
        let sequence = self.rig.sequence;
        self.last = Some(body.clone());
        self.offer(sequence, body);
    }

    fn offer(&mut self, sequence: u64, body: MessageBody) {
        let message = Message { sequence, body };
        self.rig.receiver.offer(&message).unwrap();
        self.rig.settle();
    }

    /// One of the last, by how long ago.
    fn back(count: usize, back: usize) -> Option<usize> {
        count.checked_sub(1 + back)
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Ask {
                account,
                buys,
                quantity,
                price,
            } => self.ask(account, buys, quantity, price),
            Act::Fill {
                order,
                quantity,
                price,
                fee,
                ends,
            } => self.fill(order, (quantity, price, fee), ends),
            Act::Again { fill } => self.again(fill),
            Act::Reverse { fill } => self.reverse(fill),
            Act::Release { order } => {
                if let Some(place) = Self::back(self.allowed.len(), order) {
                    self.model.release(place);
                    let body = release(&self.allowed[place]);
                    self.tell(body);
                }
            }
            Act::Redeliver => {
                if let (Some(body), 1..) = (self.last.clone(), self.rig.sequence) {
                    self.offer(self.rig.sequence, body);
                }
            }
            Act::Sync => self.rig.journal.sync(),
            Act::Crash { kept } => self.crash(kept),
        }
        self.note();
        self.check();
    }

    fn ask(&mut self, account: u64, buys: bool, quantity: i64, price: i64) {
        let side = if buys { Side::Buy } else { Side::Sell };
        let order = Order {
            account,
            side,
            price,
            left: quantity,
            is_over: false,
        };
        let mut asked = self.rig.ask(&request(account, side, quantity, price));
        self.rig.settle();
        let is_allowed = self.model.ask(order);
        let held = self.rig.shard.held_decisions();
        let live = self.model.orders.iter().filter(|one| !one.is_over).count();
        assert_eq!(held, live, "{order:?} allowed: {is_allowed}");
        // It leaves when it is durable, and with it all that was before.
        self.rig.journal.sync();
        self.rig.settle();
        match asked.try_take() {
            Some(Ok(Decided::Allowed(allowed))) if is_allowed => self.allowed.push(*allowed),
            Some(Ok(Decided::Denied(_))) if !is_allowed => {}
            other => panic!("{order:?}, allowed: {is_allowed}: {other:?}"),
        }
    }

    fn fill(&mut self, order: usize, terms: (i64, i64, i64), ends: bool) {
        let Some(place) = Self::back(self.allowed.len(), order) else {
            return;
        };
        let number = self.next_fill;
        self.next_fill += 1;
        let (quantity, price, fee) = terms;
        let mut execution = execution(&self.allowed[place], number, quantity, price);
        execution.fee = Amount::from_raw(units(fee));
        execution.release_remainder = ends;
        self.model.fill(number, place, terms, ends);
        self.fills.push(Fill {
            number,
            order: place,
            terms,
            execution: execution.clone(),
        });
        self.tell(MessageBody::Execution(execution));
    }

    fn again(&mut self, fill: usize) {
        if let Some(place) = Self::back(self.fills.len(), fill) {
            let Fill {
                number,
                order,
                terms,
                execution,
            } = self.fills[place].clone();
            self.model
                .fill(number, order, terms, execution.release_remainder);
            self.tell(MessageBody::Execution(execution));
        }
    }

    fn reverse(&mut self, fill: usize) {
        if let Some(place) = Self::back(self.fills.len(), fill) {
            let Fill {
                number,
                order,
                terms,
                execution,
            } = self.fills[place].clone();
            self.model.reverse(number, order, terms);
            self.tell(MessageBody::Reversal(execution));
        }
    }

    /// All is as it was at the end of the last group that is there.
    fn crash(&mut self, kept: usize) {
        self.rig.restart(kept);
        let groups = self.groups();
        let (_, then) = self.history.range(..=groups).next_back().unwrap();
        let (model, orders, fills, sequence) = then.clone();
        self.history.retain(|at, _| *at <= groups);
        self.model = model;
        self.allowed.truncate(orders);
        self.fills.truncate(fills);
        self.rig.sequence = sequence;
        self.last = None;
        self.rig.settle();
    }

    fn check(&self) {
        for (id, account) in &self.model.accounts {
            let image = self.rig.image(*id);
            let pots = [image.of_base, image.of_settlement].map(|balance| Pot {
                available: balance.available.raw(),
                held: balance.held.raw(),
            });
            assert_eq!(pots, account.pots, "I4: of account {id}");
            assert_eq!(image.net, i128::from(account.net) * 1_000_000_000);
            let block = account.is_blocked.then_some(RejectCode::RiskLimitExceeded);
            assert_eq!(self.rig.block(*id), block, "O24: of account {id}");
        }
        let live = self.model.orders.iter().filter(|one| !one.is_over);
        assert_eq!(self.rig.shard.held_decisions(), live.count());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn o04_o23_o27_i4_what_is_held_and_used_is_what_orders_and_fills_add_up_to(
        acts in prop::collection::vec(act(), 1..60)
    ) {
        let mut pair = Pair::new();
        for act in acts {
            pair.act(act);
        }
        // A shard that ends would else wait for its journal's disk.
        pair.rig.journal.crash(0);
    }
}
