//! A disk in memory that does what disks and kernels do on a bad day.
//!
//! What is written is seen at once and durable only after a sync; a crash keeps
//! any part of the rest, down to single bytes. Operations that change something
//! are numbered from 1, and a fault can be planned for each.

use std::collections::BTreeMap;
use std::io;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What goes wrong at an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// It fails and does nothing (`EIO`).
    Fail,
    /// There is no room (`ENOSPC`).
    Full,
    /// A write takes only so many bytes, and says so.
    Short(usize),
    /// It says that all is well, and does nothing.
    Lie,
    /// The machine stops before it.
    CrashBefore,
    /// The machine stops after so many bytes of a write; any other operation
    /// has happened.
    CrashAfter(usize),
}

/// Which operation it is, for a plan that is made as they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskOperation {
    /// A file is made.
    Create,
    /// Bytes are written.
    Write,
    /// A file is synced.
    Sync,
    /// A file gets another name.
    Rename,
    /// A file is removed.
    Remove,
    /// Names are synced.
    SyncFolder,
}

type Inode = usize;

#[derive(Clone, Debug, Default)]
struct Content {
    seen: Vec<u8>,
    durable: Vec<u8>,
    /// Written since the last sync, in order.
    pending: Vec<(usize, Vec<u8>)>,
}

#[derive(Debug, Default)]
pub(super) struct Disk {
    contents: Vec<Content>,
    names: BTreeMap<String, Inode>,
    durable_names: BTreeMap<String, Inode>,
    pub(super) log: Vec<DiskOperation>,
    pub(super) plan: BTreeMap<u64, DiskFault>,
    /// Bytes that all files together may have.
    pub(super) room: Option<u64>,
    pub(super) locked: bool,
    stopped: bool,
}

impl Disk {
    /// What is planned for the operation that begins now.
    fn begin(&mut self, operation: DiskOperation) -> io::Result<Option<DiskFault>> {
        self.check_running()?;
        self.log.push(operation);
        let fault = self.plan.get(&(self.log.len() as u64)).copied();
        match fault {
            Some(DiskFault::Fail) => Err(io::Error::from_raw_os_error(libc::EIO)),
            Some(DiskFault::Full) => Err(no_room()),
            Some(DiskFault::CrashBefore) => Err(self.stop()),
            other => Ok(other),
        }
    }

    fn stop(&mut self) -> io::Error {
        self.stopped = true;
        io::Error::other("the simulated machine has stopped")
    }

    /// Stops the machine after an operation for which that was planned.
    fn end(&mut self, fault: Option<DiskFault>) -> io::Result<()> {
        match fault {
            Some(DiskFault::CrashAfter(_)) => Err(self.stop()),
            _ => Ok(()),
        }
    }

    pub(super) fn check_running(&self) -> io::Result<()> {
        if self.stopped {
            return Err(io::Error::other("the simulated machine has stopped"));
        }
        Ok(())
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.names.keys().cloned().collect()
    }

    pub(super) fn find(&self, name: &str) -> io::Result<Inode> {
        let found = self.names.get(name).copied();
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn create(&mut self, name: &str) -> io::Result<Inode> {
        if self.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let fault = self.begin(DiskOperation::Create)?;
        self.contents.push(Content::default());
        let inode = self.contents.len() - 1;
        self.names.insert(name.to_string(), inode);
        self.end(fault)?;
        Ok(inode)
    }

    pub(super) fn size(&self, inode: Inode) -> usize {
        self.contents[inode].seen.len()
    }

    pub(super) fn read(&self, inode: Inode, bytes: &mut [u8], offset: usize) -> usize {
        let seen = &self.contents[inode].seen;
        let from = offset.min(seen.len());
        let count = bytes.len().min(seen.len() - from);
        bytes[..count].copy_from_slice(&seen[from..from + count]);
        count
    }

    pub(super) fn write(&mut self, inode: Inode, bytes: &[u8], offset: usize) -> io::Result<usize> {
        let fault = self.begin(DiskOperation::Write)?;
        let taken = match fault {
            Some(DiskFault::Short(most) | DiskFault::CrashAfter(most)) => most.min(bytes.len()),
            Some(DiskFault::Lie) => return Ok(bytes.len()),
            _ => bytes.len(),
        };
        let taken = taken.min(self.room_at(inode, offset, taken)?);
        apply(&mut self.contents[inode].seen, offset, &bytes[..taken]);
        let pending = &mut self.contents[inode].pending;
        pending.push((offset, bytes[..taken].to_vec()));
        self.end(fault)?;
        Ok(taken)
    }

    /// How much of a write there is room for.
    fn room_at(&self, inode: Inode, offset: usize, wanted: usize) -> io::Result<usize> {
        let Some(room) = self.room else {
            return Ok(wanted);
        };
        let used: usize = self.names.values().map(|&file| self.size(file)).sum();
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let free = room.saturating_sub(used);
        let within = self.size(inode).saturating_sub(offset);
        match within.saturating_add(free) {
            0 if wanted > 0 => Err(no_room()),
            most => Ok(wanted.min(most)),
        }
    }

    pub(super) fn sync(&mut self, inode: Inode) -> io::Result<()> {
        let fault = self.begin(DiskOperation::Sync)?;
        if fault != Some(DiskFault::Lie) {
            let content = &mut self.contents[inode];
            for (offset, bytes) in content.pending.drain(..) {
                apply(&mut content.durable, offset, &bytes);
            }
            debug_assert_eq!(content.durable.len(), content.seen.len());
        }
        self.end(fault)
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let inode = self.find(from)?;
        let fault = self.begin(DiskOperation::Rename)?;
        if fault != Some(DiskFault::Lie) {
            self.names.remove(from);
            self.names.insert(to.to_string(), inode);
        }
        self.end(fault)
    }

    pub(super) fn remove(&mut self, name: &str) -> io::Result<()> {
        self.find(name)?;
        let fault = self.begin(DiskOperation::Remove)?;
        if fault != Some(DiskFault::Lie) {
            self.names.remove(name);
        }
        self.end(fault)
    }

    pub(super) fn sync_folder(&mut self) -> io::Result<()> {
        let fault = self.begin(DiskOperation::SyncFolder)?;
        if fault != Some(DiskFault::Lie) {
            self.durable_names.clone_from(&self.names);
        }
        self.end(fault)
    }

    pub(super) fn flip(&mut self, inode: Inode, byte: usize, mask: u8) {
        let content = &mut self.contents[inode];
        content.seen[byte] ^= mask;
        content.durable.clone_from(&content.seen);
    }

    /// What a process finds that starts after a kill: the kernel lives on.
    pub(super) fn after_kill(&self) -> Self {
        let contents = self.contents.iter().map(|content| Content {
            seen: content.seen.clone(),
            ..content.clone()
        });
        Self {
            contents: contents.collect(),
            names: self.names.clone(),
            durable_names: self.durable_names.clone(),
            room: self.room,
            ..Self::default()
        }
    }

    /// What a machine finds that starts after its power was lost: of what was
    /// not synced, any part.
    pub(super) fn after_power_loss(&self, seed: u64) -> Self {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let contents = self.contents.iter().map(|content| {
            let mut kept = content.durable.clone();
            for (offset, bytes) in &content.pending {
                keep_some(&mut kept, *offset, bytes, &mut chance);
            }
            Content {
                seen: kept.clone(),
                durable: kept,
                pending: Vec::new(),
            }
        });
        let contents = contents.collect();
        let mut names = self.durable_names.clone();
        let touched: Vec<_> = self.names.keys().chain(names.keys()).cloned().collect();
        for name in touched {
            if chance.next_u32().is_multiple_of(2) {
                match self.names.get(&name) {
                    Some(&inode) => names.insert(name, inode),
                    None => names.remove(&name),
                };
            }
        }
        Self {
            contents,
            durable_names: names.clone(),
            names,
            room: self.room,
            ..Self::default()
        }
    }
}

fn no_room() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOSPC)
}

fn apply(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[offset..end].copy_from_slice(bytes);
}

/// Keeps a part of a write: nothing, all, its beginning, its end, or some of
/// its sectors.
fn keep_some(file: &mut Vec<u8>, offset: usize, bytes: &[u8], chance: &mut ChaCha8Rng) {
    let mut below = |limit: usize| {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        usize::try_from(chance.next_u64() % limit).unwrap_or(0)
    };
    match below(5) {
        0 => {}
        1 => apply(file, offset, bytes),
        2 => {
            let cut = below(bytes.len() + 1);
            apply(file, offset, &bytes[..cut]);
        }
        3 => {
            let cut = below(bytes.len() + 1);
            apply(file, offset + cut, &bytes[cut..]);
        }
        _ => {
            for (index, sector) in bytes.chunks(64).enumerate() {
                if below(2) == 0 {
                    apply(file, offset + index * 64, sector);
                }
            }
        }
    }
}
