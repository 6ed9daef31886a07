//! Short rows, turned: what lies beside one another in a vector belongs to different rows.
//!
//! Owns: the tile that rows are turned into, and their merging there. Never splits work.
//! Invariant: a row is merged in the order of `fold::lanes`, so it has the bits that it has alone.

use std::mem::MaybeUninit;

use super::fold::{Fold, LEAF, NARROW, WIDE, add_rows, merge_rows};
use crate::kernels::transpose::turn;

/// Rows of fewer than `WIDE` elements, one in each column.
pub(super) struct Tile<T>([MaybeUninit<T>; LEAF]);

impl<T: Copy> Tile<T> {
    pub(super) fn new() -> Tile<T> {
        debug_assert!(size_of::<T>() == 4 || size_of::<T>() == 8, "elements that are turned");
        Tile([MaybeUninit::uninit(); LEAF])
    }

    /// How many rows of `n` elements there is room for; whole vectors of them.
    pub(super) fn room(n: usize) -> usize {
        assert!(n < WIDE, "a tile is for short rows");
        LEAF / n / NARROW * NARROW
    }

    /// Lays `count` rows into as many columns and says where the first one begins.
    ///
    /// # Safety
    /// `count` rows of `n` neighbours, `stride` apart, are readable, and there is room for them.
    pub(super) unsafe fn fill(
        &mut self,
        p: *const T,
        n: usize,
        stride: isize,
        count: usize,
    ) -> *mut T {
        let to = self.0.as_mut_ptr().cast();
        // SAFETY: the caller's contract.
        unsafe { lay(size_of::<T>(), p.cast(), stride, to, (n, count)) };
        to.cast()
    }
}

/// `turn` of elements of this size into rows without gaps, compiled once for all folds.
///
/// # Safety
/// As `turn`.
#[inline(never)]
unsafe fn lay(size: usize, p: *const u8, by: isize, to: *mut u8, (rows, columns): (usize, usize)) {
    // SAFETY: the caller's contract.
    unsafe {
        match size {
            4 => turn::<u32>(p.cast(), by, to.cast(), columns as isize, (rows, columns)),
            _ => turn::<u64>(p.cast(), by, to.cast(), columns as isize, (rows, columns)),
        }
    }
}

/// Merges each of `rows` runs of `n` neighbours, fewer than `WIDE`.
///
/// # Safety
/// As `fold::rows`; and the fold `TURNS`.
pub(super) unsafe fn rows<F: Fold>(
    p: *const F::In,
    n: usize,
    stride: isize,
    out: *mut F::Acc,
    step: isize,
    rows: usize,
) {
    let mut tile = Tile::new();
    for start in (0..rows).step_by(Tile::<F::In>::room(n)) {
        let count = Tile::<F::In>::room(n).min(rows - start);
        // SAFETY: the caller's contract; such a fold accumulates what it loads, so the tile holds accumulators.
        unsafe {
            let first = p.offset(start as isize * stride);
            let merged: *mut F::Acc = tile.fill(first, n, stride, count).cast();
            columns::<F>(merged, n, count);
            for j in 0..count {
                *out.offset((start + j) as isize * step) = *merged.add(j);
            }
        }
    }
}

/// Merges `n` rows of `count` neighbours into the first.
///
/// # Safety
/// They are accumulators.
unsafe fn columns<F: Fold>(tile: *mut F::Acc, n: usize, count: usize) {
    let row = |i: usize| tile.wrapping_add(i * count);
    // SAFETY: the caller's contract.
    unsafe {
        if n < NARROW {
            return add_rows::<F::Merging>(tile, row(1), count, count as isize, n - 1);
        }
        let (block, mut done) = (NARROW * count, n / NARROW * NARROW);
        add_rows::<F::Merging>(tile, row(NARROW), block, block as isize, n / NARROW - 1);
        for half in [4, 2, 1] {
            merge_rows::<F>(tile, row(half), half * count);
            if n & half != 0 {
                merge_rows::<F>(tile, row(done), half * count);
                done += half;
            }
        }
    }
}
