//! Matrix factorisations and what follows from them, for stacks of matrices of real and complex numbers.
mod factor;
mod field;
mod functions;
mod lu;
mod reflections;
mod schur;
mod singular;
mod solve;
mod stack;
mod triangle;

pub use factor::{cholesky, cofactor, complete, eigh, qr, svd};
pub use functions::{Function, function};
pub use schur::{eig, schur};
pub use solve::{det, inverse, slogdet, solve, solve_triangular};
