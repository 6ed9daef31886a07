//! GELU: the exact formula and the tanh approximation.

use crate::error::{Error, Result};
use crate::ops::core::elementwise::unary;
use crate::tensor::Tensor;

elementwise_specs! {
    /// `x` times the normal distribution function. Derivative: `g (cdf(x) + x pdf(x))`.
    fn gelu_exact(x) = GELU {
        forward { float: |x| x * x.normal_cdf(); cost: 2.5; }
        by x { float |g, x| g * (x.normal_cdf() + x * (x * x * -0.5).exp() * 0.3989422804014327) }
    }
    /// The tanh approximation of gelu. Derivative: that of the formula.
    fn gelu_tanh(x) = GELU_TANH {
        forward { float: |x| x * 0.5 * (1.0 + ((x + x * x * x * 0.044715) * 0.7978845608028654).tanh()); cost: 1.6; }
        by x { float |g, x| {
            let t = ((x + x * x * x * 0.044715) * 0.7978845608028654).tanh();
            let slope = (1.0 + x * x * 0.134145) * 0.7978845608028654;
            g * ((1.0 + t) * 0.5 + x * 0.5 * (1.0 - t * t) * slope)
        } }
    }
}

crate::operations! { family "activation" [in_place, ufunc];
    /// `x` times the normal distribution function, or its tanh approximation with `approximate="tanh"`. Derivative: `g (cdf(x) + x pdf(x))`.
    fn gelu(x: Tensor, approximate: String = "none".to_owned()) -> Tensor {
        match approximate.as_str() {
            "none" => unary(&GELU, x),
            "tanh" => unary(&GELU_TANH, x),
            other => Err(unknown(other)),
        }
    }
}

#[cold]
fn unknown(approximate: &str) -> Box<Error> {
    Box::new(Error::Argument {
        op: "gelu".into(),
        what: format!("approximate={approximate:?}"),
        remedy: "use \"none\" or \"tanh\"".into(),
    })
}

/// The exact form, for the call with one tensor only.
#[inline]
pub fn gelu_default(x: &Tensor) -> Result<Tensor> {
    unary(&GELU, x)
}
