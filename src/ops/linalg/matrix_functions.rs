//! `expm`, `sqrtm` and `logm`, with one common derivative.
//!
//! Real matrices have real results or are refused. Invariant: the derivative of `f` at `a` in
//! direction `e` is the upper right block of `f([[a, e], [0, a]])`, and its adjoint is that of
//! `eᴴ`, transposed; so a derivative of any order is again a function of a matrix. The function is
//! evaluated at `a`, because the eigenvalues of `aᴴ` may lie on the other side of a branch cut.
//!
//! Source: Mathias, "A chain rule for matrix functions", SIAM J. Matrix Anal. Appl. 17 (1996).

use smallvec::smallvec;

use super::helpers::{check_memory, columns, cost, h, matrix_error, rows, square};
use crate::error::Result;
use crate::kernels;
use crate::kernels::linalg::MatrixFunction;
use crate::ops::core::broadcast::broadcast_to;
use crate::ops::core::structured::{NodeSpec, Save, record_output};
use crate::ops::core::view::slice_axis;
use crate::ops::shape::join::concatenate;
use crate::tensor::Tensor;

fn name(which: MatrixFunction) -> &'static str {
    match which {
        MatrixFunction::Exp => "expm",
        MatrixFunction::Sqrt => "sqrtm",
        MatrixFunction::Log => "logm",
    }
}

/// Applies a function to square matrices made of `copies` equal diagonal blocks.
fn apply(which: MatrixFunction, copies: usize, a: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(a.shape(), a.dtype())?;
    check_memory(a, 12)?;
    kernels::linalg::matrix_function(which, copies, a.view_of(), out.view_mut()).map_err(|i| {
        let (is, remedy) = match which {
            MatrixFunction::Exp => ("holds NaN or infinity", "check where the values come from"),
            _ if a.dtype().is_complex() => {
                ("is singular, or holds NaN or infinity", "add a multiple of the identity")
            }
            _ => (
                "has no real result: it is singular, or has a negative eigenvalue, NaN or infinity",
                "convert it to a complex dtype, as x.astype(np.complex128)",
            ),
        };
        matrix_error(name(which), a, i, is, remedy)
    })?;
    record_output(out, &[a], |_| NodeSpec {
        name: name(which),
        cost: cost(a, 60.0),
        params: (which, copies),
        saved: smallvec![Save::input(0, &[0])],
        backward: |&(which, copies), g, cx| {
            let a = broadcast_to(&cx.saved(0)?, g.shape())?;
            cx.give_with(0, |_| {
                let none = Tensor::zeros(g.shape(), g.dtype())?;
                let top = concatenate(&[a.clone(), h(&g)?], Some(-1))?;
                let below = concatenate(&[none, a], Some(-1))?;
                let both = concatenate(&[top, below], Some(-2))?;
                let found = apply(which, 2 * copies, &both)?;
                let (rows, columns) = (rows(&found) / 2, columns(&found) / 2);
                let right = slice_axis(&found, found.ndim() - 1, columns, 1, columns)?;
                h(&slice_axis(&right, right.ndim() - 2, 0, 1, rows)?)
            })
        },
    })
}

crate::operations! { family "linear algebra" [float32];
    /// Exponential of square matrices, by a Padé approximant with scaling and squaring. Derivative: the upper right block of the exponential of `[[x, gᴴ], [0, x]]`, transposed.
    [numpy("scipy.linalg.expm"), namespace("linalg"), aliases("matrix_exp")]
    fn expm(x: Tensor) -> Tensor {
        apply(MatrixFunction::Exp, 1, &square("expm", x)?)
    }
    /// Principal square root of square matrices, `y y = x`. A real matrix with a negative eigenvalue has no real one and is refused: convert it to a complex dtype. Derivative: the upper right block of the root of `[[x, gᴴ], [0, x]]`, transposed.
    [numpy("scipy.linalg.sqrtm"), namespace("linalg")]
    fn sqrtm(x: Tensor) -> Tensor {
        apply(MatrixFunction::Sqrt, 1, &square("sqrtm", x)?)
    }
    /// Principal logarithm of invertible matrices, `expm(y) = x`. A real matrix with a negative eigenvalue has no real one and is refused: convert it to a complex dtype. Derivative: the upper right block of the logarithm of `[[x, gᴴ], [0, x]]`, transposed.
    [numpy("scipy.linalg.logm"), namespace("linalg")]
    fn logm(x: Tensor) -> Tensor {
        apply(MatrixFunction::Log, 1, &square("logm", x)?)
    }
}
