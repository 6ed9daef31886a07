//! Special functions: error functions and the gamma family.
//!
//! Owns: their approximations and the ranges that each holds on. Never loops over elements.
//! Invariant: an argument outside the domain gives NaN and a pole its limit, as SciPy has them.

pub(super) mod erf;
pub(super) mod erfinv;
pub(super) mod gamma;
pub(super) mod polygamma;
