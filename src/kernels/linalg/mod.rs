//! Matrix factorisations and what follows from them, for stacks of matrices of either float type.
mod factor;
mod lu;
mod product;
mod singular;
mod solve;
mod stack;
mod triangle;

pub use factor::{cholesky, cofactor, complete, eigh, qr, svd};
pub use solve::{det, inverse, slogdet, solve, solve_triangular};
