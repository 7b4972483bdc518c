//! `pitlane serve` with a journal, and what is in it, as a user meets them.
#![allow(dead_code)] // Each test uses the part that it needs.
#![allow(unreachable_pub)] // Included by several test crates.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use pitlane::types::{
    AccountId, ClientReference, InstrumentId, Order, OrderType, PRICE_SCALE, Price, Quantity, Side,
    TimeInForce,
};
use pitlane_gateway::client::{Client, ClientKey, Event, Logon};
use pitlane_gateway::session::CredentialId;
use serde_json::Value;
use tempfile::TempDir;

pub fn pitlane(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pitlane"))
        .args(arguments)
        .output()
        .unwrap()
}

/// What a command prints; it must succeed.
pub fn out(arguments: &[&str]) -> String {
    let output = pitlane(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a command says that must fail.
pub fn refusal(arguments: &[&str], code: i32) -> String {
    let output = pitlane(arguments);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

pub fn key() -> ClientKey {
    ClientKey::from_seed(&[7; 32])
}

/// A folder with a configuration and a journal.
pub struct Desk {
    pub folder: TempDir,
    /// Keys of `[journal]`, and sections behind it.
    keys: String,
}

impl Desk {
    pub fn new(engine: &str) -> Self {
        Self::with_keys(engine, |_| String::new())
    }

    /// Also with keys of `[journal]`, and sections behind it, made from the folder.
    pub fn with_keys(engine: &str, keys: impl Fn(&str) -> String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys = keys(folder.path().to_str().unwrap());
        let desk = Self { folder, keys };
        desk.configure(engine);
        desk
    }

    pub fn configure(&self, engine: &str) {
        let public: String = key().public().iter().map(|b| format!("{b:02x}")).collect();
        let (journal, keys) = (self.journal(), &self.keys);
        let text = format!(
            "[gateway]\nlisten = \"127.0.0.1:0\"\n[engine]\n{engine}\n\
             [journal]\ndir = \"{journal}\"\nsegment_mib = 8\n{keys}\n\
             [[asset]]\nid = 1\nname = \"ACME\"\n[[asset]]\nid = 2\nname = \"USD\"\n\
             [[instrument]]\nid = 1\nbase = \"ACME\"\nsettlement = \"USD\"\n\
             [[account]]\nid = 42\ncount = 4\n\
             balances = {{ ACME = \"1000\", USD = \"100000\" }}\n\
             [[credential]]\nid = 1\npublic_key = \"{public}\"\naccounts = \"all\"\n"
        );
        fs::write(self.file(), text).unwrap();
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("pitlane.toml")
    }

    pub fn journal(&self) -> String {
        let path = self.folder.path().join("journal");
        path.to_str().unwrap().into()
    }

    pub fn serve(&self) -> Serving {
        Serving::start(&self.file())
    }

    /// The records of every shard, as `dump --json` prints them.
    pub fn records(&self) -> Vec<Value> {
        let text = out(&["journal", "dump", &self.journal(), "--json"]);
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap()
    }
}

/// A `pitlane serve`, killed with the test if it still runs.
pub struct Serving {
    pub child: Child,
    pub address: SocketAddr,
}

impl Serving {
    pub fn start(config: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pitlane"));
        Self::try_start(&mut command, config).unwrap_or_else(|| panic!("it does not start"))
    }

    /// Runs `command`, which is or leads to the binary; `None` where it ended
    /// before it listened.
    pub fn try_start(command: &mut Command, config: &Path) -> Option<Self> {
        let mut child = command
            .args(["serve", "--config"])
            .arg(config)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ");
        let Some(address) = address.map(|text| text.parse().unwrap()) else {
            let mut text = String::new();
            let mut stderr = child.stderr.take().unwrap();
            stderr.read_to_string(&mut text).unwrap();
            child.wait().unwrap();
            eprintln!("it did not listen: {text}");
            return None;
        };
        Some(Self { child, address })
    }

    /// `None` where it has ended meanwhile.
    pub fn try_client(&self) -> Option<Client> {
        Client::connect(self.address, &Logon::new(1, CredentialId(1), key())).ok()
    }

    /// Ends the binary that `strace` runs, and with it `strace`.
    pub fn kill_all(&mut self) {
        let tracer = self.child.id();
        let children = format!("/proc/{tracer}/task/{tracer}/children");
        let traced = fs::read_to_string(children).unwrap_or_default();
        for pid in traced.split_whitespace() {
            let _ = Command::new("kill").args(["-s", "KILL", pid]).status();
        }
        self.child.wait().unwrap();
    }

    pub fn client(&self) -> Client {
        Client::connect(self.address, &Logon::new(1, CredentialId(1), key())).unwrap()
    }

    /// As a user stops it; it must end well.
    pub fn stop(mut self) -> String {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", "TERM", &pid]).status();
        assert!(sent.unwrap().success());
        let mut text = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut text).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{text}");
        text
    }

    /// As `kill -9`; what it had said on stderr.
    pub fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut text = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn order(account: u64, side: Side, price: i64) -> Order {
    Order {
        account: AccountId(account),
        instrument: InstrumentId(1),
        side,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        quantity: Some(Quantity::from_raw(2 * PRICE_SCALE)),
        volume: None,
        price: Some(Price::from_raw(price * PRICE_SCALE)),
    }
}

pub fn send(client: &mut Client, reference: u64, order: &Order) {
    let reference = ClientReference(reference);
    client.sender().new_order(reference, order).unwrap();
    client.sender().flush().unwrap();
}

pub fn next(client: &mut Client) -> Event {
    client.next_event(Duration::from_secs(20)).unwrap().unwrap()
}

/// Waits until the order is accepted. Before that a client may hear of the end of its
/// orders of before a restart, if it came in time.
pub fn accepted(client: &mut Client, reference: u64) {
    loop {
        match next(client) {
            Event::Accepted(told) => return assert_eq!(told.head.reference, reference),
            Event::Rejected(told) => assert!(told.head.reference < reference),
            Event::Canceled(told) => assert!(told.head.reference < reference),
            other => panic!("{other:?}"),
        }
    }
}

/// The last image of an account.
pub fn balances(records: &[Value], account: u64) -> (String, String, String) {
    let of = |one: &&Value| one["kind"] == "account" && one["account"] == account;
    let last = records.iter().rev().find(of).unwrap();
    let text = |name: &str| last[name].as_str().unwrap().to_string();
    (
        text("settlement_available"),
        text("settlement_held"),
        text("position"),
    )
}
