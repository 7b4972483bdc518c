//! What is wrong with a recorded flow, where, and how to mend it.

use core::fmt;

/// A line that cannot be used; nothing after it was read.
#[derive(Debug, thiserror::Error)]
#[error("line {line}{}: {problem}", in_column(*.column, .value))]
pub struct FlowError {
    /// From 1, the header.
    pub line: u64,
    /// The column's name, where one is at fault.
    pub column: Option<&'static str>,
    /// What stands there, cut to 40 characters.
    pub value: String,
    /// What is wrong with it.
    #[source]
    pub problem: FlowProblem,
}

impl FlowError {
    pub(super) fn new(
        line: u64,
        column: Option<&'static str>,
        value: impl fmt::Display,
        problem: FlowProblem,
    ) -> Self {
        Self {
            line,
            column,
            value: value.to_string().chars().take(40).collect(),
            problem,
        }
    }
}

fn in_column(column: Option<&'static str>, value: &str) -> String {
    column.map_or_else(String::new, |name| format!(", column {name}, {value:?}"))
}

/// What is wrong, and the mend.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlowProblem {
    /// The file's bytes did not come.
    #[error("the file cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// No header.
    #[error("the file is empty: it begins with a header that names its columns")]
    Empty,
    /// A line without end, probably no CSV.
    #[error("the line is longer than {0} bytes: give one event a line")]
    TooLong(usize),
    /// Not text.
    #[error("the line is not UTF-8: save the file as plain text")]
    NotText,
    /// The header lacks one.
    #[error("the header does not name it: name ts_ns, event, order_id, side, price and qty")]
    ColumnMissing,
    /// The header has it twice.
    #[error("the header names it twice: name it once")]
    ColumnTwice,
    /// The line ends before it.
    #[error("the line has no such field: give as many fields as the header names")]
    FieldMissing,
    /// More fields than columns.
    #[error(
        "the line has {found} fields, the header {named}: quotes and commas in fields are not read"
    )]
    FieldsTooMany {
        /// Fields of the line.
        found: usize,
        /// Columns of the header.
        named: usize,
    },
    /// Not a whole number in range.
    #[error("that is no whole number from 0 to 18446744073709551615: give digits only")]
    NotWhole,
    /// Not an event.
    #[error("that is no event: give NEW, REPLACE, CANCEL, TRADE or FILL")]
    NotEvent,
    /// Not a side.
    #[error("that is no side: give BUY or SELL; only an auction's rows have none")]
    NotSide,
    /// Not an exact number.
    #[error("{0}")]
    NotNumber(pitlane::types::ParseError),
    /// Zero or less.
    #[error("prices and quantities are above zero")]
    NotPositive,
    /// A trade or fill without a market.
    #[error(
        "nothing trades before the opening auction: its row is a TRADE with order_id 0 and the \
         auction's price"
    )]
    BeforeOpening,
    /// A second opening.
    #[error("the market is open already: an aggressor's row names its order")]
    OpenAlready,
    /// New, though it is there.
    #[error("the order rests already: cancel it before it is new again, or send a REPLACE")]
    RestsAlready,
    /// Never new, or gone.
    #[error("no such order rests: the file must begin with the book as it stood, as NEW rows")]
    NotResting,
    /// Its side changed.
    #[error("the order rests on the other side: cancel it and enter a new one")]
    OtherSide,
    /// Out of range.
    #[error("the order's quantities add up to more than a quantity can hold")]
    QuantityRange,
    /// A bound of the reader.
    #[error("more than {0} orders are open at once: split the file")]
    TooManyOrders(usize),
    /// A bound of the reader.
    #[error("more than {0} fills by order and price: split the file")]
    TooManyFills(usize),
}
