//! Discrete Fourier, cosine and sine transforms of the lines of a strided array.
//!
//! Owns: the transforms, their plans and the strips that lines are gathered in. Never knows norms by name: they are factors.
//! Invariant: how a line is transformed follows from the shapes, not from the threads.

mod columns;
mod complex;
mod half;
mod lanes;
mod mirror;
mod number;
mod pairs;
mod planner;
mod plans;
mod reorder;
mod strips;
mod tables;
mod trigonometric;

pub use complex::complex_to_complex;
pub use half::{complex_to_real, real_to_complex};
pub use strips::working_bytes;
pub use trigonometric::{Edges, Family, trigonometric};
