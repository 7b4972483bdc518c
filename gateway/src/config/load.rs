//! From a file to a [`Config`], or to every problem of it.

use core::net::SocketAddr;
use core::num::NonZeroU16;
use core::time::Duration;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use pitlane::limits::{self, CONFIG_BYTES_MAX};
use toml::de::DeTable;

use super::http;
use super::model::{
    CallbackHalt, Config, EngineSettings, GatewaySettings, Idle, Io, JournalMode, JournalSettings,
    Mode, OldSegments, SessionSettings, Shards, VenueKind, VenueSettings,
};
use super::parties;
use super::problem::{ConfigError, Problem};
use super::reader::{Complaint, Reader, describe};
use super::risk;
use super::section::{Section, whole};

/// The longest interval that the wire can say: 32 bits of milliseconds.
const KEEP_ALIVE_MOST: Duration = Duration::from_millis(u32::MAX as u64);

/// The longest loss window.
const SYNC_EVERY_MOST: Duration = Duration::from_secs(60);

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, is larger than 16 MiB, or has problems: all of
    /// them, each with its line, what was found, what is wanted, and the mend.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let unreadable = |source| ConfigError::Unreadable {
            path: path.into(),
            source,
        };
        let mut text = String::new();
        let file = File::open(path).map_err(unreadable)?;
        // One byte more than is taken shows that there is more; a length from
        // the file system would not, for a pipe or a file that grows.
        file.take(CONFIG_BYTES_MAX + 1)
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        let bytes = text.len() as u64;
        if bytes > CONFIG_BYTES_MAX {
            return Err(ConfigError::TooLarge {
                path: path.into(),
                bytes,
                most: CONFIG_BYTES_MAX,
            });
        }
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads a text; `file` is what its problems name.
    ///
    /// # Errors
    /// [`ConfigError::Problems`], all of them.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        let (config, _, problems) = read(file, text);
        if problems.is_empty() {
            Ok(config)
        } else {
            Err(ConfigError::Problems(problems))
        }
    }

    /// Every problem of a file, by line; none if [`Config::load`] takes it.
    ///
    /// # Errors
    /// The file cannot be read, or is larger than 16 MiB.
    pub fn check(path: impl AsRef<Path>) -> Result<Vec<Problem>, ConfigError> {
        match Self::load(path) {
            Ok(_) => Ok(Vec::new()),
            Err(ConfigError::Problems(problems)) => Ok(problems),
            Err(error) => Err(error),
        }
    }
}

/// What a text says, the keys that were looked for, and its problems.
pub(super) fn read(file: &str, text: &str) -> (Config, BTreeSet<String>, Vec<Problem>) {
    let reader = Reader::new(file, text);
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut config = Config::default();
    if errors.is_empty() {
        let root = Section::document(&reader, document.get_ref());
        config.gateway = gateway(root.section("gateway"));
        config.session = session(root.section("session"));
        config.engine = engine(root.section("engine"), &config.gateway);
        config.journal = journal(root.section("journal"));
        config.venue = venue(root.section("venue"));
        let before = reader.problems_so_far();
        parties::read(&root, &mut config);
        http::read(&root, &mut config);
        // What a rule names can be judged only if the lists themselves are sound.
        let lists_are_sound = reader.problems_so_far() == before;
        config.risk = risk::read(&root.section("risk"), &config, lists_are_sound);
        root.finish();
    } else {
        // What follows from half a text would only hide the cause.
        for error in &errors {
            reader.complain_of_syntax(error);
        }
    }
    let (asked, problems) = reader.finish();
    (config, asked, problems)
}

fn gateway(section: Section<'_, '_>) -> GatewaySettings {
    let default = GatewaySettings::default();
    let allow_public = section.flag("allow_public", default.allow_public);
    let listen = address(&section, allow_public, "127.0.0.1:7400").unwrap_or(default.listen);
    let threads_most = u16::try_from(limits::SUBMITTERS_MAX).unwrap_or(u16::MAX);
    let io_threads = section
        .number("io_threads", 1..=threads_most)
        .and_then(NonZeroU16::new);
    let settings = GatewaySettings {
        id: section.number("id", 0..=u64::MAX).unwrap_or(default.id),
        listen,
        allow_public,
        io: section.one_of(
            "io",
            &[
                ("auto", Io::Auto),
                ("uring", Io::Uring),
                ("epoll", Io::Epoll),
            ],
            default.io,
        ),
        io_threads: io_threads.unwrap_or(default.io_threads),
        cpus: cpus(&section),
        mode: section.one_of(
            "mode",
            &[
                ("auto", Mode::Auto),
                ("inline", Mode::Inline),
                ("ring", Mode::Ring),
            ],
            default.mode,
        ),
        idle: section.one_of(
            "idle",
            &[
                ("park", Idle::Park),
                ("yield", Idle::Yield),
                ("spin", Idle::Spin),
            ],
            default.idle,
        ),
        max_connections: section
            .number("max_connections", 1..=1_000_000)
            .unwrap_or(default.max_connections),
    };
    one_cpu_each(
        &section,
        &settings.cpus,
        usize::from(settings.io_threads.get()),
        "io_threads",
    );
    section.finish();
    settings
}

/// The address of `listen`, which other hosts reach only if that is meant.
pub(super) fn address(
    section: &Section<'_, '_>,
    allow_public: bool,
    example: &str,
) -> Option<SocketAddr> {
    let text = section.text("listen", example)?;
    let Ok(address) = text.parse::<SocketAddr>() else {
        let complaint = Complaint::new(
            format!("{text:?}"),
            format!("an IP address and a port, such as \"{example}\" or \"[::1]:7400\""),
            "write the address itself; names are not resolved",
        );
        section.complain("listen", complaint);
        return None;
    };
    if !address.ip().is_loopback() && !allow_public {
        let complaint = Complaint::new(
            format!("{text:?}, which other hosts can reach"),
            "a loopback address, or leave to listen on another",
            "write allow_public = true if that is meant",
        );
        section.complain("listen", complaint);
        return None;
    }
    Some(address)
}

/// The CPUs of a section's threads, none twice.
fn cpus(section: &Section<'_, '_>) -> Vec<u16> {
    let cpus: Vec<u16> = section
        .numbers("cpus", &(0..=limits::CPU_ID_MAX))
        .unwrap_or_default();
    let mut seen = BTreeSet::new();
    for cpu in &cpus {
        if !seen.insert(cpu) {
            let complaint = Complaint::new(
                format!("CPU {cpu} twice"),
                "one thread on a CPU",
                "name another, or leave the list out",
            );
            section.complain("cpus", complaint);
        }
    }
    cpus
}

/// A list of CPUs pins every thread of its kind, or none.
fn one_cpu_each(section: &Section<'_, '_>, cpus: &[u16], threads: usize, threads_key: &str) {
    if !cpus.is_empty() && cpus.len() != threads {
        let complaint = Complaint::new(
            format!("{} CPUs", cpus.len()),
            format!("{threads}, one for each of {threads_key}, or none"),
            format!("name {threads}, change {threads_key}, or leave cpus out"),
        );
        section.complain("cpus", complaint);
    }
}

fn session(section: Section<'_, '_>) -> SessionSettings {
    let default = SessionSettings::default();
    let least = Duration::from_millis(1);
    let read = |key, default| section.duration(key, least, default);
    let settings = SessionSettings {
        negotiation: read("negotiation", default.negotiation),
        partial_frame: read("partial_frame", default.partial_frame),
        clock_skew: read("clock_skew", default.clock_skew),
        keep_alive_min: read("keep_alive_min", default.keep_alive_min),
        keep_alive_max: read("keep_alive_max", default.keep_alive_max),
        close_grace: read("close_grace", default.close_grace),
    };
    if settings.keep_alive_min > settings.keep_alive_max {
        let complaint = Complaint::new(
            "an interval above keep_alive_max",
            "at most keep_alive_max, or clients could ask for none",
            "lower this one, or raise keep_alive_max",
        );
        section.complain("keep_alive_min", complaint);
    }
    if settings.keep_alive_max > KEEP_ALIVE_MOST {
        let complaint = Complaint::new(
            "an interval of more than 49 days",
            "at most 4294967295ms, the longest that the wire can say",
            "write keep_alive_max = \"60s\"",
        );
        section.complain("keep_alive_max", complaint);
    }
    section.finish();
    settings
}

fn engine(section: Section<'_, '_>, gateway: &GatewaySettings) -> EngineSettings {
    let settings = EngineSettings {
        shards: shards(&section),
        cpus: cpus(&section),
        callback_halt: section.one_of(
            "callback_halt",
            &[("shard", CallbackHalt::Shard), ("all", CallbackHalt::All)],
            CallbackHalt::default(),
        ),
    };
    if let Shards::Count(count) = settings.shards {
        one_cpu_each(&section, &settings.cpus, usize::from(count.get()), "shards");
    }
    for cpu in settings
        .cpus
        .iter()
        .filter(|cpu| gateway.cpus.contains(cpu))
    {
        let complaint = Complaint::new(
            format!("CPU {cpu}, which gateway.cpus names too"),
            "one thread on a CPU",
            "name another in one of the two",
        );
        section.complain("cpus", complaint);
    }
    section.finish();
    settings
}

fn shards(section: &Section<'_, '_>) -> Shards {
    let Some(value) = section.value("shards") else {
        return Shards::Auto;
    };
    if value.as_str() == Some("auto") {
        return Shards::Auto;
    }
    let count = whole::<u16>(value).filter(|count| usize::from(*count) <= limits::SHARDS_MAX);
    if let Some(count) = count.and_then(NonZeroU16::new) {
        return Shards::Count(count);
    }
    let mend = if count == Some(0) {
        "without a shard nothing judges an order: write shards = \"auto\", or 1 or more"
    } else {
        "write shards = \"auto\""
    };
    let wanted = format!(
        "\"auto\", or a whole number from 1 to {}",
        limits::SHARDS_MAX
    );
    section.complain("shards", Complaint::new(describe(value), wanted, mend));
    Shards::Auto
}

fn journal(section: Section<'_, '_>) -> JournalSettings {
    let default = JournalSettings::default();
    let mode = section.one_of(
        "mode",
        &[
            ("sync", JournalMode::Sync),
            ("async", JournalMode::Async),
            ("off", JournalMode::Off),
        ],
        default.mode,
    );
    let dir = section.text("dir", "journal");
    let mib = limits::JOURNAL_SEGMENT_BYTES_MIN >> 20..=limits::JOURNAL_SEGMENT_BYTES_MAX >> 20;
    let settings = JournalSettings {
        mode,
        dir: dir.map_or(default.dir, PathBuf::from),
        sync_every: section.duration("sync_every", Duration::from_millis(1), default.sync_every),
        segment_mib: section
            .number("segment_mib", mib)
            .unwrap_or(default.segment_mib),
        groups_max: section
            .number("groups_max", 1..=limits::JOURNAL_GROUPS_MAX)
            .unwrap_or(default.groups_max),
        snapshot_segments: section
            .number(
                "snapshot_segments",
                0..=limits::JOURNAL_SNAPSHOT_SEGMENTS_MAX,
            )
            .unwrap_or(default.snapshot_segments),
        old_segments: old_segments(&section),
        history: section.text("history", "history.sqlite").map(PathBuf::from),
    };
    if settings.sync_every > SYNC_EVERY_MOST {
        let complaint = Complaint::new(
            "more than a minute",
            "1ms to 60s: what may be lost",
            "write sync_every = \"10ms\"",
        );
        section.complain("sync_every", complaint);
    }
    section.finish();
    settings
}

/// What becomes of old segments.
fn old_segments(section: &Section<'_, '_>) -> OldSegments {
    let folder = section.text("archive", "journal-archive");
    let archive = folder.map_or_else(|| PathBuf::from("journal-archive"), PathBuf::from);
    let choices = [("keep", 0), ("archive", 1), ("delete", 2)];
    match section.one_of("old_segments", &choices, 0) {
        1 => OldSegments::Archive(archive),
        2 => OldSegments::Delete,
        _ => OldSegments::Keep,
    }
}

fn venue(section: Section<'_, '_>) -> VenueSettings {
    let default = VenueSettings::default();
    let settings = VenueSettings {
        kind: section.one_of("kind", &[("sim", VenueKind::Sim)], default.kind),
        name: http::decision_name(&section, "name", "sim").unwrap_or(default.name),
        orders_max: section
            .number("orders_max", 1..=limits::SIM_VENUE_ORDERS_MAX)
            .unwrap_or(default.orders_max),
        events_max: section
            .number(
                "events_max",
                limits::SIM_VENUE_EVENTS_MIN..=limits::SIM_VENUE_EVENTS_MAX,
            )
            .unwrap_or(default.events_max),
    };
    section.finish();
    settings
}
