//! What the journal asks of a storage: one folder of files.
//!
//! Calls block, and are made by the journal's own threads. A write may be short,
//! as the system's may; nothing written is durable before `sync` has returned,
//! and no new, renamed or removed name before `sync_folder` has.

use std::io;

/// A folder that files can be kept in.
pub trait Storage: Clone + Send + 'static {
    /// An open file.
    type File: StorageFile;
    /// Held as long as this process may write.
    type Lock: Send + 'static;

    /// The names of the files, in any order.
    ///
    /// # Errors
    /// The system's.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes a file that is not there yet, to read and write.
    ///
    /// # Errors
    /// The system's; `AlreadyExists` where it is there.
    fn create(&self, name: &str) -> io::Result<Self::File>;

    /// Opens a file to read, and to write if asked.
    ///
    /// # Errors
    /// The system's; `NotFound` where it is not there.
    fn open(&self, name: &str, write: bool) -> io::Result<Self::File>;

    /// Gives a file another name; a file of that name is replaced.
    ///
    /// # Errors
    /// The system's.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The system's.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes names durable: what was created, renamed and removed.
    ///
    /// # Errors
    /// The system's. It is never tried again.
    fn sync_folder(&self) -> io::Result<()>;

    /// Takes the folder for this process (rule J10).
    ///
    /// # Errors
    /// Who holds it, or the system's.
    fn lock(&self) -> Result<Self::Lock, LockError>;
}

/// One open file.
pub trait StorageFile: Send + 'static {
    /// Bytes in it.
    ///
    /// # Errors
    /// The system's.
    fn size(&self) -> io::Result<u64>;

    /// Reads some bytes from a place; zero at the end.
    ///
    /// # Errors
    /// The system's.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes some of the bytes at a place, and says how many.
    ///
    /// # Errors
    /// The system's.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Makes what was written durable (`fdatasync`).
    ///
    /// # Errors
    /// The system's. It is never tried again: after a failure nobody knows what
    /// is on the disk, and a second call may say that all is well (rule J8).
    fn sync(&mut self) -> io::Result<()>;
}

/// Why the folder cannot be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process has it.
    #[error(
        "the journal in {folder} is in use by {holder}; two writers would destroy it: \
         stop that process, or give this one a folder of its own"
    )]
    Held {
        /// Which folder.
        folder: String,
        /// What the holder wrote into the lock file.
        holder: String,
    },
    /// The lock file cannot be had.
    #[error("the journal's lock file {file} cannot be taken: {error}")]
    System {
        /// Which file.
        file: String,
        /// Why not.
        error: io::Error,
    },
}

/// Writes all bytes, going on after a short write and an interrupted one.
///
/// # Errors
/// The storage's, and `WriteZero` where it takes nothing any more.
pub(in crate::journal) fn write_all_at(
    file: &mut impl StorageFile,
    mut bytes: &[u8],
    mut offset: u64,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads until `bytes` is full or the file ends; how many.
///
/// # Errors
/// The storage's.
pub(in crate::journal) fn read_full_at(
    file: &impl StorageFile,
    bytes: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Whether an error says that there is no room: it may pass (rule J9).
pub(in crate::journal) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull, WriteZero};
    matches!(
        error.kind(),
        StorageFull | QuotaExceeded | FileTooLarge | WriteZero
    )
}
