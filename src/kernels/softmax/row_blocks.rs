//! What the fused rows share: the float types, the splitting of rows, the sum of exponentials.
//!
//! Owns: `Float`, `Shape`, `by_rows`, `shifted_sum_body`. Never decides what is computed.
//! Invariant: rows are independent, so any split of them gives the same result.

use std::mem::MaybeUninit;

use super::masked_rows::Spread;
#[cfg(target_arch = "x86_64")]
use super::masked_rows::in_vectors;
use crate::dtype::Element;
use crate::kernels::math;
use crate::kernels::reduce::{Fold, LEAF, Max, Sum, Tree, fold_rows};
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
    const ONE: Self;
    /// The exponential of a number that is not above zero, but for a rounding.
    fn exp<const FMA: bool>(self) -> Self;
    /// The logarithm of a sum of numbers up to one, of which the largest is one.
    fn log<const FMA: bool>(self) -> Self;
    /// The quotient by a number of one or more, whose reciprocal is known; for less than a division takes.
    fn divided<const FMA: bool>(self, by: Self, reciprocal: Self) -> Self;
    /// `spread` by the vectors of this process, if it has any.
    ///
    /// # Safety
    /// As `spread`.
    unsafe fn by_vectors(
        how: Spread,
        elements: (*const Self, *mut Self),
        size: (usize, usize),
        of_rows: (*const Self, *const Self),
    ) -> bool;
    /// The larger one; NaN if one is.
    fn larger(self, o: Self) -> Self;
    /// The largest element of each of `rows` rows of `n`.
    ///
    /// # Safety
    /// The rows are readable, and there is room for as many results.
    unsafe fn largest(p: *const Self, n: usize, out: *mut Self, rows: usize);
    /// The sums of rows.
    ///
    /// # Safety
    /// As `largest`.
    unsafe fn total(p: *const Self, n: usize, out: *mut Self, rows: usize);
}

macro_rules! float {
    ($($t:ident: $wide:ident $avx512:ident, $narrow:ident $avx2:ident;)*) => {$(
        /// # Safety
        /// As `spread`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
        unsafe fn $avx512(
            how: Spread,
            elements: (*const $t, *mut $t),
            size: (usize, usize),
            of_rows: (*const $t, *const $t),
        ) {
            // SAFETY: the same contract.
            unsafe { in_vectors::<std::arch::x86_64::$wide>(how, elements, size, of_rows) }
        }
        /// # Safety
        /// As `spread`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $avx2(
            how: Spread,
            elements: (*const $t, *mut $t),
            size: (usize, usize),
            of_rows: (*const $t, *const $t),
        ) {
            // SAFETY: the same contract.
            unsafe { in_vectors::<std::arch::x86_64::$narrow>(how, elements, size, of_rows) }
        }
        impl Float for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            #[inline(always)]
            fn exp<const FMA: bool>(self) -> $t {
                math::$t::exp_of_negative::<FMA>(self)
            }
            #[inline(always)]
            fn log<const FMA: bool>(self) -> $t {
                math::$t::ln::<FMA>(self)
            }
            #[inline(always)]
            fn divided<const FMA: bool>(self, by: $t, reciprocal: $t) -> $t {
                if !FMA {
                    return self / by;
                }
                // What the product lacks is exact.
                let near = self * reciprocal;
                (-near).mul_add(by, self).mul_add(reciprocal, near)
            }
            #[inline]
            unsafe fn by_vectors(
                how: Spread,
                elements: (*const $t, *mut $t),
                size: (usize, usize),
                of_rows: (*const $t, *const $t),
            ) -> bool {
                #[cfg(target_arch = "x86_64")]
                {
                    use crate::kernels::isa::{Level, level};
                    // SAFETY: the CPU has the features of its level; the rest is the caller's contract.
                    unsafe {
                        match level() {
                            Level::Avx512 => $avx512(how, elements, size, of_rows),
                            Level::Avx2 => $avx2(how, elements, size, of_rows),
                            Level::Baseline => return false,
                        }
                    }
                    true
                }
                #[cfg(not(target_arch = "x86_64"))]
                {
                    let _ = (how, elements, size, of_rows);
                    false
                }
            }
            #[inline(always)]
            fn larger(self, o: $t) -> $t {
                Max::<$t>::merge(self, o)
            }
            #[inline(always)]
            unsafe fn largest(p: *const $t, n: usize, out: *mut $t, rows: usize) {
                // SAFETY: the caller's contract.
                unsafe { fold_rows::<Max<$t>>(p, n, n as isize, out, 1, rows) }
            }
            #[inline(always)]
            unsafe fn total(p: *const $t, n: usize, out: *mut $t, rows: usize) {
                // SAFETY: the caller's contract.
                unsafe { fold_rows::<Sum<$t>>(p, n, n as isize, out, 1, rows) }
            }
        }
    )*};
}
float! { f64: __m512d wide_doubles, __m256d doubles; f32: __m512 wide_singles, __m256 singles; }

/// Rows and columns of contiguous operands of equal dims.
pub(super) fn shape(dims: &[usize], contiguous: &[bool]) -> (usize, usize) {
    let shape = Shape::of(dims, dims.len().saturating_sub(1), contiguous);
    (shape.outer, shape.n)
}

/// Contiguous operands as rows of an axis: how many positions are before it, along it and behind it.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) outer: usize,
    pub(super) n: usize,
    pub(super) inner: usize,
}

impl Shape {
    pub(super) fn of(dims: &[usize], axis: usize, contiguous: &[bool]) -> Shape {
        assert!(contiguous.iter().all(|&c| c), "softmax takes contiguous operands");
        let (before, rest) = dims.split_at(axis);
        let (n, behind) = rest.split_first().map_or((1, rest), |(&n, behind)| (n, behind));
        Shape { outer: before.iter().product(), n, inner: behind.iter().product() }
    }
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

/// The pairwise sum of `exp(x - top)`.
///
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
        let mut part = T::ZERO;
        // SAFETY: the first `len` elements of the buffer were just written.
        unsafe { T::total(buffer.as_ptr().cast(), len, &mut part, 1) };
        tree.push(part, |a, b| a + b);
    }
    tree.finish(|a, b| a + b).unwrap_or(T::ZERO)
}
