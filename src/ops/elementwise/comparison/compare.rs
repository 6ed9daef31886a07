//! Comparisons and logic: boolean results, no derivative.
elementwise! { family "comparison";
    /// Element-wise `a == b`.
    [numpy("equal"), aliases("eq"), compares]
    fn equal(a, b) = EQUAL {
        forward { complex -> mask: |a, b| a.eq(b); ints [avx512]: |a, b| a == b; bool: |a, b| a ^ b ^ 1; }
    }
    /// Element-wise `a != b`.
    [numpy("not_equal"), aliases("ne"), compares]
    fn not_equal(a, b) = NOT_EQUAL {
        forward { complex -> mask: |a, b| a.ne(b); ints [avx512]: |a, b| a != b; bool: |a, b| a ^ b; }
    }
    /// Element-wise `a < b`.
    [numpy("less"), aliases("lt"), compares]
    fn less(a, b) = LESS {
        forward { complex -> mask: |a, b| a.lt(b); ints [avx512]: |a, b| a < b; bool: |a, b| (a ^ 1) & b; }
    }
    /// Element-wise `a <= b`.
    [numpy("less_equal"), aliases("le"), compares]
    fn less_equal(a, b) = LESS_EQUAL {
        forward { complex -> mask: |a, b| a.le(b); ints [avx512]: |a, b| a <= b; bool: |a, b| (a ^ 1) | b; }
    }
    /// Element-wise `a > b`.
    [numpy("greater"), aliases("gt"), compares]
    fn greater(a, b) = GREATER {
        forward { complex -> mask: |a, b| a.gt(b); ints [avx512]: |a, b| a > b; bool: |a, b| (b ^ 1) & a; }
    }
    /// Element-wise `a >= b`.
    [numpy("greater_equal"), aliases("ge"), compares]
    fn greater_equal(a, b) = GREATER_EQUAL {
        forward { complex -> mask: |a, b| a.ge(b); ints [avx512]: |a, b| a >= b; bool: |a, b| (b ^ 1) | a; }
    }
    /// Element-wise truth of both.
    [numpy("logical_and"), in_place]
    fn logical_and(a, b) = LOGICAL_AND {
        forward { complex -> mask: |a, b| R::mask_and(a.ne(R::lit(0.0)), b.ne(R::lit(0.0))); ints: |a, b| (a != 0) & (b != 0); bool: |a, b| a & b; }
    }
    /// Element-wise truth of either.
    [numpy("logical_or"), in_place]
    fn logical_or(a, b) = LOGICAL_OR {
        forward { complex -> mask: |a, b| R::mask_or(a.ne(R::lit(0.0)), b.ne(R::lit(0.0))); ints: |a, b| (a != 0) | (b != 0); bool: |a, b| a | b; }
    }
    /// Element-wise truth of exactly one.
    [numpy("logical_xor"), in_place]
    fn logical_xor(a, b) = LOGICAL_XOR {
        forward { complex -> mask: |a, b| R::mask_or(
                R::mask_and(a.ne(R::lit(0.0)), b.eq(R::lit(0.0))),
                R::mask_and(a.eq(R::lit(0.0)), b.ne(R::lit(0.0)))); ints: |a, b| (a != 0) != (b != 0); bool: |a, b| a ^ b; }
    }
    /// Element-wise falsehood.
    [numpy("logical_not"), in_place]
    fn logical_not(x) = LOGICAL_NOT {
        forward { complex -> mask: |x| x.eq(R::lit(0.0)); ints: |x| x == 0; bool: |x| x ^ 1; }
    }
    /// Whether the sign of each element is negative, also that of a zero or a NaN.
    [numpy("signbit")]
    fn signbit(x) = SIGNBIT {
        forward { float -> mask: |x| R::lit(1.0).copysign(x).lt(R::lit(0.0)); ints: |x| x < 0; bool: |_x| 0; }
    }
    /// Whether each element is NaN.
    [numpy("isnan")]
    fn isnan(x) = ISNAN {
        forward { complex -> mask: |x| x.is_nan(); ints: |_x| false; bool: |_x| 0; }
    }
    /// Whether each element is infinite.
    [numpy("isinf")]
    fn isinf(x) = ISINF {
        forward { complex -> mask: |x| x.is_infinite(); ints: |_x| false; bool: |_x| 0; }
    }
    /// Whether each element is neither infinite nor NaN.
    [numpy("isfinite")]
    fn isfinite(x) = ISFINITE {
        forward { complex -> mask: |x| x.is_finite(); ints: |_x| true; bool: |_x| 1; }
    }
}
