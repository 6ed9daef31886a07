//! Fast path for element-wise operations on few contiguous floats of one dtype and shape.
//!
//! The result is assembled in the caller's place, because moving a tensor costs as much as the bookkeeping of a small
//! operation. Invariant: computes and records exactly what the general path does.

use crate::array::{Storage, capture};
use crate::error::Result;
use crate::graph::Mode;
use crate::kernels::elementwise::{Few, In, Number, Run, apply_few};
use crate::ops::core::elementwise::{Elementwise, Slot};
use crate::ops::core::op_decl::Scalar;
use crate::tensor::{Edge, Tensor};

/// An operand of the fast path: a tensor, a scalar, or nothing for the second operand of a unary operation.
pub(crate) trait Part<'a>: Copy {
    /// The operand as a kernel input.
    type Few: Few;

    /// The kernel input for `n` elements, if the operand has the shape and dtype of `like` and is contiguous.
    fn few(self, like: &Tensor, n: usize) -> Option<Self::Few>;

    /// The tensor, if it is one.
    fn tensor(self) -> Option<&'a Tensor>;

    /// The operand for the general recording path.
    fn slot(self) -> Option<Slot<'a>>;
}

impl<'a> Part<'a> for &'a Tensor {
    type Few = Run<'a>;

    #[inline(always)]
    fn few(self, like: &Tensor, n: usize) -> Option<Run<'a>> {
        let (layout, dtype) = (self.layout(), self.dtype());
        let fits =
            dtype == like.dtype() && layout.is_contiguous() && layout.same_dims(like.layout());
        if fits { Run::of(self.storage(), (layout.offset(), n), dtype) } else { None }
    }

    #[inline(always)]
    fn tensor(self) -> Option<&'a Tensor> {
        Some(self)
    }

    #[inline(always)]
    fn slot(self) -> Option<Slot<'a>> {
        Some(Slot::Tensor(self))
    }
}

impl<'a> Part<'a> for Scalar {
    type Few = Number;

    #[inline(always)]
    fn few(self, _: &Tensor, _: usize) -> Option<Number> {
        match self {
            Scalar::Int(i) => Some(Number(In::Int(i))),
            Scalar::Float(f) => Some(Number(In::Float(f))),
            _ => None,
        }
    }

    #[inline(always)]
    fn tensor(self) -> Option<&'a Tensor> {
        None
    }

    #[inline(always)]
    fn slot(self) -> Option<Slot<'a>> {
        Some(Slot::Scalar(self))
    }
}

impl<'a> Part<'a> for () {
    type Few = ();

    #[inline(always)]
    fn few(self, _: &Tensor, _: usize) -> Option<()> {
        Some(())
    }

    #[inline(always)]
    fn tensor(self) -> Option<&'a Tensor> {
        None
    }

    #[inline(always)]
    fn slot(self) -> Option<Slot<'a>> {
        None
    }
}

impl Elementwise {
    /// Computes and records into `place` if the fast path applies; else `place` stays empty and the caller uses `binary` or
    /// `unary`. `like` is one of the operands; `mode` is the thread's.
    ///
    /// # Errors
    /// `Memory`, and what `graph::record` refuses; then `place` is empty.
    #[inline(always)]
    pub(crate) fn few<'a, A: Part<'a>, B: Part<'a>>(
        &'static self,
        like: &Tensor,
        (a, b): (A, B),
        params: &[f64],
        mode: Mode,
        place: &mut Option<Tensor>,
    ) -> Result<()> {
        let (n, dtype) = (like.size(), like.dtype());
        if self.guard.is_some() || capture::active() || !like.layout().is_short() {
            return Ok(());
        }
        let (Some(x), Some(y)) = (a.few(like, n), b.few(like, n)) else { return Ok(()) };
        let Some(of_floats) = self.forward.of_floats(dtype) else { return Ok(()) };
        let storage = Storage::alloc(n * of_floats.result.size())?;
        apply_few(of_floats, (x, y), (&storage, n), params);
        let layout = like.layout().packed();
        let out = place.insert(Tensor::assemble(storage, layout, of_floats.result, None));
        let plain = |part: Option<&Tensor>| part.is_none_or(Tensor::is_plain);
        if mode.plain_results() && plain(a.tensor()) && plain(b.tensor()) {
            return Ok(());
        }
        let edge = match (a.slot(), b.slot()) {
            (Some(a), Some(b)) => self.relate(&[a, b], out, params, mode),
            (Some(one), None) | (None, Some(one)) => self.relate(&[one], out, params, mode),
            (None, None) => Ok(None),
        };
        attach(edge, place)
    }
}

/// Attaches the edge to the tensor in `place`; on an error, empties `place`.
#[inline(always)]
fn attach(edge: Result<Option<Edge>>, place: &mut Option<Tensor>) -> Result<()> {
    match (edge, place.as_mut()) {
        (Ok(Some(edge)), Some(out)) => out.record_as(edge),
        (Ok(_), _) => {}
        (Err(error), _) => {
            *place = None;
            return Err(error);
        }
    }
    Ok(())
}
