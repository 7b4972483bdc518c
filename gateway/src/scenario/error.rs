//! Why a scenario file cannot be run at all.

use std::path::PathBuf;

/// A file cannot be read; its rows were not judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The file system says no.
    #[error("{path}: {source}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The text is not a scenario.
    #[error("line {line}: {problem}")]
    Text {
        /// From 1.
        line: usize,
        /// What is wrong, and what to write.
        problem: String,
    },
    /// The settings do not fit one another.
    #[error("settings: {0}")]
    Settings(String),
}

impl ScenarioError {
    pub(super) fn text(line: usize, problem: impl Into<String>) -> Self {
        Self::Text {
            line,
            problem: problem.into(),
        }
    }
}
