//! Temporary elision (NumPy's term): writes a result into the buffer of an operand that is about to be dropped.
//!
//! Invariant: nothing is recorded, saved or traced, and no other handle has the buffer; the caller knows that the operand
//! is a temporary.

use crate::array::capture;
use crate::error::Result;
use crate::graph::{GRAD, Mode};
use crate::kernels::elementwise::apply;
use crate::ops::core::elementwise::{Elementwise, OperandRef};
use crate::tensor::Tensor;

/// Whether the result of `op` may be written to the buffer of `over`, one of its operands.
pub(crate) fn can_reuse(op: &Elementwise, a: &Tensor, b: &Tensor, over: &Tensor) -> bool {
    let mode = Mode::current();
    let recorded = || mode.has(GRAD) && (a.grad_edge().is_some() || b.grad_edge().is_some());
    let alike = a.dtype() == b.dtype() && a.layout().same_dims(b.layout());
    alike
        && op.takes(a.dtype())
        && op.forward.result(a.dtype()) == a.dtype()
        && over.is_data()
        && over.lends_memory()
        && Mode(mode.0 & !GRAD) == Mode(0)
        && !recorded()
        && !capture::active()
}

/// Computes `op` into the buffer of `over`, which [`can_reuse`] has accepted.
pub(crate) fn binary_into(
    op: &'static Elementwise,
    a: &Tensor,
    b: &Tensor,
    over: &Tensor,
) -> Result<Tensor> {
    let operands = [OperandRef::Tensor(a), OperandRef::Tensor(b)];
    if let Some(guard) = op.guard {
        guard(&operands, a.dtype(), &[])?;
    }
    let mut out =
        Tensor::assemble(over.storage().clone(), over.layout().clone(), over.dtype(), None);
    apply(op.forward, &operands.map(OperandRef::input), out.shared_view_mut(), &[]);
    op.record_or_note(&operands, &mut out, &[], Mode::current())?;
    Ok(out)
}
