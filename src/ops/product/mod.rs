//! Sums of products: matrices, tensors, functors.
//!
//! Owns: matmul, einsum, dot and cross products, and the functors. Never factorises a matrix.
//! Invariant: operands reach the product kernel as at most one batch and two matrices.

pub(crate) mod contract;
pub mod einsum;
pub(crate) mod einsum_parse;
pub(crate) mod fibers;
pub mod functor_decls;
pub mod functor_ops;
pub mod matmul;
pub mod products;
