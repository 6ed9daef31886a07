//! Functions of one complex number.
//!
//! `CAREFUL` functions take any argument; the others only arguments whose parts are zero or between 2^-200
//! and 2^200 (and below 65536 as angles), without checking. Invariant: for those arguments both have the same
//! bits. Branch cuts and special values are those of C99 and NumPy: a cut is continuous from the side
//! selected by the sign of a zero.

mod arithmetic;
mod exponential;
mod inverse;
mod logarithm;
mod powers;

pub use arithmetic::{is_extreme, quotient, recip};
use arithmetic::{is_special, mul_i, mul_neg_i};
pub use exponential::{cos, cosh, exp, exp2, expm1, sigmoid, sin, sinh, tan, tanh};
pub use inverse::{acos, acosh, asin, asinh, atan, atanh};
pub use logarithm::{ln, log1p, log2, log10, sqrt};
pub use powers::{powf, sinc};
