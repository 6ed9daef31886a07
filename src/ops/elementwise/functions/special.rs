//! Function families indexed by an order (derivatives of digamma and of sinc): a derivative is the same function, one order
//! higher. An order that is not a non-negative integer gives NaN.

use crate::error::Error;
use crate::ops::core::elementwise::{binary_scalar, unary};
use crate::ops::core::op_decl::Scalar;
use crate::ops::elementwise::unary::DIGAMMA;
use crate::tensor::Tensor;

elementwise_specs! {
    /// Derivative of `digamma`. Derivative: `g` times that of order 2.
    fn trigamma(x) = TRIGAMMA {
        forward { float: |x| x.trigamma(); cost: 2.9; }
        by x { float [calls] |g, x| g * x.polygamma(R::lit(2.0)) }
    }
    /// Derivative of order `b` of `digamma` at `a`. Derivative: `g` times that of order `b + 1`.
    fn polygamma_at(a, b) = POLYGAMMA {
        forward { float [calls]: |a, b| a.polygamma(b); cost: 60.0; }
        by a { float [calls] |g, a, b| g * a.polygamma(b + 1.0) }
        by b { zero }
    }
    /// Derivative of order `b` of `sinc` at `a`. Derivative: `g` times that of order `b + 1`.
    fn sinc_order(a, b) = SINC_ORDER {
        forward { complex [exponential, calls]: |a, b| a.sinc(b); cost: 60.0; }
        by a { complex [exponential, calls] |g, a, b| g * a.sinc(b + 1.0) }
        by b { zero }
    }
}

crate::operations! { family "elementwise" [in_place, ufunc];
    /// Derivative of order `n` of `digamma`. Derivative: `g polygamma(n + 1, x)`.
    [numpy("scipy.special.polygamma")]
    fn polygamma(n: isize, x: Tensor) -> Tensor {
        if n < 0 {
            return Err(Box::new(Error::Argument {
                op: "polygamma".into(),
                what: format!("order {n}"),
                remedy: "give an order of 0 or more".into(),
            }));
        }
        match n {
            0 => unary(&DIGAMMA, x),
            1 => unary(&TRIGAMMA, x),
            _ => binary_scalar(&POLYGAMMA, x, Scalar::Float(n as f64)),
        }
    }
}
