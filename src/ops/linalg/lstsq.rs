//! Least squares: by QR factors at full rank, by the pseudo-inverse (minimum-norm solution)
//! otherwise.
//!
//! Normal equations are never used. Invariant: the rank uses the same cutoff as the pseudo-inverse.

use super::helpers::{batch_dims, columns, h, matrices, mm, mul, rows, sub, with_matrix_dims};
use super::qr;
use super::solve::{TriangleSpec, triangular_solution};
use super::svd::{default_cutoff, pseudo_inverse, values_from};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::kernels::launch::decide;
use crate::ops::core::arguments::OneOrTuple;
use crate::ops::core::broadcast::{astype, reshape_dims, sum_over};
use crate::ops::core::op_decl::Axes;
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::elementwise::compare::greater;
use crate::ops::elementwise::complex::real;
use crate::tensor::Tensor;

fn check(a: &Tensor, b: &Tensor) -> Result<()> {
    let one = a.ndim() == 2 && b.ndim() == 1 && rows(a) == b.size();
    let many = a.ndim() >= 2 && a.ndim() == b.ndim() && batch_dims(a) == batch_dims(b);
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

/// Whether all singular values of all matrices are above the cutoff.
fn all_values_above(s: &Tensor, cutoff: f64) -> Result<bool> {
    let s = astype(&s.detach(), DType::F64)?;
    let n = s.shape()[s.ndim() - 1];
    let full = decide("lstsq", &[s.view_of()], move |s| {
        let values = s[0].to_vec::<f64>();
        let full = |s: &[f64]| s.iter().all(|&v| v > cutoff * s[0]);
        u64::from(values.chunks(n.max(1)).all(full))
    });
    Ok(full == 1)
}

/// The ranks: the number of singular values above the cutoff.
fn ranks(s: &Tensor, cutoff: f64) -> Result<Tensor> {
    let s = astype(&s.detach(), DType::F64)?;
    if s.size() == 0 {
        return Tensor::zeros(&s.shape()[..s.ndim() - 1], DType::I64);
    }
    let cut = mul(&s.max(Axes::from(-1), true)?, &Tensor::from(cutoff))?;
    astype(&greater(&s, &cut)?.sum(Axes::from(-1), false, None)?, DType::I64)
}

/// QR factors of `a`, or of `aᴴ` if `a` is wide.
fn qr_factors(a: &Tensor) -> Result<(Tensor, Tensor)> {
    if rows(a) >= columns(a) { qr::reduced(a) } else { qr::reduced(&h(a)?) }
}

/// The solution by these QR factors.
fn solve_by_qr(a: &Tensor, (q, r): &(Tensor, Tensor), b: &Tensor) -> Result<Tensor> {
    let upper = TriangleSpec { lower: false, transposed: false, unit: false };
    if rows(a) >= columns(a) {
        return triangular_solution(r, &mm(&h(q)?, b)?, upper);
    }
    mm(q, &triangular_solution(&conjugated(r)?, b, TriangleSpec { transposed: true, ..upper })?)
}

crate::operations! { family "linear algebra" [float32];
    /// `(x, residuals, rank, s)`: the `x` of least norm that minimises `|a x - b|²`, the minima where `a` has full column rank and more rows than columns (else empty), the rank, the singular values of `a`; of stacks, each for every matrix. Derivatives: those of `pinv(a) b`.
    [numpy("linalg.lstsq"), namespace("linalg"), fields("solution residuals rank singular_values"), keywords(("rtol", "rcond"))]
    fn lstsq(a: Tensor, b: Tensor, rcond: Option<f64> = None) -> OneOrTuple {
        check(a, b)?;
        let dtype = a.dtype().to_float().promote(b.dtype().to_float());
        let (a, b) = (matrices("lstsq", &astype(a, dtype)?)?, astype(b, dtype)?);
        let matrix_b = if b.ndim() == 1 { reshape_dims(&b, &[b.size(), 1])? } else { b.clone() };
        let noise = default_cutoff(&a);
        let cutoff = rcond.unwrap_or(noise);
        let factors = qr_factors(&a)?;
        let s = values_from("lstsq", &a, &factors.1)?;
        let full = all_values_above(&s, cutoff)?;
        let x = if full && a.size() > 0 && (cutoff >= noise || all_values_above(&s, noise)?) {
            solve_by_qr(&a, &factors, &matrix_b)?
        } else {
            mm(&pseudo_inverse(&a, cutoff, 0.0)?, &matrix_b)?
        };
        let residuals = if full && rows(&a) > columns(&a) {
            let residual = sub(&matrix_b, &mm(&a, &x)?)?;
            sum_over(&real(&mul(&residual, &conjugated(&residual)?)?)?, &[residual.ndim() - 2], false)?
        } else {
            Tensor::zeros(&with_matrix_dims(&a, &[0]), dtype.real())?
        };
        // The residuals saved `x`, so return a copy that may be changed in place.
        let x = x.copied("lstsq")?;
        let x = if b.ndim() == 1 { reshape_dims(&x, &[x.size()])? } else { x };
        Ok(OneOrTuple::Tuple(vec![x, residuals, ranks(&s, cutoff)?, s]))
    }
}
