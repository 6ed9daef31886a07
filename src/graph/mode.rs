//! The modes of a thread (recording, inference, anomaly, …) as bits of one thread-local word.
//!
//! The engine sets the word on every thread of a pass and restores it.
//! Invariant: a `ModeGuard` restores exactly the word it found, in the reverse order of creation.

use std::cell::Cell;

/// Operations record (grad mode).
pub const GRAD: u32 = 1;
/// Inference mode: results never take part in autograd.
pub const INFERENCE: u32 = 2;
/// Anomaly mode: errors of backward name the forward call, and passes are serial.
pub const ANOMALY: u32 = 4;
/// Operations are logged for introspection.
pub const TRACING: u32 = 8;
/// The forward of a custom function runs: results that depend on an input are marked.
pub const FORWARD: u32 = 16;
/// A transform is differentiating a function: leaving the graph would silently lose a gradient.
pub const TRANSFORM: u32 = 32;
/// Saved-value hooks pack what operations save.
pub const PACKING: u32 = 64;
/// Backward passes run nodes on the calling thread only.
pub const SERIAL: u32 = 128;
/// Nodes and in-place writes note their call site.
pub const CALL_SITES: u32 = 256;
/// Writes do not copy saved values: a backward that needs an overwritten one fails.
pub const DISALLOW_SAVED_MUTATION: u32 = 1024;
/// Array creation functions return tensors, as in a transform.
pub const RECORDED_ARRAYS: u32 = 2048;
/// Anomaly mode also checks for NaN.
pub const CHECK_NAN: u32 = 512;
/// A level of forward mode is live: operations compute tangents.
pub const DUAL: u32 = 4096;

thread_local! {
    static MODE: Cell<u32> = const { Cell::new(GRAD) };
}

/// The mode word of the current thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode(pub u32);

impl Mode {
    /// The current thread's word.
    #[inline]
    pub fn current() -> Mode {
        Mode(MODE.get())
    }

    /// Sets the current thread's word and returns the previous one.
    #[inline]
    pub fn set(self) -> Mode {
        Mode(MODE.replace(self.0))
    }

    /// Whether all `bits` are set.
    #[inline]
    pub fn has(self, bits: u32) -> bool {
        self.0 & bits == bits
    }

    /// Whether results of unrecorded operations on plain tensors need no marks: recording is on, inference off.
    #[inline]
    pub fn plain_results(self) -> bool {
        self.0 & (GRAD | INFERENCE) == GRAD
    }

    /// The word with `bits` set or cleared.
    #[inline]
    #[must_use]
    pub fn with(self, bits: u32, on: bool) -> Mode {
        if on { Mode(self.0 | bits) } else { Mode(self.0 & !bits) }
    }
}

/// Whether operations of this thread record.
#[inline]
pub fn grad_enabled() -> bool {
    Mode::current().has(GRAD)
}

/// Sets grad mode on this thread and returns the previous state.
#[inline]
pub fn set_grad_enabled(on: bool) -> bool {
    let before = Mode::current();
    before.with(GRAD, on).set();
    before.has(GRAD)
}

/// Restores the thread's mode word when dropped.
#[derive(Debug)]
#[must_use = "the mode is restored when the guard is dropped"]
pub struct ModeGuard {
    before: Mode,
    not_send: std::marker::PhantomData<*const ()>,
}

impl ModeGuard {
    /// Sets the whole word.
    pub fn new(mode: Mode) -> ModeGuard {
        ModeGuard { before: mode.set(), not_send: std::marker::PhantomData }
    }

    /// Sets or clears `bits`.
    pub fn switch(bits: u32, on: bool) -> ModeGuard {
        ModeGuard::new(Mode::current().with(bits, on))
    }

    /// The mode of a custom function's forward: recording and forward mode off.
    pub fn forward() -> ModeGuard {
        ModeGuard::new(Mode::current().with(GRAD | DUAL, false).with(FORWARD, true))
    }

    /// Sets or clears grad mode.
    pub fn grad(on: bool) -> ModeGuard {
        ModeGuard::switch(GRAD, on)
    }
}

impl Drop for ModeGuard {
    fn drop(&mut self) {
        self.before.set();
    }
}
