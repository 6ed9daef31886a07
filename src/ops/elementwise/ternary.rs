//! `lerp`, `addcmul`, `addcdiv`: three operands in one loop.
//!
//! Invariant: no fused multiply-add; values are those of the separate operations, which compute the integer cases.

use smallvec::SmallVec;

use crate::array::broadcast_shapes;
use crate::dtype::WeakScalar;
use crate::error::Result;
use crate::ops::core::broadcast::{astype, broadcast_to};
use crate::ops::core::elementwise::{Elementwise, OperandRef, binary_operands};
use crate::ops::core::int_range::check_int_range;
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::elementwise::arithmetic::{ADD, MULTIPLY, SUBTRACT};
use crate::tensor::Tensor;

elementwise_specs! {
    /// Linear interpolation, `a + c (b - a)`. Derivatives: `g (1 - c)`, `g c` and `g (b - a)`.
    fn lerp_(a, b, c) = LERP {
        forward { complex [ring]: |a, b, c| a + c * (b - a); cost: 0.4; }
        by a { complex [ring] |g, c| g * (1.0 - c) }
        by b { complex [ring] |g, c| g * c }
        by c { complex [ring] |g, a, b| g * (b - a) }
    }
    /// `a + value b c`. Derivatives: `g`, `g value c` and `g value b`.
    fn addcmul_(a, b, c; value = 1.0) = ADDCMUL {
        forward { complex [ring]: |a, b, c; value| a + b * c * value; cost: 0.4; }
        by a { identity }
        by b { complex [ring] |g, c; value| g * value * c }
        by c { complex [ring] |g, b; value| g * value * b }
    }
    /// `a + value b / c`. Derivatives: `g`, `g value / c` and `-g value b / c²`.
    fn addcdiv_(a, b, c; value = 1.0) = ADDCDIV {
        forward { complex: |a, b, c; value| a + b / c * value; cost: 0.5; }
        by a { identity }
        by b { complex |g, c; value| g * value / c }
        by c { complex |g, b, c; value| -(g * value * b / c) / c }
    }
}

// Facts take constants, and a static is not one: hence constant references.
const LERP_LOOP: &Elementwise = &LERP;
const ADDCMUL_LOOP: &Elementwise = &ADDCMUL;
const ADDCDIV_LOOP: &Elementwise = &ADDCDIV;

/// Applies a three-operand operation to a tensor and two operands.
pub(in crate::ops::elementwise) fn ternary(
    op: &'static Elementwise,
    x: &Tensor,
    others: [&Operand; 2],
    params: &[f64],
) -> Result<Tensor> {
    let mut tensors: SmallVec<[&Tensor; 3]> = SmallVec::new();
    tensors.push(x);
    let mut common = x.dtype();
    for other in others {
        match other {
            Operand::Scalar(s) => common = common.promote_weak(s.weak()),
            Operand::Tensor(t) => {
                common = common.promote(t.dtype());
                tensors.push(t);
            }
        }
    }
    let shapes: SmallVec<[&[usize]; 3]> = tensors.iter().map(|t| t.shape()).collect();
    let (dims, dtype) = (broadcast_shapes(op.name, &shapes)?, op.compute_dtype(common)?);
    let cast = |t: &Tensor| broadcast_to(&astype(t, dtype)?, &dims);
    let x = cast(x)?;
    let [a, b] = others.map(|other| match other {
        Operand::Scalar(s @ Scalar::Complex(..)) => {
            Tensor::full(&[], *s, dtype).and_then(|t| cast(&t)).map(Operand::Tensor)
        }
        Operand::Scalar(s) => check_int_range(op.name, dtype, *s).map(Operand::Scalar),
        Operand::Tensor(t) => cast(t).map(Operand::Tensor),
    });
    let (a, b) = (a?, b?);
    op.run(
        [OperandRef::Tensor(&x), OperandRef::from(&a), OperandRef::from(&b)],
        x.layout(),
        dtype,
        params,
    )
}

fn tensors(a: &Tensor, b: &Tensor) -> [Operand; 2] {
    [Operand::Tensor(a.clone()), Operand::Tensor(b.clone())]
}

crate::operations! { family "elementwise" [in_place, ufunc];
    /// Linear interpolation, `x + weight (end - x)`. Derivatives: `g (1 - weight)`, `g weight` and `g (end - x)`.
    [elementwise(LERP_LOOP)]
    fn lerp(x: Tensor, end: Operand, weight: Operand) -> Tensor {
        let float = |operand: &Operand| !matches!(operand, Operand::Tensor(t) if !t.dtype().is_float());
        if x.dtype().is_float() && float(end) && float(weight) {
            return ternary(&LERP, x, [end, weight], &[]);
        }
        // Differences of integers are integers, and wrap.
        let x = Operand::Tensor(x.clone());
        let product = binary_operands(&MULTIPLY, weight, &Operand::Tensor(binary_operands(&SUBTRACT, end, &x)?))?;
        binary_operands(&ADD, &x, &Operand::Tensor(product))
    }
    /// `x + value a b`. Derivatives: `g`, `g value b` and `g value a`.
    [elementwise(ADDCMUL_LOOP)]
    fn addcmul(x: Tensor, a: Tensor, b: Tensor, value: Scalar = Scalar::Int(1)) -> Tensor {
        let scaled = value != Scalar::Int(1);
        let x = &(if scaled { astype(x, x.dtype().promote_weak(value.weak()))? } else { x.clone() });
        let inexact = [x, a, b].iter().any(|t| t.dtype().is_inexact());
        let [a, b] = &tensors(a, b);
        if inexact && value.weak() != WeakScalar::Complex {
            return ternary(&ADDCMUL, x, [a, b], &[value.as_f64()]);
        }
        let mut product = Operand::Tensor(binary_operands(&MULTIPLY, a, b)?);
        if scaled {
            product = Operand::Tensor(binary_operands(&MULTIPLY, &product, &Operand::Scalar(value))?);
        }
        binary_operands(&ADD, &Operand::Tensor(x.clone()), &product)
    }
    /// `x + value a / b`. Derivatives: `g`, `g value / b` and `-g value a / b²`.
    [elementwise(ADDCDIV_LOOP)]
    fn addcdiv(x: Tensor, a: Tensor, b: Tensor, value: f64 = 1.0) -> Tensor {
        let [a, b] = &tensors(a, b);
        ternary(&ADDCDIV, x, [a, b], &[value])
    }
}
