//! Pieces of repeated elements: a value that stands for all, or a few that are broadcast.
//!
//! Owns: the way from an element of a chain to the one that stands for it. Never computes.
//! Invariant: a piece holds what indexing the broadcast operand would give, element by element.

/// Neighbours that are broadcast: each stands for `inner` elements, and all of them again for the next ones.
pub(super) struct Broadcast {
    pub(super) from: *const u8,
    /// Bytes of one.
    pub(super) size: usize,
    pub(super) count: usize,
    pub(super) inner: usize,
}

/// How many elements there are and for how many neighbours each stands, if a view with these strides is a broadcast one.
pub(crate) fn broadcast_form(dims: &[usize], strides: &[isize]) -> Option<(usize, usize)> {
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
    /// Writes the `n` elements from number `at` on.
    ///
    /// # Safety
    /// The elements lie there, and `to` has room for `n`.
    pub(super) unsafe fn fill(&self, at: usize, n: usize, to: *mut u8) {
        let &Broadcast { from, size, count, inner } = self;
        if inner == 1 {
            // SAFETY: the caller's contract.
            return unsafe { self.fill_row(at % count, n, to) };
        }
        let (mut number, mut left) = (at / inner % count, inner - at % inner);
        let mut done = 0;
        while done < n {
            let length = left.min(n - done);
            // SAFETY: the caller's contract.
            unsafe { repeat((from.add(number * size), size), to.add(done * size), length) };
            done += length;
            left = inner;
            number = if number + 1 == count { 0 } else { number + 1 };
        }
    }

    /// Writes a row of elements again and again, beginning with this one.
    ///
    /// # Safety
    /// As `fill`.
    unsafe fn fill_row(&self, first: usize, n: usize, to: *mut u8) {
        let &Broadcast { from, size, count, .. } = self;
        let head = (count - first).min(n);
        let rest = first.min(n - head);
        // SAFETY: the caller's contract; what was written is apart from what is written next.
        unsafe {
            to.copy_from_nonoverlapping(from.add(first * size), head * size);
            to.add(head * size).copy_from_nonoverlapping(from, rest * size);
            let mut done = head + rest;
            while done < n {
                let length = done.min(n - done);
                to.add(done * size).copy_from_nonoverlapping(to, length * size);
                done += length;
            }
        }
    }
}

/// Writes one element, which has this size, `n` times.
///
/// # Safety
/// The element lies there, and `to` has room for all.
pub(super) unsafe fn repeat((from, size): (*const u8, usize), to: *mut u8, n: usize) {
    // SAFETY: the caller's contract; elements are aligned.
    unsafe {
        match size {
            8 => fill(from.cast::<u64>(), to.cast(), n),
            4 => fill(from.cast::<u32>(), to.cast(), n),
            _ => fill(from, to, n),
        }
    }
}

/// # Safety
/// As `repeat`.
unsafe fn fill<T: Copy>(from: *const T, to: *mut T, n: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let value = *from;
        (0..n).for_each(|i| *to.add(i) = value);
    }
}
