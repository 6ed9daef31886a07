//! What a number is to a loop: the alphabet of element-wise texts, its readings, and the ring of each dtype.
//!
//! Owns: the traits that texts are written in, and what implements them. Never loops.
//! Invariant: a text means the same for one number, for a vector and for complex numbers.

pub mod complex_scalar;
pub mod real;
pub(super) mod ring;
pub mod scalar;
#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
mod sixteen;
