//! A C function pointer to a Rust closure.
//!
//! Invariant: no panic unwinds into C.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The signature of the C function; `data` identifies the closure. Returns a status.
pub type CFunction = unsafe extern "C" fn(data: *mut c_void) -> c_int;

/// The status of a call that panicked.
const PANICKED: c_int = 4;

type Body = Box<dyn Fn() -> c_int + Send + Sync>;

/// A closure that C code can call while this lives.
pub struct CClosure {
    body: Box<Body>,
}

impl CClosure {
    /// Wraps a closure.
    pub fn new(body: impl Fn() -> c_int + Send + Sync + 'static) -> CClosure {
        CClosure { body: Box::new(Box::new(body)) }
    }

    /// The address of the C function.
    pub fn address(&self) -> usize {
        call as CFunction as usize
    }

    /// The `data` argument of the C function.
    pub fn data(&self) -> usize {
        std::ptr::from_ref::<Body>(&self.body).expose_provenance()
    }
}

/// # Safety
/// `data` comes from a `CClosure` that is alive.
unsafe extern "C" fn call(data: *mut c_void) -> c_int {
    // SAFETY: the caller's contract.
    let body = unsafe { &*data.cast_const().cast::<Body>() };
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(PANICKED)
}
