//! `pitlane journal`: looks at a journal, live or dead, without a lock (rule
//! J11). What is written has no secrets, so neither has what is printed.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use pitlane::journal::storage::SystemStorage;
use pitlane::journal::{Owner, RecordView, Summary, Tail, read, repair};
use pitlane::shard::ShardState;
use pitlane::shard::record::{Effect, decode};
use pitlane::types::ShardId;
use serde_json::{Value, json};

use super::args::{JournalCommand, JournalPlace};
use super::journal_json::{kind_name, object};
use super::run::{FAILED, Failure, print};

pub(super) fn run(command: &JournalCommand) -> Result<(), Failure> {
    match command {
        JournalCommand::Verify {
            place,
            repair: None,
        } => verify(place),
        JournalCommand::Verify {
            place,
            repair: Some(to),
        } => mend(place, to),
        JournalCommand::Stats { place } => stats(place),
        JournalCommand::Dump { place, from, limit } => dump(place, *from, *limit),
        JournalCommand::Tail { place, count } => tail(place, *count),
        JournalCommand::Export { dir, out } => export(dir, out),
    }
}

/// The folders of the shards: the folder itself, or those in it.
fn shards_of(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error: io::Error| {
        Failure::input(format!(
            "{}: {error}; give the folder that [journal] dir names, or a shard's in it",
            dir.display()
        ))
    };
    let mut folders = BTreeMap::new();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.ends_with(".segment") {
            return Ok(vec![dir.to_path_buf()]);
        }
        if let Some(shard) = name.strip_prefix("shard-")
            && let Ok(shard) = shard.parse::<u16>()
        {
            folders.insert(shard, entry.path());
        }
    }
    if folders.is_empty() {
        return Err(Failure::input(format!(
            "{}: there is no journal in it; give the folder that [journal] dir names, or a \
             shard's in it",
            dir.display()
        )));
    }
    Ok(folders.into_values().collect())
}

/// Shows every whole record of a shard's folder.
fn look(folder: &Path, show: &mut dyn FnMut(&RecordView<'_>)) -> Result<Summary, Failure> {
    read(&SystemStorage::open(folder), show).map_err(|error| Failure {
        code: FAILED,
        message: format!("{}: {error}", folder.display()),
    })
}

fn summary_of(folder: &Path, summary: &Summary) -> Value {
    let torn = match summary.tail {
        Tail::Clean => Value::Null,
        Tail::Torn(place) => json!({
            "segment": place.segment,
            "offset": place.offset,
            "sequence": place.sequence,
        }),
    };
    json!({
        "folder": folder.display().to_string(),
        "shard": summary.owner.map(|owner| owner.shard),
        "shards": summary.owner.map(|owner| owner.shards),
        "segments": summary.segments,
        "groups": summary.groups,
        "records": summary.records,
        "torn_tail": torn,
    })
}

fn verify(place: &JournalPlace) -> Result<(), Failure> {
    let mut failed = None;
    for folder in shards_of(&place.dir)? {
        let mut unknown = None;
        let looked = look(&folder, &mut |record| {
            if unknown.is_none() {
                unknown = decode(record.kind, record.version, record.body).err();
            }
        });
        let summary = match looked {
            Ok(summary) => summary,
            Err(failure) => {
                // The others are looked at all the same.
                if place.json {
                    let folder = folder.display().to_string();
                    let line = json!({"folder": folder, "whole": false, "error": failure.message});
                    print(&format!("{line}\n"));
                } else {
                    print(&format!("{}\n", failure.message));
                }
                failed = Some("a journal is damaged");
                continue;
            }
        };
        let mut line = summary_of(&folder, &summary);
        if place.json {
            line["whole"] = json!(unknown.is_none());
            print(&format!("{line}\n"));
        } else {
            let mut text = format!(
                "{}: whole: {} records in {} groups, {} segments",
                folder.display(),
                summary.records,
                summary.groups,
                summary.segments
            );
            if let Tail::Torn(at) = summary.tail {
                let _ = write!(
                    text,
                    "; a torn tail, or a write under way, in segment {} at byte {}",
                    at.segment, at.offset
                );
            }
            print(&format!("{text}\n"));
        }
        if let Some(error) = unknown {
            eprintln!("pitlane: {}: {error}", folder.display());
            failed = Some("a journal has records that this program does not know");
        }
    }
    failed.map_or(Ok(()), |why| Err(Failure::run(why)))
}

/// Copies what is whole of each shard's journal to a new folder.
fn mend(place: &JournalPlace, to: &Path) -> Result<(), Failure> {
    let folders = shards_of(&place.dir)?;
    for folder in &folders {
        // The owner is in the records' segments, whole or not.
        let mut owner = None;
        let whole = read(&SystemStorage::open(folder), &mut |_| {});
        if let Ok(summary) = &whole {
            owner = summary.owner;
        }
        let number = folder
            .file_name()
            .and_then(|name| name.to_str()?.strip_prefix("shard-")?.parse().ok());
        let owner = match (owner, number) {
            (Some(owner), _) => owner,
            (None, Some(shard)) => Owner {
                shard: ShardId(shard),
                shards: u16::try_from(folders.len()).unwrap_or(u16::MAX),
            },
            (None, None) => {
                return Err(Failure::input(format!(
                    "{}: give the folder above it, whose shards' folders say which this is",
                    folder.display()
                )));
            }
        };
        let target = to.join(format!("shard-{}", owner.shard.0));
        let storage = SystemStorage::create(&target).map_err(Failure::run)?;
        let number = getrandom::u64().map_err(Failure::run)?;
        let repaired = repair(
            &SystemStorage::open(folder),
            &storage,
            owner,
            number,
            pitlane::limits::JOURNAL_SEGMENT_BYTES_DEFAULT,
        )
        .map_err(|error| Failure::run(format!("{}: {error}", target.display())))?;
        let stopped = repaired.stopped.map_or(String::new(), |place| {
            format!(
                "; what is behind byte {} of segment {} (record {}) is not copied",
                place.offset, place.segment, place.sequence
            )
        });
        print(&format!(
            "{}: {} records copied to {}{stopped}\n",
            folder.display(),
            repaired.records,
            target.display()
        ));
    }
    Ok(())
}

fn stats(place: &JournalPlace) -> Result<(), Failure> {
    for folder in shards_of(&place.dir)? {
        let mut state = ShardState::default();
        let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
        let mut span: Option<(u64, u64)> = None;
        let summary = look(&folder, &mut |record| {
            let kind = match decode(record.kind, record.version, record.body) {
                Ok(effect) => {
                    state.apply(record.sequence, &effect);
                    kind_of(&effect)
                }
                Err(_) => "unknown",
            };
            *kinds.entry(kind).or_default() += 1;
            let first = span.map_or(record.wall.0, |(first, _)| first);
            span = Some((first, record.wall.0));
        })?;
        let mut line = summary_of(&folder, &summary);
        line["kinds"] = json!(kinds);
        line["open_orders"] = json!(state.open_orders().len());
        line["accounts"] = json!(state.accounts().len());
        line["first_wall_ns"] = json!(span.map(|(first, _)| first));
        line["last_wall_ns"] = json!(span.map(|(_, last)| last));
        if place.json {
            print(&format!("{line}\n"));
        } else {
            let mut text = format!("{}\n", folder.display());
            if let Value::Object(fields) = &line {
                for (name, value) in fields.iter().filter(|(name, _)| *name != "folder") {
                    let _ = writeln!(text, "  {name:<14} {value}");
                }
            }
            print(&text);
        }
    }
    Ok(())
}

const fn kind_of(effect: &Effect) -> &'static str {
    match effect {
        Effect::Order(_) => "order",
        Effect::Account(_) => "account",
        Effect::Report(report) => kind_name(report.kind),
        Effect::Block(_) => "block",
        Effect::Decision(_) => "decision",
        Effect::Hold(_) => "hold",
        Effect::Told(_) => "told",
        _ => "newer",
    }
}

/// A line of a record: JSON, or for people.
fn line_of(record: &RecordView<'_>, json: bool) -> String {
    let object = object(record);
    if json {
        return object.to_string();
    }
    let mut line = format!("{:>10} ", record.sequence);
    if let Value::Object(fields) = &object {
        let shown = |name: &str| !["sequence", "group", "segment", "offset"].contains(&name);
        for (name, value) in fields.iter().filter(|(name, _)| shown(name)) {
            match value {
                Value::String(text) => {
                    let _ = write!(line, " {name}={text}");
                }
                other => {
                    let _ = write!(line, " {name}={other}");
                }
            }
        }
    }
    line
}

fn dump(place: &JournalPlace, from: u64, limit: u64) -> Result<(), Failure> {
    // A reader that went away is no fault of ours, and ends the work.
    let mut out = BufWriter::new(io::stdout().lock());
    for folder in shards_of(&place.dir)? {
        let (mut left, mut gone) = (limit, false);
        look(&folder, &mut |record| {
            if gone || left == 0 || record.sequence < from {
                return;
            }
            left -= 1;
            gone = writeln!(out, "{}", line_of(record, place.json)).is_err();
        })?;
        if gone {
            return Ok(());
        }
    }
    let _ = out.flush();
    Ok(())
}

fn tail(place: &JournalPlace, count: usize) -> Result<(), Failure> {
    for folder in shards_of(&place.dir)? {
        let mut last: VecDeque<String> = VecDeque::with_capacity(count);
        look(&folder, &mut |record| {
            if last.len() == count {
                last.pop_front();
            }
            last.push_back(line_of(record, place.json));
        })?;
        for line in last {
            print(&format!("{line}\n"));
        }
    }
    Ok(())
}

/// Every report as a line of CSV.
fn export(dir: &Path, out: &Path) -> Result<(), Failure> {
    let unwritten = |error: io::Error| Failure::run(format!("{}: {error}", out.display()));
    let file = File::create_new(out).map_err(|error| {
        Failure::input(format!(
            "{}: {error}; name a file that is not there",
            out.display()
        ))
    })?;
    let mut file = BufWriter::new(file);
    let mut failed = writeln!(
        file,
        "shard,sequence,wall_ns,report,credential,number,account,instrument,side,reference,\
         order_reference,client_order_id,code,fill_id,price,quantity,cumulative,leaves"
    )
    .err();
    let mut lines = 0u64;
    for folder in shards_of(dir)? {
        look(&folder, &mut |record| {
            let effect = decode(record.kind, record.version, record.body);
            let Ok(Effect::Report(report)) = effect else {
                return;
            };
            if failed.is_some() {
                return;
            }
            let code = report.reject.map_or("", |(code, _)| code.name());
            let fill = match report.fill_id.0 {
                0 => String::new(),
                id => id.to_string(),
            };
            let side = match report.side {
                pitlane::types::Side::Buy => "buy",
                pitlane::types::Side::Sell => "sell",
            };
            lines += 1;
            failed = writeln!(
                file,
                "{},{},{},{},{},{},{},{},{side},{},{},{},{code},{fill},{},{},{},{}",
                report.shard,
                record.sequence,
                record.wall.0,
                kind_name(report.kind),
                report.origin.credential,
                report.sequence,
                report.account,
                report.instrument,
                report.reference,
                report.order_reference,
                report.client_order_id,
                report.price,
                report.quantity,
                report.cumulative,
                report.leaves,
            )
            .err();
        })?;
    }
    failed.map_or(Ok(()), Err).map_err(unwritten)?;
    let file = file
        .into_inner()
        .map_err(|error| unwritten(error.into_error()))?;
    file.sync_all().map_err(unwritten)?;
    print(&format!("{}: {lines} reports\n", out.display()));
    Ok(())
}
