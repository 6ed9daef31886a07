//! Discrete Fourier, cosine and sine transforms of the lines of a strided array.
//!
//! Norms are passed as factors. Invariant: how a line is transformed follows from the shapes, not
//! from the threads.

mod along_axis;
mod batched;
mod columns;
mod complex;
mod dct_dst;
mod dct_reorder;
mod factorization;
mod float;
mod mirrored;
mod plan_cache;
mod real;
mod real_plan;
mod twiddles;

pub use along_axis::working_bytes;
pub use complex::complex_to_complex;
pub use dct_dst::{DctType, EdgeWeights, trigonometric};
pub use real::{complex_to_real, real_to_complex};
