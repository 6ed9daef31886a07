//! Elementary and special functions on one float, in the two widths.
//!
//! Owns: the approximations. Each vectorising function is branch-free: reduce, evaluate a minimax
//! polynomial, select at the edges. Rare ones are scalar code, or the standard library's.
//! Never knows a buffer. Invariant: `FMA` decides whether products are fused, nothing else does, so
//! a value does not depend on the vector width it was computed in. `sixteen` has functions of its own for float32 on
//! AVX-512, which keep the same bounds and may differ in the last place.

mod argument;
mod basic;
#[allow(missing_docs)]
pub mod complex;
mod exp;
pub mod f32;
pub mod f64;
mod hyperbolic;
mod log;
mod power;
mod remainder;
mod root;
#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
pub(crate) mod sixteen;
mod special;
mod trigonometry;

pub use argument::Argument;
use special::{erf, erfinv, gamma, polygamma};
use trigonometry::{inverse, sinc, trig, trig32};
