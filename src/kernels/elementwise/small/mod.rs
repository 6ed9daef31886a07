//! Fast paths into a loop that need no strided plan: few elements, or contiguous operands.
//!
//! Invariant: a fast path gives the bits of the general path.

pub(super) mod backward_call;
pub(super) mod contiguous;
pub(super) mod flat;
#[cfg(feature = "python")]
pub(super) mod floats;
