//! Operations on neighbourhoods along an axis: convolution, differences, interpolation, padding,
//! windows.

pub mod convolve;
pub mod differences;
pub mod interp;
pub mod pad;
pub(crate) mod pad_modes;
pub mod window;
