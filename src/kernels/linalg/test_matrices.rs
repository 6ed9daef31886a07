//! Numbers for the unit tests of this folder.
//!
//! Owns: one xorshift generator. Never part of a build without tests. Invariant: the same numbers in every run.

/// Numbers from 0 on, below 1.
pub(super) fn draws() -> impl FnMut() -> f64 {
    let mut state = 88_172_645_463_325_252_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}
