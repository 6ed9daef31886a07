//! Matrix-vector products for the panel reductions, which spend half of their time in them.
//!
//! Loops over contiguous columns, four at a time, compiled for every CPU level. Invariant: every
//! level adds in the same order.

use std::hint::black_box;
use std::ops::Range;
use std::slice::from_raw_parts_mut;

use super::matrix::{Matrix, MatrixMut, MatrixRef};
use super::scalar::{Field, LANES, Real, sum_lanes};
use crate::kernels::multiversion::multiversion;

/// A column-major matrix.
#[derive(Clone, Copy)]
struct Columns<T> {
    ptr: *const T,
    stride: usize,
    rows: usize,
    columns: usize,
}

impl<T: Field> Columns<T> {
    fn of(a: &MatrixRef<'_, T>) -> Columns<T> {
        Columns { ptr: a.as_ptr(), stride: a.stride(), rows: a.nrows(), columns: a.ncols() }
    }

    /// As `of`, of a matrix that may be written.
    fn writable(a: &mut MatrixMut<'_, T>) -> Columns<T> {
        let ptr = a.as_mut_ptr();
        Columns { ptr, ..Columns::of(&a.as_view()) }
    }

    /// Applies the pending update to some columns, with `below` only to their rows from the
    /// diagonal on.
    #[inline(always)]
    unsafe fn apply_pending(
        self,
        pending: Option<Pending<'_, T>>,
        columns: Range<usize>,
        below: bool,
    ) {
        let Some(pending) = pending else { return };
        for c in columns {
            let row = if below { c } else { 0 };
            let part = self.ptr.wrapping_add(c * self.stride + row).cast_mut();
            // SAFETY: the caller guarantees that the columns exist and may be written.
            pending.apply(unsafe { from_raw_parts_mut(part, self.rows - row) }, row, c);
        }
    }

    /// Pointers to four columns from `k` on, at row `from`; missing columns repeat the last one.
    #[inline(always)]
    fn four_columns(self, k: usize, from: usize) -> [*const T; 4] {
        let at =
            |c: usize| self.ptr.wrapping_add((k + c).min(self.columns - 1) * self.stride + from);
        [at(0), at(1), at(2), at(3)]
    }
}

/// A delayed update `a -= left rightᴴ` of rank two.
#[derive(Clone, Copy)]
pub(super) struct Pending<'a, T> {
    pub(super) left: [&'a [T]; 2],
    pub(super) right: [&'a [T]; 2],
}

impl<'a, T: Field> Pending<'a, T> {
    /// The update of the submatrix that begins at this row and column.
    pub(super) fn from(self, row: usize, column: usize) -> Pending<'a, T> {
        let ([a, b], [c, d]) = (self.left, self.right);
        Pending { left: [&a[row..], &b[row..]], right: [&c[column..], &d[column..]] }
    }

    /// Applies the update to the part of a column that begins at `row`.
    #[inline(always)]
    pub(super) fn apply(self, part: &mut [T], row: usize, column: usize) {
        let by = [self.right[0][column].conjugate(), self.right[1][column].conjugate()];
        let (one, two) = (&self.left[0][row..], &self.left[1][row..]);
        for ((x, one), two) in part.iter_mut().zip(one).zip(two) {
            *x -= *one * by[0] + *two * by[1];
        }
    }
}

/// `sums += conj(a) x`.
#[inline(always)]
unsafe fn add_products<T: Field>(sums: &mut [T; LANES], a: *const T, x: [T; LANES]) {
    // SAFETY: the caller guarantees `LANES` elements.
    let a = unsafe { *a.cast::<[T; LANES]>() };
    for l in 0..LANES {
        sums[l] += a[l].conjugate() * x[l];
    }
}

/// `Σ conj(a_c) x` of four columns of `n` elements.
#[inline(always)]
unsafe fn four_dots<T: Field>(a: [*const T; 4], x: *const T, n: usize) -> [T; 4] {
    let [mut p, mut q, mut r, mut s] = [[T::zero(); LANES]; 4];
    let whole = n - n % LANES;
    // One array and one call per column: sums in an array of arrays are not vectorised at every
    // optimisation level.
    let mut i = 0;
    while i < whole {
        // SAFETY: `LANES` more elements are below `n`, which the caller guarantees.
        let x = unsafe { *x.add(i).cast::<[T; LANES]>() };
        // SAFETY: as above.
        unsafe {
            add_products(&mut p, a[0].add(i), x);
            add_products(&mut q, a[1].add(i), x);
            add_products(&mut r, a[2].add(i), x);
            add_products(&mut s, a[3].add(i), x);
        }
        i += LANES;
    }
    let mut rest = [T::zero(); 4];
    while i < n {
        // SAFETY: as above.
        unsafe {
            let x = *x.add(i);
            rest[0] += (*a[0].add(i)).conjugate() * x;
            rest[1] += (*a[1].add(i)).conjugate() * x;
            rest[2] += (*a[2].add(i)).conjugate() * x;
            rest[3] += (*a[3].add(i)).conjugate() * x;
        }
        i += 1;
    }
    // Forces the sums through memory: otherwise LLVM keeps a lane of every column in one vector and
    // shuffles in each step.
    let [p, q, r, s] = black_box([p, q, r, s]);
    [
        sum_lanes(&p) + rest[0],
        sum_lanes(&q) + rest[1],
        sum_lanes(&r) + rest[2],
        sum_lanes(&s) + rest[3],
    ]
}

/// `y += Σ a_c f_c` of four columns of `n` elements.
#[inline(always)]
unsafe fn four_axpys<T: Field>(a: [*const T; 4], f: [T; 4], y: *mut T, n: usize) {
    for i in 0..n {
        // SAFETY: `i` is below `n`, which the caller guarantees.
        unsafe {
            let at = |c: usize| *a[c].add(i) * f[c];
            *y.add(i) += (at(0) + at(1)) + (at(2) + at(3));
        }
    }
}

#[inline(always)]
unsafe fn adjoint_body<T: Field>(a: Columns<T>, x: *const T, y: *mut T) {
    for k in (0..a.columns).step_by(4) {
        // SAFETY: the columns hold their rows, `x` as many, and `y` an element for each column.
        unsafe {
            let sums = four_dots(a.four_columns(k, 0), x, a.rows);
            for (c, &sum) in sums.iter().enumerate().take(a.columns - k) {
                *y.add(k + c) = sum;
            }
        }
    }
}

#[inline(always)]
unsafe fn gemv_body<T: Field>(a: Columns<T>, x: *const T, y: *mut T) {
    for k in (0..a.columns).step_by(4) {
        let factor =
            // SAFETY: `x` holds an element for each column.
            |c: usize| if k + c < a.columns { unsafe { *x.add(k + c) } } else { T::zero() };
        // SAFETY: the columns and `y` hold the rows.
        unsafe {
            let factors = [factor(0), factor(1), factor(2), factor(3)];
            four_axpys(a.four_columns(k, 0), factors, y, a.rows);
        }
    }
}

/// The row-side operands of `fused_gemv_pair`: `aᴴ v` is added to `y`; the result, times tau, is
/// subtracted from `u`.
pub(super) struct AdjointOutput<'a, T> {
    pub(super) y: &'a mut [T],
    pub(super) u: &'a mut [T],
}

/// `y = factor (y + aᴴ v)`, `u -= y` and `x += a u`, in one pass over the columns, four at a time,
/// after the pending update of `a`.
#[inline(always)]
unsafe fn fused_body<T: Field>(
    a: Columns<T>,
    pending: Option<Pending<'_, T>>,
    v: *const T,
    factor: T,
    to: AdjointOutput<'_, T>,
    x: *mut T,
) {
    for k in (0..a.columns).step_by(4) {
        // SAFETY: the columns are below the last one, hold the rows, and may be written.
        unsafe { a.apply_pending(pending, k..a.columns.min(k + 4), false) }
        let mut updated = [T::zero(); 4];
        // SAFETY: the columns, `v` and `x` hold the rows.
        unsafe {
            let sums = four_dots(a.four_columns(k, 0), v, a.rows);
            let columns = to.y[k..].iter_mut().zip(&mut to.u[k..]);
            for (((y, u), sum), updated) in columns.zip(sums).zip(&mut updated) {
                *y = factor * (*y + sum);
                *u -= *y;
                *updated = *u;
            }
            four_axpys(a.four_columns(k, 0), updated, x, a.rows);
        }
    }
}

/// `y += a x` for the lower triangle of a Hermitian matrix. Below each diagonal block of four rows,
/// an element is loaded once and used for both of its positions.
#[inline(always)]
unsafe fn hermitian_body<T: Field>(
    a: Columns<T>,
    pending: Option<Pending<'_, T>>,
    x: *const T,
    y: *mut T,
) {
    let n = a.columns;
    for k in (0..n).step_by(4) {
        let end = (k + 4).min(n);
        // SAFETY: the columns are below the last one, hold the rows, and may be written.
        unsafe { a.apply_pending(pending, k..end, true) }
        // SAFETY: every index is below `n`, which `x` and `y` hold, as do the rows of each column.
        unsafe {
            let at = |i: usize, c: usize| *a.ptr.add(c * a.stride + i);
            for c in k..end {
                *y.add(c) += T::from_real(at(c, c).real()) * *x.add(c);
                for i in c + 1..end {
                    *y.add(i) += at(i, c) * *x.add(c);
                    *y.add(c) += at(i, c).conjugate() * *x.add(i);
                }
            }
            if end < n {
                let below = a.four_columns(k, end);
                let sums = four_dots(below, x.add(end), n - end);
                let factors = [*x.add(k), *x.add(k + 1), *x.add(k + 2), *x.add(k + 3)];
                four_axpys(below, factors, y.add(end), n - end);
                for (c, &sum) in sums.iter().enumerate() {
                    *y.add(k + c) += sum;
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn outer_body<T: Field>(a: Columns<T>, x: *const T, y: *const T) {
    for k in 0..a.columns {
        // SAFETY: the columns and `x` hold the rows, `y` an element for each column; the matrix may be written.
        unsafe {
            let (to, factor) = (a.ptr.cast_mut().add(k * a.stride), (*y.add(k)).conjugate());
            for i in 0..a.rows {
                *to.add(i) -= *x.add(i) * factor;
            }
        }
    }
}

#[inline(always)]
unsafe fn rotate_body(x: *mut f64, y: *mut f64, n: usize, c: f64, s: f64) {
    for i in 0..n {
        // SAFETY: both hold `n` elements.
        unsafe {
            let (a, b) = (*x.add(i), *y.add(i));
            *x.add(i) = c * a - s * b;
            *y.add(i) = s * a + c * b;
        }
    }
}

#[inline(always)]
unsafe fn squares_body<R: Real>(x: &[R]) -> R {
    let mut sums = [R::ZERO; LANES];
    for part in x.chunks(LANES) {
        sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += *x * *x);
    }
    sum_lanes(&sums)
}

multiversion! {
    unsafe fn squares_loop<R: Real>(x: &[R]) -> R = squares_body
}
multiversion! {
    unsafe fn rotate_loop(x: *mut f64, y: *mut f64, n: usize, c: f64, s: f64) = rotate_body
}
multiversion! {
    unsafe fn adjoint_loop<T: Field>(a: Columns<T>, x: *const T, y: *mut T) = adjoint_body
}
multiversion! {
    unsafe fn gemv_loop<T: Field>(a: Columns<T>, x: *const T, y: *mut T) = gemv_body
}
multiversion! {
    unsafe fn fused_loop<T: Field>(
        a: Columns<T>, pending: Option<Pending<'_, T>>, v: *const T, factor: T, to: AdjointOutput<'_, T>, x: *mut T,
    ) = fused_body
}
multiversion! {
    unsafe fn outer_loop<T: Field>(a: Columns<T>, x: *const T, y: *const T) = outer_body
}
multiversion! {
    unsafe fn hermitian_loop<T: Field>(
        a: Columns<T>, pending: Option<Pending<'_, T>>, x: *const T, y: *mut T,
    ) = hermitian_body
}

/// The sum of squares.
pub(super) fn squares<R: Real>(x: &[R]) -> R {
    // SAFETY: the body is safe.
    unsafe { squares_loop(x) }
}

/// Rotates two vectors: `c x - s y` and `s x + c y`.
pub(super) fn rotate(x: &mut [f64], y: &mut [f64], c: f64, s: f64) {
    assert_eq!(x.len(), y.len(), "turn: the dims do not agree");
    // SAFETY: both hold as many elements, and are borrowed mutably.
    unsafe { rotate_loop(x.as_mut_ptr(), y.as_mut_ptr(), x.len(), c, s) }
}

/// `aᴴ x`.
pub(super) fn adjoint_times<T: Field>(a: MatrixRef<'_, T>, x: &[T]) -> Vec<T> {
    assert_eq!(a.nrows(), x.len(), "adjoint_times: the dims do not agree");
    let mut y = vec![T::zero(); a.ncols()];
    // SAFETY: the operands hold these dims.
    unsafe { adjoint_loop(Columns::of(&a), x.as_ptr(), y.as_mut_ptr()) }
    y
}

/// `-aᴴ x`.
pub(super) fn negated_adjoint_times<T: Field>(a: MatrixRef<'_, T>, x: &[T]) -> Vec<T> {
    let mut y = adjoint_times(a, x);
    y.iter_mut().for_each(|y| *y = -*y);
    y
}

/// `y += a x`.
pub(super) fn add_times<T: Field>(y: &mut [T], a: MatrixRef<'_, T>, x: &[T]) {
    assert!(a.shape() == (y.len(), x.len()), "add_times: the dims do not agree");
    // SAFETY: the operands hold these dims.
    unsafe { gemv_loop(Columns::of(&a), x.as_ptr(), y.as_mut_ptr()) }
}

/// `y = factor (y + aᴴ v)`, `u -= y` and `x = a u`, after the pending update of `a`.
pub(super) fn fused_gemv_pair<T: Field>(
    mut a: MatrixMut<'_, T>,
    pending: Option<Pending<'_, T>>,
    (v, factor): (&[T], T),
    to: AdjointOutput<'_, T>,
    x: &mut [T],
) {
    let dims = (v.len(), to.y.len());
    let fits = a.shape() == dims && to.u.len() == dims.1 && x.len() == dims.0;
    assert!(fits, "pull_and_push: the dims do not agree");
    x.fill(T::zero());
    // SAFETY: the operands hold these dims, and `a` is borrowed mutably.
    unsafe {
        fused_loop(Columns::writable(&mut a), pending, v.as_ptr(), factor, to, x.as_mut_ptr())
    }
}

/// `y -= of[from.., ..k] (by[row, ..k])ᴴ`.
pub(super) fn subtract_times_row<T: Field>(
    y: &mut [T],
    (of, from): (&Matrix<T>, usize),
    (by, row): (&Matrix<T>, usize),
    k: usize,
) {
    let row: Vec<T> = (0..k).map(|c| -by[(row, c)].conjugate()).collect();
    add_times(y, of.view(from.., ..k), &row);
}

/// `y -= of[from.., ..k] (byᴴ x)`, with the last `x.len()` rows of `by`.
pub(super) fn subtract_times_adjoint<T: Field>(
    y: &mut [T],
    (of, from): (&Matrix<T>, usize),
    (by, x): (&Matrix<T>, &[T]),
    k: usize,
) {
    let inner = negated_adjoint_times(by.view(by.nrows() - x.len().., ..k), x);
    add_times(y, of.view(from.., ..k), &inner);
}

/// `y = a x` for the Hermitian matrix with this lower triangle, after its pending update.
pub(super) fn hermitian_times<T: Field>(
    mut a: MatrixMut<'_, T>,
    pending: Option<Pending<'_, T>>,
    x: &[T],
    y: &mut [T],
) {
    let dims = (x.len(), x.len());
    assert!(a.shape() == dims && y.len() == dims.0, "hermitian_times: the dims do not agree");
    y.fill(T::zero());
    // SAFETY: the operands hold these dims, and `a` is borrowed mutably.
    unsafe { hermitian_loop(Columns::writable(&mut a), pending, x.as_ptr(), y.as_mut_ptr()) }
}

/// `a -= x yᴴ`.
pub(super) fn subtract_outer<T: Field>(a: &mut MatrixMut<'_, T>, x: &[T], y: &[T]) {
    assert!(a.shape() == (x.len(), y.len()), "subtract_outer: the dims do not agree");
    // SAFETY: the operands hold these dims, and `a` is borrowed mutably.
    unsafe { outer_loop(Columns::writable(a), x.as_ptr(), y.as_ptr()) }
}
