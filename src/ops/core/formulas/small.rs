//! Fast path for element-wise operations on few contiguous floats of one dtype and shape.
//!
//! The result is assembled in the caller's slot, because moving a tensor costs as much as the bookkeeping of a small
//! operation. Invariant: computes and records exactly what the general path does.

use crate::array::{Storage, observer};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Mode;
use crate::kernels::elementwise::{Flat, FlatOperand, SMALL_CALL_ELEMENTS};
use crate::ops::core::elementwise::{Elementwise, OperandRef};
use crate::tensor::{Edge, Tensor};

impl Elementwise {
    /// Computes and records into `result` if the fast path applies; else `result` stays empty and the caller uses `binary` or
    /// `unary`. `like` is one of the operands, which have no parameters; `mode` is the thread's.
    ///
    /// # Errors
    /// `Memory`, and what `graph::record` refuses; then `result` is empty.
    #[inline(always)]
    pub(crate) fn run_small<const N: usize>(
        &'static self,
        like: &Tensor,
        operands: [OperandRef<'_>; N],
        mode: Mode,
        result: &mut Option<Tensor>,
    ) -> Result<()> {
        let (n, dtype, layout) = (like.size(), like.dtype(), like.layout());
        let suits = matches!(dtype, DType::F64 | DType::F32) && layout.is_inline_contiguous();
        if !suits
            || n > SMALL_CALL_ELEMENTS
            || self.operand_check.is_some()
            || observer::is_active()
        {
            return Ok(());
        }
        let Some(a) = small_operand(operands.first(), like, n) else { return Ok(()) };
        let Some(b) = small_operand(operands.get(1), like, n) else { return Ok(()) };
        let Some(float_loop) = self.forward.flat_loop(dtype) else { return Ok(()) };
        let storage = Storage::alloc(n * float_loop.result.size())?;
        let Some(target) = Flat::run(&storage, (0, n), float_loop.result) else { return Ok(()) };
        if !float_loop.apply([a, b, None], target, &[]) {
            return Ok(());
        }
        let layout = layout.compacted();
        let out = result.insert(Tensor::assemble(storage, layout, float_loop.result, None));
        if mode.plain_results() && is_plain(operands.first()) && is_plain(operands.get(1)) {
            return Ok(());
        }
        let edge = self.record_or_note(&operands, out, &[], mode);
        attach(edge, result)
    }
}

/// An operand as the loop reads it, if there is one; None if it is no scalar and has not dtype and dims of `like` in
/// contiguous memory.
#[inline(always)]
fn small_operand<'a>(
    operand: Option<&OperandRef<'a>>,
    like: &Tensor,
    n: usize,
) -> Option<Option<FlatOperand<'a>>> {
    let x = match operand {
        Some(OperandRef::Tensor(x)) => *x,
        Some(scalar) => return scalar.flat(n).map(Some),
        None => return Some(None),
    };
    let (layout, dtype) = (x.layout(), x.dtype());
    if dtype != like.dtype() || !layout.is_contiguous() || !layout.same_dims(like.layout()) {
        return None;
    }
    let flat = Flat::run(x.storage(), (layout.offset(), n), dtype)?;
    Some(Some(FlatOperand::Elements(flat)))
}

#[inline(always)]
fn is_plain(operand: Option<&OperandRef<'_>>) -> bool {
    match operand {
        Some(OperandRef::Tensor(x)) => x.is_plain(),
        _ => true,
    }
}

/// Attaches the edge to the tensor in `result`; on an error, empties `result`.
#[inline(always)]
fn attach(edge: Result<Option<Edge>>, result: &mut Option<Tensor>) -> Result<()> {
    match (edge, result.as_mut()) {
        (Ok(Some(edge)), Some(out)) => out.record_as(edge),
        (Ok(_), _) => {}
        (Err(error), _) => {
            *result = None;
            return Err(error);
        }
    }
    Ok(())
}
