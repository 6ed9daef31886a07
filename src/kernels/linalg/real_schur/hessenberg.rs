//! Reduction of a square matrix to Hessenberg form.
//!
//! By panels: four fifths of the work is matrix products. Invariant: `q h qᴴ` is the matrix, where
//! `q` is the product of the reflectors.
//!
//! Source: LAPACK's `lahr2` and `gehrd` (Quintana-Ortí and van de Geijn, ACM Trans. Math. Softw.
//! 32, 2006).

use nalgebra::DMatrix;

use crate::kernels::linalg::gemv::{add_times, adjoint_times, subtract_outer, subtract_times_row};
use crate::kernels::linalg::householder_qr::{PANEL_COLUMNS, Reflections, make_reflector};
use crate::kernels::linalg::scalar::{Field, product, subtract, zeros};

/// Most remaining rows for the unblocked algorithm.
const MAX_ROWS_UNBLOCKED: usize = 48;

/// A Hessenberg form with its reflectors stored below the subdiagonal.
pub(in crate::kernels::linalg) struct Hessenberg<T: Field> {
    reflectors: DMatrix<T>,
    below: Vec<T>,
    taus: Vec<T>,
}

impl<T: Field> Hessenberg<T> {
    /// `q` (with no rows unless `wanted`) and the Hessenberg matrix.
    pub(in crate::kernels::linalg) fn into_q_h(mut self, wanted: bool) -> (DMatrix<T>, DMatrix<T>) {
        let n = self.reflectors.nrows();
        let q = if wanted {
            Reflections::of(&self.reflectors, 1, &self.taus).columns(n, n)
        } else {
            zeros(0, n)
        };
        self.reflectors.fill_lower_triangle(T::zero(), 1);
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
        let mut steps = adjoint_times(self.reflectors.view_range(i + 1.., i + 1..), &reflector);
        steps *= tau;
        subtract_outer(
            &mut self.reflectors.view_range_mut(i + 1.., i + 1..),
            &reflector,
            steps.as_slice(),
        );
        let mut moved = vec![T::zero(); self.reflectors.nrows()];
        let mut right = self.reflectors.columns_range_mut(i + 1..);
        add_times(&mut moved, right.as_view(), &reflector);
        moved.iter_mut().for_each(|x| *x *= tau);
        subtract_outer(&mut right, &moved, &reflector);
    }

    /// Reduces the columns of a panel and updates the matrix.
    fn panel(&mut self, first: usize) {
        let n = self.reflectors.nrows();
        let rows = n - first - 1;
        let [mut v, mut y] = [(); 2].map(|()| zeros(rows, PANEL_COLUMNS));
        let mut t = zeros(PANEL_COLUMNS, PANEL_COLUMNS);
        for k in 0..PANEL_COLUMNS {
            let i = first + k;
            if k > 0 {
                let column = &mut self.reflectors.as_mut_slice()[i * n + first + 1..(i + 1) * n];
                subtract_times_row(column, (&y, 0), (&v, k - 1), k);
                let known = v.columns_range(..k);
                let inner = adjoint_times(known, column);
                let inner = -adjoint_times(t.view_range(..k, ..k), inner.as_slice());
                add_times(column, known, inner.as_slice());
            }
            let (reflector, tau) = self.make_column_reflector(i);
            v.column_mut(k).as_mut_slice()[k..].copy_from_slice(reflector);
            let reflector = &v.column(k).as_slice()[k..].to_vec();
            let mut moved = vec![T::zero(); rows];
            add_times(&mut moved, self.reflectors.view_range(first + 1.., i + 1..), reflector);
            let overlaps = -adjoint_times(v.view_range(k.., ..k), reflector);
            add_times(&mut moved, y.columns_range(..k), overlaps.as_slice());
            moved.iter_mut().for_each(|x| *x *= tau);
            y.column_mut(k).copy_from_slice(&moved);
            let (known, mut column) = t.columns_range_pair_mut(..k, k);
            let column = &mut column.as_mut_slice()[..k];
            add_times(column, known.rows_range(..k).as_view(), overlaps.as_slice());
            column.iter_mut().for_each(|x| *x *= tau);
            t[(k, k)] = tau;
        }
        self.update(first, &v, &y, &t);
    }

    /// The update by a panel: `(1 - v tᴴ vᴴ) (a - y vᴴ)` for the columns behind it, `a (1 - v t
    /// vᴴ)` for the rows above.
    fn update(&mut self, first: usize, v: &DMatrix<T>, y: &DMatrix<T>, t: &DMatrix<T>) {
        let (across, behind) = (v.adjoint(), first + PANEL_COLUMNS);
        let top = self.reflectors.view_range(..first + 1, first + 1..).into_owned();
        let top = product(&product(&top, v), t);
        let mut above = self.reflectors.view_range_mut(..first + 1, first + 1..);
        subtract(&mut above, top.as_view(), across.as_view());
        let mut rest = self.reflectors.view_range_mut(first + 1.., behind..);
        subtract(&mut rest, y.as_view(), across.columns_range(PANEL_COLUMNS - 1..));
        let mut parts = zeros(PANEL_COLUMNS, rest.ncols());
        subtract(&mut parts.as_view_mut(), across.as_view(), rest.as_view());
        let mut steps = zeros(PANEL_COLUMNS, rest.ncols());
        subtract(&mut steps.as_view_mut(), t.adjoint().as_view(), parts.as_view());
        subtract(&mut rest, v.as_view(), steps.as_view());
    }
}

/// Reduces a square matrix to Hessenberg form.
pub(in crate::kernels::linalg) fn reduce<T: Field>(a: DMatrix<T>) -> Hessenberg<T> {
    let n = a.nrows();
    let [below, taus] = [(); 2].map(|()| Vec::with_capacity(n));
    let mut form = Hessenberg { reflectors: a, below, taus };
    let mut done = 0;
    // Panels for real matrices only: for complex ones, which are rarer, they would double the code.
    while size_of::<T>() == size_of::<f64>() && n - done > MAX_ROWS_UNBLOCKED + PANEL_COLUMNS {
        form.panel(done);
        done += PANEL_COLUMNS;
    }
    (done..n.saturating_sub(1)).for_each(|i| form.unblocked_step(i));
    form
}
