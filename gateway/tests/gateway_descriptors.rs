//! Descriptors: flat over many connections, and running out of them. One test,
//! because the limit and the count are the whole process's.

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use pitlane::types::ClientReference;
use pitlane_gateway::client::Event;
use pitlane_gateway::server::IoChoice;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use support::raw::Raw;
use support::{Setup, account, event, order};

fn descriptors() -> BTreeSet<u64> {
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str().unwrap().parse().unwrap();
    let all: Vec<u64> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .map(|entry| number(entry.unwrap()))
        .collect();
    // The one that was used to look is gone again.
    all.into_iter()
        .filter(|number| Path::new(&format!("/proc/self/fd/{number}")).exists())
        .collect()
}

/// The limit under which `free` more descriptors can be had.
fn limit_for(free: usize) -> u64 {
    let used = descriptors();
    let last = (0..).filter(|number| !used.contains(number)).nth(free - 1);
    last.unwrap() + 1
}

fn limit_descriptors(current: Option<u64>) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
}

#[test]
fn g17_f37_descriptors_stay_flat_and_their_end_pauses_accepting() {
    for io in [IoChoice::Uring, IoChoice::Epoll] {
        flat(io);
        exhausted(io);
    }
}

fn flat(io: IoChoice) {
    let gateway = Setup::new(io).start();
    let mut client = gateway.client(2);
    let before = descriptors().len();
    for _ in 0..1_000 {
        let mut raw = Raw::connect(gateway.handle.address());
        raw.next();
    }
    gateway.await_stats("all gone", |stats| stats.connections == 1);
    let stats = gateway.await_stats("counted", |stats| stats.accepted == 1_001);
    assert_eq!((stats.lost, stats.turned_away), (1_000, 0));
    assert_eq!(descriptors().len(), before);
    client
        .sender()
        .new_order(ClientReference(1), &order(account(2)))
        .unwrap();
    client.sender().flush().unwrap();
    assert!(matches!(event(&mut client), Event::Accepted(_)));
}

fn exhausted(io: IoChoice) {
    let mut setup = Setup::new(io);
    setup.config.accept_pause = Duration::from_millis(20);
    let gateway = setup.start();
    let mut client = gateway.client(2);
    let before = getrlimit(Resource::Nofile).current;
    // Room for one connection's two ends, and then for one end alone.
    limit_descriptors(Some(limit_for(3)));
    let mut first = Raw::connect(gateway.handle.address());
    assert!(first.next().is_some());
    let mut second = Raw::connect(gateway.handle.address());
    gateway.await_stats("paused", |stats| stats.accept_pauses >= 2);
    // Who is there is served all the same.
    client
        .sender()
        .new_order(ClientReference(1), &order(account(2)))
        .unwrap();
    client.sender().flush().unwrap();
    assert!(matches!(event(&mut client), Event::Accepted(_)));
    assert_eq!(gateway.handle.stats().accepted, 2);
    // A descriptor comes free, and the one that waited is let in.
    drop(first);
    assert!(second.next().is_some());
    limit_descriptors(before);
}
