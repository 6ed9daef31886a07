//! `det` and `slogdet` with their derivatives, also at singular matrices.
//!
//! At a singular matrix the cofactors come from the SVD, or, for higher derivatives, from the
//! minors. Invariant: the gradient of `det` is finite for every finite matrix.

use smallvec::smallvec;

use super::helpers::{
    add, batch_dims, check_memory, columns, cost, mul, not_converged_error, per_matrix, square,
    sub, t,
};
use super::solve::{inverse, times_inverse_adjoint};
use crate::array::afford;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels;
use crate::kernels::launch::decide;
use crate::ops::core::broadcast::astype;
use crate::ops::core::op_decl::IndexItem;
use crate::ops::core::structured::{NodeSpec, NodeSpecMany, Save, record_output, record_outputs};
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::index::getitem::index;
use crate::tensor::Tensor;

/// Most rows of a singular matrix for which the minors are differentiated.
const MAX_ROWS_FOR_MINORS: usize = 12;

/// Cofactors by minors: the signed determinant of what remains without the element's row and
/// column.
fn cofactors_by_minors(a: &Tensor) -> Result<Tensor> {
    let n = columns(a) as i64;
    if n == 1 {
        return Tensor::ones(a.shape(), a.dtype());
    }
    let others = |skip: i64| (0..n).filter(move |&i| i != skip);
    let (mut rows, mut cols, mut signs) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n {
        for k in 0..n {
            signs.push(if (i + k) % 2 == 0 { 1.0 } else { -1.0 });
            rows.extend(others(i).flat_map(|r| others(k).map(move |_| r)));
            cols.extend(others(i).flat_map(|_| others(k)));
        }
    }
    let (n, m) = (n as usize, n as usize - 1);
    let at = |list: Vec<i64>| {
        Ok::<_, Box<Error>>(IndexItem::Array(Tensor::from_vec(list, &[n, n, m, m])?))
    };
    let minors = index(a, &[IndexItem::Ellipsis, at(rows)?, at(cols)?])?;
    mul(&determinants(&minors)?, &Tensor::from_vec::<f64>(signs, &[n, n])?.cast_like(a)?)
}

/// Whether every determinant is finite and at least `share` of the product of its row norms.
fn is_well_conditioned(a: &Tensor, d: &Tensor, share: f64) -> Result<bool> {
    let n = columns(a);
    let real = |x: &Tensor| astype(&x.detach().abs_()?, DType::F64);
    let (d, a) = (real(d)?, real(a)?);
    afford(a.size().saturating_mul(size_of::<f64>()))?;
    let is_well_conditioned = decide("det", &[d.view_of(), a.view_of()], move |of| {
        let [values, elements] = [0, 1].map(|i| of[i].to_vec::<f64>());
        let is_well_conditioned = values.iter().enumerate().all(|(i, v)| {
            let rows = elements[i * n * n..(i + 1) * n * n].chunks_exact(n.max(1));
            let length = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().ln() / 2.0;
            let most: f64 = rows.map(length).sum();
            v.is_finite() && v.abs() > f64::MIN_POSITIVE && v.abs().ln() >= most + share.ln()
        });
        is_well_conditioned.into()
    });
    Ok(is_well_conditioned == 1)
}

/// The cofactors: the derivative of the determinant. `higher_order` if the result is differentiated
/// again.
fn cofactors(a: &Tensor, d: &Tensor, higher_order: bool) -> Result<Tensor> {
    if !higher_order {
        let out = Tensor::empty(a.shape(), a.dtype())?;
        check_memory(a, 14)?;
        kernels::linalg::cofactor(a.view_of(), out.view_mut())
            .map_err(|i| not_converged_error("det", a, i))?;
        return Ok(out);
    }
    // Near singularity, the derivative of the inverse is inaccurate: two large terms cancel.
    let by_minors = columns(a) <= MAX_ROWS_FOR_MINORS;
    if is_well_conditioned(a, d, if by_minors { 1e-3 } else { 0.0 })?
        && let Ok(inverse) = inverse("det", a)
    {
        return mul(&per_matrix(d)?, &t(&inverse)?);
    }
    if by_minors {
        return cofactors_by_minors(a);
    }
    Err(Box::new(Error::NotDifferentiable {
        op: "det".into(),
        what: format!("the second derivative at a singular matrix of {} rows", columns(a)),
        remedy: format!(
            "it is computed up to {MAX_ROWS_FOR_MINORS} rows; use slogdet away from singular matrices"
        ),
    }))
}

fn determinants(a: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(batch_dims(a), a.dtype())?;
    check_memory(a, 4)?;
    kernels::linalg::det(a.view_of(), out.view_mut());
    record_output(out, &[a], |_| NodeSpec {
        name: "det",
        cost: cost(a, 2.0),
        params: (),
        saved: smallvec![Save::input(0, &[0]), Save::output(0, &[0])],
        backward: |(), g, cx| {
            let (a, d) = (cx.saved(0)?, cx.saved(1)?);
            let cofactors_of_a = cofactors(&a, &d, cx.create_graph())?;
            cx.give_with(0, |_| mul(&per_matrix(&g)?, &conjugated(&cofactors_of_a)?))
        },
    })
}

/// Records sign and logarithm of complex determinants; the sign is differentiable too.
fn complex_slogdet(a: &Tensor, sign: Tensor, log: Tensor) -> Result<(Tensor, Tensor)> {
    let mut outs = record_outputs(vec![sign, log], &[a], |_| NodeSpecMany {
        name: "slogdet",
        cost: cost(a, 2.0),
        params: (),
        saved: smallvec![Save::input(0, &[0]), Save::output(0, &[0])],
        backward: |(), cx| {
            let (a, sign) = (cx.saved(0)?, cx.saved(1)?);
            let mut total = None;
            if let Some(g) = cx.take_grad(0) {
                let rotated = mul(&g, &conjugated(&sign)?)?;
                let twice = sub(&rotated, &conjugated(&rotated)?)?;
                total = Some(mul(&twice, &Tensor::from(0.5f64).cast_like(&twice)?)?);
            }
            if let Some(g) = cx.take_grad(1) {
                let g = g.cast_like(&a)?;
                total = Some(match total {
                    Some(total) => add(&total, &g)?,
                    None => g,
                });
            }
            match total {
                Some(g) => cx.give_with(0, |_| times_inverse_adjoint("slogdet", &g, &a)),
                None => Ok(()),
            }
        },
    })?;
    let log = outs.pop();
    outs.pop().zip(log).ok_or_else(|| {
        Box::new(Error::Internal { op: "slogdet".into(), what: "an output is missing".into() })
    })
}

crate::operations! { family "linear algebra" [float32];
    /// Determinant of square matrices. Derivative: `g` times the conjugates of the cofactors, `det(x) x⁻ᵀ` where `x` is invertible.
    [numpy("linalg.det"), namespace("linalg")]
    fn det(x: Tensor) -> Tensor {
        determinants(&square("det", x)?)
    }
    /// `(sign, logabsdet)` of square matrices; 0 and -inf for a singular one. The sign of a complex determinant is its direction. Derivative: `g x⁻ᴴ` of the logarithm, none of a real sign, `i Im(g conj(sign)) x⁻ᴴ` of a complex one; a singular matrix is refused.
    [numpy("linalg.slogdet"), namespace("linalg"), fields("sign logabsdet")]
    fn slogdet(x: Tensor) -> (Tensor, Tensor) {
        let a = square("slogdet", x)?;
        let sign = Tensor::empty(batch_dims(&a), a.dtype())?;
        let log = Tensor::empty(batch_dims(&a), a.dtype().real())?;
        check_memory(&a, 4)?;
        kernels::linalg::slogdet(a.view_of(), sign.view_mut(), log.view_mut());
        if a.dtype().is_complex() {
            return complex_slogdet(&a, sign, log);
        }
        let log = record_output(log, &[&a], |_| NodeSpec {
            name: "slogdet",
            cost: cost(&a, 2.0),
            params: (),
            saved: smallvec![Save::input(0, &[0])],
            backward: |(), g, cx| {
                let a = cx.saved(0)?;
                cx.give_with(0, |_| times_inverse_adjoint("slogdet", &g, &a))
            },
        })?;
        Ok((sign, log))
    }
}
