//! Neighbourhoods along an axis: convolution, differences, interpolation, padding, windows.
//!
//! Owns: operations on sampled sequences and their borders. Never knows layers of networks, which have kernels of their own.
//! Invariant: a border is described once and read forward and backward.

pub mod numerical;
pub mod pad;
pub(crate) mod pad_modes;
pub mod window;
