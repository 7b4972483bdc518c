//! Removes what no restart and no reader needs any more: old snapshots, and the
//! segments before them (rule J7).

use std::io;

use super::reader::{ReadError, segments_of};
use super::segment::{segment_name, snapshot_name};
use super::snapshot::{SnapshotError, check_snapshot, snapshots};
use super::storage::{Storage, StorageFile, read_full_at, write_all_at};

/// What becomes of a segment that is not needed any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OldSegments<S> {
    /// It stays.
    #[default]
    Keep,
    /// It goes to another folder.
    Archive(S),
    /// It is removed.
    Delete,
}

/// Why nothing more was removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetentionError {
    /// The folder cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A snapshot cannot be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A file cannot be removed or archived.
    #[error("{file}: {error}")]
    System {
        /// Which file.
        file: String,
        /// Why.
        error: io::Error,
    },
}

/// Keeps the two newest whole snapshots, of which the older one serves when the
/// newer rots, and does with the segments before both what is wanted; but `floor`
/// and those behind it stay, for somebody has not read them. The number of the
/// segments that went.
///
/// # Errors
/// The system's; what went before is gone. It can be called again.
pub fn tidy<S: Storage>(
    storage: &S,
    old: &OldSegments<S>,
    floor: u64,
) -> Result<u64, RetentionError> {
    let mut whole = Vec::new();
    for segment in snapshots(storage)? {
        if whole.len() < 2 {
            if check_snapshot(storage, segment)?.is_some() {
                whole.push(segment);
            }
        } else {
            remove(storage, &snapshot_name(segment))?;
        }
    }
    let [_, older] = whole[..] else {
        return Ok(0);
    };
    if matches!(old, OldSegments::Keep) {
        return Ok(0);
    }
    let mut gone = 0;
    // Oldest first, each on the disk before the next: a gap would look like a loss.
    for segment in segments_of(storage)? {
        if segment > older || segment >= floor {
            break;
        }
        let name = segment_name(segment);
        if let OldSegments::Archive(archive) = old {
            copy(storage, archive, &name).map_err(|error| RetentionError::System {
                file: name.clone(),
                error,
            })?;
        }
        remove(storage, &name)?;
        gone += 1;
    }
    Ok(gone)
}

fn remove<S: Storage>(storage: &S, name: &str) -> Result<(), RetentionError> {
    let removed = storage.remove(name).and_then(|()| storage.sync_folder());
    removed.map_err(|error| RetentionError::System {
        file: name.into(),
        error,
    })
}

/// Copies a file whole: it is there under its name when all of it is durable.
fn copy<S: Storage>(from: &S, to: &S, name: &str) -> io::Result<()> {
    const PART: usize = 256 * 1_024;
    let unfinished = format!("{name}-unfinished");
    let source = from.open(name, false)?;
    let mut target = match to.create(&unfinished) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            to.remove(&unfinished)?;
            to.create(&unfinished)?
        }
        made => made?,
    };
    let mut part = vec![0; PART];
    let mut offset = 0;
    loop {
        let read = read_full_at(&source, &mut part, offset)?;
        if read == 0 {
            break;
        }
        write_all_at(&mut target, &part[..read], offset)?;
        offset += read as u64;
    }
    target.sync()?;
    to.rename(&unfinished, name)?;
    to.sync_folder()
}
