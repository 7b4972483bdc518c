//! A configuration that is swapped under load (fault 27): each request sees one
//! version of it, and every shard takes the versions in one order.

#[path = "risk_support/mod.rs"]
mod risk_support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use pitlane::lanes::{Desk, EngineBuilder, LaneKey, Wait};
use pitlane::risk::{RiskConfig, RiskEngine, SharedLimits};
use pitlane::time::Nanos;
use pitlane::types::{AccountId, Order, RejectCode};
use risk_support::{ONE, THREE, TWO, buy, codes, config_with, engine};

const SWAPS: u32 = 60;
/// The first version is odd. Both refuse 15 at 10, each for its own reason; a
/// mixture of the two accepts it, or has both reasons.
const ODD: &str = "order_size = [{max_quantity = '10', max_notional = '1000000'}]";
const EVEN: &str = "order_size = [{max_quantity = '1000', max_notional = '100'}]";

fn reasons(config: &RiskConfig, order: &Order) -> Vec<RejectCode> {
    let refused = engine(config).check_order(order, Nanos::default());
    codes(&refused.expect_err("both versions refuse it"))
}

#[test]
fn f27_each_request_sees_one_version_of_the_configuration() {
    let versions = [config_with(EVEN), config_with(ODD)];
    let expected =
        [&versions[0], &versions[1]].map(|config| reasons(config, &buy(ONE, "15", "10")));
    assert_ne!(expected[0], expected[1]);
    let first = versions[1].clone();
    let shared = Arc::new(SharedLimits::new(&first).expect("a sound configuration"));
    let lanes = EngineBuilder::new()
        .shards(2)
        .build(move |shard| {
            let mine = |account| LaneKey::Account(account).shard(2) == shard;
            let engine = RiskEngine::with_accounts(&first, shard, Arc::clone(&shared), mine);
            Desk::new(shard, engine.expect("a sound configuration"))
        })
        .map(Arc::new)
        .expect("engine");
    let sequencer = lanes.sequencer().expect("sequencer");
    let over = Arc::new(AtomicBool::new(false));
    let requests = Arc::new(AtomicU64::new(0));
    // The version that every shard has, as far as the swapper knows.
    let everywhere = Arc::new(AtomicU32::new(1));
    let senders: Vec<_> = [ONE, TWO, THREE]
        .map(|account: AccountId| {
            let (lanes, expected) = (Arc::clone(&lanes), expected.clone());
            let (over, requests) = (Arc::clone(&over), Arc::clone(&requests));
            let everywhere = Arc::clone(&everywhere);
            thread::spawn(move || {
                let mut submitter = lanes.submitter().expect("submitter");
                let order = buy(account, "15", "10");
                let (mut last, mut seen) = (0, 0u32);
                while !over.load(Ordering::Acquire) {
                    let at_least = everywhere.load(Ordering::Acquire);
                    let version = |desk: &mut Desk<RiskEngine>| desk.driver().config_version();
                    let mut before = submitter.submit(account, version);
                    let mut typed = submitter.execute_pre_trade(order, Wait::ForRoom);
                    let mut whole =
                        submitter.submit(account, move |desk: &mut Desk<RiskEngine>| {
                            let engine = desk.driver();
                            let verdict = engine.check_order(&order, Nanos::default());
                            (engine.config_version(), verdict)
                        });
                    let before = before.wait().expect("ran");
                    let refused = typed.wait().expect("ran").map(drop).expect_err("refused");
                    let (version, verdict) = whole.wait().expect("ran");
                    let reasons = codes(&verdict.expect_err("refused"));
                    assert_eq!(reasons, expected[version as usize % 2], "of its version");
                    assert!(last <= before && before <= version, "never an older one");
                    assert!(at_least <= before, "a swap that is over is seen");
                    let refused = codes(&refused);
                    assert!(expected.contains(&refused), "a mixture: {refused:?}");
                    if before == version {
                        assert_eq!(refused, reasons, "the version between the two");
                    }
                    seen += u32::from(version != last);
                    last = version;
                    requests.fetch_add(1, Ordering::Release);
                }
                seen
            })
        })
        .into_iter()
        .collect();
    for swap in 0..SWAPS {
        // Under load: each version judges some requests.
        let so_far = requests.load(Ordering::Acquire);
        while requests.load(Ordering::Acquire) < so_far + 4 {
            assert!(
                !senders.iter().all(thread::JoinHandle::is_finished),
                "they failed"
            );
            thread::yield_now();
        }
        let config = Arc::new(versions[swap as usize % 2].clone());
        let swapped = sequencer
            .everywhere(move |desk: &mut Desk<RiskEngine>| desk.driver().reconfigure(&config))
            .expect("running");
        for outcome in swapped.wait() {
            assert_eq!(
                outcome.expect("ran").expect("sound"),
                swap + 2,
                "on each shard"
            );
        }
        everywhere.store(swap + 2, Ordering::Release);
    }
    over.store(true, Ordering::Release);
    let seen: u32 = senders
        .into_iter()
        .map(|sender| sender.join().expect("one version each"))
        .sum();
    // Of four requests after a swap, at most one for each sender began before it.
    assert!(seen + 1 >= SWAPS, "{seen} of {SWAPS}");
    let report = lanes.stop_graceful(Duration::from_secs(20)).expect("stop");
    assert!(report.is_balanced() && report.panicked == 0, "{report:?}");
}
