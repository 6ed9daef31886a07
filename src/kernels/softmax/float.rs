//! What the fused rows share: the float types, the splitting of rows, the sum of exponentials.
//!
//! Owns: `Float`, `by_rows`, `shifted_sum`. Never decides what is computed.
//! Invariant: rows are independent, so any split of them gives the same result.

use std::mem::MaybeUninit;

use super::super::leveled::leveled_fma;
use super::super::math;
use super::super::reduce::{LEAF, Max, Sum, Tree, fold_run};
use crate::dtype::Element;
use crate::threads::parallel_for;

/// Elements per block of a split.
const BLOCK: usize = 1 << 15;

/// A float type with what the rows need.
pub(super) trait Float:
    Element
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Add<Output = Self>
    + std::ops::Div<Output = Self>
{
    const ZERO: Self;
    /// The exponential of a number that is not above zero, but for a rounding.
    fn exp<const FMA: bool>(self) -> Self;
    fn ln(self) -> Self;
    /// # Safety
    /// `n` elements are readable.
    unsafe fn largest(p: *const Self, n: usize) -> Self;
    /// # Safety
    /// `n` elements are readable.
    unsafe fn total(p: *const Self, n: usize) -> Self;
}

macro_rules! float {
    ($($t:ident),*) => {$(
        impl Float for $t {
            const ZERO: $t = 0.0;
            #[inline(always)]
            fn exp<const FMA: bool>(self) -> $t {
                math::$t::exp_of_negative::<FMA>(self)
            }
            #[inline(always)]
            fn ln(self) -> $t {
                $t::ln(self)
            }
            #[inline(always)]
            unsafe fn largest(p: *const $t, n: usize) -> $t {
                // SAFETY: the caller's contract.
                unsafe { fold_run::<Max<$t>>(p, n) }
            }
            #[inline(always)]
            unsafe fn total(p: *const $t, n: usize) -> $t {
                // SAFETY: the caller's contract.
                unsafe { fold_run::<Sum<$t>>(p, n) }
            }
        }
    )*};
}
float!(f64, f32);

/// Rows and columns of contiguous operands of equal dims.
pub(super) fn shape(dims: &[usize], contiguous: &[bool]) -> (usize, usize) {
    assert!(contiguous.iter().all(|&c| c), "softmax takes contiguous rows");
    let columns = dims.last().copied().unwrap_or(1);
    (dims.iter().rev().skip(1).product(), columns)
}

/// Runs `body(first row, row count)` over all rows, split when there is much to do.
pub(super) fn by_rows(rows: usize, columns: usize, body: &(dyn Fn(usize, usize) + Sync)) {
    if rows == 0 || columns == 0 {
        return;
    }
    let blocks = (rows * columns / BLOCK).clamp(1, rows);
    parallel_for(blocks, &|i| {
        let (start, end) = (i * rows / blocks, (i + 1) * rows / blocks);
        body(start, end - start);
    });
}

leveled_fma! {
    /// The pairwise sum of `exp(x - top)`.
    pub(super) unsafe fn shifted_sum<T: Float>(x: *const T, n: usize, top: T) -> T = shifted_sum_body
}

/// # Safety
/// `x` holds `n` elements.
#[inline(always)]
pub(super) unsafe fn shifted_sum_body<T: Float, const FMA: bool>(
    x: *const T,
    n: usize,
    top: T,
) -> T {
    let mut buffer = [MaybeUninit::<T>::uninit(); LEAF];
    let mut tree = Tree::new();
    for start in (0..n).step_by(LEAF) {
        let len = LEAF.min(n - start);
        for (j, slot) in buffer[..len].iter_mut().enumerate() {
            // SAFETY: the caller's contract.
            slot.write((unsafe { *x.add(start + j) } - top).exp::<FMA>());
        }
        // SAFETY: the first `len` elements of the buffer were just written.
        tree.push(unsafe { T::total(buffer.as_ptr().cast(), len) }, |a, b| a + b);
    }
    tree.finish(|a, b| a + b).unwrap_or(T::ZERO)
}
