//! The functions for float64.
pub use super::basic::calls64::*;
pub use super::basic::round64::*;
pub use super::erf::w64::*;
pub use super::exp::w64::*;
pub use super::hyperbolic::w64::*;
pub use super::log::w64::*;
pub use super::power::powf64 as powf;
pub use super::sinc::sinc;
pub use super::special::{digamma, erfinv, lgamma, polygamma};
pub use super::trig::w64::*;
