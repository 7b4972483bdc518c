//! Hosts that refuse io_uring: the gateway says which and why, and serves on
//! epoll, or does not start where io_uring was asked for.

mod support;

use std::process::Command;

use pitlane::types::ClientReference;
use pitlane_gateway::client::Event;
use pitlane_gateway::server::{IoChoice, IoRefusal, IoUsed, Server, ServerError};

use support::core::{CoreKind, TestPath};
use support::{Setup, account, event, order};

const REFUSAL: &str = "PITLANE_TEST_REFUSAL";

/// Starts as `Auto`, and serves; why it is not io_uring.
fn serve_on_what_there_is(setup: Setup) -> Option<IoRefusal> {
    let gateway = setup.start();
    let used = gateway.handle.io()[0];
    let mut client = gateway.client(1);
    client
        .sender()
        .new_order(ClientReference(1), &order(account(1)))
        .unwrap();
    client.sender().flush().unwrap();
    assert!(matches!(event(&mut client), Event::Accepted(_)));
    match used {
        IoUsed::Epoll { refused } => refused.map(|refused| refused.reason),
        IoUsed::Uring => None,
    }
}

fn forced(setup: &Setup) -> ServerError {
    let credentials = pitlane_gateway::session::Credentials::new(&setup.credentials);
    Server::start(
        setup.config.clone(),
        std::sync::Arc::new(credentials.unwrap()),
        |port| TestPath::new(CoreKind::Inline, port),
    )
    .unwrap_err()
}

/// No host takes a ring of that size.
fn with_absurd_ring(io: IoChoice) -> Setup {
    let mut setup = Setup::new(io);
    setup.config.ring_entries = 1 << 24;
    setup
}

#[test]
fn g15_settings_that_the_kernel_refuses_fall_back_with_the_reason() {
    let reason = serve_on_what_there_is(with_absurd_ring(IoChoice::Auto)).expect("a reason");
    assert!(!matches!(reason, IoRefusal::Other(_)), "{reason:?}");
    let error = forced(&with_absurd_ring(IoChoice::Uring));
    assert!(matches!(error, ServerError::Uring(_)));
    assert!(error.to_string().contains("--io epoll"), "{error}");
    // Asked for epoll, nothing was refused.
    assert_eq!(serve_on_what_there_is(Setup::new(IoChoice::Epoll)), None);
}

/// Run by the test below, in a process whose ring set-up fails.
#[test]
fn refused_child() {
    let Ok(name) = std::env::var(REFUSAL) else {
        return;
    };
    let reason = serve_on_what_there_is(Setup::new(IoChoice::Auto));
    let error = forced(&Setup::new(IoChoice::Uring)).to_string();
    println!("REASON {reason:?} ERROR {error} FOR {name}");
}

/// Needs strace, and leave to trace; where either is missing it says so, and
/// the mapping's own test in `server/error.rs` stands alone.
#[test]
fn f38_f39_ring_set_up_that_fails_is_named_and_epoll_serves() {
    for (errno, reason, mend) in [
        ("EPERM", "Seccomp", "seccomp"),
        ("ENOMEM", "MemoryLock", "ulimit -l"),
        ("ENOSYS", "Missing", "Linux 5.11"),
    ] {
        let output = Command::new("strace")
            .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=io_uring_setup"])
            .args(["-e", &format!("inject=io_uring_setup:error={errno}")])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "refused_child", "--nocapture"])
            .env(REFUSAL, errno)
            .output();
        let text = match output {
            Ok(output) => format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            ),
            Err(error) => {
                let is_needed = std::env::var_os("PITLANE_TESTS_NEED_STRACE").is_some();
                assert!(!is_needed, "strace cannot be run: {error}");
                eprintln!("strace cannot be run ({error}): not tested with a real refusal");
                return;
            }
        };
        if text.contains("ptrace") {
            eprintln!("tracing is not allowed here: not tested with a real refusal");
            return;
        }
        // A host whose sysctl forbids io_uring says that of EPERM.
        let by_sysctl = errno == "EPERM" && text.contains("Sysctl(");
        assert!(
            by_sysctl || text.contains(&format!("REASON Some({reason})")),
            "{text}"
        );
        assert!(by_sysctl || text.contains(mend), "{text}");
        assert!(text.contains("--io epoll"), "{text}");
    }
}
