//! Reduction of a Hermitian matrix to real tridiagonal form.
//!
//! By panels: half of the work is matrix products. Reads the lower triangle only. Invariant: `q t
//! qᴴ` is the matrix, where `q` is the product of the reflectors.
//!
//! Source: LAPACK's `latrd` and `hetrd` (Dongarra, Sorensen and Hammarling, J. Comput. Appl. Math.
//! 27, 1989).

use super::gemv::{Pending, hermitian_times, subtract_times_adjoint, subtract_times_row};
use super::householder_qr::{PANEL_COLUMNS, Reflections, make_reflector};
use super::matrix::{Matrix, MatrixMut};
use super::scalar::{Double, dot, subtract};

/// Rows up to which the update of a column is fused with the product of the next one.
const MAX_ROWS_UNBLOCKED: usize = 256;

/// The diagonals, and the Householder vectors below them.
pub(super) struct Tridiagonal<T: Double> {
    pub(super) diagonal: Vec<f64>,
    pub(super) subdiagonal: Vec<f64>,
    reflectors: Matrix<T>,
    taus: Vec<T>,
}

/// The delayed update `a -= v wᴴ + w vᴴ` of a panel. `v` and `w` begin at row `first` of the
/// matrix.
struct Panel<T: Double> {
    first: usize,
    v: Matrix<T>,
    w: Matrix<T>,
}

/// Turns `w`, the matrix times the reflector, into the vector of its rank-two update.
fn to_update_vector<T: Double>(w: &mut [T], reflector: &[T], tau: T) {
    let overlap = tau.conjugate() * dot(w, reflector);
    let half = -tau * overlap * T::from_real(0.5);
    w.iter_mut().zip(reflector).for_each(|(w, v)| *w = tau * *w + half * *v);
}

impl<T: Double> Tridiagonal<T> {
    /// The product of the reflectors.
    pub(super) fn q(&self) -> Reflections<T> {
        Reflections::of(&self.reflectors, 1, &self.taus)
    }

    /// Reduces the next column of a panel.
    fn panel_step(&mut self, panel: &mut Panel<T>) {
        let i = self.taus.len();
        let Panel { first, v, w } = panel;
        let k = i - *first;
        let (mut column, mut rest) = self.reflectors.split_columns(i..i + 1, i + 1..);
        let column = &mut column.column_mut(0)[i..];
        if k > 0 {
            subtract_times_row(column, (v, k), (w, k), k);
            subtract_times_row(column, (w, k), (v, k), k);
        }
        self.diagonal.push(column[0].real());
        let reflector = &mut column[1..];
        let (tau, beta) = make_reflector(reflector);
        self.subdiagonal.push(beta.real());
        let mut product = vec![T::zero(); reflector.len()];
        hermitian_times(rest.view_mut(i + 1.., ..), None, reflector, &mut product);
        if k > 0 {
            subtract_times_adjoint(&mut product, (v, k + 1), (w, reflector), k);
            subtract_times_adjoint(&mut product, (w, k + 1), (v, reflector), k);
        }
        to_update_vector(&mut product, reflector, tau);
        v.column_mut(k)[k + 1..].copy_from_slice(reflector);
        w.column_mut(k)[k + 1..].copy_from_slice(&product);
        self.taus.push(tau);
    }

    /// Reduces all remaining columns, one by one.
    fn unblocked_steps(&mut self) {
        let (first, n) = (self.taus.len(), self.reflectors.nrows());
        let [mut before, mut w] = [(); 2].map(|()| vec![T::zero(); n]);
        for i in first..n {
            let (done, rest) = self.reflectors.as_mut_slice().split_at_mut(i * n);
            let (column, rest) = rest.split_at_mut(n);
            let column = &mut column[i..];
            let pending = (i > first).then(|| {
                let (v, w) = (&done[(i - 1) * n + i..], &before[i..]);
                Pending { left: [v, w], right: [w, v] }
            });
            if let Some(pending) = pending {
                pending.apply(column, 0, 0);
            }
            self.diagonal.push(column[0].real());
            let reflector = &mut column[1..];
            if reflector.is_empty() {
                return;
            }
            let (tau, beta) = make_reflector(reflector);
            self.subdiagonal.push(beta.real());
            let rest =
                MatrixMut::of_columns(&mut rest[i + 1..], (reflector.len(), reflector.len()), n);
            let w = &mut w[i + 1..];
            hermitian_times(rest, pending.map(|pending| pending.from(1, 1)), reflector, w);
            to_update_vector(w, reflector, tau);
            before[i + 1..].copy_from_slice(w);
            self.taus.push(tau);
        }
    }
}

impl<T: Double> Panel<T> {
    /// Updates the lower triangle behind the panel.
    fn update(&self, a: &mut Matrix<T>) {
        let (n, k) = (a.nrows(), self.v.ncols());
        let both = |x: &Matrix<T>, y: &Matrix<T>| {
            let mut out = Matrix::zeros(x.nrows(), 2 * k);
            out.view_mut(.., ..k).copy_from(x.as_view());
            out.view_mut(.., k..).copy_from(y.as_view());
            out
        };
        let (left, right) = (both(&self.v, &self.w), both(&self.w, &self.v).adjoint());
        for from in (self.first + k..n).step_by(2 * PANEL_COLUMNS) {
            let end = (from + 2 * PANEL_COLUMNS).min(n);
            let mut part = a.view_mut(from.., from..end);
            let rows = from - self.first..;
            let columns = from - self.first..end - self.first;
            subtract(&mut part, left.view(rows, ..), right.view(.., columns));
        }
    }
}

/// Reduces the Hermitian matrix with this lower triangle.
pub(super) fn reduce<T: Double>(a: Matrix<T>) -> Tridiagonal<T> {
    let n = a.nrows();
    let (diagonal, subdiagonal) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let mut form =
        Tridiagonal { diagonal, subdiagonal, reflectors: a, taus: Vec::with_capacity(n) };
    for first in (0..n.saturating_sub(MAX_ROWS_UNBLOCKED)).step_by(PANEL_COLUMNS) {
        let [v, w] = [(); 2].map(|()| Matrix::zeros(n - first, PANEL_COLUMNS));
        let mut panel = Panel { first, v, w };
        for _ in 0..PANEL_COLUMNS {
            form.panel_step(&mut panel);
        }
        panel.update(&mut form.reflectors);
    }
    form.unblocked_steps();
    form
}
