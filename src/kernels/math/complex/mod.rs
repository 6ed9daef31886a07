//! Functions of one complex number.
//!
//! Owns: the list of them. A `CAREFUL` call takes any argument; the other one only arguments of which every part is
//! zero or between 2^-200 and 2^200 (and below 65536 where angles are taken), and does not look for others.
//! Invariant: for those arguments both calls have the same bits. Branch cuts and special values are those of C99 and
//! NumPy: a cut is continuous from the side that the sign of a zero names.

mod arithmetic;
mod exponential;
mod inverse;
mod logarithm;
mod power;

pub use arithmetic::{is_far, quotient, recip};
use arithmetic::{is_special, turned, turned_back};
pub use exponential::{cos, cosh, exp, exp2, expm1, sigmoid, sin, sinh, tan, tanh};
pub use inverse::{acos, acosh, asin, asinh, atan, atanh};
pub use logarithm::{ln, log1p, log2, log10, sqrt};
pub use power::{powf, sinc};
