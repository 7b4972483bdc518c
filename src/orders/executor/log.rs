//! Where intents become durable, as the executor sees it.

use std::cell::RefCell;
use std::rc::Rc;

use super::record::Record;

/// A journal of record groups.
pub trait IntentLog {
    /// Takes a group: after a crash all of it is there, or nothing. Its number,
    /// one more than that of the group before it.
    ///
    /// # Errors
    /// The log has failed, for good; the group is not there.
    fn append(&mut self, group: &[Record]) -> Result<u64, LogFailed>;

    /// The number of the last group that is durable.
    ///
    /// # Errors
    /// The log has failed, for good.
    fn durable(&mut self) -> Result<u64, LogFailed>;

    /// How much room there is.
    fn room(&self) -> Room {
        Room::Plenty
    }
}

/// How much room a log has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Enough for everything.
    Plenty,
    /// The disk is behind: as much waits for it as may. It passes.
    Behind,
    /// Only what was reserved for cancels, fills and releases.
    Reserved,
    /// None.
    Gone,
}

/// The log takes nothing any more, and says nothing is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log has failed: nothing more is acknowledged; see the journal's report")]
pub struct LogFailed;

/// A log in memory that loses what was not synced, for simulations. Clones are
/// the same disk; dropping an executor that writes to one is a crash.
#[derive(Clone, Debug, Default)]
pub struct SimLog(Rc<RefCell<Disk>>);

#[derive(Debug, Default)]
struct Disk {
    groups: Vec<Vec<String>>,
    durable: usize,
    syncs_itself: bool,
    failed: bool,
    room: Option<Room>,
}

impl SimLog {
    /// Every group is durable at once.
    #[must_use]
    pub fn synced() -> Self {
        let log = Self::default();
        log.0.borrow_mut().syncs_itself = true;
        log
    }

    /// Makes everything durable that was written.
    pub fn sync(&self) {
        let mut disk = self.0.borrow_mut();
        disk.durable = disk.groups.len();
    }

    /// Groups that are written and not durable.
    #[must_use]
    pub fn unsynced(&self) -> usize {
        let disk = self.0.borrow();
        disk.groups.len() - disk.durable
    }

    /// The number of groups on the disk.
    #[must_use]
    pub fn groups(&self) -> u64 {
        self.0.borrow().groups.len() as u64
    }

    /// What a restart finds: the durable groups, and `more` of the others, as a
    /// crash may leave any of them.
    pub fn crash(&self, more: usize) {
        let mut disk = self.0.borrow_mut();
        let kept = (disk.durable + more).min(disk.groups.len());
        disk.groups.truncate(kept);
        disk.durable = kept;
    }

    /// The log fails from now on.
    pub fn fail(&self) {
        self.0.borrow_mut().failed = true;
    }

    /// How much room it says it has.
    pub fn set_room(&self, room: Room) {
        self.0.borrow_mut().room = Some(room);
    }

    /// Every record, in order; what is on the disk is text, and is read again.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        self.read(usize::MAX)
    }

    /// The records that a crash cannot take.
    #[must_use]
    pub fn durable_records(&self) -> Vec<Record> {
        let durable = self.0.borrow().durable;
        self.read(durable)
    }

    fn read(&self, groups: usize) -> Vec<Record> {
        let disk = self.0.borrow();
        let lines = disk.groups.iter().take(groups).flatten();
        lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }
}

impl IntentLog for SimLog {
    fn append(&mut self, group: &[Record]) -> Result<u64, LogFailed> {
        let mut disk = self.0.borrow_mut();
        if disk.failed {
            return Err(LogFailed);
        }
        let lines: Result<Vec<_>, _> = group.iter().map(serde_json::to_string).collect();
        disk.groups.push(lines.map_err(|_| LogFailed)?);
        if disk.syncs_itself {
            disk.durable = disk.groups.len();
        }
        Ok(disk.groups.len() as u64)
    }

    fn durable(&mut self) -> Result<u64, LogFailed> {
        let disk = self.0.borrow();
        if disk.failed {
            return Err(LogFailed);
        }
        Ok(disk.durable as u64)
    }

    fn room(&self) -> Room {
        self.0.borrow().room.unwrap_or(Room::Plenty)
    }
}
