//! Integer arithmetic with NumPy's results, where Rust's operators differ or would panic.
//!
//! Owns: division, remainder and power of int64 as NumPy computes them. Never panics.
//! Invariant: division by zero yields 0, as NumPy's integer loops do.

/// `a // b`, rounded down; 0 when `b` is 0.
#[inline(always)]
pub(crate) fn floor_divide(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let q = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
}

/// `a % b` with the sign of `b`; 0 when `b` is 0.
#[inline(always)]
pub(crate) fn remainder(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let r = a.wrapping_rem(b);
    if r != 0 && (r < 0) != (b < 0) { r + b } else { r }
}

/// The remainder with the sign of `a`; 0 when `b` is 0.
#[inline(always)]
pub(crate) fn fmod(a: i64, b: i64) -> i64 {
    if b == 0 { 0 } else { a.wrapping_rem(b) }
}

/// `a ** b` with wrap-around; a negative exponent is refused before it gets here and yields 0.
#[inline(always)]
pub(crate) fn power(a: i64, b: i64) -> i64 {
    match u32::try_from(b) {
        Ok(b) => a.wrapping_pow(b),
        Err(_) => 0,
    }
}
