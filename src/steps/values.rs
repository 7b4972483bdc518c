//! What a step passes to the next one: a tuple of up to four values.
//!
//! It promises that values of together 64 bytes cost no allocation, and that a
//! body gets exactly the types that were passed, or an error.

use super::erased::ErasedValue;
use super::error::StepError;

/// Values on their way from one step to the next; `None` when there are none.
pub(super) type Passed = Option<ErasedValue>;

/// What `success` takes and a body receives: `()`, `(A,)`, `(A, B)`,
/// `(A, B, C)` or `(A, B, C, D)` (rule S3).
///
/// Types must match exactly, or the receiving step fails with `InternalError`.
/// A body that takes `()` ignores what it is passed.
///
/// ```compile_fail,E0277
/// # use pitlane::steps::{Step, StepResult};
/// fn five(step: &mut Step<'_>) -> StepResult {
///     step.success((1, 2, 3, 4, 5))
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tuple of up to four values",
    note = "pass one value as `(value,)`"
)]
pub trait Values: Sized + 'static {
    /// Packs the values for the next step.
    #[doc(hidden)]
    fn pass(self) -> Option<ErasedValue>;

    /// Unpacks what the step before passed.
    #[doc(hidden)]
    fn take(passed: &mut Option<ErasedValue>) -> Result<Self, StepError>;
}

impl Values for () {
    #[inline]
    fn pass(self) -> Passed {
        None
    }

    #[inline]
    fn take(passed: &mut Passed) -> Result<Self, StepError> {
        if passed.is_some() {
            drop(passed.take());
        }
        Ok(())
    }
}

#[cold]
fn mistyped<T>(given: bool) -> StepError {
    let wanted = std::any::type_name::<T>();
    StepError::internal(if given {
        format!("the step wants {wanted}, and was passed values of other types")
    } else {
        format!("the step wants {wanted}, and was passed nothing")
    })
}

macro_rules! values {
    ($($name:ident),+) => {
        impl<$($name: 'static),+> Values for ($($name,)+) {
                    #[inline]
            fn pass(self) -> Passed {
                Some(ErasedValue::new(self))
            }

                    #[inline]
            fn take(passed: &mut Passed) -> Result<Self, StepError> {
                match passed.take() {
                    Some(value) => value.take().map_err(|_| mistyped::<Self>(true)),
                    None => Err(mistyped::<Self>(false)),
                }
            }
        }
    };
}

values!(A);
values!(A, B);
values!(A, B, C);
values!(A, B, C, D);
