//! `fmax` and `fmin`: extremes that ignore NaN.
elementwise! { family "extremes" [in_place];
    /// The larger operand; a NaN loses against a number. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` to the larger, half each at a tie of real numbers.
    [numpy("fmax")]
    fn fmax(a, b) = FMAX {
        complex |z| crate::ops::elementwise::complex::complex_extreme(&crate::ops::elementwise::compare::GREATER_EQUAL, z, 1);
        forward { float: |a, b| R::select(R::mask_or(a.ge(b), b.is_nan()), a, b); ints: |a, b| a.max(b); bool: |a, b| a | b; cost: 0.3; }
        by a { float |g, a, b| R::select(a.eq(b), g * 0.5, R::select(R::mask_or(a.gt(b), b.is_nan()), g, R::lit(0.0))) }
        by b { float |g, a, b| R::select(a.eq(b), g * 0.5, R::select(R::mask_or(b.gt(a), R::mask_and(a.is_nan(), b.eq(b))), g, R::lit(0.0))) }
    }
    /// The smaller operand; a NaN loses against a number. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` to the smaller, half each at a tie of real numbers.
    [numpy("fmin")]
    fn fmin(a, b) = FMIN {
        complex |z| crate::ops::elementwise::complex::complex_extreme(&crate::ops::elementwise::compare::LESS_EQUAL, z, 1);
        forward { float: |a, b| R::select(R::mask_or(a.le(b), b.is_nan()), a, b); ints: |a, b| a.min(b); bool: |a, b| a & b; cost: 0.3; }
        by a { float |g, a, b| R::select(a.eq(b), g * 0.5, R::select(R::mask_or(a.lt(b), b.is_nan()), g, R::lit(0.0))) }
        by b { float |g, a, b| R::select(a.eq(b), g * 0.5, R::select(R::mask_or(b.lt(a), R::mask_and(a.is_nan(), b.eq(b))), g, R::lit(0.0))) }
    }
}
