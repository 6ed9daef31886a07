//! Matrix products.
//!
//! Floats and complex numbers use our own tiles, large float products the gemm crates, products
//! with vectors our own gemv loops, integers plain loops. Invariant: no element depends on the
//! block that computes it.

mod batch;
mod blocked;
mod complex_tile;
mod float;
mod float_tile;
mod kernel_selection;
mod library_kernel;
mod matrix;
mod matrix_vector;
mod naive;
mod narrow;
mod packing;
mod product;
mod row_dots;
mod small_k;
mod tile;
mod weighted_row_sum;

pub(super) use blocked::multiply_complex;
pub(super) use float::{FloatGemm, multiply};
pub(super) use matrix::{Mat, Size};
pub(super) use packing::pack_transposed;

pub use batch::{has_row_dots, matmul_batch, matmul_pair};
pub use product::matmul;
