//! What is wrong with a configuration: every problem with its place, what was
//! found, what is wanted, and the mend.

use core::fmt;
use std::io;
use std::path::PathBuf;

/// One thing to mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as it was named.
    pub file: String,
    /// The line in it, from 1.
    pub line: usize,
    /// The key, as a path: `gateway.listen`, `account[2].balances.USD`; empty
    /// where the text is no TOML.
    pub key: String,
    /// What stands there.
    pub found: String,
    /// What may stand there.
    pub wanted: String,
    /// What to do.
    pub mend: String,
}

impl fmt::Display for Problem {
    /// One line: `file:line: key: found …; wanted …; mend`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            key,
            found,
            wanted,
            mend,
        } = self;
        write!(f, "{file}:{line}: ")?;
        if !key.is_empty() {
            write!(f, "{key}: ")?;
        }
        write!(f, "found {found}; wanted {wanted}; {mend}")
    }
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {source}; give the path of a readable TOML file", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is larger than any configuration.
    #[error(
        "{}: {bytes} bytes, at most {most} are read; \
         write account ranges with `count` in place of single accounts",
        path.display()
    )]
    TooLarge {
        /// Which file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The most that is read.
        most: u64,
    },
    /// The file says what it may not: every problem, one a line, by line.
    #[error("{}", lines(.0))]
    Problems(Vec<Problem>),
}

fn lines(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}
