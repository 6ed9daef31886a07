//! Eigenvalues and eigenvectors of real matrices in real arithmetic.
//!
//! Owns: the reduction to Hessenberg's form, which complex matrices share; the double shift iteration; the vectors.
//! Never decides lengths and phases of vectors. Invariant: complex eigenvalues come in exact conjugate pairs.

mod blocks;
mod chase;
mod form;
mod hessenberg;
mod vectors;

pub(super) use form::Form;
pub(super) use hessenberg::reduce;
pub(super) use vectors::eigen;
