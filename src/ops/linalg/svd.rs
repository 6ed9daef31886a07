//! SVD, singular values and pseudo-inverse, with derivatives.
//!
//! Vectors of equal values have no derivative: they get NaN where their gradient is not zero.
//! Invariant: gradients of the values alone are finite for every matrix.

use smallvec::smallvec;

use super::check_phase_invariance::check_phase_invariance;
use super::helpers::{
    add, as_column, as_row, check_memory, columns, cost, h, matrices, mm, mul, negative,
    not_converged_error, rows, skew, square, sub, with_matrix_dims,
};
use super::qr::complete_basis;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph;
use crate::kernels;
use crate::ops::core::arguments::OneOrTuple;
use crate::ops::core::broadcast::{any_true, astype};
use crate::ops::core::op_decl::{Axes, Operand};
use crate::ops::core::structured::{
    Cx, NodeSpec, NodeSpecMany, Save, record_output, record_outputs,
};
use crate::ops::elementwise::arithmetic::divide;
use crate::ops::elementwise::compare::{equal, logical_and, logical_or, not_equal};
use crate::ops::elementwise::select::where_;
use crate::ops::shape::diagonal::{diag_embed, tril};
use crate::tensor::Tensor;

/// The machine epsilon of a float dtype.
pub(super) fn epsilon(dtype: DType) -> f64 {
    if dtype.real() == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON }
}

/// The pairs of different positions with values that are equal up to rounding.
fn near_equal_pairs(values: &Tensor) -> Result<Tensor> {
    let v = astype(&values.detach(), DType::F64.promote(values.dtype()))?;
    let n = v.shape()[v.ndim() - 1];
    let noise = mul(
        &v.abs_()?.max(Axes::from(-1), true)?,
        &Tensor::from(n as f64 * epsilon(values.dtype())),
    )?;
    let near = crate::ops::elementwise::compare::less_equal(
        &sub(&as_column(&v)?, &as_row(&v)?)?.abs_()?,
        &as_column(&noise)?,
    )?;
    let positions = Tensor::from((0..n as i64).collect::<Vec<_>>());
    logical_and(&near, &not_equal(&as_column(&positions)?, &as_row(&positions)?)?)
}

/// `m / (values_k - values_i)` off the diagonal, 0 on it. For near-equal values: 0 if the vectors'
/// mixing there has no gradient (`asked` is zero in both directions), else NaN.
pub(super) fn divide_by_gaps(
    m: &Tensor,
    values: &Tensor,
    distinct_by: &Tensor,
    asked: &Tensor,
) -> Result<Tensor> {
    if m.size() == 0 {
        return Ok(m.clone());
    }
    let close = near_equal_pairs(distinct_by)?;
    let gaps = sub(&as_row(values)?, &as_column(values)?)?;
    let n = values.shape()[values.ndim() - 1];
    let positions = Tensor::from((0..n as i64).collect::<Vec<_>>());
    let skip = logical_or(&close, &equal(&as_column(&positions)?, &as_row(&positions)?)?)?;
    let safe = where_(&skip, &Operand::from(1.0), &Operand::Tensor(gaps))?;
    let quotient = where_(&skip, &Operand::from(0.0), &Operand::Tensor(divide(m, &safe)?))?;
    let asked = asked.detach();
    let touched = logical_or(
        &not_equal(&asked, &Tensor::from(0.0f64).cast_like(&asked)?)?,
        &not_equal(&h(&asked)?, &Tensor::from(0.0f64).cast_like(&asked)?)?,
    )?;
    where_(&logical_and(&close, &touched)?, &Operand::from(f64::NAN), &Operand::Tensor(quotient))
}

/// Contributions of the vectors of one side to the gradient: inside their span, and outside it.
struct SideGradient {
    /// `vᴴ g`.
    mixing: Tensor,
    inner: Tensor,
    outer: Option<Tensor>,
}

/// `v` are the vectors (columns), `g` their gradient.
fn side_gradient(v: &Tensor, g: &Tensor, s: &Tensor) -> Result<SideGradient> {
    let w = mm(&h(v)?, g)?;
    let inner = divide_by_gaps(&skew(&w)?, &mul(s, s)?, s, &w)?;
    if rows(v) == columns(v) {
        return Ok(SideGradient { mixing: w, inner, outer: None });
    }
    let outside = sub(g, &mm(v, &w)?)?;
    // No division for a vector of value 0 without a gradient.
    let s = as_row(s)?.cast_like(&w)?;
    let unused = logical_and(
        &equal(&s.detach(), &Tensor::from(0.0f64).cast_like(&s)?)?,
        &equal(&outside.detach(), &Tensor::from(0.0f64).cast_like(&s)?)?,
    )?;
    let safe = where_(&unused, &Operand::from(1.0), &Operand::Tensor(s))?;
    Ok(SideGradient { mixing: w, inner, outer: Some(divide(&outside, &safe)?) })
}

/// The diagonal term of the phases of the left vectors: `i Im(uᴴ g) / s`.
fn phase_gradient(mixing: &Tensor, s: &Tensor) -> Result<Tensor> {
    let n = columns(mixing);
    let half = (0..n * n).map(|p| if p % (n + 1) == 0 { 0.5 } else { 0.0 }).collect();
    let half = Tensor::from_vec::<f64>(half, &[n, n])?.cast_like(mixing)?;
    let phase_terms = mul(&skew(mixing)?, &half)?;
    let unchanged = equal(&phase_terms.detach(), &Tensor::from(0.0f64).cast_like(&phase_terms)?)?;
    let safe =
        where_(&unchanged, &Operand::from(1.0), &Operand::Tensor(as_row(s)?.cast_like(mixing)?))?;
    divide(&phase_terms, &safe)
}

fn gradient(cx: &mut Cx<'_>) -> Result<()> {
    let (u, s, vt) = (cx.saved(0)?, cx.saved(1)?, cx.saved(2)?);
    let mut phases: Option<Tensor> = None;
    let (gu, gs, gvt) = (cx.take_grad(0), cx.take_grad(1), cx.take_grad(2));
    let mut core = match &gs {
        Some(gs) => diag_embed(gs, 0, -2, -1)?.cast_like(&u)?,
        None => Tensor::zeros(&with_matrix_dims(&u, &[columns(&u), columns(&u)]), u.dtype())?,
    };
    let mut rest: Option<Tensor> = None;
    let mut add_term = |part: Tensor| -> Result<()> {
        rest = Some(match rest.take() {
            Some(sum) => add(&sum, &part)?,
            None => part,
        });
        Ok(())
    };
    if let Some(gu) = &gu {
        let left = side_gradient(&u, gu, &s)?;
        if u.dtype().is_complex() {
            core = add(&core, &phase_gradient(&left.mixing, &s)?)?;
        }
        core = add(&core, &mul(&left.inner, &as_row(&s)?)?)?;
        if let Some(outer) = left.outer {
            add_term(mm(&outer, &vt)?)?;
        }
        phases = Some(left.mixing);
    }
    if let Some(gvt) = &gvt {
        let right = side_gradient(&h(&vt)?, &h(gvt)?, &s)?;
        core = add(&core, &mul(&right.inner, &as_column(&s)?)?)?;
        if let Some(outer) = right.outer {
            add_term(mm(&u, &h(&outer)?)?)?;
        }
        phases = Some(match phases {
            Some(left) => add(&left, &right.mixing)?,
            None => right.mixing,
        });
    }
    if let (Some(phases), Some(g)) = (&phases, gu.as_ref().or(gvt.as_ref())) {
        check_phase_invariance("svd", phases, g)?;
    }
    add_term(mm(&mm(&u, &core)?, &vt)?)?;
    if let Some(total) = rest {
        cx.give(0, total)?;
    }
    Ok(())
}

/// The reduced factors, not recorded.
fn svd_unrecorded(op: &'static str, a: &Tensor) -> Result<[Tensor; 3]> {
    let k = rows(a).min(columns(a));
    let u = Tensor::empty(&with_matrix_dims(a, &[rows(a), k]), a.dtype())?;
    let s = Tensor::empty(&with_matrix_dims(a, &[k]), a.dtype().real())?;
    let vt = Tensor::empty(&with_matrix_dims(a, &[k, columns(a)]), a.dtype())?;
    check_memory(a, 14)?;
    kernels::linalg::svd(a.view_of(), u.view_mut(), s.view_mut(), vt.view_mut())
        .map_err(|i| not_converged_error(op, a, i))?;
    Ok([u, s, vt])
}

/// The reduced factors, recorded.
pub(super) fn reduced(op: &'static str, a: &Tensor) -> Result<[Tensor; 3]> {
    let outs = record_outputs(svd_unrecorded(op, a)?.to_vec(), &[a], |_| NodeSpecMany {
        name: "svd",
        cost: cost(a, 6.0),
        params: (),
        saved: smallvec![Save::output(0, &[0]), Save::output(1, &[0]), Save::output(2, &[0])],
        backward: |(), cx| gradient(cx),
    })?;
    outs.try_into().map_err(|_| {
        Box::new(Error::Internal { op: op.into(), what: "a factor is missing".into() })
    })
}

/// The singular values, recorded; the vectors are computed in the backward.
pub(super) fn values_only(op: &'static str, a: &Tensor) -> Result<Tensor> {
    values_from(op, a, a)
}

/// The singular values of `a`, computed from a matrix `r` with the same values.
pub(super) fn values_from(op: &'static str, a: &Tensor, r: &Tensor) -> Result<Tensor> {
    let s = Tensor::empty(&with_matrix_dims(a, &[rows(a).min(columns(a))]), a.dtype().real())?;
    check_memory(r, 14)?;
    kernels::linalg::singular_values(r.view_of(), s.view_mut())
        .map_err(|i| not_converged_error(op, a, i))?;
    record_output(s, &[a], |_| NodeSpec {
        name: "svdvals",
        cost: cost(a, 12.0),
        params: op,
        saved: smallvec![Save::input(0, &[0])],
        backward: |&op, g, cx| {
            let [u, _, vt] = reduced(op, &cx.saved(0)?)?;
            cx.give_with(0, |_| mm(&mul(&u, &as_row(&g)?.cast_like(&u)?)?, &vt))
        },
    })
}

/// The singular values; with the vectors if they may be needed for a gradient.
fn values(op: &'static str, a: &Tensor) -> Result<Tensor> {
    if graph::recording() && a.requires_grad() {
        return reduced(op, a).map(|[_, s, _]| s);
    }
    values_only(op, a)
}

/// Mask (…, 1, 1) of the matrices with fewer than `size` nonzero singular values; `None` if there
/// are none.
fn rank_below(nonzero: &Tensor, size: usize) -> Result<Option<Tensor>> {
    let rank = nonzero.sum(Axes::from(-1), true, None)?;
    let below = crate::ops::elementwise::compare::less(&rank, &Tensor::from(size as i64))?;
    Ok(if any_true(&below)? { Some(as_column(&below)?) } else { None })
}

/// Hermitian matrices from their lower triangles.
fn hermitian_from_lower(x: &Tensor) -> Result<Tensor> {
    add(&tril(x, 0)?, &h(&tril(x, -1)?)?)
}

/// The pseudo-inverse of float matrices. Singular values up to `cutoff` times the largest, or up to
/// `min_value`, count as 0.
pub(super) fn pseudo_inverse(a: &Tensor, cutoff: f64, min_value: f64) -> Result<Tensor> {
    let [u, s, vt] = svd_unrecorded("pinv", a)?;
    let cut = if s.size() == 0 {
        s.clone()
    } else {
        let cut = mul(&s.max(Axes::from(-1), true)?, &Tensor::from(cutoff).cast_like(&s)?)?;
        if min_value > 0.0 { cut.maximum(&Tensor::from(min_value).cast_like(&cut)?)? } else { cut }
    };
    let nonzero = crate::ops::elementwise::compare::greater(&s, &cut)?;
    let safe = where_(&nonzero, &Operand::Tensor(s), &Operand::from(1.0))?;
    let reciprocal = where_(&nonzero, &Operand::Tensor(safe.reciprocal()?), &Operand::from(0.0))?;
    let out = mm(&mul(&h(&vt)?, &as_row(&reciprocal)?)?, &h(&u)?)?;
    let rank_deficient = [rank_below(&nonzero, rows(a))?, rank_below(&nonzero, columns(a))?];
    record_output(out, &[a], |_| NodeSpec {
        name: "pinv",
        cost: cost(a, 6.0),
        params: rank_deficient,
        saved: smallvec![Save::input(0, &[0]), Save::output(0, &[0])],
        backward: |[row_deficient, column_deficient], g, cx| {
            let (a, p) = (cx.saved(0)?, cx.saved(1)?);
            let (ph, gh) = (h(&p)?, h(&g)?);
            // Triple products go through the smaller side: no square of the larger side is formed.
            let tall = rows(&a) >= columns(&a);
            let triple_product = |x: &Tensor, y: &Tensor, z: &Tensor| {
                if tall { mm(x, &mm(y, z)?) } else { mm(&mm(x, y)?, z) }
            };
            let inner = negative(&triple_product(&ph, &g, &ph)?)?;
            // The rank-deficient terms: (1 - a p) gᴴ p pᴴ + pᴴ p gᴴ (1 - p a). At full rank a
            // projector is 0, and its rounding error would be noise in the next derivative.
            let mut total = inner;
            if let Some(rank_deficient) = row_deficient {
                let left = triple_product(&gh, &p, &ph)?;
                let left = sub(&left, &triple_product(&a, &p, &left)?)?;
                total = add(
                    &total,
                    &where_(rank_deficient, &Operand::Tensor(left), &Operand::from(0.0))?,
                )?;
            }
            if let Some(rank_deficient) = column_deficient {
                let right = triple_product(&ph, &p, &gh)?;
                let right = sub(&right, &triple_product(&right, &p, &a)?)?;
                total = add(
                    &total,
                    &where_(rank_deficient, &Operand::Tensor(right), &Operand::from(0.0))?,
                )?;
            }
            cx.give_with(0, |_| Ok(total))
        },
    })
}

/// Default relative cutoff below which singular values count as zero.
pub(super) fn default_cutoff(a: &Tensor) -> f64 {
    rows(a).max(columns(a)) as f64 * epsilon(a.dtype())
}

crate::operations! { family "linear algebra" [float32];
    /// `(u, s, vh)` with `u diag(s) vh = x`, singular values falling; square `u` and `vh` unless full_matrices=False; `s` alone with compute_uv=False. Derivative: finite in `s`; NaN in vectors of equal singular values, which have none, unless their gradient is zero; an error where a gradient tells bases of the null space apart. Signs and phases of vectors are arbitrary: a complex gradient that depends on a phase is refused.
    [numpy("linalg.svd"), namespace("linalg"), fields("U S Vh")]
    fn svd(x: Tensor, full_matrices: bool = true, compute_uv: bool = true) -> OneOrTuple {
        let x = matrices("svd", x)?;
        if !compute_uv {
            return values("svd", &x).map(OneOrTuple::One);
        }
        let [u, s, vt] = reduced("svd", &x)?;
        if !full_matrices {
            return Ok(OneOrTuple::Tuple(vec![u, s, vt]));
        }
        Ok(OneOrTuple::Tuple(vec![complete_basis("svd", &u)?, s, h(&complete_basis("svd", &h(&vt)?)?)?]))
    }
    /// Singular values, falling. Derivative: `u diag(g) vh`.
    [numpy("linalg.svdvals"), namespace("linalg")]
    fn svdvals(x: Tensor) -> Tensor {
        values("svdvals", &matrices("svdvals", x)?)
    }
    /// The Moore-Penrose inverse; singular values up to `rcond` times the largest, or up to `atol`, count as zero (the larger dimension times the machine epsilon if both are None). With `hermitian`, only the lower triangle is read. Derivative: that of a matrix of constant rank.
    [numpy("linalg.pinv"), namespace("linalg"), keywords(("rtol", "rcond"))]
    fn pinv(x: Tensor, rcond: Option<f64> = None, hermitian: bool = false, atol: Option<f64> = None) -> Tensor {
        let mut x = matrices("pinv", x)?;
        if hermitian {
            x = hermitian_from_lower(&square("pinv", &x)?)?;
        }
        // With an absolute bound there is no relative one by default.
        let bounded = atol.is_some_and(|atol| atol > 0.0);
        let relative = rcond.unwrap_or_else(|| if bounded { 0.0 } else { default_cutoff(&x) });
        pseudo_inverse(&x, relative, atol.unwrap_or(0.0))
    }
}
