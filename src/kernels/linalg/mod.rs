//! Matrix factorisations and what follows from them, for stacks of matrices of real and complex numbers.
//!
//! Owns: the algorithms, and stacks of matrices. Never decides what a failure means to a user.
//! Invariant: an item of a stack that fails is named by its index; items are independent, so any split gives one result.

// Elements are named by row and column.
#[allow(clippy::needless_range_loop)]
mod abreast;
mod cofactor;
mod diagonals;
#[cfg(test)]
mod draws;
mod factor;
mod field;
mod functions;
mod hermitian;
mod lu;
mod packed;
mod reflections;
mod schur;
mod singular;
mod solve;
mod spectrum;
mod stack;
// As above.
#[allow(clippy::needless_range_loop)]
mod triangle;
mod vectors;

pub use cofactor::cofactor;
pub use factor::{cholesky, complete, eigh, qr, qr_upper, singular_values, svd};
pub use functions::{Function, function};
pub use packed::{lu, lu_solve, order, solve_and_keep};
pub use schur::{eig, eigvals, schur};
pub use solve::{det, inverse, slogdet, solve, solve_triangular};
