//! Square matrices reduced to real upper bidiagonal ones.
//!
//! Owns: the reduction by panels, half of whose work is matrix products; the other half reads the matrix once for each
//! column, for the reflection on the left and for the one on the right. Never pivots.
//! Invariant: `q b pᴴ` is the matrix, `q` and `p` the products of the reflections on the left and on the right.
//! Sources: LAPACK's `labrd` and `gebrd` (Dongarra, Sorensen and Hammarling, J. Comput. Appl. Math. 27, 1989); Howell,
//! Demmel, Fulton, Hammarling and Marmol, ACM Trans. Math. Softw. 34 (2008), for the single reading.

use nalgebra::DMatrix;

use crate::kernels::linalg::gemv::{
    Pending, Pulled, columns_of, pull_and_push, without, without_row,
};
use crate::kernels::linalg::householder_qr::{Reflections, WIDTH, inverse, reflection};
use crate::kernels::linalg::scalar::{Field, dot, subtract, zeros};

/// Rows up to which what a step changes is taken off together with the products of the next one.
const FEW: usize = 256;

/// The diagonal, what is above it, and the reflections on the left and on the right: their axes from the diagonal on, and below
/// it.
pub(in crate::kernels::linalg) struct Bidiagonal<T: Field> {
    pub(in crate::kernels::linalg) diagonal: Vec<f64>,
    pub(in crate::kernels::linalg) above: Vec<f64>,
    axes: [DMatrix<T>; 2],
    factors: [Vec<T>; 2],
}

/// What a panel takes off the rest, `left rightᴴ`: axes `v` and columns `x` by turns on the left, `y` and axes `u` on the
/// right. Rows and columns are those of the matrix from `first` on.
struct Panel<T: Field> {
    first: usize,
    left: DMatrix<T>,
    right: DMatrix<T>,
}

impl<T: Field> Bidiagonal<T> {
    /// The product of the reflections on the left.
    pub(in crate::kernels::linalg) fn q(&self) -> Reflections<T> {
        Reflections::of(&self.axes[0], 0, &self.factors[0])
    }

    /// The product of the reflections on the right.
    pub(in crate::kernels::linalg) fn p(&self) -> Reflections<T> {
        Reflections::of(&self.axes[1], 1, &self.factors[1])
    }

    /// Reflects a column, which becomes the axis; returns the factor.
    fn left(&mut self, v: &mut [T]) -> T {
        let (factor, diagonal) = reflection(v);
        self.diagonal.push(diagonal.real());
        self.factors[0].push(factor);
        factor
    }

    /// The reflection on the right that `u` asks for, where `x` is the rest times `u`, and `head` the first column of the rest:
    /// `u` becomes the axis and `x` the rest times it. Returns the factor.
    fn across(&mut self, u: &mut [T], x: &mut [T], head: &[T]) -> T {
        let before = u[0];
        let (factor, above) = reflection(u);
        self.above.push(above.real());
        self.factors[1].push(factor);
        // The axis is what `u` was, less `above` in front, over that difference.
        let unit = if factor == T::zero() { T::zero() } else { inverse(before - above) };
        x.iter_mut().zip(head).for_each(|(x, head)| *x = (*x - above * *head) * unit);
        factor
    }

    /// Takes in the next column of a panel, and the row behind its diagonal.
    fn panel_step(&mut self, panel: &mut Panel<T>) {
        let i = self.diagonal.len();
        let Panel { first, left, right } = panel;
        let k = i - *first;
        let [mut a, mut axes] = std::mem::take(&mut self.axes);
        let (mut column, mut rest) = a.columns_range_pair_mut(i, i + 1..);
        let v = &mut column.as_mut_slice()[i..];
        without_row(v, (left, k), (right, k), 2 * k);
        let factor = self.left(v);
        left.column_mut(2 * k).as_mut_slice()[k..].copy_from_slice(v);
        let mut rest = rest.rows_range_mut(i..);
        let mut axis = axes.column_mut(i);
        let u = &mut axis.as_mut_slice()[i + 1..];
        u.iter_mut().zip(rest.row(0).iter()).for_each(|(u, x)| *u = x.conjugate());
        without_row(u, (right, k + 1), (left, k), 2 * k);
        let (mut y, mut x) = (vec![T::zero(); u.len()], vec![T::zero(); v.len()]);
        without(&mut y, (right, k + 1), (left, v), 2 * k);
        pull_and_push(rest.as_view_mut(), None, (v, factor), Pulled { y: &mut y, u }, &mut x);
        right.column_mut(2 * k).as_mut_slice()[k + 1..].copy_from_slice(&y);
        let x = &mut x[1..];
        let factor = self.across(u, x, &rest.column(0).as_slice()[1..]);
        right.column_mut(2 * k + 1).as_mut_slice()[k + 1..].copy_from_slice(u);
        without(x, (left, k + 1), (right, u), 2 * k + 1);
        x.iter_mut().for_each(|x| *x *= factor);
        left.column_mut(2 * k + 1).as_mut_slice()[k + 1..].copy_from_slice(x);
        self.axes = [a, axes];
    }

    /// Takes in all columns and rows that are left, one by one.
    fn steps(&mut self) {
        let (first, n) = (self.diagonal.len(), self.axes[0].nrows());
        let [mut x, mut y, mut last_x, mut last_y] = [(); 4].map(|()| vec![T::zero(); n]);
        let [mut a, mut axes] = std::mem::take(&mut self.axes);
        for i in first..n {
            let (done, rest) = a.as_mut_slice().split_at_mut(i * n);
            let (v, rest) = rest.split_at_mut(n);
            let v = &mut v[i..];
            let (done_u, u) = axes.as_mut_slice().split_at_mut(i * n);
            let u = &mut u[i + 1..n];
            let pending = (i > first).then(|| {
                let at = (i - 1) * n + i..i * n;
                Pending {
                    left: [&done[at.clone()], &last_x[i..]],
                    right: [&last_y[i..], &done_u[at]],
                }
            });
            if let Some(pending) = pending {
                pending.leave(v, 0, 0);
            }
            let factor = self.left(v);
            if u.is_empty() {
                break;
            }
            let pending = pending.map(|pending| pending.from(0, 1));
            for (k, (u, column)) in u.iter_mut().zip(rest.chunks_exact(n)).enumerate() {
                let mut head = [column[i]];
                if let Some(pending) = pending {
                    pending.leave(&mut head, 0, k);
                }
                *u = head[0].conjugate();
            }
            let (x, y) = (&mut x[i..], &mut y[i + 1..]);
            y.fill(T::zero());
            let part = columns_of(&mut rest[i..], (v.len(), u.len()), n);
            pull_and_push(part, pending, (v, factor), Pulled { y, u }, x);
            let factor = self.across(u, &mut x[1..], &rest[i + 1..n]);
            let both = dot(y, u);
            for ((last, x), v) in last_x[i + 1..].iter_mut().zip(&x[1..]).zip(&v[1..]) {
                *last = factor * (*x - *v * both);
            }
            last_y[i + 1..].copy_from_slice(y);
        }
        self.axes = [a, axes];
    }
}

/// Reduces a square matrix.
pub(in crate::kernels::linalg) fn reduce<T: Field>(a: DMatrix<T>) -> Bidiagonal<T> {
    let n = a.nrows();
    let [diagonal, above] = [(); 2].map(|()| Vec::with_capacity(n));
    let factors = [(); 2].map(|()| Vec::with_capacity(n));
    let mut form = Bidiagonal { diagonal, above, axes: [a, zeros(n, n)], factors };
    for first in (0..n.saturating_sub(FEW)).step_by(WIDTH) {
        let [left, right] = [(); 2].map(|()| zeros(n - first, 2 * WIDTH));
        let mut panel = Panel { first, left, right };
        for _ in 0..WIDTH {
            form.panel_step(&mut panel);
        }
        let across = panel.right.rows_range(WIDTH..).adjoint();
        let mut rest = form.axes[0].view_range_mut(first + WIDTH.., first + WIDTH..);
        subtract(&mut rest, panel.left.rows_range(WIDTH..), across.as_view());
    }
    form.steps();
    form
}
