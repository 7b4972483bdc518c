//! What a person must hear of: components that panicked and were disabled.
//!
//! A bounded list that the shard empties; when it is full, alarms are counted and
//! not kept. It allocates only when something went wrong.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use super::component::ComponentId;
use crate::limits::DISPATCH_ALARMS_MAX;

/// A component panicked; it is disabled until it is replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("component {name:?} ({component}) panicked and is disabled: {message}")]
pub struct Alarm {
    /// Which one.
    pub component: ComponentId,
    /// Its name.
    pub name: String,
    /// What the panic said.
    pub message: String,
}

#[derive(Debug)]
pub(super) struct Alarms {
    waiting: RefCell<VecDeque<Alarm>>,
    lost: Cell<u64>,
}

impl Alarms {
    pub(super) const fn new() -> Self {
        Self {
            waiting: RefCell::new(VecDeque::new()),
            lost: Cell::new(0),
        }
    }

    pub(super) fn raise(&self, component: ComponentId, name: &str, panic: Box<dyn Any + Send>) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() >= DISPATCH_ALARMS_MAX {
            self.lost.set(self.lost.get() + 1);
        } else {
            let message = message(&*panic);
            waiting.push_back(Alarm {
                component,
                name: name.into(),
                message,
            });
        }
        // What was thrown may itself throw when it is dropped; text does not.
        if !panic.is::<&'static str>() && !panic.is::<String>() {
            std::mem::forget(panic);
        }
    }

    pub(super) fn take(&self) -> Option<Alarm> {
        self.waiting.borrow_mut().pop_front()
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost.get()
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&'static str>()
        .map(|text| (*text).to_string())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".into())
}
