//! Square matrices reduced to real upper bidiagonal ones.
//!
//! Owns: the reduction by panels, half of whose work is matrix products. Never pivots.
//! Invariant: `q b pᴴ` is the matrix, `q` and `p` the products of the reflections on the left and on the right.
//! Source: LAPACK's `labrd` and `gebrd` (Dongarra, Sorensen and Hammarling, J. Comput. Appl. Math. 27, 1989).

use nalgebra::DMatrix;

use super::field::{Field, subtract};
use super::reflections::{Block, Reflections, WIDTH, reflection};
use super::vectors::{add_times, adjoint_times};

/// The diagonal, what is above it, and the reflections.
pub(super) struct Bidiagonal<T: Field> {
    pub(super) diagonal: Vec<f64>,
    pub(super) above: Vec<f64>,
    pub(super) q: Reflections<T>,
    pub(super) p: Reflections<T>,
}

/// The axes of a panel, `v` on the left and `u` on the right, and the columns by which it will change the rest:
/// `a - v yᴴ - x uᴴ`. Rows and columns are those of the matrix from `first` on.
struct Panel<T: Field> {
    first: usize,
    v: DMatrix<T>,
    y: DMatrix<T>,
    x: DMatrix<T>,
    u: DMatrix<T>,
    left: Vec<T>,
    right: Vec<T>,
}

/// `y -= of (by's row)ᴴ`, for `k` columns and the rows from `from` on.
fn without_row<T: Field>(
    y: &mut [T],
    (of, from): (&DMatrix<T>, usize),
    (by, row): (&DMatrix<T>, usize),
    k: usize,
) {
    let row: Vec<T> = (0..k).map(|c| -by[(row, c)].conjugate()).collect();
    add_times(y, of.view_range(from.., ..k), &row);
}

/// `y -= of (byᴴ x)`, for `k` columns and the rows from `from` on, of `by` those that `x` has.
fn without<T: Field>(
    y: &mut [T],
    (of, from): (&DMatrix<T>, usize),
    (by, x): (&DMatrix<T>, &[T]),
    k: usize,
) {
    if k > 0 {
        let inner = -adjoint_times(by.view_range(by.nrows() - x.len().., ..k), x);
        add_times(y, of.view_range(from.., ..k), inner.as_slice());
    }
}

impl<T: Field> Panel<T> {
    fn new(first: usize, n: usize) -> Panel<T> {
        let (rows, width) = (n - first, WIDTH.min(n - first));
        let [v, y, x, u] = [(); 4].map(|()| DMatrix::zeros(rows, width));
        let [left, right] = [(); 2].map(|()| Vec::with_capacity(width));
        Panel { first, v, y, x, u, left, right }
    }

    /// Takes in the next column: a reflection on the left. Returns what it leaves on the diagonal.
    fn column(&mut self, a: &DMatrix<T>) -> f64 {
        let k = self.left.len();
        let i = self.first + k;
        let mut axis: Vec<T> = a.column(i).iter().skip(i).copied().collect();
        without_row(&mut axis, (&self.v, k), (&self.y, k), k);
        without_row(&mut axis, (&self.x, k), (&self.u, k), k);
        let (factor, turned) = reflection(&mut axis);
        self.v.column_mut(k).rows_range_mut(k..).copy_from_slice(&axis);
        self.left.push(factor);
        if i + 1 < a.nrows() {
            let mut y = adjoint_times(a.view_range(i.., i + 1..), &axis);
            without(y.as_mut_slice(), (&self.y, k + 1), (&self.v, &axis), k);
            without(y.as_mut_slice(), (&self.u, k + 1), (&self.x, &axis), k);
            y *= factor;
            self.y.column_mut(k).rows_range_mut(k + 1..).copy_from(&y);
        }
        turned.real()
    }

    /// Takes in the row of the column just done, behind its diagonal: a reflection on the right.
    fn row(&mut self, a: &DMatrix<T>) -> f64 {
        let k = self.right.len();
        let i = self.first + k;
        let mut axis: Vec<T> = a.row(i).iter().skip(i + 1).map(|x| x.conjugate()).collect();
        without_row(&mut axis, (&self.y, k + 1), (&self.v, k), k + 1);
        without_row(&mut axis, (&self.u, k + 1), (&self.x, k), k);
        let (factor, turned) = reflection(&mut axis);
        self.u.column_mut(k).rows_range_mut(k + 1..).copy_from_slice(&axis);
        self.right.push(factor);
        let mut x = DMatrix::zeros(axis.len(), 1);
        add_times(x.as_mut_slice(), a.view_range(i + 1.., i + 1..), &axis);
        without(x.as_mut_slice(), (&self.v, k + 1), (&self.y, &axis), k + 1);
        without(x.as_mut_slice(), (&self.x, k + 1), (&self.u, &axis), k);
        x *= factor;
        self.x.column_mut(k).rows_range_mut(k + 1..).copy_from(&x);
        turned.real()
    }

    /// Changes what is behind the panel.
    fn change(&self, a: &mut DMatrix<T>) {
        let k = self.left.len();
        let mut rest = a.view_range_mut(self.first + k.., self.first + k..);
        for (of, by) in [(&self.v, &self.y), (&self.x, &self.u)] {
            let across = by.rows_range(k..).adjoint();
            subtract(&mut rest, of.rows_range(k..), across.as_view());
        }
    }
}

/// Reduces a square matrix.
pub(super) fn reduce<T: Field>(mut a: DMatrix<T>) -> Bidiagonal<T> {
    let n = a.nrows();
    let (mut diagonal, mut above) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let (mut q, mut p) = (Vec::new(), Vec::new());
    for first in (0..n).step_by(WIDTH) {
        let mut panel = Panel::new(first, n);
        for i in first..(first + WIDTH).min(n) {
            diagonal.push(panel.column(&a));
            if i + 1 < n {
                above.push(panel.row(&a));
            }
        }
        panel.change(&mut a);
        let k = panel.right.len();
        q.push((first, Block::new(panel.v, &panel.left)));
        if k > 0 {
            let axes = panel.u.view_range(1.., ..k).into_owned();
            p.push((first + 1, Block::new(axes, &panel.right)));
        }
    }
    Bidiagonal { diagonal, above, q: Reflections(q), p: Reflections(p) }
}
