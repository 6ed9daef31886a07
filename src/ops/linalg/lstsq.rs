//! Least squares.
//!
//! Owns: `lstsq`, and which way it goes: triangles where the rank is full, the pseudo-inverse where it is not, which gives
//! the solution of least norm. Never solves normal equations.
//! Invariant: the rank is decided by the same cut as the pseudo-inverse.

use super::helpers::{columns, h, lead, matrices, mm, mul, rows, sub, with_last};
use super::qr;
use super::solve::{Reading, solved_triangular};
use super::svd::{default_cutoff, pseudo_inverse, values_from};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::kernels::launch::decide;
use crate::ops::core::arguments::OneOrTuple;
use crate::ops::core::broadcast::{astype, reshape_dims, sum_over};
use crate::ops::core::op_decl::Axes;
use crate::ops::elementwise::compare::greater;
use crate::ops::elementwise::complex::real;
use crate::ops::elementwise::conjugate::conjugated;
use crate::tensor::Tensor;

fn check(a: &Tensor, b: &Tensor) -> Result<()> {
    let one = a.ndim() == 2 && b.ndim() == 1 && rows(a) == b.size();
    let many = a.ndim() >= 2 && a.ndim() == b.ndim() && lead(a) == lead(b);
    if one || (many && rows(a) == rows(b)) {
        return Ok(());
    }
    Err(Box::new(Error::Shape {
        op: "lstsq".into(),
        what: format!(
            "a of shape {} and b of shape {}",
            Dims::from(a.shape()),
            Dims::from(b.shape())
        ),
        remedy: "give a matrix a, and b as a vector or matrix with as many rows; or stacks of one shape of both",
    }))
}

/// Whether all matrices have this many singular values beyond a cut.
fn all_above(s: &Tensor, cutoff: f64) -> Result<bool> {
    let s = astype(&s.detach(), DType::F64)?;
    let n = s.shape()[s.ndim() - 1];
    let full = decide("lstsq", &[s.view_of()], move |s| {
        let values = s[0].to_vec::<f64>();
        let full = |s: &[f64]| s.iter().all(|&v| v > cutoff * s[0]);
        u64::from(values.chunks(n.max(1)).all(full))
    });
    Ok(full == 1)
}

/// The ranks: how many singular values count.
fn ranks(s: &Tensor, cutoff: f64) -> Result<Tensor> {
    let s = astype(&s.detach(), DType::F64)?;
    if s.size() == 0 {
        return Tensor::zeros(&s.shape()[..s.ndim() - 1], DType::I64);
    }
    let cut = mul(&s.max(Axes::from(-1), true)?, &Tensor::from(cutoff))?;
    astype(&greater(&s, &cut)?.sum(Axes::from(-1), false, None)?, DType::I64)
}

/// `a = q r`, or `aᴴ = q r` where that is the tall one.
fn triangles(a: &Tensor) -> Result<(Tensor, Tensor)> {
    if rows(a) >= columns(a) { qr::reduced(a) } else { qr::reduced(&h(a)?) }
}

/// The solution by these triangles.
fn by_triangles(a: &Tensor, (q, r): &(Tensor, Tensor), b: &Tensor) -> Result<Tensor> {
    let upper = Reading { lower: false, transposed: false, unit: false };
    if rows(a) >= columns(a) {
        return solved_triangular(r, &mm(&h(q)?, b)?, upper);
    }
    mm(q, &solved_triangular(&conjugated(r)?, b, Reading { transposed: true, ..upper })?)
}

crate::operations! { family "linear algebra" [float32];
    /// `(x, residuals, rank, s)`: the `x` of least norm that minimises `|a x - b|²`, the minima where `a` has full column rank and more rows than columns (else empty), the rank, the singular values of `a`; of stacks, each for every matrix. Derivatives: those of `pinv(a) b`.
    [numpy("linalg.lstsq"), namespace("linalg"), fields("solution residuals rank singular_values"), keywords(("rtol", "rcond"))]
    fn lstsq(a: Tensor, b: Tensor, rcond: Option<f64> = None) -> OneOrTuple {
        check(a, b)?;
        let dtype = a.dtype().to_float().promote(b.dtype().to_float());
        let (a, b) = (matrices("lstsq", &astype(a, dtype)?)?, astype(b, dtype)?);
        let wide = if b.ndim() == 1 { reshape_dims(&b, &[b.size(), 1])? } else { b.clone() };
        let noise = default_cutoff(&a);
        let cutoff = rcond.unwrap_or(noise);
        let factors = triangles(&a)?;
        let s = values_from("lstsq", &a, &factors.1)?;
        let full = all_above(&s, cutoff)?;
        let x = if full && a.size() > 0 && (cutoff >= noise || all_above(&s, noise)?) {
            by_triangles(&a, &factors, &wide)?
        } else {
            mm(&pseudo_inverse(&a, cutoff, 0.0)?, &wide)?
        };
        let residuals = if full && rows(&a) > columns(&a) {
            let gap = sub(&wide, &mm(&a, &x)?)?;
            sum_over(&real(&mul(&gap, &conjugated(&gap)?)?)?, &[gap.ndim() - 2], false)?
        } else {
            Tensor::zeros(&with_last(&a, &[0]), dtype.real())?
        };
        // The residuals read `x`: what is given out is a copy that may be changed.
        let x = x.copied("lstsq")?;
        let x = if b.ndim() == 1 { reshape_dims(&x, &[x.size()])? } else { x };
        Ok(OneOrTuple::Tuple(vec![x, residuals, ranks(&s, cutoff)?, s]))
    }
}
