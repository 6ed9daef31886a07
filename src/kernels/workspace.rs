//! Scratch memory that a thread keeps between kernels: fresh pages cost more than many a kernel.
//!
//! Invariant: the buffers taken from a workspace are disjoint, and every bit pattern is one of their
//! elements.

use std::cell::Cell;

use num_complex::Complex;

/// A type without invalid bit patterns.
///
/// # Safety
/// Every bit pattern is a value.
pub(super) unsafe trait Bits: Copy {}
// SAFETY: every bit pattern is a float.
unsafe impl Bits for f64 {}
// SAFETY: as above.
unsafe impl Bits for f32 {}
// SAFETY: a complex number is its two parts.
unsafe impl<T: Bits> Bits for Complex<T> {}

/// The alignment of buffers: a cache line.
pub(super) const CACHE_LINE: usize = 64;

/// The most bytes that a thread keeps.
const MAX_KEPT_BYTES: usize = 4 << 20;

thread_local! {
    static KEPT: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

/// Scratch memory of one thread, with arbitrary contents.
pub(super) struct Workspace(Vec<u64>);

impl Workspace {
    /// A workspace for buffers of `bytes` in total: the memory that the thread keeps, if it is free and large
    /// enough.
    pub(super) fn new(bytes: usize) -> Workspace {
        let need = (bytes + CACHE_LINE).div_ceil(size_of::<u64>());
        let spare = KEPT.take();
        // Fresh zeroed pages come from the system and cost nothing until they are touched.
        Workspace(if spare.len() < need { vec![0; need] } else { spare })
    }

    pub(super) fn parts(&mut self) -> WorkspaceSlices<'_> {
        // SAFETY: every bit pattern is a byte.
        let (_, bytes, _) = unsafe { self.0.align_to_mut::<u8>() };
        let start = bytes.as_ptr().align_offset(CACHE_LINE).min(bytes.len());
        WorkspaceSlices(&mut bytes[start..])
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if self.0.len() * size_of::<u64>() <= MAX_KEPT_BYTES {
            KEPT.set(std::mem::take(&mut self.0));
        }
    }
}

/// Bytes of scratch memory that are on the stack: 12 slots of a chain with 256 elements, and one more
/// cache line for each.
const STACK_BYTES: usize = 12 * (256 * 8 + CACHE_LINE);

/// Calls `body` with so many bytes of scratch memory, with arbitrary contents, from a cache line on: on the
/// stack if they are few, else in a workspace.
pub(super) fn with_scratch(bytes: usize, body: impl FnOnce(*mut u8)) {
    use std::mem::MaybeUninit;
    #[repr(align(64))]
    struct Stack([MaybeUninit<u8>; STACK_BYTES]);

    if bytes <= STACK_BYTES {
        let mut stack = Stack([MaybeUninit::uninit(); STACK_BYTES]);
        return body(stack.0.as_mut_ptr().cast());
    }
    body(Workspace::new(bytes).parts().0.as_mut_ptr());
}

/// The rest of a workspace, starting at a cache line.
pub(super) struct WorkspaceSlices<'a>(&'a mut [u8]);

/// The bytes that `n` elements take in a workspace.
pub(super) const fn bytes_of<A>(n: usize) -> usize {
    (n * size_of::<A>()).next_multiple_of(CACHE_LINE)
}

impl<'a> WorkspaceSlices<'a> {
    /// The next `n` elements.
    ///
    /// # Panics
    /// If the workspace is too small: a bug of the caller.
    pub(super) fn take<A: Bits>(&mut self, n: usize) -> &'a mut [A] {
        let (buffer, rest) = std::mem::take(&mut self.0).split_at_mut(bytes_of::<A>(n));
        self.0 = rest;
        // SAFETY: the buffer is initialised, starts at a cache line, is large enough and borrowed once; every
        // bit pattern is an `A`.
        unsafe { std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast(), n) }
    }
}
