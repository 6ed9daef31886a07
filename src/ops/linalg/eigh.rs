//! Hermitian eigendecomposition and its derivative.
//!
//! Reads one triangle. Invariant: the gradient is Hermitian; that of eigenvalues alone is finite
//! for every matrix.

use smallvec::smallvec;

use super::check_phase_invariance::check_phase_invariance;
use super::helpers::{
    check_memory, columns, cost, h, hermitian, mm, not_converged_error, square, with_matrix_dims,
};
use super::svd::divide_by_gaps;
use crate::error::{Error, Result};
use crate::kernels;
use crate::ops::core::structured::{NodeSpecMany, Save, record_outputs};
use crate::ops::linalg::helpers::add;
use crate::ops::shape::diagonal::diag_embed;
use crate::tensor::Tensor;

fn decompose(op: &'static str, a: &Tensor, triangle: &str) -> Result<(Tensor, Tensor)> {
    let lower = match triangle {
        "L" | "l" => true,
        "U" | "u" => false,
        other => {
            return Err(Box::new(Error::Argument {
                op: op.into(),
                what: format!("uplo={other:?}"),
                remedy: "use \"L\" for the lower triangle or \"U\" for the upper".into(),
            }));
        }
    };
    let a = square(op, a)?;
    let w = Tensor::empty(&with_matrix_dims(&a, &[columns(&a)]), a.dtype().real())?;
    let v = Tensor::empty(a.shape(), a.dtype())?;
    check_memory(&a, 8)?;
    kernels::linalg::eigh(a.view_of(), lower, w.view_mut(), v.view_mut())
        .map_err(|i| not_converged_error(op, &a, i))?;
    let mut outs = record_outputs(vec![w, v], &[&a], |_| NodeSpecMany {
        name: "eigh",
        cost: cost(&a, 4.0),
        params: (),
        saved: smallvec![Save::output(0, &[0]), Save::output(1, &[0])],
        backward: |(), cx| {
            let (w, v) = (cx.saved(0)?, cx.saved(1)?);
            let (gw, gv) = (cx.take_grad(0), cx.take_grad(1));
            let mut core = match &gw {
                Some(gw) => diag_embed(gw, 0, -2, -1)?.cast_like(&v)?,
                None => Tensor::zeros(v.shape(), v.dtype())?,
            };
            if let Some(gv) = &gv {
                let mixing = mm(&h(&v)?, gv)?;
                check_phase_invariance("eigh", &mixing, gv)?;
                core = add(&core, &divide_by_gaps(&mixing, &w, &w, &mixing)?)?;
            }
            cx.give_with(0, |_| hermitian(&mm(&mm(&v, &core)?, &h(&v)?)?))
        },
    })?;
    let v = outs.pop();
    outs.pop().zip(v).ok_or_else(|| {
        Box::new(Error::Internal { op: op.into(), what: "a factor is missing".into() })
    })
}

crate::operations! { family "linear algebra" [float32];
    /// `(w, v)`: rising eigenvalues and eigenvectors (columns) of symmetric or Hermitian matrices, of which the triangle `uplo` is read. Derivative: symmetric (under `ferrograd.numpy`: zero in the triangle that is not read); finite in `w`; NaN in vectors of equal eigenvalues, which have none, unless their gradient is zero. Signs and phases of vectors are arbitrary: a complex gradient that depends on a phase is refused.
    [numpy("linalg.eigh"), namespace("linalg"), fields("eigenvalues eigenvectors"), keywords(("UPLO", "uplo"))]
    fn eigh(x: Tensor, uplo: String = "L".to_owned()) -> (Tensor, Tensor) {
        decompose("eigh", x, &uplo)
    }
    /// Rising eigenvalues of symmetric or Hermitian matrices. Derivative: `v diag(g) vᴴ`.
    [numpy("linalg.eigvalsh"), namespace("linalg"), keywords(("UPLO", "uplo"))]
    fn eigvalsh(x: Tensor, uplo: String = "L".to_owned()) -> Tensor {
        Ok(decompose("eigvalsh", x, &uplo)?.0)
    }
}
