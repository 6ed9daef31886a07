//! Results that are written over an operand which nobody will see again.
//!
//! Owns: which operands have memory for the result, and the call that uses it. Never decides that nobody sees an operand: the
//! caller knows. Invariant: nothing is recorded, saved or captured, and no other handle has the memory.

use crate::array::capture;
use crate::error::Result;
use crate::graph::{GRAD, Mode};
use crate::kernels::elementwise::apply;
use crate::ops::core::elementwise::Elementwise;
use crate::ops::core::operand::Slot;
use crate::tensor::Tensor;

/// Whether the result of `op` may lie where `over` does, which is one of the operands.
pub(crate) fn fits(op: &Elementwise, a: &Tensor, b: &Tensor, over: &Tensor) -> bool {
    let mode = Mode::current();
    let recorded = || mode.has(GRAD) && (a.grad_edge().is_some() || b.grad_edge().is_some());
    let alike = a.dtype() == b.dtype() && a.layout().same_dims(b.layout());
    alike
        && op.takes(a.dtype())
        && op.forward.result(a.dtype()) == a.dtype()
        && over.is_data()
        && over.is_overwritable()
        && Mode(mode.0 & !GRAD) == Mode(0)
        && !recorded()
        && !capture::active()
}

/// The result of `op`, written over `over`, which `fits`.
pub(crate) fn binary_over(
    op: &'static Elementwise,
    a: &Tensor,
    b: &Tensor,
    over: &Tensor,
) -> Result<Tensor> {
    let slots = [Slot::Tensor(a), Slot::Tensor(b)];
    if let Some(guard) = op.guard {
        guard(&slots, a.dtype(), &[])?;
    }
    let mut out =
        Tensor::assemble(over.storage().clone(), over.layout().clone(), over.dtype(), None);
    apply(op.forward, &slots.map(Slot::input), out.shared_view_mut(), &[]);
    op.relate(&slots, &mut out, &[], Mode::current())?;
    Ok(out)
}
