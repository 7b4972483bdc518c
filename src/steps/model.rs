//! A model of steps: a function that adds them, run for each copy.
//!
//! It promises that nothing is cloned but the state that it was told to: the
//! steps of each copy are made by running the function again (rule S15).

use super::compose::Level;
use super::error::StepResult;
use super::state::State;

type Build = Box<dyn Fn(&mut Level<'_>)>;
type CopyKey = Box<dyn Fn(&State) -> StepResult>;

/// What [`Compose::copy_from`](super::Compose::copy_from) copies.
pub struct Model {
    build: Build,
    keys: Vec<CopyKey>,
}

impl Model {
    /// A model whose steps `build` adds.
    pub fn new(build: impl Fn(&mut Level<'_>) + 'static) -> Self {
        Self {
            build: Box::new(build),
            keys: Vec::new(),
        }
    }

    /// Adds a value for the state of each copy that has none under `key`.
    #[must_use]
    pub fn with<T: Clone + 'static>(mut self, key: &'static str, value: T) -> Self {
        self.keys.push(Box::new(move |state| {
            if state.contains(key)? {
                return Ok(());
            }
            state.set(key, value.clone())
        }));
        self
    }

    pub(super) fn copy_state(&self, state: &State) -> StepResult {
        self.keys.iter().try_for_each(|copy| copy(state))
    }

    pub(super) fn build(&self, level: &mut Level<'_>) {
        (self.build)(level);
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("keys", &self.keys.len())
            .finish_non_exhaustive()
    }
}
