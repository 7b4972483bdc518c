//! One pass over a TOML text that keeps its lines and collects every problem.
//!
//! It never stops at the first: a value that cannot be used is noted, its
//! default is taken, and reading goes on.

use core::cell::RefCell;
use core::ops::Range;
use std::collections::BTreeSet;

use pitlane::limits::CONFIG_PROBLEMS_MAX;
use toml::de::DeValue;

use super::problem::Problem;

/// What every section reads through.
pub(super) struct Reader<'a> {
    file: &'a str,
    line_starts: Vec<usize>,
    problems: RefCell<Vec<Problem>>,
    asked: RefCell<BTreeSet<String>>,
}

/// What a problem says beside its place.
pub(super) struct Complaint {
    pub(super) found: String,
    pub(super) wanted: String,
    pub(super) mend: String,
}

impl Complaint {
    pub(super) fn new(
        found: impl Into<String>,
        wanted: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self {
            found: found.into(),
            wanted: wanted.into(),
            mend: mend.into(),
        }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a str, text: &str) -> Self {
        let after_breaks = text
            .bytes()
            .enumerate()
            .filter(|(_, byte)| *byte == b'\n')
            .map(|(at, _)| at + 1);
        Self {
            file,
            line_starts: core::iter::once(0).chain(after_breaks).collect(),
            problems: RefCell::default(),
            asked: RefCell::default(),
        }
    }

    /// The line of a byte, from 1.
    fn line(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }

    /// Notes a problem.
    pub(super) fn complain(
        &self,
        span: &Range<usize>,
        key: impl Into<String>,
        complaint: Complaint,
    ) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < CONFIG_PROBLEMS_MAX {
            let Complaint {
                found,
                wanted,
                mend,
            } = complaint;
            let (file, line) = (self.file.to_string(), self.line(span.start));
            problems.push(Problem {
                file,
                line,
                key: key.into(),
                found,
                wanted,
                mend,
            });
        }
    }

    /// Notes what the TOML parser itself did not understand.
    pub(super) fn complain_of_syntax(&self, error: &toml::de::Error) {
        let span = error.span().unwrap_or(0..0);
        let complaint = Complaint::new(
            format!(
                "text that is no TOML ({})",
                error.message().replace('\n', ", ")
            ),
            "TOML: key = value, [section], [[list]]",
            "mend the line, or quote the text",
        );
        self.complain(&span, "", complaint);
    }

    /// Notes that a key is known, by its path without indices.
    pub(super) fn ask(&self, key: String) {
        self.asked.borrow_mut().insert(key);
    }

    /// How many problems there are so far.
    pub(super) fn problems_so_far(&self) -> usize {
        self.problems.borrow().len()
    }

    /// The keys that were looked for, and the problems by line.
    pub(super) fn finish(self) -> (BTreeSet<String>, Vec<Problem>) {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| problem.line);
        (self.asked.into_inner(), problems)
    }
}

/// A value in words, short enough for a message.
pub(super) fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(number) => format!("the number {number}"),
        DeValue::Float(number) => format!("the float {number}"),
        DeValue::Boolean(flag) => format!("{flag}"),
        DeValue::Datetime(time) => format!("the date {time}"),
        DeValue::Array(list) => format!("a list of {}", list.iter().count()),
        DeValue::Table(table) => format!("a section of {} keys", table.len()),
    }
}

/// A text in quotes, escaped, cut after 70 characters.
pub(super) fn quoted(text: &str) -> String {
    if text.chars().count() <= 70 {
        return format!("{text:?}");
    }
    let cut: String = text.chars().take(67).collect();
    format!("{:?}", cut + "...")
}

/// The known name that was most likely meant.
pub(super) fn did_you_mean<'n>(
    name: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    let close = |other: &str| strsim::damerau_levenshtein(name, other);
    let best = known.into_iter().min_by_key(|other| close(other))?;
    // A third of the name may be wrong, and one letter of a short one.
    (close(best) <= (name.chars().count() / 3).max(1)).then_some(best)
}
