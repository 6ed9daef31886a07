//! Kernels: the loops over element buffers (element-wise, reductions, matrix products, transforms, sorting,
//! indexing, copies and casts), their choice of instruction set, and their split over threads.
//!
//! Invariant: a result depends on the operands only, not on the thread count.
pub mod convolution;
mod copying;
mod dtype_dispatch;
pub mod elementwise;
#[cfg(feature = "fft")]
pub mod fft;
pub mod gemm;
pub mod grid_points;
pub mod index;
pub mod isa;
pub mod launch;
#[cfg(feature = "linalg")]
pub mod linalg;
pub mod math;
mod multiversion;
pub mod normalize;
pub mod number;
pub mod optimizer;
pub mod pooling;
pub mod real_imag;
pub mod recurrent;
pub mod reduce;
pub mod scan;
mod simd;
pub mod softmax;
pub mod sort;
mod tracer;
pub mod view;
pub mod weighted_gather;
mod workspace;

pub use cast::cast;
pub use copy::copy;
pub(crate) use copying::nontemporal;
use copying::transpose;
pub use copying::{cast, copy, fill, float_to_int};
pub use elementwise::select;
pub use fill::{fill, fill_complex, fill_int, zero};
pub use gemm::{has_row_dots, matmul, matmul_batch, matmul_pair};
pub use reduce::{Reduction, arg_reduce, reduce};
pub use view::{View, ViewMut};
pub mod fused;
