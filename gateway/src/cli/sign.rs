//! `pitlane sign`: what an authorizer does with a decision, by hand.

use std::fs::File;
use std::io::{self, Read};

use pitlane::limits::DECISION_BYTES_MAX;
use pitlane::orders::decision::{Decision, Json, Role, Signer};

use super::args::SignArgs;
use super::run::{Failure, print};
use crate::secrets;

pub(super) fn run(args: &SignArgs) -> Result<(), Failure> {
    let key = secrets::signing_key(&args.key).map_err(Failure::input)?;
    let (name, text) = decision_text(args)?;
    let wrong = |what: String| Failure::input(format!("{name}: {what}"));
    let json = Json::read(&text).map_err(|error| wrong(error.to_string()))?;
    // As strict as the executor: a signature under something else is worth nothing.
    let decision = Decision::read(&json).map_err(|error| wrong(error.to_string()))?;
    let signer = Signer::new(&decision.key_id, Role::Authorizer, &key.to_bytes())
        .map_err(|error| wrong(error.to_string()))?;
    let canonical = json.canonical();
    let signature = signer.sign(&canonical);
    let canonical = String::from_utf8_lossy(&canonical);
    print(&format!(
        "{{\"decision\":{canonical},\"signature\":\"{signature}\"}}\n"
    ));
    Ok(())
}

fn decision_text(args: &SignArgs) -> Result<(String, Vec<u8>), Failure> {
    let from_stdin = args.input.as_os_str() == "-";
    let name = if from_stdin {
        "the decision on stdin".to_owned()
    } else {
        args.input.display().to_string()
    };
    let bad = |error: io::Error| Failure::input(format!("{name}: {error}; name a decision's file"));
    let source: Box<dyn Read> = if from_stdin {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&args.input).map_err(bad)?)
    };
    let mut text = Vec::new();
    let most = DECISION_BYTES_MAX as u64;
    source.take(most + 1).read_to_end(&mut text).map_err(bad)?;
    if text.len() as u64 > most {
        return Err(Failure::input(format!(
            "{name}: a decision has at most {most} bytes"
        )));
    }
    Ok((name, text))
}
