//! `pitlane reports` and `pitlane verify`: what an executor has told, signed by it, and
//! whether such a text is what it says (rule O39).

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::DecodePrivateKey;
use pitlane::journal::storage::SystemStorage;
use pitlane::limits::DECISION_BYTES_MAX;
use pitlane::orders::decision::{KeyTable, Role, SignedDecision, Signer, Validity};
use pitlane::orders::executor::{Execution, JournalLog, MessageBody, Record, SignedReport};
use pitlane::time::UnixNanos;
use pitlane::types::Side;

use super::args::{ReportsArgs, VerifyArgs};
use super::run::{FAILED, Failure, print};

/// Prints every message of an executor's journal as a signed report, one a line.
pub(super) fn reports(args: &ReportsArgs) -> Result<(), Failure> {
    let signer = signer(&args.key, &args.key_id)?;
    let place = args.dir.display();
    if !args.dir.is_dir() {
        return Err(Failure::input(format!(
            "{place}: no folder; give the folder of the executor's journal"
        )));
    }
    let storage = SystemStorage::open(&args.dir);
    let wrong = |error| Failure {
        code: FAILED,
        message: format!("{place}: {error}"),
    };
    // Its number is known at its end, and a log that is not whole is not signed.
    let log = JournalLog::read(&storage, &mut |_| {})
        .map_err(wrong)?
        .journal;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut written = Ok(());
    JournalLog::read(&storage, &mut |record| {
        if let (Record::Message(message), Ok(())) = (record, &written) {
            let report = SignedReport::sign(log, &message, &signer).canonical();
            written = out.write_all(&report).and_then(|()| out.write_all(b"\n"));
        }
    })
    .map_err(wrong)?;
    // A reader that went away is no fault of ours.
    let _ = written.and_then(|()| out.flush());
    Ok(())
}

fn signer(path: &Path, key_id: &str) -> Result<Signer, Failure> {
    let pem = fs::read_to_string(path).map(zeroize::Zeroizing::new);
    let name = path.display();
    let pem = pem.map_err(|error| Failure::input(format!("{name}: {error}")))?;
    let key = SigningKey::from_pkcs8_pem(&pem).map_err(|error| {
        Failure::input(format!(
            "{name}: not an Ed25519 private key in PKCS#8 PEM ({error}); \
             make one with: pitlane keygen --out FILE"
        ))
    })?;
    Signer::new(key_id, Role::Executor, &key.to_bytes()).map_err(Failure::input)
}

/// Says of each text of a file who signed what; the exit code is 1 if one is not whole.
pub(super) fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    let name = args.file.display();
    let unreadable = |error: io::Error| Failure::input(format!("{name}: {error}"));
    let file = File::open(&args.file).map_err(unreadable)?;
    let keys = [keys(args, Role::Executor)?, keys(args, Role::Authorizer)?];
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    });
    let (mut texts, mut bad) = (0, 0);
    let mut reader = BufReader::new(file);
    let mut number = 0;
    while let Some(text) = next_text(&mut reader).map_err(unreadable)? {
        number += 1;
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        texts += 1;
        match judge(&text, &keys, UnixNanos(now)) {
            Ok(what) => print(&format!("{number}: valid: {what}\n")),
            Err(why) => {
                bad += 1;
                print(&format!("{number}: NOT VALID: {why}\n"));
            }
        }
    }
    if texts == 0 {
        return Err(Failure::input(format!("{name}: there is no text in it")));
    }
    if bad > 0 {
        return Err(Failure::run(format!("{name}: {bad} of {texts} not valid")));
    }
    Ok(())
}

/// The next line, cut behind what no signed text is as long as.
fn next_text(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut text = Vec::new();
    let most = DECISION_BYTES_MAX as u64 + 2;
    if reader.by_ref().take(most).read_until(b'\n', &mut text)? == 0 {
        return Ok(None);
    }
    if !text.ends_with(b"\n") {
        reader.skip_until(b'\n')?;
    }
    while text.last().is_some_and(u8::is_ascii_whitespace) {
        text.pop();
    }
    Ok(Some(text))
}

/// The keys that were given, for one purpose.
fn keys(args: &VerifyArgs, role: Role) -> Result<KeyTable, Failure> {
    let mut keys = KeyTable::default();
    for key in &args.keys {
        let form = || {
            Failure::input(format!(
                "--key {key}: give KEY_ID=HEX, the name in the text and the 64 hex digits that \
                 pitlane keygen printed"
            ))
        };
        let (name, hex) = key.split_once('=').ok_or_else(form)?;
        let public = HEXLOWER.decode(hex.as_bytes()).map_err(|_| form())?;
        let public: [u8; 32] = public.try_into().map_err(|_| form())?;
        keys.add(name, role, &public, Validity::default())
            .map_err(|error| Failure::input(format!("--key {key}: {error}")))?;
    }
    Ok(keys)
}

fn judge(text: &[u8], keys: &[KeyTable; 2], now: UnixNanos) -> Result<String, String> {
    let [executor, authorizer] = keys;
    match SignedReport::read(text, executor, now) {
        Ok(report) => Ok(told(&report)),
        Err(why) => match SignedDecision::read(text, authorizer, now) {
            Ok(signed) => Ok(format!(
                "decision {} for account {}, by {}",
                signed.decision.decision_id, signed.decision.account_id, signed.decision.key_id
            )),
            Err(_) => Err(why.to_string()),
        },
    }
}

fn told(report: &SignedReport) -> String {
    let mut text = String::new();
    let _ = match &report.message.body {
        MessageBody::Execution(one) => write!(text, "execution: {}", traded(one)),
        MessageBody::Reversal(one) => write!(text, "reversal: {}", traded(one)),
        MessageBody::Release(one) => write!(
            text,
            "release: {} of account {} holds nothing any more",
            one.client_order_id, one.account_id
        ),
    };
    let _ = write!(
        text,
        ", message {} of log {}, by {}",
        report.message.sequence, report.log, report.key_id
    );
    text
}

fn traded(one: &Execution) -> String {
    let side = match one.side {
        Some(Side::Buy) => "bought",
        Some(Side::Sell) => "sold",
        None => "traded",
    };
    let account = one
        .account_id
        .map_or_else(|| "nobody here".to_owned(), |id| format!("account {id}"));
    format!(
        "{account} {side} {} {} at {} (fill {} at {}) by {}",
        one.qty, one.instrument, one.price, one.fill_id.0, one.venue, one.client_order_id
    )
}
