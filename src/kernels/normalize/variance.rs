//! Variance of rows, in one pass over memory.
//!
//! A block stays in the first cache between the two passes over it (mean, then squares); blocks are
//! merged pairwise. Invariant: blocks and pieces follow from the length of a row and are merged in
//! a balanced tree, so results do not depend on the number of threads.

use super::super::launch::launch;
use super::super::reduce::PairwiseTree;
use super::super::view::{View, ViewMut, with_float};
use super::rows::{Number, sum};
use crate::kernels::multiversion::multiversion;
use crate::threads::parallel_for;

/// Elements of a block: 16 KiB of float64.
const BLOCK_ELEMENTS: usize = 2048;
/// Elements of a piece, the unit of parallel work.
const PIECE_ELEMENTS: usize = 1 << 16;

/// Count, mean, and sum of squared deviations of some elements.
#[derive(Clone, Copy)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    const EMPTY: Moments = Moments { count: 0.0, mean: 0.0, squares: 0.0 };

    /// The moments of the union of two nonempty sets.
    fn merge(self, other: Moments) -> Moments {
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
    with_float!([x, out], T => variance_typed::<T>(x.at(0), n, divisor, (out.at(0), rows)));
}

/// Pointers shared by threads.
#[derive(Clone, Copy)]
struct Pointers<T>(*const T, *mut T);
// SAFETY: made from views, which are Send + Sync; blocks write disjoint parts.
unsafe impl<T> Sync for Pointers<T> {}

fn variance_typed<T: Number>(x: *const T, n: usize, divisor: f64, (out, rows): (*mut T, usize)) {
    let pointers = &Pointers(x, out);
    let pieces = n.div_ceil(PIECE_ELEMENTS).max(1);
    if pieces == 1 {
        let blocks = (rows * n / PIECE_ELEMENTS).clamp(1, rows.max(1));
        return parallel_for(blocks, &|b| {
            for row in b * rows / blocks..(b + 1) * rows / blocks {
                let &Pointers(x, out) = pointers;
                // SAFETY: the row is inside the operands, and only this block writes it.
                unsafe {
                    let first = x.add(row * n);
                    *out.add(row) = T::from_f64(piece::<T>(first, first, n).squares / divisor);
                }
            }
        });
    }
    let mut partial = vec![Moments::EMPTY; rows * pieces];
    let slots = &Pointers::<Moments>(std::ptr::null(), partial.as_mut_ptr());
    parallel_for(rows * pieces, &|i| {
        let (row, start) = (i / pieces, i % pieces * PIECE_ELEMENTS);
        let (&Pointers(x, _), &Pointers(_, slots)) = (pointers, slots);
        // SAFETY: the piece is inside the row, and only this block writes the slot.
        unsafe {
            let first = x.add(row * n);
            *slots.add(i) = piece::<T>(first.add(start), first, PIECE_ELEMENTS.min(n - start));
        }
    });
    for (row, parts) in partial.chunks_exact(pieces).enumerate() {
        let mut tree = PairwiseTree::new();
        parts.iter().for_each(|&part| tree.push(part, Moments::merge));
        let all = tree.finish(Moments::merge).unwrap_or(Moments::EMPTY);
        // SAFETY: the row is inside the output.
        unsafe { *out.add(row) = T::from_f64(all.squares / divisor) };
    }
}

/// The moments of a piece, relative to the element at `origin`: differences of elements of one row
/// are exact where it matters, whatever the mean is.
///
/// # Safety
/// `n` elements are readable, and so is `origin` if there are any.
unsafe fn piece<T: Number>(p: *const T, origin: *const T, n: usize) -> Moments {
    // SAFETY: the caller's contract.
    unsafe {
        if n <= BLOCK_ELEMENTS {
            return if n == 0 { Moments::EMPTY } else { block::<T>(p, *origin, n) };
        }
        let mut tree = PairwiseTree::new();
        for start in (0..n).step_by(BLOCK_ELEMENTS) {
            tree.push(
                block::<T>(p.add(start), *origin, BLOCK_ELEMENTS.min(n - start)),
                Moments::merge,
            );
        }
        tree.finish(Moments::merge).unwrap_or(Moments::EMPTY)
    }
}

multiversion! {
    /// The moments of 1 to `BLOCK_ELEMENTS` elements, relative to `origin`.
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
    // Rounding error of the mean.
    let lost = mean - centre.to_f64();
    Moments { count, mean, squares: sum(n, square) - count * lost * lost }
}
