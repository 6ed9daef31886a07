//! Hermitian matrices reduced to real tridiagonal ones.
//!
//! Owns: the reduction by panels, half of whose work is matrix products. Never reads above the diagonal.
//! Invariant: `q t qᴴ` is the matrix, `q` the product of the reflections.
//! Source: LAPACK's `latrd` and `hetrd` (Dongarra, Sorensen and Hammarling, J. Comput. Appl. Math. 27, 1989).

use nalgebra::DMatrix;

use crate::kernels::linalg::gemv::{Pending, columns_of, hermitian_times, without, without_row};
use crate::kernels::linalg::householder_qr::{Reflections, WIDTH, reflection};
use crate::kernels::linalg::scalar::{Field, dot, subtract, zeros};

/// Rows up to which what a column changes is taken off together with the product of the next one.
const FEW: usize = 256;

/// The diagonal, what is beside it, and the reflections: their axes below the diagonal.
pub(in crate::kernels::linalg) struct Tridiagonal<T: Field> {
    pub(in crate::kernels::linalg) diagonal: Vec<f64>,
    pub(in crate::kernels::linalg) beside: Vec<f64>,
    axes: DMatrix<T>,
    factors: Vec<T>,
}

/// The columns `w` by which the axes `v` of a panel will change the rest: `a - v wᴴ - w vᴴ`. Their rows are those
/// of the matrix from `first` on.
struct Panel<T: Field> {
    first: usize,
    v: DMatrix<T>,
    w: DMatrix<T>,
}

/// `w`, which is the matrix times `axis`, becomes what the reflection changes it by.
fn change<T: Field>(w: &mut [T], axis: &[T], factor: T) {
    let overlap = factor.conjugate() * dot(w, axis);
    let half = -factor * overlap * T::from_real(0.5);
    w.iter_mut().zip(axis).for_each(|(w, v)| *w = factor * *w + half * *v);
}

impl<T: Field> Tridiagonal<T> {
    /// The product of the reflections.
    pub(in crate::kernels::linalg) fn q(&self) -> Reflections<T> {
        Reflections::of(&self.axes, 1, &self.factors)
    }

    /// Takes in the next column, of which the earlier ones of the panel are done.
    fn column(&mut self, panel: &mut Panel<T>) {
        let i = self.factors.len();
        let Panel { first, v, w } = panel;
        let k = i - *first;
        let (mut column, mut rest) = self.axes.columns_range_pair_mut(i, i + 1..);
        let column = &mut column.as_mut_slice()[i..];
        if k > 0 {
            without_row(column, (v, k), (w, k), k);
            without_row(column, (w, k), (v, k), k);
        }
        self.diagonal.push(column[0].real());
        let axis = &mut column[1..];
        let (factor, turned) = reflection(axis);
        self.beside.push(turned.real());
        let mut product = vec![T::zero(); axis.len()];
        hermitian_times(rest.rows_range_mut(i + 1..), None, axis, &mut product);
        if k > 0 {
            without(&mut product, (v, k + 1), (w, axis), k);
            without(&mut product, (w, k + 1), (v, axis), k);
        }
        change(&mut product, axis, factor);
        v.column_mut(k).as_mut_slice()[k + 1..].copy_from_slice(axis);
        w.column_mut(k).as_mut_slice()[k + 1..].copy_from_slice(&product);
        self.factors.push(factor);
    }

    /// Takes in all columns that are left, one by one.
    fn columns(&mut self) {
        let (first, n) = (self.factors.len(), self.axes.nrows());
        let [mut before, mut w] = [(); 2].map(|()| vec![T::zero(); n]);
        for i in first..n {
            let (done, rest) = self.axes.as_mut_slice().split_at_mut(i * n);
            let (column, rest) = rest.split_at_mut(n);
            let column = &mut column[i..];
            let pending = (i > first).then(|| {
                let (v, w) = (&done[(i - 1) * n + i..], &before[i..]);
                Pending { left: [v, w], right: [w, v] }
            });
            if let Some(pending) = pending {
                pending.leave(column, 0, 0);
            }
            self.diagonal.push(column[0].real());
            let axis = &mut column[1..];
            if axis.is_empty() {
                return;
            }
            let (factor, turned) = reflection(axis);
            self.beside.push(turned.real());
            let rest = columns_of(&mut rest[i + 1..], (axis.len(), axis.len()), n);
            let w = &mut w[i + 1..];
            hermitian_times(rest, pending.map(|pending| pending.from(1, 1)), axis, w);
            change(w, axis, factor);
            before[i + 1..].copy_from_slice(w);
            self.factors.push(factor);
        }
    }
}

impl<T: Field> Panel<T> {
    /// Changes the columns of the lower triangle behind the panel.
    fn change(&self, a: &mut DMatrix<T>) {
        let (n, k) = (a.nrows(), self.v.ncols());
        let both = |x: &DMatrix<T>, y: &DMatrix<T>| {
            let mut out = zeros(x.nrows(), 2 * k);
            out.columns_range_mut(..k).copy_from(x);
            out.columns_range_mut(k..).copy_from(y);
            out
        };
        let (left, right) = (both(&self.v, &self.w), both(&self.w, &self.v).adjoint());
        for from in (self.first + k..n).step_by(2 * WIDTH) {
            let end = (from + 2 * WIDTH).min(n);
            let mut part = a.view_range_mut(from.., from..end);
            let rows = from - self.first..;
            let columns = from - self.first..end - self.first;
            subtract(&mut part, left.rows_range(rows), right.columns_range(columns));
        }
    }
}

/// Reduces the Hermitian matrix of a lower triangle.
pub(in crate::kernels::linalg) fn reduce<T: Field>(a: DMatrix<T>) -> Tridiagonal<T> {
    let n = a.nrows();
    let (diagonal, beside) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let mut form = Tridiagonal { diagonal, beside, axes: a, factors: Vec::with_capacity(n) };
    for first in (0..n.saturating_sub(FEW)).step_by(WIDTH) {
        let [v, w] = [(); 2].map(|()| zeros(n - first, WIDTH));
        let mut panel = Panel { first, v, w };
        for _ in 0..WIDTH {
            form.column(&mut panel);
        }
        panel.change(&mut form.axes);
    }
    form.columns();
    form
}
