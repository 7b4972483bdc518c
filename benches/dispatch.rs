//! P8: publish, admit and deliver, beside a `VecDeque` of boxed closures.
//!
//! `cargo bench --bench dispatch` runs both in turn, many times, and prints the
//! ratio of each pair; an absolute figure means little on a shared host. Both carry
//! a report to every subscriber, and both run behind a dynamic call. Only ours
//! keeps an order across nested publications, counts storage, charges roots and
//! contains panics.

#[path = "dispatch/publish.rs"]
mod publish;

use std::cell::Cell;
use std::collections::VecDeque;
use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};

use publish::{Ours, PUBLICATIONS, REPORT, work};

const PAIRS: usize = 31;

type Closure = Box<dyn FnOnce()>;

struct Peer {
    queue: VecDeque<Closure>,
    subscribers: usize,
    total: Rc<Cell<u64>>,
}

impl Peer {
    fn run(&mut self, burst: u32) -> Duration {
        let start = Instant::now();
        for _ in 0..PUBLICATIONS / burst {
            for _ in 0..burst {
                for _ in 0..self.subscribers {
                    let (total, report) = (Rc::clone(&self.total), black_box(REPORT));
                    self.queue
                        .push_back(Box::new(move || work(&total, &report)));
                }
            }
            while let Some(callback) = self.queue.pop_front() {
                callback();
            }
        }
        start.elapsed()
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    println!("P8: time of ours / time of a VecDeque of boxed closures, median of {PAIRS} pairs");
    for (subscribers, burst) in [(1, 1), (1, 64), (4, 1), (4, 16)] {
        let ours = Ours::new(subscribers);
        let mut peer = Peer {
            queue: VecDeque::new(),
            subscribers,
            total: Rc::default(),
        };
        let (mut ratios, mut ours_ns, mut peer_ns) = (Vec::new(), Vec::new(), Vec::new());
        ours.run(burst);
        peer.run(burst);
        let callbacks = f64::from(PUBLICATIONS) * subscribers as f64;
        for pair in 0..PAIRS {
            // Who goes first alternates too.
            let (own, other) = if pair % 2 == 0 {
                let own = ours.run(burst);
                (own, peer.run(burst))
            } else {
                let other = peer.run(burst);
                (ours.run(burst), other)
            };
            ratios.push(own.as_secs_f64() / other.as_secs_f64());
            ours_ns.push(own.as_secs_f64() * 1e9 / callbacks);
            peer_ns.push(other.as_secs_f64() * 1e9 / callbacks);
        }
        println!(
            "{subscribers} subscribers, bursts of {burst:2}: {:.2}   ({:.0} against {:.0} ns a callback)",
            median(ratios),
            median(ours_ns),
            median(peer_ns),
        );
        assert_eq!(
            ours.total.get(),
            peer.total.get(),
            "both did all of the work"
        );
    }
}
