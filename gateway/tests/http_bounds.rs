//! What an HTTP client may not do: talk too long, too slowly, or too often.

#[path = "support/http_desk.rs"]
mod http_desk;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use http_desk::{Desk, PATIENCE, body, raw, rest};
use pitlane::limits::{HTTP_BODY_BYTES_MAX, HTTP_HEAD_BYTES_MAX};
use pitlane::types::Side;

const HEAD: &str = "POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token-a\r\n";

#[test]
fn o31_a_body_beyond_the_bound_is_refused_told_or_not() {
    let desk = Desk::new();
    let a = desk.caller("token-a");
    let long = "x".repeat(HTTP_BODY_BYTES_MAX + 1);
    let refused = a.refused("POST", "/v1/orders", &long);
    assert_eq!(refused, (413, "A2M_BODY_TOO_LARGE".into()));
    let chunk = "x".repeat(0x1000);
    let chunks = format!("1000\r\n{chunk}\r\n").repeat(3);
    let request =
        format!("{HEAD}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n");
    let answer = raw(desk.http(), &request);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    // The longest that is taken is judged.
    let full = "x".repeat(HTTP_BODY_BYTES_MAX);
    let refused = a.refused("POST", "/v1/orders", &full);
    assert_eq!(refused, (422, "A2M_BAD_SIGNATURE".into()));
}

#[test]
fn o31_a_head_beyond_the_bound_is_refused() {
    let desk = Desk::new();
    let long = "x".repeat(HTTP_HEAD_BYTES_MAX);
    let request = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: {long}\r\n\r\n");
    let answer = raw(desk.http(), &request);
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let many = "X: y\r\n".repeat(200);
    let answer = raw(
        desk.http(),
        &format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{many}\r\n"),
    );
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert!(raw(desk.http(), "no http\r\n\r\n").starts_with("HTTP/1.1 400 "));
}

#[test]
fn o31_who_sends_its_head_slowly_is_cut_off_and_keeps_nobody_waiting() {
    let desk = Desk::with("read_timeout = \"200ms\"", "");
    let mut slow = TcpStream::connect(desk.http()).unwrap();
    let mut silent = TcpStream::connect(desk.http()).unwrap();
    let begun = Instant::now();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nHo").unwrap();
    assert_eq!(desk.caller("token-a").get("/healthz").0, 200);
    for stream in [&mut slow, &mut silent] {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // Closed without a word, or with a 408; in any case closed.
        let answer = rest(stream);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 408 "),
            "{answer}"
        );
    }
    assert!(
        begun.elapsed() >= Duration::from_millis(200),
        "not before its time"
    );
}

#[test]
fn o31_who_sends_its_body_slowly_is_told_and_nothing_is_done() {
    let desk = Desk::with("read_timeout = \"200ms\"", "");
    let a = desk.caller("token-a");
    let order = body(1, "a", 1, Side::Buy, "100");
    let (first, _) = order.split_at(100);
    let mut slow = TcpStream::connect(desk.http()).unwrap();
    slow.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("{HEAD}Content-Length: {}\r\n\r\n{first}", order.len());
    slow.write_all(head.as_bytes()).unwrap();
    let answer = rest(&mut slow);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("A2M_SLOW_REQUEST"), "{answer}");
    let (_, list) = desk.caller("token-ops").get("/v1/admin/orders");
    assert_eq!(list["orders"].as_array().unwrap().len(), 0);
    a.bring(&order);
}

#[test]
fn o31_connections_beyond_the_cap_are_closed_and_a_place_is_free_again() {
    let desk = Desk::with("max_connections = 2", "");
    let open = || TcpStream::connect(desk.http()).unwrap();
    let healthy = |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let sent = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
        let mut answer = [0; 12];
        sent.and_then(|()| stream.read_exact(&mut answer)).is_ok() && &answer == b"HTTP/1.1 200"
    };
    let (mut one, mut two) = (open(), open());
    assert!(healthy(&mut one) && healthy(&mut two));
    assert!(!healthy(&mut open()), "the third");
    drop(one);
    let begun = Instant::now();
    while !healthy(&mut open()) {
        assert!(begun.elapsed() < PATIENCE, "a place is free again");
        std::thread::yield_now();
    }
}

#[test]
fn o31_a_stop_answers_who_is_there_and_closes_the_port() {
    let desk = Desk::new();
    let address = desk.http();
    desk.caller("token-a")
        .bring(&body(1, "a", 1, Side::Buy, "100"));
    // An idle connection does not keep it.
    let mut idle = TcpStream::connect(address).unwrap();
    idle.set_read_timeout(Some(PATIENCE)).unwrap();
    let begun = Instant::now();
    let stopped = desk.gateway.stop(Duration::from_secs(1));
    assert!(stopped.journals.is_empty());
    assert!(begun.elapsed() < PATIENCE);
    assert_eq!(rest(&mut idle), "");
    assert!(TcpStream::connect(address).is_err(), "the port is closed");
}
