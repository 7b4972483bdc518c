//! Roots: who owns a delivery budget, and which one is active (rules R28 to R38).
//!
//! A root is an entry in a slab with a count of its owners (slots, scopes,
//! retained work, commands, envelopes) and of its completed deliveries. The last
//! owner frees it; its place is used again with a new serial and a count of zero
//! (rule R38). What latches lives here too, because a root that cannot be made
//! latches (rule R59). Nothing here allocates in steady state.

use std::cell::{Cell, RefCell, RefMut};

use super::account::{Account, Limits};
use super::error::Fatal;
use super::release::Releases;

/// No root, no place, no slot.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Entry {
    /// From 1 while it lives; 0 while it is free.
    owners: u32,
    deliveries: u32,
    /// Never used again, so that a reused entry is another root.
    serial: u64,
    next_free: u32,
}

#[derive(Debug)]
pub(super) struct Slab {
    entries: Vec<Entry>,
    free: u32,
    next_serial: u64,
}

impl Slab {
    /// One delivery is complete (rule R31); its slot gives up the root.
    #[inline]
    pub(super) fn charge_and_disown(&mut self, account: &Account, root: u32) {
        self.give_up(account, root, 1);
    }

    /// The last owner frees the root and its charge (rule R34).
    #[inline]
    pub(super) fn disown(&mut self, account: &Account, root: u32) {
        self.give_up(account, root, 0);
    }

    #[inline]
    fn give_up(&mut self, account: &Account, root: u32, deliveries: u32) {
        let entry = &mut self.entries[root as usize];
        entry.deliveries += deliveries;
        entry.owners -= 1;
        if entry.owners == 0 {
            entry.next_free = self.free;
            self.free = root;
            account.give_bytes(size_of::<Entry>());
        }
    }

    /// Whether the root may not deliver any more.
    #[inline]
    pub(super) fn is_exhausted(&self, account: &Account, root: u32) -> bool {
        self.entries[root as usize].deliveries >= account.limits().deliveries
    }

    pub(super) fn serial(&self, root: u32) -> u64 {
        self.entries[root as usize].serial
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

    /// A delivery's scope before it has a root (see [`Roots::lend`]).
    const UNMADE: u64 = 1 << 33;

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
    const fn is_unmade(self) -> bool {
        self.0 & Self::UNMADE != 0
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
    slab: RefCell<Slab>,
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
            slab: RefCell::new(Slab {
                entries: Vec::new(),
                free: NONE,
                next_serial: 1,
            }),
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

    /// A new root with so many owners.
    #[inline]
    fn create(&self, owners: u32) -> Result<u32, Fatal> {
        self.account.take_bytes(size_of::<Entry>())?;
        let mut slab = self.slab.borrow_mut();
        let serial = slab.next_serial;
        slab.next_serial = serial.wrapping_add(1); // Centuries away.
        let root = slab.free;
        let Some(entry) = slab.entries.get_mut(root as usize) else {
            return self.grow(&mut slab, owners, serial);
        };
        // Field by field: a copy of the whole would wait for its parts to be written.
        let next_free = entry.next_free;
        entry.owners = owners;
        entry.deliveries = 0;
        entry.serial = serial;
        slab.free = next_free;
        Ok(root)
    }

    #[cold]
    fn grow(&self, slab: &mut Slab, owners: u32, serial: u64) -> Result<u32, Fatal> {
        // The bytes' limit keeps the index far below `NONE`.
        let Ok(root) = u32::try_from(slab.entries.len()) else {
            self.account.give_bytes(size_of::<Entry>());
            return Err(Fatal::Overflow);
        };
        slab.entries.push(Entry {
            owners,
            deliveries: 0,
            serial,
            next_free: NONE,
        });
        Ok(root)
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
        self.slab.borrow_mut().entries[root as usize].owners += owners;
    }

    /// The last owner frees the root and its charge (rule R34).
    #[inline]
    pub(super) fn disown(&self, root: u32) {
        self.slab.borrow_mut().disown(&self.account, root);
    }

    /// All roots, for more than one look.
    #[inline]
    pub(super) fn slab(&self) -> RefMut<'_, Slab> {
        self.slab.borrow_mut()
    }

    /// The active root, or the scope's new one, or one for the caller alone; with
    /// one ownership for the caller (rules R28 to R30).
    #[inline]
    pub(super) fn obtain(&self) -> Result<u32, Fatal> {
        let active = self.active.get();
        if active.root() != NONE {
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
        if self.active.get().is_unmade() {
            let root = self.create(1).ok()?;
            self.active.set(Active::scope_of(root));
        }
        let root = self.active.get().root();
        (root != NONE).then(|| self.serial(root))
    }

    pub(super) fn serial(&self, root: u32) -> u64 {
        self.slab.borrow().serial(root)
    }

    #[inline]
    pub(super) fn deliveries(&self, root: u32) -> u32 {
        self.slab.borrow().entries[root as usize].deliveries
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

    /// Makes the root of a slot active, which its slot owns meanwhile. A slot without
    /// one ([`NONE`]) is the only callback of its root, which is made when anything
    /// else needs it; the slot owns that one too.
    #[inline]
    pub(super) fn lend(&self, root: u32) {
        let unmade = if root == NONE { Active::UNMADE } else { 0 };
        self.active.set(Active(Active::scope_of(root).0 | unmade));
    }

    /// The root of the slot that was last lent, if it has one by now.
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
        if own.root() != NONE {
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
            if own.root() != NONE {
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
