//! The gateway beside a bare tokio-uring echo of the same sizes, alternating,
//! with a core that only accepts (targets P11 to P13, without the shard).
//!
//! `cargo bench -p pitlane-gateway --bench gateway` prints a line per target.
//! `ROUNDS` (default 5) and `SECONDS` (default 1) say how long it takes.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use pitlane::types::ClientReference;
use pitlane_gateway::server::IoChoice;
use pitlane_gateway::wire::{FromGateway, NewOrder};

use support::desk::{frame, negotiate};
use support::raw::{Raw, establish};
use support::{Gateway, PATIENCE, Setup, account, credential, key, order};

/// Frames as they are on the wire.
const ORDER: usize = 68;
const ACCEPTED: usize = 108;

fn main() {
    let number = |name: &str, default: u64| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let rounds = number("ROUNDS", 5);
    let time = Duration::from_secs(number("SECONDS", 1));
    let echo = echo();
    let start = |io| {
        Setup {
            credentials: (1..=64).map(credential).collect(),
            ..Setup::new(io)
        }
        .start()
    };
    let uring = start(IoChoice::Uring);
    let epoll = start(IoChoice::Epoll);
    println!("io: {:?} and {:?}", uring.handle.io(), epoll.handle.io());
    let mut table: Vec<(&str, Vec<[f64; 3]>)> = Vec::new();
    for (name, connections, window) in [
        ("P11 p50 ns, 1 in flight", 1, 1),
        ("P12 messages/s, 1 connection, window 256", 1, 256),
        ("P13 messages/s, 64 connections, window 64", 64, 64),
    ] {
        let mut rows = Vec::new();
        for _ in 0..rounds {
            let measure = |sides: Vec<Box<dyn Side>>| {
                if window == 1 {
                    p50_ns(sides, time)
                } else {
                    rate(sides, window, time)
                }
            };
            rows.push([
                measure((0..connections).map(|_| bare(echo)).collect()),
                measure((1..=connections).map(|id| ours(&uring, id)).collect()),
                measure((1..=connections).map(|id| ours(&epoll, id)).collect()),
            ]);
        }
        table.push((name, rows));
    }
    println!(
        "{:42} {:>12} {:>12} {:>12}   ratios",
        "", "echo", "uring", "epoll"
    );
    for (name, rows) in table {
        let median = |pick: &dyn Fn(&[f64; 3]) -> f64| {
            let mut values: Vec<f64> = rows.iter().map(pick).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        println!(
            "{name:42} {:12.0} {:12.0} {:12.0}   {:.2} {:.2}",
            median(&|row| row[0]),
            median(&|row| row[1]),
            median(&|row| row[2]),
            median(&|row| row[1] / row[0]),
            median(&|row| row[2] / row[0]),
        );
    }
}

/// A client that sends a burst and takes its answers.
trait Side: Send {
    fn burst(&mut self, count: usize);
}

struct Bare(TcpStream, Vec<u8>, Vec<u8>);

impl Side for Bare {
    fn burst(&mut self, count: usize) {
        self.0.write_all(&self.1[..count * ORDER]).unwrap();
        let mut left = count * ACCEPTED;
        while left > 0 {
            left -= self.0.read(&mut self.2[..left.min(65_536)]).unwrap();
        }
    }
}

fn bare(address: SocketAddr) -> Box<dyn Side> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    Box::new(Bare(stream, vec![7; ORDER * 256], vec![0; 65_536]))
}

/// The same, with orders in place of bytes: what the client does costs the same.
struct Ours {
    raw: Raw,
    frames: Vec<u8>,
    answers: Vec<u8>,
    seq_num: u64,
    reference: u64,
}

impl Side for Ours {
    fn burst(&mut self, count: usize) {
        let frames = &mut self.frames[..count * ORDER];
        for frame in frames.chunks_exact_mut(ORDER) {
            frame[12..20].copy_from_slice(&self.seq_num.to_le_bytes());
            frame[20..28].copy_from_slice(&self.reference.to_le_bytes());
            self.seq_num += 1;
            self.reference += 1;
        }
        self.raw.send_bytes(frames);
        let due = count * ACCEPTED;
        let mut came = 0;
        while came < due {
            came += self.raw.stream.read(&mut self.answers[came..due]).unwrap();
        }
        // The last answer is the last order's: all of them were accepted.
        let last = &self.answers[due - ACCEPTED..due];
        assert_eq!(last[6..8], 201_u16.to_le_bytes());
        assert_eq!(last[36..44], (self.reference - 1).to_le_bytes());
    }
}

fn ours(gateway: &Gateway, id: u16) -> Box<dyn Side> {
    // The last round's session may still be ending.
    let begun = Instant::now();
    let raw = loop {
        let mut raw = Raw::connect(gateway.handle.address());
        if log_on(&mut raw, id) {
            break raw;
        }
        assert!(begun.elapsed() < PATIENCE);
    };
    raw.stream.set_read_timeout(None).unwrap();
    let message = NewOrder::new(0, ClientReference(0), &order(account(id))).unwrap();
    let since = std::time::UNIX_EPOCH.elapsed().unwrap();
    Box::new(Ours {
        raw,
        frames: frame(&message).repeat(256),
        answers: vec![0; 256 * ACCEPTED],
        seq_num: 1,
        // References outlive sessions, so each begins where no other ended.
        reference: u64::try_from(since.as_nanos()).unwrap(),
    })
}

fn log_on(raw: &mut Raw, id: u16) -> bool {
    let Some(FromGateway::Challenge(challenge)) = raw.next() else {
        return false;
    };
    let since = std::time::UNIX_EPOCH.elapsed().unwrap();
    let time = u64::try_from(since.as_nanos()).unwrap();
    raw.send(&negotiate(&challenge, u64::from(id), &key(id), time));
    if !matches!(raw.next(), Some(FromGateway::NegotiationResponse(_))) {
        return false;
    }
    raw.send(&establish(60_000));
    matches!(raw.next(), Some(FromGateway::EstablishmentAck(_)))
}

fn p50_ns(mut sides: Vec<Box<dyn Side>>, time: Duration) -> f64 {
    let side = &mut sides[0];
    for _ in 0..2_000 {
        side.burst(1);
    }
    let begun = Instant::now();
    let mut took = Vec::new();
    while begun.elapsed() < time {
        let sent = Instant::now();
        side.burst(1);
        took.push(sent.elapsed());
    }
    took.sort_unstable();
    took[took.len() / 2].as_secs_f64() * 1e9
}

/// One thread drives all connections, a burst each in turn.
fn rate(mut sides: Vec<Box<dyn Side>>, window: usize, time: Duration) -> f64 {
    for side in &mut sides {
        side.burst(window);
    }
    let begun = Instant::now();
    let mut count = 0_u32;
    while begun.elapsed() < time {
        for side in &mut sides {
            side.burst(window);
            count += u32::try_from(window).unwrap();
        }
    }
    f64::from(count) / begun.elapsed().as_secs_f64()
}

/// For each 68 bytes that come, 108 go back; nothing is looked at.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        tokio_uring::start(async move {
            let listener = tokio_uring::net::TcpListener::from_std(listener);
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                tokio_uring::spawn(answer(stream));
            }
        });
    });
    address
}

async fn answer(stream: tokio_uring::net::TcpStream) {
    let mut input = vec![0; 65_536];
    let mut output = vec![9; 65_536 * 2];
    let (mut came, mut gone) = (0, 0);
    loop {
        let (result, buffer) = stream.read(input).await;
        input = buffer;
        match result {
            Ok(count) if count > 0 => came += count,
            _ => return,
        }
        let due = came / ORDER * ACCEPTED - gone;
        gone += due;
        if due == 0 {
            continue;
        }
        let part = tokio_uring::buf::BoundedBuf::slice(output, ..due);
        let (result, part) = stream.write_all(part).await;
        output = part.into_inner();
        if result.is_err() {
            return;
        }
    }
}
