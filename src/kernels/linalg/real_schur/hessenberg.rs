//! Reduction of a square matrix to Hessenberg form.
//!
//! By panels: four fifths of the work is matrix products. Invariant: `q h qᴴ` is the matrix, where
//! `q` is the product of the reflectors.
//!
//! Source: LAPACK's `lahr2` and `gehrd` (Quintana-Ortí and van de Geijn, ACM Trans. Math. Softw.
//! 32, 2006).

use crate::kernels::linalg::gemv::{
    add_times, adjoint_times, negated_adjoint_times, subtract_outer, subtract_times_row,
};
use crate::kernels::linalg::householder_qr::{PANEL_COLUMNS, Reflections, make_reflector};
use crate::kernels::linalg::matrix::Matrix;
use crate::kernels::linalg::scalar::{Field, product, subtract};

/// Most remaining rows for the unblocked algorithm.
const MAX_ROWS_UNBLOCKED: usize = 48;

/// A Hessenberg form with its reflectors stored below the subdiagonal.
pub(in crate::kernels::linalg) struct Hessenberg<T: Field> {
    reflectors: Matrix<T>,
    below: Vec<T>,
    taus: Vec<T>,
}

impl<T: Field> Hessenberg<T> {
    /// `q` (with no rows unless `wanted`) and the Hessenberg matrix.
    pub(in crate::kernels::linalg) fn into_q_h(mut self, wanted: bool) -> (Matrix<T>, Matrix<T>) {
        let n = self.reflectors.nrows();
        let q = if wanted {
            Reflections::of(&self.reflectors, 1, &self.taus).columns(n, n)
        } else {
            Matrix::zeros(0, n)
        };
        self.reflectors.clear_lower(0);
        for (i, below) in self.below.into_iter().enumerate() {
            self.reflectors[(i + 1, i)] = below;
        }
        (q, self.reflectors)
    }

    /// Makes the reflector of column `i`, below its diagonal.
    fn make_column_reflector(&mut self, i: usize) -> (&[T], T) {
        let n = self.reflectors.nrows();
        let reflector = &mut self.reflectors.as_mut_slice()[i * n + i + 1..(i + 1) * n];
        let (tau, beta) = make_reflector(reflector);
        self.below.push(beta);
        self.taus.push(tau);
        (reflector, tau)
    }

    /// Reduces column `i`, unblocked.
    fn unblocked_step(&mut self, i: usize) {
        let (reflector, tau) = self.make_column_reflector(i);
        if tau == T::zero() {
            return;
        }
        let reflector = reflector.to_vec();
        let mut steps = adjoint_times(self.reflectors.view(i + 1.., i + 1..), &reflector);
        steps.iter_mut().for_each(|step| *step *= tau);
        subtract_outer(&mut self.reflectors.view_mut(i + 1.., i + 1..), &reflector, &steps);
        let mut moved = vec![T::zero(); self.reflectors.nrows()];
        let mut right = self.reflectors.view_mut(.., i + 1..);
        add_times(&mut moved, right.as_view(), &reflector);
        moved.iter_mut().for_each(|x| *x *= tau);
        subtract_outer(&mut right, &moved, &reflector);
    }

    /// Reduces the columns of a panel and updates the matrix.
    fn panel(&mut self, first: usize) {
        let n = self.reflectors.nrows();
        let rows = n - first - 1;
        let [mut v, mut y] = [(); 2].map(|()| Matrix::zeros(rows, PANEL_COLUMNS));
        let mut t = Matrix::zeros(PANEL_COLUMNS, PANEL_COLUMNS);
        for k in 0..PANEL_COLUMNS {
            let i = first + k;
            if k > 0 {
                let column = &mut self.reflectors.as_mut_slice()[i * n + first + 1..(i + 1) * n];
                subtract_times_row(column, (&y, 0), (&v, k - 1), k);
                let known = v.view(.., ..k);
                let inner = adjoint_times(known, column);
                let inner = negated_adjoint_times(t.view(..k, ..k), &inner);
                add_times(column, known, &inner);
            }
            let (reflector, tau) = self.make_column_reflector(i);
            v.column_mut(k)[k..].copy_from_slice(reflector);
            let reflector = &v.column(k)[k..].to_vec();
            let mut moved = vec![T::zero(); rows];
            add_times(&mut moved, self.reflectors.view(first + 1.., i + 1..), reflector);
            let overlaps = negated_adjoint_times(v.view(k.., ..k), reflector);
            add_times(&mut moved, y.view(.., ..k), &overlaps);
            moved.iter_mut().for_each(|x| *x *= tau);
            y.column_mut(k).copy_from_slice(&moved);
            let (known, mut column) = t.split_columns(0..k, k..k + 1);
            let column = &mut column.column_mut(0)[..k];
            add_times(column, known.as_view().view(..k, ..), &overlaps);
            column.iter_mut().for_each(|x| *x *= tau);
            t[(k, k)] = tau;
        }
        self.update(first, &v, &y, &t);
    }

    /// The update by a panel: `(1 - v tᴴ vᴴ) (a - y vᴴ)` for the columns behind it, `a (1 - v t
    /// vᴴ)` for the rows above.
    fn update(&mut self, first: usize, v: &Matrix<T>, y: &Matrix<T>, t: &Matrix<T>) {
        let (across, behind) = (v.adjoint(), first + PANEL_COLUMNS);
        let top = self.reflectors.view(..first + 1, first + 1..).to_matrix();
        let top = product(&product(&top, v), t);
        let mut above = self.reflectors.view_mut(..first + 1, first + 1..);
        subtract(&mut above, top.as_view(), across.as_view());
        let mut rest = self.reflectors.view_mut(first + 1.., behind..);
        subtract(&mut rest, y.as_view(), across.view(.., PANEL_COLUMNS - 1..));
        let mut parts = Matrix::zeros(PANEL_COLUMNS, rest.ncols());
        subtract(&mut parts.as_view_mut(), across.as_view(), rest.as_view());
        let mut steps = Matrix::zeros(PANEL_COLUMNS, rest.ncols());
        subtract(&mut steps.as_view_mut(), t.adjoint().as_view(), parts.as_view());
        subtract(&mut rest, v.as_view(), steps.as_view());
    }
}

/// Reduces a square matrix to Hessenberg form.
pub(in crate::kernels::linalg) fn reduce<T: Field>(a: Matrix<T>) -> Hessenberg<T> {
    let n = a.nrows();
    let [below, taus] = [(); 2].map(|()| Vec::with_capacity(n));
    let mut form = Hessenberg { reflectors: a, below, taus };
    let mut done = 0;
    // Panels for real matrices only: for complex ones, which are rarer, they would double the code.
    while !T::COMPLEX && n - done > MAX_ROWS_UNBLOCKED + PANEL_COLUMNS {
        form.panel(done);
        done += PANEL_COLUMNS;
    }
    (done..n.saturating_sub(1)).for_each(|i| form.unblocked_step(i));
    form
}
