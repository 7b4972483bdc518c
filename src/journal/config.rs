//! How a journal is kept.

use std::time::Duration;

use super::fault::ConfigError;
use crate::limits::{
    JOURNAL_GROUPS_DEFAULT, JOURNAL_GROUPS_MAX, JOURNAL_SEGMENT_BYTES_DEFAULT,
    JOURNAL_SEGMENT_BYTES_MAX, JOURNAL_SEGMENT_BYTES_MIN,
};
use crate::time::IdleStrategy;

/// When a record counts as durable, and what waits for it may leave (rule J3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// After `fdatasync`: nothing that was acknowledged is lost.
    #[default]
    Sync,
    /// After the write, with a sync so often: when the machine stops, what was
    /// written since the last sync may be lost, acknowledged or not. A process
    /// that is killed loses nothing.
    Async {
        /// The loss window, 1 ms to 60 s.
        every: Duration,
    },
}

/// A journal's settings.
#[derive(Clone, Copy, Debug)]
pub struct JournalConfig {
    /// When something may leave.
    pub durability: Durability,
    /// Bytes of a segment: a multiple of 4,096.
    pub segment_bytes: u64,
    /// Groups that may wait for the disk before the shard takes no more work
    /// (rule J4), from 1.
    pub groups_max: usize,
    /// How the journal's thread waits for work.
    pub idle: IdleStrategy,
}

impl Default for JournalConfig {
    fn default() -> Self {
        Self {
            durability: Durability::Sync,
            segment_bytes: JOURNAL_SEGMENT_BYTES_DEFAULT,
            groups_max: JOURNAL_GROUPS_DEFAULT,
            idle: IdleStrategy::shared(),
        }
    }
}

impl JournalConfig {
    /// Whether every value is in its range.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), ConfigError> {
        let bytes = self.segment_bytes;
        let range = JOURNAL_SEGMENT_BYTES_MIN..=JOURNAL_SEGMENT_BYTES_MAX;
        if !range.contains(&bytes) || !bytes.is_multiple_of(4_096) {
            return Err(ConfigError::SegmentBytes(bytes));
        }
        if !(1..=JOURNAL_GROUPS_MAX).contains(&self.groups_max) {
            return Err(ConfigError::Groups(self.groups_max));
        }
        if let Durability::Async { every } = self.durability
            && !(1..=60_000).contains(&every.as_millis())
        {
            return Err(ConfigError::SyncEvery(every.as_millis()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j01_a_segment_has_64_mib_unless_configured_and_bounds() {
        let config = JournalConfig::default();
        assert_eq!(config.segment_bytes, 64 << 20);
        config.check().unwrap();
        for bytes in [0, 64, (8 << 20) - 4_096, (64 << 20) + 64, (1 << 30) + 4_096] {
            let odd = JournalConfig {
                segment_bytes: bytes,
                ..config
            };
            assert_eq!(odd.check(), Err(ConfigError::SegmentBytes(bytes)));
        }
    }

    #[test]
    fn j03_sync_is_the_default_and_a_loss_window_has_bounds() {
        assert_eq!(JournalConfig::default().durability, Durability::Sync);
        let with = |millis| JournalConfig {
            durability: Durability::Async {
                every: Duration::from_millis(millis),
            },
            ..JournalConfig::default()
        };
        with(1).check().unwrap();
        with(60_000).check().unwrap();
        assert_eq!(with(0).check(), Err(ConfigError::SyncEvery(0)));
        assert_eq!(with(60_001).check(), Err(ConfigError::SyncEvery(60_001)));
    }

    #[test]
    fn j04_the_unreleased_groups_have_a_bound() {
        for groups_max in [0, JOURNAL_GROUPS_MAX + 1] {
            let config = JournalConfig {
                groups_max,
                ..JournalConfig::default()
            };
            assert_eq!(config.check(), Err(ConfigError::Groups(groups_max)));
        }
    }
}
