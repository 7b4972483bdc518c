//! Reads a flow from CSV, a line at a time, in bounded memory.
//!
//! Columns are found by the header's names, in any order; others are ignored.
//! Fields are plain: no quotes, no commas in them, nothing trimmed; empty lines
//! are skipped. The bound on a line is why this is not a general CSV reader's
//! work.

use std::io::{BufRead, Read};

use pitlane::limits::FLOW_LINE_BYTES_MAX;
use pitlane::time::UnixNanos;
use pitlane::types::{ParseError, Price, Quantity, Side};

use super::error::{FlowError, FlowProblem};
use super::row::{FlowEvent, FlowOrderId, FlowRow};

/// The columns, in the order of `Columns`.
const NAMES: [&str; 6] = ["ts_ns", "event", "order_id", "side", "price", "qty"];

/// The rows of a file; ends after the first error.
pub struct FlowReader<R> {
    input: R,
    /// The line that was read last, from 1.
    line: u64,
    /// Holds one line; its length is bounded.
    buffer: Vec<u8>,
    /// Where each of `NAMES` stands.
    columns: [usize; NAMES.len()],
    /// How many columns the header names.
    named: usize,
    failed: bool,
}

impl<R: BufRead> FlowReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// There is none, or it lacks a column.
    pub fn new(input: R) -> Result<Self, FlowError> {
        let mut reader = Self {
            input,
            line: 0,
            buffer: Vec::with_capacity(FLOW_LINE_BYTES_MAX),
            columns: [0; NAMES.len()],
            named: 0,
            failed: false,
        };
        if !reader.next_line()? {
            return Err(FlowError::new(1, None, "", FlowProblem::Empty));
        }
        let header = text(&reader.buffer, reader.line)?;
        let header = header.strip_prefix('\u{feff}').unwrap_or(header);
        reader.named = header.split(',').count();
        for (column, name) in reader.columns.iter_mut().zip(NAMES) {
            let mut found = header
                .split(',')
                .enumerate()
                .filter(|(_, had)| *had == name);
            let problem = match (found.next(), found.next()) {
                (Some((at, _)), None) => {
                    *column = at;
                    continue;
                }
                (None, _) => FlowProblem::ColumnMissing,
                _ => FlowProblem::ColumnTwice,
            };
            return Err(FlowError::new(reader.line, Some(name), header, problem));
        }
        Ok(reader)
    }

    /// The next line, without its end, into the buffer; `false` at the end of
    /// the file.
    fn next_line(&mut self) -> Result<bool, FlowError> {
        self.buffer.clear();
        let at_most = FLOW_LINE_BYTES_MAX as u64 + 1;
        let read = (&mut self.input)
            .take(at_most)
            .read_until(b'\n', &mut self.buffer);
        self.line += 1;
        let fail = |problem| Err(FlowError::new(self.line, None, "", problem));
        match read {
            Err(error) => return fail(FlowProblem::Read(error)),
            Ok(0) => return Ok(false),
            Ok(_) => {}
        }
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
            if self.buffer.last() == Some(&b'\r') {
                self.buffer.pop();
            }
        }
        if self.buffer.len() > FLOW_LINE_BYTES_MAX {
            return fail(FlowProblem::TooLong(FLOW_LINE_BYTES_MAX));
        }
        Ok(true)
    }

    fn row(&self) -> Result<FlowRow, FlowError> {
        let line = self.line;
        let text = text(&self.buffer, line)?;
        let found = text.split(',').count();
        if found > self.named {
            let named = self.named;
            let problem = FlowProblem::FieldsTooMany { found, named };
            return Err(FlowError::new(line, None, "", problem));
        }
        let mut fields = [""; NAMES.len()];
        for ((field, at), name) in fields.iter_mut().zip(self.columns).zip(NAMES) {
            *field = text
                .split(',')
                .nth(at)
                .ok_or_else(|| FlowError::new(line, Some(name), "", FlowProblem::FieldMissing))?;
        }
        let [time, event, order, side, price, quantity] = fields;
        let order = FlowOrderId(field(line, NAMES[2], order, whole)?);
        let event = field(line, NAMES[1], event, |text| {
            FlowEvent::parse(text).ok_or(FlowProblem::NotEvent)
        })?;
        Ok(FlowRow {
            line,
            time: UnixNanos(field(line, NAMES[0], time, whole)?),
            event,
            order,
            side: field(line, NAMES[3], side, side_of)?,
            price: field(line, NAMES[4], price, |text| {
                positive(Price::parse(text), |price| price.is_positive())
            })?,
            quantity: field(line, NAMES[5], quantity, |text| {
                positive(Quantity::parse(text), |quantity| quantity.is_positive())
            })?,
        })
    }
}

impl<R: BufRead> Iterator for FlowReader<R> {
    type Item = Result<FlowRow, FlowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let row = loop {
            match self.next_line() {
                Ok(false) => return None,
                Ok(true) if self.buffer.is_empty() => {}
                Ok(true) => break self.row(),
                Err(error) => break Err(error),
            }
        };
        self.failed = row.is_err();
        Some(row)
    }
}

fn text(bytes: &[u8], line: u64) -> Result<&str, FlowError> {
    core::str::from_utf8(bytes).map_err(|_| FlowError::new(line, None, "", FlowProblem::NotText))
}

fn field<T>(
    line: u64,
    name: &'static str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, FlowProblem>,
) -> Result<T, FlowError> {
    parse(text).map_err(|problem| FlowError::new(line, Some(name), text, problem))
}

fn whole(text: &str) -> Result<u64, FlowProblem> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { text.parse().ok() } else { None };
    number.ok_or(FlowProblem::NotWhole)
}

fn side_of(text: &str) -> Result<Option<Side>, FlowProblem> {
    match text {
        "BUY" => Ok(Some(Side::Buy)),
        "SELL" => Ok(Some(Side::Sell)),
        "" => Ok(None),
        _ => Err(FlowProblem::NotSide),
    }
}

fn positive<T>(
    number: Result<T, ParseError>,
    is_positive: impl FnOnce(&T) -> bool,
) -> Result<T, FlowProblem> {
    let number = number.map_err(FlowProblem::NotNumber)?;
    if is_positive(&number) {
        Ok(number)
    } else {
        Err(FlowProblem::NotPositive)
    }
}
