//! Matrix products: floats and complex numbers by tiles of our own, large ones of floats through the gemm crates, products
//! with vectors by loops of our own, integers by a plain loop, batches, splitting.
//!
//! Owns: which product goes which way. Never copies an operand to transpose it.
//! Invariant: no element depends on the block that it lies in.

mod along;
mod batch;
mod complex;
mod direct;
mod down;
mod float;
mod plain;
mod product;
mod real;
mod real_pack;
mod real_tile;
mod short;
mod tile;
mod vector;

pub(super) use complex::multiply as multiply_complex;
pub(super) use float::{FloatGemm, multiply, turn};
pub(super) use product::{Mat, Size};

pub use batch::{matmul_batch, matmul_both, multiplies_rows};
pub use product::matmul;
