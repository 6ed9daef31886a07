//! Matrix products: floats and complex numbers through the gemm crates, integers by a plain loop, batches, splitting.
mod batch;
mod complex;
mod float;
mod plain;
mod product;

pub(super) use complex::multiply as multiply_complex;
pub(super) use float::{FloatGemm, multiply};
pub(super) use product::{Mat, Size};

pub use batch::{matmul_batch, matmul_both};
pub use product::matmul;
