//! Define-by-run reverse-mode automatic differentiation of any order, with NumPy's semantics.
//!
//! Tensors record the operations applied to them in an arena-allocated graph; `backward` and `grad`
//! walk it in reverse, in parallel where that pays, with the same bits at any thread count.
//!
//! ```
//! use ferrograd::{Tensor, grad};
//! let x = Tensor::from(vec![0.5, 1.0, 1.5]).with_grad();
//! let y = x.sin()?.sum_all()?;
//! let dx = grad(&[y], &[x.clone()])?;
//! assert!((dx[0].to_vec::<f64>()?[1] - 1.0f64.cos()).abs() < 1e-15);
//! # Ok::<(), Box<ferrograd::Error>>(())
//! ```
#![cfg_attr(doctest, doc = include_str!("../docs/rust.md"))]

pub mod array;
#[cfg(feature = "python")]
mod bindings;
pub mod compile;
pub mod dtype;
pub mod error;
pub mod graph;
pub mod kernels;
pub mod ops;
pub mod tensor;
pub mod threads;

pub use crate::compile::bound_program::BoundProgram;
pub use crate::compile::program::Program;
pub use crate::ops::autograd::backward as autograd;
pub use crate::ops::autograd::backward::{gradients as grad, no_grad};
pub use crate::ops::autograd::checkpoint::checkpoint;
pub use crate::ops::autograd::forward_mode::jvp;
pub use crate::ops::core::op_decl::{Axes, IndexItem, Ints, Operand, Scalar};
pub use crate::ops::custom_op::{Function, FunctionContext};
pub use dtype::{DType, Element};
pub use error::{Error, Result};
pub use tensor::Tensor;
