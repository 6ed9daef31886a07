//! Eigenvalues and eigenvectors of real matrices in real arithmetic, by the real Schur form.
//!
//! Complex matrices share the Hessenberg reduction. Invariant: complex eigenvalues come in exact
//! conjugate pairs.

mod blocks;
mod bulge_chase;
mod eigenvectors;
mod hessenberg;
mod iterate;

pub(super) use eigenvectors::eigen;
pub(super) use hessenberg::reduce;
pub(super) use iterate::RealSchur;
