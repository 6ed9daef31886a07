//! The variance of rows, in one pass over memory.
//!
//! Owns: the moments of a block, which stays in the first-level cache between its two readings, and how they are merged.
//! Never keeps a difference. Invariant: blocks and pieces follow from the length of a row and are merged in a balanced
//! tree, so a result is the same at any number of threads.

use super::super::launch::launch;
use super::super::reduce::PairwiseTree;
use super::super::view::{View, ViewMut, with_float};
use super::rows::{Number, sum};
use crate::kernels::multiversion::leveled;
use crate::threads::parallel_for;

/// Elements of a block: 16 KiB of float64.
const BLOCK: usize = 2048;
/// Elements of a piece, a unit of a split.
const PIECE: usize = 1 << 16;

/// The number of elements, their mean, and the sum of the squares of their distances from it.
#[derive(Clone, Copy)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    const NONE: Moments = Moments { count: 0.0, mean: 0.0, squares: 0.0 };

    /// Those of both sets of elements, of which neither is empty.
    fn and(self, other: Moments) -> Moments {
        let count = self.count + other.count;
        let (gap, share) = (other.mean - self.mean, other.count / count);
        Moments {
            count,
            mean: self.mean + gap * share,
            squares: self.squares + other.squares + gap * gap * (self.count * share),
        }
    }
}

/// `out[row] = sum((x[row] - mean(x[row]))²) / divisor` for contiguous rows.
pub fn variance(x: View, divisor: f64, out: ViewMut) {
    launch!("variance", [x] => [out];; rows_variance(x, divisor, &out));
}

fn rows_variance(x: View, divisor: f64, out: &ViewMut) {
    let (rows, n) = (x.dims[0], x.dims[1]);
    assert!(x.is_contiguous() && out.dims == [rows] && out.is_contiguous());
    with_float!([x, out], T => typed::<T>(x.at(0), n, divisor, (out.at(0), rows)));
}

/// The operands as addresses.
#[derive(Clone, Copy)]
struct Sides<T>(*const T, *mut T);
// SAFETY: made from views, which are Send + Sync; blocks write disjoint parts.
unsafe impl<T> Sync for Sides<T> {}

fn typed<T: Number>(x: *const T, n: usize, divisor: f64, (out, rows): (*mut T, usize)) {
    let sides = &Sides(x, out);
    let pieces = n.div_ceil(PIECE).max(1);
    if pieces == 1 {
        let blocks = (rows * n / PIECE).clamp(1, rows.max(1));
        return parallel_for(blocks, &|b| {
            for row in b * rows / blocks..(b + 1) * rows / blocks {
                let &Sides(x, out) = sides;
                // SAFETY: the row is inside the operands, and this block's own.
                unsafe {
                    let first = x.add(row * n);
                    *out.add(row) = T::from_f64(piece::<T>(first, first, n).squares / divisor);
                }
            }
        });
    }
    let mut partial = vec![Moments::NONE; rows * pieces];
    let slots = &Sides::<Moments>(std::ptr::null(), partial.as_mut_ptr());
    parallel_for(rows * pieces, &|i| {
        let (row, start) = (i / pieces, i % pieces * PIECE);
        let (&Sides(x, _), &Sides(_, slots)) = (sides, slots);
        // SAFETY: the piece is inside the row; the slot is this block's own.
        unsafe {
            let first = x.add(row * n);
            *slots.add(i) = piece::<T>(first.add(start), first, PIECE.min(n - start));
        }
    });
    for (row, parts) in partial.chunks_exact(pieces).enumerate() {
        let mut tree = PairwiseTree::new();
        parts.iter().for_each(|&part| tree.push(part, Moments::and));
        let all = tree.finish(Moments::and).unwrap_or(Moments::NONE);
        // SAFETY: the row is inside the output.
        unsafe { *out.add(row) = T::from_f64(all.squares / divisor) };
    }
}

/// The moments of a piece, about the element at `origin`: distances from an element of the row are exact where it matters,
/// whatever the mean is.
///
/// # Safety
/// `n` elements are readable, and so is `origin` if there are any.
unsafe fn piece<T: Number>(p: *const T, origin: *const T, n: usize) -> Moments {
    // SAFETY: the caller's contract.
    unsafe {
        if n <= BLOCK {
            return if n == 0 { Moments::NONE } else { block::<T>(p, *origin, n) };
        }
        let mut tree = PairwiseTree::new();
        for start in (0..n).step_by(BLOCK) {
            tree.push(block::<T>(p.add(start), *origin, BLOCK.min(n - start)), Moments::and);
        }
        tree.finish(Moments::and).unwrap_or(Moments::NONE)
    }
}

leveled! {
    /// The moments of at least one and at most `BLOCK` elements about `origin`.
    unsafe fn block<T: Number>(p: *const T, origin: T, n: usize) -> Moments = block_body
}

/// # Safety
/// `n` elements are readable.
#[inline(always)]
unsafe fn block_body<T: Number>(p: *const T, origin: T, n: usize) -> Moments {
    let count = n as f64;
    // SAFETY: the caller's contract, here and below.
    let mean = sum(n, |i| unsafe { *p.add(i) } - origin) / count;
    let centre = T::from_f64(mean);
    let square = |i: usize| {
        // SAFETY: as above.
        let gap = unsafe { *p.add(i) } - origin - centre;
        gap * gap
    };
    // What the mean lost when it was rounded.
    let lost = mean - centre.to_f64();
    Moments { count, mean, squares: sum(n, square) - count * lost * lost }
}
