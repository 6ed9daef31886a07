//! Mixtures of three tensors: one composed expression each, differentiable in every operand.
//!
//! Owns: `lerp`, `addcmul`, `addcdiv`. Never fuses: each is two or three recorded operations.
//! Invariant: operands broadcast together.

use crate::error::Result;
use crate::ops::arith::{ADD, DIVIDE, MULTIPLY, SUBTRACT};
use crate::ops::declare::{Operand, Scalar};
use crate::ops::elementwise::{binary, binary_operands, binary_scalar};
use crate::tensor::Tensor;

/// `x` plus `value` times a product or quotient.
fn add_scaled(x: &Tensor, value: f64, term: Tensor) -> Result<Tensor> {
    let term =
        if value == 1.0 { term } else { binary_scalar(&MULTIPLY, &term, Scalar::Float(value))? };
    binary(&ADD, x, &term)
}

crate::operations! { family "elementwise";
    /// Linear interpolation, `x + weight (end - x)`. Derivatives: `g (1 - weight)`, `g weight` and `g (end - x)`.
    fn lerp(x: Tensor, end: Operand, weight: Operand) -> Tensor {
        let x = Operand::Tensor(x.clone());
        let span = binary_operands(&SUBTRACT, end, &x)?;
        let part = binary_operands(&MULTIPLY, weight, &Operand::Tensor(span))?;
        binary_operands(&ADD, &x, &Operand::Tensor(part))
    }
    /// `x + value a b`. Derivatives: `g`, `g value b` and `g value a`.
    fn addcmul(x: Tensor, a: Tensor, b: Tensor, value: f64 = 1.0) -> Tensor {
        add_scaled(x, value, binary(&MULTIPLY, a, b)?)
    }
    /// `x + value a / b`. Derivatives: `g`, `g value / b` and `-g value a / b²`.
    fn addcdiv(x: Tensor, a: Tensor, b: Tensor, value: f64 = 1.0) -> Tensor {
        add_scaled(x, value, binary(&DIVIDE, a, b)?)
    }
}
