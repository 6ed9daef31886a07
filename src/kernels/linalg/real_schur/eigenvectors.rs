//! Eigenvalues and eigenvectors from the real Schur form.
//!
//! Back substitution by blocks of rows, so that most work is matrix products. Invariant: the
//! vectors of a conjugate pair are conjugates.

use std::ops::Range;

use super::iterate::RealSchur;
use crate::dtype::Complex128;
use crate::kernels::linalg::matrix::Matrix;
use crate::kernels::linalg::scalar::{product, subtract};

/// Rows of a block, substituted one by one.
const BLOCK_ROWS: usize = 16;
/// Magnitude above which a column is scaled down.
const MAX_MAGNITUDE: f64 = 1e100;

/// Eigenvalues, and eigenvectors (columns) if `wanted`, of a finite matrix with elements of about
/// 1; `None` without convergence.
pub(in crate::kernels::linalg) fn eigen(
    a: Matrix<f64>,
    wanted: bool,
) -> Option<(Vec<Complex128>, Matrix<Complex128>)> {
    let form = RealSchur::of(a, wanted)?;
    let (values, n) = (form.values(), form.t.nrows());
    if !wanted || n == 0 {
        return Some((values, Matrix::zeros(0, 0)));
    }
    let parts = product(&form.z, &form.schur_vectors(&values));
    let mut out = parts.map(Complex128::from);
    for k in (0..n).filter(|&k| values[k].im > 0.0) {
        for i in 0..n {
            out[(i, k)].im = parts[(i, k + 1)];
            out[(i, k + 1)] = out[(i, k)].conj();
        }
    }
    Some((values, out))
}

impl RealSchur {
    /// Eigenvectors of the Schur form: for a conjugate pair, the real and the imaginary parts of
    /// the first.
    fn schur_vectors(&self, values: &[Complex128]) -> Matrix<f64> {
        let n = values.len();
        let largest = self.t.as_slice().iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let min_gap = (f64::EPSILON * largest).max(1e-100);
        let mut x = Matrix::zeros(n, n);
        let mut end = n;
        while end > 0 {
            let first = end.saturating_sub(BLOCK_ROWS);
            let first = first - usize::from(first > 0 && self.t[(first, first - 1)] != 0.0);
            let mut whole = x.as_view_mut();
            let (mut here, below) = whole.split_rows(first..end, end..);
            let known = self.t.view(first..end, end..);
            let below = below.as_view().view(.., end..);
            subtract(&mut here.view_mut(.., end..), known, below);
            for k in (first..n).filter(|&k| values[k].im >= 0.0) {
                let (re, im) = x.as_mut_slice()[k * n..].split_at_mut(n);
                let mut none = vec![0.0; if values[k].im == 0.0 { n } else { 0 }];
                let im = if none.is_empty() { &mut im[..n] } else { &mut none };
                let mut x = ComplexColumn { re, im };
                if k < end {
                    self.start_vector(&mut x, first, k, values[k].im);
                }
                self.substitute(&mut x, first..end.min(k), values[k], min_gap);
            }
            end = first;
        }
        x
    }

    /// Starts a vector with the rows of its eigenvalue's own block.
    fn start_vector(&self, x: &mut ComplexColumn<'_>, first: usize, k: usize, im: f64) {
        let t = &self.t;
        x.set(k, Complex128::new(1.0, 0.0));
        if im != 0.0 {
            let (b, c) = (t[(k, k + 1)], t[(k + 1, k)]);
            if b.abs() >= c.abs() {
                x.set(k + 1, Complex128::new(0.0, im / b));
            } else {
                x.set(k, Complex128::new(0.0, im / c));
                x.set(k + 1, Complex128::new(1.0, 0.0));
            }
            x.subtract_column(t, first..k, k + 1);
        }
        x.subtract_column(t, first..k, k);
    }

    /// Back substitution in these rows, which hold the right-hand side after the rows below.
    fn substitute(
        &self,
        x: &mut ComplexColumn<'_>,
        rows: Range<usize>,
        value: Complex128,
        min_gap: f64,
    ) {
        let t = &self.t;
        let gap = |i: usize| Complex128::new(t[(i, i)] - value.re, -value.im);
        let at_least =
            |z: Complex128, min_gap: f64| if z.norm() < min_gap { min_gap.into() } else { z };
        let mut i = rows.end;
        while i > rows.start {
            i -= 1;
            let mut found = [x.get(i) / at_least(gap(i), min_gap), Complex128::default()];
            let two = i > rows.start && t[(i, i - 1)] != 0.0;
            if two {
                i -= 1;
                let (b, c, f, g) = (t[(i, i + 1)], t[(i + 1, i)], x.get(i), x.get(i + 1));
                let (p, q) = (gap(i), gap(i + 1));
                let det = at_least(p * q - b * c, min_gap * min_gap);
                found = [(f * q - g * b) / det, (g * p - f * c) / det];
                x.set(i + 1, found[1]);
            }
            x.set(i, found[0]);
            let grown = found[0].norm().max(found[1].norm());
            if grown > MAX_MAGNITUDE {
                x.re.iter_mut().chain(x.im.iter_mut()).for_each(|x| *x /= grown);
            }
            if two {
                x.subtract_column(t, rows.start..i, i + 1);
            }
            x.subtract_column(t, rows.start..i, i);
        }
    }
}

/// A complex vector in two real columns.
struct ComplexColumn<'a> {
    re: &'a mut [f64],
    im: &'a mut [f64],
}

impl ComplexColumn<'_> {
    fn get(&self, i: usize) -> Complex128 {
        Complex128::new(self.re[i], self.im[i])
    }

    fn set(&mut self, i: usize, z: Complex128) {
        (self.re[i], self.im[i]) = (z.re, z.im);
    }

    /// Subtracts column `j` of a matrix, times element `j`, from some rows.
    fn subtract_column(&mut self, t: &Matrix<f64>, rows: Range<usize>, j: usize) {
        let n = t.nrows();
        let column = &t.as_slice()[j * n + rows.start..j * n + rows.end];
        let (x, y) = (self.re[j], self.im[j]);
        let parts = self.re[rows.clone()].iter_mut().zip(&mut self.im[rows]);
        for ((re, im), t) in parts.zip(column) {
            *re -= t * x;
            *im -= t * y;
        }
    }
}
