//! The product of complex matrices as one real product of twice the inner size and twice the columns.
//!
//! Owns: the real reading of the operands: a row of `a` is its parts as they lie in memory, and a row of `b` becomes two,
//! itself and `i` times itself. Four real products would read and write every second number. Three would be faster and
//! lose what is small beside the other part, on which derivatives by complex steps rest.
//! Never splits. Invariant: the inner axis is cut into the same pieces whichever block of the result is computed.

use super::float::{self, FloatGemm};
use super::product::{Mat, Size};
use crate::dtype::{Complex64, Complex128};

/// Inner size of a piece, which bounds the memory of the real operands.
const DEPTH: usize = 256;
/// Elements read along the other axis where the operand is transposed.
const TILE: usize = 4;
/// Elements behind each row of a copy: rows a power of two apart would meet in the same lines of the cache.
const GAP: usize = 16;

/// A complex number of which matrices are multiplied.
pub(in crate::kernels) trait ComplexGemm: Copy + Default {
    /// Its parts.
    type Part: FloatGemm;
    /// The parts.
    fn parts(self) -> [Self::Part; 2];
    /// The parts of `i` times the number.
    fn turned(self) -> [Self::Part; 2];
    /// The number with the other sign.
    fn negated(self) -> Self;
}

macro_rules! complexes {
    ($($c:ty, $part:ty;)*) => {$(
        impl ComplexGemm for $c {
            type Part = $part;
            #[inline(always)]
            fn parts(self) -> [$part; 2] {
                [self.re, self.im]
            }
            #[inline(always)]
            fn turned(self) -> [$part; 2] {
                [-self.im, self.re]
            }
            #[inline(always)]
            fn negated(self) -> $c {
                -self
            }
        }
    )*};
}
complexes! { Complex128, f64; Complex64, f32; }

/// `c = a b`, `c += a b` with `keep`; with `minus` the other sign of the product.
///
/// # Safety
/// The operands are valid for the sizes, and `c` overlaps neither.
pub(in crate::kernels) unsafe fn multiply<C: ComplexGemm>(
    s: Size,
    c: Mat<*mut C>,
    keep: bool,
    a: Mat<*const C>,
    b: Mat<*const C>,
    minus: bool,
) {
    let (by_rows, by_columns) = (c.cs == 1 || s.n == 1, c.rs == 1 || s.m == 1);
    // SAFETY: the caller's contract, also for the transposed product.
    unsafe {
        if by_rows && (s.m != 1 || s.n == 1) {
            pieces(s, c, keep, a, b, minus);
        } else if by_columns {
            let turned = Size { m: s.n, n: s.m, k: s.k };
            pieces(turned, c.transposed(), keep, b.transposed(), a.transposed(), minus);
        } else {
            scattered(s, c, keep, a, b, minus);
        }
    }
}

/// A result whose rows are not contiguous is computed beside it.
///
/// # Safety
/// As `multiply`.
unsafe fn scattered<C: ComplexGemm>(
    s: Size,
    c: Mat<*mut C>,
    keep: bool,
    a: Mat<*const C>,
    b: Mat<*const C>,
    minus: bool,
) {
    let at = |i: usize, j: usize| c.from(i, j).ptr;
    // SAFETY: the caller's contract.
    let start = |p: usize| if keep { unsafe { *at(p / s.n, p % s.n) } } else { C::default() };
    let mut beside: Vec<C> = (0..s.m * s.n).map(start).collect();
    // SAFETY: the copy has room for the result.
    unsafe {
        pieces(s, Mat::new(beside.as_mut_ptr(), [s.n as isize, 1]), keep, a, b, minus);
        for i in 0..s.m {
            (0..s.n).for_each(|j| at(i, j).write(beside[i * s.n + j]));
        }
    }
}

/// A product whose result has contiguous rows.
///
/// # Safety
/// As `multiply`.
unsafe fn pieces<C: ComplexGemm>(
    s: Size,
    c: Mat<*mut C>,
    keep: bool,
    a: Mat<*const C>,
    b: Mat<*const C>,
    minus: bool,
) {
    let deep = s.k.min(DEPTH);
    let copied = a.cs != 1;
    let mut left: Vec<C::Part> =
        Vec::with_capacity(if copied { s.m * (2 * deep + GAP) } else { 0 });
    let mut right: Vec<C::Part> = Vec::with_capacity(2 * deep * (2 * s.n + GAP));
    let to = Mat::new(c.ptr.cast::<C::Part>(), [2 * c.rs, 1]);
    let mut start = 0;
    while start < s.k || start == 0 {
        let k = DEPTH.min(s.k - start);
        // SAFETY: the piece lies inside the operands, and the copies have room for it.
        unsafe {
            let from = a.from(0, start);
            let parts = if copied {
                rows(s.m, k, from, left.as_mut_ptr());
                Mat::new(left.as_ptr(), [(2 * k + GAP) as isize, 1])
            } else {
                Mat::new(from.ptr.cast(), [2 * a.rs, 1])
            };
            doubled(k, s.n, b.from(start, 0), minus, right.as_mut_ptr());
            let doubled = Mat::new(right.as_ptr(), [(2 * s.n + GAP) as isize, 1]);
            let size = Size { m: s.m, n: 2 * s.n, k: 2 * k };
            float::multiply(size, to, keep || start > 0, parts, doubled, C::Part::ONE);
        }
        start += DEPTH;
    }
}

/// Calls `each(i, j)` for every place of a matrix, along the axis that is contiguous in memory.
#[inline(always)]
fn walk(rows: usize, columns: usize, across: bool, mut each: impl FnMut(usize, usize)) {
    if !across {
        for i in 0..rows {
            (0..columns).for_each(|j| each(i, j));
        }
        return;
    }
    for first in (0..rows).step_by(TILE) {
        for j in 0..columns {
            (first..rows.min(first + TILE)).for_each(|i| each(i, j));
        }
    }
}

/// The parts of a matrix, row after row.
///
/// # Safety
/// The matrix is readable, and `to` has room for its parts.
unsafe fn rows<C: ComplexGemm>(m: usize, k: usize, a: Mat<*const C>, to: *mut C::Part) {
    walk(m, k, a.rs.unsigned_abs() < a.cs.unsigned_abs(), |i, p| {
        // SAFETY: the caller's contract.
        unsafe {
            to.add(i * (2 * k + GAP) + 2 * p)
                .cast::<[C::Part; 2]>()
                .write((*a.from(i, p).ptr).parts())
        }
    });
}

/// Each row of `b` followed by `i` times it, as parts.
///
/// # Safety
/// The matrix is readable, and `to` has room for its parts twice.
unsafe fn doubled<C: ComplexGemm>(
    k: usize,
    n: usize,
    b: Mat<*const C>,
    minus: bool,
    to: *mut C::Part,
) {
    walk(k, n, b.rs.unsigned_abs() < b.cs.unsigned_abs(), |p, j| {
        // SAFETY: the caller's contract.
        unsafe {
            let value = *b.from(p, j).ptr;
            let value = if minus { value.negated() } else { value };
            let row = to.add(2 * p * (2 * n + GAP) + 2 * j);
            row.cast::<[C::Part; 2]>().write(value.parts());
            row.add(2 * n + GAP).cast::<[C::Part; 2]>().write(value.turned());
        }
    });
}
