//! LU factors, and systems solved with them.
//!
//! Owns: `lu`, `lu_factor`, `lu_solve` and their derivatives. Never refuses a singular matrix before it is to be inverted.
//! Invariant: the order of rows is a constant; a gradient of `l` is strictly lower, that of `u` upper.

use smallvec::smallvec;

use super::helpers::{
    add, columns, cost, h, lead, matrices, mm, negative, paired, room, rows, singular,
    some_columns, some_rows, sub,
};
use super::solve::{Reading, behind_batch, solved_triangular};
use crate::array::{ShapeVec, broadcast_shapes, repeated};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::kernels;
use crate::ops::core::broadcast::{astype, broadcast_to, reshape_dims};
use crate::ops::core::op_decl::IndexItem;
use crate::ops::core::structured::{Record, Save, finish};
use crate::ops::elementwise::conjugate::conjugated;
use crate::ops::index::gather::take_along_axis;
use crate::ops::index::getitem::index;
use crate::ops::shape::diagonal::{tril, triu};
use crate::ops::shape::join::concatenate;
use crate::tensor::Tensor;

/// Rows of matrices in the order of a list for each, which may have fewer axes in front.
fn in_order(x: &Tensor, order: &Tensor) -> Result<Tensor> {
    let mut dims: ShapeVec = smallvec![1; x.ndim() - 1 - order.ndim()];
    dims.extend(order.shape().iter().copied().chain([1]));
    take_along_axis(x, &reshape_dims(order, &dims)?, Some(-2))
}

/// Ones on the diagonal.
fn eye(n: usize, m: usize, like: &Tensor) -> Result<Tensor> {
    let mut ones = repeated(0.0, n * m)?;
    ones.iter_mut().step_by(m + 1).take(n.min(m)).for_each(|one| *one = 1.0);
    Tensor::from_vec::<f64>(ones, &[n, m])?.cast_like(like)
}

/// `lᴴ x` for the unit lower triangle `l` of factors.
fn times_lower(lu: &Tensor, x: &Tensor) -> Result<Tensor> {
    add(x, &mm(&h(&tril(lu, -1)?)?, x)?)
}

const UPPER: Reading = Reading { lower: false, transposed: false, unit: false };
/// Of conjugates, the adjoint.
const LOWER: Reading = Reading { lower: true, transposed: true, unit: true };

/// The gradient of a matrix whose rows stand in the order of the factors.
fn gradient(lu: &Tensor, g: &Tensor) -> Result<Tensor> {
    let (m, n) = (rows(lu), columns(lu));
    let k = m.min(n);
    let square = |x: &Tensor| some_rows(&some_columns(x, 0, k)?, 0, k);
    let (corner, mut head) = (square(lu)?, square(g)?);
    let lower = conjugated(&corner)?;
    let mut rest = None;
    if m > k {
        let below = h(&solved_triangular(&corner, &h(&some_rows(g, k, m - k)?)?, UPPER)?)?;
        let upper = mm(&h(&some_rows(lu, k, m - k)?)?, &below)?;
        head = sub(&head, &triu(&upper, 0)?)?;
        rest = Some((below, -2));
    } else if n > k {
        let right = solved_triangular(&lower, &some_columns(g, k, n - k)?, LOWER)?;
        let strict = mm(&right, &h(&some_columns(lu, k, n - k)?)?)?;
        head = sub(&head, &tril(&strict, -1)?)?;
        rest = Some((right, -1));
    }
    let strict = tril(&times_lower(&corner, &tril(&head, -1)?)?, -1)?;
    let inner = add(&strict, &triu(&mm(&triu(&head, 0)?, &h(&triu(&corner, 0)?)?)?, 0)?)?;
    let left = solved_triangular(&lower, &inner, LOWER)?;
    let whole = h(&solved_triangular(&corner, &h(&left)?, UPPER)?)?;
    match rest {
        Some((rest, axis)) => concatenate(&[whole, rest], Some(axis)),
        None => Ok(whole),
    }
}

/// Both factors in one, the pivots from 1 on, and where each row of the matrix is found in the product.
fn factored(a: &Tensor, pivot: bool) -> Result<(Tensor, Tensor, Tensor)> {
    let (m, k) = (rows(a), rows(a).min(columns(a)));
    let list = |n: usize, dtype| {
        let dims: ShapeVec = lead(a).iter().copied().chain([n]).collect();
        Tensor::empty(&dims, dtype)
    };
    let out = Tensor::empty(a.shape(), a.dtype())?;
    let (pivots, places) = (list(k, DType::I32)?, list(m, DType::I64)?);
    room(a, 4)?;
    let views = (out.view_mut(), pivots.view_mut(), places.view_mut());
    kernels::linalg::lu(a.view_of(), pivot, views.0, views.1, views.2);
    let out = finish(out, &[a], |_| Record {
        name: "lu_factor",
        cost: cost(a, 3.0),
        params: (),
        saved: smallvec![Save::output(0, &[0]), Save::value(&places, &[0])],
        backward: |(), g, cx| {
            let (lu, places) = (cx.saved(0)?, cx.saved(1)?);
            cx.give_with(0, |_| in_order(&gradient(&lu, &g)?, &places))
        },
    })?;
    Ok((out, pivots, places))
}

/// Solutions by factors and the order of their rows, all in stacks of one shape but for an axis that `b` may have in front.
pub(super) fn solved(lu: &Tensor, order: &Tensor, b: &Tensor, adjoint: bool) -> Result<Tensor> {
    if lu.ndim() < b.ndim() {
        return behind_batch(lu, b, |lu, b| {
            let dims: ShapeVec = lead(lu).iter().copied().chain([rows(lu)]).collect();
            solved(lu, &broadcast_to(order, &dims)?, b, adjoint)
        });
    }
    let out = Tensor::empty(b.shape(), b.dtype())?;
    room(lu, 2)?;
    room(b, 4)?;
    kernels::linalg::lu_solve(lu.view_of(), order.view_of(), b.view_of(), out.view_mut(), adjoint)
        .map_err(|i| singular("lu_solve", lu, i))?;
    finish(out, &[lu, b], |_| Record {
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
            let gb = solved(&lu, &order, &g, !adjoint)?;
            cx.give_with(0, |cx| {
                // The two directions are one formula with the solution and this gradient exchanged.
                let x = cx.saved(1)?;
                let (turned, plain) = if adjoint { (&x, &gb) } else { (&gb, &x) };
                let turned = in_order(turned, &order)?;
                let upper = mm(&times_lower(&lu, &turned)?, &h(plain)?)?;
                let strict = mm(&turned, &h(&mm(&triu(&lu, 0)?, plain)?)?)?;
                negative(&add(&triu(&upper, 0)?, &tril(&strict, -1)?)?)
            })?;
            cx.give_with(1, |_| Ok(gb))
        },
    })
}

/// The order of rows that pivots of square factors make.
fn ordered(lu: &Tensor, pivots: &Tensor) -> Result<Tensor> {
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
    let given = astype(&pivots.detach(), DType::I64)?;
    kernels::linalg::order(given.view_of(), out.view_mut()).map_err(|_| wrong())?;
    Ok(out)
}

fn from_left(lu: &Tensor, pivots: &Tensor, b: &Tensor, adjoint: bool) -> Result<Tensor> {
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
    let order = ordered(lu, pivots)?;
    let (lu, b) = (matrices("lu_solve", lu)?, matrices("lu_solve", b)?);
    let (lu, b) = paired("lu_solve", &lu, &b)?;
    let front = broadcast_shapes("lu_solve", &[lead(&b), &order.shape()[..order.ndim() - 1]])?;
    let spread = |x: &Tensor, last: &[usize]| {
        broadcast_to(x, &front.iter().chain(last).copied().collect::<ShapeVec>())
    };
    let (n, k) = (rows(&b), columns(&b));
    solved(&spread(&lu, &[n, n])?, &spread(&order, &[n])?, &spread(&b, &[n, k])?, adjoint)
}

crate::operations! { family "linear algebra" [float32];
    /// `(P, L, U)` with `x = P L U` of matrices (…, m, n): a permutation, a unit lower and an upper triangle; without `pivot` rows stay as they stand and P is empty. Derivative: that of the factors in this order of rows, which is constant.
    [namespace("linalg"), fields("P L U"), keywords(("A", "x"))]
    fn lu(x: Tensor, pivot: bool = true) -> (Tensor, Tensor, Tensor) {
        let a = matrices("lu", x)?;
        let (m, k) = (rows(&a), rows(&a).min(columns(&a)));
        let (packed, _, places) = factored(&a, pivot)?;
        let lower = add(&tril(&some_columns(&packed, 0, k)?, -1)?, &eye(m, k, &a)?)?;
        let upper = triu(&some_rows(&packed, 0, k)?, 0)?;
        let turned = if pivot {
            index(&eye(m, m, &a)?, &[IndexItem::Array(places)])?
        } else {
            Tensor::zeros(&[0], a.dtype())?
        };
        Ok((turned, lower, upper))
    }
    /// `(LU, pivots)` of matrices (…, m, n): both triangles of `lu` in one, and for each step the row, from 1 on, that it was exchanged with (int32); a singular matrix keeps zeros on its diagonal. Derivative: that of the factors in this order of rows; of square ones `l⁻ᴴ (tril(lᴴ g, -1) + triu(triu(g) uᴴ)) u⁻ᴴ`.
    [namespace("linalg"), fields("LU pivots"), keywords(("A", "x"))]
    fn lu_factor(x: Tensor, pivot: bool = true) -> (Tensor, Tensor) {
        let (packed, pivots, _) = factored(&matrices("lu_factor", x)?, pivot)?;
        Ok((packed, pivots))
    }
    /// The solution of `a x = b` (…, n, k) from what `lu_factor` gives for `a`, of `x a = b` with left=False, of `aᴴ x = b` with adjoint. Derivatives: as those of `solve`, for the factors in place of `a`.
    [namespace("linalg"), keywords(("LU", "factors"), ("B", "b"))]
    fn lu_solve(factors: Tensor, pivots: Tensor, b: Tensor, left: bool = true, adjoint: bool = false) -> Tensor {
        if left || b.ndim() < 2 {
            return from_left(factors, pivots, b, adjoint);
        }
        h(&from_left(factors, pivots, &h(b)?, !adjoint)?)
    }
}
