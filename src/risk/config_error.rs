//! Why a configuration is refused: what, where, and what to do.

/// A configuration cannot be used; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not TOML, or has an unknown key or a value of a wrong kind.
    #[error("{0}")]
    Syntax(String),
    /// A value is out of its range.
    #[error("{place}: {problem}")]
    Value {
        /// Where, as a path of keys.
        place: String,
        /// What is wrong and what to write.
        problem: String,
    },
    /// Something is named that the configuration does not have.
    #[error("{place}: there is no {what} {name}; add it, or mend the name")]
    Unknown {
        /// Where, as a path of keys.
        place: String,
        /// Asset, instrument.
        what: &'static str,
        /// As written.
        name: String,
    },
    /// The same thing is configured twice.
    #[error("{place}: {name} is there twice; remove one")]
    Twice {
        /// Where, as a path of keys.
        place: String,
        /// As written.
        name: String,
    },
    /// The policies could give one order more rejects than there is room for
    /// (rule K2).
    #[error(
        "the policies can give one order {possible} rejects, and there is room for {room}; \
         use fewer custom policies"
    )]
    TooManyRejects {
        /// What the policies can give.
        possible: usize,
        /// What fits.
        room: usize,
    },
}

impl ConfigError {
    pub(crate) fn value(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Value {
            place: place.into(),
            problem: problem.into(),
        }
    }
}
