//! The system's files: `pwrite` and `fdatasync` on a thread, which was faster
//! here than buffered io_uring.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::port::{LockError, Storage, StorageFile};

const LOCK_FILE: &str = "lock";

/// A folder of the file system.
#[derive(Clone, Debug)]
pub struct SystemStorage {
    folder: PathBuf,
}

/// A file of it.
#[derive(Debug)]
pub struct SystemFile(File);

/// The lock; the system gives it back when the process ends, however it ends.
#[derive(Debug)]
pub struct SystemLock(#[expect(dead_code, reason = "held, not read")] File);

impl SystemStorage {
    /// Uses a folder, and makes it if it is not there.
    ///
    /// # Errors
    /// The system's.
    pub fn create(folder: &Path) -> io::Result<Self> {
        if !folder.is_dir() {
            fs::create_dir_all(folder)?;
            // The folder's own name is durable only when its parent is synced.
            if let Some(parent) = folder.parent().filter(|p| !p.as_os_str().is_empty()) {
                File::open(parent)?.sync_all()?;
            }
        }
        Ok(Self::open(folder))
    }

    /// Uses a folder that is there.
    #[must_use]
    pub fn open(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
        }
    }

    /// Which folder it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Storage for SystemStorage {
    type File = SystemFile;
    type Lock = SystemLock;

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<SystemFile> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        options.open(self.folder.join(name)).map(SystemFile)
    }

    fn open(&self, name: &str, write: bool) -> io::Result<SystemFile> {
        let mut options = OpenOptions::new();
        options.read(true).write(write);
        options.open(self.folder.join(name)).map(SystemFile)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.folder.join(from), self.folder.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.folder.join(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    fn lock(&self) -> Result<SystemLock, LockError> {
        let path = self.folder.join(LOCK_FILE);
        let failed = |error| LockError::System {
            file: path.display().to_string(),
            error,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Its words only help a person; the lock itself has spoken.
                let _ = file.take(256).read_to_string(&mut holder);
                let holder = match holder.trim() {
                    "" => "another process".into(),
                    named => named.to_string(),
                };
                let folder = self.folder.display().to_string();
                return Err(LockError::Held { folder, holder });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut told = || -> io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "process {}", std::process::id())
        };
        match told() {
            // A full disk must not keep the journal from being opened.
            Err(error) if !super::is_full(&error) => Err(failed(error)),
            _ => Ok(SystemLock(file)),
        }
    }
}

impl StorageFile for SystemFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(&self.0, bytes, offset)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(&self.0, bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}
