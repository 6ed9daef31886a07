//! Sine, cosine and tangent, their inverses, and `sinc`.
//!
//! Invariant: the error is within the bounds of `docs/accuracy.md` for angles of every size.

pub(super) mod inverse;
pub(super) mod sinc;
pub(super) mod trig32;
pub(super) mod trig64;
