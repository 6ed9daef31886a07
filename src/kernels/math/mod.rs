//! Elementary and special functions of one float, in both widths.
//!
//! Vectorising functions are branch-free: reduce, evaluate a minimax polynomial, select at the edges. Rare
//! ones are scalar code, or the standard library's. Invariant: a value depends on whether products are fused
//! (`FMA`), not on the vector width. `sixteen` has separate functions for float32 on AVX-512, with the same
//! error bounds; they may differ in the last place.

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
