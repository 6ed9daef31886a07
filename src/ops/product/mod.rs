//! Products: matmul, einsum, dot and cross products, tensordot, and the functors.
//!
//! Invariant: operands reach the product kernel as at most one batch and two matrices.

pub(crate) mod contract;
pub mod einsum;
pub(crate) mod einsum_parse;
pub(crate) mod fibers;
pub mod functor_decls;
pub mod functor_ops;
pub mod matmul;
pub mod products;
