//! The functions for float64.
pub use super::basic::calls64::*;
pub use super::basic::round64::*;
pub use super::erf::w64::*;
pub use super::erfinv::w64::*;
pub use super::exp::w64::*;
pub use super::gamma::{digamma, lgamma, trigamma};
pub use super::hyperbolic::w64::*;
pub use super::inverse::w64::*;
pub use super::log::w64::*;
pub use super::polygamma::polygamma;
pub use super::power::w64::*;
pub use super::remainder::w64::*;
pub use super::root::w64::*;
pub use super::sinc::sinc;
pub use super::trig64::w64::*;
