//! A gateway with an HTTP side, its agents, and an authorizer's key.
#![allow(dead_code)] // Each test uses the part that it needs.
#![allow(unreachable_pub)] // Included by several test crates.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::EncodePrivateKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use pitlane::orders::decision::{Decision, Grant, Role, Signer, Size, Verdict};
use pitlane::time::{Clock, SystemClock};
use pitlane::types::{AccountId, ClientOrderId, Side};
use pitlane_gateway::assembly::Gateway;
use pitlane_gateway::client::ClientKey;
use pitlane_gateway::config::Config;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// Longer than anything should take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub const KEY_ID: &str = "key-1";

const KEY_SEED: [u8; 32] = [3; 32];

pub fn authorizer() -> Signer {
    Signer::new(KEY_ID, Role::Authorizer, &KEY_SEED).unwrap()
}

pub fn client_key() -> ClientKey {
    ClientKey::from_seed(&[7; 32])
}

/// Agents `a` (account 1) and `b` (account 2), admin `ops`; their tokens are
/// `token-a`, `token-b` and `token-ops`. `http` ends that section, `more` the file.
pub fn config(folder: &Path, http: &str, more: &str) -> String {
    let hash = |token: &str| HEXLOWER.encode(&Sha256::digest(token.as_bytes()));
    let (a, b, ops) = (hash("token-a"), hash("token-b"), hash("token-ops"));
    let key = HEXLOWER.encode(&authorizer().public());
    let client = HEXLOWER.encode(&client_key().public());
    let dir = folder.join("journal");
    let dir = dir.display();
    format!(
        r#"
[gateway]
listen = "127.0.0.1:0"
[journal]
dir = "{dir}"
segment_mib = 8
[http]
enabled = true
listen = "127.0.0.1:0"
{http}
[[asset]]
id = 1
name = "USD"
[[asset]]
id = 2
name = "ACME"
[[instrument]]
id = 1
base = "ACME"
settlement = "USD"
tick = "0.01"
lot = "1"
[[account]]
id = 1
count = 3
balances = {{ USD = "100000", ACME = "1000" }}
[[credential]]
id = 1
public_key = "{client}"
accounts = "all"
[[agent]]
id = "a"
token_sha256 = "{a}"
accounts = [1]
[[agent]]
id = "b"
token_sha256 = "{b}"
accounts = [2]
[[admin]]
id = "ops"
token_sha256 = "{ops}"
[[key]]
key_id = "{KEY_ID}"
public_key = "{key}"
{more}
"#
    )
}

/// A gateway in this process.
pub struct Desk {
    pub folder: TempDir,
    pub gateway: Gateway,
}

impl Desk {
    pub fn new() -> Self {
        Self::with("", "")
    }

    pub fn with(http: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::parse("test.toml", &config(folder.path(), http, more)).unwrap();
        let gateway = Gateway::start(&config, 0).unwrap();
        Self { folder, gateway }
    }

    /// With an authorizer; `authorizer` ends its section.
    pub fn deciding(authorizer: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("authorizer.pem");
        let key = SigningKey::from_bytes(&KEY_SEED);
        std::fs::write(&file, key.to_pkcs8_pem(LineEnding::LF).unwrap()).unwrap();
        let file = file.display();
        let section = format!(
            "[authorizer]\nkey_file = \"{file}\"\nkey_id = \"{KEY_ID}\"\n{authorizer}\n{more}"
        );
        let config = Config::parse("test.toml", &config(folder.path(), "", &section)).unwrap();
        let gateway = Gateway::start(&config, 0).unwrap();
        Self { folder, gateway }
    }

    pub fn http(&self) -> SocketAddr {
        self.gateway.http().unwrap()
    }

    pub fn caller(&self, token: &str) -> Caller {
        Caller::new(self.http(), token)
    }
}

/// Somebody with a token.
pub struct Caller {
    pub address: SocketAddr,
    agent: ureq::Agent,
    header: String,
}

impl Caller {
    pub fn new(address: SocketAddr, token: &str) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build();
        Self {
            address,
            agent: config.into(),
            header: format!("Bearer {token}"),
        }
    }

    pub fn text(&self, method: &str, route: &str, body: &str) -> (u16, String) {
        let url = format!("http://{}{route}", self.address);
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(url)
            .header("Authorization", &self.header)
            .body(body.to_owned())
            .unwrap();
        let mut response = self.agent.run(request).unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        (response.status().as_u16(), text)
    }

    pub fn ask(&self, method: &str, route: &str, body: &str) -> (u16, Value) {
        let (status, text) = self.text(method, route, body);
        let value = serde_json::from_str(&text);
        (status, value.unwrap_or_else(|_| panic!("no JSON: {text}")))
    }

    pub fn get(&self, route: &str) -> (u16, Value) {
        self.ask("GET", route, "")
    }

    pub fn post(&self, route: &str, body: &str) -> (u16, Value) {
        self.ask("POST", route, body)
    }

    /// The status and the code of a refusal.
    pub fn refused(&self, method: &str, route: &str, body: &str) -> (u16, String) {
        let (status, value) = self.ask(method, route, body);
        let members = value.as_object().unwrap();
        assert_eq!(members.len(), 2, "code and message: {value}");
        assert!(
            value["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
        (status, value["code"].as_str().unwrap().to_owned())
    }

    /// Brings a decision that must be taken.
    pub fn bring(&self, body: &str) -> Value {
        let (status, value) = self.post("/v1/orders", body);
        assert_eq!(status, 200, "{value}");
        value
    }

    pub fn order(&self, id: ClientOrderId) -> Value {
        let (status, value) = self.get(&format!("/v1/agent/orders/{id}"));
        assert_eq!(status, 200, "{value}");
        value
    }

    /// Reads the order until it is in the state.
    pub fn until(&self, id: ClientOrderId, state: &str) -> Value {
        let begun = Instant::now();
        loop {
            let order = self.order(id);
            if order["state"] == state {
                return order;
            }
            assert!(begun.elapsed() < PATIENCE, "never {state}: {order}");
            std::thread::yield_now();
        }
    }

    pub fn cancel(&self, id: ClientOrderId) -> (u16, Value) {
        self.post(&format!("/v1/orders/{id}/cancel"), "")
    }
}

pub fn id(number: u64) -> ClientOrderId {
    ClientOrderId {
        high: 5,
        low: number,
    }
}

/// A limit order of five that an authorizer has allowed.
pub fn decision(number: u64, agent: &str, account: u64, side: Side, price: &str) -> Decision {
    let now = SystemClock::new().wall();
    Decision {
        decision_id: format!("d-{number}"),
        grant: Some(Grant {
            client_order_id: id(number),
            reservation_id: format!("r-{number}"),
        }),
        agent_id: agent.to_owned(),
        user_id: "ann".to_owned(),
        account_id: AccountId(account),
        verdict: Verdict::Allow,
        enforcement: "hard".to_owned(),
        venue: "sim".to_owned(),
        instrument: "ACME/USD".to_owned(),
        side,
        order_type: "limit".to_owned(),
        time_in_force: "gtc".to_owned(),
        size: Size::Quantity("5".parse().unwrap()),
        price: Some(price.parse().unwrap()),
        stop_price: None,
        good_till: None,
        issued_at: now,
        expires_at: now.after(Duration::from_secs(600)),
        key_id: KEY_ID.to_owned(),
    }
}

pub fn signed(decision: Decision, signer: &Signer) -> String {
    String::from_utf8(decision.signed(signer).canonical()).unwrap()
}

/// An order as its agent brings it.
pub fn body(number: u64, agent: &str, account: u64, side: Side, price: &str) -> String {
    signed(decision(number, agent, account, side, price), &authorizer())
}

/// A request written byte by byte, and everything that is answered until the
/// other end closes.
pub fn raw(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    rest(&mut stream)
}

pub fn rest(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    // A reset after the answer is an end, too.
    let mut buffer = [0; 4_096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        text.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// A `pitlane serve --dev`, killed with the test if it still runs.
pub struct Dev {
    child: Child,
    pub ready: Value,
    folder: PathBuf,
}

impl Dev {
    pub fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pitlane"))
            .args(["serve", "--dev"])
            .arg(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut text = String::new();
            let mut stderr = child.stderr.take().unwrap();
            stderr.read_to_string(&mut text).unwrap();
            child.wait().unwrap();
            panic!("it was never ready: {text}");
        }
        Self {
            child,
            ready: serde_json::from_str(&line).unwrap(),
            folder: folder.to_owned(),
        }
    }

    pub fn text(&self, member: &str) -> String {
        self.ready[member].as_str().unwrap().to_owned()
    }

    pub fn agent(&self) -> Caller {
        let address = self.text("http").parse().unwrap();
        Caller::new(address, &self.text("agent_token"))
    }

    pub fn admin(&self) -> Caller {
        let address = self.text("http").parse().unwrap();
        Caller::new(address, &self.text("admin_token"))
    }

    pub fn signer(&self) -> Signer {
        use ed25519_dalek::pkcs8::DecodePrivateKey;
        let pem = std::fs::read_to_string(self.text("signing_key")).unwrap();
        let key = SigningKey::from_pkcs8_pem(&pem).unwrap();
        Signer::new(&self.text("key_id"), Role::Authorizer, &key.to_bytes()).unwrap()
    }

    /// A decision for one of its accounts.
    pub fn body(&self, number: u64, account: u64, side: Side, price: &str) -> String {
        let decision = Decision {
            instrument: "ACME-USD".to_owned(),
            key_id: self.text("key_id"),
            ..decision(number, &self.text("agent_id"), account, side, price)
        };
        signed(decision, &self.signer())
    }

    /// `kill -9`, and a start on the same folder.
    pub fn killed_and_started(mut self) -> Self {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        Self::start(&self.folder.clone())
    }

    /// `kill -TERM`, which it follows with status 0, and a start on the same folder.
    pub fn stopped_and_started(mut self) -> Self {
        let pid = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(told.unwrap().success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        Self::start(&self.folder.clone())
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
