//! Functions of matrices: exponential, square root, logarithm.
//!
//! Owns: `expm`, `sqrtm`, `logm` and the one derivative of all of them. Never returns complex results for real matrices.
//! Invariant: the derivative of a function `f` in a direction `e` is the upper right block of `f([[a, e], [0, a]])`, and its
//! adjoint is that of `aᴴ`, so every order is again a function of a matrix.
//! Source: Mathias, "A chain rule for matrix functions", SIAM J. Matrix Anal. Appl. 17 (1996).

use smallvec::smallvec;

use super::common::{columns, cost, h, refuse, room, rows, square};
use crate::error::Result;
use crate::kernels;
use crate::kernels::linalg::Function;
use crate::ops::core::layout::broadcast_to;
use crate::ops::core::structured::{Record, Save, finish};
use crate::ops::core::view::slice_axis;
use crate::ops::shape::join::concatenate;
use crate::tensor::Tensor;

fn name(which: Function) -> &'static str {
    match which {
        Function::Exp => "expm",
        Function::Sqrt => "sqrtm",
        Function::Log => "logm",
    }
}

/// The function of square matrices of inexact numbers.
fn applied(which: Function, a: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(a.shape(), a.dtype())?;
    room(a, 12)?;
    kernels::linalg::function(which, a.view_of(), out.view_mut()).map_err(|i| {
        let (is, remedy) = match which {
            Function::Exp => ("holds NaN or infinity", "check where the values come from"),
            _ if a.dtype().is_complex() => {
                ("is singular, or holds NaN or infinity", "add a multiple of the identity")
            }
            _ => (
                "has no real result: it is singular, or has a negative eigenvalue, NaN or infinity",
                "convert it to a complex dtype, as x.astype(np.complex128)",
            ),
        };
        refuse(name(which), a, i, is, remedy)
    })?;
    finish(out, &[a], |_| Record {
        name: name(which),
        cost: cost(a, 60.0),
        params: which,
        saved: smallvec![Save::input(0, &[0])],
        backward: |&which, g, cx| {
            let a = broadcast_to(&h(&cx.saved(0)?)?, g.shape())?;
            cx.give_with(0, |_| {
                let none = Tensor::zeros(g.shape(), g.dtype())?;
                let top = concatenate(&[a.clone(), g], Some(-1))?;
                let below = concatenate(&[none, a], Some(-1))?;
                let found = applied(which, &concatenate(&[top, below], Some(-2))?)?;
                let (rows, columns) = (rows(&found) / 2, columns(&found) / 2);
                let right = slice_axis(&found, found.ndim() - 1, columns, 1, columns)?;
                slice_axis(&right, right.ndim() - 2, 0, 1, rows)
            })
        },
    })
}

crate::operations! { family "linear algebra" [float32];
    /// Exponential of square matrices, by a Padé approximant with scaling and squaring. Derivative: the exponential of `[[xᴴ, g], [0, xᴴ]]`, its upper right block.
    [numpy("scipy.linalg.expm"), namespace("linalg"), aliases("matrix_exp")]
    fn expm(x: Tensor) -> Tensor {
        applied(Function::Exp, &square("expm", x)?)
    }
    /// Principal square root of square matrices, `y y = x`. A real matrix with a negative eigenvalue has no real one and is refused: convert it to a complex dtype. Derivative: the root of `[[xᴴ, g], [0, xᴴ]]`, its upper right block.
    [numpy("scipy.linalg.sqrtm"), namespace("linalg")]
    fn sqrtm(x: Tensor) -> Tensor {
        applied(Function::Sqrt, &square("sqrtm", x)?)
    }
    /// Principal logarithm of invertible matrices, `expm(y) = x`. A real matrix with a negative eigenvalue has no real one and is refused: convert it to a complex dtype. Derivative: the logarithm of `[[xᴴ, g], [0, xᴴ]]`, its upper right block.
    [numpy("scipy.linalg.logm"), namespace("linalg")]
    fn logm(x: Tensor) -> Tensor {
        applied(Function::Log, &square("logm", x)?)
    }
}
