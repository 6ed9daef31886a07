//! Discrete Fourier transforms and their kin: what users find under `fft`.
mod arguments;
pub mod fourier;
pub mod hermitian;
mod lines;
pub mod real;
pub mod shift;
pub mod trigonometric;
