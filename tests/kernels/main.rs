//! Kernels against plain loops, over shapes, strides, dtypes and instruction sets.
//!
//! Owns: one program of all these tests, since each of them that is linked alone holds every kernel.
//! Never sees a tensor. Invariant: a test holds at any number of threads, which others may change meanwhile.

mod copy;
#[path = "../support/double_double.rs"]
mod double_double;
mod dtypes;
mod elementwise;
mod gemm;
mod index;
mod math;
mod reduce;
mod softmax;
#[path = "../support/strided.rs"]
mod strided;
