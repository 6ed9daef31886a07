//! Reduction of a square matrix to real upper bidiagonal form.
//!
//! By panels: half of the work is matrix products. The other half reads the matrix once per column,
//! for the left and the right reflector together. Invariant: `q b pᴴ` is the matrix, where `q` and
//! `p` are the products of the left and the right reflectors.
//!
//! Sources: LAPACK's `labrd` and `gebrd` (Dongarra, Sorensen and Hammarling, J. Comput. Appl. Math.
//! 27, 1989); Howell, Demmel, Fulton, Hammarling and Marmol, ACM Trans. Math. Softw. 34 (2008), for
//! the single pass.

use super::gemv::{
    AdjointOutput, Pending, fused_gemv_pair, subtract_times_adjoint, subtract_times_row,
};
use super::householder_qr::{PANEL_COLUMNS, Reflections, make_reflector, reciprocal};
use super::matrix::{Matrix, MatrixMut};
use super::scalar::{Double, dot, subtract};

/// Rows up to which the update of a step is fused with the products of the next step.
const MAX_ROWS_UNBLOCKED: usize = 256;

/// The diagonals, and the Householder vectors: of the left reflectors from the diagonal on, of the
/// right ones below it.
pub(super) struct Bidiagonal<T: Double> {
    pub(super) diagonal: Vec<f64>,
    pub(super) above: Vec<f64>,
    reflectors: [Matrix<T>; 2],
    taus: [Vec<T>; 2],
}

/// The delayed update `a -= left rightᴴ` of a panel. `left` alternates the vectors `v` with columns
/// `x`, `right` columns `y` with the vectors `u`. Both begin at row (or column) `first` of the
/// matrix.
struct Panel<T: Double> {
    first: usize,
    left: Matrix<T>,
    right: Matrix<T>,
}

impl<T: Double> Bidiagonal<T> {
    /// The product of the left reflectors.
    pub(super) fn q(&self) -> Reflections<T> {
        Reflections::of(&self.reflectors[0], 0, &self.taus[0])
    }

    /// The product of the right reflectors.
    pub(super) fn p(&self) -> Reflections<T> {
        Reflections::of(&self.reflectors[1], 1, &self.taus[1])
    }

    /// Turns a column into the vector of a left reflector; returns tau.
    fn reflect_left(&mut self, v: &mut [T]) -> T {
        let (tau, diagonal) = make_reflector(v);
        self.diagonal.push(diagonal.real());
        self.taus[0].push(tau);
        tau
    }

    /// Turns `u` into the vector of a right reflector. On entry `x` is the rest times `u` and
    /// `head` the first column of the rest; on return `x` is the rest times the vector. Returns
    /// tau.
    fn reflect_right(&mut self, u: &mut [T], x: &mut [T], head: &[T]) -> T {
        let before = u[0];
        let (tau, above) = make_reflector(u);
        self.above.push(above.real());
        self.taus[1].push(tau);
        // The vector is `u`, less `above` in its first element, over that difference.
        let unit = if tau == T::zero() { T::zero() } else { reciprocal(before - above) };
        x.iter_mut().zip(head).for_each(|(x, head)| *x = (*x - above * *head) * unit);
        tau
    }

    /// Reduces the next column of a panel and the row right of its diagonal.
    fn panel_step(&mut self, panel: &mut Panel<T>) {
        let i = self.diagonal.len();
        let Panel { first, left, right } = panel;
        let k = i - *first;
        let [mut a, mut reflectors] = std::mem::take(&mut self.reflectors);
        let (mut column, mut rest) = a.split_columns(i..i + 1, i + 1..);
        let v = &mut column.column_mut(0)[i..];
        subtract_times_row(v, (left, k), (right, k), 2 * k);
        let tau = self.reflect_left(v);
        left.column_mut(2 * k)[k..].copy_from_slice(v);
        let mut rest = rest.view_mut(i.., ..);
        let u = &mut reflectors.column_mut(i)[i + 1..];
        u.iter_mut().enumerate().for_each(|(k, u)| *u = rest.column(k)[0].conjugate());
        subtract_times_row(u, (right, k + 1), (left, k), 2 * k);
        let (mut y, mut x) = (vec![T::zero(); u.len()], vec![T::zero(); v.len()]);
        subtract_times_adjoint(&mut y, (right, k + 1), (left, v), 2 * k);
        fused_gemv_pair(rest.as_view_mut(), None, (v, tau), AdjointOutput { y: &mut y, u }, &mut x);
        right.column_mut(2 * k)[k + 1..].copy_from_slice(&y);
        let x = &mut x[1..];
        let tau = self.reflect_right(u, x, &rest.column(0)[1..]);
        right.column_mut(2 * k + 1)[k + 1..].copy_from_slice(u);
        subtract_times_adjoint(x, (left, k + 1), (right, u), 2 * k + 1);
        x.iter_mut().for_each(|x| *x *= tau);
        left.column_mut(2 * k + 1)[k + 1..].copy_from_slice(x);
        self.reflectors = [a, reflectors];
    }

    /// Reduces all remaining columns and rows, one by one.
    fn unblocked_steps(&mut self) {
        let (first, n) = (self.diagonal.len(), self.reflectors[0].nrows());
        let [mut x, mut y, mut previous_x, mut previous_y] = [(); 4].map(|()| vec![T::zero(); n]);
        let [mut a, mut reflectors] = std::mem::take(&mut self.reflectors);
        for i in first..n {
            let (done, rest) = a.as_mut_slice().split_at_mut(i * n);
            let (v, rest) = rest.split_at_mut(n);
            let v = &mut v[i..];
            let (done_u, u) = reflectors.as_mut_slice().split_at_mut(i * n);
            let u = &mut u[i + 1..n];
            let pending = (i > first).then(|| {
                let at = (i - 1) * n + i..i * n;
                Pending {
                    left: [&done[at.clone()], &previous_x[i..]],
                    right: [&previous_y[i..], &done_u[at]],
                }
            });
            if let Some(pending) = pending {
                pending.apply(v, 0, 0);
            }
            let tau = self.reflect_left(v);
            if u.is_empty() {
                break;
            }
            let pending = pending.map(|pending| pending.from(0, 1));
            for (k, (u, column)) in u.iter_mut().zip(rest.chunks_exact(n)).enumerate() {
                let mut head = [column[i]];
                if let Some(pending) = pending {
                    pending.apply(&mut head, 0, k);
                }
                *u = head[0].conjugate();
            }
            let (x, y) = (&mut x[i..], &mut y[i + 1..]);
            y.fill(T::zero());
            let part = MatrixMut::of_columns(&mut rest[i..], (v.len(), u.len()), n);
            fused_gemv_pair(part, pending, (v, tau), AdjointOutput { y, u }, x);
            let tau = self.reflect_right(u, &mut x[1..], &rest[i + 1..n]);
            let both = dot(y, u);
            for ((last, x), v) in previous_x[i + 1..].iter_mut().zip(&x[1..]).zip(&v[1..]) {
                *last = tau * (*x - *v * both);
            }
            previous_y[i + 1..].copy_from_slice(y);
        }
        self.reflectors = [a, reflectors];
    }
}

/// Reduces a square matrix to bidiagonal form.
pub(super) fn reduce<T: Double>(a: Matrix<T>) -> Bidiagonal<T> {
    let n = a.nrows();
    let [diagonal, above] = [(); 2].map(|()| Vec::with_capacity(n));
    let taus = [(); 2].map(|()| Vec::with_capacity(n));
    let mut form = Bidiagonal { diagonal, above, reflectors: [a, Matrix::zeros(n, n)], taus };
    for first in (0..n.saturating_sub(MAX_ROWS_UNBLOCKED)).step_by(PANEL_COLUMNS) {
        let [left, right] = [(); 2].map(|()| Matrix::zeros(n - first, 2 * PANEL_COLUMNS));
        let mut panel = Panel { first, left, right };
        for _ in 0..PANEL_COLUMNS {
            form.panel_step(&mut panel);
        }
        let right_adjoint = panel.right.view(PANEL_COLUMNS.., ..).adjoint();
        let mut rest =
            form.reflectors[0].view_mut(first + PANEL_COLUMNS.., first + PANEL_COLUMNS..);
        subtract(&mut rest, panel.left.view(PANEL_COLUMNS.., ..), right_adjoint.as_view());
    }
    form.unblocked_steps();
    form
}
