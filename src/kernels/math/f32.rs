//! The functions for float32.
pub use super::basic::calls32::*;
pub use super::basic::round32::*;
pub use super::erf::w32::*;
pub use super::erfinv::w32::*;
pub use super::exp::w32::*;
pub use super::gamma::w32::*;
pub use super::hyperbolic::w32::*;
pub use super::inverse::w32::*;
pub use super::log::w32::*;
pub use super::polygamma::w32::polygamma;
pub use super::power::w32::*;
pub use super::remainder::w32::*;
pub use super::root::w32::*;
pub use super::sinc::w32::*;
pub use super::trig32::w32::*;
