//! The `pitlane` command as a user meets it: what it prints, and how it ends.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
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

fn pitlane(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pitlane"))
        .args(arguments)
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file of its own for a test, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("pitlane-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Runs a demo that must be whole; its JSON object.
fn demo(arguments: &[&str]) -> Value {
    let output = pitlane(&[&["demo", "--json"], arguments].concat());
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        stderr(&output)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn number(object: &Value, name: &str) -> u64 {
    object[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} is a number in {object}"))
}

#[test]
fn g26_a_demo_loses_nothing_and_resolves_every_order_once_in_every_mode() {
    for mode in [
        &["--mode", "inline", "--io", "epoll"][..],
        &["--mode", "ring", "--io", "epoll"],
        &["--mode", "inline"],
        &["--mode", "ring", "--shards", "2"],
    ] {
        let object = demo(&[&["--orders", "20000", "--accounts", "16"], mode].concat());
        assert_eq!(number(&object, "submitted"), 20_000);
        assert_eq!(number(&object, "resolved"), 20_000);
        assert_eq!(
            (number(&object, "lost"), number(&object, "unexpected")),
            (0, 0)
        );
        let [accepted, rejected] = ["accepted", "rejected"].map(|name| number(&object, name));
        assert!(
            accepted > 19_000 && rejected > 0 && number(&object, "filled") > 5_000,
            "{object}"
        );
        assert!(number(&object, "orders_per_second") > 0);
        let latency = &object["latency_ns"];
        let [p50, p99, p99_9, max] =
            ["p50", "p99", "p99_9", "max"].map(|name| number(latency, name));
        assert!(
            0 < p50 && p50 <= p99 && p99 <= p99_9 && p99_9 <= max,
            "{latency}"
        );
        assert_eq!(object["journal_mode"], "sync");
        assert!(["uring", "epoll"].contains(&object["io"].as_str().unwrap()));
        assert_eq!(object["mode"], mode[1]);
        assert!(object.get("flow").is_none());
    }
}

#[test]
fn g26_the_same_seed_comes_to_the_same_end() {
    let run = |seed: &str| {
        let run = ["--orders", "5000", "--seed", seed, "--mode", "inline"];
        // A disk has its own pace.
        let object = demo(&[&run[..], &["--journal", "off"]].concat());
        ["accepted", "rejected", "filled", "executions"].map(|name| number(&object, name))
    };
    // Which orders are open when a cancel picks one depends on timing; which
    // orders are sent, and so which are refused, does not.
    assert_eq!(run("7")[0..2], run("7")[0..2]);
}

#[test]
fn a_demo_for_people_says_what_they_want_to_see() {
    let output = pitlane(&["demo", "--orders", "2000"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for words in [
        "journal sync",
        "orders sent",
        "2,000",
        "resolved",
        "lost",
        "orders/s",
        "p99.9",
    ] {
        assert!(text.contains(words), "{words} is in {text}");
    }
    assert_eq!(output.status.code(), Some(0));
}

const FLOW: &str = "\
ts_ns,event,order_id,side,price,qty
1000,NEW,1,SELL,101,5
1000,NEW,2,SELL,101,3
1000,NEW,3,BUY,99,4
1000,NEW,4,BUY,101,2
2000,TRADE,0,,101,2
2000,FILL,4,BUY,101,2
2000,CANCEL,4,BUY,101,2
2000,FILL,1,SELL,101,2
2000,REPLACE,1,SELL,101,3
3000,TRADE,9,BUY,101,4
3000,FILL,1,SELL,101,3
3000,CANCEL,1,SELL,101,3
3000,FILL,2,SELL,101,1
3000,REPLACE,2,SELL,101,2
4000,REPLACE,3,BUY,98,4
5000,CANCEL,3,BUY,98,4
6000,TRADE,10,SELL,98,1
6000,FILL,77,BUY,98,1
";

#[test]
fn recorded_flow_is_sent_and_its_fills_are_compared() {
    let file = Scratch::new("flow.csv", FLOW);
    for io in ["epoll", "auto"] {
        let object = demo(&["--flow", file.path(), "--accounts", "3", "--io", io]);
        let flow = &object["flow"];
        assert_eq!(number(flow, "rows"), 18);
        assert_eq!(number(flow, "orders"), 6, "four to rest and two aggressors");
        assert_eq!(number(flow, "fills_expected"), 4);
        assert_eq!(number(flow, "fills_matched"), 3);
        let first = flow["first_difference"].as_str().unwrap();
        assert!(
            first.contains("order 77") && first.contains("never in the book"),
            "{first}"
        );
        assert_eq!(
            (number(&object, "lost"), number(&object, "accepted")),
            (0, 6)
        );
    }
    let paced = demo(&["--flow", file.path(), "--speed", "0.01"]);
    assert_eq!(number(&paced["flow"], "fills_matched"), 3);
}

#[test]
fn flow_that_does_not_parse_names_the_place_and_the_mend() {
    let bad = FLOW.replace("3000,TRADE,9,BUY,101,4", "3000,TRADE,9,BUY,ten,4");
    let file = Scratch::new("bad-flow.csv", &bad);
    let output = pitlane(&["demo", "--flow", file.path()]);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    for words in [file.path(), "line 11", "price", "ten"] {
        assert!(text.contains(words), "{words} is in {text}");
    }
    let output = pitlane(&["demo", "--flow", "/nonexistent.csv"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/nonexistent.csv"));
}

#[test]
fn arguments_out_of_range_are_refused_with_what_is_allowed() {
    for (arguments, words) in [
        (&["demo", "--shards", "0"][..], "1..=256"),
        (&["demo", "--accounts", "0"], "1..=1000000"),
        (&["demo", "--speed", "2"], "--flow"),
        (
            &["demo", "--mode", "inline", "--shards", "2"],
            "set both to 1",
        ),
        (&["serve"], "--config"),
    ] {
        let output = pitlane(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            stderr(&output).contains(words),
            "{words} is in {}",
            stderr(&output)
        );
    }
}

/// A configuration for a free port, with one credential.
fn config(listen: &str, public_key: &str) -> String {
    config_with(listen, public_key, "mode = \"off\"")
}

fn config_with(listen: &str, public_key: &str, journal: &str) -> String {
    format!(
        "[gateway]\nlisten = \"{listen}\"\n\n[journal]\n{journal}\n\n\
         [[asset]]\nid = 1\nname = \"ACME\"\n[[asset]]\nid = 2\nname = \"USD\"\n\n\
         [[instrument]]\nid = 1\nbase = \"ACME\"\nsettlement = \"USD\"\n\n\
         [[account]]\nid = 42\n\n\
         [[credential]]\nid = 1\npublic_key = \"{public_key}\"\naccounts = [42]\n\n\
         [risk.spot_funds]\nenabled = false\n"
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn config_check_says_all_that_is_wrong_and_where() {
    let key = hex(&ClientKey::from_seed(&[7; 32]).public());
    let good = Scratch::new("good.toml", &config("127.0.0.1:0", &key));
    let output = pitlane(&["config", "check", good.path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));

    let bad = config("127.0.0.1:0", &key)
        .replace("[gateway]", "[gateway]\nlissten = \"x\"")
        .replace(
            "[[asset]]\nid = 1",
            "[engine]\nshards = 0\n\n[[asset]]\nid = 1",
        );
    let bad = Scratch::new("bad.toml", &bad);
    for command in [&["config", "check"][..], &["serve", "--config"]] {
        let output = pitlane(&[command, &[bad.path()]].concat());
        assert_eq!(output.status.code(), Some(2));
        let text = stderr(&output);
        for words in ["lissten", "listen", "shards", ":2", bad.path()] {
            assert!(text.contains(words), "{words} is in {text}");
        }
    }
    let example = pitlane(&["config", "example"]);
    let example = Scratch::new("example.toml", &String::from_utf8(example.stdout).unwrap());
    let output = pitlane(&["config", "check", example.path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = pitlane(&["serve", "--config", example.path()]);
    assert_eq!(
        output.status.code(),
        Some(2),
        "the example's key is everyone's"
    );
    assert!(
        stderr(&output).contains("pitlane keygen"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_port_in_use_is_named_with_the_mend() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let key = hex(&ClientKey::from_seed(&[7; 32]).public());
    let file = Scratch::new("port.toml", &config(&address, &key));
    let output = pitlane(&["serve", "--config", file.path()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains(&address), "{}", stderr(&output));
}

/// A `pitlane serve` of its own, killed with the test if it still runs.
struct Serving {
    child: Child,
    address: SocketAddr,
}

impl Serving {
    fn start(config: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pitlane"))
            .args(["serve", "--config"])
            .arg(config)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap()
            .parse()
            .unwrap();
        Self { child, address }
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", name, &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        let mut text = String::new();
        self.child
            .stderr
            .as_mut()
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        (code, text)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn order(price: i64) -> Order {
    Order {
        account: AccountId(42),
        instrument: InstrumentId(1),
        side: Side::Buy,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        quantity: Some(Quantity::from_raw(PRICE_SCALE)),
        volume: None,
        price: Some(Price::from_raw(price * PRICE_SCALE)),
    }
}

#[test]
fn g18_serve_admits_orders_until_it_is_told_to_stop() {
    let key = ClientKey::from_seed(&[7; 32]);
    let file = Scratch::new("serve.toml", &config("127.0.0.1:0", &hex(&key.public())));
    let serving = Serving::start(Path::new(file.path()));
    let mut client =
        Client::connect(serving.address, &Logon::new(1, CredentialId(1), key)).unwrap();
    client
        .sender()
        .new_order(ClientReference(1), &order(99))
        .unwrap();
    client
        .sender()
        .new_order(
            ClientReference(2),
            &Order {
                quantity: None,
                ..order(99)
            },
        )
        .unwrap();
    client.sender().flush().unwrap();
    let wait = Duration::from_secs(5);
    assert!(matches!(
        client.next_event(wait).unwrap(),
        Some(Event::Accepted(_))
    ));
    let refused = client.next_event(wait).unwrap();
    assert!(matches!(refused, Some(Event::Rejected(_))), "{refused:?}");
    serving.signal("HUP");
    serving.signal("TERM");
    // The session is told before the connection ends.
    let told = client.next_event(wait).unwrap();
    assert!(
        matches!(told, Some(Event::Terminated { reason: Some(_) })),
        "{told:?}"
    );
    let (code, text) = serving.end();
    assert_eq!(code, Some(0), "{text}");
    for words in [
        "journal: off",
        "SIGHUP",
        "2 commands",
        "0 in flight",
        "1 sessions told",
    ] {
        assert!(text.contains(words), "{words} is in {text}");
    }
}

#[test]
fn k38_scenario_judges_each_row_and_says_what_is_left() {
    let good = "---\nname: a first buy\n---\n\n\
        | action | account | instrument | side | qty | price | asset | amount | expect | reject |\n\
        |--|--|--|--|--|--|--|--|--|--|\n\
        | SEED | alice | | | | | USD | 1000 | OK | |\n\
        | ORDER | alice | AAPL/USD | BUY | 2 | 100 | | | ACCEPT | |\n\
        | ORDER | alice | AAPL/USD | BUY | 9 | 100 | | | REJECT | InsufficientFunds |\n";
    let file = Scratch::new("good.md", good);
    let output = pitlane(&["scenario", "--json", "--balances", file.path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 5, "three rows and two balances: {text}");
    for name in [
        "file", "row", "account", "action", "expected", "got", "code", "ok",
    ] {
        assert!(lines[2].get(name).is_some(), "{name} is in {}", lines[2]);
    }
    assert_eq!(lines[2]["code"], "InsufficientFunds");
    assert_eq!(lines[3]["asset"], "AAPL");
    assert_eq!(lines[4]["available"], "800");
    assert_eq!(lines[4]["held"], "200");

    let bad = Scratch::new(
        "bad.md",
        &good.replace("| REJECT | InsufficientFunds |", "| ACCEPT | |"),
    );
    let output = pitlane(&["scenario", file.path(), bad.path()]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("row 3: ORDER of alice: expected ACCEPT, got REJECT"),
        "{text}"
    );
    assert!(text.contains("6 rows, 1 not as expected"), "{text}");

    let output = pitlane(&["scenario", "/nonexistent.md", bad.path()]);
    assert_eq!(
        output.status.code(),
        Some(2),
        "a file that cannot be read weighs more"
    );
    assert!(stderr(&output).contains("/nonexistent.md"));
}

#[test]
fn keygen_writes_a_key_once_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let file = Scratch::new("key.pem", "");
    fs::remove_file(&file.0).unwrap();
    let output = pitlane(&["keygen", "--out", file.path()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let line = String::from_utf8(output.stdout).unwrap();
    assert_eq!(line.len(), "public_key = \"\"\n".len() + 64, "{line}");
    assert_eq!(
        fs::metadata(&file.0).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let pem = fs::read_to_string(&file.0).unwrap();
    let public = hex(&ClientKey::from_pem(&pem).unwrap().public());
    assert_eq!(line, format!("public_key = \"{public}\"\n"));
    assert!(ClientKey::from_pem(&pem.replace("PRIVATE", "PUBLIC")).is_err());
    let again = pitlane(&["keygen", "--out", file.path()]);
    assert_eq!(again.status.code(), Some(2));
    assert_eq!(
        fs::read_to_string(&file.0).unwrap(),
        pem,
        "a key is never written over"
    );
}

#[test]
fn sim_of_decisions_adds_up_its_seeds_and_replays_one_of_them() {
    let run = |arguments: &[&str]| {
        let output = pitlane(&[&["sim", "--decisions", "--json"], arguments].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let both = run(&["--seed", "3", "--seeds", "2"]);
    let trace = Scratch::new("sim-decisions", "");
    let first = run(&["--seed", "3", "--trace", trace.path()]);
    let second = run(&["--seed", "4"]);
    for count in ["allowed", "sent", "own_sent", "settled", "trace_lines"] {
        let sum = first[count].as_u64().unwrap() + second[count].as_u64().unwrap();
        assert_eq!(both[count].as_u64(), Some(sum), "{count}");
    }
    assert_eq!(both["trace_sha256"], second["trace_sha256"]);
    let lines = fs::read_to_string(&trace.0).unwrap().lines().count();
    assert_eq!(first["trace_lines"], lines);
    let refused = pitlane(&["sim", "--decisions", "--seconds", "4"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn sim_does_the_same_for_the_same_seed_and_says_so() {
    let arguments = ["sim", "--json", "--seed", "5", "--seconds", "2"];
    let trace = Scratch::new("sim-trace", "");
    let first = pitlane(&[&arguments[..], &["--trace", trace.path()]].concat());
    let second = pitlane(&arguments);
    assert!(first.status.success(), "{}", stderr(&first));
    assert_eq!(first.stdout, second.stdout);
    let told: Value = serde_json::from_slice(&first.stdout).unwrap();
    let lines = fs::read_to_string(trace.path()).unwrap().lines().count();
    assert_eq!(told["trace_lines"], lines);
    assert_eq!(told["violations"], Value::Array(Vec::new()));
    assert_eq!(told["open"], 0);
    assert!(told["executed"].as_u64().unwrap() > 0, "{told}");
    let hash = told["trace_sha256"].as_str().unwrap();
    let table = pitlane(&["sim", "--seed", "5", "--seconds", "2"]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(
        table.ends_with(&format!("trace sha256 {hash}\n")),
        "{table}"
    );

    let refused = pitlane(&["sim", "--seconds", "0"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("1..=86400"),
        "{}",
        stderr(&refused)
    );
    let nowhere = pitlane(&["sim", "--seconds", "1", "--trace", "/no/such/place"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(stderr(&nowhere).contains("/no/such/place"));
}
