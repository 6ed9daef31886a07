//! Discrete Fourier, cosine and sine transforms with NumPy's and SciPy's signatures: the functions
//! of the `fft` namespace.
//!
//! Invariant: every transform is linear, so its derivative is its adjoint, which is again a
//! transform.

pub mod dct_dst;
mod fft_arguments;
pub mod fourier;
pub mod hermitian;
pub mod real;
pub mod shift;
mod transforms;
