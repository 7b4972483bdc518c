//! The HTTP side of a configuration: the listener, the executor's waits and
//! bounds, and who may ask: agents, admins, and the authorizer's keys.

use core::net::SocketAddr;
use core::time::Duration;
use std::path::PathBuf;

use pitlane::limits;
use pitlane::orders::decision::{Role, read_instant};
use pitlane::time::UnixNanos;

use super::load::address;
use super::model::{
    AdminEntry, AgentEntry, AuthorizerSection, Config, ExecutorSection, HttpSettings, JournalMode,
    KeyEntry, PeerEntry, RemoteAuthorizer,
};
use super::parties::{Seen, access, hex32, public_key};
use super::reader::{Complaint, quoted};
use super::section::Section;

/// Reads everything that belongs to the HTTP side; the accounts are there.
pub(super) fn read(root: &Section<'_, '_>, config: &mut Config) {
    let mode = config.journal.mode;
    config.http = http(root.section("http"), mode);
    config.authorizer = authorizer(root.section("authorizer"));
    config.executor = executor(root.section("executor"));
    if config.executor.authorizer.is_some() && config.authorizer.key_file.is_some() {
        let complaint = Complaint::new(
            "an authorizer elsewhere, and one here",
            "one of them: what is executed is settled in one place",
            "leave executor.authorizer_url empty, or authorizer.key_file",
        );
        root.complain("executor", complaint);
    }
    // A token that two have would make one of them the other.
    let mut tokens = Seen::default();
    let mut ids = Seen::default();
    for section in root.sections("agent") {
        let agent = agent(section, config, &mut ids, &mut tokens);
        config.agents.extend(agent);
    }
    let mut ids = Seen::default();
    for section in root.sections("admin") {
        config.admins.extend(admin(section, &mut ids, &mut tokens));
    }
    let mut ids = Seen::default();
    for section in root.sections("peer") {
        let entry = admin(section, &mut ids, &mut tokens);
        config.peers.extend(entry.map(|entry| PeerEntry {
            id: entry.id,
            token_sha256: entry.token_sha256,
        }));
    }
    let (mut ids, mut keys) = (Seen::default(), Seen::default());
    for section in root.sections("key") {
        config.keys.extend(key(section, &mut ids, &mut keys));
    }
}

fn http(section: Section<'_, '_>, journal: JournalMode) -> HttpSettings {
    let default = HttpSettings::default();
    let allow_public = section.flag("allow_public", default.allow_public);
    let least = Duration::from_millis(1);
    let settings = HttpSettings {
        enabled: section.flag("enabled", default.enabled),
        listen: address(&section, allow_public, "127.0.0.1:7401").unwrap_or(default.listen),
        allow_public,
        max_connections: section
            .number("max_connections", 1..=limits::HTTP_CONNECTIONS_MAX)
            .unwrap_or(default.max_connections),
        read_timeout: section.duration("read_timeout", least, default.read_timeout),
        request_timeout: section.duration("request_timeout", least, default.request_timeout),
    };
    if settings.enabled && journal == JournalMode::Off {
        let complaint = Complaint::new(
            "true, with [journal] mode = \"off\"",
            "a journal: without one a restart could send an order again",
            "write [journal] mode = \"sync\", or enabled = false",
        );
        section.complain("enabled", complaint);
    }
    section.finish();
    settings
}

fn authorizer(section: Section<'_, '_>) -> AuthorizerSection {
    let default = AuthorizerSection::default();
    let file = section.text("key_file", "authorizer.pem");
    let settings = AuthorizerSection {
        key_file: file.filter(|file| !file.is_empty()).map(PathBuf::from),
        key_id: decision_name(&section, "key_id", &default.key_id).unwrap_or(default.key_id),
        skew: section.duration("skew", Duration::ZERO, default.skew),
    };
    section.finish();
    settings
}

fn executor(section: Section<'_, '_>) -> ExecutorSection {
    let default = ExecutorSection::default();
    let least = Duration::from_millis(1);
    let wait = |key, default| section.duration(key, least, default);
    let settings = ExecutorSection {
        enabled: section.flag("enabled", default.enabled),
        authorizer: remote_authorizer(&section),
        ack_timeout: wait("ack_timeout", default.ack_timeout),
        query_timeout: wait("query_timeout", default.query_timeout),
        query_pause: wait("query_pause", default.query_pause),
        alarm_after: wait("alarm_after", default.alarm_after),
        cancel_wait: wait("cancel_wait", default.cancel_wait),
        audit_every: wait("audit_every", default.audit_every),
        retention: wait("retention", default.retention),
        orders_max: section
            .number("orders_max", 1..=limits::EXECUTOR_ORDERS_MAX)
            .unwrap_or(default.orders_max),
        outbox_max: section
            .number("outbox_max", 1..=limits::OUTBOX_MAX)
            .unwrap_or(default.outbox_max),
        waiting_max: section
            .number("waiting_max", 1..=limits::VENUE_WAITING_MAX)
            .unwrap_or(default.waiting_max),
        requests_max: section
            .number("requests_max", 1..=limits::EXECUTOR_REQUESTS_MAX)
            .unwrap_or(default.requests_max),
    };
    section.finish();
    settings
}

/// An authorizer elsewhere: all of it is there, or nothing.
fn remote_authorizer(section: &Section<'_, '_>) -> Option<RemoteAuthorizer> {
    let filled = |text: &&str| !text.is_empty();
    let url = section.text("authorizer_url", "http://127.0.0.1:7402");
    let token = section.text("authorizer_token_file", "peer.token");
    let key = section.text("key_file", "executor.pem");
    let key_id = decision_name(section, "key_id", "executor-1");
    let url = url.filter(filled)?;
    if !url.starts_with("http://") {
        let complaint = Complaint::new(
            quoted(url),
            "http:// and the address of the authorizer's [http] listen",
            "write authorizer_url = \"http://127.0.0.1:7402\"",
        );
        section.complain("authorizer_url", complaint);
    }
    let needed = |name: &str, file: Option<&str>| {
        let file = file.filter(filled);
        if file.is_none() {
            let complaint = Complaint::new(
                "none",
                "a file, as authorizer_url is there",
                format!("write {name} = \"FILE\", or leave authorizer_url empty"),
            );
            section.complain(name, complaint);
        }
        file.map(PathBuf::from)
    };
    let token_file = needed("authorizer_token_file", token);
    let key_file = needed("key_file", key);
    Some(RemoteAuthorizer {
        url: url.trim_end_matches('/').to_owned(),
        token_file: token_file?,
        key_file: key_file?,
        key_id: key_id.unwrap_or_else(|| "executor-1".to_owned()),
    })
}

/// A name that decisions can carry.
pub(super) fn decision_name(section: &Section<'_, '_>, key: &str, example: &str) -> Option<String> {
    let text = section.text(key, example)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if (1..=64).contains(&text.len()) && text.bytes().all(plain) {
        return Some(text.to_owned());
    }
    let complaint = Complaint::new(
        quoted(text),
        "1 to 64 ASCII letters, digits, or any of . _ -",
        format!("write {key} = \"{example}\""),
    );
    section.complain(key, complaint);
    None
}

fn token(section: &Section<'_, '_>, seen: &mut Seen<[u8; 32]>) -> Option<[u8; 32]> {
    let hash = hex32(
        section,
        "token_sha256",
        "the SHA-256 of the bearer token, 64 hex digits",
        "make one with: pitlane token --out FILE",
    );
    section.missing(
        "token_sha256",
        "the SHA-256 of the bearer token, 64 hex digits",
        "make one with: pitlane token --out FILE",
    );
    if let Some(hash) = hash {
        seen.once(section, "token_sha256", hash, "the same token");
    }
    hash
}

fn agent(
    section: Section<'_, '_>,
    config: &Config,
    ids: &mut Seen<String>,
    tokens: &mut Seen<[u8; 32]>,
) -> Option<AgentEntry> {
    let id = decision_name(&section, "id", "desk-1");
    section.missing(
        "id",
        "the agent's name in decisions",
        "write id = \"desk-1\"",
    );
    if let Some(id) = &id {
        ids.once(&section, "id", id.clone(), format_args!("{id:?}"));
    }
    let token = token(&section, tokens);
    let accounts = access(&section, config);
    section.missing(
        "accounts",
        "\"all\", or a list of account numbers",
        "write accounts = \"all\"",
    );
    let too_many = config.agents.len() == limits::HTTP_AGENTS_MAX;
    if too_many {
        let wanted = format!("at most {} agents", limits::HTTP_AGENTS_MAX);
        section.complain("", Complaint::new("one more", wanted, "use fewer"));
    }
    section.finish();
    Some(AgentEntry {
        id: id?,
        token_sha256: token?,
        accounts: accounts?,
    })
}

fn admin(
    section: Section<'_, '_>,
    ids: &mut Seen<String>,
    tokens: &mut Seen<[u8; 32]>,
) -> Option<AdminEntry> {
    let id = decision_name(&section, "id", "ops");
    section.missing("id", "the admin's name, for the log", "write id = \"ops\"");
    if let Some(id) = &id {
        ids.once(&section, "id", id.clone(), format_args!("{id:?}"));
    }
    let token = token(&section, tokens);
    section.finish();
    Some(AdminEntry {
        id: id?,
        token_sha256: token?,
    })
}

fn instant(section: &Section<'_, '_>, key: &str) -> Option<UnixNanos> {
    let text = section.text(key, "2026-01-01T00:00:00Z")?;
    let read = read_instant(text);
    if read.is_none() {
        let complaint = Complaint::new(
            quoted(text),
            "a UTC time with Z, at most nine decimals",
            format!("write {key} = \"2026-01-01T00:00:00Z\""),
        );
        section.complain(key, complaint);
    }
    read
}

fn key(
    section: Section<'_, '_>,
    ids: &mut Seen<String>,
    keys: &mut Seen<[u8; 32]>,
) -> Option<KeyEntry> {
    let key_id = decision_name(&section, "key_id", "authorizer-1");
    section.missing(
        "key_id",
        "the key's name in decisions",
        "write key_id = \"authorizer-1\"",
    );
    if let Some(id) = &key_id {
        ids.once(&section, "key_id", id.clone(), format_args!("{id:?}"));
    }
    let public = public_key(&section);
    section.missing(
        "public_key",
        "the authorizer's Ed25519 public key, 64 hex digits",
        "write public_key = \"…\"; it is no secret",
    );
    if let Some(key) = public {
        keys.once(&section, "public_key", key, "the same key");
    }
    let (not_before, not_after) = (
        instant(&section, "not_before"),
        instant(&section, "not_after"),
    );
    if let (Some(from), Some(until)) = (not_before, not_after)
        && until < from
    {
        let complaint = Complaint::new(
            "an end before not_before",
            "not_after later than not_before",
            "swap them, or leave one out",
        );
        section.complain("not_after", complaint);
    }
    let revoked = section.flag("revoked", false);
    let roles = [
        ("authorizer", Role::Authorizer),
        ("executor", Role::Executor),
    ];
    let role = section.one_of("role", &roles, Role::Authorizer);
    section.finish();
    Some(KeyEntry {
        role,
        key_id: key_id?,
        public_key: public?,
        not_before,
        not_after,
        revoked,
    })
}

/// The default address.
pub(super) const LISTEN: SocketAddr =
    SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::LOCALHOST), 7_401);
