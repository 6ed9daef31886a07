//! Fills a chain's scratch slots with repeated operands: scalars, and broadcast rows or columns.
//!
//! Invariant: a slot holds, element by element, what indexing the broadcast operand would give.

use crate::kernels::elementwise::repeat_element;

/// A contiguous run that is broadcast: each element repeats `inner` times, and the run itself repeats for the
/// rest of the shape.
pub(super) struct Broadcast {
    pub(super) from: *const u8,
    /// The element size in bytes.
    pub(super) size: usize,
    pub(super) count: usize,
    pub(super) inner: usize,
}

/// The element count of the run and its inner repetition, if a view with these strides is such a broadcast.
pub(crate) fn broadcast_pattern(dims: &[usize], strides: &[isize]) -> Option<(usize, usize)> {
    let (mut inner, mut count, mut ended) = (1, 1, false);
    for (&dim, &stride) in dims.iter().zip(strides).rev().filter(|(dim, _)| **dim != 1) {
        if stride == 0 {
            match count {
                1 => inner *= dim,
                _ => ended = true,
            }
        } else if stride == count as isize && !ended {
            count *= dim;
        } else {
            return None;
        }
    }
    (count > 1).then_some((count, inner))
}

impl Broadcast {
    /// Writes `n` elements, starting with flat index `at`.
    ///
    /// # Safety
    /// The run is readable, and `to` has space for `n`.
    pub(super) unsafe fn fill(&self, at: usize, n: usize, to: *mut u8) {
        let &Broadcast { from, size, count, inner } = self;
        if inner == 1 {
            // SAFETY: the caller's contract.
            return unsafe { self.fill_row(at % count, n, to) };
        }
        let (mut index, mut left) = (at / inner % count, inner - at % inner);
        let mut done = 0;
        while done < n {
            let copied = left.min(n - done);
            // SAFETY: the caller's contract.
            unsafe { repeat_element((from.add(index * size), size), to.add(done * size), copied) };
            done += copied;
            left = inner;
            index = if index + 1 == count { 0 } else { index + 1 };
        }
    }

    /// Writes the run again and again, starting with element `first`.
    ///
    /// # Safety
    /// As `fill`.
    unsafe fn fill_row(&self, first: usize, n: usize, to: *mut u8) {
        let &Broadcast { from, size, count, .. } = self;
        let first_copy = (count - first).min(n);
        let rest = first.min(n - first_copy);
        // SAFETY: the caller's contract; the copied range and the destination are disjoint.
        unsafe {
            to.copy_from_nonoverlapping(from.add(first * size), first_copy * size);
            to.add(first_copy * size).copy_from_nonoverlapping(from, rest * size);
            let mut done = first_copy + rest;
            while done < n {
                let copied = done.min(n - done);
                to.add(done * size).copy_from_nonoverlapping(to, copied * size);
                done += copied;
            }
        }
    }
}
