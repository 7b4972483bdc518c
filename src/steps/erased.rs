//! Closures, values and futures of any type in places of one size: the only
//! unsafe code of the steps.
//!
//! It promises that what fits its place is kept there without an allocation,
//! that what does not fit (or wants an alignment above 16) is boxed, that every
//! value is dropped exactly once, and that a future stays at one address from
//! the moment it is placed until it is dropped. It never calls anything but
//! what it was given.
//!
//! Each place is raw bytes beside a static table of the functions that know
//! the type. The one fact that all blocks below rest on: **a place and its
//! table are set together, by a constructor that knows the type, and are never
//! set apart**.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::any::TypeId;
use std::cell::RefMut;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit, align_of, size_of};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use super::error::{StepError, StepResult};
use super::step::Step;
use super::values::{Passed, Values};
use crate::limits::{STEP_FUTURE_BYTES, STEP_INLINE_BYTES, STEP_INLINE_HANDLER_BYTES};

/// Raw room for one value of at most `N` bytes and an alignment of at most 16.
#[repr(C, align(16))]
struct Room<const N: usize>([MaybeUninit<u8>; N]);

impl<const N: usize> Room<N> {
    const fn fits<T>() -> bool {
        size_of::<T>() <= N && align_of::<T>() <= align_of::<Self>()
    }

    #[inline]
    fn holding<T>(value: T) -> Self {
        assert!(Self::fits::<T>(), "checked by every caller");
        let mut room = Self([MaybeUninit::uninit(); N]);
        // SAFETY: `fits` says that the room is large and aligned enough for `T`.
        unsafe { room.at::<T>().write(value) };
        room
    }

    #[inline]
    fn at<T>(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }
}

unsafe fn drop_at<T>(place: *mut u8) {
    // SAFETY: the caller's table was made for a `T` at `place`, not yet taken.
    unsafe { place.cast::<T>().drop_in_place() }
}

/// What is known of the closure in a room: how to call it, how to drop it.
struct Table<C> {
    call: C,
    drop: unsafe fn(*mut u8),
}

/// A closure of some type, called through a function pointer of type `C`.
pub(super) struct Erased<C: 'static, const N: usize> {
    room: Room<N>,
    table: &'static Table<C>,
    /// The closure may hold anything, so this is neither `Send` nor `Sync`.
    _anything: PhantomData<*mut ()>,
}

impl<C: 'static, const N: usize> Erased<C, N> {
    #[inline]
    fn holding<F>(closure: F, table: &'static Table<C>) -> Self {
        Self {
            room: Room::holding(closure),
            table,
            _anything: PhantomData,
        }
    }
}

impl<C, const N: usize> Drop for Erased<C, N> {
    fn drop(&mut self) {
        // SAFETY: the room holds the closure that the table was made for;
        // `call` forgets the shell after it took the closure out.
        unsafe { (self.table.drop)(self.room.at()) }
    }
}

type CallBody = unsafe fn(RefMut<'_, Body>, &mut Step<'_>, &mut Passed) -> StepResult;

/// A step's body, which is written into its frame and called out of it without
/// being moved in between: copies of the room would cost more than the call.
pub(super) struct Body {
    room: Room<STEP_INLINE_BYTES>,
    /// None while the room is empty.
    table: Option<&'static Table<CallBody>>,
    /// The closure may hold anything, so this is neither `Send` nor `Sync`.
    _anything: PhantomData<*mut ()>,
}

unsafe fn call_body<F, A>(
    mut place: RefMut<'_, Body>,
    step: &mut Step<'_>,
    passed: &mut Passed,
) -> StepResult
where
    F: FnOnce(&mut Step<'_>, A) -> StepResult,
    A: Values,
{
    // SAFETY: the room holds the `F` that the table was made for; the caller
    // took the table, so it is read out once.
    let body = unsafe { place.room.at::<F>().read() };
    drop(place);
    body(step, A::take(passed)?)
}

struct BodyTable<F, A>(PhantomData<(F, A)>);

impl<F, A> BodyTable<F, A>
where
    F: FnOnce(&mut Step<'_>, A) -> StepResult + 'static,
    A: Values,
{
    const TABLE: &'static Table<CallBody> = &Table {
        call: call_body::<F, A>,
        drop: drop_at::<F>,
    };
}

impl Body {
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.table.is_none()
    }

    /// The body itself, to be dropped; the place is empty afterwards.
    pub(super) fn take(&mut self) -> Option<Self> {
        (!self.is_empty()).then(|| std::mem::take(self))
    }

    /// Puts a closure into an empty body.
    #[inline]
    pub(super) fn fill<F, A>(&mut self, body: F)
    where
        F: FnOnce(&mut Step<'_>, A) -> StepResult + 'static,
        A: Values,
    {
        if Room::<STEP_INLINE_BYTES>::fits::<F>() {
            self.fill_inline(body);
        } else {
            let body = Box::new(body);
            self.fill_inline(move |step: &mut Step<'_>, values: A| body(step, values));
        }
    }

    #[inline]
    fn fill_inline<F, A>(&mut self, body: F)
    where
        F: FnOnce(&mut Step<'_>, A) -> StepResult + 'static,
        A: Values,
    {
        assert!(self.table.is_none() && Room::<STEP_INLINE_BYTES>::fits::<F>());
        // SAFETY: the room is empty, and large and aligned enough for `F`.
        unsafe { self.room.at::<F>().write(body) };
        self.table = Some(BodyTable::<F, A>::TABLE);
    }

    /// Calls a body in its frame, which is empty afterwards. The tables are
    /// given back as soon as the closure is out of them, before it runs.
    #[inline]
    pub(super) fn call(
        mut place: RefMut<'_, Self>,
        step: &mut Step<'_>,
        passed: &mut Passed,
    ) -> StepResult {
        let Some(table) = place.table.take() else {
            return Ok(());
        };
        // SAFETY: the room holds the closure of the table, which was taken, so
        // it is read out once: by the call, which is given the place itself.
        unsafe { (table.call)(place, step, passed) }
    }
}

impl Default for Body {
    fn default() -> Self {
        Self {
            room: Room([MaybeUninit::uninit(); STEP_INLINE_BYTES]),
            table: None,
            _anything: PhantomData,
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Some(table) = self.table {
            // SAFETY: with a table, the room holds the closure it was made for.
            unsafe { (table.drop)(self.room.at()) }
        }
    }
}

/// An error handler.
pub(super) type Handler =
    Erased<unsafe fn(*mut u8, &mut Step<'_>, &StepError) -> StepResult, STEP_INLINE_HANDLER_BYTES>;

unsafe fn call_handler<F>(place: *mut u8, step: &mut Step<'_>, error: &StepError) -> StepResult
where
    F: FnOnce(&mut Step<'_>, &StepError) -> StepResult,
{
    // SAFETY: the table was made for an `F` at `place`; the caller forgets it.
    let handler = unsafe { place.cast::<F>().read() };
    handler(step, error)
}

struct HandlerTable<F>(PhantomData<F>);

impl<F> HandlerTable<F>
where
    F: FnOnce(&mut Step<'_>, &StepError) -> StepResult + 'static,
{
    const TABLE: &'static Table<unsafe fn(*mut u8, &mut Step<'_>, &StepError) -> StepResult> =
        &Table {
            call: call_handler::<F>,
            drop: drop_at::<F>,
        };
}

impl Handler {
    #[inline]
    pub(super) fn new<F>(handler: F) -> Self
    where
        F: FnOnce(&mut Step<'_>, &StepError) -> StepResult + 'static,
    {
        if Room::<STEP_INLINE_HANDLER_BYTES>::fits::<F>() {
            Self::holding(handler, HandlerTable::<F>::TABLE)
        } else {
            let handler = Box::new(handler);
            Self::boxed(move |step: &mut Step<'_>, error: &StepError| handler(step, error))
        }
    }

    fn boxed<F>(handler: F) -> Self
    where
        F: FnOnce(&mut Step<'_>, &StepError) -> StepResult + 'static,
    {
        Self::holding(handler, HandlerTable::<F>::TABLE)
    }

    pub(super) fn call(self, step: &mut Step<'_>, error: &StepError) -> StepResult {
        let mut shell = ManuallyDrop::new(self);
        // SAFETY: the room holds the closure of the table; the shell is
        // forgotten, so it is read out once.
        unsafe { (shell.table.call)(shell.room.at(), step, error) }
    }
}

/// A cancel handler.
pub(super) type Canceller = Erased<unsafe fn(*mut u8, &mut Step<'_>), STEP_INLINE_HANDLER_BYTES>;

unsafe fn call_canceller<F: FnOnce(&mut Step<'_>)>(place: *mut u8, step: &mut Step<'_>) {
    // SAFETY: the table was made for an `F` at `place`; the caller forgets it.
    let canceller = unsafe { place.cast::<F>().read() };
    canceller(step);
}

struct CancellerTable<F>(PhantomData<F>);

impl<F: FnOnce(&mut Step<'_>) + 'static> CancellerTable<F> {
    const TABLE: &'static Table<unsafe fn(*mut u8, &mut Step<'_>)> = &Table {
        call: call_canceller::<F>,
        drop: drop_at::<F>,
    };
}

impl Canceller {
    pub(super) fn new<F: FnOnce(&mut Step<'_>) + 'static>(canceller: F) -> Self {
        if Room::<STEP_INLINE_HANDLER_BYTES>::fits::<F>() {
            Self::holding(canceller, CancellerTable::<F>::TABLE)
        } else {
            let canceller = Box::new(canceller);
            Self::boxed(move |step: &mut Step<'_>| canceller(step))
        }
    }

    fn boxed<F: FnOnce(&mut Step<'_>) + 'static>(canceller: F) -> Self {
        Self::holding(canceller, CancellerTable::<F>::TABLE)
    }

    pub(super) fn call(self, step: &mut Step<'_>) {
        let mut shell = ManuallyDrop::new(self);
        // SAFETY: the room holds the closure of the table; the shell is
        // forgotten, so it is read out once.
        unsafe { (shell.table.call)(shell.room.at(), step) }
    }
}

/// A loop's body: `None` says that the loop is over.
pub(super) type LoopBody =
    Erased<unsafe fn(*mut u8, &mut Step<'_>) -> Option<StepResult>, STEP_INLINE_BYTES>;

unsafe fn call_loop<F>(place: *mut u8, step: &mut Step<'_>) -> Option<StepResult>
where
    F: FnMut(&mut Step<'_>) -> Option<StepResult>,
{
    // SAFETY: the table was made for an `F` at `place`, and the caller holds
    // the room exclusively for the call.
    let body = unsafe { &mut *place.cast::<F>() };
    body(step)
}

struct LoopTable<F>(PhantomData<F>);

impl<F> LoopTable<F>
where
    F: FnMut(&mut Step<'_>) -> Option<StepResult> + 'static,
{
    const TABLE: &'static Table<unsafe fn(*mut u8, &mut Step<'_>) -> Option<StepResult>> = &Table {
        call: call_loop::<F>,
        drop: drop_at::<F>,
    };
}

impl LoopBody {
    #[inline]
    pub(super) fn new<F>(body: F) -> Self
    where
        F: FnMut(&mut Step<'_>) -> Option<StepResult> + 'static,
    {
        if Room::<STEP_INLINE_BYTES>::fits::<F>() {
            Self::holding(body, LoopTable::<F>::TABLE)
        } else {
            let mut body = Box::new(body);
            Self::boxed(move |step: &mut Step<'_>| body(step))
        }
    }

    fn boxed<F>(body: F) -> Self
    where
        F: FnMut(&mut Step<'_>) -> Option<StepResult> + 'static,
    {
        Self::holding(body, LoopTable::<F>::TABLE)
    }

    #[inline]
    pub(super) fn call(&mut self, step: &mut Step<'_>) -> Option<StepResult> {
        // SAFETY: the room holds the closure of the table, borrowed exclusively.
        unsafe { (self.table.call)(self.room.at(), step) }
    }
}

/// A callback of the event loop.
pub(super) type Callback = Erased<unsafe fn(*mut u8), STEP_INLINE_BYTES>;

unsafe fn call_callback<F: FnOnce()>(place: *mut u8) {
    // SAFETY: the table was made for an `F` at `place`; the caller forgets it.
    let callback = unsafe { place.cast::<F>().read() };
    callback();
}

struct CallbackTable<F>(PhantomData<F>);

impl<F: FnOnce() + 'static> CallbackTable<F> {
    const TABLE: &'static Table<unsafe fn(*mut u8)> = &Table {
        call: call_callback::<F>,
        drop: drop_at::<F>,
    };
}

impl Callback {
    pub(super) fn new<F: FnOnce() + 'static>(callback: F) -> Self {
        if Room::<STEP_INLINE_BYTES>::fits::<F>() {
            Self::holding(callback, CallbackTable::<F>::TABLE)
        } else {
            Self::boxed(Box::new(callback))
        }
    }

    fn boxed<F: FnOnce() + 'static>(callback: F) -> Self {
        Self::holding(callback, CallbackTable::<F>::TABLE)
    }

    pub(super) fn call(self) {
        let mut shell = ManuallyDrop::new(self);
        // SAFETY: the room holds the closure of the table; the shell is
        // forgotten, so it is read out once.
        unsafe { (shell.table.call)(shell.room.at()) }
    }
}

struct ValueTable {
    type_id: TypeId,
    /// The room holds a `Box` of the type, not the type itself.
    boxed: bool,
    drop: unsafe fn(*mut u8),
}

struct TableOf<T>(PhantomData<T>);

impl<T: 'static> TableOf<T> {
    const INLINE: &'static ValueTable = &ValueTable {
        type_id: TypeId::of::<T>(),
        boxed: false,
        drop: drop_at::<T>,
    };
    const BOXED: &'static ValueTable = &ValueTable {
        type_id: TypeId::of::<T>(),
        boxed: true,
        drop: drop_at::<Box<T>>,
    };
}

/// A value of some type, which only that type gets back.
#[doc(hidden)]
pub struct ErasedValue {
    room: Room<STEP_INLINE_BYTES>,
    table: &'static ValueTable,
    /// The value may hold anything, so this is neither `Send` nor `Sync`.
    _anything: PhantomData<*mut ()>,
}

impl ErasedValue {
    #[inline]
    pub(super) fn new<T: 'static>(value: T) -> Self {
        let (room, table) = if Room::<STEP_INLINE_BYTES>::fits::<T>() {
            (Room::holding(value), TableOf::<T>::INLINE)
        } else {
            (Room::holding(Box::new(value)), TableOf::<T>::BOXED)
        };
        Self {
            room,
            table,
            _anything: PhantomData,
        }
    }

    /// The value, if it is a `T`.
    #[inline]
    pub(super) fn take<T: 'static>(self) -> Result<T, Self> {
        if self.table.type_id != TypeId::of::<T>() {
            return Err(self);
        }
        let mut shell = ManuallyDrop::new(self);
        if shell.table.boxed {
            // SAFETY: the table says a `Box<T>`, by the same type id; the
            // shell is forgotten, so it is read out once.
            Ok(*unsafe { shell.room.at::<Box<T>>().read() })
        } else {
            // SAFETY: the table says a `T` in place; read out once.
            Ok(unsafe { shell.room.at::<T>().read() })
        }
    }

    /// The value in place, if it is a `T`.
    pub(super) fn get_mut<T: 'static>(&mut self) -> Option<&mut T> {
        if self.table.type_id != TypeId::of::<T>() {
            return None;
        }
        if self.table.boxed {
            // SAFETY: the table says a `Box<T>`; the borrow is that of `self`.
            Some(unsafe { &mut **self.room.at::<Box<T>>() })
        } else {
            // SAFETY: the table says a `T` in place; the borrow is that of `self`.
            Some(unsafe { &mut *self.room.at::<T>() })
        }
    }
}

impl Drop for ErasedValue {
    fn drop(&mut self) {
        // SAFETY: the room holds what the table says; `take` forgets the shell.
        unsafe { (self.table.drop)(self.room.at()) }
    }
}

/// Values that may go to another thread.
pub(super) struct SendPassed(Passed);

// SAFETY: the only constructor takes a `V: Send`, and nothing but the values
// inside is thread-bound: the table is static and immutable.
unsafe impl Send for SendPassed {}

impl SendPassed {
    pub(super) fn new<V: Values + Send>(values: V) -> Self {
        Self(values.pass())
    }

    pub(super) fn into_passed(self) -> Passed {
        self.0
    }
}

type FutureRoom = Room<STEP_FUTURE_BYTES>;

/// Pinned memory for one future, empty.
pub(super) struct Block {
    memory: NonNull<FutureRoom>,
}

impl Block {
    pub(super) fn new() -> Self {
        let layout = Layout::new::<FutureRoom>();
        // SAFETY: the layout is of `STEP_FUTURE_BYTES`, which is not zero.
        let memory = unsafe { alloc(layout) };
        let Some(memory) = NonNull::new(memory.cast()) else {
            handle_alloc_error(layout)
        };
        Self { memory }
    }

    /// Puts a future into the block, where it stays until it is dropped.
    pub(super) fn place<F, A, E>(self, future: F) -> PinnedFuture
    where
        F: Future<Output = Result<A, E>> + 'static,
        A: Values,
        E: Into<StepError> + 'static,
    {
        if FutureRoom::fits::<F>() {
            self.place_inline(future)
        } else {
            self.place_inline::<Pin<Box<F>>, A, E>(Box::pin(future))
        }
    }

    fn place_inline<F, A, E>(self, future: F) -> PinnedFuture
    where
        F: Future<Output = Result<A, E>> + 'static,
        A: Values,
        E: Into<StepError> + 'static,
    {
        assert!(FutureRoom::fits::<F>(), "checked by the caller");
        // SAFETY: `fits` says that the block is large and aligned enough for
        // `F`; the block is empty and ours.
        unsafe { self.memory.cast::<F>().write(future) };
        PinnedFuture {
            block: ManuallyDrop::new(self),
            table: FutureTableOf::<F, A, E>::TABLE,
            _anything: PhantomData,
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the memory came from `alloc` with this layout, and a block
        // is the only owner of it.
        unsafe { dealloc(self.memory.as_ptr().cast(), Layout::new::<FutureRoom>()) }
    }
}

struct FutureTable {
    poll: unsafe fn(*mut u8, &mut Context<'_>) -> Poll<Result<Passed, StepError>>,
    drop: unsafe fn(*mut u8),
}

struct FutureTableOf<F, A, E>(PhantomData<(F, A, E)>);

impl<F, A, E> FutureTableOf<F, A, E>
where
    F: Future<Output = Result<A, E>> + 'static,
    A: Values,
    E: Into<StepError> + 'static,
{
    const TABLE: &'static FutureTable = &FutureTable {
        poll: poll_at::<F, A, E>,
        drop: drop_at::<F>,
    };
}

unsafe fn poll_at<F, A, E>(
    place: *mut u8,
    context: &mut Context<'_>,
) -> Poll<Result<Passed, StepError>>
where
    F: Future<Output = Result<A, E>>,
    A: Values,
    E: Into<StepError>,
{
    // SAFETY: the table was made for an `F` at `place`, in a block that neither
    // moves nor is freed before the future is dropped: pinned.
    let future = unsafe { Pin::new_unchecked(&mut *place.cast::<F>()) };
    future
        .poll(context)
        .map(|result| result.map(Values::pass).map_err(Into::into))
}

/// A future in its block. Moving this moves the pointer, not the future.
pub(super) struct PinnedFuture {
    block: ManuallyDrop<Block>,
    table: &'static FutureTable,
    /// The future may hold anything, so this is neither `Send` nor `Sync`.
    _anything: PhantomData<*mut ()>,
}

impl PinnedFuture {
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Passed, StepError>> {
        // SAFETY: the block holds the future of the table, borrowed exclusively.
        unsafe { (self.table.poll)(self.block.memory.as_ptr().cast(), context) }
    }

    /// Drops the future and gives its block back. If the drop panics, the
    /// block's memory is lost, never freed twice.
    pub(super) fn clear(self) -> Block {
        let mut shell = ManuallyDrop::new(self);
        // SAFETY: the block holds the future of the table; the shell is
        // forgotten, so it is dropped once.
        unsafe { (shell.table.drop)(shell.block.memory.as_ptr().cast()) };
        // SAFETY: the shell is forgotten, so the block is taken out once.
        unsafe { ManuallyDrop::take(&mut shell.block) }
    }
}

impl Drop for PinnedFuture {
    fn drop(&mut self) {
        // SAFETY: the block holds the future of the table, and `clear` forgets
        // the shell.
        unsafe { (self.table.drop)(self.block.memory.as_ptr().cast()) };
        // SAFETY: nothing uses the block after its owner's drop.
        unsafe { ManuallyDrop::drop(&mut self.block) };
    }
}
