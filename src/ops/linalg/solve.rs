//! Inverses and linear systems, general and triangular, with derivatives.
//!
//! Invariant: a derivative solves with the adjoint matrix; the gradient of a triangle is a
//! triangle.

use smallvec::smallvec;

use super::helpers::{
    batch_dims, broadcast_batch, check_memory, columns, cost, h, matrices, mm, mul, negative,
    per_matrix, rows, singular_error, square, t, with_matrix_dims,
};
use super::lu;
use crate::array::ShapeVec;
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::graph;
use crate::kernels;
use crate::ops::core::broadcast::{broadcast_to, permute_axes, reshape_dims};
use crate::ops::core::structured::{Cx, NodeSpec, Save, record_output};
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::shape::diagonal::{tril, triu};
use crate::tensor::Tensor;

/// The inverse of float matrices; `op` is named in errors.
pub(super) fn inverse(op: &'static str, a: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(a.shape(), a.dtype())?;
    check_memory(a, 4)?;
    kernels::linalg::inverse(a.view_of(), out.view_mut()).map_err(|i| singular_error(op, a, i))?;
    record_output(out, &[a], |_| NodeSpec {
        name: "inv",
        cost: cost(a, 2.0),
        params: (),
        saved: smallvec![Save::output(0, &[0])],
        backward: |(), g, cx| {
            let y = h(&cx.saved(0)?)?;
            cx.give_with(0, |_| negative(&mm(&mm(&y, &g)?, &y)?))
        },
    })
}

/// Runs a solver where `b` may have a leading batch axis of gradients: for a single matrix they
/// become further columns, so that it is factored once.
pub(super) fn with_gradient_batch(
    a: &Tensor,
    b: &Tensor,
    solver: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    if a.ndim() == b.ndim() {
        return solver(a, b);
    }
    if a.ndim() > 2 {
        return solver(&broadcast_to(a, &with_matrix_dims(b, &[rows(a), columns(a)]))?, b);
    }
    let (n, m, front) = (rows(b), columns(b), b.shape()[0]);
    let wide = reshape_dims(&permute_axes(b, &[1, 0, 2])?, &[n, front * m])?;
    permute_axes(&reshape_dims(&solver(a, &wide)?, &[n, front, m])?, &[1, 0, 2])
}

/// Solves float systems with equal batch dims.
fn solution(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(b.shape(), b.dtype())?;
    check_memory(a, 4)?;
    check_memory(b, 3)?;
    if graph::recording()
        && (a.requires_grad() || b.requires_grad())
        && rows(a) >= MIN_ROWS_TO_SAVE_FACTORS
    {
        return solution_saving_factors(a, b, out);
    }
    kernels::linalg::solve(a.view_of(), b.view_of(), out.view_mut())
        .map_err(|i| singular_error("solve", a, i))?;
    record_output(out, &[a, b], |_| NodeSpec {
        name: "solve",
        cost: cost(a, 2.0),
        params: (),
        saved: smallvec![Save::input(0, &[0, 1]), Save::output(0, &[0])],
        backward: |(), g, cx| {
            let gb = with_gradient_batch(&h(&cx.saved(0)?)?, &g, solution)?;
            give_gradients(gb, cx)
        },
    })
}

/// Minimum rows for saving the factors for the backward; smaller matrices are factored again,
/// several at a time.
const MIN_ROWS_TO_SAVE_FACTORS: usize = 9;

/// As `solution`, saving the factors for the backward. With create_graph, the
/// backward solves again, because factors are not differentiable.
fn solution_saving_factors(a: &Tensor, b: &Tensor, out: Tensor) -> Result<Tensor> {
    let order_dims: ShapeVec = batch_dims(a).iter().copied().chain([rows(a)]).collect();
    let (factors, order) =
        (Tensor::empty(a.shape(), a.dtype())?, Tensor::empty(&order_dims, DType::I64)?);
    let views = (factors.view_mut(), order.view_mut());
    kernels::linalg::solve_with_factors(
        (a.view_of(), b.view_of()),
        out.view_mut(),
        views.0,
        views.1,
    )
    .map_err(|i| singular_error("solve", a, i))?;
    record_output(out, &[a, b], |_| NodeSpec {
        name: "solve",
        cost: cost(a, 0.5),
        params: (),
        saved: smallvec![
            Save::input(0, &[0, 1]),
            Save::output(0, &[0]),
            Save::value(&factors, &[0, 1]),
            Save::value(&order, &[0, 1])
        ],
        backward: |(), g, cx| {
            let gb = if cx.create_graph() {
                with_gradient_batch(&h(&cx.saved(0)?)?, &g, solution)?
            } else {
                lu::lu_solution(&cx.saved(2)?, &cx.saved(3)?, &g, true)?
            };
            give_gradients(gb, cx)
        },
    })
}

/// Passes on the gradients of a solution; `gb` is that of the right-hand side.
fn give_gradients(gb: Tensor, cx: &mut Cx<'_>) -> Result<()> {
    cx.give_with(0, |cx| negative(&mm(&gb, &h(&cx.saved(1)?)?)?))?;
    cx.give_with(1, |_| Ok(gb))
}

/// Which triangle is read, and how.
#[derive(Clone, Copy)]
pub(super) struct TriangleSpec {
    pub(super) lower: bool,
    pub(super) transposed: bool,
    pub(super) unit: bool,
}

/// Solves triangular float systems with equal batch dims; `b` may have a leading batch axis of
/// gradients.
pub(super) fn triangular_solution(a: &Tensor, b: &Tensor, how: TriangleSpec) -> Result<Tensor> {
    if a.ndim() < b.ndim() {
        return with_gradient_batch(a, b, |a, b| triangular_solution(a, b, how));
    }
    let out = Tensor::empty(b.shape(), b.dtype())?;
    let flags = (how.lower, how.transposed, how.unit);
    check_memory(a, 2)?;
    check_memory(b, 3)?;
    kernels::linalg::solve_triangular(a.view_of(), b.view_of(), out.view_mut(), flags)
        .map_err(|i| singular_error("solve_triangular", a, i))?;
    record_output(out, &[a, b], |_| NodeSpec {
        name: "solve_triangular",
        cost: cost(a, 1.0),
        params: how,
        saved: smallvec![Save::input(0, &[0, 1]), Save::output(0, &[0])],
        backward: |&how, g, cx| {
            let gb = triangular_solution(
                &conjugated(&cx.saved(0)?)?,
                &g,
                TriangleSpec { transposed: !how.transposed, ..how },
            )?;
            cx.give_with(0, |cx| {
                let x = conjugated(&cx.saved(1)?)?;
                let whole = if how.transposed { mm(&x, &t(&gb)?)? } else { mm(&gb, &t(&x)?)? };
                let k = isize::from(how.unit);
                let part = if how.lower { tril(&whole, -k)? } else { triu(&whole, k)? };
                negative(&part)
            })?;
            cx.give_with(1, |_| Ok(gb))
        },
    })
}

/// Runs a solver on `a` and a right-hand side that is a vector (1 axis) or matrices.
fn solve_system(
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
    let (a, b) = broadcast_batch(op, &a, &b)?;
    let x = solver(&a, &b)?;
    if !vector {
        return Ok(x);
    }
    let dims: ShapeVec = batch_dims(&x).iter().copied().chain([rows(&x)]).collect();
    debug_assert_eq!(columns(&x), 1);
    reshape_dims(&x, &dims)
}

crate::operations! { family "linear algebra" [float32];
    /// Inverse of square matrices. Derivative: `-yᴴ g yᴴ`.
    [numpy("linalg.inv"), namespace("linalg")]
    fn inv(x: Tensor) -> Tensor {
        inverse("inv", &square("inv", x)?)
    }
    /// The solution of `a x = b` for square `a`, of `x a = b` with left=False; `b` is a vector or a stack of matrices. Derivatives: `a⁻ᴴ g` for `b`, and minus its product with `xᴴ` for `a`.
    [numpy("linalg.solve"), namespace("linalg")]
    fn solve(a: Tensor, b: Tensor, left: bool = true) -> Tensor {
        if left {
            return solve_system("solve", a, b, solution);
        }
        let b = if b.ndim() > 1 { t(b)? } else { b.clone() };
        let x = solve_system("solve", &t(&square("solve", a)?)?, &b, solution)?;
        if b.ndim() > 1 { t(&x) } else { Ok(x) }
    }
    /// The solution of `a x = b` (of `aᵀ x = b` with trans=1, of `aᴴ x = b` with trans=2) for triangular `a`, of which the other triangle is not read; `upper` is PyTorch's word for not `lower`, left=False is for `x a = b`. Derivatives: as those of `solve`, the triangle of it for `a`.
    [namespace("linalg"), keywords(("unitriangular", "unit_diagonal"))]
    fn solve_triangular(a: Tensor, b: Tensor, trans: isize = 0, lower: bool = false, unit_diagonal: bool = false, upper: Option<bool> = None, left: bool = true) -> Tensor {
        let transposed = match trans {
            0 => false,
            1 | 2 => true,
            other => return Err(Box::new(Error::Argument {
                op: "solve_triangular".into(),
                what: format!("trans={other}"),
                remedy: "use 0, 1 for the transposed matrix or 2 for its conjugate".into(),
            })),
        };
        let lower = upper.map_or(lower, |upper| !upper);
        // `x a = b` is `aᵀ xᵀ = bᵀ`.
        let how = TriangleSpec { lower, transposed: transposed == left, unit: unit_diagonal };
        let a = &if trans == 2 { conjugated(a)? } else { a.clone() };
        let transpose_right = |x: &Tensor| if left || x.ndim() < 2 { Ok(x.clone()) } else { t(x) };
        transpose_right(&solve_system("solve_triangular", a, &transpose_right(b)?, |a, b| triangular_solution(a, b, how))?)
    }
}

/// `g` of each matrix times the adjoint of its inverse: the derivative of the log-determinant.
pub(super) fn times_inverse_adjoint(op: &'static str, g: &Tensor, a: &Tensor) -> Result<Tensor> {
    mul(&per_matrix(g)?, &h(&inverse(op, a)?)?)
}
