//! The lists of a configuration: assets, instruments, accounts, credentials,
//! read in this order, so that each can name what stands before it.

use std::collections::BTreeMap;

use ed25519_dalek::VerifyingKey;
use pitlane::limits::{self, CONFIG_NAME_MAX, SIM_VENUE_INSTRUMENTS_MAX};
use pitlane::orders::venue::sim::Phase;
use pitlane::types::{AccountId, AssetId, GroupId, InstrumentId, Price, Quantity};

use super::model::{
    AccountAccess, AccountRange, Asset, Config, CredentialEntry, InstrumentEntry, PermissionSet,
};
use super::reader::{Complaint, describe, did_you_mean, quoted};
use super::section::Section;

/// Accounts of all entries: what one shard, which may be the only one, holds.
const ACCOUNTS_MOST: u64 = limits::ACCOUNTS_MAX as u64;

/// Reads the four lists into `config`, sorted by id.
pub(super) fn read(root: &Section<'_, '_>, config: &mut Config) {
    let mut assets = Seen::default();
    let mut names = Seen::default();
    for section in root.sections("asset") {
        config
            .assets
            .extend(asset(section, &mut assets, &mut names));
    }
    // By name, so that the many entries that name an asset find it at once.
    config
        .assets
        .sort_by(|one, other| one.name.cmp(&other.name));
    let (mut ids, mut symbols) = (Seen::default(), Seen::default());
    for section in root.sections("instrument") {
        if config.instruments.len() == SIM_VENUE_INSTRUMENTS_MAX {
            let wanted = format!("at most {SIM_VENUE_INSTRUMENTS_MAX} instruments");
            section.complain("", Complaint::new("one more", wanted, "use fewer"));
            break;
        }
        config
            .instruments
            .extend(instrument(section, config, &mut ids, &mut symbols));
    }
    accounts(root, config);
    let (mut ids, mut keys) = (Seen::default(), Seen::default());
    for section in root.sections("credential") {
        config
            .credentials
            .extend(credential(section, config, &mut ids, &mut keys));
    }
    config.assets.sort_by_key(|asset| asset.id);
    config.instruments.sort_by_key(|instrument| instrument.id);
    config.credentials.sort_by_key(|credential| credential.id);
}

/// Values that may stand once, with the entry in which they first did.
pub(super) struct Seen<T>(BTreeMap<T, String>);

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord> Seen<T> {
    /// Refuses a value that an earlier entry has.
    pub(super) fn once(
        &mut self,
        section: &Section<'_, '_>,
        key: &str,
        value: T,
        shown: impl core::fmt::Display,
    ) {
        if let Some(first) = self.0.get(&value) {
            let complaint = Complaint::new(
                format!("{shown} again"),
                format!("a {key} of its own"),
                format!("{first} has it already: change one, or remove one"),
            );
            section.complain(key, complaint);
        } else {
            self.0.insert(value, section.path().to_string());
        }
    }
}

/// A name that can be written in a table's key and a report's column.
fn name<'d>(section: &Section<'_, 'd>, key: &str, example: &str) -> Option<&'d str> {
    let name = section.text(key, example)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "./-_:".contains(c);
    if name.is_empty() || name.len() > CONFIG_NAME_MAX || !name.chars().all(plain) {
        let complaint = Complaint::new(
            quoted(name),
            format!("1 to {CONFIG_NAME_MAX} ASCII letters, digits, or any of . / - _ :"),
            format!("write {key} = \"{example}\""),
        );
        section.complain(key, complaint);
        return None;
    }
    Some(name)
}

fn asset(section: Section<'_, '_>, ids: &mut Seen<u32>, names: &mut Seen<String>) -> Option<Asset> {
    let id = section.number("id", 0..=u32::MAX);
    let name = name(&section, "name", "USD");
    section.missing("id", "the asset's number", "write id = 1");
    section.missing(
        "name",
        "the name by which this file speaks of it",
        "write name = \"USD\"",
    );
    if let Some(id) = id {
        ids.once(&section, "id", id, id);
    }
    if let Some(name) = name {
        names.once(&section, "name", name.to_string(), format_args!("{name:?}"));
    }
    section.finish();
    Some(Asset {
        id: AssetId(id?),
        name: name?.to_string(),
    })
}

/// The asset that a key names.
fn asset_named(section: &Section<'_, '_>, key: &str, config: &Config) -> Option<AssetId> {
    let name = section.text(key, "USD")?;
    find_asset(section, key, name, config)
}

fn find_asset(
    section: &Section<'_, '_>,
    key: &str,
    name: &str,
    config: &Config,
) -> Option<AssetId> {
    let found = config
        .assets
        .binary_search_by(|asset| asset.name.as_str().cmp(name))
        .ok();
    if found.is_none() {
        let known: Vec<&str> = config
            .assets
            .iter()
            .map(|asset| asset.name.as_str())
            .collect();
        let mend = match did_you_mean(name, known) {
            Some(meant) => format!("did you mean {meant:?}?"),
            None => format!("add [[asset]] with name = {}", quoted(name)),
        };
        section.complain(
            key,
            Complaint::new(quoted(name), "the name of an [[asset]]", mend),
        );
    }
    found.map(|at| config.assets[at].id)
}

fn instrument(
    section: Section<'_, '_>,
    config: &Config,
    ids: &mut Seen<u32>,
    symbols: &mut Seen<String>,
) -> Option<InstrumentEntry> {
    let id = section.number("id", 0..=u32::MAX);
    section.missing("id", "the instrument's number in orders", "write id = 1");
    let symbol = name(&section, "symbol", "AAPL/USD").map(str::to_string);
    let base = asset_named(&section, "base", config);
    section.missing("base", "what a buyer receives", "write base = \"AAPL\"");
    let settlement = asset_named(&section, "settlement", config);
    section.missing(
        "settlement",
        "what a buyer pays",
        "write settlement = \"USD\"",
    );
    if let (Some(base), Some(settlement)) = (base, settlement)
        && base == settlement
    {
        let complaint = Complaint::new(
            "the base asset again",
            "another asset than base",
            "name what a buyer pays",
        );
        section.complain("settlement", complaint);
    }
    let allow_non_positive_price = section.flag("allow_non_positive_price", false);
    let tick = step(&section, "tick", Price::from_raw(1), Price::is_positive);
    let lot = step(
        &section,
        "lot",
        Quantity::from_raw(1),
        Quantity::is_positive,
    );
    let phases = [
        ("continuous", Phase::Continuous),
        ("auction", Phase::Auction),
        ("closed", Phase::Closed),
    ];
    let phase = section.one_of("phase", &phases, Phase::Continuous);
    let reference = section.money::<Price>("reference").filter(|price| {
        let fits = price.is_positive() && price.raw() % tick.raw() == 0;
        if !fits {
            let wanted = format!("a positive multiple of the tick, {tick}");
            let complaint =
                Complaint::new(format!("{price}"), wanted, "give a price of the instrument");
            section.complain("reference", complaint);
        }
        fits
    });
    if let Some(id) = id {
        ids.once(&section, "id", id, id);
    }
    let symbol = symbol.or_else(|| {
        let (base, settlement) = (section.peek_text("base")?, section.peek_text("settlement")?);
        Some(format!("{base}/{settlement}"))
    });
    if let Some(symbol) = &symbol {
        symbols.once(
            &section,
            "symbol",
            symbol.clone(),
            format_args!("{symbol:?}"),
        );
    }
    section.finish();
    Some(InstrumentEntry {
        id: InstrumentId(id?),
        symbol: symbol?,
        base: base?,
        settlement: settlement?,
        allow_non_positive_price,
        tick,
        lot,
        phase,
        reference,
    })
}

/// A step of prices or quantities: above zero.
fn step<T>(section: &Section<'_, '_>, key: &str, default: T, is_positive: impl Fn(T) -> bool) -> T
where
    T: Copy + core::fmt::Display + core::str::FromStr<Err = pitlane::types::ParseError>,
{
    match section.money::<T>(key) {
        Some(step) if is_positive(step) => step,
        Some(step) => {
            let mend = format!("write {key} = \"0.01\", or leave it out for the smallest step");
            section.complain(
                key,
                Complaint::new(format!("{step}"), "a step above zero", mend),
            );
            default
        }
        None => default,
    }
}

fn accounts(root: &Section<'_, '_>, config: &mut Config) {
    let mut total = 0u64;
    let mut ranges: Vec<AccountRange> = Vec::new();
    let mut sections = root.sections("account");
    // By first id, so that a range need only be held against the one before it.
    sections.sort_by_key(|section| section.peek("id"));
    for section in sections {
        let Some(range) = account(&section, config) else {
            section.finish();
            continue;
        };
        total += u64::from(range.count);
        if let Some(before) = ranges
            .last()
            .filter(|before| range.first.0 <= before.last())
        {
            let complaint = Complaint::new(
                format!("account {} again", range.first),
                format!("a number above {}", before.last()),
                format!(
                    "the entry from {} has it already: change one, or remove one",
                    before.first
                ),
            );
            section.complain("id", complaint);
        } else if total > ACCOUNTS_MOST {
            let wanted = format!("at most {ACCOUNTS_MOST} accounts in all");
            let complaint =
                Complaint::new(format!("{total} accounts up to here"), wanted, "use fewer");
            section.complain("count", complaint);
        } else {
            ranges.push(range);
        }
        section.finish();
    }
    config.accounts = ranges;
}

fn account(section: &Section<'_, '_>, config: &Config) -> Option<AccountRange> {
    let first = section.number("id", 0..=u64::MAX);
    section.missing("id", "the account's number", "write id = 1");
    let count = section.number("count", 1..=u32::MAX).unwrap_or(1);
    let group = section.number("group", 1..=u32::MAX).and_then(GroupId::new);
    let mut balances = Vec::new();
    let (below, entries) = section.money_by_name("balances");
    for (name, amount) in entries {
        if let Some(asset) = find_asset(&below, name, name, config) {
            balances.push((asset, amount));
        }
    }
    balances.sort_by_key(|(asset, _)| *asset);
    let first = first?;
    if first.checked_add(u64::from(count) - 1).is_none() {
        let complaint = Complaint::new(
            format!("{count} accounts from {first}"),
            "numbers of 64 bits",
            "use a smaller id or count",
        );
        section.complain("count", complaint);
        return None;
    }
    Some(AccountRange {
        first: AccountId(first),
        count,
        group,
        balances,
    })
}

fn credential(
    section: Section<'_, '_>,
    config: &Config,
    ids: &mut Seen<u16>,
    keys: &mut Seen<[u8; 32]>,
) -> Option<CredentialEntry> {
    let id = section.number("id", 0..=u16::MAX);
    section.missing("id", "the credential's number", "write id = 1");
    let public_key = public_key(&section);
    section.missing(
        "public_key",
        "the agent's Ed25519 public key, 64 hex digits",
        "write public_key = \"…\"; it is no secret",
    );
    let accounts = access(&section, config);
    section.missing(
        "accounts",
        "\"all\", or a list of account numbers",
        "write accounts = \"all\"",
    );
    let permissions = permissions(&section);
    let in_flight_most = u32::try_from(limits::COMPLETION_SLOTS).unwrap_or(u32::MAX);
    let max_in_flight = section
        .number("max_in_flight", 1..=in_flight_most)
        .unwrap_or(1_024);
    if let Some(id) = id {
        ids.once(&section, "id", id, id);
    }
    if let Some(key) = public_key {
        keys.once(&section, "public_key", key, "the same key");
    }
    section.finish();
    Some(CredentialEntry {
        id: id?,
        public_key: public_key?,
        accounts: accounts?,
        permissions,
        max_in_flight,
    })
}

pub(super) fn public_key(section: &Section<'_, '_>) -> Option<[u8; 32]> {
    let key = hex32(
        section,
        "public_key",
        "64 hex digits, the 32 bytes of an Ed25519 public key",
        "paste the public key, without 0x or blanks",
    )?;
    if !VerifyingKey::from_bytes(&key).is_ok_and(|key| !key.is_weak()) {
        let complaint = Complaint::new(
            quoted(section.peek_text("public_key").unwrap_or_default()),
            "an Ed25519 public key",
            "make a new key pair: no signature can be held against these digits",
        );
        section.complain("public_key", complaint);
        return None;
    }
    Some(key)
}

/// 32 bytes, as hex.
pub(super) fn hex32(
    section: &Section<'_, '_>,
    key: &str,
    wanted: &str,
    mend: &str,
) -> Option<[u8; 32]> {
    let text = section.text(key, "64 hex digits")?;
    let mut bytes = [0u8; 32];
    let digits = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !digits {
        // The text itself is not shown: it may be a secret that was pasted here.
        let found = format!("{} characters", text.chars().count());
        section.complain(key, Complaint::new(found, wanted, mend));
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let text = core::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(text, 16).ok()?;
    }
    Some(bytes)
}

fn permissions(section: &Section<'_, '_>) -> PermissionSet {
    let none = PermissionSet::default();
    let enter = PermissionSet {
        enter: true,
        ..none
    };
    let cancel = PermissionSet {
        cancel: true,
        ..none
    };
    let drop_copy = PermissionSet {
        drop_copy: true,
        ..none
    };
    let trade = PermissionSet {
        enter: true,
        cancel: true,
        drop_copy: false,
    };
    let words = [
        ("enter", enter),
        ("cancel", cancel),
        ("drop_copy", drop_copy),
    ];
    let Some(given) = section.words("permissions", &words) else {
        return trade;
    };
    let all = given.iter().fold(none, |all, one| PermissionSet {
        enter: all.enter || one.enter,
        cancel: all.cancel || one.cancel,
        drop_copy: all.drop_copy || one.drop_copy,
    });
    if given.is_empty() {
        let complaint = Complaint::new(
            "an empty list",
            "\"enter\", \"cancel\" or both, or \"drop_copy\"",
            "write permissions = [\"cancel\"], or remove the credential",
        );
        section.complain("permissions", complaint);
    } else if all.drop_copy && all != drop_copy {
        let complaint = Complaint::new(
            "\"drop_copy\" beside others",
            "\"drop_copy\" alone: its reports could not be told from answers",
            "give the drop copy a credential of its own",
        );
        section.complain("permissions", complaint);
    }
    all
}

pub(super) fn access(section: &Section<'_, '_>, config: &Config) -> Option<AccountAccess> {
    let value = section.value("accounts")?;
    if value.as_str() == Some("all") {
        if config.accounts.is_empty() {
            let complaint = Complaint::new(
                "\"all\" of no account",
                "an account to use",
                "add [[account]] with its id",
            );
            section.complain("accounts", complaint);
        }
        return Some(AccountAccess::All);
    }
    if value.as_array().is_none() {
        let wanted = "\"all\", or a list of account numbers";
        let complaint = Complaint::new(describe(value), wanted, "write accounts = \"all\"");
        section.complain("accounts", complaint);
        return None;
    }
    let mut ids = section.numbers("accounts", &(0..=u64::MAX))?;
    ids.sort_unstable();
    ids.dedup();
    for id in &ids {
        let at = config.accounts.partition_point(|range| range.last() < *id);
        if config
            .accounts
            .get(at)
            .is_none_or(|range| range.first.0 > *id)
        {
            let mend = format!("add [[account]] with id = {id}, or remove it from the list");
            let complaint = Complaint::new(
                format!("account {id}"),
                "an account that this file names",
                mend,
            );
            section.complain("accounts", complaint);
        }
    }
    if ids.is_empty() {
        let complaint = Complaint::new(
            "an empty list",
            "\"all\", or a list of account numbers",
            "write accounts = \"all\", or remove the credential",
        );
        section.complain("accounts", complaint);
    }
    Some(AccountAccess::List(
        ids.into_iter().map(AccountId).collect(),
    ))
}
