//! Refuses gradients that depend on the arbitrary phase of complex eigenvectors and singular
//! vectors.
//!
//! Real vectors are never refused: their sign is locally constant. Invariant: an accepted gradient
//! is the same for every choice of phases.
//!
//! Source: Wan and Zhang, "Automatic differentiation for complex valued SVD" (2019).

use super::helpers::{mul, rows};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::launch::decide;
use crate::ops::core::broadcast::astype;
use crate::ops::core::op_decl::Axes;
use crate::ops::elementwise::complex::imag;
use crate::tensor::Tensor;

/// Refuses a gradient `g` of vectors `v` if `mixing` = `vᴴ g` (for pairs of vectors, the sum of
/// both) has a diagonal that is not real: rotating the phases would change the result.
pub(super) fn check_phase_invariance(op: &'static str, mixing: &Tensor, g: &Tensor) -> Result<()> {
    if !mixing.dtype().is_complex() || g.size() == 0 {
        return Ok(());
    }
    let noise = if g.dtype() == DType::C64 { 1e-4 } else { 1e-8 };
    let n = rows(mixing);
    let eye = (0..n * n).map(|p| f64::from(u8::from(p % (n + 1) == 0))).collect();
    let eye = Tensor::from_vec::<f64>(eye, &[n, n])?;
    let mixing = astype(&mixing.detach(), DType::C128)?;
    let phase_gradient = mul(&imag(&mixing)?, &eye)?.abs_()?.max(Axes::All, false)?;
    let size = astype(&g.detach(), DType::C128)?.abs_()?.max(Axes::All, false)?;
    let depends = decide(op, &[phase_gradient.view_of(), size.view_of()], move |of| {
        let [phase_gradient, size] = [0, 1].map(|i| of[i].to_vec::<f64>()[0]);
        u64::from(!phase_gradient.is_nan() && phase_gradient > noise * size)
    });
    if depends == 0 {
        return Ok(());
    }
    Err(Box::new(Error::NotDifferentiable {
        op: op.into(),
        what: "the gradient depends on the phases of complex vectors, which are arbitrary".into(),
        remedy: "use what does not depend on them, as absolute values or projectors".into(),
    }))
}
