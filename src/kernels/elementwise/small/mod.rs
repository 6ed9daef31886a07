//! Ways into a loop that need no plan: few elements, or operands that lie in a row.
//!
//! Owns: what may be left out when operands are contiguous or small. Never holds a loop of its own.
//! Invariant: a shortcut gives the bits that the driver would.

pub(super) mod backward_call;
pub(super) mod contiguous;
pub(super) mod flat;
#[cfg(feature = "python")]
pub(super) mod floats;
