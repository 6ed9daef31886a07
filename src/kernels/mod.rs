//! Loops over buffers: vectorised element-wise texts, reductions, matrix products, copies and casts.
//!
//! Owns: everything that reads or writes elements, the choice of instruction set, and splitting.
//! Never knows a tensor, a graph or an operation's derivative.
//! Invariant: a result depends on the operands only, not on the thread count.
mod choice;
pub mod convolution;
mod copying;
pub mod elementwise;
#[cfg(feature = "fft")]
pub mod fft;
pub mod gemm;
pub mod host;
pub mod index;
pub mod isa;
mod lanes;
pub mod lattice;
pub mod launch;
mod leveled;
#[cfg(feature = "linalg")]
pub mod linalg;
pub mod math;
pub mod normalize;
pub mod number;
pub mod order;
pub mod parts;
pub mod pooling;
pub mod recurrent;
pub mod reduce;
mod room;
pub mod scan;
pub mod softmax;
pub mod taps;
pub mod update;
pub mod view;

pub use cast::cast;
pub use copy::copy;
pub(crate) use copying::stream;
use copying::turn;
pub use copying::{cast, copy, fill, truncate};
pub use elementwise::select;
pub use fill::{fill, fill_complex, fill_int, zero};
pub use gemm::{matmul, matmul_batch, matmul_both, multiplies_rows};
pub use reduce::{Reduction, arg_reduce, reduce};
pub use view::{View, ViewMut};
