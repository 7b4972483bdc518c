//! `pitlane mcp` as a client of the protocol meets it: a process, its stdin and its
//! stdout (rule O34).
#![allow(clippy::needless_pass_by_value)] // Arguments are made for their call.

#[path = "support/http_desk.rs"]
mod http_desk;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use http_desk::Dev;
use serde_json::{Value, json};

struct Mcp {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    calls: u64,
}

impl Mcp {
    fn start(url: &str, token: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pitlane"))
            .args(["mcp", "--url", url, "--token-file"])
            .arg(token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let input = child.stdin.take();
        let mut mcp = Self {
            child,
            input,
            output,
            calls: 0,
        };
        let hello = mcp.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "pitlane", "{hello}");
        assert!(
            hello["result"]["capabilities"]["tools"].is_object(),
            "{hello}"
        );
        mcp.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        mcp
    }

    fn of(dev: &Dev, folder: &Path, token: &str) -> Self {
        Self::start(&format!("http://{}", dev.text("http")), &folder.join(token))
    }

    fn write(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Every line of stdout is JSON-RPC.
    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let value: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        assert_eq!(value["jsonrpc"], "2.0", "{value}");
        value
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let request = json!({
            "jsonrpc": "2.0", "id": self.calls, "method": method, "params": params,
        });
        self.write(&request.to_string());
        let answer = self.read();
        assert_eq!(answer["id"], self.calls, "{answer}");
        answer
    }

    /// What a tool gives, and whether it is an error.
    fn call(&mut self, tool: &str, arguments: Value) -> (bool, Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.ask("tools/call", params);
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let structured = result["structuredContent"].clone();
        if !structured.is_null() {
            // Clients of before read the text.
            assert_eq!(serde_json::from_str::<Value>(text).unwrap(), structured);
            return (result["isError"] == true, structured);
        }
        (result["isError"] == true, json!(text))
    }

    fn until(&mut self, id: &Value, state: &str) -> Value {
        let since = std::time::Instant::now();
        loop {
            let (_, order) = self.call("a2m_order_status", json!({ "client_order_id": id }));
            if order["state"] == state {
                return order;
            }
            assert!(
                since.elapsed() < http_desk::PATIENCE,
                "never {state}: {order}"
            );
        }
    }

    /// Its stdin closed, it ends by itself, and has said nothing else.
    fn end(mut self) {
        self.input = None;
        let status = self.child.wait().unwrap();
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        let mut told = String::new();
        let stderr = self.child.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut told).unwrap();
        assert_eq!((rest.as_str(), told.as_str()), ("", ""));
        assert!(status.success(), "{status}");
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn asked(side: &str, account: &str, price: &str) -> Value {
    json!({
        "account_id": account, "venue": "sim", "instrument": "ACME-USD", "side": side,
        "order_type": "limit", "time_in_force": "gtc", "qty": "5", "price": price,
    })
}

#[test]
fn o34_the_whole_life_of_an_order_through_the_tools() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    let mut mcp = Mcp::of(&dev, folder.path(), "agent.token");
    let tools = mcp.ask("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "a2m_order_status",
            "a2m_cancel_order",
            "a2m_submit_order",
            "a2m_request_decision"
        ]
    );
    assert!(
        tools
            .iter()
            .all(|tool| tool["inputSchema"]["type"] == "object")
    );

    let (failed, buy) = mcp.call("a2m_request_decision", asked("buy", "1", "100"));
    assert!(!failed, "{buy}");
    let id = buy["decision"]["client_order_id"].clone();
    let (failed, order) = mcp.call("a2m_submit_order", buy.clone());
    assert!(!failed && order["client_order_id"] == id, "{order}");
    mcp.until(&id, "acked");
    // The same again is the same order.
    let (failed, again) = mcp.call("a2m_submit_order", buy);
    assert!(!failed && again["client_order_id"] == id, "{again}");
    let (failed, order) = mcp.call("a2m_cancel_order", json!({ "client_order_id": id }));
    assert!(!failed && order["state"] == "cancelled", "{order}");

    let (_, sell) = mcp.call("a2m_request_decision", asked("sell", "2", "101"));
    mcp.call("a2m_submit_order", sell.clone());
    let (_, buy) = mcp.call("a2m_request_decision", asked("buy", "1", "101"));
    mcp.call("a2m_submit_order", buy.clone());
    let order = mcp.until(&buy["decision"]["client_order_id"], "filled");
    assert_eq!(order["avg_px"], "101");
    mcp.end();
}

#[test]
fn o34_refusals_are_results_and_what_is_no_call_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    let mut mcp = Mcp::of(&dev, folder.path(), "agent.token");
    let nobodys = json!({ "client_order_id": format!("co_{}", "0".repeat(32)) });
    for tool in ["a2m_order_status", "a2m_cancel_order"] {
        let (failed, told) = mcp.call(tool, nobodys.clone());
        assert!(failed && told["code"] == "A2M_NOT_FOUND", "{told}");
        let (failed, told) = mcp.call(tool, json!({ "client_order_id": "../../metrics" }));
        assert!(failed && told.as_str().unwrap().contains("co_"), "{told}");
    }
    let mut much = asked("buy", "1", "100");
    much["qty"] = json!("999999999");
    let (failed, told) = mcp.call("a2m_request_decision", much);
    assert!(failed && told["code"] == "A2M_DENIED", "{told}");
    let (failed, told) = mcp.call(
        "a2m_submit_order",
        json!({ "decision": {}, "signature": "" }),
    );
    assert!(failed && told["code"] == "A2M_BAD_SIGNATURE", "{told}");
    let answer = mcp.ask(
        "tools/call",
        json!({ "name": "a2m_nothing", "arguments": {} }),
    );
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let answer = mcp.ask("nothing/at_all", json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    // A line beyond any call is dropped whole, and the next is a call again.
    let long = "x".repeat(100_000);
    mcp.write(&json!({ "jsonrpc": "2.0", "id": 0, "method": long }).to_string());
    assert!(mcp.call("a2m_order_status", nobodys.clone()).0);
    mcp.end();

    // An admin's token is none of an agent's, and a gateway that is gone is told.
    let mut mcp = Mcp::of(&dev, folder.path(), "admin.token");
    let (failed, told) = mcp.call("a2m_order_status", nobodys.clone());
    assert!(failed && told["code"] == "A2M_FORBIDDEN", "{told}");
    drop(dev);
    let (failed, told) = mcp.call("a2m_order_status", nobodys);
    assert!(failed && told["code"] == "A2M_NO_ANSWER", "{told}");
    mcp.end();
}

#[test]
fn o34_bad_arguments_are_told_on_stderr_alone() {
    let output = Command::new(env!("CARGO_BIN_EXE_pitlane"))
        .args(["mcp", "--url", "ftp://x", "--token-file", "nowhere"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("http://"), "{told}");
}
