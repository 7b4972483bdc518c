//! A shard with an authority and a journal in memory, driven turn by turn.

use std::collections::BTreeMap;
use std::time::Duration;

use pitlane::journal::MemoryJournal;
use pitlane::orders::RandomIdentity;
use pitlane::orders::decision::{KeyTable, Role, SignedDecision, Signer, Size, Validity};
use pitlane::orders::executor::{Execution, Message, MessageBody, Receiver, Release};
use pitlane::risk::{AccountImage, Adjustment, Change};
use pitlane::shard::authority::{
    Allowed, Authorizer, AuthorizerSettings, Decided, Deciding, DecisionRequest, ShardReceiver,
};
use pitlane::shard::record::{Effect, ToldRecord, decode};
use pitlane::shard::{Admission, ReportBell, ReportReceiver, ShardState, VenueMemory, report_ring};
use pitlane::time::{Clock, Nanos, SimClock, UnixNanos};
use pitlane::types::{
    AccountId, Amount, AssetId, FillId, OrderType, PRICE_SCALE, Price, Quantity, RejectCode,
    ShardId, Side, TimeInForce,
};

use crate::journaled::{FarVenue, OPENING, funded};
use crate::shard_cases::{ACCOUNTS, INSTRUMENT, lots, risk};

pub(crate) const START: UnixNanos = UnixNanos(1_796_000_000_000_000_000);
pub(crate) const SKEW: Duration = Duration::from_secs(5);
pub(crate) const TTL: Duration = Duration::from_secs(60);
pub(crate) const STREAM: u64 = 7;

pub(crate) struct Rig {
    pub(crate) shard: Admission<FarVenue, RandomIdentity>,
    pub(crate) reports: ReportReceiver,
    pub(crate) authorizer: Authorizer,
    pub(crate) receiver: ShardReceiver,
    pub(crate) journal: MemoryJournal,
    pub(crate) clock: SimClock,
    pub(crate) venue: FarVenue,
    /// Whether every turn ends with a sync.
    pub(crate) syncs: bool,
    pub(crate) sequence: u64,
    starts: u64,
    now: u64,
}

pub(crate) fn signer() -> Signer {
    Signer::new("authorizer-1", Role::Authorizer, &[1; 32]).unwrap()
}

pub(crate) fn keys() -> KeyTable {
    let mut keys = KeyTable::default();
    let public = signer().public();
    keys.add(
        "authorizer-1",
        Role::Authorizer,
        &public,
        Validity::default(),
    )
    .unwrap();
    keys
}

pub(crate) fn settings(clock: &SimClock) -> AuthorizerSettings {
    let gold = BTreeMap::from([("GOLD".to_owned(), INSTRUMENT)]);
    AuthorizerSettings {
        signer: Some(signer()),
        instruments: BTreeMap::from([("sim".to_owned(), gold.clone()), ("far".to_owned(), gold)]),
        skew: SKEW,
        clock: Box::new(clock.clone()),
    }
}

type Parts = (
    Admission<FarVenue, RandomIdentity>,
    ReportReceiver,
    Authorizer,
);

/// A shard on what its journal has; ids are drawn from `seed`.
pub(crate) fn shard(
    journal: Option<&MemoryJournal>,
    venue: &FarVenue,
    clock: &SimClock,
    seed: u64,
) -> Parts {
    let (authorizer, mut ends) = Authorizer::new(settings(clock), vec![None]);
    let (mut engine, _) = risk(&funded());
    for account in 1..=ACCOUNTS {
        let opening = Change::Absolute(Amount::from_raw(OPENING));
        let both = [1, 2].map(|asset| Adjustment::available(AssetId(asset), opening));
        engine.adjust(AccountId(account), &both).unwrap();
    }
    let (sender, reports) = report_ring(&ReportBell::default());
    let identities = RandomIdentity::from_seed(seed);
    let ports = vec![sender];
    let shard = Admission::new(ShardId(0), engine, venue.clone(), identities, 1_000, ports);
    let shard = shard.with_authority(ends.pop().unwrap());
    let shard = match journal {
        None => shard,
        Some(journal) => {
            let state = state(journal);
            let shard = shard.with_journal(journal.open(), &state, VenueMemory::Kept);
            shard.unwrap()
        }
    };
    (shard, reports, authorizer)
}

pub(crate) fn state(journal: &MemoryJournal) -> ShardState {
    let mut state = ShardState::default();
    journal.read(&mut |record| state.take(record).unwrap());
    state
}

impl Rig {
    pub(crate) fn new() -> Self {
        let (journal, venue) = (MemoryJournal::new(), FarVenue::new());
        let clock = SimClock::new(START);
        let (shard, reports, authorizer) = shard(Some(&journal), &venue, &clock, 1);
        Self {
            receiver: authorizer.receiver(STREAM, Box::new(|| {})),
            shard,
            reports,
            authorizer,
            journal,
            clock,
            venue,
            syncs: true,
            sequence: 0,
            starts: 1,
            now: 1,
        }
    }

    /// The process is killed; of what is not durable `kept` groups are there.
    pub(crate) fn restart(&mut self, kept: usize) {
        self.starts += 1;
        self.journal.crash(kept);
        let (shard, reports, authorizer) = shard(
            Some(&self.journal),
            &self.venue,
            &self.clock,
            1_000 * self.starts,
        );
        self.shard = shard;
        self.reports = reports;
        self.receiver = authorizer.receiver(STREAM, Box::new(|| {}));
        self.authorizer = authorizer;
    }

    pub(crate) fn turn(&mut self) -> bool {
        self.now += 1_000_000;
        let worked = self.shard.turn(Nanos(self.now), 64);
        if self.syncs {
            self.journal.sync();
        } else {
            self.journal.write();
        }
        worked
    }

    /// Turns until there is nothing left to do.
    pub(crate) fn settle(&mut self) {
        for _ in 0..1_000 {
            let worked = self.turn();
            if !worked && (!self.syncs || !self.shard.holds_back()) {
                return;
            }
        }
        panic!("the shard never comes to rest");
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.clock.advance(time);
        self.settle();
    }

    pub(crate) fn ask(&mut self, request: &DecisionRequest) -> Deciding {
        self.authorizer.decide(request).unwrap()
    }

    pub(crate) fn decide(&mut self, request: &DecisionRequest) -> Decided {
        let mut deciding = self.ask(request);
        self.settle();
        deciding.try_take().expect("it is answered").unwrap()
    }

    pub(crate) fn allowed(&mut self, request: &DecisionRequest) -> Allowed {
        match self.decide(request) {
            Decided::Allowed(allowed) => *allowed,
            Decided::Denied(rejects) => panic!("{rejects}"),
        }
    }

    pub(crate) fn denied(&mut self, request: &DecisionRequest) -> RejectCode {
        match self.decide(request) {
            Decided::Allowed(allowed) => panic!("{allowed:?}"),
            Decided::Denied(rejects) => rejects.code(),
        }
    }

    /// Offers the next message, and sees it taken.
    pub(crate) fn tell(&mut self, body: MessageBody) {
        self.sequence += 1;
        let sequence = self.sequence;
        self.tell_as(sequence, body);
    }

    pub(crate) fn tell_as(&mut self, sequence: u64, body: MessageBody) {
        let message = Message { sequence, body };
        self.receiver.offer(&message).unwrap();
        self.settle();
        assert_eq!(self.receiver.taken(), Ok(sequence));
    }

    pub(crate) fn image(&self, account: u64) -> AccountImage {
        let risk = self.shard.risk();
        risk.account_image(AccountId(account), INSTRUMENT).unwrap()
    }

    /// What an account has of the settlement asset: available, held.
    pub(crate) fn money(&self, account: u64) -> (i128, i128) {
        let of = self.image(account).of_settlement;
        (of.available.raw(), of.held.raw())
    }

    pub(crate) fn block(&self, account: u64) -> Option<RejectCode> {
        self.shard.risk().own_block(AccountId(account))
    }

    /// Every message that was taken for good, oldest first.
    pub(crate) fn told(&self) -> Vec<ToldRecord> {
        told(&self.journal)
    }
}

pub(crate) fn told(journal: &MemoryJournal) -> Vec<ToldRecord> {
    let mut told = Vec::new();
    journal.read(&mut |record| {
        let effect = decode(record.kind, record.version, record.body).unwrap();
        if let Effect::Told(one) = effect {
            told.push(one);
        }
    });
    told
}

/// An order at a limit, in whole units.
pub(crate) fn request(account: u64, side: Side, quantity: i64, price: i64) -> DecisionRequest {
    DecisionRequest {
        agent_id: "agent-7".into(),
        user_id: "ann".into(),
        account: AccountId(account),
        venue: "sim".into(),
        instrument: "GOLD".into(),
        side,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::GoodTillCancel,
        size: Size::Quantity(lots(quantity)),
        price: Some(at(price)),
        stop_price: None,
        good_till: None,
        ttl: TTL,
    }
}

pub(crate) fn at(price: i64) -> Price {
    Price::from_raw(price * PRICE_SCALE)
}

pub(crate) fn units(whole: i64) -> i128 {
    Amount::from_raw(i128::from(whole) * i128::from(PRICE_SCALE)).raw() * i128::from(PRICE_SCALE)
}

/// An execution of an allowed order.
pub(crate) fn execution(allowed: &Allowed, fill: u64, quantity: i64, price: i64) -> Execution {
    let decision = &allowed.decision;
    let grant = decision.grant.as_ref().unwrap();
    Execution {
        fill_id: FillId(fill),
        user_id: decision.user_id.clone(),
        account_id: Some(decision.account_id),
        instrument: decision.instrument.clone(),
        side: Some(decision.side),
        qty: Quantity::from_raw(quantity * PRICE_SCALE),
        price: at(price),
        fee: Amount::ZERO,
        reservation_id: grant.reservation_id.clone(),
        client_order_id: grant.client_order_id,
        venue: decision.venue.clone(),
        external: false,
        release_remainder: false,
    }
}

pub(crate) fn release(allowed: &Allowed) -> MessageBody {
    let decision = &allowed.decision;
    let grant = decision.grant.as_ref().unwrap();
    MessageBody::Release(Release {
        reservation_id: grant.reservation_id.clone(),
        account_id: decision.account_id,
        client_order_id: grant.client_order_id,
    })
}

/// The decision in a body, as its executor reads it.
pub(crate) fn read(allowed: &Allowed, clock: &SimClock) -> SignedDecision {
    SignedDecision::read(allowed.body.as_bytes(), &keys(), clock.wall()).unwrap()
}
