//! Operands that nobody will see again, as `b * c` in `a - b * c`: the result may be written over them.
//!
//! Owns: the test whether an operand is such a temporary. Never computes.
//! Invariant: the interpreter's own loop called the operator, and its stack has the only reference. An extension module may
//! hold the only reference as well and read the operand again, so `caller` says who called.

use pyo3::prelude::*;

use crate::bindings::call::called_by_interpreter::is_interpreter;
use crate::bindings::object::{PyTensor, free_list};
use crate::ops::core::elementwise::Elementwise;
use crate::ops::core::reuse_temporary::can_reuse;
use crate::tensor::Tensor;

/// Bytes from which on a new result costs more than the look at the stack: it comes from, and goes to, a farther cache.
const BYTES: usize = 256 << 10;

/// The operand over which the result may be written, if there is one.
#[inline]
pub(super) fn spare<'a>(
    op: &Elementwise,
    a: &'a Bound<'_, PyTensor>,
    b: &'a Bound<'_, PyTensor>,
) -> Option<&'a Tensor> {
    let (x, y) = (&a.get().tensor, &b.get().tensor);
    if x.size().saturating_mul(x.dtype().size()) < BYTES {
        return None;
    }
    let ours = |operand: &&'a Bound<'_, PyTensor>| {
        free_list::is_alone(operand) && can_reuse(op, x, y, &operand.get().tensor)
    };
    let found = [b, a].into_iter().find(ours)?;
    is_interpreter(a.py()).then(|| &found.get().tensor)
}
