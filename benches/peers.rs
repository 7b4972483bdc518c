//! Pre-trade risk beside `openpit` 0.11.0, alternating in one run: targets P1
//! to P3. `cargo bench --bench peers`.
//!
//! Timed is start + execute + commit. Our working orders end outside of the
//! timed part, for the peer keeps none; quotes, seeds and limits are the same
//! on both sides. The peer reads the clock for each order; a shard reads it once
//! for a chunk of its ring, here 64 orders, inside of the timed part.

#[path = "../tests/support/counting_allocator.rs"]
mod counting_allocator;
#[path = "peers/ours.rs"]
mod ours;
#[path = "../tests/risk_peer/mod.rs"]
mod risk_peer;

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use counting_allocator::{CountingAllocator, counted};
use openpit::param::{AccountId as PeerAccount, AdjustmentAmount, Pnl, PositionSize, Volume};
use openpit::pretrade::policies::{
    OrderSizeBrokerBarrier, OrderSizeLimit, OrderSizeLimitPolicy, OrderSizeLimitSettings,
    OrderValidationPolicy, PnlBoundsBrokerBarrier, PnlBoundsKillSwitchPolicy,
    PnlBoundsKillSwitchSettings, RateLimit, RateLimitAccountBarrier, RateLimitBrokerBarrier,
    RateLimitPolicy, RateLimitSettings, SpotFundsPolicy, SpotFundsPricingSource, SpotFundsSettings,
};
use openpit::{
    Engine, FullSyncEngine, LocalEngine, LocalSync, OrderOperation, SpotFundsMarketData,
};
use ours::{ACCOUNTS, BATCH, LIMIT, Ours, WINDOW, config, order, rates};
use pitlane::host::{PinOutcome, Target, allowed_cpus, pin_current_thread};
use pitlane::risk::{InstrumentConfig, SharedLimits};
use pitlane::types::{AssetId, InstrumentId, Order, Quantity};
use risk_peer::{PeerAdjustment, PeerReport, asset, instrument};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const ROUNDS: usize = 61;

type PeerLocal = LocalEngine<OrderOperation, PeerReport, PeerAdjustment>;
type PeerFull = FullSyncEngine<OrderOperation, PeerReport, PeerAdjustment>;

fn peer_rate() -> RateLimitSettings {
    let limit = RateLimit {
        max_orders: LIMIT,
        window: WINDOW,
    };
    let own = (0..ACCOUNTS).map(|id| RateLimitAccountBarrier {
        limit: limit.clone(),
        account_id: PeerAccount::from_u64(id),
    });
    RateLimitSettings::new(
        Some(RateLimitBrokerBarrier {
            limit: limit.clone(),
        }),
        [],
        own,
        [],
    )
    .expect("sound")
}

fn peer_simple() -> PeerLocal {
    let builder = Engine::builder::<OrderOperation, PeerReport, PeerAdjustment>().no_sync();
    let rate = RateLimitPolicy::new(peer_rate(), builder.storage_builder());
    builder
        .pre_trade(OrderValidationPolicy::new())
        .pre_trade(rate)
        .build()
        .expect("sound")
}

fn peer_full() -> PeerFull {
    let builder = Engine::builder::<OrderOperation, PeerReport, PeerAdjustment>().full_sync();
    let rate = RateLimitPolicy::new(peer_rate(), builder.storage_builder());
    builder
        .pre_trade(OrderValidationPolicy::new())
        .pre_trade(rate)
        .build()
        .expect("sound")
}

fn peer_everything() -> PeerLocal {
    let builder = Engine::builder::<OrderOperation, PeerReport, PeerAdjustment>().no_sync();
    let rate = RateLimitPolicy::new(peer_rate(), builder.storage_builder());
    let limit = OrderSizeLimit {
        max_quantity: Some(risk_peer::quantity(Quantity::from_raw(
            1_000_000_000_000_000,
        ))),
        max_notional: Some(Volume::from_str("1000000000").expect("a volume")),
    };
    let size = OrderSizeLimitSettings::new(Some(OrderSizeBrokerBarrier { limit }), [], []);
    let bound = PnlBoundsBrokerBarrier {
        settlement_asset: asset("USD"),
        lower_bound: Some(Pnl::from_str("-1000000").expect("a bound")),
        upper_bound: None,
    };
    let pnl = PnlBoundsKillSwitchSettings::new([bound], []).expect("sound");
    let pnl = PnlBoundsKillSwitchPolicy::new(pnl, builder.storage_builder());
    let funds = SpotFundsSettings::new(0, SpotFundsPricingSource::Mark, std::iter::empty());
    let funds = SpotFundsPolicy::<LocalSync, LocalSync>::new(
        funds.expect("sound"),
        None::<SpotFundsMarketData<LocalSync>>,
        builder.storage_builder(),
    );
    let engine = builder
        .pre_trade(OrderValidationPolicy::new())
        .pre_trade(rate)
        .pre_trade(OrderSizeLimitPolicy::new(size.expect("sound")))
        .pre_trade(pnl)
        .pre_trade(funds)
        .build()
        .expect("sound");
    for id in 0..ACCOUNTS {
        let seeds = ["AAPL", "USD"].map(|name| PeerAdjustment {
            asset: asset(name),
            balance: Some(AdjustmentAmount::Absolute(
                PositionSize::from_str("1000000000000").expect("an amount"),
            )),
            held: None,
            incoming: None,
        });
        engine
            .apply_account_adjustment(PeerAccount::from_u64(id), &seeds)
            .expect("seeded");
    }
    engine
}

fn peer_orders(orders: &[Order]) -> Vec<OrderOperation> {
    let traded = instrument("AAPL", "USD");
    orders
        .iter()
        .map(|order| risk_peer::order(order, &traded))
        .collect()
}

macro_rules! peer_batch {
    ($engine:expr, $orders:expr) => {{
        // The peer takes its orders by value; they are cloned beforehand.
        let mut timed = Duration::ZERO;
        for chunk in $orders.chunks(64) {
            let chunk = chunk.to_vec();
            let start = Instant::now();
            for order in chunk {
                let request = $engine
                    .start_pre_trade(black_box(order))
                    .ok()
                    .expect("accepted");
                let mut reservation = request.execute().ok().expect("accepted");
                reservation.commit();
            }
            timed += start.elapsed();
        }
        timed
    }};
}

struct Row {
    name: &'static str,
    ours: f64,
    peer: f64,
    wanted: f64,
    allocations: (f64, f64),
}

#[allow(clippy::cast_precision_loss)] // Figures for people.
fn per_order(mut times: Vec<Duration>, orders: u64) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_nanos() as f64 / orders as f64
}

#[allow(clippy::cast_precision_loss)] // Figures for people.
fn compare(
    name: &'static str,
    wanted: f64,
    mut ours: impl FnMut() -> Duration,
    mut peer: impl FnMut() -> Duration,
) -> Row {
    let (mut our_times, mut peer_times) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS + 5 {
        let (one, other) = (ours(), peer());
        if round >= 5 {
            our_times.push(one);
            peer_times.push(other);
        }
    }
    // Ours ends its orders in the counted part too; the peer's clones of its
    // orders share their names and cost one list.
    let (_, our_counts) = counted(&mut ours);
    let (_, peer_counts) = counted(&mut peer);
    Row {
        name,
        ours: per_order(our_times, BATCH),
        peer: per_order(peer_times, BATCH),
        wanted,
        allocations: (
            our_counts.allocations as f64 / BATCH as f64,
            peer_counts.allocations as f64 / BATCH as f64,
        ),
    }
}

/// Two threads, each with its own accounts, pinned and starting every batch
/// together: our two shards share a broker limit, the peer's threads share its
/// engine.
#[allow(clippy::cast_precision_loss)] // Figures for people.
fn two_threads() -> Row {
    let config = config(&format!("spot_funds = {{enabled = false}}\n{}", rates()));
    let shared = Arc::new(SharedLimits::new(&config).expect("sound"));
    let peer = Arc::new(peer_full());
    let start = Arc::new(SpinBarrier::default());
    let cpus = allowed_cpus();
    let threads: Vec<_> = (0..2u16)
        .map(|shard| {
            let (config, shared) = (config.clone(), Arc::clone(&shared));
            let (peer, start) = (Arc::clone(&peer), Arc::clone(&start));
            let cpu = cpus.get(usize::from(shard)).copied();
            std::thread::spawn(move || {
                let pinned = cpu.is_some_and(|cpu| {
                    pin_current_thread(Target::Allowed(cpu)) == PinOutcome::Pinned(cpu)
                });
                let first = u64::from(shard) * ACCOUNTS / 2;
                let orders: Vec<_> = (0..BATCH)
                    .map(|n| order(n, first..first + ACCOUNTS / 2))
                    .collect();
                let theirs = peer_orders(&orders);
                let mut ours = Ours::new(&config, &shared, shard, orders);
                let (mut our_times, mut peer_times) = (Vec::new(), Vec::new());
                for round in 0..ROUNDS + 5 {
                    start.wait();
                    let one = Taken::by(|| ours.batch());
                    start.wait();
                    let other = Taken::by(|| peer_batch!(peer, theirs));
                    if round >= 5 {
                        our_times.push(one);
                        peer_times.push(other);
                    }
                }
                start.wait();
                let (_, our_counts) = counted(|| ours.batch());
                start.wait();
                let (_, peer_counts) = counted(|| peer_batch!(peer, theirs));
                start.wait();
                Seen {
                    pinned,
                    ours: our_times,
                    peer: peer_times,
                    allocations: (our_counts.allocations, peer_counts.allocations),
                }
            })
        })
        .collect();
    let sides: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().expect("no panic"))
        .collect();
    if sides.iter().any(|side| !side.pinned) {
        eprintln!("P3: the threads are not pinned, as there are not two CPUs for them");
    }
    let both = |of: fn(&Seen) -> &[Taken]| {
        let pairs = of(&sides[0]).iter().zip(of(&sides[1]));
        // A round in which one of the two waited for a CPU compares nothing.
        let whole: Vec<_> = pairs
            .filter(|(one, other)| one.ran() && other.ran())
            .collect();
        let skipped = of(&sides[0]).len() - whole.len();
        let times = whole
            .iter()
            .map(|(one, other)| (one.timed + other.timed) / 2);
        (times.collect::<Vec<_>>(), skipped)
    };
    let (ours, ours_skipped) = both(|side| &side.ours);
    let (peers, peers_skipped) = both(|side| &side.peer);
    if ours.is_empty() || peers.is_empty() {
        eprintln!("P3: the host never ran both threads at once; nothing is compared");
    } else if ours_skipped + peers_skipped > 0 {
        eprintln!(
            "P3: of {ROUNDS} rounds, {ours_skipped} of ours and {peers_skipped} of the \
             peer's are left out, as a thread waited for its CPU"
        );
    }
    Row {
        name: "P3 two shards, one broker limit",
        ours: per_order(ours, BATCH),
        peer: per_order(peers, BATCH),
        wanted: 15.0,
        allocations: sides.iter().fold((0.0, 0.0), |sum, side| {
            (
                sum.0 + side.allocations.0 as f64 / (2 * BATCH) as f64,
                sum.1 + side.allocations.1 as f64 / (2 * BATCH) as f64,
            )
        }),
    }
}

/// What one of the two threads saw.
struct Seen {
    pinned: bool,
    ours: Vec<Taken>,
    peer: Vec<Taken>,
    allocations: (u64, u64),
}

/// One batch of one thread: the timed part, all of it, and its CPU time.
struct Taken {
    timed: Duration,
    wall: Duration,
    cpu: Duration,
}

impl Taken {
    fn by(batch: impl FnOnce() -> Duration) -> Self {
        let (start, cpu) = (Instant::now(), thread_cpu_time());
        let timed = batch();
        Self {
            timed,
            wall: start.elapsed(),
            cpu: thread_cpu_time().saturating_sub(cpu),
        }
    }

    /// Whether it had its CPU, but for one part in fifty.
    fn ran(&self) -> bool {
        self.cpu + self.wall / 50 >= self.wall
    }
}

fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Two threads meet, without a system call, so that both are hot when they go.
#[derive(Default)]
struct SpinBarrier(AtomicUsize);

impl SpinBarrier {
    fn wait(&self) {
        let arrival = self.0.fetch_add(1, Ordering::AcqRel);
        let both = arrival / 2 * 2 + 2;
        let mut spins = 0u32;
        while self.0.load(Ordering::Acquire) < both {
            core::hint::spin_loop();
            spins += 1;
            if spins > 100_000 {
                std::thread::yield_now();
            }
        }
    }
}

const EVERYTHING: &str = "
order_size = [{max_quantity = '1000000', max_notional = '1000000000'}]
collar = [{above_bps = 1000, below_bps = 1000}]
pnl = {rules = [{asset = 'USD', lower = '-1000000'}]}
position = [{long = '1000000000', short = '1000000000'}]
duplicate = {repeats = 1000000, window_ms = 1}
restricted = [{instrument = 'none', mode = 'forbid'}]
open_orders = [{limit = 100000}]
";

/// Runs the rows whose names begin with an argument; all of them without one.
fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let runs =
        |name: &str| wanted.is_empty() || wanted.iter().any(|arg| name.starts_with(arg.as_str()));
    let orders: Vec<_> = (0..BATCH)
        .map(|number| order(number, 0..ACCOUNTS))
        .collect();
    println!(
        "| work | ours, ns | openpit 0.11.0, ns | times as fast | wanted | allocations: ours | theirs |"
    );
    println!("|---|---|---|---|---|---|---|");
    if runs("P1") {
        print(&first(&orders));
    }
    if runs("P2") {
        print(&second(&orders));
    }
    if runs("P3") {
        print(&two_threads());
    }
}

fn first(orders: &[Order]) -> Row {
    let theirs = peer_orders(orders);
    let simple = config(&format!("spot_funds = {{enabled = false}}\n{}", rates()));
    let shared = Arc::new(SharedLimits::new(&simple).expect("sound"));
    let mut ours = Ours::new(&simple, &shared, 0, orders.to_vec());
    let peer = peer_simple();
    compare(
        "P1 validation, broker and account rate",
        4.0,
        || ours.batch(),
        || peer_batch!(peer, theirs),
    )
}

fn second(orders: &[Order]) -> Row {
    let theirs = peer_orders(orders);
    let mut everything = config(&format!("{EVERYTHING}{}", rates()));
    // A list that restricts, but not what is traded here.
    everything.instruments.push(InstrumentConfig {
        id: InstrumentId(2),
        name: Some("none".into()),
        base: AssetId(3).into(),
        settlement: AssetId(2).into(),
        allow_non_positive_price: false,
    });
    let shared = Arc::new(SharedLimits::new(&everything).expect("sound"));
    let mut ours = Ours::new(&everything, &shared, 0, orders.to_vec());
    let peer = peer_everything();
    compare(
        "P2 every policy",
        5.0,
        || ours.batch(),
        || peer_batch!(peer, theirs),
    )
}

fn print(row: &Row) {
    println!(
        "| {} | {:.0} | {:.0} | {:.1} | {:.0} | {:.2} | {:.2} |",
        row.name,
        row.ours,
        row.peer,
        row.peer / row.ours,
        row.wanted,
        row.allocations.0,
        row.allocations.1
    );
}
