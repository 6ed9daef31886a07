//! Matrix products.
//!
//! Floats and complex numbers use our own tiles, large float products the gemm crates, products
//! with vectors our own gemv loops, integers plain loops. Invariant: no element depends on the
//! block that computes it.

mod batch;
mod complex_blocked;
mod complex_tile;
mod float;
mod float_blocked;
mod float_pack;
mod float_tile;
mod library_kernel;
mod matrix_vector;
mod naive;
mod narrow;
mod product;
mod row_dots;
mod small_k;
mod weighted_row_sum;

pub(super) use complex_blocked::multiply as multiply_complex;
pub(super) use float::{FloatGemm, multiply, pack_transposed};
pub(super) use product::{Mat, Size};

pub use batch::{has_row_dots, matmul_batch, matmul_pair};
pub use product::matmul;
