//! Discrete Fourier, cosine and sine transforms of the lines of a strided array.
//!
//! Norms are passed as factors. Invariant: how a line is transformed follows from the shapes, not
//! from the threads.

mod axis_pass;
mod batched;
mod columns;
mod complex_lines;
mod complex_plan;
mod dct_dst;
mod dct_reorder;
mod float;
mod mirrored;
mod plan_cache;
mod real_lines;
mod real_plan;
mod twiddles;

pub use axis_pass::working_bytes;
pub use complex_lines::complex_to_complex;
pub use dct_dst::{DctType, EdgeWeights, trigonometric};
pub use real_lines::{complex_to_real, real_to_complex};
