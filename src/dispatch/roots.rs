//! Roots: who owns a delivery budget, and which one is active (rules R28 to R38).
//!
//! A root is an entry in a slab with a count of its owners (slots, scopes,
//! retained work, commands, envelopes) and of its completed deliveries. The last
//! owner frees it; its place is used again with a new serial and a count of zero
//! (rule R38). What latches lives here too, because a root that cannot be made
//! latches (rule R59). Nothing here allocates in steady state.

use std::cell::Cell;

use super::account::{Account, Limits};
use super::error::Fatal;
use super::release::Releases;
use super::stable::Stable;

/// No root, no place, no slot.
pub(super) const NONE: u32 = u32::MAX;

/// The root of a slot that is the only callback of its root, until anything else
/// needs that root. Indices are below.
pub(super) const UNMADE: u32 = u32::MAX - 1;

/// Whether a slot's root has an entry.
#[inline]
pub(super) const fn is_made(root: u32) -> bool {
    root < UNMADE
}

/// More than are alive at a time, mostly.
const ROOTS_AT_FIRST: usize = 256;

#[derive(Debug)]
struct Entry {
    /// From 1 while it lives; 0 while it is free.
    owners: Cell<u32>,
    deliveries: Cell<u32>,
    /// Never used again, so that a reused entry is another root.
    serial: Cell<u64>,
    next_free: Cell<u32>,
}

impl Default for Entry {
    fn default() -> Self {
        Self {
            owners: Cell::new(0),
            deliveries: Cell::new(0),
            serial: Cell::new(0),
            next_free: Cell::new(NONE),
        }
    }
}

/// What is active: a root, or a scope that makes one when it first needs it.
///
/// One word, because scopes carry it around: a copy of a word and a byte together
/// would wait for both to be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Active(u64);

impl Active {
    /// Inside a publication, a delivery, a chain or an independent scope: a root
    /// that is made becomes this scope's.
    const SCOPED: u64 = 1 << 32;

    const OUTSIDE: Self = Self(NONE as u64);

    #[inline]
    const fn scope_of(root: u32) -> Self {
        Self(root as u64 | Self::SCOPED)
    }

    /// The root, or [`NONE`].
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "it is masked to 32 bits")]
    const fn root(self) -> u32 {
        (self.0 & NONE as u64) as u32
    }

    #[inline]
    const fn is_made(self) -> bool {
        is_made(self.root())
    }

    #[inline]
    const fn is_scoped(self) -> bool {
        self.0 & Self::SCOPED != 0
    }
}

impl core::fmt::Debug for Active {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Active")
            .field("root", &self.root())
            .field("scoped", &self.is_scoped())
            .finish()
    }
}

/// The roots of one dispatcher, shared by what can own one.
#[derive(Debug)]
pub(super) struct Roots {
    entries: Stable<Entry>,
    /// How many entries were ever used.
    used: Cell<u32>,
    free: Cell<u32>,
    next_serial: Cell<u64>,
    active: Cell<Active>,
    latch: Cell<Option<Fatal>>,
    /// Whether there is one: a byte to look at for every callback.
    halted: Cell<bool>,
    /// Handles outside of slots and scopes: what keeps a clear from happening.
    external: Cell<usize>,
    /// Scopes that a clear must not happen in.
    blockers: Cell<u32>,
    pub(super) account: Account,
    pub(super) releases: Releases,
}

impl Roots {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            entries: Stable::new(ROOTS_AT_FIRST),
            used: Cell::new(0),
            free: Cell::new(NONE),
            next_serial: Cell::new(1),
            active: Cell::new(Active::OUTSIDE),
            latch: Cell::new(None),
            halted: Cell::new(false),
            external: Cell::new(0),
            blockers: Cell::new(0),
            account: Account::new(limits),
            releases: Releases::new(),
        }
    }

    /// Latches, unless something was first (rule R25).
    pub(super) fn latch(&self, fatal: Fatal) {
        if !self.halted.replace(true) {
            self.latch.set(Some(fatal));
        }
    }

    #[inline]
    pub(super) fn latched(&self) -> Option<Fatal> {
        if self.halted.get() {
            self.latch.get()
        } else {
            None
        }
    }

    pub(super) fn reset_latch(&self) {
        self.latch.set(None);
        self.halted.set(false);
    }

    #[inline]
    pub(super) fn external(&self) -> usize {
        self.external.get()
    }

    #[inline]
    pub(super) fn blockers(&self) -> u32 {
        self.blockers.get()
    }

    #[inline]
    pub(super) fn block_clear(&self) -> ClearBlock<'_> {
        self.blockers.set(self.blockers.get() + 1);
        ClearBlock { roots: self }
    }

    /// An entry by an index that was given here.
    #[inline]
    fn entry(&self, root: u32) -> &Entry {
        self.entries.get(root).expect("storage never shrinks")
    }

    /// A new root with so many owners.
    #[inline]
    fn create(&self, owners: u32) -> Result<u32, Fatal> {
        self.account.take_bytes(size_of::<Entry>())?;
        let root = self.free.get();
        let (root, entry) = match self.entries.get(root) {
            Some(entry) => (root, entry),
            None => self.grow()?,
        };
        let serial = self.next_serial.get();
        self.next_serial.set(serial.wrapping_add(1)); // Centuries away.
        self.free.set(entry.next_free.get());
        entry.owners.set(owners);
        entry.deliveries.set(0);
        entry.serial.set(serial);
        Ok(root)
    }

    /// An entry that was never used.
    #[cold]
    fn grow(&self) -> Result<(u32, &Entry), Fatal> {
        let root = self.used.get();
        if self.entries.get(root).is_none() {
            self.entries.grow(self.entries.capacity());
        }
        // The bytes' limit keeps the index far below `NONE`.
        let Some(entry) = self.entries.get(root) else {
            self.account.give_bytes(size_of::<Entry>());
            return Err(Fatal::Overflow);
        };
        self.used.set(root + 1);
        Ok((root, entry))
    }

    /// Like [`Roots::obtain`], for callbacks of one publication that is over at once.
    #[inline]
    pub(super) fn obtain_for_callbacks(&self) -> Result<u32, Fatal> {
        if self.is_outside() {
            self.create(1)
        } else {
            self.obtain()
        }
    }

    /// Whether nothing is active, and nothing makes a root active.
    #[inline]
    pub(super) fn is_outside(&self) -> bool {
        self.active.get() == Active::OUTSIDE
    }

    /// So many more owners.
    #[inline]
    pub(super) fn own(&self, root: u32, owners: u32) {
        let entry = self.entry(root);
        entry.owners.set(entry.owners.get() + owners);
    }

    /// The last owner frees the root and its charge (rule R34).
    #[inline]
    pub(super) fn disown(&self, root: u32) {
        self.give_up(root, 0);
    }

    /// One delivery is complete (rule R31); its slot gives up the root.
    #[inline]
    pub(super) fn charge_and_disown(&self, root: u32) {
        self.give_up(root, 1);
    }

    #[inline]
    fn give_up(&self, root: u32, deliveries: u32) {
        let entry = self.entry(root);
        entry.deliveries.set(entry.deliveries.get() + deliveries);
        let owners = entry.owners.get() - 1;
        entry.owners.set(owners);
        if owners == 0 {
            entry.next_free.set(self.free.replace(root));
            self.account.give_bytes(size_of::<Entry>());
        }
    }

    /// Whether the root may not deliver any more.
    #[inline]
    pub(super) fn is_exhausted(&self, root: u32) -> bool {
        self.deliveries(root) >= self.account.limits().deliveries
    }

    /// The active root, or the scope's new one, or one for the caller alone; with
    /// one ownership for the caller (rules R28 to R30).
    #[inline]
    pub(super) fn obtain(&self) -> Result<u32, Fatal> {
        let active = self.active.get();
        if active.is_made() {
            self.own(active.root(), 1);
            return Ok(active.root());
        }
        let is_scoped = active.is_scoped();
        let root = self.create(1 + u32::from(is_scoped))?;
        if is_scoped {
            self.active.set(Active::scope_of(root));
        }
        Ok(root)
    }

    /// Like [`Roots::obtain`], but nothing outside of scopes (rule R52).
    #[inline]
    pub(super) fn obtain_in_scope(&self) -> Result<Option<u32>, Fatal> {
        let active = self.active.get();
        if !active.is_scoped() {
            return Ok(None);
        }
        self.obtain().map(Some)
    }

    /// Which root is active, by its serial. A delivery has one, if only from now on.
    pub(super) fn active_serial(&self) -> Option<u64> {
        if self.active.get().root() == UNMADE {
            let root = self.create(1).ok()?;
            self.active.set(Active::scope_of(root));
        }
        let active = self.active.get();
        active.is_made().then(|| self.serial(active.root()))
    }

    pub(super) fn serial(&self, root: u32) -> u64 {
        self.entry(root).serial.get()
    }

    #[inline]
    pub(super) fn deliveries(&self, root: u32) -> u32 {
        self.entry(root).deliveries.get()
    }

    /// A scope of its own that makes a root when it needs one (rules R53, R64).
    #[inline]
    pub(super) fn enter_independent(&self) -> RootScope<'_> {
        self.enter(Active::scope_of(NONE))
    }

    /// The scope of a publication: the enclosing one, if there is one (A1, R28).
    #[inline]
    pub(super) fn enter_publication(&self) -> Publishing<'_> {
        let previous = self.active.get();
        if !previous.is_scoped() {
            self.active.set(Active::scope_of(NONE));
        }
        Publishing {
            roots: self,
            previous,
        }
    }

    /// Makes a root active; the scope owns it meanwhile.
    #[inline]
    pub(super) fn enter_root(&self, root: u32) -> RootScope<'_> {
        self.own(root, 1);
        self.enter_owned(root)
    }

    /// Makes a root active, and takes over an ownership that the caller has.
    #[inline]
    pub(super) fn enter_owned(&self, root: u32) -> RootScope<'_> {
        self.enter(Active::scope_of(root))
    }

    #[inline]
    fn enter(&self, active: Active) -> RootScope<'_> {
        RootScope {
            roots: self,
            previous: self.active.replace(active),
        }
    }

    /// What is active, to be made so again when a pass has ended.
    #[inline]
    pub(super) fn active(&self) -> Active {
        self.active.get()
    }

    #[inline]
    pub(super) fn restore(&self, active: Active) {
        self.active.set(active);
    }

    /// Makes the root of a slot active, which its slot owns meanwhile. An [`UNMADE`] one
    /// is made when anything needs it, and is the slot's then.
    #[inline]
    pub(super) fn lend(&self, root: u32) {
        self.active.set(Active::scope_of(root));
    }

    /// The root of the slot that was last lent, which may be made by now.
    #[inline]
    pub(super) fn lent(&self) -> u32 {
        self.active.get().root()
    }
}

/// An active root or lazy scope; dropping it, by return or unwind, restores what
/// was active before and releases the scope's ownership.
#[derive(Debug)]
pub(super) struct RootScope<'a> {
    roots: &'a Roots,
    previous: Active,
}

impl Drop for RootScope<'_> {
    #[inline]
    fn drop(&mut self) {
        let own = self.roots.active.replace(self.previous);
        if own.is_made() {
            self.roots.disown(own.root());
        }
    }
}

/// The scope of a publication, which is the enclosing one where that is one.
#[derive(Debug)]
pub(super) struct Publishing<'a> {
    roots: &'a Roots,
    previous: Active,
}

impl Drop for Publishing<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.previous.is_scoped() {
            let own = self.roots.active.replace(self.previous);
            if own.is_made() {
                self.roots.disown(own.root());
            }
        }
    }
}

/// Keeps the dispatcher from being cleared while it lives.
#[derive(Debug)]
pub(super) struct ClearBlock<'a> {
    roots: &'a Roots,
}

impl Drop for ClearBlock<'_> {
    #[inline]
    fn drop(&mut self) {
        self.roots.blockers.set(self.roots.blockers.get() - 1);
    }
}

impl Roots {
    pub(super) fn release_external(&self, root: u32) {
        self.external.set(self.external.get() - 1);
        self.disown(root);
    }

    pub(super) fn count_external(&self) {
        self.external.set(self.external.get() + 1);
    }

    /// Takes in what other threads released (rule R68).
    pub(super) fn reclaim(&self) {
        self.releases.each(|root| self.release_external(root));
    }
}
