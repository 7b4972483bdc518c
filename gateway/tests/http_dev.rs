//! `pitlane serve --dev` as a user meets it: one line, and a folder that goes on.

#[path = "support/http_desk.rs"]
mod http_desk;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use http_desk::{Dev, id};
use pitlane::types::Side;
use serde_json::{Value, json};

fn pitlane(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pitlane"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_first_start_makes_everything_and_says_how_to_reach_it() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("new/dev");
    let dev = Dev::start(&place);
    let names: Vec<&String> = dev.ready.as_object().unwrap().keys().collect();
    let mut expected = [
        "ready",
        "gateway",
        "http",
        "agent_id",
        "agent_token",
        "admin_token",
        "key_id",
        "signing_key",
        "accounts",
        "instruments",
        "venues",
    ];
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(dev.ready["ready"], true);
    assert_eq!(dev.ready["accounts"].as_array().unwrap().len(), 2);
    assert_eq!(dev.ready["venues"], json!(["sim"]));
    for secret in [
        "agent.token",
        "admin.token",
        "authorizer.pem",
        "client.pem",
        "config.toml",
    ] {
        let mode = fs::metadata(place.join(secret))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{secret}");
    }
    let config = fs::read_to_string(place.join("config.toml")).unwrap();
    assert!(!config.contains(&dev.text("agent_token")), "hashes alone");
    // A user's way: a decision by hand, signed by the command, brought.
    let (agent, admin) = (dev.agent(), dev.admin());
    let key = dev.text("signing_key");
    let signed: Value = serde_json::from_str(&dev.body(1, 1, Side::Buy, "100.5")).unwrap();
    let file = place.join("decision.json");
    fs::write(
        &file,
        serde_json::to_string_pretty(&signed["decision"]).unwrap(),
    )
    .unwrap();
    let output = pitlane(&["sign", "--key", &key, "--in", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let body = text(&output.stdout);
    assert_eq!(body.lines().count(), 1);
    assert_eq!(
        serde_json::from_str::<Value>(&body).unwrap(),
        signed,
        "the one signature"
    );
    agent.bring(&body);
    agent.until(id(1), "acked");
    agent.bring(&dev.body(2, 2, Side::Sell, "100.5"));
    agent.until(id(1), "filled");
    let (_, list) = admin.get("/v1/admin/orders?state=filled");
    assert_eq!(list["orders"].as_array().unwrap().len(), 2);
    // And the operator's.
    let url = format!("http://{}", dev.text("http"));
    let token = place.join("admin.token");
    let arguments = [
        "orders",
        "--url",
        &url,
        "--token-file",
        token.to_str().unwrap(),
    ];
    let output = pitlane(&[&arguments[..], &["--state", "filled"]].concat());
    assert_eq!(
        text(&output.stdout).lines().count(),
        3,
        "{}",
        text(&output.stdout)
    );
    let output = pitlane(&[&arguments[..], &["--state", "unknown", "--json"]].concat());
    assert!(output.status.success() && output.stdout.is_empty());
    let output = pitlane(&[&arguments[..], &["--state", "nothing"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("A2M_BAD_REQUEST"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn o18_killed_between_send_and_fill_it_goes_on_and_sends_nothing_again() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    let agent = dev.agent();
    let (first, second) = (
        dev.body(1, 1, Side::Buy, "100"),
        dev.body(2, 2, Side::Sell, "100"),
    );
    agent.bring(&first);
    agent.bring(&second);
    let filled = agent.until(id(1), "filled");
    let open = dev.body(3, 1, Side::Buy, "90");
    agent.bring(&open);
    agent.until(id(3), "acked");
    let before = dev.ready.clone();

    let dev = dev.killed_and_started();
    for same in [
        "agent_token",
        "admin_token",
        "key_id",
        "signing_key",
        "agent_id",
        "accounts",
    ] {
        assert_eq!(dev.ready[same], before[same], "{same}");
    }
    let agent = dev.agent();
    assert_eq!(agent.order(id(1)), filled, "as it was");
    assert_eq!(
        agent.bring(&first),
        filled,
        "the same decision is the same order"
    );
    assert_eq!(agent.bring(&second)["state"], "filled");
    // The simulated venue's book has ended with its process, and is asked.
    let over = agent.until(id(3), "cancelled");
    assert_eq!(agent.bring(&open), over, "it is not sent again");
    // New fills are no repeats of old ones.
    agent.bring(&dev.body(4, 1, Side::Buy, "101"));
    agent.bring(&dev.body(5, 2, Side::Sell, "101"));
    assert_eq!(agent.until(id(4), "filled")["filled_qty"], "5");
    let (_, page) = agent.text("GET", "/metrics", "");
    assert!(
        page.contains("\npitlane_executor_duplicate_fills_total 0\n"),
        "{page}"
    );
}

#[test]
fn o18_stopped_by_a_signal_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    let agent = dev.agent();
    let filled = dev.body(1, 1, Side::Buy, "100");
    agent.bring(&filled);
    agent.bring(&dev.body(2, 2, Side::Sell, "100"));
    let filled_as = agent.until(id(1), "filled");
    let open = dev.body(3, 1, Side::Buy, "90");
    agent.bring(&open);
    agent.until(id(3), "acked");

    let dev = dev.stopped_and_started();
    let agent = dev.agent();
    assert_eq!(agent.get("/readyz").0, 200);
    assert_eq!(agent.bring(&filled), filled_as);
    let over = agent.until(id(3), "cancelled");
    assert_eq!(agent.bring(&open), over, "it is not sent again");
    agent.bring(&dev.body(4, 2, Side::Sell, "90"));
    agent.until(id(4), "acked");
}

/// Each block of shell in docs/http.md, run as it stands.
#[test]
fn o31_the_walk_through_of_the_page_works_as_it_is_written() {
    let page = include_str!("../../docs/http.md");
    let blocks = page.split("```sh\n").skip(1);
    let script: String = blocks
        .filter_map(|block| block.split("```").next())
        .collect();
    assert!(script.contains("serve --dev"), "{script}");
    let folder = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_pitlane"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", binary.parent().unwrap().display());
    let output = Command::new("timeout")
        .args(["60", "bash", "-euo", "pipefail", "-c"])
        .arg(format!("trap 'kill $!' EXIT\n{script}"))
        .current_dir(&folder)
        .env("PATH", path)
        .output()
        .unwrap();
    let (told, faults) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{told}\n{faults}");
    // The page says in a comment what an order is then.
    let orders = serde_json::Deserializer::from_str(&told).into_iter::<Value>();
    let states: Vec<String> = orders
        .map(|order| order.unwrap()["state"].as_str().unwrap().to_owned())
        .collect();
    let said = script.lines().filter_map(|line| line.split_once("  # "));
    let said: Vec<&str> = said
        .map(|(_, state)| state)
        .filter(|state| !state.contains(' '))
        .collect();
    assert_eq!(states, said, "{told}");
}

#[test]
fn what_does_not_belong_together_is_refused_with_the_mend() {
    let folder = tempfile::tempdir().unwrap();
    drop(Dev::start(folder.path()));
    fs::remove_file(folder.path().join("agent.token")).unwrap();
    let place = folder.path().to_str().unwrap();
    let output = pitlane(&["serve", "--dev", place]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("agent.token"),
        "{}",
        text(&output.stderr)
    );
    // As it says.
    fs::remove_file(folder.path().join("config.toml")).unwrap();
    drop(Dev::start(folder.path()));
    let output = pitlane(&["serve", "--dev", place, "--config", "x.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(pitlane(&["serve"]).status.code(), Some(2));
}

#[test]
fn two_processes_on_one_folder_are_one_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    let output = pitlane(&["serve", "--dev", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert_eq!(dev.agent().get("/healthz").0, 200, "the first goes on");
}

#[test]
fn a_decision_that_is_none_is_not_signed_and_a_token_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (key, token) = (path("key.pem"), path("token"));
    assert!(pitlane(&["keygen", "--out", &key]).status.success());
    for (input, what) in [
        ("{}", "order_type"),
        ("{\"a\":1}", "number"),
        ("nothing", "line 1"),
    ] {
        fs::write(path("in.json"), input).unwrap();
        let output = pitlane(&["sign", "--key", &key, "--in", &path("in.json")]);
        assert_eq!(output.status.code(), Some(2), "{input}");
        assert!(
            text(&output.stderr).contains(what),
            "{}",
            text(&output.stderr)
        );
        assert!(output.stdout.is_empty());
    }
    let output = pitlane(&["token", "--out", &token]);
    assert!(text(&output.stdout).starts_with("token_sha256 = \""));
    let made = fs::read_to_string(&token).unwrap();
    assert!(
        !text(&output.stdout).contains(made.trim()),
        "the hash alone"
    );
    assert_eq!(pitlane(&["token", "--out", &token]).status.code(), Some(2));
    assert_eq!(fs::read_to_string(&token).unwrap(), made, "as it was");
    let mut sign = Command::new(env!("CARGO_BIN_EXE_pitlane"));
    let output = sign
        .args(["sign", "--key", &token])
        .stdin(Stdio::null())
        .output();
    assert_eq!(output.unwrap().status.code(), Some(2), "a token is no key");
}
