//! Least squares.
//!
//! Owns: `lstsq`. Never solves normal equations: the pseudo-inverse gives the solution of least norm.
//! Invariant: the rank is decided by the same cut as the pseudo-inverse.

use super::common::{columns, matrices, mm, mul, rows, sub};
use super::svd::{default_cutoff, pseudo_inverse, reduced};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::kernels::launch::decide;
use crate::ops::core::arguments::OneOrTuple;
use crate::ops::core::layout::{astype, reshape_dims, sum_over};
use crate::ops::elementwise::complex::real;
use crate::ops::elementwise::conjugated::conjugated;
use crate::tensor::Tensor;

fn check(a: &Tensor, b: &Tensor) -> Result<()> {
    if a.ndim() == 2 && matches!(b.ndim(), 1 | 2) && rows(a) == b.shape()[0] {
        return Ok(());
    }
    Err(Box::new(Error::Shape {
        op: "lstsq".into(),
        what: format!(
            "a of shape {} and b of shape {}",
            Dims::from(a.shape()),
            Dims::from(b.shape())
        ),
        remedy: "give a matrix a, and b as a vector or matrix with as many rows",
    }))
}

/// How many singular values count.
fn rank_of(s: &Tensor, cutoff: f64) -> Result<usize> {
    let s = astype(&s.detach(), DType::F64)?;
    let rank = decide("lstsq", &[s.view_of()], move |s| {
        let values = s[0].to_vec::<f64>();
        let largest = values.first().copied().unwrap_or(0.0);
        values.iter().filter(|&&v| v > cutoff * largest).count() as u64
    });
    Ok(rank as usize)
}

crate::operations! { family "linear algebra" [float32];
    /// `(x, residuals, rank, s)`: the `x` of least norm that minimises `|a x - b|²`, the minima where `a` has full column rank and more rows than columns (else empty), the rank, the singular values of `a`. Derivatives: those of `pinv(a) b`.
    [numpy("linalg.lstsq"), namespace("linalg"), keywords(("rtol", "rcond"))]
    fn lstsq(a: Tensor, b: Tensor, rcond: Option<f64> = None) -> OneOrTuple {
        check(a, b)?;
        let dtype = a.dtype().promote(b.dtype()).to_float();
        let (a, b) = (matrices("lstsq", &astype(a, dtype)?)?, astype(b, dtype)?);
        let wide = if b.ndim() == 1 { reshape_dims(&b, &[b.size(), 1])? } else { b.clone() };
        let cutoff = rcond.unwrap_or_else(|| default_cutoff(&a));
        let x = mm(&pseudo_inverse(&a, cutoff)?, &wide)?;
        let [_, s, _] = reduced("lstsq", &a)?;
        let rank = rank_of(&s, cutoff)?;
        let residuals = if rank == columns(&a) && rows(&a) > columns(&a) {
            {
            let gap = sub(&wide, &mm(&a, &x)?)?;
            sum_over(&real(&mul(&gap, &conjugated(&gap)?)?)?, &[0], false)?
        }
        } else {
            Tensor::zeros(&[0], dtype.real())?
        };
        // The residuals read `x`: what is given out is a copy that may be changed.
        let x = x.copied("lstsq")?;
        let x = if b.ndim() == 1 { reshape_dims(&x, &[x.size()])? } else { x };
        Ok(OneOrTuple::Tuple(vec![x, residuals, Tensor::from(rank as i64), s]))
    }
}
