//! Square matrices reduced to real upper bidiagonal ones.
//!
//! Owns: the reduction by panels, half of whose work is matrix products; the other half reads the matrix once for each
//! column, for the reflection on the left and for the one on the right. Never pivots.
//! Invariant: `q b pᴴ` is the matrix, `q` and `p` the products of the reflections on the left and on the right.
//! Sources: LAPACK's `labrd` and `gebrd` (Dongarra, Sorensen and Hammarling, J. Comput. Appl. Math. 27, 1989); Howell,
//! Demmel, Fulton, Hammarling and Marmol, ACM Trans. Math. Softw. 34 (2008), for the single reading.

use nalgebra::DMatrix;

use super::super::field::{Field, subtract};
use super::super::reflections::{Block, Reflections, WIDTH, inverse, reflection};
use super::super::vectors::{Pulled, pull_and_push, without, without_row};

/// The diagonal, what is above it, and the reflections.
pub(in super::super) struct Bidiagonal<T: Field> {
    pub(in super::super) diagonal: Vec<f64>,
    pub(in super::super) above: Vec<f64>,
    pub(in super::super) q: Reflections<T>,
    pub(in super::super) p: Reflections<T>,
}

/// What a panel takes off the rest, `left rightᴴ`: axes `v` and columns `x` by turns on the left, `y` and axes `u` on the
/// right. Rows and columns are those of the matrix from `first` on.
struct Panel<T: Field> {
    first: usize,
    left: DMatrix<T>,
    right: DMatrix<T>,
    factors: [Vec<T>; 2],
}

impl<T: Field> Panel<T> {
    fn new(first: usize, n: usize) -> Panel<T> {
        let (rows, width) = (n - first, WIDTH.min(n - first));
        let [left, right] = [(); 2].map(|()| DMatrix::zeros(rows, 2 * width));
        Panel { first, left, right, factors: [Vec::new(), Vec::new()] }
    }

    /// Takes in the next column, and the row behind its diagonal. Returns what the reflections leave on the diagonal and
    /// beside it.
    fn step(&mut self, a: &DMatrix<T>) -> (f64, Option<f64>) {
        let k = self.factors[0].len();
        let i = self.first + k;
        let mut v: Vec<T> = a.column(i).iter().skip(i).copied().collect();
        without_row(&mut v, (&self.left, k), (&self.right, k), 2 * k);
        let (factor, diagonal) = reflection(&mut v);
        self.factors[0].push(factor);
        self.left.column_mut(2 * k).rows_range_mut(k..).copy_from_slice(&v);
        if i + 1 == a.nrows() {
            return (diagonal.real(), None);
        }
        let mut y = vec![T::zero(); v.len() - 1];
        without(&mut y, (&self.right, k + 1), (&self.left, &v), 2 * k);
        let mut u: Vec<T> = a.row(i).iter().skip(i + 1).map(|x| x.conjugate()).collect();
        without_row(&mut u, (&self.right, k + 1), (&self.left, k), 2 * k);
        let rest = a.view_range(i.., i + 1..);
        let mut x = pull_and_push(rest, &v, factor, Pulled { y: &mut y, u: &mut u });
        self.right.column_mut(2 * k).rows_range_mut(k + 1..).copy_from_slice(&y);
        let x = &mut x.as_mut_slice()[1..];
        let above = self.across(&mut u, x, rest.column(0).rows_range(1..).as_slice(), k);
        (diagonal.real(), Some(above))
    }

    /// The reflection on the right that `u` asks for, where `x` is the rest times `u`, and `head` the first column of the rest.
    fn across(&mut self, u: &mut [T], x: &mut [T], head: &[T], k: usize) -> f64 {
        let before = u[0];
        let (factor, above) = reflection(u);
        self.factors[1].push(factor);
        self.right.column_mut(2 * k + 1).rows_range_mut(k + 1..).copy_from_slice(u);
        if factor == T::zero() {
            return above.real();
        }
        // The axis is what `u` was, less `above` in front, over that difference.
        let unit = inverse(before - above);
        x.iter_mut().zip(head).for_each(|(x, head)| *x = (*x - above * *head) * unit);
        without(x, (&self.left, k + 1), (&self.right, u), 2 * k + 1);
        x.iter_mut().for_each(|x| *x *= factor);
        self.left.column_mut(2 * k + 1).rows_range_mut(k + 1..).copy_from_slice(x);
        above.real()
    }

    /// The reflections on one side: every other column of `axes` from `from` on, whose first `from` rows are zero.
    fn block(axes: &DMatrix<T>, from: usize, factors: &[T]) -> Block<T> {
        let (rows, k) = (axes.nrows() - from, factors.len());
        Block::new(DMatrix::from_fn(rows, k, |i, c| axes[(i + from, 2 * c + from)]), factors)
    }
}

/// Reduces a square matrix.
pub(in super::super) fn reduce<T: Field>(mut a: DMatrix<T>) -> Bidiagonal<T> {
    let n = a.nrows();
    let (mut diagonal, mut above) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let (mut q, mut p) = (Vec::new(), Vec::new());
    for first in (0..n).step_by(WIDTH) {
        let mut panel = Panel::new(first, n);
        for _ in first..(first + WIDTH).min(n) {
            let (on, beside) = panel.step(&a);
            diagonal.push(on);
            above.extend(beside);
        }
        let k = panel.factors[0].len();
        let across = panel.right.rows_range(k..).adjoint();
        let mut rest = a.view_range_mut(first + k.., first + k..);
        subtract(&mut rest, panel.left.rows_range(k..), across.as_view());
        q.push((first, Panel::block(&panel.left, 0, &panel.factors[0])));
        if !panel.factors[1].is_empty() {
            p.push((first + 1, Panel::block(&panel.right, 1, &panel.factors[1])));
        }
    }
    Bidiagonal { diagonal, above, q: Reflections(q), p: Reflections(p) }
}
