//! Elementary and special functions of one float, in both widths.
//!
//! Vectorising functions are branch-free: reduce, evaluate a minimax polynomial, select at the edges. Rare
//! ones are scalar code, or the standard library's. Invariant: a value depends on whether products are fused
//! (`FMA`), not on the vector width.

mod basic;
#[allow(missing_docs)]
pub mod complex;
mod exp;
pub mod f32;
pub mod f64;
mod full_range;
mod hyperbolic;
mod log;
mod power;
mod remainder;
mod root;
mod special;
mod trigonometry;

pub use full_range::FullRangeTest;
use special::{erf, erfinv, gamma, polygamma};
use trigonometry::{inverse, sinc, trig32, trig64};
