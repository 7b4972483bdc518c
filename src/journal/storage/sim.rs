//! The simulated disk as a storage: shared by its clones, restarted by hand.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::port::{LockError, Storage, StorageFile};
use super::sim_disk::{Disk, DiskFault, DiskOperation};

/// A folder on a simulated disk (rule J13).
#[derive(Clone, Debug, Default)]
pub struct SimStorage {
    disk: Arc<Mutex<Disk>>,
}

/// A file on it.
#[derive(Debug)]
pub struct SimFile {
    disk: Arc<Mutex<Disk>>,
    inode: usize,
}

/// The lock, until it is dropped.
#[derive(Debug)]
pub struct SimLock {
    disk: Arc<Mutex<Disk>>,
}

/// As long as this lives, the disk does nothing.
#[derive(Debug)]
pub struct SimHold<'d> {
    _disk: MutexGuard<'d, Disk>,
}

impl SimStorage {
    /// An empty folder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Plans a fault for an operation, counted from 1 over all that changes
    /// something.
    pub fn plan(&self, operation: u64, fault: DiskFault) {
        on(&self.disk).plan.insert(operation, fault);
    }

    /// What was done so far, in order; an operation's number is its place.
    #[must_use]
    pub fn operations(&self) -> Vec<DiskOperation> {
        on(&self.disk).log.clone()
    }

    /// Sets how many bytes all files together may have; `None` is no limit.
    pub fn set_room(&self, bytes: Option<u64>) {
        on(&self.disk).room = bytes;
    }

    /// Holds every operation until it is dropped: a disk that takes its time.
    #[must_use]
    pub fn hold(&self) -> SimHold<'_> {
        SimHold {
            _disk: on(&self.disk),
        }
    }

    /// Flips bits of a byte, on the disk too.
    ///
    /// # Panics
    /// Where there is no such file or byte: a test's own fault.
    pub fn flip(&self, name: &str, byte: usize, mask: u8) {
        let mut disk = on(&self.disk);
        let inode = disk.find(name).unwrap_or_else(|_| panic!("no file {name}"));
        disk.flip(inode, byte, mask);
    }

    /// The disk as the next process finds it after a kill: nothing is lost that
    /// was written.
    #[must_use]
    pub fn after_kill(&self) -> Self {
        Self::of(on(&self.disk).after_kill())
    }

    /// The disk as it is after power was lost: of what was not synced, any
    /// part is there, as `seed` draws it.
    #[must_use]
    pub fn after_power_loss(&self, seed: u64) -> Self {
        Self::of(on(&self.disk).after_power_loss(seed))
    }

    fn of(disk: Disk) -> Self {
        Self {
            disk: Arc::new(Mutex::new(disk)),
        }
    }

    fn file(&self, inode: usize) -> SimFile {
        SimFile {
            disk: Arc::clone(&self.disk),
            inode,
        }
    }
}

impl Storage for SimStorage {
    type File = SimFile;
    type Lock = SimLock;

    fn list(&self) -> io::Result<Vec<String>> {
        let disk = on(&self.disk);
        disk.check_running()?;
        Ok(disk.names())
    }

    fn create(&self, name: &str) -> io::Result<SimFile> {
        let inode = on(&self.disk).create(name)?;
        Ok(self.file(inode))
    }

    fn open(&self, name: &str, _write: bool) -> io::Result<SimFile> {
        let disk = on(&self.disk);
        disk.check_running()?;
        let inode = disk.find(name)?;
        drop(disk);
        Ok(self.file(inode))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        on(&self.disk).rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        on(&self.disk).remove(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        on(&self.disk).sync_folder()
    }

    fn lock(&self) -> Result<SimLock, LockError> {
        let mut disk = on(&self.disk);
        if disk.locked {
            return Err(LockError::Held {
                folder: "the simulated folder".into(),
                holder: "another simulated process".into(),
            });
        }
        disk.locked = true;
        drop(disk);
        Ok(SimLock {
            disk: Arc::clone(&self.disk),
        })
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        on(&self.disk).locked = false;
    }
}

impl StorageFile for SimFile {
    fn size(&self) -> io::Result<u64> {
        let disk = on(&self.disk);
        disk.check_running()?;
        Ok(disk.size(self.inode) as u64)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let disk = on(&self.disk);
        disk.check_running()?;
        Ok(disk.read(self.inode, bytes, place(offset)?))
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        on(&self.disk).write(self.inode, bytes, place(offset)?)
    }

    fn sync(&mut self) -> io::Result<()> {
        on(&self.disk).sync(self.inode)
    }
}

fn place(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// A poisoned lock here is a test that has failed already.
fn on(disk: &Mutex<Disk>) -> MutexGuard<'_, Disk> {
    disk.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::storage::{read_full_at, write_all_at};

    fn content(storage: &SimStorage, name: &str) -> Vec<u8> {
        let file = storage.open(name, false).unwrap();
        let mut bytes = vec![0; usize::try_from(file.size().unwrap()).unwrap()];
        read_full_at(&file, &mut bytes, 0).unwrap();
        bytes
    }

    /// A file "a" of which `durable` is synced and `after` is not.
    fn half_synced(durable: &[u8], after: &[u8]) -> SimStorage {
        let storage = SimStorage::new();
        let mut file = storage.create("a").unwrap();
        write_all_at(&mut file, durable, 0).unwrap();
        file.sync().unwrap();
        storage.sync_folder().unwrap();
        write_all_at(&mut file, after, durable.len() as u64).unwrap();
        storage
    }

    #[test]
    fn j13_power_loss_keeps_what_was_synced_and_any_part_of_the_rest() {
        let storage = half_synced(b"durable", b"pending");
        let mut outcomes: Vec<_> = (0..400)
            .map(|seed| content(&storage.after_power_loss(seed), "a"))
            .collect();
        assert!(outcomes.iter().all(|bytes| bytes.starts_with(b"durable")));
        outcomes.sort();
        outcomes.dedup();
        for cut in 0..=7 {
            let torn = [b"durable", &b"pending"[..cut]].concat();
            assert!(outcomes.contains(&torn), "torn at byte {cut}");
        }
        assert_eq!(content(&storage.after_kill(), "a"), b"durablepending");
    }

    #[test]
    fn j13_names_are_lost_until_the_folder_is_synced() {
        let storage = half_synced(b"x", b"");
        storage.create("b").unwrap();
        let kept = (0..40).map(|seed| storage.after_power_loss(seed).list().unwrap().len());
        let kept: Vec<_> = kept.collect();
        assert!(kept.contains(&1) && kept.contains(&2), "{kept:?}");
        storage.sync_folder().unwrap();
        for seed in 0..40 {
            assert_eq!(storage.after_power_loss(seed).list().unwrap().len(), 2);
        }
    }

    #[test]
    fn j13_it_fails_fills_shortens_and_lies_as_planned() {
        let storage = half_synced(b"x", b"");
        let mut file = storage.open("a", true).unwrap();
        let next = storage.operations().len() as u64 + 1;
        storage.plan(next, DiskFault::Fail);
        storage.plan(next + 1, DiskFault::Full);
        storage.plan(next + 2, DiskFault::Short(2));
        storage.plan(next + 3, DiskFault::Lie);
        let eio = file.write_at(b"123", 1).unwrap_err();
        assert_eq!(eio.raw_os_error(), Some(libc::EIO));
        let full = file.write_at(b"123", 1).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        assert_eq!(file.write_at(b"123", 1).unwrap(), 2);
        assert_eq!(file.write_at(b"789", 1).unwrap(), 3, "a lie");
        assert_eq!(content(&storage, "a"), b"x12");

        storage.set_room(Some(4));
        assert_eq!(
            file.write_at(b"3456", 3).unwrap(),
            1,
            "what there is room for"
        );
        assert!(file.write_at(b"456", 4).is_err());
        assert_eq!(
            file.write_at(b"0", 0).unwrap(),
            1,
            "within the file there is room"
        );
    }

    #[test]
    fn j13_nothing_works_on_a_machine_that_has_stopped() {
        let storage = half_synced(b"x", b"");
        let next = storage.operations().len() as u64 + 1;
        storage.plan(next, DiskFault::CrashAfter(1));
        let mut file = storage.open("a", true).unwrap();
        assert!(file.write_at(b"yz", 1).is_err());
        assert!(file.sync().is_err() && storage.list().is_err());
        assert_eq!(content(&storage.after_kill(), "a"), b"xy");
    }

    #[test]
    fn j10_one_lock_until_it_is_dropped() {
        let storage = SimStorage::new();
        let held = storage.lock().unwrap();
        let refused = storage.clone().lock().unwrap_err();
        assert!(refused.to_string().contains("in use by"), "{refused}");
        drop(held);
        storage.lock().unwrap();
    }
}
