//! Arithmetic operators and binary functions: formula and derivative side by side.

use crate::error::Result;
use crate::kernels::number::real::Real;
use crate::tensor::Tensor;

/// The complex conjugate of a saved factor; real tensors are returned unchanged. A gradient is `dL/d re + i dL/d im`, so
/// rules of products multiply by conjugates.
#[inline]
pub(crate) fn conjugated(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { conjugate(x) } else { Ok(x.clone()) }
}

/// `g x / (a² + b²)` for a coordinate `x` of the point (`a`, `b`), without squares that overflow. It is zero where the point
/// is infinitely far, and so are its derivatives: (1, 0) stands for the point there, and 0 for `x`.
#[inline(always)]
fn over_squared_radius<R: Real>(g: R, x: R, a: R, b: R) -> R {
    let is_nan = R::mask_or(a.is_nan(), b.is_nan());
    let is_infinite = R::mask_or(a.is_infinite(), b.is_infinite());
    let is_far = R::mask_and(is_infinite, R::mask_not(is_nan));
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let radius = R::select(is_far, one, a).hypot(R::select(is_far, zero, b));
    g * (R::select(is_far, zero, x) / radius) / radius
}

elementwise! { family "arithmetic" [in_place];
    /// Negative, `-x`. Derivative: `-g`.
    [numpy("negative"), aliases("neg"), no_bool]
    fn negative(x) = NEGATIVE {
        forward { complex [ring]: |x| -x; ints: |x| x.wrapping_neg(); cost: 0.3; }
        by x { complex [ring] |g| -g }
    }
    /// Complex conjugate; real numbers are their own. Derivative: the conjugate of `g`.
    [numpy("conjugate", "conj"), aliases("conj"), attribute]
    fn conjugate(x) = CONJUGATE {
        forward { complex [ring]: |x| x.conj(); ints: |x| x; cost: 0.3; }
        by x { adjoint |g| g.conj() }
    }
    /// Sum, `a + b`. Derivative: `g` for both.
    [numpy("add"), factor("alpha")]
    fn add(a, b) = ADD {
        forward { complex [ring]: |a, b| a + b; in_place; rows: Add; ints: |a, b| a.wrapping_add(b); bool: |a, b| a | b; cost: 0.22; }
        by a { identity }
        by b { identity }
    }
    /// Difference, `a - b`. Derivatives: `g` and `-g`.
    [numpy("subtract"), aliases("sub"), no_bool, factor("alpha")]
    fn subtract(a, b) = SUBTRACT {
        forward { complex [ring]: |a, b| a - b; in_place; rows: Subtract; ints: |a, b| a.wrapping_sub(b); cost: 0.22; }
        by a { identity }
        by b { complex [ring] |g| -g }
    }
    /// Product, `a * b`. Derivatives: `g b` and `g a`.
    [numpy("multiply"), aliases("mul")]
    fn multiply(a, b) = MULTIPLY {
        forward { complex [ring, avx512]: |a, b| a * b; in_place; rows: Multiply; ints [avx2]: |a, b| a.wrapping_mul(b); bool: |a, b| a & b; cost: 0.22; }
        by a { complex [ring] |g, b| g * b }
        by b { complex [ring] |g, a| g * a }
    }
    /// Quotient, `a / b`; integers divide as float64. Derivatives: `g / b` and `-g y / b`.
    [numpy("divide", "true_divide"), aliases("true_divide"), float64]
    fn divide(a, b) = DIVIDE {
        forward { complex [complex64]: |a, b| a / b; rows: Divide; cost: 0.5; }
        by a { complex |g, b| g / b }
        by b { complex |g, b, y| -g * y / b }
    }
    /// Power, `a ** b`. Derivatives: `g b a^(b-1)`, zero where `b` is 0, and `g y ln a`, zero where `a` is 0 and `b` is not negative. Integers to negative integer powers are refused, as in NumPy.
    [numpy("power"), aliases("pow")]
    fn power(a, b) = POWER {
        operand_check crate::ops::elementwise::integer_power_shift::refuse_negative_power;
        unary_for_scalar crate::ops::elementwise::constant_exponents::for_exponent;
        forward { complex [exponential]: |a, b| a.powf(b);
            ints: |a, b| crate::ops::elementwise::integer_power_shift::power(a, b); cost: 4.0; }
        by a { complex [exponential] |g, a, b| R::select(b.eq(R::lit(0.0)), R::lit(0.0), g * (b * a.powf(R::select(b.eq(R::lit(0.0)), R::lit(1.0), b - 1.0)))) }
        by b { complex |g, a, b, y| g * y * R::select(R::mask_and(a.eq(R::lit(0.0)), b.ge(R::lit(0.0))), R::lit(1.0), a).ln() }
    }
    /// Largest integer not above the quotient, as Python's `//`. Derivative: zero.
    [numpy("floor_divide")]
    fn floor_divide(a, b) = FLOOR_DIVIDE {
        forward { float [quotients]: |a, b| a.floor_div(b);
            integer_division: FloorDivide; cost: 2.2; }
        by a { zero }
        by b { zero }
    }
    /// Remainder with the sign of the divisor, as Python's `%`. Derivatives: `g` and `-g (a // b)`.
    [numpy("remainder", "mod"), aliases("mod")]
    fn remainder(a, b) = REMAINDER {
        forward { float [quotients]: |a, b| a.rem(b);
            integer_division: Remainder; cost: 1.0; }
        by a { identity }
        by b { float [quotients] |g, a, b| -g * a.floor_div(b) }
    }
    /// The larger operand; NaN if either is NaN. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` to the larger, or to the NaN; half each at a tie of real numbers.
    [numpy("maximum")]
    fn maximum(a, b) = MAXIMUM {
        complex |z| crate::ops::elementwise::complex::complex_extreme(&crate::ops::elementwise::compare::GREATER_EQUAL, z, 0);
        forward { float: |a, b| a.max(b); ints [avx2]: |a, b| a.max(b); bool: |a, b| a | b; cost: 0.22; }
        by a { float |g, a, b| R::select(a.ties(b), g * 0.5, R::select(R::mask_or(a.gt(b), a.is_nan()), g, R::lit(0.0))) }
        by b { float |g, a, b| R::select(a.ties(b), g * 0.5, R::select(R::mask_or(b.gt(a), b.is_nan()), g, R::lit(0.0))) }
    }
    /// The smaller operand; NaN if either is NaN. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` to the smaller, or to the NaN; half each at a tie of real numbers.
    [numpy("minimum")]
    fn minimum(a, b) = MINIMUM {
        complex |z| crate::ops::elementwise::complex::complex_extreme(&crate::ops::elementwise::compare::LESS_EQUAL, z, 0);
        forward { float: |a, b| a.min(b); ints [avx2]: |a, b| a.min(b); bool: |a, b| a & b; cost: 0.22; }
        by a { float |g, a, b| R::select(a.ties(b), g * 0.5, R::select(R::mask_or(a.lt(b), a.is_nan()), g, R::lit(0.0))) }
        by b { float |g, a, b| R::select(a.ties(b), g * 0.5, R::select(R::mask_or(b.lt(a), b.is_nan()), g, R::lit(0.0))) }
    }
    /// Remainder with the sign of the dividend, as C's `fmod`. Derivatives: `g` and `-g` times the quotient rounded towards zero.
    [numpy("fmod")]
    fn fmod(a, b) = FMOD {
        forward { float [quotients]: |a, b| a.fmod(b);
            integer_division: Fmod; cost: 1.0; }
        by a { identity }
        by b { float [quotients] |g, a, b| { let q = ((a - a.fmod(b)) / b).round(); -g * R::select(q.is_nan(), (a / b).trunc(), q) } }
    }
    /// Angle of the point (`b`, `a`). Derivatives: `g b / (a² + b²)` and `-g a / (a² + b²)`.
    [numpy("arctan2"), aliases("atan2")]
    fn arctan2(a, b) = ARCTAN2 {
        forward { float: |a, b| a.atan2(b); cost: 2.5; }
        by a { float |g, a, b| over_squared_radius(g, b, a, b) }
        by b { float |g, a, b| over_squared_radius(-g, a, a, b) }
    }
    /// `sqrt(a² + b²)`. Derivatives: `g a / y` and `g b / y`, zero at the origin.
    [numpy("hypot")]
    fn hypot(a, b) = HYPOT {
        forward { float: |a, b| a.hypot(b); cost: 1.2; }
        by a { float |g, a, y| {
            let none = y.eq(R::lit(0.0));
            R::select(none, R::lit(0.0), g * (a / R::select(none, R::lit(1.0), y)))
        } }
        by b { float |g, b, y| {
            let none = y.eq(R::lit(0.0));
            R::select(none, R::lit(0.0), g * (b / R::select(none, R::lit(1.0), y)))
        } }
    }
    /// The magnitude of `a` with the sign of `b`. Derivatives: `g` times the sign change, and zero.
    [numpy("copysign")]
    fn copysign(a, b) = COPYSIGN {
        forward { float: |a, b| a.copysign(b); cost: 0.22; }
        by a { float |g, a, y| {
            let none = a.eq(R::lit(0.0));
            R::select(none, R::lit(0.0), g * (y / R::select(none, R::lit(1.0), a)))
        } }
        by b { zero }
    }
}
