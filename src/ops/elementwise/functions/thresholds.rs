//! `threshold`, `hardshrink`, `softshrink` and `prelu`, each as one loop.
//!
//! Invariant: values and derivatives are those of `where` with the comparison.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ops::core::elementwise::{OperandRef, binary, unary_with};
use crate::tensor::Tensor;

/// Refuses a range whose lower end is above the upper one.
pub(super) fn in_order(_: &[OperandRef<'_>], _: DType, range: &[f64]) -> Result<()> {
    match range {
        [low, high] if low > high => Err(Box::new(Error::Argument {
            op: "hardtanh".into(),
            what: format!("min_val={low} is above max_val={high}"),
            remedy: "give the lower bound first".into(),
        })),
        _ => Ok(()),
    }
}

elementwise_specs! {
    /// `value` from `low` to `high`, else `x`, as it is where it is NaN. Derivative: 0 there, `g` elsewhere.
    fn replace_between(x; low = 0.0, high = 0.0, value = 0.0) = REPLACE_BETWEEN {
        forward { float [memory_bound]: |x; low, high, value| R::select(R::mask_and(x.ge(low), x.le(high)), value, x); cost: 0.3; }
        by x { float [memory_bound] |g, x; low, high, _value| R::select(R::mask_and(x.ge(low), x.le(high)), R::lit(0.0), g) }
    }
    /// `x` without its part between `low` and `high`. Derivative: `g` outside of them, 0 elsewhere.
    fn subtract_clamped(x; low = 0.0, high = 0.0, value = 0.0) = SUBTRACT_CLAMPED {
        forward { float [memory_bound]: |x; low, high, _value| {
            let raised = R::select(x.lt(low), low, x);
            x - R::select(raised.gt(high), high, raised)
        }; cost: 0.3; }
        by x { float [memory_bound] |g, x; low, high, _value| R::select(R::mask_or(x.lt(low), x.gt(high)), g, R::lit(0.0)) }
    }
    /// `a` above zero, `b a` elsewhere. Derivatives: `g`, or `g b` and `g a`.
    fn prelu_formula(a, b) = PRELU_FORMULA {
        forward { float [memory_bound]: |a, b| R::select(a.gt(R::lit(0.0)), a, b * a); cost: 0.3; }
        by a { float [memory_bound] |g, a, b| R::select(a.gt(R::lit(0.0)), g, g * b) }
        by b { float [memory_bound] |g, a| R::select(a.gt(R::lit(0.0)), R::lit(0.0), g * a) }
    }
}

crate::operations! { family "activation";
    /// `value` up to the threshold, else `x`. Derivative: 0 there, `g` elsewhere.
    [namespace("nn.functional"), core_function("_threshold")]
    fn threshold_(x: Tensor, threshold: f64, value: f64) -> Tensor {
        unary_with(&REPLACE_BETWEEN, x, &[f64::NEG_INFINITY, threshold, value])
    }
    /// 0 where `|x| <= lambd`, else `x`. Derivative: 0 there, `g` elsewhere.
    [namespace("nn.functional"), core_function("_hardshrink")]
    fn hardshrink(x: Tensor, lambd: f64 = 0.5) -> Tensor {
        unary_with(&REPLACE_BETWEEN, x, &[-lambd, lambd, 0.0])
    }
    /// `x` moved towards 0 by `lambd`, at most to 0. Derivative: `g` where `|x| > lambd`, 0 elsewhere.
    [namespace("nn.functional"), core_function("_softshrink")]
    fn softshrink(x: Tensor, lambd: f64 = 0.5) -> Tensor {
        unary_with(&SUBTRACT_CLAMPED, x, &[-lambd, lambd, 0.0])
    }
    /// `x` above zero, `weight x` elsewhere. Derivatives: `g`, or `g weight`; and `g x` where `x` is not above zero.
    [namespace("nn.functional"), core_function("_prelu")]
    fn prelu(x: Tensor, weight: Tensor) -> Tensor {
        binary(&PRELU_FORMULA, x, weight)
    }
}
