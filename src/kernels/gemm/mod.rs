//! Matrix products: floats through the gemm crate, integers by a plain loop, batches, splitting.
mod batch;
mod plain;
mod product;

pub use batch::{matmul_batch, matmul_both};
pub use product::matmul;
