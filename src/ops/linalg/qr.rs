//! QR factorisation, and completion of orthonormal columns to a basis, with derivatives.
//!
//! Invariant: signs are LAPACK's; the derivative requires the first columns to be independent.

use smallvec::smallvec;

use super::cholesky::half_diagonal;
use super::helpers::{
    add, batch_dims, check_memory, columns, cost, h, matrices, mm, mul, rows, skew, slice_columns,
    sub, with_matrix_dims,
};
use super::solve::{TriangleSpec, triangular_solution};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph;
use crate::kernels;
use crate::kernels::launch::decide;
use crate::ops::core::arguments::OneOrTuple;
use crate::ops::core::broadcast::astype;
use crate::ops::core::op_decl::Axes;
use crate::ops::core::structured::{
    Cx, NodeSpec, NodeSpecMany, Save, batched_dims, record_output, record_outputs,
};
use crate::ops::shape::diagonal::triu;
use crate::ops::shape::join::concatenate;
use crate::tensor::Tensor;

/// The gradient of a matrix with independent columns from those of its factors.
fn tall_gradient(q: &Tensor, r: &Tensor, gq: &Tensor, gr: &Tensor) -> Result<Tensor> {
    let m = sub(&mm(r, &h(&triu(gr, 0)?)?)?, &mm(&h(gq)?, q)?)?;
    // The lower triangle of `m` mirrored at the diagonal, which is real, as that of `r` is.
    let lower = mul(&m, &half_diagonal(columns(r), r)?)?;
    let mirrored = add(&lower, &h(&lower)?)?;
    let right = add(gq, &mm(q, &mirrored)?)?;
    let plain = TriangleSpec { lower: false, transposed: false, unit: false };
    h(&triangular_solution(r, &h(&right)?, plain)?)
}

/// The gradient of output `k`, or zeros if there is none.
fn grad_or_zeros(cx: &mut Cx<'_>, k: usize, like: &Tensor) -> Result<Tensor> {
    let g = cx.take_grad(k);
    g.map_or_else(|| Tensor::zeros(&batched_dims(cx, like.shape()), like.dtype()), Ok)
}

fn gradient(cx: &mut Cx<'_>) -> Result<()> {
    let (q, r) = (cx.saved(0)?, cx.saved(1)?);
    let gq = grad_or_zeros(cx, 0, &q)?;
    let gr = grad_or_zeros(cx, 1, &r)?;
    let (m, n) = (rows(&r), columns(&r));
    if n <= m {
        return cx.give_with(0, |_| tall_gradient(&q, &r, &gq, &gr));
    }
    // Wide: factors of the first `m` columns; the other columns are `q` times the rest of `r`.
    let (head, tail) = (slice_columns(&r, 0, m)?, slice_columns(&r, m, n - m)?);
    let g_tail = slice_columns(&gr, m, n - m)?;
    let gq = add(&gq, &mm(&mm(&q, &tail)?, &h(&g_tail)?)?)?;
    let left = tall_gradient(&q, &head, &gq, &slice_columns(&gr, 0, m)?)?;
    cx.give_with(0, |_| concatenate(&[left, mm(&q, &g_tail)?], Some(-1)))
}

/// The reduced factors, recorded.
pub(super) fn reduced(a: &Tensor) -> Result<(Tensor, Tensor)> {
    let k = rows(a).min(columns(a));
    let q = Tensor::empty(&with_matrix_dims(a, &[rows(a), k]), a.dtype())?;
    let r = Tensor::empty(&with_matrix_dims(a, &[k, columns(a)]), a.dtype())?;
    if a.size() > 0 {
        check_memory(a, 6)?;
        kernels::linalg::qr(a.view_of(), q.view_mut(), r.view_mut());
    }
    let mut outs = record_outputs(vec![q, r], &[a], |_| NodeSpecMany {
        name: "qr",
        cost: cost(a, 4.0),
        params: (),
        saved: smallvec![Save::output(0, &[0]), Save::output(1, &[0])],
        backward: |(), cx| gradient(cx),
    })?;
    let r = outs.pop();
    outs.pop().zip(r).ok_or_else(|| {
        Box::new(Error::Internal { op: "qr".into(), what: "a factor is missing".into() })
    })
}

/// Elements above which `r` is computed without `q`; smaller matrices use the batched kernel for
/// both.
const MIN_ELEMENTS_FOR_R_ONLY: usize = 256;

/// `r` only, of one matrix, not recorded.
fn r_only(a: &Tensor) -> Result<Tensor> {
    let r = Tensor::empty(&[rows(a).min(columns(a)), columns(a)], a.dtype())?;
    check_memory(a, 4)?;
    kernels::linalg::qr_upper(a.view_of(), r.view_mut());
    Ok(r.unrecorded([a].into_iter()))
}

/// Refuses a gradient that depends on the choice of basis of the complement, which is arbitrary:
/// rotating `rest` within its span would change the result.
fn refuse_basis(op: &'static str, rest: &Tensor, g: &Tensor) -> Result<()> {
    if columns(rest) < 2 || g.size() == 0 {
        return Ok(());
    }
    let noise = if rest.dtype().real() == DType::F32 { 1e-4 } else { 1e-8 };
    let wide = DType::F64.promote(rest.dtype());
    let (rest, g) = (astype(&rest.detach(), wide)?, astype(&g.detach(), wide)?);
    let largest = |x: &Tensor| x.abs_()?.max(Axes::All, false);
    let (rotation_part, whole) = (largest(&skew(&mm(&h(&rest)?, &g)?)?)?, largest(&g)?);
    let decides = decide(op, &[rotation_part.view_of(), whole.view_of()], move |of| {
        let [rotation_part, whole] = [0, 1].map(|i| of[i].to_vec::<f64>()[0]);
        u64::from(!rotation_part.is_nan() && rotation_part > noise * whole)
    });
    if decides == 0 {
        return Ok(());
    }
    Err(Box::new(Error::NotDifferentiable {
        op: op.into(),
        what: format!(
            "a gradient reaches the {} vectors of the null space, which are any basis of it and have no derivative",
            columns(&rest)
        ),
        remedy: match op {
            "svd" => "use full_matrices=False, or only their span".into(),
            _ => "use mode=\"reduced\", or only their span".into(),
        },
    }))
}

/// Completes orthonormal columns to a square orthogonal matrix. The new columns are an arbitrary
/// basis of the complement, so only functions of their span have a derivative.
pub(super) fn complete_basis(op: &'static str, u: &Tensor) -> Result<Tensor> {
    let known = columns(u);
    if known == rows(u) {
        return Ok(u.clone());
    }
    let out = Tensor::empty(&with_matrix_dims(u, &[rows(u), rows(u)]), u.dtype())?;
    check_memory(&out, 6)?;
    kernels::linalg::complete_basis(u.view_of(), out.view_mut());
    record_output(out, &[u], |out| NodeSpec {
        name: "complete",
        cost: cost(out, 2.0),
        params: (op, known),
        saved: smallvec![Save::output(0, &[0])],
        backward: |&(op, known), g, cx| {
            let out = cx.saved(0)?;
            let others = columns(&out) - known;
            let (u, rest) = (slice_columns(&out, 0, known)?, slice_columns(&out, known, others)?);
            let (gu, g_rest) = (slice_columns(&g, 0, known)?, slice_columns(&g, known, others)?);
            refuse_basis(op, &rest, &g_rest)?;
            cx.give_with(0, |_| sub(&gu, &mm(&rest, &mm(&h(&g_rest)?, &u)?)?))
        },
    })
}

crate::operations! { family "linear algebra" [float32];
    /// `(q, r)` with orthonormal columns `q` and upper triangular `r`, `q r = x`; mode "reduced" (q is m×k, k the smaller dimension), "complete" (q is m×m) or "r" (`r` alone). Derivative: `(g_q + q L) r⁻ᴴ`, `L` the mirrored lower triangle of `r g_rᴴ - g_qᴴ q`.
    [numpy("linalg.qr"), namespace("linalg"), fields("Q R")]
    fn qr(x: Tensor, mode: String = "reduced".to_owned()) -> OneOrTuple {
        let x = matrices("qr", x)?;
        let records = graph::recording() && x.requires_grad();
        if mode == "r" && !records && batch_dims(&x).is_empty() && x.size() > MIN_ELEMENTS_FOR_R_ONLY {
            return r_only(&x).map(OneOrTuple::One);
        }
        let (q, r) = reduced(&x)?;
        match mode.as_str() {
            "reduced" => Ok(OneOrTuple::Tuple(vec![q, r])),
            "r" => Ok(OneOrTuple::One(r)),
            "complete" => {
                let below = rows(&x) - rows(&r);
                let zeros = Tensor::zeros(&with_matrix_dims(&r, &[below, columns(&r)]), r.dtype())?;
                Ok(OneOrTuple::Tuple(vec![complete_basis("qr", &q)?, concatenate(&[r, zeros], Some(-2))?]))
            }
            other => Err(Box::new(Error::Argument {
                op: "qr".into(),
                what: format!("mode={other:?}"),
                remedy: "use \"reduced\", \"complete\" or \"r\"".into(),
            })),
        }
    }
}
