//! Discrete Fourier transforms and their kin: what users find under `fft`.
//!
//! Owns: NumPy's and SciPy's signatures, norms, and derivatives, which are transforms again. Never transforms: kernels do.
//! Invariant: every transform is linear, so its derivative is its adjoint.

mod arguments;
pub mod dct_dst;
pub mod fourier;
pub mod hermitian;
pub mod real;
pub mod shift;
mod transforms;
