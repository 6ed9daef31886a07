//! Cholesky factorisation and its derivative.
//!
//! Reads one triangle. Invariant: the gradient is Hermitian, as if both triangles held the same
//! variables.

use smallvec::smallvec;

use super::helpers::{check_memory, cost, h, hermitian, matrix_error, mul, square};
use super::solve::{TriangleSpec, triangular_solution};
use crate::error::Result;
use crate::kernels;
use crate::ops::core::structured::{NodeSpec, Save, record_output};
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::linalg::helpers::mm;
use crate::ops::shape::diagonal::tril;
use crate::tensor::Tensor;

/// The weights φ: 1 below the diagonal, 1/2 on it, 0 above it.
pub(super) fn half_diagonal(n: usize, like: &Tensor) -> Result<Tensor> {
    let weight = |i: usize, k: usize| {
        if i > k {
            1.0
        } else if i == k {
            0.5
        } else {
            0.0
        }
    };
    let all = (0..n * n).map(|p| weight(p / n.max(1), p % n.max(1))).collect();
    Tensor::from_vec::<f64>(all, &[n, n])?.cast_like(like)
}

fn lower_factor(a: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(a.shape(), a.dtype())?;
    check_memory(a, 3)?;
    kernels::linalg::cholesky(a.view_of(), out.view_mut()).map_err(|i| {
        matrix_error(
            "cholesky",
            a,
            i,
            "is not positive definite",
            "check its symmetry, or add a multiple of the identity",
        )
    })?;
    record_output(out, &[a], |_| NodeSpec {
        name: "cholesky",
        cost: cost(a, 3.0),
        params: (),
        saved: smallvec![Save::output(0, &[0])],
        backward: |(), g, cx| {
            let l = cx.saved(0)?;
            let inner =
                mul(&mm(&h(&l)?, &tril(&g, 0)?)?, &half_diagonal(l.shape()[l.ndim() - 1], &l)?)?;
            let up = TriangleSpec { lower: true, transposed: true, unit: false };
            let l = conjugated(&l)?;
            let left = triangular_solution(&l, &inner, up)?;
            cx.give_with(0, |_| hermitian(&h(&triangular_solution(&l, &h(&left)?, up)?)?))
        },
    })
}

crate::operations! { family "linear algebra" [float32];
    /// The triangular factor of positive definite Hermitian matrices: `l lᴴ = x`, or `uᴴ u = x` with upper=True; the other triangle of `x` is not read. Derivative: `l⁻ᴴ φ(lᴴ g) l⁻¹` made Hermitian, `φ` being the lower triangle with half its diagonal.
    [numpy("linalg.cholesky"), namespace("linalg")]
    fn cholesky(x: Tensor, upper: bool = false) -> Tensor {
        let x = square("cholesky", x)?;
        if upper { h(&lower_factor(&h(&x)?)?) } else { lower_factor(&x) }
    }
}
