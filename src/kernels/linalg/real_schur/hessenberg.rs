//! Square matrices reduced to Hessenberg's form, which has one diagonal below the main one.
//!
//! Owns: the reduction by panels, four fifths of whose work is matrix products. Never iterates.
//! Invariant: `q h qᴴ` is the matrix, `q` the product of the reflections.
//! Source: LAPACK's `lahr2` and `gehrd` (Quintana-Ortí and van de Geijn, ACM Trans. Math. Softw. 32, 2006).

use nalgebra::DMatrix;

use crate::kernels::linalg::gemv::{add_times, adjoint_times, subtract_outer, without_row};
use crate::kernels::linalg::householder_qr::{Reflections, WIDTH, reflection};
use crate::kernels::linalg::scalar::{Field, product, subtract, zeros};

/// Rows that are left to columns one by one.
const FEW: usize = 48;

/// The form, what is below its diagonals being the axes of the reflections.
pub(in crate::kernels::linalg) struct Reduced<T: Field> {
    axes: DMatrix<T>,
    below: Vec<T>,
    factors: Vec<T>,
}

impl<T: Field> Reduced<T> {
    /// The product of the reflections, if it is wanted, and the form.
    pub(in crate::kernels::linalg) fn parts(mut self, wanted: bool) -> (DMatrix<T>, DMatrix<T>) {
        let n = self.axes.nrows();
        let q = if wanted {
            Reflections::of(&self.axes, 1, &self.factors).columns(n, n)
        } else {
            zeros(0, n)
        };
        self.axes.fill_lower_triangle(T::zero(), 1);
        for (i, below) in self.below.into_iter().enumerate() {
            self.axes[(i + 1, i)] = below;
        }
        (q, self.axes)
    }

    /// Reflects column `i` from below its diagonal on.
    fn reflect(&mut self, i: usize) -> (&[T], T) {
        let n = self.axes.nrows();
        let axis = &mut self.axes.as_mut_slice()[i * n + i + 1..(i + 1) * n];
        let (factor, turned) = reflection(axis);
        self.below.push(turned);
        self.factors.push(factor);
        (axis, factor)
    }

    /// Takes in the next column by itself.
    fn column(&mut self, i: usize) {
        let (axis, factor) = self.reflect(i);
        if factor == T::zero() {
            return;
        }
        let axis = axis.to_vec();
        let mut steps = adjoint_times(self.axes.view_range(i + 1.., i + 1..), &axis);
        steps *= factor;
        subtract_outer(&mut self.axes.view_range_mut(i + 1.., i + 1..), &axis, steps.as_slice());
        let mut moved = vec![T::zero(); self.axes.nrows()];
        let mut right = self.axes.columns_range_mut(i + 1..);
        add_times(&mut moved, right.as_view(), &axis);
        moved.iter_mut().for_each(|x| *x *= factor);
        subtract_outer(&mut right, &moved, &axis);
    }

    /// Takes in the columns of a panel, and changes the matrix by them.
    fn panel(&mut self, first: usize) {
        let n = self.axes.nrows();
        let rows = n - first - 1;
        let [mut v, mut y] = [(); 2].map(|()| zeros(rows, WIDTH));
        let mut t = zeros(WIDTH, WIDTH);
        for k in 0..WIDTH {
            let i = first + k;
            if k > 0 {
                let column = &mut self.axes.as_mut_slice()[i * n + first + 1..(i + 1) * n];
                without_row(column, (&y, 0), (&v, k - 1), k);
                let known = v.columns_range(..k);
                let inner = adjoint_times(known, column);
                let inner = -adjoint_times(t.view_range(..k, ..k), inner.as_slice());
                add_times(column, known, inner.as_slice());
            }
            let (axis, factor) = self.reflect(i);
            v.column_mut(k).as_mut_slice()[k..].copy_from_slice(axis);
            let axis = &v.column(k).as_slice()[k..].to_vec();
            let mut moved = vec![T::zero(); rows];
            add_times(&mut moved, self.axes.view_range(first + 1.., i + 1..), axis);
            let overlaps = -adjoint_times(v.view_range(k.., ..k), axis);
            add_times(&mut moved, y.columns_range(..k), overlaps.as_slice());
            moved.iter_mut().for_each(|x| *x *= factor);
            y.column_mut(k).copy_from_slice(&moved);
            let (known, mut column) = t.columns_range_pair_mut(..k, k);
            let column = &mut column.as_mut_slice()[..k];
            add_times(column, known.rows_range(..k).as_view(), overlaps.as_slice());
            column.iter_mut().for_each(|x| *x *= factor);
            t[(k, k)] = factor;
        }
        self.change(first, &v, &y, &t);
    }

    /// What a panel changes: `(1 - v tᴴ vᴴ) (a - y vᴴ)` of the columns behind it, `a (1 - v t vᴴ)` of the rows above.
    fn change(&mut self, first: usize, v: &DMatrix<T>, y: &DMatrix<T>, t: &DMatrix<T>) {
        let (across, behind) = (v.adjoint(), first + WIDTH);
        let top = self.axes.view_range(..first + 1, first + 1..).into_owned();
        let top = product(&product(&top, v), t);
        let mut above = self.axes.view_range_mut(..first + 1, first + 1..);
        subtract(&mut above, top.as_view(), across.as_view());
        let mut rest = self.axes.view_range_mut(first + 1.., behind..);
        subtract(&mut rest, y.as_view(), across.columns_range(WIDTH - 1..));
        let mut parts = zeros(WIDTH, rest.ncols());
        subtract(&mut parts.as_view_mut(), across.as_view(), rest.as_view());
        let mut steps = zeros(WIDTH, rest.ncols());
        subtract(&mut steps.as_view_mut(), t.adjoint().as_view(), parts.as_view());
        subtract(&mut rest, v.as_view(), steps.as_view());
    }
}

/// Reduces a square matrix.
pub(in crate::kernels::linalg) fn reduce<T: Field>(a: DMatrix<T>) -> Reduced<T> {
    let n = a.nrows();
    let [below, factors] = [(); 2].map(|()| Vec::with_capacity(n));
    let mut form = Reduced { axes: a, below, factors };
    let mut done = 0;
    // Panels are for real matrices: for complex ones, which are rarer, they would be as much code again.
    while size_of::<T>() == size_of::<f64>() && n - done > FEW + WIDTH {
        form.panel(done);
        done += WIDTH;
    }
    (done..n.saturating_sub(1)).for_each(|i| form.column(i));
    form
}
