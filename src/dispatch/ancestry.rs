//! What carries a root beyond slots and scopes: commands, messages, retained work
//! (rules R34 to R40, R52, R57).
//!
//! An ancestry is a root, or none: then whatever it belongs to came from outside,
//! and gets a root of its own when it is processed. It keeps its root alive, and
//! keeps the dispatcher from being cleared.

use std::rc::Rc;

use super::error::Fatal;
use super::roots::{NONE, RootScope, Roots};

/// A root that something was sent or kept under, or none.
#[derive(Debug)]
pub(super) struct Ancestry {
    roots: Rc<Roots>,
    root: u32,
}

impl Ancestry {
    fn adopt(roots: &Rc<Roots>, root: u32) -> Self {
        if root != NONE {
            roots.count_external();
        }
        Self {
            roots: Rc::clone(roots),
            root,
        }
    }

    /// That of something from outside.
    pub(super) fn none(roots: &Rc<Roots>) -> Self {
        Self::adopt(roots, NONE)
    }

    /// That of something sent now: the active root, else the scope's new one, else
    /// none (rule R52). A root that finds no room latches, and the send goes on
    /// without (rule R59).
    pub(super) fn of_send(roots: &Rc<Roots>) -> Self {
        let root = roots.obtain_in_scope().unwrap_or_else(|fatal| {
            roots.latch(fatal);
            None
        });
        Self::adopt(roots, root.unwrap_or(NONE))
    }

    /// That of something kept now: the active root, or a new one (rule R35).
    pub(super) fn of_retained(roots: &Rc<Roots>) -> Result<Self, Fatal> {
        let root = roots.obtain().inspect_err(|fatal| roots.latch(*fatal))?;
        Ok(Self::adopt(roots, root))
    }

    pub(super) const fn is_rooted(&self) -> bool {
        self.root != NONE
    }

    pub(super) const fn roots(&self) -> &Rc<Roots> {
        &self.roots
    }

    pub(super) fn deliveries(&self) -> u32 {
        if self.is_rooted() {
            self.roots.deliveries(self.root)
        } else {
            0
        }
    }

    pub(super) fn serial(&self) -> Option<u64> {
        self.is_rooted().then(|| self.roots.serial(self.root))
    }

    /// Makes it what is active: its root, or an independent scope.
    pub(super) fn enter(&self) -> RootScope<'_> {
        if self.is_rooted() {
            self.roots.enter_root(self.root)
        } else {
            self.roots.enter_independent()
        }
    }

    /// Another owner of the same root.
    pub(super) fn again(&self) -> Self {
        if self.is_rooted() {
            self.roots.own(self.root, 1);
        }
        Self::adopt(&self.roots, self.root)
    }

    /// The bare root, with the ownership, which stays counted.
    pub(super) fn into_root(mut self) -> Option<u32> {
        let root = std::mem::replace(&mut self.root, NONE);
        (root != NONE).then_some(root)
    }

    /// Takes an ownership back that [`Ancestry::into_root`] gave.
    pub(super) fn from_root(roots: &Rc<Roots>, root: u32) -> Self {
        Self {
            roots: Rc::clone(roots),
            root,
        }
    }
}

impl Drop for Ancestry {
    fn drop(&mut self) {
        if self.root != NONE {
            self.roots.release_external(self.root);
        }
    }
}

/// A value with its ancestry; one that is dropped unused drops under it, and what
/// was active before is restored, on unwind too (rules R40, R57).
#[derive(Debug)]
pub(super) struct Carried<T> {
    /// Present until it is opened.
    value: Option<T>,
    ancestry: Ancestry,
}

impl<T> Carried<T> {
    pub(super) const fn new(value: T, ancestry: Ancestry) -> Self {
        Self {
            value: Some(value),
            ancestry,
        }
    }

    pub(super) const fn ancestry(&self) -> &Ancestry {
        &self.ancestry
    }

    pub(super) const fn value(&self) -> Option<&T> {
        self.value.as_ref()
    }

    /// Lets `body` have the value, under its ancestry.
    pub(super) fn process<R>(mut self, body: impl FnOnce(T) -> R) -> Option<R> {
        let value = self.value.take()?;
        let _scope = self.ancestry.enter();
        Some(body(value))
    }

    /// Both parts.
    pub(super) fn open(mut self) -> Option<(T, Ancestry)> {
        let value = self.value.take()?;
        Some((value, self.ancestry.again()))
    }
}

impl<T> Drop for Carried<T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            let _scope = self.ancestry.enter();
            drop(value);
        }
    }
}
