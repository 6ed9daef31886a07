//! Hermitian matrices reduced to real tridiagonal ones.
//!
//! Owns: the reduction by panels, half of whose work is matrix products. Never reads above the diagonal.
//! Invariant: `q t qᴴ` is the matrix, `q` the product of the reflections.
//! Source: LAPACK's `latrd` and `hetrd` (Dongarra, Sorensen and Hammarling, J. Comput. Appl. Math. 27, 1989).

use nalgebra::DMatrix;

use super::super::field::{Field, subtract};
use super::super::reflections::{Block, Reflections, WIDTH, reflection};
use super::super::vectors::{hermitian_times, without, without_row};

/// The diagonal, what is beside it, and the reflections.
pub(in super::super) struct Tridiagonal<T: Field> {
    pub(in super::super) diagonal: Vec<f64>,
    pub(in super::super) beside: Vec<f64>,
    pub(in super::super) q: Reflections<T>,
}

/// The axes of a panel and the columns `w` by which it will change the rest: `a - v wᴴ - w vᴴ`. Their rows are those
/// of the matrix from `first` on.
struct Panel<T: Field> {
    first: usize,
    v: DMatrix<T>,
    w: DMatrix<T>,
    factors: Vec<T>,
}

impl<T: Field> Panel<T> {
    /// Takes in the next column, of which the earlier ones of the panel are done; `None` for the last one of the matrix.
    fn column(&mut self, a: &DMatrix<T>, into: &mut (Vec<f64>, Vec<f64>)) {
        let (k, n) = (self.factors.len(), a.nrows());
        let i = self.first + k;
        let mut column: Vec<T> = a.column(i).iter().skip(i).copied().collect();
        if k > 0 {
            without_row(&mut column, (&self.v, k), (&self.w, k), k);
            without_row(&mut column, (&self.w, k), (&self.v, k), k);
        }
        into.0.push(column[0].real());
        if i + 1 == n {
            return;
        }
        let axis = &mut column[1..];
        let (factor, turned) = reflection(axis);
        into.1.push(turned.real());
        let mut w = hermitian_times(a.view_range(i + 1.., i + 1..), axis);
        if k > 0 {
            without(w.as_mut_slice(), (&self.v, k + 1), (&self.w, axis), k);
            without(w.as_mut_slice(), (&self.w, k + 1), (&self.v, axis), k);
        }
        w *= factor;
        let overlap = w.iter().zip(&*axis).fold(T::zero(), |s, (w, v)| s + w.conjugate() * *v);
        let half = -factor * overlap * T::from_real(0.5);
        self.v.column_mut(k).rows_range_mut(k + 1..).copy_from_slice(axis);
        w.iter_mut().zip(&*axis).for_each(|(w, v)| *w += half * *v);
        self.w.column_mut(k).rows_range_mut(k + 1..).copy_from_slice(w.as_slice());
        self.factors.push(factor);
    }

    /// Changes the columns of the lower triangle behind the panel.
    fn change(&self, a: &mut DMatrix<T>) {
        let (n, k) = (a.nrows(), self.factors.len());
        let both = |x: &DMatrix<T>, y: &DMatrix<T>| {
            let mut out = DMatrix::zeros(x.nrows(), 2 * k);
            out.columns_range_mut(..k).copy_from(&x.columns_range(..k));
            out.columns_range_mut(k..).copy_from(&y.columns_range(..k));
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
pub(in super::super) fn reduce<T: Field>(mut a: DMatrix<T>) -> Tridiagonal<T> {
    let n = a.nrows();
    let (mut found, mut blocks) = ((Vec::with_capacity(n), Vec::with_capacity(n)), Vec::new());
    for first in (0..n).step_by(WIDTH) {
        let (rows, width) = (n - first, WIDTH.min(n - first));
        let (v, w) = (DMatrix::zeros(rows, width), DMatrix::zeros(rows, width));
        let mut panel = Panel { first, v, w, factors: Vec::with_capacity(width) };
        for _ in 0..width {
            panel.column(&a, &mut found);
        }
        panel.change(&mut a);
        let k = panel.factors.len();
        if k > 0 {
            let axes = panel.v.view_range(1.., ..k).into_owned();
            blocks.push((first + 1, Block::new(axes, &panel.factors)));
        }
    }
    Tridiagonal { diagonal: found.0, beside: found.1, q: Reflections(blocks) }
}
