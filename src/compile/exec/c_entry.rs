//! Calls from C: a closure behind a function pointer.
//!
//! Owns: the function that C calls. Never knows what the closure does. Invariant: no panic crosses into C.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What C calls a program with: the pointer that belongs to it. Returns a status.
pub type Entry = unsafe extern "C" fn(data: *mut c_void) -> c_int;

/// The status of a call whose closure panicked.
const PANICKED: c_int = 4;

type Body = Box<dyn Fn() -> c_int + Send + Sync>;

/// A closure that C can call, as long as it lives.
pub struct Callable {
    body: Box<Body>,
}

impl Callable {
    /// A function pointer and data for a closure.
    pub fn new(body: impl Fn() -> c_int + Send + Sync + 'static) -> Callable {
        Callable { body: Box::new(Box::new(body)) }
    }

    /// The address of a function of the type `Entry`.
    pub fn address(&self) -> usize {
        call as Entry as usize
    }

    /// What to pass to it.
    pub fn data(&self) -> usize {
        std::ptr::from_ref::<Body>(&self.body).expose_provenance()
    }
}

/// # Safety
/// `data` is that of a callable that lives.
unsafe extern "C" fn call(data: *mut c_void) -> c_int {
    // SAFETY: the caller's contract.
    let body = unsafe { &*data.cast_const().cast::<Body>() };
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(PANICKED)
}
