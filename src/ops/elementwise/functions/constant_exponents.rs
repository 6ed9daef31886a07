//! Powers with a constant small integer or half exponent, computed with products and roots in a tenth of the time.
//!
//! Invariant: values are within one ulp of `power`, except that the root of -∞ is NaN and that of -0 is -0, as with NumPy's
//! operator; derivatives of every order are the same functions.

use crate::ops::core::elementwise::Elementwise;
use crate::ops::elementwise::unary::{RECIPROCAL, SQRT, SQUARE};

elementwise_specs! {
    /// `x³`. Derivative: `3 g x²`.
    fn cube(x) = CUBE {
        forward { complex [ring]: |x| x * x * x; ints [avx2]: |x| x.wrapping_mul(x).wrapping_mul(x); cost: 0.3; }
        by x { complex [ring] |g, x| g * 3.0 * (x * x) }
    }
}

/// The operation equivalent to a power with this exponent.
pub(crate) fn for_exponent(exponent: f64) -> Option<&'static Elementwise> {
    match exponent {
        0.5 => Some(&SQRT),
        2.0 => Some(&SQUARE),
        3.0 => Some(&CUBE),
        -1.0 => Some(&RECIPROCAL),
        _ => None,
    }
}
