//! The modes of a thread: one word, one compare on the hot path.
//!
//! Owns the thread-local word. It never crosses threads by itself: the engine sets it on every lane and restores it.
//! Invariant: a `ModeGuard` puts back exactly the word it found, in the reverse order of creation.

use std::cell::Cell;

/// Operations record.
pub const GRAD: u32 = 1;
/// Results never take part in autograd.
pub const INFERENCE: u32 = 2;
/// Errors of backward name the forward call, and its passes are serial.
pub const ANOMALY: u32 = 4;
/// Operations are logged for introspection.
pub const TRACING: u32 = 8;
/// The forward of a custom function runs: results that vary with an input are marked.
pub const FORWARD: u32 = 16;
/// A transform is differentiating a function: leaving the graph there would lose a gradient silently.
pub const TRANSFORM: u32 = 32;
/// What operations save is packed by the thread's saved-value hooks.
pub const PACKING: u32 = 64;
/// Backward passes run their nodes on the calling thread only.
pub const SERIAL: u32 = 128;
/// Nodes and in-place changes remember where the program called them.
pub const SITES: u32 = 256;
/// Saved values are not copied before a write: a backward that needs one is an error.
pub const DISALLOW_SAVED_MUTATION: u32 = 1024;
/// Arrays that a program makes take tensors, as in a transform.
pub const RECORDED_ARRAYS: u32 = 2048;
/// Anomaly mode also looks for NaN.
pub const CHECK_NAN: u32 = 512;

thread_local! {
    static MODE: Cell<u32> = const { Cell::new(GRAD) };
}

/// The mode word of the current thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode(pub u32);

impl Mode {
    /// This thread's word.
    #[inline]
    pub fn current() -> Mode {
        Mode(MODE.get())
    }

    /// Makes `self` this thread's word and returns the one before.
    #[inline]
    pub fn set(self) -> Mode {
        Mode(MODE.replace(self.0))
    }

    /// Whether all `bits` are set.
    #[inline]
    pub fn has(self, bits: u32) -> bool {
        self.0 & bits == bits
    }

    /// Whether operations on plain data give plain data: they record, and no result is marked.
    #[inline]
    pub fn plain_results(self) -> bool {
        self.0 & (GRAD | INFERENCE) == GRAD
    }

    /// The word with `bits` on or off.
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

/// Switches recording on this thread and returns the previous state.
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

    /// Switches `bits`, keeping the others.
    pub fn switch(bits: u32, on: bool) -> ModeGuard {
        ModeGuard::new(Mode::current().with(bits, on))
    }

    /// The mode in which the forward of a custom function runs: recording off.
    pub fn forward() -> ModeGuard {
        ModeGuard::new(Mode::current().with(GRAD, false).with(FORWARD, true))
    }

    /// Switches recording.
    pub fn grad(on: bool) -> ModeGuard {
        ModeGuard::switch(GRAD, on)
    }
}

impl Drop for ModeGuard {
    fn drop(&mut self) {
        self.before.set();
    }
}
