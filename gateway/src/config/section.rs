//! A table of the configuration, read key by key: each look-up names its type,
//! range and default, and at the end every key that nobody looked up is refused.

use core::cell::RefCell;
use core::fmt::Display;
use core::ops::{Range, RangeInclusive};
use core::str::FromStr;
use core::time::Duration;

use pitlane::types::ParseError;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::duration;
use super::reader::{Complaint, Reader, describe, did_you_mean, quoted};

/// A table, or the absence of one: then every key has its default.
pub(super) struct Section<'r, 'd> {
    reader: &'r Reader<'r>,
    /// With indices, for people: `account[2]`.
    path: String,
    /// Without, for the list of known keys: `account`.
    generic: String,
    table: Option<&'d DeTable<'d>>,
    span: Range<usize>,
    known: RefCell<Vec<String>>,
}

type Found<'d> = (&'d DeValue<'d>, Range<usize>);

fn join(path: &str, key: &str) -> String {
    match (path, key) {
        ("", only) | (only, "") => only.to_string(),
        _ => format!("{path}.{key}"),
    }
}

impl<'r, 'd> Section<'r, 'd> {
    /// The whole document.
    pub(super) fn document(reader: &'r Reader<'r>, table: &'d DeTable<'d>) -> Self {
        Self::new(reader, String::new(), String::new(), Some(table), 0..0)
    }

    fn new(
        reader: &'r Reader<'r>,
        path: String,
        generic: String,
        table: Option<&'d DeTable<'d>>,
        span: Range<usize>,
    ) -> Self {
        Self {
            reader,
            path,
            generic,
            table,
            span,
            known: RefCell::default(),
        }
    }

    /// Where the section stands in the text.
    fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The section's name for people: `account[2]`.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The whole number of a key, if it is one; nothing is noted.
    pub(super) fn peek(&self, key: &str) -> Option<u64> {
        self.entry(key).and_then(|(value, _)| whole(value))
    }

    /// Notes a problem of a key, at the key's value or else at the section.
    pub(super) fn complain(&self, key: &str, complaint: Complaint) {
        let at = self
            .entry(key)
            .map_or_else(|| self.span(), |(_, span)| span);
        self.reader.complain(&at, join(&self.path, key), complaint);
    }

    fn entry(&self, key: &str) -> Option<Found<'d>> {
        let value = self.table?.get(key)?;
        Some((value.get_ref(), value.span()))
    }

    /// The value of a key, which is known from now on.
    fn look_up(&self, key: &str) -> Option<Found<'d>> {
        self.known.borrow_mut().push(key.to_string());
        self.reader.ask(join(&self.generic, key));
        self.entry(key)
    }

    /// The text of a key, if it is one; nothing is noted.
    pub(super) fn peek_text(&self, key: &str) -> Option<&'d str> {
        self.entry(key).and_then(|(value, _)| value.as_str())
    }

    /// Looks a key up and reads it; a value that `read` refuses with a wish is
    /// noted as a problem.
    fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&'d DeValue<'d>) -> Result<T, (String, String)>,
    ) -> Option<T> {
        let (value, _) = self.look_up(key)?;
        match read(value) {
            Ok(read) => Some(read),
            Err((wanted, mend)) => {
                self.complain(key, Complaint::new(describe(value), wanted, mend));
                None
            }
        }
    }

    /// Notes that a key must be there, and is not.
    pub(super) fn missing(&self, key: &str, wanted: &str, mend: &str) {
        if self.entry(key).is_none() {
            self.complain(key, Complaint::new("nothing", wanted, mend));
        }
    }

    /// A text; any.
    pub(super) fn text(&self, key: &str, example: &str) -> Option<&'d str> {
        self.read(key, |value| {
            value.as_str().ok_or_else(|| {
                (
                    "text in quotes".into(),
                    format!("write {key} = \"{example}\""),
                )
            })
        })
    }

    /// True or false.
    pub(super) fn flag(&self, key: &str, default: bool) -> bool {
        let read = self.read(key, |value| {
            value
                .as_bool()
                .ok_or_else(|| ("true or false".into(), format!("write {key} = {default}")))
        });
        read.unwrap_or(default)
    }

    /// A whole number in a range; `None` if it is absent or refused.
    pub(super) fn number<T>(&self, key: &str, range: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<u64> + PartialOrd + Display,
    {
        self.read(key, |value| {
            whole(value)
                .filter(|number| range.contains(number))
                .ok_or_else(|| {
                    let (least, most) = (range.start(), range.end());
                    (
                        format!("a whole number from {least} to {most}"),
                        format!("write {key} = {least} or more"),
                    )
                })
        })
    }

    /// One of some words.
    pub(super) fn one_of<T: Copy>(&self, key: &str, choices: &[(&str, T)], default: T) -> T {
        let read = self.read(key, |value| choose(key, value, choices));
        read.unwrap_or(default)
    }

    /// A list of some words, none twice.
    pub(super) fn words<T: Copy>(&self, key: &str, choices: &[(&str, T)]) -> Option<Vec<T>> {
        self.list(key, &one_of_words(choices), |value| {
            choose(key, value, choices).ok()
        })
    }

    /// A list of whole numbers in a range.
    pub(super) fn numbers<T>(&self, key: &str, range: &RangeInclusive<T>) -> Option<Vec<T>>
    where
        T: TryFrom<u64> + PartialOrd + Display,
    {
        let wanted = format!("whole numbers from {} to {}", range.start(), range.end());
        self.list(key, &wanted, |value| {
            whole(value).filter(|number| range.contains(number))
        })
    }

    fn list<T>(
        &self,
        key: &str,
        wanted: &str,
        read: impl Fn(&'d DeValue<'d>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let (value, _) = self.look_up(key)?;
        let mend = format!("write {key} = [...]");
        let Some(list) = value.as_array() else {
            self.complain(
                key,
                Complaint::new(describe(value), format!("a list of {wanted}"), mend),
            );
            return None;
        };
        let mut items = Vec::new();
        let mut all_good = true;
        for item in list.iter() {
            if let Some(read) = read(item.get_ref()) {
                items.push(read);
            } else {
                let complaint =
                    Complaint::new(describe(item.get_ref()), wanted, "mend or remove it");
                self.reader
                    .complain(&item.span(), join(&self.path, key), complaint);
                all_good = false;
            }
        }
        all_good.then_some(items)
    }

    /// A duration of at least `least`.
    pub(super) fn duration(&self, key: &str, least: Duration, default: Duration) -> Duration {
        let read = self.read(key, |value| {
            value
                .as_str()
                .and_then(duration::parse)
                .filter(|read| *read >= least)
                .ok_or_else(|| {
                    (
                        format!(
                            "a duration of {} or more, such as \"500ms\" or \"5s\"",
                            duration::text(least)
                        ),
                        format!("write {key} = \"{}\"", duration::text(default)),
                    )
                })
        });
        read.unwrap_or(default)
    }

    /// An exact decimal, in quotes: a float has lost its last digits already.
    pub(super) fn money<T>(&self, key: &str) -> Option<T>
    where
        T: FromStr<Err = ParseError>,
    {
        self.read(key, |value| money(key, value))
    }

    /// A value of more than one form: the caller reads it.
    pub(super) fn value(&self, key: &str) -> Option<&'d DeValue<'d>> {
        self.look_up(key).map(|(value, _)| value)
    }

    /// A section below this one.
    pub(super) fn section(&self, key: &str) -> Section<'r, 'd> {
        let found = self.look_up(key);
        let span = found
            .as_ref()
            .map_or_else(|| self.span(), |(_, span)| span.clone());
        let table = found.and_then(|(value, _)| {
            if value.as_table().is_none() {
                let complaint =
                    Complaint::new(describe(value), "a section", format!("write [{key}]"));
                self.complain(key, complaint);
            }
            value.as_table()
        });
        Section::new(
            self.reader,
            join(&self.path, key),
            join(&self.generic, key),
            table,
            span,
        )
    }

    /// The sections of a list, `[[key]]`; none if it is absent.
    pub(super) fn sections(&self, key: &str) -> Vec<Section<'r, 'd>> {
        let Some((value, _)) = self.look_up(key) else {
            return Vec::new();
        };
        let items: Vec<&'d Spanned<DeValue<'d>>> = value
            .as_array()
            .map(|list| list.iter().collect())
            .unwrap_or_default();
        if items.is_empty() || items.iter().any(|item| item.get_ref().as_table().is_none()) {
            let mend = format!("write [[{key}]] above each entry's keys");
            self.complain(
                key,
                Complaint::new(describe(value), "a list of sections", mend),
            );
            return Vec::new();
        }
        let path = join(&self.path, key);
        let section = |(index, item): (usize, &'d Spanned<DeValue<'d>>)| {
            let path = format!("{path}[{}]", index + 1);
            Section::new(
                self.reader,
                path,
                join(&self.generic, key),
                item.get_ref().as_table(),
                item.span(),
            )
        };
        items.into_iter().enumerate().map(section).collect()
    }

    /// A section whose keys are names of the file's own, with money as values,
    /// and the entries that could be read.
    pub(super) fn money_by_name<T>(&self, key: &str) -> (Section<'r, 'd>, Vec<(&'d str, T)>)
    where
        T: FromStr<Err = ParseError>,
    {
        let below = self.section(key);
        let mut entries = Vec::new();
        for (name, value) in below.table.into_iter().flatten() {
            let name: &str = name.get_ref();
            match money(name, value.get_ref()) {
                Ok(amount) => entries.push((name, amount)),
                Err((wanted, mend)) => {
                    below.complain(
                        name,
                        Complaint::new(describe(value.get_ref()), wanted, mend),
                    );
                }
            }
        }
        (below, entries)
    }

    /// The section's raw table, for a reader that knows its keys itself.
    pub(super) fn table(&self) -> Option<&'d DeTable<'d>> {
        self.table
    }

    /// Notes a problem at a place in the text that the caller knows.
    pub(super) fn complain_at(&self, span: &Range<usize>, key: &str, complaint: Complaint) {
        self.reader.complain(span, join(&self.path, key), complaint);
    }

    /// Refuses every key that nobody looked up: a typo must not become a default.
    pub(super) fn finish(self) {
        let known = self.known.borrow();
        for key in self.table.into_iter().flat_map(|table| table.keys()) {
            let name = key.get_ref();
            if known.iter().any(|known| known == name) {
                continue;
            }
            let names: Vec<&str> = known.iter().map(String::as_str).collect();
            let mend = match did_you_mean(name, names.iter().copied()) {
                Some(meant) => format!("did you mean {meant}?"),
                None => "remove it".to_string(),
            };
            let found = format!("the unknown key {}", quoted(name));
            let complaint = Complaint::new(found, format!("one of {}", names.join(", ")), mend);
            self.reader
                .complain(&key.span(), join(&self.path, name), complaint);
        }
    }
}

/// A whole number, in any radix that TOML has.
pub(super) fn whole<T: TryFrom<u64>>(value: &DeValue<'_>) -> Option<T> {
    let number = value.as_integer()?;
    u64::from_str_radix(number.as_str(), number.radix())
        .ok()
        .and_then(|number| T::try_from(number).ok())
}

fn one_of_words<T>(choices: &[(&str, T)]) -> String {
    let words: Vec<String> = choices
        .iter()
        .map(|(word, _)| format!("{word:?}"))
        .collect();
    match words.as_slice() {
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
        [] => String::new(),
    }
}

fn choose<T: Copy>(
    key: &str,
    value: &DeValue<'_>,
    choices: &[(&str, T)],
) -> Result<T, (String, String)> {
    let word = value.as_str();
    if let Some((_, choice)) = choices.iter().find(|(name, _)| Some(*name) == word) {
        return Ok(*choice);
    }
    let meant = word.and_then(|word| did_you_mean(word, choices.iter().map(|(name, _)| *name)));
    let mend = match meant {
        Some(meant) => format!("did you mean {meant:?}?"),
        None => format!(
            "write {key} = {:?}",
            choices.first().map_or("", |(name, _)| name)
        ),
    };
    Err((one_of_words(choices), mend))
}

fn money<T: FromStr<Err = ParseError>>(
    key: &str,
    value: &DeValue<'_>,
) -> Result<T, (String, String)> {
    let wanted = "an exact decimal in quotes";
    match value {
        DeValue::String(text) => text
            .parse()
            .map_err(|error| (wanted.to_string(), format!("{error}"))),
        // A whole number is exact without quotes; in another radix it is no money.
        DeValue::Integer(number) if number.radix() == 10 => number
            .as_str()
            .parse()
            .map_err(|error| (wanted.to_string(), format!("{error}"))),
        DeValue::Float(number) => Err((
            format!("{wanted}: a float would round it"),
            format!("quote it: {key} = \"{number}\""),
        )),
        _ => Err((wanted.into(), format!("write {key} = \"12.5\""))),
    }
}
