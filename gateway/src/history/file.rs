//! The file: its tables, and the place in each journal that it stands at.

use std::path::Path;

use pitlane::journal::{Place, RecordView};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::rows;

/// The layout of the tables that this program writes.
const LAYOUT: i64 = 1;
const TABLES: &str = include_str!("schema.sql");

/// Why history is not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// SQLite's words.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A newer program's, or none of ours.
    #[error(
        "its tables have layout {found}, this program writes {LAYOUT}; move the file away, \
         and it is made anew from what the journals still have"
    )]
    Layout {
        /// Its layout.
        found: i64,
    },
    /// It was filled from another journal.
    #[error(
        "shard {shard}: it was filled from another journal, or from more of this one than \
         there is; move the file away, and it is made anew from what the journals still have"
    )]
    Other {
        /// Whose journal.
        shard: u16,
    },
    /// A journal cannot be read.
    #[error("shard {shard}: {error}")]
    Journal {
        /// Whose journal.
        shard: u16,
        /// Why.
        error: pitlane::journal::ReadError,
    },
    /// A thread cannot be started.
    #[error("the system refuses a thread: {0}")]
    Thread(std::io::Error),
}

/// An open history.
pub struct HistoryFile {
    connection: Connection,
}

impl HistoryFile {
    /// Opens the file, or makes it with its tables.
    ///
    /// # Errors
    /// The system's; a file of another layout.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        let mut connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // The journals are what is durable: after a crash of the machine a
        // transaction may be missing, and is written again.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.set_prepared_statement_cache_capacity(32);
        let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        match found {
            LAYOUT => {}
            0 => {
                let making = connection.transaction()?;
                making.execute_batch(TABLES)?;
                making.pragma_update(None, "user_version", LAYOUT)?;
                making.commit()?;
            }
            found => return Err(HistoryError::Layout { found }),
        }
        Ok(Self { connection })
    }

    /// Where it stands in a shard's journal, and that journal's number.
    ///
    /// # Errors
    /// SQLite's.
    pub fn cursor(&self, shard: u16) -> Result<Option<(String, Place)>, HistoryError> {
        let found = self
            .connection
            .query_row(
                "SELECT journal, segment, at_byte, sequence FROM cursors WHERE shard = ?1",
                params![shard],
                |row| {
                    let place = Place {
                        segment: row.get::<_, i64>(1)?.cast_unsigned(),
                        offset: row.get::<_, i64>(2)?.cast_unsigned(),
                        sequence: row.get::<_, i64>(3)?.cast_unsigned(),
                    };
                    Ok((row.get(0)?, place))
                },
            )
            .optional()?;
        Ok(found)
    }

    /// Begins a batch of records of one shard.
    pub(super) fn batch(&mut self, shard: u16) -> Result<Batch<'_>, HistoryError> {
        Ok(Batch {
            rows: self.connection.transaction()?,
            shard,
            failed: None,
        })
    }
}

/// Rows that are there together with the cursor, or not at all.
pub(super) struct Batch<'c> {
    rows: Transaction<'c>,
    shard: u16,
    failed: Option<rusqlite::Error>,
}

impl Batch<'_> {
    /// The first record that is in the file, of a run of them.
    pub(super) fn since(&self, record: &RecordView<'_>) -> Result<(), HistoryError> {
        self.rows.execute(
            "INSERT OR IGNORE INTO since VALUES (?1, ?2, ?3)",
            params![
                self.shard,
                record.sequence.cast_signed(),
                record.wall.0.cast_signed()
            ],
        )?;
        Ok(())
    }

    /// Takes a record; what fails is told by `commit`.
    pub(super) fn take(&mut self, record: &RecordView<'_>) {
        if self.failed.is_none() {
            self.failed = rows::write(&self.rows, self.shard, record).err();
        }
    }

    /// Moves the cursor, and makes it all visible.
    pub(super) fn commit(self, journal: u64, place: Place) -> Result<(), HistoryError> {
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        self.rows.execute(
            "INSERT INTO cursors VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (shard) DO UPDATE SET journal = ?2, segment = ?3, at_byte = ?4,
                 sequence = ?5",
            params![
                self.shard,
                format!("{journal:016x}"),
                place.segment.cast_signed(),
                place.offset.cast_signed(),
                place.sequence.cast_signed()
            ],
        )?;
        self.rows.commit()?;
        Ok(())
    }
}
