//! Fast path for element-wise operations on few contiguous floats of one dtype and shape.
//!
//! The result is assembled in the caller's slot, because moving a tensor costs as much as the bookkeeping of a small
//! operation. Invariant: computes and records exactly what the general path does.

use crate::array::{Storage, capture};
use crate::error::Result;
use crate::graph::Mode;
use crate::kernels::elementwise::{FloatOperand, FloatRun, In, ScalarOperand, apply_floats};
use crate::ops::core::elementwise::{Elementwise, OperandRef};
use crate::ops::core::op_decl::Scalar;
use crate::tensor::{Edge, Tensor};

/// An operand of the fast path: a tensor, a scalar, or nothing for the second operand of a unary operation.
pub(crate) trait SmallOperand<'a>: Copy {
    /// The operand as a kernel input.
    type Input: FloatOperand;

    /// The kernel input for `n` elements, if the operand has the shape and dtype of `like` and is contiguous.
    fn kernel_input(self, like: &Tensor, n: usize) -> Option<Self::Input>;

    /// The tensor, if it is one.
    fn tensor(self) -> Option<&'a Tensor>;

    /// The operand for the general recording path.
    fn operand(self) -> Option<OperandRef<'a>>;
}

impl<'a> SmallOperand<'a> for &'a Tensor {
    type Input = FloatRun<'a>;

    #[inline(always)]
    fn kernel_input(self, like: &Tensor, n: usize) -> Option<FloatRun<'a>> {
        let (layout, dtype) = (self.layout(), self.dtype());
        let fits =
            dtype == like.dtype() && layout.is_contiguous() && layout.same_dims(like.layout());
        if fits { FloatRun::of(self.storage(), (layout.offset(), n), dtype) } else { None }
    }

    #[inline(always)]
    fn tensor(self) -> Option<&'a Tensor> {
        Some(self)
    }

    #[inline(always)]
    fn operand(self) -> Option<OperandRef<'a>> {
        Some(OperandRef::Tensor(self))
    }
}

impl<'a> SmallOperand<'a> for Scalar {
    type Input = ScalarOperand;

    #[inline(always)]
    fn kernel_input(self, _: &Tensor, _: usize) -> Option<ScalarOperand> {
        match self {
            Scalar::Int(i) => Some(ScalarOperand(In::Int(i))),
            Scalar::Float(f) => Some(ScalarOperand(In::Float(f))),
            _ => None,
        }
    }

    #[inline(always)]
    fn tensor(self) -> Option<&'a Tensor> {
        None
    }

    #[inline(always)]
    fn operand(self) -> Option<OperandRef<'a>> {
        Some(OperandRef::Scalar(self))
    }
}

impl<'a> SmallOperand<'a> for () {
    type Input = ();

    #[inline(always)]
    fn kernel_input(self, _: &Tensor, _: usize) -> Option<()> {
        Some(())
    }

    #[inline(always)]
    fn tensor(self) -> Option<&'a Tensor> {
        None
    }

    #[inline(always)]
    fn operand(self) -> Option<OperandRef<'a>> {
        None
    }
}

impl Elementwise {
    /// Computes and records into `result` if the fast path applies; else `result` stays empty and the caller uses `binary` or
    /// `unary`. `like` is one of the operands; `mode` is the thread's.
    ///
    /// # Errors
    /// `Memory`, and what `graph::record` refuses; then `result` is empty.
    #[inline(always)]
    pub(crate) fn run_small<'a, A: SmallOperand<'a>, B: SmallOperand<'a>>(
        &'static self,
        like: &Tensor,
        (a, b): (A, B),
        params: &[f64],
        mode: Mode,
        result: &mut Option<Tensor>,
    ) -> Result<()> {
        let (n, dtype) = (like.size(), like.dtype());
        if self.guard.is_some() || capture::active() || !like.layout().is_inline_contiguous() {
            return Ok(());
        }
        let (Some(x), Some(y)) = (a.kernel_input(like, n), b.kernel_input(like, n)) else {
            return Ok(());
        };
        let Some(float_loop) = self.forward.float_loop(dtype) else { return Ok(()) };
        let storage = Storage::alloc(n * float_loop.result.size())?;
        apply_floats(float_loop, (x, y), (&storage, n), params);
        let layout = like.layout().compacted();
        let out = result.insert(Tensor::assemble(storage, layout, float_loop.result, None));
        let plain = |tensor: Option<&Tensor>| tensor.is_none_or(Tensor::is_plain);
        if mode.plain_results() && plain(a.tensor()) && plain(b.tensor()) {
            return Ok(());
        }
        let edge = match (a.operand(), b.operand()) {
            (Some(a), Some(b)) => self.record_or_note(&[a, b], out, params, mode),
            (Some(one), None) | (None, Some(one)) => self.record_or_note(&[one], out, params, mode),
            (None, None) => Ok(None),
        };
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
