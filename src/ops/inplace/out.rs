//! `out=` fast path: computes an element-wise result directly in its destination.
//!
//! Invariant: if it returns false, nothing was written.

use crate::error::Result;
use crate::ops::core::elementwise::OperandRef;
use crate::ops::core::op_decl::{Arg, OpDecl};
use crate::ops::inplace::elementwise_call::elementwise_call;
use crate::ops::inplace::methods::{admit_write, compute_in_place, recorded};
use crate::tensor::Tensor;

/// Computes `target = operation(…)` in the memory of `target`, if the operation is a loop over floats and nothing has a
/// history; returns whether it applied.
///
/// # Errors
/// If the target must not be changed.
pub(crate) fn compute_into(decl: &OpDecl, args: &[Arg], target: &Tensor) -> Result<bool> {
    let Some((op, operands, params)) = elementwise_call(decl, args) else {
        return Ok(false);
    };
    let tensors = || {
        operands.iter().filter_map(|operand| match operand {
            OperandRef::Tensor(t) => Some(*t),
            OperandRef::Scalar(_) => None,
        })
    };
    let plain = target.dtype().is_float() && !recorded(target, false);
    if !plain
        || tensors().any(|t| t.requires_grad() || t.is_cut())
        || !tensors().any(|t| t.shape() == target.shape())
    {
        return Ok(false);
    }
    admit_write(decl.name, target, false)?;
    compute_in_place(op, decl.name, target, &operands, &params)
}
