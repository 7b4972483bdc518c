//! What goes wrong in a step: a code and an info, as values.
//!
//! It promises that errors with a static code and info cost no allocation.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

/// What a body and an error handler return: `Ok`, or the error that unwinds.
pub type StepResult = Result<(), StepError>;

/// What is called with errors: each that is caught, or the one that nothing
/// handled (rule S6).
pub type ErrorCallback = Rc<dyn Fn(&StepError)>;

/// The codes that the engine itself raises. A body may raise them too; it may
/// as well raise any code of its own.
pub mod codes {
    /// A rule of the engine was broken, or a body panicked (rule S20).
    pub const INTERNAL_ERROR: &str = "InternalError";
    /// A time limit passed (rule S8).
    pub const TIMEOUT: &str = "Timeout";
    /// A loop is being left; the info is the label (rule S12).
    pub const LOOP_BREAK: &str = "LoopBreak";
    /// A loop goes on with its next iteration; the info is the label (rule S12).
    pub const LOOP_CONT: &str = "LoopCont";
    /// A synchronizer's queue is full; the info says which (rule S13).
    pub const DEFENSE_REJECTED: &str = "DefenseRejected";
    /// The event loop was closed under a flow that something still awaits.
    pub const CANCELLED: &str = "Cancelled";
}

/// An error of a step: what code runs on (`code`), and what people read (`info`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepError {
    code: Cow<'static, str>,
    info: Cow<'static, str>,
}

impl StepError {
    /// An error without info.
    pub fn new(code: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code: code.into(),
            info: Cow::Borrowed(""),
        }
    }

    /// The same error with that info.
    #[must_use]
    pub fn with_info(mut self, info: impl Into<Cow<'static, str>>) -> Self {
        self.info = info.into();
        self
    }

    /// The code, such as `Timeout`.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// What was said beside the code; empty when nothing was.
    #[must_use]
    pub fn info(&self) -> &str {
        &self.info
    }

    /// Whether the error has this code.
    #[must_use]
    pub fn is(&self, code: &str) -> bool {
        self.code == code
    }

    pub(super) fn info_cow(&self) -> Cow<'static, str> {
        self.info.clone()
    }

    pub(crate) fn internal(info: impl Into<Cow<'static, str>>) -> Self {
        Self::new(codes::INTERNAL_ERROR).with_info(info)
    }

    /// The error that a panic becomes: its message is the info.
    #[cold]
    pub(super) fn panicked(payload: &(dyn Any + Send)) -> Self {
        let message = payload
            .downcast_ref::<&'static str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "of no text".to_owned());
        Self::internal(format!("panic: {message}"))
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.info.is_empty() {
            f.write_str(&self.code)
        } else {
            write!(f, "{}: {}", self.code, self.info)
        }
    }
}

impl std::error::Error for StepError {}

impl From<&'static str> for StepError {
    fn from(code: &'static str) -> Self {
        Self::new(code)
    }
}

impl From<String> for StepError {
    fn from(code: String) -> Self {
        Self::new(code)
    }
}

/// Why a completion from outside was refused (rules S10 and S20).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The step is over: completed, failed, timed out or cancelled. Nothing changed.
    #[error("the step is over; its completion came too late and changed nothing")]
    Stale,
    /// The step runs sub-steps, so only those can end it. Its flow fails with
    /// `InternalError`.
    #[error("the step has sub-steps and cannot be completed over them")]
    NotOnTop,
}
