//! Derivative of the Schur form `x = z t zᴴ`.
//!
//! With `zᴴ dz = m - mᴴ` for a strictly lower `m` and `e = zᴴ dx z`: `m t - t m` is the part of `e`
//! below the diagonal, and `dt` is the rest of `e` after that change of vectors. Invariant: an
//! accepted gradient does not depend on the phases of the vectors; real forms with 2 × 2 blocks are
//! refused.

use smallvec::smallvec;

use super::check_phase_invariance::check_phase_invariance;
use super::helpers::{
    add, columns, cost, h, matrix_error, mm, mul, rows, skew, slice_columns, sub,
};
use super::solve::{TriangleSpec, triangular_solution};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::launch::decide;
use crate::ops::core::broadcast::astype;
use crate::ops::core::op_decl::Axes;
use crate::ops::core::structured::{Cx, NodeSpecMany, Save, record_outputs};
use crate::ops::core::view::slice_axis;
use crate::ops::shape::diagonal::{tril, triu};
use crate::ops::shape::join::join;
use crate::tensor::Tensor;

/// Records `t` and `z` with their derivative.
pub(super) fn record_schur(a: &Tensor, t: Tensor, z: Tensor) -> Result<(Tensor, Tensor)> {
    let mut outs = record_outputs(vec![t, z], &[a], |_| NodeSpecMany {
        name: "schur",
        cost: cost(a, 16.0),
        params: (),
        saved: smallvec![Save::output(0, &[0]), Save::output(1, &[0])],
        backward: |(), cx| gradient(cx),
    })?;
    let z = outs.pop();
    outs.pop().zip(z).ok_or_else(|| {
        Box::new(Error::Internal { op: "schur".into(), what: "a factor is missing".into() })
    })
}

fn gradient(cx: &mut Cx<'_>) -> Result<()> {
    let (t, z) = (cx.saved(0)?, cx.saved(1)?);
    let (gt, gz) = (cx.take_grad(0), cx.take_grad(1));
    refuse_blocks(&t)?;
    let upper = gt.as_ref().map(|g| triu(g, 0)).transpose()?;
    let by_form = upper.as_ref().map(|g| sub(&mm(&h(&t)?, g)?, &mm(g, &h(&t)?)?)).transpose()?;
    let by_vectors = gz.as_ref().map(|g| mm(&h(&z)?, g)).transpose()?;
    let (mixing, size) = match (by_form, by_vectors) {
        (None, None) => return Ok(()),
        (Some(one), None) | (None, Some(one)) => (one.clone(), one),
        (Some(one), Some(other)) => {
            let size = add(&one.detach().abs_()?, &other.detach().abs_()?)?;
            (add(&one, &other)?, astype(&size, one.dtype())?)
        }
    };
    check_phase_invariance("schur", &mixing, &size)?;
    let mut core = solve_sylvester(&t, &tril(&skew(&mixing)?, -1)?)?;
    if let Some(g) = &upper {
        core = add(&core, g)?;
    }
    cx.give_with(0, |_| mm(&mm(&z, &core)?, &h(&z)?))
}

/// Refuses a real form with 2 × 2 blocks.
fn refuse_blocks(t: &Tensor) -> Result<()> {
    if t.dtype().is_complex() || t.size() == 0 {
        return Ok(());
    }
    let below = astype(&tril(&t.detach(), -1)?.abs_()?.max(Axes::All, false)?, DType::F64)?;
    if decide("schur", &[below.view_of()], |of| u64::from(of[0].to_vec::<f64>()[0] != 0.0)) == 0 {
        return Ok(());
    }
    Err(Box::new(Error::NotDifferentiable {
        op: "schur".into(),
        what: "the real form of a matrix with complex eigenvalues has blocks of two rows".into(),
        remedy: "use output=\"complex\"".into(),
    }))
}

fn identity(n: usize) -> Result<Tensor> {
    let elements = (0..n * n).map(|p| f64::from(u8::from(p % (n + 1) == 0))).collect();
    Tensor::from_vec::<f64>(elements, &[n, n])
}

/// A submatrix: rows and columns as `(start, length)`.
fn submatrix(x: &Tensor, rows: (usize, usize), columns: (usize, usize)) -> Result<Tensor> {
    slice_columns(&slice_axis(x, x.ndim() - 2, rows.0, 1, rows.1)?, columns.0, columns.1)
}

/// Solves `m tᴴ - tᴴ m = w` for strictly lower `m` and `w`, column by column from the last (a
/// triangular Sylvester equation).
fn solve_sylvester(t: &Tensor, w: &Tensor) -> Result<Tensor> {
    let (n, t) = (rows(w), h(t)?);
    if n == 0 {
        return Ok(w.clone());
    }
    let how = TriangleSpec { lower: true, transposed: false, unit: false };
    let mut solved = slice_columns(w, n - 1, 1)?;
    for j in (0..n - 1).rev() {
        let (below, here) = ((j + 1, n - 1 - j), (j, 1));
        let known =
            mm(&submatrix(&solved, below, (0, columns(&solved)))?, &submatrix(&t, below, here)?)?;
        let rest = sub(&submatrix(w, below, here)?, &known)?;
        let eye = identity(below.1)?.cast_like(&t)?;
        let gaps = sub(&mul(&submatrix(&t, here, here)?, &eye)?, &submatrix(&t, below, below)?)?;
        let column = triangular_solution(&gaps, &rest, how).map_err(|_| {
            matrix_error(
                "schur",
                &t,
                0,
                "has an eigenvalue twice",
                "its vectors are not unique; use expm, or the eigenvalues alone",
            )
        })?;
        let above = submatrix(w, (0, j + 1), here)?;
        let axis = column.ndim() - 2;
        solved = join(&[join(&[above, column], axis)?, solved], axis + 1)?;
    }
    Ok(solved)
}
