//! Sine, cosine and tangent, their inverses, and `sinc`.
//!
//! Owns: the reduction of angles and the polynomials behind it. Never loops over elements.
//! Invariant: the error stays within the bounds of `docs/accuracy.md` for angles of every size.

pub(super) mod inverse;
pub(super) mod sinc;
pub(super) mod trig;
pub(super) mod trig32;
