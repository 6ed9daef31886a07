//! Special functions: error functions and the gamma family.
//!
//! Invariant: an argument outside the domain gives NaN, and a pole its limit, as in SciPy.

pub(super) mod erf;
pub(super) mod erfinv;
pub(super) mod gamma;
pub(super) mod polygamma;
