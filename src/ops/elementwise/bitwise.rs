//! Bitwise operations on integers and booleans; no derivatives.
elementwise! { family "bitwise" [in_place];
    /// Bits set in both; the truth of both for booleans.
    [numpy("bitwise_and")]
    fn bitwise_and(a, b) = BITWISE_AND {
        forward { ints: |a, b| a & b; bool: |a, b| a & b; cost: 0.2; }
    }
    /// Bits set in either; the truth of either for booleans.
    [numpy("bitwise_or")]
    fn bitwise_or(a, b) = BITWISE_OR {
        forward { ints: |a, b| a | b; bool: |a, b| a | b; cost: 0.2; }
    }
    /// Bits set in exactly one; the truth of exactly one for booleans.
    [numpy("bitwise_xor")]
    fn bitwise_xor(a, b) = BITWISE_XOR {
        forward { ints: |a, b| a ^ b; bool: |a, b| a ^ b; cost: 0.2; }
    }
    /// Bits not set; the falsehood of booleans.
    [numpy("bitwise_not", "invert", "bitwise_invert"), aliases("invert", "bitwise_invert")]
    fn bitwise_not(x) = BITWISE_NOT {
        forward { ints: |x| !x; bool: |x| x ^ 1; cost: 0.2; }
    }
    /// `a * 2**b` without overflow checks; 0 where all bits are shifted out or `b` is negative.
    [numpy("left_shift", "bitwise_left_shift"), aliases("bitwise_left_shift")]
    fn left_shift(a, b) = LEFT_SHIFT {
        forward { ints [avx2]: |a, b| crate::ops::elementwise::integer_power_shift::left_shift(a, b); cost: 0.5; }
    }
    /// `a // 2**b`; only the sign is left where all bits are shifted out or `b` is negative.
    [numpy("right_shift", "bitwise_right_shift"), aliases("bitwise_right_shift")]
    fn right_shift(a, b) = RIGHT_SHIFT {
        forward { ints [avx2]: |a, b| crate::ops::elementwise::integer_power_shift::right_shift(a, b); cost: 0.5; }
    }
}
