//! The command line, as clap reads it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};

/// Admits orders: pre-trade risk at ring speed behind a binary gateway.
#[derive(Debug, Parser)]
#[command(name = "pitlane", version, arg_required_else_help = true)]
pub(super) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(super) command: Command,
}

/// What the binary can do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a gateway until SIGTERM or SIGINT
    Serve(ServeArgs),
    /// Look at a configuration without running it
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Start a gateway on loopback, drive it over TCP, and show what came of it
    Demo(DemoArgs),
    /// Run Markdown tables of orders through the risk engine, and judge each row
    Scenario(ScenarioArgs),
    /// Run a whole shard in simulated time from a seed, and hash what it did
    Sim(SimArgs),
    /// Make an Ed25519 key pair for a credential
    Keygen(KeygenArgs),
    /// Make a bearer token for an agent or an admin
    Token(TokenArgs),
    /// Sign a decision with an authorizer's key
    Sign(SignArgs),
    /// List the orders of a running gateway's executor
    Orders(OrdersArgs),
    /// Serve an agent's orders as tools of the Model Context Protocol, over stdio
    Mcp(McpArgs),
    /// Look at a journal, live or dead
    #[command(subcommand)]
    Journal(JournalCommand),
    /// Print what an executor has told, signed by its key, one report a line
    Reports(ReportsArgs),
    /// Check signed reports and decisions, one a line; exit 1 if one is not valid
    Verify(VerifyArgs),
}

/// Arguments of `pitlane reports`.
#[derive(Debug, Args)]
pub(super) struct ReportsArgs {
    /// The folder of the executor's journal
    #[arg(value_name = "DIR")]
    pub(super) dir: PathBuf,
    /// The executor's private key, PKCS#8 PEM: never the one that signs decisions
    #[arg(long, value_name = "FILE")]
    pub(super) key: PathBuf,
    /// The key's name in the reports
    #[arg(long, value_name = "NAME")]
    pub(super) key_id: String,
}

/// Arguments of `pitlane mcp`.
#[derive(Debug, Args)]
pub(super) struct McpArgs {
    /// Where the gateway's HTTP side listens, such as http://127.0.0.1:7401
    #[arg(long, value_name = "URL")]
    pub(super) url: String,
    /// A file with the agent's token
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: PathBuf,
}

/// Arguments of `pitlane verify`.
#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// A public key and its name in the texts; may be given several times
    #[arg(long = "key", value_name = "KEY_ID=HEX", required = true)]
    pub(super) keys: Vec<String>,
}

/// Arguments of `pitlane serve`.
#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// The configuration, TOML
    #[arg(long, value_name = "FILE", required_unless_present = "dev")]
    pub(super) config: Option<PathBuf>,
    /// A whole system on loopback, to try it out: what is missing in the folder is made,
    /// and one JSON line on stdout says how to reach it
    #[arg(long, value_name = "DIR", conflicts_with = "config")]
    pub(super) dev: Option<PathBuf>,
    /// How sockets are served; overrides the configuration
    #[arg(long, value_enum)]
    pub(super) io: Option<Io>,
}

/// What `pitlane config` can do.
#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Say everything that is wrong with a file; exit 2 if anything is
    Check {
        /// The configuration, TOML
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print a commented example to start from
    Example,
}

/// What `pitlane journal` can do.
#[derive(Debug, Subcommand)]
pub(super) enum JournalCommand {
    /// Say whether every record is whole; exit 1 if not
    Verify {
        #[command(flatten)]
        place: JournalPlace,
        /// Copy what is whole into this new folder; the journal is left as it is
        #[arg(long, value_name = "NEW_DIR")]
        repair: Option<PathBuf>,
    },
    /// Count what is in it, and say what is open
    Stats {
        #[command(flatten)]
        place: JournalPlace,
    },
    /// Print the records, one a line
    Dump {
        #[command(flatten)]
        place: JournalPlace,
        /// Begin with this record
        #[arg(long, default_value_t = 1, value_name = "SEQUENCE")]
        from: u64,
        /// Print so many of each shard at most
        #[arg(long, default_value_t = u64::MAX, value_name = "N", hide_default_value = true)]
        limit: u64,
    },
    /// Print the last records, one a line
    Tail {
        #[command(flatten)]
        place: JournalPlace,
        /// How many of each shard
        #[arg(short = 'n', long, default_value_t = 10, value_name = "N")]
        count: usize,
    },
    /// Write every report into a CSV file
    Export {
        /// The folder of the journal
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// A file that is not there
        #[arg(long, value_name = "FILE.csv")]
        out: PathBuf,
    },
}

/// Which journal, and for whom.
#[derive(Debug, Args)]
pub(super) struct JournalPlace {
    /// The folder that `[journal] dir` names, or a shard's in it
    #[arg(value_name = "DIR")]
    pub(super) dir: PathBuf,
    /// Print JSON, one object a line
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `pitlane scenario`.
#[derive(Debug, Args)]
pub(super) struct ScenarioArgs {
    /// The scenarios, Markdown
    #[arg(value_name = "FILE.md", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Print one JSON object for each row
    #[arg(long)]
    pub(super) json: bool,
    /// Print what each account has at the end of each file
    #[arg(long)]
    pub(super) balances: bool,
}

/// Arguments of `pitlane sim`.
#[derive(Debug, Args)]
pub(super) struct SimArgs {
    /// Seed: the same one does the same, byte for byte
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(super) seed: u64,
    /// Simulated time in which orders come
    #[arg(long, default_value_t = 10, value_name = "S")]
    #[arg(value_parser = value_parser!(u64).range(1..=86_400))]
    pub(super) seconds: u64,
    /// Accounts that send them
    #[arg(long, default_value_t = 64, value_name = "N")]
    #[arg(value_parser = value_parser!(u64).range(2..=10_000))]
    pub(super) accounts: u64,
    /// New orders a simulated second
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    #[arg(value_parser = value_parser!(u64).range(1..=100_000))]
    pub(super) rate: u64,
    /// Decisions instead: authorizer, executor and venues, with crashes and lost messages
    #[arg(long, conflicts_with_all = ["seconds", "accounts", "rate"])]
    pub(super) decisions: bool,
    /// Things that happen to them before everything is mended
    #[arg(long, default_value_t = 80, value_name = "N", requires = "decisions")]
    #[arg(value_parser = value_parser!(u64).range(1..=100_000))]
    pub(super) steps: u64,
    /// How many seeds to run, from the first on
    #[arg(long, default_value_t = 1, value_name = "N", requires = "decisions")]
    #[arg(value_parser = value_parser!(u64).range(1..=1_000_000))]
    #[arg(conflicts_with = "trace")]
    pub(super) seeds: u64,
    /// Write what happened to a file: a line for each command and publication
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `pitlane keygen`.
#[derive(Debug, Args)]
pub(super) struct KeygenArgs {
    /// Where the private key goes: PKCS#8 PEM, readable by its owner alone
    #[arg(long, value_name = "FILE")]
    pub(super) out: PathBuf,
}

/// Arguments of `pitlane token`.
#[derive(Debug, Args)]
pub(super) struct TokenArgs {
    /// Where the token goes, readable by its owner alone
    #[arg(long, value_name = "FILE")]
    pub(super) out: PathBuf,
}

/// Arguments of `pitlane sign`.
#[derive(Debug, Args)]
pub(super) struct SignArgs {
    /// The private key, PKCS#8 PEM; the decision's `key_id` is to name it
    #[arg(long, value_name = "FILE")]
    pub(super) key: PathBuf,
    /// The decision, JSON; `-` is stdin
    #[arg(long = "in", value_name = "FILE", default_value = "-")]
    pub(super) input: PathBuf,
}

/// Arguments of `pitlane orders`.
#[derive(Debug, Args)]
pub(super) struct OrdersArgs {
    /// Those in this state alone: new, pending_new, acked, partially_filled, filled,
    /// cancelled, rejected, expired, unknown
    #[arg(long, value_name = "STATE")]
    pub(super) state: Option<String>,
    /// Where the gateway listens for HTTP
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:7401")]
    pub(super) url: String,
    /// A file with an admin's token
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: PathBuf,
    /// So many at most, the oldest first
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = value_parser!(u16).range(1..=1_000))]
    pub(super) limit: u16,
    /// Print JSON, one object a line
    #[arg(long)]
    pub(super) json: bool,
}

/// How sockets are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Io {
    /// io_uring, or epoll where it is refused
    Auto,
    /// io_uring or nothing
    Uring,
    /// epoll
    Epoll,
}

/// Where the shards run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// Inline where there are fewer cores than threads, else on rings
    Auto,
    /// On the I/O thread itself; one shard
    Inline,
    /// On pinned threads of their own, behind rings
    Ring,
}

/// When something may leave the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Journal {
    /// When it is synced to the disk
    Sync,
    /// When it is written; synced every 10 ms
    Async,
    /// At once: nothing survives a restart
    Off,
}

/// Arguments of `pitlane demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// New orders to send
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    #[arg(value_parser = value_parser!(u64).range(1..=50_000_000))]
    pub(super) orders: u64,
    /// Accounts that send them
    #[arg(long, default_value_t = 256, value_name = "N")]
    #[arg(value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub(super) accounts: u32,
    /// Messages in flight at most
    #[arg(long, default_value_t = 256, value_name = "N")]
    #[arg(value_parser = value_parser!(u32).range(1..=4_096))]
    pub(super) window: u32,
    /// Seed of the order flow: the same seed sends the same orders
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(super) seed: u64,
    /// Shards; more than one needs `--mode ring`
    #[arg(long, default_value_t = 1, value_name = "N")]
    #[arg(value_parser = value_parser!(u16).range(1..=256))]
    pub(super) shards: u16,
    /// Where the shards run
    #[arg(long, value_enum, default_value_t = Mode::Auto)]
    pub(super) mode: Mode,
    /// How sockets are served
    #[arg(long, value_enum, default_value_t = Io::Auto)]
    pub(super) io: Io,
    /// What is written down before anybody is told
    #[arg(long, value_enum, default_value_t = Journal::Sync)]
    pub(super) journal: Journal,
    /// Where the journal goes, and stays; without it to the system's temporary folder,
    /// and away at the end
    #[arg(long, value_name = "DIR")]
    pub(super) journal_dir: Option<PathBuf>,
    /// Send the order flow of a CSV file instead: ts_ns,event,order_id,side,price,qty
    #[arg(long, value_name = "FILE.csv")]
    pub(super) flow: Option<PathBuf>,
    /// Send the flow at X times its own pace; as fast as it is taken without it
    #[arg(long, value_name = "X", requires = "flow", value_parser = speed)]
    pub(super) speed: Option<f64>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(super) json: bool,
}

/// A pace above zero.
fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if speed.is_finite() && speed >= 1e-3 => Ok(speed),
        _ => Err("give a number of at least 0.001; 1 is the flow's own pace".into()),
    }
}
