//! Random sequences through this engine and through `openpit` 0.11.0 (rule
//! K36): the same verdicts, codes and balances.
//!
//! `PITLANE_SEQUENCES` says how many sequences (4,000 by default),
//! `PITLANE_SEED` which comes first; a failure prints the seed of its own.

mod risk_peer;
mod risk_support;

use std::sync::Arc;
use std::time::Duration;

use openpit::param::{
    AccountGroupId, AccountId as PeerAccount, AdjustmentAmount, Fee, Pnl, Price as PeerPrice,
    Quantity as PeerQuantity, Trade, Volume,
};
use openpit::pretrade::policies::{
    OrderSizeAssetBarrier, OrderSizeBrokerBarrier, OrderSizeLimit, OrderSizeLimitPolicy,
    OrderSizeLimitSettings, OrderValidationPolicy, PnlBoundsBrokerBarrier,
    PnlBoundsKillSwitchPolicy, PnlBoundsKillSwitchSettings, RateLimit, RateLimitAccountBarrier,
    RateLimitPolicy, RateLimitSettings, SpotFundsPolicy, SpotFundsPricingSource, SpotFundsSettings,
};
use openpit::pretrade::{DEFAULT_POLICY_GROUP_ID, PreTradeLock, PreTradeReservation};
use openpit::{
    Engine, Instrument, InstrumentId as PeerInstrument, LocalEngine, LocalSync, MarketDataService,
    OrderOperation, Quote as PeerQuote, QuoteTtl, SpotFundsMarketData,
};
use pitlane::risk::{
    Adjustment, Change, Quote, QuoteTarget, ReservationToken, RiskConfig, RiskEngine, SharedLimits,
    UnknownAccounts,
};
use pitlane::types::{
    AccountId, Amount, AssetId, InstrumentId, Order, OrderType, Price, Quantity, RejectCode,
    Rounding, ShardId, Side,
};
use risk_peer::{PeerAdjustment, PeerReport};
use risk_support::*;
use rust_decimal::Decimal;

/// xorshift64*: the sequence is the seed's alone.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 33) % end
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).expect("small")]
    }

    fn raw(&mut self, end: u64) -> i64 {
        i64::try_from(self.below(end)).expect("small")
    }
}

type Peer = LocalEngine<OrderOperation, PeerReport, PeerAdjustment>;

struct Open {
    token: ReservationToken,
    order: Order,
    lock: PreTradeLock,
    /// What the peer is told is left.
    left: Quantity,
}

struct Pair {
    ours: RiskEngine,
    peer: Peer,
    market: std::rc::Rc<MarketDataService<LocalSync>>,
    instruments: [(InstrumentId, Instrument, PeerInstrument); 2],
    open: Vec<Open>,
    /// What rounding may have moved: a unit of price times quantity for each.
    slack: i128,
    /// A rounding decided; from there on the two go different ways.
    parted: bool,
}

const ASSETS: [(&str, AssetId); 3] = [("AAPL", AAPL), ("USD", USD), ("BTC", BTC)];
const ACCOUNTS: [AccountId; 3] = [ONE, TWO, THREE];

/// Settings of one sequence.
#[derive(Debug)]
struct Settings {
    rate: Option<u32>,
    size: Option<(i64, i64)>,
    asset_size: bool,
    pnl: Option<(i64, i64)>,
    slippage_bps: u16,
    non_positive: bool,
}

impl Settings {
    fn roll(dice: &mut Dice) -> Self {
        Self {
            rate: dice
                .one_in(3)
                .then(|| u32::try_from(dice.below(20)).expect("small") + 1),
            size: dice
                .one_in(3)
                .then(|| (dice.raw(40) + 1, dice.raw(4_000) + 1)),
            asset_size: dice.one_in(2),
            pnl: dice.one_in(3).then(|| (-dice.raw(50), dice.raw(50))),
            slippage_bps: dice.pick(&[0, 1, 25, 333, 9_999, 10_000]),
            non_positive: dice.one_in(3),
        }
    }

    fn ours(&self) -> RiskEngine {
        let mut toml = format!("spot_funds = {{slippage_bps = {}}}\n", self.slippage_bps);
        if let Some(limit) = self.rate {
            toml += &format!(
                "rate_limit = [{{scope = 'account', limit = {limit}, window_ms = 3600000}}]\n"
            );
        }
        if let Some((quantity, notional)) = self.size {
            toml +=
                &format!("order_size = [{{max_quantity = {quantity}, max_notional = {notional}}}");
            if self.asset_size {
                toml += ", {asset = 'AAPL', max_quantity = 5}, {asset = 'USD', max_notional = 900}";
            }
            toml += "]\n";
        }
        if let Some((lower, upper)) = self.pnl {
            toml += &format!(
                "pnl = {{rules = [{{asset = 'USD', lower = {lower}, upper = {upper}}}]}}\n"
            );
        }
        let mut config: RiskConfig = config_with(&toml);
        config.unknown_accounts = UnknownAccounts::Open;
        for instrument in &mut config.instruments {
            instrument.allow_non_positive_price = self.non_positive;
        }
        let shared = Arc::new(SharedLimits::new(&config).expect("sound"));
        RiskEngine::new(&config, ShardId(0), shared).expect("sound")
    }

    fn pair(&self) -> Pair {
        let builder = Engine::builder::<OrderOperation, PeerReport, PeerAdjustment>().no_sync();
        let market = builder.market_data(QuoteTtl::Infinite).build();
        let instruments = [(AAPL_USD, "AAPL"), (BTC_USD, "BTC")].map(|(id, base)| {
            let instrument = risk_peer::instrument(base, "USD");
            let peer = market.register(instrument.clone()).expect("new");
            (id, instrument, peer)
        });
        let funds = SpotFundsSettings::new(
            self.slippage_bps,
            SpotFundsPricingSource::Mark,
            std::iter::empty(),
        )
        .expect("sound");
        let funds = SpotFundsPolicy::<LocalSync, LocalSync>::new(
            funds,
            Some(SpotFundsMarketData::new(market.clone())),
            builder.storage_builder(),
        );
        let rate = self.rate.map(|limit| {
            let limit = RateLimit {
                max_orders: limit as usize,
                window: Duration::from_secs(3_600),
            };
            let accounts = ACCOUNTS.map(|id| RateLimitAccountBarrier {
                limit: limit.clone(),
                account_id: PeerAccount::from_u64(id.0),
            });
            let settings = RateLimitSettings::new(None, [], accounts, []).expect("sound");
            RateLimitPolicy::new(settings, builder.storage_builder())
        });
        let pnl = self.pnl.map(|(lower, upper)| {
            let bound = |value: i64| Some(Pnl::from_str(&value.to_string()).expect("a bound"));
            let barrier = PnlBoundsBrokerBarrier {
                settlement_asset: risk_peer::asset("USD"),
                lower_bound: bound(lower),
                upper_bound: bound(upper),
            };
            let settings = PnlBoundsKillSwitchSettings::new([barrier], []).expect("sound");
            PnlBoundsKillSwitchPolicy::new(settings, builder.storage_builder())
        });
        let mut builder = builder.pre_trade(OrderValidationPolicy::new());
        if let Some(rate) = rate {
            builder = builder.pre_trade(rate);
        }
        if let Some(size) = self.size {
            builder = builder.pre_trade(OrderSizeLimitPolicy::new(self.peer_size(size)));
        }
        if let Some(pnl) = pnl {
            builder = builder.pre_trade(pnl);
        }
        Pair {
            ours: self.ours(),
            peer: builder.pre_trade(funds).build().expect("sound"),
            market,
            instruments,
            open: Vec::new(),
            slack: 0,
            parted: false,
        }
    }

    fn peer_size(&self, (quantity, notional): (i64, i64)) -> OrderSizeLimitSettings {
        let limit = |quantity: Option<i64>, notional: Option<i64>| OrderSizeLimit {
            max_quantity: quantity
                .map(|max| PeerQuantity::from_str(&max.to_string()).expect("a quantity")),
            max_notional: notional.map(|max| Volume::from_str(&max.to_string()).expect("a volume")),
        };
        let broker = OrderSizeBrokerBarrier {
            limit: limit(Some(quantity), Some(notional)),
        };
        let assets = [
            ("AAPL", limit(Some(5), None)),
            ("USD", limit(None, Some(900))),
        ]
        .map(|(name, limit)| OrderSizeAssetBarrier {
            limit,
            asset: risk_peer::asset(name),
        });
        let assets = assets.into_iter().filter(|_| self.asset_size);
        OrderSizeLimitSettings::new(Some(broker), assets, []).expect("sound")
    }
}

impl Pair {
    fn instrument(&self, id: InstrumentId) -> &(InstrumentId, Instrument, PeerInstrument) {
        let found = self.instruments.iter().find(|(ours, ..)| *ours == id);
        found.expect("one of the two")
    }

    fn peer_order(&self, order: &Order) -> OrderOperation {
        risk_peer::order(order, &self.instrument(order.instrument).1)
    }

    fn order(&mut self, order: &Order, dice: &mut Dice) {
        let ours = self.ours.execute_pre_trade(order, ms(0));
        let theirs = self.peer.execute_pre_trade(self.peer_order(order));
        match (ours, theirs) {
            (Ok(token), Ok(reservation)) => self.accepted(order, token, reservation, dice),
            (Err(ours), Err(theirs)) => {
                let theirs: Vec<String> = theirs
                    .iter()
                    .map(|reject| reject.code.to_string())
                    .collect();
                let ours: Vec<String> = ours.iter().map(|reject| reject.code.to_string()).collect();
                assert_eq!(ours, theirs, "codes of {order:?}");
            }
            // What rounds against the account may not fit any more (K11).
            (Err(ours), Ok(_))
                if self.slack > 0 && ours.code() == RejectCode::InsufficientFunds =>
            {
                self.parted = true;
            }
            (Ok(_), Err(theirs)) => panic!("only the peer refuses {order:?}: {theirs}"),
            (Err(ours), Ok(_)) => panic!("only we refuse {order:?}: {ours}"),
        }
    }

    fn accepted(
        &mut self,
        order: &Order,
        token: ReservationToken,
        mut reservation: PreTradeReservation,
        dice: &mut Dice,
    ) {
        if dice.one_in(6) {
            self.ours.rollback(token).expect("fresh");
            reservation.rollback();
            return;
        }
        self.ours.commit(token).expect("fresh");
        reservation.commit();
        let lock = reservation.lock().clone();
        if order.quantity.is_none() {
            // A unit of the ninth decimal of the base asset.
            self.slack += 1_000_000_000;
        }
        let left = order.quantity.unwrap_or(Quantity::ZERO);
        self.open.push(Open {
            token,
            order: *order,
            lock,
            left,
        });
    }

    fn report(
        &mut self,
        open: &Open,
        left: PeerQuantity,
        qty: Quantity,
        at: Price,
        is_final: bool,
        money: (i64, i64),
    ) {
        let (fee, pnl) = money;
        let amount = |raw: i64| Amount::from_raw(i128::from(raw) * 10_000_000_000_000_000);
        let mut ours = report(&open.order, Some(open.token));
        (ours.quantity, ours.price, ours.is_final) = (qty, at, is_final);
        (ours.fee, ours.pnl) = (amount(fee), amount(pnl));
        let outcome = self
            .ours
            .apply_execution_report(&ours, ms(0))
            .expect("ours");
        let peer = PeerReport {
            instrument: self.instrument(open.order.instrument).1.clone(),
            account: PeerAccount::from_u64(open.order.account.0),
            side: risk_peer::side(open.order.side),
            trade: (!qty.is_zero()).then(|| Trade {
                price: risk_peer::price(at),
                quantity: risk_peer::quantity(qty),
            }),
            fee: Fee::from_str(&amount(fee).to_string()).expect("a fee"),
            fee_asset: risk_peer::asset("USD"),
            pnl: Pnl::from_str(&amount(pnl).to_string()).expect("a profit"),
            remaining: left,
            is_final,
            lock: open.lock.clone(),
        };
        let result = self.peer.apply_execution_report(&peer);
        let theirs = result
            .account_blocks
            .first()
            .map(|block| block.code.to_string());
        // The peer names a block again that is there; we name new ones.
        if let Some(cause) = outcome.blocked {
            assert_eq!(Some(cause.to_string()), theirs, "block by {ours:?}");
        } else if theirs.is_some() {
            let blocked = self.ours.block_of(open.order.account).expect("known");
            assert!(blocked.is_some(), "only the peer blocks for {ours:?}");
        }
    }

    fn trade(&mut self, dice: &mut Dice) {
        if self.open.is_empty() {
            return;
        }
        let which = usize::try_from(dice.below(self.open.len() as u64)).expect("small");
        let mut open = self.open.swap_remove(which);
        let money = (dice.raw(7) - 2, dice.raw(41) - 20);
        let by_volume = open.order.quantity.is_none();
        let lock = open
            .lock
            .prices_of(DEFAULT_POLICY_GROUP_ID)
            .next()
            .and_then(|price| price.to_string().parse::<Price>().ok())
            .expect("an accepted order has a lock price of few decimals");
        if by_volume && open.left.is_zero() {
            let volume = open.order.volume.expect("by volume");
            let magnitude = lock.checked_abs().expect("not the smallest");
            open.left = volume
                .quantity_at(magnitude, Rounding::Down)
                .expect("in range")
                .quotient;
        }
        let fills = open.left.raw();
        let is_final = by_volume || dice.one_in(3);
        let qty = Quantity::from_raw(match dice.below(4) {
            0 if is_final => 0,
            1 => fills,
            _ => i64::try_from(dice.below(u64::try_from(fills).expect("positive") + 1))
                .expect("small"),
        });
        let near = open.order.price.unwrap_or(lock).raw();
        // A volume is used up at its lock price or better, or it is overfilled.
        let span = if by_volume { 1 } else { 3_000_000_000 };
        let at = Price::from_raw(near + dice.raw(span) - dice.raw(span));
        open.left = open.left.checked_sub(qty).expect("not more than is left");
        let left = if by_volume {
            let exact = Decimal::try_from(open.order.volume.expect("by volume")).expect("small")
                / Decimal::from(lock.checked_abs().expect("not the smallest"))
                - Decimal::from(qty);
            PeerQuantity::from_str(&exact.to_string()).expect("in range")
        } else {
            risk_peer::quantity(open.left)
        };
        self.report(&open, left, qty, at, is_final, money);
        if !is_final {
            self.open.push(open);
        }
    }

    fn compare(&self) {
        for account in ACCOUNTS {
            for (name, asset) in ASSETS {
                let zero = AdjustmentAmount::Delta(risk_peer::position(Amount::ZERO));
                let probe = PeerAdjustment {
                    asset: risk_peer::asset(name),
                    balance: Some(zero),
                    held: Some(zero),
                    incoming: Some(zero),
                };
                let result = self
                    .peer
                    .apply_account_adjustment(PeerAccount::from_u64(account.0), &[probe])
                    .unwrap_or_else(|_| panic!("a zero change"));
                let mut theirs = [String::new(), String::new(), String::new()];
                for outcome in &result.outcomes {
                    let entry = &outcome.entry;
                    for (at, amount) in [entry.balance, entry.held, entry.incoming]
                        .iter()
                        .enumerate()
                    {
                        if let Some(amount) = amount {
                            theirs[at] = amount.absolute.to_string();
                        }
                    }
                }
                let balance = self.ours.balance(account, asset);
                for (at, ours) in [balance.available, balance.held, balance.incoming]
                    .iter()
                    .enumerate()
                {
                    let peer = parse(&theirs[at]);
                    let off = (ours.raw() - peer).abs();
                    // The peer's dust: more decimals than a balance of ours has.
                    let dust =
                        i128::from(theirs[at].split('.').nth(1).is_some_and(|d| d.len() > 18));
                    assert!(
                        off <= self.slack + dust,
                        "{account} {name} figure {at}: ours {ours}, theirs {}, slack {}",
                        theirs[at],
                        self.slack
                    );
                }
            }
        }
    }
}

/// The peer's text, which has up to 28 decimals, cut to ours.
fn parse(text: &str) -> i128 {
    if text.is_empty() {
        return 0;
    }
    let cut = text
        .find('.')
        .map_or(text.len(), |dot| text.len().min(dot + 19));
    text[..cut].parse::<Amount>().expect("a number").raw()
}

/// Whether a rounding decided about an order, and ended it early.
fn sequence(seed: u64) -> bool {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    for _ in 0..8 {
        dice.next();
    }
    let settings = Settings::roll(&mut dice);
    let mut pair = settings.pair();
    for _ in 0..40 {
        step(&mut pair, &mut dice, &settings);
        if pair.parted {
            return true;
        }
    }
    pair.compare();
    false
}

fn random_order(dice: &mut Dice, settings: &Settings) -> Order {
    let account = dice.pick(&ACCOUNTS);
    let side = dice.pick(&[Side::Buy, Side::Sell]);
    let units = dice.pick(&[1, 1_000, 500_000_000, 1_000_000_000]);
    let prices = if settings.non_positive { 30 } else { 0 };
    let mut order = Order {
        instrument: dice.pick(&[AAPL_USD, BTC_USD]),
        quantity: Some(Quantity::from_raw(dice.raw(12) * units)),
        price: Some(Price::from_raw(
            (dice.raw(200) - prices).max(1 - prices.min(31)) * 500_000_000,
        )),
        ..limit(account, side, "1", "1")
    };
    if dice.one_in(5) {
        order.quantity = None;
        order.volume = Some(Amount::from_raw(
            i128::from(dice.raw(300)) * 1_000_000_000_000_000_000,
        ));
    }
    if dice.one_in(4) {
        (order.order_type, order.price) = (OrderType::Market, None);
    }
    order
}

fn step(pair: &mut Pair, dice: &mut Dice, settings: &Settings) {
    let account = dice.pick(&ACCOUNTS);
    let peer_account = PeerAccount::from_u64(account.0);
    match dice.below(16) {
        0..=6 => {
            let order = random_order(dice, settings);
            pair.order(&order, dice);
        }
        7..=10 => pair.trade(dice),
        11 => {
            let (name, asset) = dice.pick(&ASSETS);
            let amount =
                Amount::from_raw(i128::from(dice.raw(2_000) - 300) * 1_000_000_000_000_000_000);
            let (ours, theirs) = if dice.one_in(2) {
                (
                    Change::Absolute(amount),
                    AdjustmentAmount::Absolute(risk_peer::position(amount)),
                )
            } else {
                (
                    Change::Delta(amount),
                    AdjustmentAmount::Delta(risk_peer::position(amount)),
                )
            };
            pair.ours
                .adjust(account, &[Adjustment::available(asset, ours)])
                .expect("known");
            let theirs = PeerAdjustment {
                asset: risk_peer::asset(name),
                balance: Some(theirs),
                held: None,
                incoming: None,
            };
            pair.peer
                .apply_account_adjustment(peer_account, &[theirs])
                .unwrap_or_else(|_| panic!("an adjustment"));
        }
        12 => {
            pair.ours
                .block_account(account, RejectCode::AccountBlocked)
                .expect("known");
            pair.peer.accounts().block(peer_account, "by hand".into());
        }
        13 => {
            pair.ours.unblock_account(account).expect("known");
            pair.peer.accounts().unblock(peer_account);
        }
        14 => group_step(pair, dice, account),
        _ => quote_step(pair, dice, account),
    }
}

fn group_step(pair: &mut Pair, dice: &mut Dice, account: AccountId) {
    let peer_account = PeerAccount::from_u64(account.0);
    let number = u32::try_from(dice.below(2)).expect("small") + 1;
    let peer_group = AccountGroupId::from_u32(number).expect("not zero");
    let accounts = pair.peer.accounts();
    // The peer moves no account from group to group in one step.
    if let Some(old) = accounts.group_of(peer_account) {
        accounts
            .unregister_group(&[peer_account], old)
            .expect("a member");
        pair.ours.unregister(account).expect("known");
        return;
    }
    if accounts.register_group(&[peer_account], peer_group).is_ok() {
        pair.ours.register(account, group(number)).expect("known");
    }
}

fn quote_step(pair: &mut Pair, dice: &mut Dice, account: AccountId) {
    let (id, _, peer) = pair.instruments[usize::try_from(dice.below(2)).expect("small")].clone();
    let mark = Price::from_raw((dice.raw(200) + 1) * 400_000_000);
    let quote = Quote {
        mark: Some(mark),
        ..Quote::default()
    };
    let theirs =
        PeerQuote::new().with_mark(PeerPrice::from_str(&mark.to_string()).expect("a price"));
    let number = u32::try_from(dice.below(2)).expect("small") + 1;
    let group_id = AccountGroupId::from_u32(number).expect("not zero");
    let (target, accounts, groups) = match dice.below(3) {
        0 => (
            QuoteTarget::Account(account),
            vec![PeerAccount::from_u64(account.0)],
            vec![],
        ),
        1 => (QuoteTarget::Group(group(number)), vec![], vec![group_id]),
        _ => (QuoteTarget::All, vec![], vec![]),
    };
    pair.ours
        .set_quote(target, id, quote, ms(0))
        .expect("known");
    if target == QuoteTarget::All {
        pair.market
            .push(peer, theirs, Duration::ZERO)
            .expect("known");
    } else {
        pair.market
            .push_for(peer, theirs, Duration::ZERO, &accounts, &groups)
            .expect("known");
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a whole number"))
}

#[test]
fn k36_random_sequences_agree_with_the_peer() {
    let first = number("PITLANE_SEED", 1);
    let count = number("PITLANE_SEQUENCES", 4_000);
    let mut parted = 0;
    for seed in first..first + count {
        match std::panic::catch_unwind(|| sequence(seed)) {
            Ok(early) => parted += u64::from(early),
            Err(_) => panic!("PITLANE_SEED={seed} PITLANE_SEQUENCES=1 shows it alone"),
        }
    }
    assert!(
        parted * 50 <= count,
        "{parted} of {count} were ended by a rounding"
    );
}
