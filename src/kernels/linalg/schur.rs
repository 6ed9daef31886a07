//! Schur form, eigenvalues and eigenvectors of square matrices.
//!
//! Complex matrices use the shifted QR iteration in complex arithmetic, real ones `real_schur`.
//! Invariant: vectors have length 1 and a positive largest component, as LAPACK's have.
//!
//! Sources: Golub and Van Loan, Matrix Computations, 7.5 and 7.6; the exceptional shifts are those
//! of EISPACK's `comqr`.

use super::super::launch::launch;
use super::super::view::{View, ViewMut};
use super::batch::{Stack, for_each_item};
use super::factor::{divide_by, power_of_two_scale};
use super::matrix::{Matrix, dot_product};
use super::real_schur;
use super::real_schur::RealSchur;
use super::scalar::{Field, product};
use crate::dtype::Complex128;

/// A complex Schur form: upper triangular `t` and unitary `z` with `z t zᴴ = a`.
pub(super) struct ComplexSchur {
    pub(super) t: Matrix<Complex128>,
    pub(super) z: Matrix<Complex128>,
}

/// Most iterations per eigenvalue.
const MAX_STEPS_PER_VALUE: usize = 40;

fn norm1(z: Complex128) -> f64 {
    z.re.abs() + z.im.abs()
}

/// The Givens rotation `[[c, s], [-s̄, c]]` that maps `(a, b)` to `(r, 0)`.
fn rotation(a: Complex128, b: Complex128) -> (f64, Complex128) {
    let length = a.norm().hypot(b.norm());
    if b == Complex128::default() {
        return (1.0, b);
    }
    if a == Complex128::default() {
        return (0.0, b.conj() / length);
    }
    (a.norm() / length, a / a.norm() * b.conj() / length)
}

impl ComplexSchur {
    /// The Schur form of a finite matrix; `None` without convergence.
    pub(super) fn of(a: Matrix<Complex128>) -> Option<ComplexSchur> {
        let n = a.nrows();
        if n < 2 {
            return Some(ComplexSchur { t: a, z: Matrix::identity(n, n) });
        }
        let (z, t) = real_schur::reduce(a).into_q_h(true);
        let mut form = ComplexSchur { t, z };
        let (mut last, mut step, mut total) = (n - 1, 0, 0);
        loop {
            while last > 0 && form.negligible(last - 1) {
                (last, step) = (last - 1, 0);
            }
            if last == 0 {
                return Some(form);
            }
            (step, total) = (step + 1, total + 1);
            if total > MAX_STEPS_PER_VALUE * n {
                return None;
            }
            let mut first = last - 1;
            while first > 0 && !form.negligible(first - 1) {
                first -= 1;
            }
            let shift = form.shift(last, step);
            form.chase(first, last, shift);
        }
    }

    /// Whether the subdiagonal element in column `i` is negligible; if so, sets it to zero.
    fn negligible(&mut self, i: usize) -> bool {
        let around = norm1(self.t[(i, i)]) + norm1(self.t[(i + 1, i + 1)]);
        let small = norm1(self.t[(i + 1, i)]) <= f64::EPSILON * around.max(f64::MIN_POSITIVE);
        if small {
            self.t[(i + 1, i)] = Complex128::default();
        }
        small
    }

    /// The Wilkinson shift: the eigenvalue of the last 2 × 2 block that is nearer to the last
    /// element.
    fn shift(&self, last: usize, step: usize) -> Complex128 {
        let t = &self.t;
        if step.is_multiple_of(10) {
            let above = if last > 1 { t[(last - 1, last - 2)].re.abs() } else { 0.0 };
            return Complex128::new(t[(last, last - 1)].re.abs() + above, 0.0);
        }
        let (a, b) = (t[(last - 1, last - 1)], t[(last - 1, last)]);
        let (c, d) = (t[(last, last - 1)], t[(last, last)]);
        let half = (a - d) / 2.0;
        let root = (half * half + b * c).sqrt();
        let root = if (half.conj() * root).re < 0.0 { -root } else { root };
        let sum = half + root;
        if sum == Complex128::default() { d } else { d - b * c / sum }
    }

    /// One shifted QR step on the rows `first..=last`.
    fn chase(&mut self, first: usize, last: usize, shift: Complex128) {
        let n = self.t.nrows();
        let (mut head, mut below) = (self.t[(first, first)] - shift, self.t[(first + 1, first)]);
        for i in first..last {
            let (c, s) = rotation(head, below);
            for k in i.saturating_sub(1).max(first)..n {
                let (x, y) = (self.t[(i, k)], self.t[(i + 1, k)]);
                self.t[(i, k)] = x * c + s * y;
                self.t[(i + 1, k)] = y * c - s.conj() * x;
            }
            let rotate = |m: &mut Matrix<Complex128>, rows: usize| {
                for k in 0..rows {
                    let (x, y) = (m[(k, i)], m[(k, i + 1)]);
                    m[(k, i)] = x * c + s.conj() * y;
                    m[(k, i + 1)] = y * c - s * x;
                }
            };
            rotate(&mut self.t, (i + 2).min(last) + 1);
            rotate(&mut self.z, n);
            if i > first {
                self.t[(i + 1, i - 1)] = Complex128::default();
            }
            if i + 1 < last {
                (head, below) = (self.t[(i + 1, i)], self.t[(i + 2, i)]);
            }
        }
    }

    /// Eigenvectors (columns) by back substitution.
    fn vectors(&self) -> Matrix<Complex128> {
        let n = self.t.nrows();
        let size = self.t.as_slice().iter().map(|&x| norm1(x)).fold(f64::MIN_POSITIVE, f64::max);
        let min_gap = f64::EPSILON * size;
        let mut schur_vectors = Matrix::<Complex128>::zeros(n, n);
        for k in 0..n {
            schur_vectors[(k, k)] = Complex128::new(1.0, 0.0);
            for i in (0..k).rev() {
                let sum = (i + 1..=k).fold(Complex128::default(), |sum, j| {
                    sum - self.t[(i, j)] * schur_vectors[(j, k)]
                });
                let gap = self.t[(i, i)] - self.t[(k, k)];
                let gap = if gap.norm() < min_gap { Complex128::new(min_gap, 0.0) } else { gap };
                schur_vectors[(i, k)] = sum / gap;
                // Vectors of equal eigenvalues grow by 1 / epsilon at each of them.
                let grown = schur_vectors[(i, k)].norm();
                if grown > 1e100 {
                    schur_vectors.column_mut(k).iter_mut().for_each(|x| *x /= grown);
                }
            }
        }
        product(&self.z, &schur_vectors)
    }
}

/// Scales vectors to length 1 with a positive largest component.
fn normalize(vectors: &mut Matrix<Complex128>) {
    for column in vectors.column_iter_mut() {
        let largest = column
            .iter()
            .copied()
            .fold(Complex128::default(), |m, x| if x.norm_sqr() > m.norm_sqr() { x } else { m });
        let unit = largest.signum().conj() / dot_product(column, column).re.sqrt();
        column.iter_mut().for_each(|x| *x *= unit);
    }
}

/// Eigenvalues, and eigenvectors (columns) if `wanted`.
fn eigen(
    a: &Stack<'_>,
    index: usize,
    wanted: bool,
) -> Option<(Vec<Complex128>, Matrix<Complex128>)> {
    let (mut values, mut vectors, unit);
    if a.is_complex() {
        let matrix = a.load(index);
        unit = power_of_two_scale(&matrix)?;
        let form = ComplexSchur::of(divide_by(matrix, unit))?;
        values = form.t.diagonal().collect::<Vec<_>>();
        vectors = if wanted { form.vectors() } else { Matrix::zeros(0, 0) };
    } else {
        let matrix = a.load(index);
        unit = power_of_two_scale(&matrix)?;
        (values, vectors) = real_schur::eigen(divide_by(matrix, unit), wanted)?;
    }
    normalize(&mut vectors);
    values.iter_mut().for_each(|value| *value *= unit);
    Some((values, vectors))
}

/// Eigenvalues and eigenvectors (columns) of real or complex square matrices; both results are
/// complex. The error is the index of a matrix with NaN or infinity, or without convergence.
pub fn eig(a: View, w: ViewMut, v: ViewMut) -> Result<(), usize> {
    launch!("eig", [a] => [w, v];; eig_of(a, w, Some(v)))
}

/// Eigenvalues only.
pub fn eigvals(a: View, w: ViewMut) -> Result<(), usize> {
    launch!("eigvals", [a] => [w];; eig_of(a, w, None))
}

fn eig_of(a: View, w: ViewMut, v: Option<ViewMut>) -> Result<(), usize> {
    let (a, w) = (Stack::matrices(a), Stack::columns_mut(w));
    let v = v.map(Stack::matrices_mut);
    for_each_item(a.count(), 20 * a.rows.pow(3), |index| {
        let Some((values, vectors)) = eigen(&a, index, v.is_some()) else { return false };
        w.store(index, |i, _| values[i]);
        if let Some(v) = &v {
            v.store_matrix(index, &vectors);
        }
        true
    })
}

/// The Schur form `z t zᴴ = a` with unitary `z` and upper triangular `t`; for real matrices both
/// are real, and `t` has 2 × 2 blocks for conjugate pairs. The error is as in `eig`.
pub fn schur(a: View, t: ViewMut, z: ViewMut) -> Result<(), usize> {
    launch!("schur", [a] => [t, z];; schur_of(a, t, z))
}

fn schur_of(a: View, t: ViewMut, z: ViewMut) -> Result<(), usize> {
    let real = !a.dtype.is_complex();
    let (a, t) = (Stack::matrices(a), Stack::matrices_mut(t));
    let z = Stack::matrices_mut(z);
    for_each_item(a.count(), 20 * a.rows.pow(3), |index| {
        if a.rows == 0 {
            return true;
        }
        if real {
            let matrix = a.load::<f64>(index);
            let Some(unit) = power_of_two_scale(&matrix) else { return false };
            let Some(form) = RealSchur::of(divide_by(matrix, unit), true) else { return false };
            t.store(index, |i, k| form.t[(i, k)] * unit);
            z.store_matrix(index, &form.z);
            return true;
        }
        let matrix = a.load::<Complex128>(index);
        let Some(unit) = power_of_two_scale(&matrix) else { return false };
        let Some(form) = ComplexSchur::of(divide_by(matrix, unit)) else { return false };
        t.store(index, |i, k| if i > k { Complex128::default() } else { form.t[(i, k)] * unit });
        z.store_matrix(index, &form.z);
        true
    })
}
