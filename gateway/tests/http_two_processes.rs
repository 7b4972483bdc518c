//! Authorizer and executor as two processes, either of which is killed (rule O30).

#[path = "support/http_desk.rs"]
mod http_desk;

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use data_encoding::HEXLOWER;
use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::EncodePrivateKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use http_desk::{Caller, PATIENCE};
use pitlane::types::ClientOrderId;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// One of the two; killed with the test.
struct Process {
    child: Child,
    http: SocketAddr,
}

impl Process {
    fn start(config: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pitlane"))
            .args(["serve", "--config"])
            .arg(config)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let http = loop {
            let line = lines.next().expect("it says where it listens").unwrap();
            if let Some(address) = line.strip_prefix("http on ") {
                break address.parse().unwrap();
            }
        };
        Self { child, http }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Pair {
    folder: TempDir,
    authorizer_port: u16,
}

/// A port that was free a moment ago: a restart must come back to it.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

impl Pair {
    fn new() -> Self {
        let pair = Self {
            folder: tempfile::tempdir().unwrap(),
            authorizer_port: free_port(),
        };
        for (name, seed) in [("authorizer", 3), ("executor", 4)] {
            let pem = SigningKey::from_bytes(&[seed; 32]).to_pkcs8_pem(LineEnding::LF);
            fs::write(pair.path(&format!("{name}.pem")), pem.unwrap()).unwrap();
        }
        fs::write(pair.path("peer.token"), "token-peer\n").unwrap();
        pair.configure("");
        pair
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `executor` ends that section of the executor's file.
    fn configure(&self, executor: &str) {
        let public = |seed: u8| {
            let key = SigningKey::from_bytes(&[seed; 32]).verifying_key();
            HEXLOWER.encode(key.as_bytes())
        };
        let hash = |token: &str| HEXLOWER.encode(&Sha256::digest(token.as_bytes()));
        let shown = |name: &str| self.path(name).display().to_string();
        let common = |name: &str, port: u16| {
            format!(
                "[gateway]\nlisten = \"127.0.0.1:0\"\n[engine]\nshards = 2\n\
                 [journal]\ndir = \"{}\"\nsegment_mib = 8\n\
                 [http]\nenabled = true\nlisten = \"127.0.0.1:{port}\"\n\
                 [[asset]]\nid = 1\nname = \"USD\"\n[[asset]]\nid = 2\nname = \"ACME\"\n\
                 [[instrument]]\nid = 1\nbase = \"ACME\"\nsettlement = \"USD\"\n\
                 tick = \"0.01\"\nlot = \"1\"\n\
                 [[account]]\nid = 1\ncount = 2\n\
                 balances = {{ USD = \"100000\", ACME = \"1000\" }}\n\
                 [[agent]]\nid = \"a\"\ntoken_sha256 = \"{}\"\naccounts = \"all\"\n\
                 [[admin]]\nid = \"ops\"\ntoken_sha256 = \"{}\"\n\
                 [[key]]\nkey_id = \"authorizer-1\"\npublic_key = \"{}\"\n",
                shown(name),
                hash("token-a"),
                hash("token-ops"),
                public(3)
            )
        };
        let authorizer = format!(
            "{}[[key]]\nkey_id = \"executor-1\"\nrole = \"executor\"\npublic_key = \"{}\"\n\
             [[peer]]\nid = \"executor-1\"\ntoken_sha256 = \"{}\"\n\
             [authorizer]\nkey_file = \"{}\"\nskew = \"0s\"\n[executor]\nenabled = false\n",
            common("authorizer", self.authorizer_port),
            public(4),
            hash("token-peer"),
            shown("authorizer.pem")
        );
        let executor = format!(
            "{}[executor]\nauthorizer_url = \"http://127.0.0.1:{}\"\n\
             authorizer_token_file = \"{}\"\nkey_file = \"{}\"\n{executor}\n",
            common("executor", 0),
            self.authorizer_port,
            shown("peer.token"),
            shown("executor.pem")
        );
        fs::write(self.path("authorizer.toml"), authorizer).unwrap();
        fs::write(self.path("executor.toml"), executor).unwrap();
    }

    fn authorizer(&self) -> Process {
        Process::start(&self.path("authorizer.toml"))
    }

    fn executor(&self) -> Process {
        Process::start(&self.path("executor.toml"))
    }
}

fn ask(account: u64, side: &str, qty: &str, price: &str) -> String {
    json!({
        "account_id": account.to_string(), "venue": "sim", "instrument": "ACME/USD",
        "side": side, "order_type": "limit", "time_in_force": "gtc", "qty": qty,
        "price": price,
    })
    .to_string()
}

fn agent(process: &Process) -> Caller {
    Caller::new(process.http, "token-a")
}

fn decide(authorizer: &Process, request: &str) -> Result<String, Value> {
    let (status, text) = agent(authorizer).text("POST", "/v1/decisions", request);
    if status == 200 {
        return Ok(text);
    }
    Err(serde_json::from_str(&text).unwrap())
}

fn until_decided(authorizer: &Process, request: &str) -> String {
    let begun = Instant::now();
    loop {
        match decide(authorizer, request) {
            Ok(body) => return body,
            Err(told) => assert!(begun.elapsed() < PATIENCE, "never: {told}"),
        }
        std::thread::yield_now();
    }
}

fn id_of(body: &str) -> ClientOrderId {
    let body: Value = serde_json::from_str(body).unwrap();
    let text = body["decision"]["client_order_id"].as_str().unwrap();
    ClientOrderId::from_text(text).unwrap()
}

fn trade(authorizer: &Process, executor: &Process, qty: &str, price: &str) -> ClientOrderId {
    let sell = until_decided(authorizer, &ask(2, "sell", qty, price));
    // It holds more than it pays: what is settled can be told from what was held.
    let buy = until_decided(authorizer, &ask(1, "buy", qty, "110"));
    let agent = agent(executor);
    agent.bring(&sell);
    agent.bring(&buy);
    agent.until(id_of(&buy), "filled");
    agent.until(id_of(&sell), "filled");
    id_of(&buy)
}

#[test]
fn o30_two_processes_settle_over_http_and_outlive_kills_of_either() {
    let pair = Pair::new();
    let authorizer = pair.authorizer();
    let executor = pair.executor();
    trade(&authorizer, &executor, "5", "100");
    // What was bought is settled at the authorizer: 99,500 are left.
    until_decided(&authorizer, &ask(1, "buy", "1", "99500"));
    let told = decide(&authorizer, &ask(1, "buy", "1", "0.01")).unwrap_err();
    assert_eq!(told["rejects"][0]["code"], "InsufficientFunds", "{told}");
    authorizer.kill();
    executor.kill();

    let pair = Pair::new();
    let authorizer = pair.authorizer();
    let executor = pair.executor();
    let sell = until_decided(&authorizer, &ask(2, "sell", "10", "100"));
    let buy = until_decided(&authorizer, &ask(1, "buy", "10", "110"));
    // The authorizer is away: orders go on.
    authorizer.kill();
    let asked = agent(&executor);
    asked.bring(&sell);
    asked.bring(&buy);
    let filled = asked.until(id_of(&buy), "filled");
    // The executor comes back with its outbox, the authorizer with its holds.
    executor.kill();
    let executor = pair.executor();
    assert_eq!(agent(&executor).order(id_of(&buy)), filled);
    let authorizer = pair.authorizer();
    until_decided(&authorizer, &ask(1, "buy", "1", "99000"));
    let told = decide(&authorizer, &ask(1, "buy", "1", "0.01")).unwrap_err();
    assert_eq!(
        told["rejects"][0]["code"], "InsufficientFunds",
        "settled once"
    );
    // And the shares: 990 of 1,000 are left to sell.
    until_decided(&authorizer, &ask(2, "sell", "990", "100"));
    assert!(decide(&authorizer, &ask(2, "sell", "1", "100")).is_err());
}

#[test]
fn o04_a_decision_that_is_never_brought_is_released_across_processes() {
    let pair = Pair::new();
    let authorizer = pair.authorizer();
    let executor = pair.executor();
    let mut all: Value = serde_json::from_str(&ask(1, "buy", "1", "100000")).unwrap();
    all["ttl_seconds"] = json!("1");
    let first = decide(&authorizer, &all.to_string()).unwrap();
    assert!(decide(&authorizer, &all.to_string()).is_err(), "it is held");
    until_decided(&authorizer, &all.to_string());
    let refused = agent(&executor).refused("POST", "/v1/orders", &first);
    assert_eq!(refused, (422, "A2M_DECISION_EXPIRED".into()));
}

#[test]
fn o30_each_process_says_what_it_does_not_do_and_takes_peers_alone() {
    let pair = Pair::new();
    let authorizer = pair.authorizer();
    let executor = pair.executor();
    let body = decide(&authorizer, &ask(1, "buy", "1", "1")).unwrap();
    let refused = agent(&authorizer).refused("POST", "/v1/orders", &body);
    assert_eq!(refused, (503, "A2M_NO_EXECUTOR".into()));
    let refused = agent(&executor).refused("POST", "/v1/decisions", &ask(1, "buy", "1", "1"));
    assert_eq!(refused, (503, "A2M_NO_AUTHORIZER".into()));
    for (token, expected) in [
        ("token-a", (403, "A2M_FORBIDDEN")),
        ("token-ops", (403, "A2M_FORBIDDEN")),
        ("token-peer", (422, "A2M_BAD_REPORT")),
        ("nobody", (401, "A2M_UNAUTHENTICATED")),
    ] {
        let caller = Caller::new(authorizer.http, token);
        // A decision is signed by a key of another role.
        let refused = caller.refused("POST", "/v1/executor/messages", &body);
        assert_eq!(refused, (expected.0, expected.1.into()), "{token}");
    }
    let peer = Caller::new(authorizer.http, "token-peer");
    assert_eq!(
        peer.get("/v1/executor/due"),
        (200, json!({ "decisions": [] }))
    );
    let refused = peer.refused("GET", "/v1/admin/blocks", "");
    assert_eq!(refused, (403, "A2M_FORBIDDEN".into()));
    assert_eq!(agent(&authorizer).get("/readyz").0, 200);
}

#[test]
fn o30_beyond_the_outbox_new_orders_are_refused_and_cancels_are_not() {
    let pair = Pair::new();
    pair.configure("outbox_max = 4");
    let authorizer = pair.authorizer();
    let executor = pair.executor();
    let bodies: Vec<String> = (0..12)
        .map(|number| {
            let (account, side) = if number % 2 == 0 {
                (2, "sell")
            } else {
                (1, "buy")
            };
            until_decided(&authorizer, &ask(account, side, "1", "100"))
        })
        .collect();
    let rests = until_decided(&authorizer, &ask(1, "buy", "1", "50"));
    authorizer.kill();
    let asked = agent(&executor);
    asked.bring(&rests);
    asked.until(id_of(&rests), "acked");
    let mut full = false;
    for body in &bodies {
        let (status, told) = asked.post("/v1/orders", body);
        if status == 503 {
            assert_eq!(told["code"], "A2M_OUTBOX_FULL", "{told}");
            full = true;
            break;
        }
        assert_eq!(status, 200, "{told}");
        let id = id_of(body);
        let begun = Instant::now();
        while asked.order(id)["state"] == "pending_new" {
            assert!(begun.elapsed() < PATIENCE);
        }
    }
    assert!(full, "it has a bound");
    let (status, order) = asked.cancel(id_of(&rests));
    assert_eq!(
        (status, &order["state"]),
        (200, &json!("cancelled")),
        "{order}"
    );
    // When it is back, they are taken again.
    let _authorizer = pair.authorizer();
    let last = bodies.last().unwrap();
    let begun = Instant::now();
    loop {
        let (status, told) = asked.post("/v1/orders", last);
        if status == 200 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{told}");
        std::thread::yield_now();
    }
}
