//! General eigendecomposition and Schur form, with derivatives.
//!
//! Eigenvalues are always complex: whether a real matrix has real ones depends on its elements.
//! Invariant: vectors have length 1 and a positive largest component; a gradient that depends on
//! their phases is refused.
//!
//! Source: Boeddeker et al., "On the computation of complex-valued gradients with application to
//! statistically optimum beamforming" (2017).

use smallvec::smallvec;

use super::check_phase_invariance::check_phase_invariance;
use super::helpers::{
    add, as_row, check_memory, columns, cost, h, mm, mul, not_converged_error, square, sub,
    with_matrix_dims,
};
use super::schur::record_schur;
use super::solve::inverse;
use super::svd::divide_by_gaps;
use crate::error::{Error, Result};
use crate::graph;
use crate::kernels;
use crate::ops::core::broadcast::astype;
use crate::ops::core::structured::{Cx, NodeSpecMany, Save, record_outputs};
use crate::ops::core::view::{ViewStep, view_through};
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::elementwise::complex::real;
use crate::ops::shape::diagonal::diag_embed;
use crate::tensor::Tensor;

/// The diagonals of the matrices, as a view.
fn diagonal(x: &Tensor) -> Result<Tensor> {
    let (axis1, axis2) = (x.ndim() - 2, x.ndim() - 1);
    view_through(x, "diagonal", [ViewStep::Diagonal { offset: 0, axis1, axis2 }])
}

fn gradient(cx: &mut Cx<'_>) -> Result<()> {
    let (w, v) = (cx.saved(0)?, cx.saved(1)?);
    let (gw, gv) = (cx.take_grad(0), cx.take_grad(1));
    let mut core = match &gw {
        Some(gw) => diag_embed(gw, 0, -2, -1)?,
        None => Tensor::zeros(v.shape(), v.dtype())?,
    };
    if let Some(gv) = &gv {
        let mixing = mm(&h(&v)?, gv)?;
        check_phase_invariance("eig", &mixing, gv)?;
        // Vectors have a fixed length: remove the component that changes it.
        let lengths = real(&diagonal(&mixing)?)?.cast_like(&mixing)?;
        let lengthening = mul(&mm(&h(&v)?, &v)?, &as_row(&lengths)?)?;
        let mixing_without_length = sub(&mixing, &lengthening)?;
        core = add(&core, &divide_by_gaps(&mixing_without_length, &conjugated(&w)?, &w, &mixing)?)?;
    }
    cx.give_with(0, |_| mm(&mm(&inverse("eig", &h(&v)?)?, &core)?, &h(&v)?))
}

fn decompose(op: &'static str, x: &Tensor) -> Result<(Tensor, Tensor)> {
    let original = square(op, x)?;
    let a = astype(&original, original.dtype().to_complex())?;
    let w = Tensor::empty(&with_matrix_dims(&a, &[columns(&a)]), a.dtype())?;
    let v = Tensor::empty(a.shape(), a.dtype())?;
    check_memory(&a, 6)?;
    // The kernel reads the original matrix: for a real one, it pairs conjugate eigenvalues.
    kernels::linalg::eig(original.view_of(), w.view_mut(), v.view_mut())
        .map_err(|i| not_converged_error(op, &a, i))?;
    let mut outs = record_outputs(vec![w, v], &[&a], |_| NodeSpecMany {
        name: "eig",
        cost: cost(&a, 16.0),
        params: (),
        saved: smallvec![Save::output(0, &[0]), Save::output(1, &[0])],
        backward: |(), cx| gradient(cx),
    })?;
    let v = outs.pop();
    outs.pop().zip(v).ok_or_else(|| {
        Box::new(Error::Internal { op: op.into(), what: "a factor is missing".into() })
    })
}

crate::operations! { family "linear algebra" [float32];
    /// `(w, v)`: eigenvalues and eigenvectors (columns of length 1, their largest component positive) of square matrices, complex also for real ones; in no order. Derivative: `v⁻ᴴ (diag(g_w) + (vᴴ g_v - vᴴ v diag(Re vᴴ g_v)) / conj(w_k - w_i)) vᴴ`; NaN in vectors of equal eigenvalues unless their gradient is zero, refused where it depends on the vectors' phases or the matrix has no basis of eigenvectors.
    [numpy("linalg.eig"), namespace("linalg"), fields("eigenvalues eigenvectors")]
    fn eig(x: Tensor) -> (Tensor, Tensor) {
        decompose("eig", x)
    }
    /// Eigenvalues of square matrices, complex also for real ones; in no order. Derivative: `v⁻ᴴ diag(g) vᴴ`.
    [numpy("linalg.eigvals"), namespace("linalg")]
    fn eigvals(x: Tensor) -> Tensor {
        if graph::recording() && x.requires_grad() {
            return Ok(decompose("eigvals", x)?.0);
        }
        let a = square("eigvals", x)?;
        let w = Tensor::empty(&with_matrix_dims(&a, &[columns(&a)]), a.dtype().to_complex())?;
        check_memory(&a, 6)?;
        kernels::linalg::eigvals(a.view_of(), w.view_mut()).map_err(|i| not_converged_error("eigvals", &a, i))?;
        Ok(w.unrecorded([x].into_iter()))
    }
    /// Schur's form `(t, z)`: `z t zᴴ = x` with unitary `z` and upper triangular `t`; of real matrices with output "real" both are real, and `t` has blocks of two rows for pairs of complex eigenvalues. Derivative: `z (g_t + m) zᴴ` with the strictly lower `m` of `m tᴴ - tᴴ m = w`, `w` the part below the diagonal of `p - pᴴ`, `p = zᴴ g_z + tᴴ g_t - g_t tᴴ`; refused where it depends on the vectors' phases, of an eigenvalue that is there twice, and for blocks of two rows.
    [numpy("scipy.linalg.schur"), namespace("linalg")]
    fn schur(x: Tensor, output: String = "real".to_owned()) -> (Tensor, Tensor) {
        let mut a = square("schur", x)?;
        match output.as_str() {
            "real" | "r" => {}
            "complex" | "c" => a = astype(&a, a.dtype().to_complex())?,
            other => return Err(Box::new(Error::Argument {
                op: "schur".into(),
                what: format!("output={other:?}"),
                remedy: "use \"real\" or \"complex\"".into(),
            })),
        }
        let (t, z) = (Tensor::empty(a.shape(), a.dtype())?, Tensor::empty(a.shape(), a.dtype())?);
        check_memory(&a, 6)?;
        kernels::linalg::schur(a.view_of(), t.view_mut(), z.view_mut()).map_err(|i| not_converged_error("schur", &a, i))?;
        record_schur(&a, t, z)
    }
}
