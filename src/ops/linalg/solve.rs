//! Inverses and linear systems, with any or triangular matrices.
//!
//! Owns: `inv`, `solve`, `solve_triangular` and their derivatives. Never inverts to solve.
//! Invariant: a derivative solves with the transposed matrix; a triangle's gradient is a triangle.

use smallvec::smallvec;

use super::common::{
    columns, cost, each, lead, matrices, mm, mul, negative, paired, rows, singular, square, t,
};
use crate::array::ShapeVec;
use crate::error::{Dims, Error, Result};
use crate::graph::Saved;
use crate::kernels;
use crate::ops::core::layout::reshape_dims;
use crate::ops::core::structured::{Record, finish, finish_batched};
use crate::ops::shape::diagonal::{tril, triu};
use crate::tensor::Tensor;

/// The inverse of float matrices; `op` is named when one is singular.
pub(super) fn inverse(op: &'static str, a: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(a.shape(), a.dtype())?;
    kernels::linalg::inverse(a.view_of(), out.view_mut()).map_err(|i| singular(op, a, i))?;
    finish_batched(out, &[a], |out| Record {
        name: "inv",
        cost: cost(a, 2.0),
        params: (),
        saved: smallvec![Saved::output(out, 0)],
        backward: |(), cx| {
            let Some(g) = cx.take_grad(0) else {
                return Ok(());
            };
            let y = t(&cx.saved(0)?)?;
            cx.give(0, negative(&mm(&mm(&y, &g)?, &y)?)?);
            Ok(())
        },
    })
}

/// Solutions of float systems whose stacks have one shape.
fn solved(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(b.shape(), b.dtype())?;
    kernels::linalg::solve(a.view_of(), b.view_of(), out.view_mut())
        .map_err(|i| singular("solve", a, i))?;
    finish(out, &[a, b], |out| Record {
        name: "solve",
        cost: cost(a, 2.0),
        params: (),
        saved: smallvec![Saved::input(a, 0), Saved::output(out, 0)],
        backward: |(), cx| {
            let Some(g) = cx.take_grad(0) else {
                return Ok(());
            };
            let gb = solved(&t(&cx.saved(0)?)?, &g)?;
            if cx.wants(0) {
                cx.give(0, negative(&mm(&gb, &t(&cx.saved(1)?)?)?)?);
            }
            cx.give(1, gb);
            Ok(())
        },
    })
}

/// How a triangular matrix is read.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub(super) lower: bool,
    pub(super) transposed: bool,
    pub(super) unit: bool,
}

/// Solutions of triangular float systems whose stacks have one shape.
pub(super) fn solved_triangular(a: &Tensor, b: &Tensor, how: Reading) -> Result<Tensor> {
    let out = Tensor::empty(b.shape(), b.dtype())?;
    let flags = (how.lower, how.transposed, how.unit);
    kernels::linalg::solve_triangular(a.view_of(), b.view_of(), out.view_mut(), flags)
        .map_err(|i| singular("solve_triangular", a, i))?;
    finish(out, &[a, b], |out| Record {
        name: "solve_triangular",
        cost: cost(a, 1.0),
        params: how,
        saved: smallvec![Saved::input(a, 0), Saved::output(out, 0)],
        backward: |&how, cx| {
            let Some(g) = cx.take_grad(0) else {
                return Ok(());
            };
            let gb = solved_triangular(
                &cx.saved(0)?,
                &g,
                Reading { transposed: !how.transposed, ..how },
            )?;
            if cx.wants(0) {
                let x = cx.saved(1)?;
                let whole = if how.transposed { mm(&x, &t(&gb)?)? } else { mm(&gb, &t(&x)?)? };
                let k = isize::from(how.unit);
                let part = if how.lower { tril(&whole, -k)? } else { triu(&whole, k)? };
                cx.give(0, negative(&part)?);
            }
            cx.give(1, gb);
            Ok(())
        },
    })
}

/// Runs a solver on `a` and a right-hand side that is a vector (1 axis) or matrices.
fn system(
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
    solver: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let a = square(op, a)?;
    let vector = b.ndim() == 1;
    let b = matrices(op, &if vector { reshape_dims(b, &[b.size(), 1])? } else { b.clone() })?;
    if rows(&a) != rows(&b) {
        return Err(Box::new(Error::Shape {
            op: op.into(),
            what: format!("a of shape {} and b of {} rows", Dims::from(a.shape()), rows(&b)),
            remedy: "b must have as many rows as a",
        }));
    }
    let (a, b) = paired(op, &a, &b)?;
    let x = solver(&a, &b)?;
    if !vector {
        return Ok(x);
    }
    let dims: ShapeVec = lead(&x).iter().copied().chain([rows(&x)]).collect();
    debug_assert_eq!(columns(&x), 1);
    reshape_dims(&x, &dims)
}

crate::operations! { family "linear algebra";
    /// Inverse of square matrices. Derivative: `-yᵀ g yᵀ`.
    [numpy("linalg.inv"), namespace("linalg")]
    fn inv(x: Tensor) -> Tensor {
        inverse("inv", &square("inv", x)?)
    }
    /// The solution of `a x = b` for square `a`; `b` is a vector or a stack of matrices. Derivatives: `a⁻ᵀ g` for `b`, and minus its product with `xᵀ` for `a`.
    [numpy("linalg.solve"), namespace("linalg")]
    fn solve(a: Tensor, b: Tensor) -> Tensor {
        system("solve", a, b, solved)
    }
    /// The solution of `a x = b` (of `aᵀ x = b` with trans=1) for triangular `a`, of which the other triangle is not read; `upper` is PyTorch's word for not `lower`. Derivatives: as those of `solve`, the triangle of it for `a`.
    [namespace("linalg"), keywords(("unitriangular", "unit_diagonal"))]
    fn solve_triangular(a: Tensor, b: Tensor, trans: isize = 0, lower: bool = false, unit_diagonal: bool = false, upper: Option<bool> = None) -> Tensor {
        let transposed = match trans {
            0 => false,
            1 | 2 => true,
            other => return Err(Box::new(Error::Argument {
                op: "solve_triangular".into(),
                what: format!("trans={other}"),
                remedy: "use 0, or 1 to solve with the transposed matrix".into(),
            })),
        };
        let lower = upper.map_or(lower, |upper| !upper);
        let how = Reading { lower, transposed, unit: unit_diagonal };
        system("solve_triangular", a, b, |a, b| solved_triangular(a, b, how))
    }
}

/// `g` of each matrix times the transposed inverse: the derivative of a determinant's logarithm.
pub(super) fn times_inverse_transposed(op: &'static str, g: &Tensor, a: &Tensor) -> Result<Tensor> {
    mul(&each(g)?, &t(&inverse(op, a)?)?)
}
