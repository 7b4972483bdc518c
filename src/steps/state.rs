//! An instance's state: one typed root value, and typed values by key.
//!
//! It promises that a wrong type, a missing root or a value in use is an error,
//! never a panic, and that values of up to 64 bytes under known keys cost no
//! allocation. It is searched key by key, so it holds few of them.

use std::cell::{RefCell, RefMut};

use super::erased::ErasedValue;
use super::error::{StepError, StepResult};
use crate::limits::STEP_STATE_KEYS_MAX;

/// The state of one instance, shared with its parallel children (rule S7).
#[derive(Default)]
pub struct State {
    root: RefCell<Option<ErasedValue>>,
    items: RefCell<Vec<(&'static str, ErasedValue)>>,
}

impl State {
    /// The root value, as it was given to
    /// [`AsyncSteps::with_state`](super::AsyncSteps::with_state).
    ///
    /// # Errors
    /// `InternalError` when there is none, when it is of another type, or when
    /// it is borrowed already.
    pub fn root<T: 'static>(&self) -> Result<RefMut<'_, T>, StepError> {
        let root = self.root.try_borrow_mut().map_err(|_| in_use("root"))?;
        RefMut::filter_map(root, |root| root.as_mut()?.get_mut())
            .map_err(|root| wrong::<T>("root", root.is_some()))
    }

    /// The value under `key`, or `None` when there is none.
    ///
    /// # Errors
    /// `InternalError` when it is of another type, or a value is borrowed already.
    pub fn get<T: 'static>(&self, key: &'static str) -> Result<Option<RefMut<'_, T>>, StepError> {
        let mut items = self.items.try_borrow_mut().map_err(|_| in_use(key))?;
        if find(&mut items, key).is_none() {
            return Ok(None);
        }
        RefMut::filter_map(items, |items| find(items, key)?.get_mut())
            .map(Some)
            .map_err(|_| wrong::<T>(key, true))
    }

    /// Puts a value under `key`, in place of the one before, of whatever type.
    ///
    /// # Errors
    /// `InternalError` when a value is borrowed, or the state holds as many keys
    /// as it may ([`STEP_STATE_KEYS_MAX`]).
    pub fn set<T: 'static>(&self, key: &'static str, value: T) -> StepResult {
        let old = {
            let mut items = self.items.try_borrow_mut().map_err(|_| in_use(key))?;
            match find(&mut items, key) {
                Some(place) => Some(std::mem::replace(place, ErasedValue::new(value))),
                None => {
                    insert(&mut items, key, value)?;
                    None
                }
            }
        };
        drop(old); // Only now: its drop may use this state.
        Ok(())
    }

    /// The value under `key`; `default` makes it when there is none.
    ///
    /// # Errors
    /// As for [`Self::get`] and [`Self::set`].
    pub fn get_or_insert<T: 'static>(
        &self,
        key: &'static str,
        default: impl FnOnce() -> T,
    ) -> Result<RefMut<'_, T>, StepError> {
        if !self.contains(key)? {
            let value = default();
            let mut items = self.items.try_borrow_mut().map_err(|_| in_use(key))?;
            if find(&mut items, key).is_none() {
                insert(&mut items, key, value)?;
            }
        }
        self.get(key)?.ok_or_else(|| wrong::<T>(key, false))
    }

    /// Whether there is a value under `key`.
    ///
    /// # Errors
    /// `InternalError` when a value is borrowed.
    pub fn contains(&self, key: &'static str) -> Result<bool, StepError> {
        let mut items = self.items.try_borrow_mut().map_err(|_| in_use(key))?;
        Ok(find(&mut items, key).is_some())
    }

    pub(crate) fn set_root<T: 'static>(&self, value: T) {
        let old = self.root.replace(Some(ErasedValue::new(value)));
        drop(old);
    }

    /// Moves the root value out, if it is of this type and nobody has it.
    pub(crate) fn take_root<T: 'static>(&self) -> Option<T> {
        let mut root = self.root.try_borrow_mut().ok()?;
        match root.take()?.take() {
            Ok(value) => Some(value),
            Err(other) => {
                *root = Some(other);
                None
            }
        }
    }

    /// Whether there is nothing to drop.
    pub(super) fn is_clear(&self) -> bool {
        self.items.try_borrow().is_ok_and(|items| items.is_empty())
            && self.root.try_borrow().is_ok_and(|root| root.is_none())
    }

    /// Drops all values, in the order of their keys' arrival; the root's last.
    pub(super) fn clear(&self) {
        loop {
            let item = {
                let mut items = self.items.borrow_mut();
                if items.is_empty() {
                    break;
                }
                items.remove(0)
            };
            drop(item);
        }
        let root = self.root.take();
        drop(root);
    }
}

fn find<'a>(
    items: &'a mut [(&'static str, ErasedValue)],
    key: &str,
) -> Option<&'a mut ErasedValue> {
    items
        .iter_mut()
        .find(|(known, _)| *known == key)
        .map(|(_, value)| value)
}

fn insert<T: 'static>(
    items: &mut Vec<(&'static str, ErasedValue)>,
    key: &'static str,
    value: T,
) -> StepResult {
    if items.len() == STEP_STATE_KEYS_MAX {
        return Err(StepError::internal(format!(
            "state: no room for key `{key}`: it holds {STEP_STATE_KEYS_MAX} already"
        )));
    }
    items.push((key, ErasedValue::new(value)));
    Ok(())
}

#[cold]
fn in_use(key: &str) -> StepError {
    StepError::internal(format!("state `{key}`: a value is borrowed already"))
}

#[cold]
fn wrong<T>(key: &str, present: bool) -> StepError {
    let wanted = std::any::type_name::<T>();
    StepError::internal(if present {
        format!("state `{key}`: it is no {wanted}")
    } else {
        format!("state `{key}`: there is none; a {wanted} was asked for")
    })
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut list = f.debug_list();
        if let Ok(items) = self.items.try_borrow() {
            list.entries(items.iter().map(|(key, _)| key));
        }
        list.finish_non_exhaustive()
    }
}
