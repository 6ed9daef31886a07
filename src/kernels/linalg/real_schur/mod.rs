//! Eigenvalues and eigenvectors of real matrices in real arithmetic.
//!
//! Owns: the reduction to Hessenberg's form, which complex matrices share; the double shift iteration; the vectors.
//! Never decides lengths and phases of vectors. Invariant: complex eigenvalues come in exact conjugate pairs.

mod blocks;
mod bulge_chase;
mod eigenvectors;
mod hessenberg;
mod iterate;

pub(super) use eigenvectors::eigen;
pub(super) use hessenberg::reduce;
pub(super) use iterate::Form;
