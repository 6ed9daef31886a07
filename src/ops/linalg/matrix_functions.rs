//! Functions of matrices: exponential, square root, logarithm.
//!
//! Owns: `expm`, `sqrtm`, `logm` and the one derivative of all of them. Never returns complex results for real matrices.
//! Invariant: the derivative of a function `f` in a direction `e` is the upper right block of `f([[a, e], [0, a]])`, and its
//! adjoint is that of `eᴴ`, transposed, so every order is again a function of a matrix. It is taken at `a` and not at `aᴴ`,
//! whose eigenvalues lie on the other side of a cut.
//! Source: Mathias, "A chain rule for matrix functions", SIAM J. Matrix Anal. Appl. 17 (1996).

use smallvec::smallvec;

use super::helpers::{columns, cost, h, refuse, room, rows, square};
use crate::error::Result;
use crate::kernels;
use crate::kernels::linalg::Function;
use crate::ops::core::broadcast::broadcast_to;
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

/// The function of square matrices of inexact numbers, which are `copies` times on their own diagonals.
fn applied(which: Function, copies: usize, a: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(a.shape(), a.dtype())?;
    room(a, 12)?;
    kernels::linalg::function(which, copies, a.view_of(), out.view_mut()).map_err(|i| {
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
        params: (which, copies),
        saved: smallvec![Save::input(0, &[0])],
        backward: |&(which, copies), g, cx| {
            let a = broadcast_to(&cx.saved(0)?, g.shape())?;
            cx.give_with(0, |_| {
                let none = Tensor::zeros(g.shape(), g.dtype())?;
                let top = concatenate(&[a.clone(), h(&g)?], Some(-1))?;
                let below = concatenate(&[none, a], Some(-1))?;
                let both = concatenate(&[top, below], Some(-2))?;
                let found = applied(which, 2 * copies, &both)?;
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
        applied(Function::Exp, 1, &square("expm", x)?)
    }
    /// Principal square root of square matrices, `y y = x`. A real matrix with a negative eigenvalue has no real one and is refused: convert it to a complex dtype. Derivative: the upper right block of the root of `[[x, gᴴ], [0, x]]`, transposed.
    [numpy("scipy.linalg.sqrtm"), namespace("linalg")]
    fn sqrtm(x: Tensor) -> Tensor {
        applied(Function::Sqrt, 1, &square("sqrtm", x)?)
    }
    /// Principal logarithm of invertible matrices, `expm(y) = x`. A real matrix with a negative eigenvalue has no real one and is refused: convert it to a complex dtype. Derivative: the upper right block of the logarithm of `[[x, gᴴ], [0, x]]`, transposed.
    [numpy("scipy.linalg.logm"), namespace("linalg")]
    fn logm(x: Tensor) -> Tensor {
        applied(Function::Log, 1, &square("logm", x)?)
    }
}
