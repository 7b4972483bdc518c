//! The checks themselves: each looks at one file's path and text, and answers
//! with what is wrong, by line. None reads a file.

use super::code::{code_only, words};

/// One thing that is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// From 1.
    pub(crate) line: usize,
    /// What, and what to do.
    pub(crate) what: String,
}

/// Numbered lines, from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
}

/// A finding for every line about which `judge` has something to say.
fn by_line(text: &str, judge: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    numbered(text)
        .filter_map(|(line, content)| judge(content).map(|what| Finding { line, what }))
        .collect()
}

fn is_rust(path: &str) -> bool {
    path.ends_with(".rs")
}

fn is_script(path: &str) -> bool {
    path.ends_with(".sh") || path.ends_with(".py") || path == ".ci/run"
}

/// The longest line, in characters.
const LINE_MOST: usize = 110;

/// Long lines; a Markdown table row or a link cannot be broken, so may be long.
pub(crate) fn line_length(path: &str, text: &str) -> Vec<Finding> {
    let markdown = path.ends_with(".md");
    if !(is_rust(path) || is_script(path) || markdown || path.ends_with(".toml")) {
        return Vec::new();
    }
    by_line(text, |line| {
        let exempt = markdown && (line.trim_start().starts_with('|') || line.contains("]("));
        let long = line.chars().count() > LINE_MOST && !exempt;
        long.then(|| format!("longer than {LINE_MOST} characters: break it"))
    })
}

/// The most lines of a source file.
const FILE_MOST: usize = 700;

/// Files that hold more than one idea.
pub(crate) fn file_length(path: &str, text: &str) -> Vec<Finding> {
    let lines = text.lines().count();
    if !is_rust(path) || lines <= FILE_MOST {
        return Vec::new();
    }
    let what = format!("{lines} lines, {FILE_MOST} at most: split it by idea");
    vec![Finding {
        line: FILE_MOST + 1,
        what,
    }]
}

/// Anything in a `mod.rs` but modules and uses. In tests the name is cargo's only
/// way to say "no test of its own", so there it may hold code.
pub(crate) fn mod_without_logic(path: &str, text: &str) -> Vec<Finding> {
    if !path.ends_with("/mod.rs") || path.starts_with("tests/") || path.contains("/tests/") {
        return Vec::new();
    }
    let mut in_use = false;
    let mut findings = Vec::new();
    for (line, content) in numbered(&code_only(text)) {
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if !in_use {
            let mut item =
                words(content).skip_while(|w| matches!(*w, "pub" | "crate" | "super" | "in"));
            match item.next() {
                Some("use") => in_use = true,
                Some("mod") if content.ends_with(';') => {}
                _ => {
                    let what =
                        "mod.rs declares and re-exports only: move this to a file of its own"
                            .into();
                    findings.push(Finding { line, what });
                }
            }
        }
        if content.ends_with(';') {
            in_use = false;
        }
    }
    findings
}

/// What marks unfinished work; spelled so that this file is clean itself.
const UNFINISHED_CODE: [&str; 4] = [
    concat!("to", "do!"),
    concat!("unimple", "mented!"),
    "dbg!",
    "#[ignore",
];
const UNFINISHED_NOTES: [&str; 3] = [
    concat!("FIX", "ME"),
    concat!("X", "XX"),
    concat!("TO", "DO"),
];

/// Unfinished work, in code and in notes.
pub(crate) fn unfinished(path: &str, text: &str) -> Vec<Finding> {
    if !(is_rust(path) || is_script(path) || path.ends_with(".toml")) {
        return Vec::new();
    }
    let code = if is_rust(path) {
        code_only(text)
    } else {
        String::new()
    };
    let mut findings = by_line(&code, |line| {
        let dense: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        let found = UNFINISHED_CODE.into_iter().find(|marker| {
            dense.match_indices(marker).any(|(at, _)| {
                let before = dense[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
            })
        });
        found.map(|marker| format!("{marker} is unfinished work: finish it"))
    });
    findings.extend(by_line(text, |line| {
        let note = words(line).find(|word| UNFINISHED_NOTES.contains(word));
        note.map(|note| {
            format!("{note} is a note of unfinished work: do it, or say it in the docs")
        })
    }));
    findings
}

/// The word `unsafe`, or leave for it, outside of the modules that may.
pub(crate) fn unsafe_outside(path: &str, text: &str, allowed: &[&str]) -> Vec<Finding> {
    if !is_rust(path) || allowed.contains(&path) {
        return Vec::new();
    }
    by_line(&code_only(text), |line| {
        let found = words(line).any(|word| word == "unsafe" || word == "unsafe_code");
        found.then(|| {
            "unsafe belongs in the few modules that tests/tidy.rs lists, with a reason".into()
        })
    })
}

/// Names that say nothing.
const EMPTY_NAMES: [&str; 8] = [
    "util",
    "utils",
    "common",
    "helper",
    "helpers",
    "manager",
    "misc",
    "shared_stuff",
];

/// Files, modules and types named after nothing.
pub(crate) fn telling_names(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let stems = path
        .split('/')
        .map(|part| part.split('.').next().unwrap_or(part));
    for stem in stems.filter(|stem| EMPTY_NAMES.contains(stem)) {
        findings.push(Finding {
            line: 1,
            what: format!("{stem} names nothing: say what it is"),
        });
    }
    if is_rust(path) {
        findings.extend(by_line(&code_only(text), |line| {
            let kinds = ["mod", "struct", "enum", "trait", "type"];
            let mut pairs = words(line).zip(words(line).skip(1));
            let (_, name) = pairs.find(|(kind, name)| {
                let lower = name.to_ascii_lowercase();
                kinds.contains(kind)
                    && EMPTY_NAMES.iter().any(|empty| {
                        lower == *empty
                            || (empty.len() > 4 && *empty != "common" && lower.ends_with(empty))
                    })
            })?;
            Some(format!("{name} names nothing: say what it is"))
        }));
    }
    findings
}

/// A source file whose first line does not say what it is.
pub(crate) fn module_doc(path: &str, text: &str) -> Vec<Finding> {
    let told = text
        .lines()
        .next()
        .is_some_and(|line| line.len() > "//! ".len() && line.starts_with("//! "));
    if !is_rust(path) || told {
        return Vec::new();
    }
    let what = "the first line is no //! sentence: say what the file promises".into();
    vec![Finding { line: 1, what }]
}

/// Places of one machine, and the folder beside the project that users have not.
const MACHINE_PATHS: [&str; 5] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("../sha", "red"),
];

/// Paths that exist on some machine only.
pub(crate) fn machine_paths(path: &str, text: &str) -> Vec<Finding> {
    if path == "Cargo.lock" {
        return Vec::new();
    }
    by_line(text, |line| {
        let found = MACHINE_PATHS.into_iter().find(|place| {
            line.match_indices(place).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || "._-}".contains(c))
            })
        });
        found.map(|place| format!("{place} is a path of some machine: users have none such"))
    })
}

/// The parts in their order: each uses only those before it.
const ORDER: [&str; 7] = [
    "types",
    "time",
    "risk",
    "lanes",
    "orders",
    "shard",
    "simulation",
];
/// Parts that every other may use, and what they may use themselves.
const BESIDE: [&str; 3] = ["limits", "host", "telemetry"];
/// Parts that stand on types and time alone.
const ALONE: [&str; 3] = ["steps", "dispatch", "journal"];

/// Whether the library's part `from` may use the part `to`.
fn may_use(from: &str, to: &str) -> bool {
    let rank = |part: &str| ORDER.iter().position(|p| *p == part);
    if from == to || to == "limits" {
        return true;
    }
    if BESIDE.contains(&from) || ALONE.contains(&from) {
        return to == "types" || to == "time";
    }
    match (rank(from), rank(to)) {
        (Some(from), Some(to)) => to < from,
        // Types and time stand at the bottom; the shard stands on everything.
        // Chains of a lane may wait for steps.
        (Some(from), None) if to == "steps" => from >= 3,
        (Some(from), None) if ALONE.contains(&to) => from >= 4,
        (Some(from), None) if BESIDE.contains(&to) => from >= 2,
        _ => true,
    }
}

/// Uses of a part of the library that points the wrong way.
pub(crate) fn dependency_direction(path: &str, text: &str) -> Vec<Finding> {
    let Some((part, _)) = path
        .strip_prefix("src/")
        .and_then(|rest| rest.split_once('/'))
    else {
        return Vec::new();
    };
    let code = code_only(text);
    let is_part =
        |name: &&str| ORDER.contains(name) || BESIDE.contains(name) || ALONE.contains(name);
    let mut findings = Vec::new();
    for (line, content) in numbered(&code) {
        for (at, _) in content.match_indices("crate::") {
            let path = &content[at + "crate::".len()..];
            // `crate::{a, b}` names several; else the first word counts.
            let named: Vec<&str> = match path.strip_prefix('{') {
                Some(group) => words(group).filter(is_part).collect(),
                None => words(path).take(1).filter(is_part).collect(),
            };
            for used in named.into_iter().filter(|used| !may_use(part, used)) {
                let what = format!("{part} must not use {used}: dependencies point one way");
                findings.push(Finding { line, what });
            }
        }
    }
    findings
}

/// Sockets where there are none: in the library, and in the parts of the
/// gateway that a simulator and a fuzzer drive.
pub(crate) fn without_sockets(path: &str, text: &str) -> Vec<Finding> {
    let sans_io = ["src/", "gateway/src/wire/", "gateway/src/session/"];
    if !is_rust(path) || !sans_io.iter().any(|root| path.starts_with(root)) {
        return Vec::new();
    }
    let sockets = [
        "TcpStream",
        "TcpListener",
        "UdpSocket",
        "UnixStream",
        "UnixListener",
        "tokio",
        "tokio_uring",
        "mio",
    ];
    by_line(&code_only(text), |line| {
        let found = words(line).find(|word| sockets.contains(word))?;
        Some(format!("{found} here: this part knows no socket"))
    })
}

/// Relative link targets of a Markdown page, with their lines.
pub(crate) fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (line, content) in numbered(text) {
        for (at, _) in content.match_indices("](") {
            let target = content[at + 2..].split(')').next().unwrap_or_default();
            let target = target.split('#').next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                found.push((line, target));
            }
        }
    }
    found
}

/// Whether `parent` declares the module `stem`.
pub(crate) fn declares(parent: &str, stem: &str) -> bool {
    code_only(parent).lines().any(|line| {
        let line = line.trim();
        line.ends_with(';') && {
            let mut tail = words(line).skip_while(|word| *word != "mod");
            tail.next() == Some("mod") && tail.next() == Some(stem)
        }
    })
}
