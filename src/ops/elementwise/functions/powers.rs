//! Powers whose exponent is a small whole number or a half: products and roots, which take a tenth of the time.
//!
//! Owns: the choice. Never changes a derivative. Invariant: the value is within a unit in the last
//! place of that of `power`, save that the root of -∞ is NaN and that of -0 is -0, as with NumPy's operator, and its
//! derivatives of every order are the same functions.

use crate::ops::core::elementwise::Elementwise;
use crate::ops::elementwise::unary::{RECIPROCAL, SQRT, SQUARE};

elementwise_specs! {
    /// `x³`. Derivative: `3 g x²`.
    fn cube(x) = CUBE {
        forward { complex_ring: |x| x * x * x; ints_wide: |x| x.wrapping_mul(x).wrapping_mul(x); cost: 0.3; }
        by x { complex_ring |g, x| g * 3.0 * (x * x) }
    }
}

/// The operation that is the power with this exponent.
pub(crate) fn of_number(exponent: f64) -> Option<&'static Elementwise> {
    match exponent {
        0.5 => Some(&SQRT),
        2.0 => Some(&SQUARE),
        3.0 => Some(&CUBE),
        -1.0 => Some(&RECIPROCAL),
        _ => None,
    }
}
