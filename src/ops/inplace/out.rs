//! Results that are computed where they are to go: `out=`.
//!
//! Owns: when that is the same as computing them first. Never decides what may be changed: `inplace` does.
//! Invariant: nothing was written where this says so.

use crate::error::Result;
use crate::ops::core::elementwise::Slot;
use crate::ops::core::op_decl::{Arg, OpDecl};
use crate::ops::inplace::loop_choice::loop_of;
use crate::ops::inplace::methods::{admit_write, over, recorded};
use crate::tensor::Tensor;

/// `target = operation(…)` straight into the memory of `target`, where it is a loop over floats that no history concerns;
/// says whether it was done.
///
/// # Errors
/// What forbids a change of the target.
pub(crate) fn computed_into(decl: &OpDecl, args: &[Arg], target: &Tensor) -> Result<bool> {
    let Some((op, operands, params)) = loop_of(decl, args) else {
        return Ok(false);
    };
    let tensors = || {
        operands.iter().filter_map(|slot| match slot {
            Slot::Tensor(t) => Some(*t),
            Slot::Scalar(_) => None,
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
    over(op, decl.name, target, &operands, &params)
}
