//! Where segments are kept: the system's files, or simulated ones (rule J13).

mod port;
mod sim;
mod sim_disk;
mod system;

pub use port::{LockError, Storage, StorageFile};
pub(super) use port::{is_full, read_full_at, write_all_at};
pub use sim::{SimFile, SimHold, SimLock, SimStorage};
pub use sim_disk::{DiskFault, DiskOperation};
pub use system::{SystemFile, SystemLock, SystemStorage};
