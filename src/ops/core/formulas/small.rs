//! Fast path for element-wise operations on few contiguous floats of one dtype and shape.
//!
//! The result is assembled in the caller's slot, because moving a tensor costs as much as the bookkeeping of a small
//! operation. Invariant: computes and records exactly what the general path does.

use crate::array::{Storage, observer};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Mode;
use crate::kernels::elementwise::Flat;
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
        let alike = |x: &Tensor| x.layout().same_dims(layout);
        let tensors = || operands.iter().filter_map(|operand| operand.tensor());
        let suits = matches!(dtype, DType::F64 | DType::F32) && layout.is_inline_contiguous();
        if !suits || self.guard.is_some() || observer::is_active() || !tensors().all(alike) {
            return Ok(());
        }
        let out_dtype = self.forward.result(dtype);
        let storage = Storage::alloc(n * out_dtype.size())?;
        let target = Flat::run(&storage, (0, n), out_dtype);
        if !target.is_some_and(|target| self.run_flat::<N>(&operands, dtype, target, &[])) {
            return Ok(());
        }
        let out = result.insert(Tensor::assemble(storage, layout.compacted(), out_dtype, None));
        if mode.plain_results() && tensors().all(Tensor::is_plain) {
            return Ok(());
        }
        let edge = self.record_or_note(&operands, out, &[], mode);
        attach(edge, result)
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
