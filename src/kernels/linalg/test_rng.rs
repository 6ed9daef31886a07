//! A random number generator for unit tests: a fixed xorshift sequence.

/// Numbers in [0, 1).
pub(super) fn uniform_numbers() -> impl FnMut() -> f64 {
    let mut state = 88_172_645_463_325_252_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}
