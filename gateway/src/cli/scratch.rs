//! A folder that is gone when its run is over.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::run::Failure;

/// Owns the folder; dropped, it is removed with what is in it.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// A new folder in the system's place for such, for its owner alone.
    pub(super) fn new() -> Result<Self, Failure> {
        let number = getrandom::u64().map_err(Failure::run)?;
        let path = std::env::temp_dir().join(format!("pitlane-{number:016x}"));
        // Fails where somebody else has made it.
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| {
                Failure::input(format!(
                    "{}: {error}; name a folder with --journal-dir, or set TMPDIR",
                    path.display()
                ))
            })?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("pitlane: {} stays: {error}", self.0.display());
        }
    }
}
