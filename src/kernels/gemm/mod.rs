//! Matrix products: floats and complex numbers by tiles of our own, large ones of floats through the gemm crates, products
//! with vectors by loops of our own, integers by a plain loop, batches, splitting.
//!
//! Owns: which product goes which way. Never copies an operand to transpose it.
//! Invariant: no element depends on the block that it lies in.

mod batch;
mod complex_blocked;
mod complex_tile;
mod float;
mod float_blocked;
mod float_pack;
mod float_tile;
mod matrix_vector;
mod naive;
mod narrow;
mod product;
mod row_dots;
mod small_k;
mod weighted_row_sum;

pub(super) use complex_blocked::multiply as multiply_complex;
pub(super) use float::{FloatGemm, multiply, turn};
pub(super) use product::{Mat, Size};

pub use batch::{matmul_batch, matmul_both, multiplies_rows};
pub use product::matmul;
