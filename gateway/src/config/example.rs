//! The example configuration: every key, with its default where it has one.

use std::collections::BTreeSet;

use super::Config;
use super::load;

impl Config {
    /// A complete configuration, for the documentation and to start from.
    #[must_use]
    pub const fn example() -> &'static str {
        include_str!("example.toml")
    }

    /// Every key that is read, as `section.key`, without the indices of lists.
    #[must_use]
    pub fn known_keys() -> BTreeSet<String> {
        // The example has an entry of each list, so every look-up is made.
        load::read("example", Self::example()).1
    }
}
