//! LU factors and systems solved with them, with derivatives.
//!
//! A singular matrix is refused only where it must be inverted. Invariant: the row order is a
//! constant; a gradient of `l` is strictly lower, that of `u` upper triangular.

use smallvec::smallvec;

use super::helpers::{
    add, batch_dims, broadcast_batch, check_memory, columns, cost, h, matrices, mm, negative, rows,
    singular_error, slice_columns, slice_rows, sub,
};
use super::solve::{TriangleSpec, triangular_solution, with_gradient_batch};
use crate::array::{ShapeVec, broadcast_shapes, repeated};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::kernels;
use crate::ops::core::broadcast::{astype, broadcast_to, reshape_dims};
use crate::ops::core::op_decl::IndexItem;
use crate::ops::core::structured::{NodeSpec, Save, record_output};
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::index::gather::take_along_axis;
use crate::ops::index::getitem::index;
use crate::ops::shape::diagonal::{tril, triu};
use crate::ops::shape::join::concatenate;
use crate::tensor::Tensor;

/// Permutes the rows of matrices; `order` may have fewer batch dims.
fn permute_rows(x: &Tensor, order: &Tensor) -> Result<Tensor> {
    let mut dims: ShapeVec = smallvec![1; x.ndim() - 1 - order.ndim()];
    dims.extend(order.shape().iter().copied().chain([1]));
    take_along_axis(x, &reshape_dims(order, &dims)?, Some(-2))
}

/// The identity.
fn eye(n: usize, m: usize, like: &Tensor) -> Result<Tensor> {
    let mut ones = repeated(0.0, n * m)?;
    ones.iter_mut().step_by(m + 1).take(n.min(m)).for_each(|one| *one = 1.0);
    Tensor::from_vec::<f64>(ones, &[n, m])?.cast_like(like)
}

/// `lᴴ x` for the unit lower triangle `l` of packed factors.
fn times_lower(lu: &Tensor, x: &Tensor) -> Result<Tensor> {
    add(x, &mm(&h(&tril(lu, -1)?)?, x)?)
}

const UPPER: TriangleSpec = TriangleSpec { lower: false, transposed: false, unit: false };
/// Applied to conjugated factors: the adjoint of `l`.
const LOWER: TriangleSpec = TriangleSpec { lower: true, transposed: true, unit: true };

/// The gradient of the row-permuted matrix from that of the packed factors.
fn gradient(lu: &Tensor, g: &Tensor) -> Result<Tensor> {
    let (m, n) = (rows(lu), columns(lu));
    let k = m.min(n);
    let square = |x: &Tensor| slice_rows(&slice_columns(x, 0, k)?, 0, k);
    let (corner, mut head) = (square(lu)?, square(g)?);
    let lower = conjugated(&corner)?;
    let mut rest = None;
    if m > k {
        let below = h(&triangular_solution(&corner, &h(&slice_rows(g, k, m - k)?)?, UPPER)?)?;
        let upper = mm(&h(&slice_rows(lu, k, m - k)?)?, &below)?;
        head = sub(&head, &triu(&upper, 0)?)?;
        rest = Some((below, -2));
    } else if n > k {
        let right = triangular_solution(&lower, &slice_columns(g, k, n - k)?, LOWER)?;
        let strict = mm(&right, &h(&slice_columns(lu, k, n - k)?)?)?;
        head = sub(&head, &tril(&strict, -1)?)?;
        rest = Some((right, -1));
    }
    let strict = tril(&times_lower(&corner, &tril(&head, -1)?)?, -1)?;
    let inner = add(&strict, &triu(&mm(&triu(&head, 0)?, &h(&triu(&corner, 0)?)?)?, 0)?)?;
    let left = triangular_solution(&lower, &inner, LOWER)?;
    let whole = h(&triangular_solution(&corner, &h(&left)?, UPPER)?)?;
    match rest {
        Some((rest, axis)) => concatenate(&[whole, rest], Some(axis)),
        None => Ok(whole),
    }
}

/// Packed factors, pivots (from 1), and the row of the product in which each row of the matrix is
/// found.
fn lu_factors(a: &Tensor, pivot: bool) -> Result<(Tensor, Tensor, Tensor)> {
    let (m, k) = (rows(a), rows(a).min(columns(a)));
    let int_tensor = |n: usize, dtype| {
        let dims: ShapeVec = batch_dims(a).iter().copied().chain([n]).collect();
        Tensor::empty(&dims, dtype)
    };
    let out = Tensor::empty(a.shape(), a.dtype())?;
    let (pivots, row_positions) = (int_tensor(k, DType::I32)?, int_tensor(m, DType::I64)?);
    check_memory(a, 4)?;
    let views = (out.view_mut(), pivots.view_mut(), row_positions.view_mut());
    kernels::linalg::lu(a.view_of(), pivot, views.0, views.1, views.2);
    let out = record_output(out, &[a], |_| NodeSpec {
        name: "lu_factor",
        cost: cost(a, 3.0),
        params: (),
        saved: smallvec![Save::output(0, &[0]), Save::value(&row_positions, &[0])],
        backward: |(), g, cx| {
            let (lu, row_positions) = (cx.saved(0)?, cx.saved(1)?);
            cx.give_with(0, |_| permute_rows(&gradient(&lu, &g)?, &row_positions))
        },
    })?;
    Ok((out, pivots, row_positions))
}

/// Solves with packed factors and a row order. All have the same batch dims, except for one leading
/// batch axis of gradients that `b` may have.
pub(super) fn lu_solution(
    lu: &Tensor,
    order: &Tensor,
    b: &Tensor,
    adjoint: bool,
) -> Result<Tensor> {
    if lu.ndim() < b.ndim() {
        return with_gradient_batch(lu, b, |lu, b| {
            let dims: ShapeVec = batch_dims(lu).iter().copied().chain([rows(lu)]).collect();
            lu_solution(lu, &broadcast_to(order, &dims)?, b, adjoint)
        });
    }
    let out = Tensor::empty(b.shape(), b.dtype())?;
    check_memory(lu, 2)?;
    check_memory(b, 4)?;
    kernels::linalg::lu_solve(lu.view_of(), order.view_of(), b.view_of(), out.view_mut(), adjoint)
        .map_err(|i| singular_error("lu_solve", lu, i))?;
    record_output(out, &[lu, b], |_| NodeSpec {
        name: "lu_solve",
        cost: cost(lu, 1.0),
        params: adjoint,
        saved: smallvec![
            Save::input(0, &[0, 1]),
            Save::output(0, &[0]),
            Save::value(order, &[0, 1])
        ],
        backward: |&adjoint, g, cx| {
            let (lu, order) = (cx.saved(0)?, cx.saved(2)?);
            let gb = lu_solution(&lu, &order, &g, !adjoint)?;
            cx.give_with(0, |cx| {
                // Both directions are the same formula with the solution and its gradient swapped.
                let x = cx.saved(1)?;
                let (permuted, other) = if adjoint { (&x, &gb) } else { (&gb, &x) };
                let permuted = permute_rows(permuted, &order)?;
                let upper = mm(&times_lower(&lu, &permuted)?, &h(other)?)?;
                let strict = mm(&permuted, &h(&mm(&triu(&lu, 0)?, other)?)?)?;
                negative(&add(&triu(&upper, 0)?, &tril(&strict, -1)?)?)
            })?;
            cx.give_with(1, |_| Ok(gb))
        },
    })
}

/// The row order from the pivots of square factors.
fn row_order(lu: &Tensor, pivots: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(pivots.shape(), DType::I64)?;
    let wrong = || {
        Box::new(Error::Argument {
            op: "lu_solve".into(),
            what: format!(
                "pivots have shape {} and {} rows to choose from",
                Dims::from(pivots.shape()),
                rows(lu)
            ),
            remedy: "give those of lu_factor, from 1 on".into(),
        })
    };
    if pivots.shape().last() != Some(&rows(lu)) {
        return Err(wrong());
    }
    let pivots_i64 = astype(&pivots.detach(), DType::I64)?;
    kernels::linalg::pivots_to_order(pivots_i64.view_of(), out.view_mut()).map_err(|_| wrong())?;
    Ok(out)
}

fn solve_from_left(lu: &Tensor, pivots: &Tensor, b: &Tensor, adjoint: bool) -> Result<Tensor> {
    let fits = lu.ndim() > 1 && b.ndim() > 1 && rows(lu) == columns(lu) && rows(b) == rows(lu);
    if !fits {
        return Err(Box::new(Error::Shape {
            op: "lu_solve".into(),
            what: format!(
                "LU has shape {} and B {}",
                Dims::from(lu.shape()),
                Dims::from(b.shape())
            ),
            remedy: "give a square LU and as many rows of B (columns with left=False)",
        }));
    }
    let order = row_order(lu, pivots)?;
    let (lu, b) = (matrices("lu_solve", lu)?, matrices("lu_solve", b)?);
    let (lu, b) = broadcast_batch("lu_solve", &lu, &b)?;
    let front =
        broadcast_shapes("lu_solve", &[batch_dims(&b), &order.shape()[..order.ndim() - 1]])?;
    let expand = |x: &Tensor, last: &[usize]| {
        broadcast_to(x, &front.iter().chain(last).copied().collect::<ShapeVec>())
    };
    let (n, k) = (rows(&b), columns(&b));
    lu_solution(&expand(&lu, &[n, n])?, &expand(&order, &[n])?, &expand(&b, &[n, k])?, adjoint)
}

crate::operations! { family "linear algebra" [float32];
    /// `(P, L, U)` with `x = P L U` of matrices (…, m, n): a permutation, a unit lower and an upper triangle; without `pivot` rows stay as they stand and P is empty. Derivative: that of the factors in this order of rows, which is constant.
    [namespace("linalg"), fields("P L U"), keywords(("A", "x"))]
    fn lu(x: Tensor, pivot: bool = true) -> (Tensor, Tensor, Tensor) {
        let a = matrices("lu", x)?;
        let (m, k) = (rows(&a), rows(&a).min(columns(&a)));
        let (packed, _, row_positions) = lu_factors(&a, pivot)?;
        let lower = add(&tril(&slice_columns(&packed, 0, k)?, -1)?, &eye(m, k, &a)?)?;
        let upper = triu(&slice_rows(&packed, 0, k)?, 0)?;
        let permuted = if pivot {
            index(&eye(m, m, &a)?, &[IndexItem::Array(row_positions)])?
        } else {
            Tensor::zeros(&[0], a.dtype())?
        };
        Ok((permuted, lower, upper))
    }
    /// `(LU, pivots)` of matrices (…, m, n): both triangles of `lu` in one, and for each step the row, from 1 on, that it was exchanged with (int32); a singular matrix keeps zeros on its diagonal. Derivative: that of the factors in this order of rows; of square ones `l⁻ᴴ (tril(lᴴ g, -1) + triu(triu(g) uᴴ)) u⁻ᴴ`.
    [namespace("linalg"), fields("LU pivots"), keywords(("A", "x"))]
    fn lu_factor(x: Tensor, pivot: bool = true) -> (Tensor, Tensor) {
        let (packed, pivots, _) = lu_factors(&matrices("lu_factor", x)?, pivot)?;
        Ok((packed, pivots))
    }
    /// The solution of `a x = b` (…, n, k) from what `lu_factor` gives for `a`, of `x a = b` with left=False, of `aᴴ x = b` with adjoint. Derivatives: as those of `solve`, for the factors in place of `a`.
    [namespace("linalg"), keywords(("LU", "factors"), ("B", "b"))]
    fn lu_solve(factors: Tensor, pivots: Tensor, b: Tensor, left: bool = true, adjoint: bool = false) -> Tensor {
        if left || b.ndim() < 2 {
            return solve_from_left(factors, pivots, b, adjoint);
        }
        h(&solve_from_left(factors, pivots, &h(b)?, !adjoint)?)
    }
}
