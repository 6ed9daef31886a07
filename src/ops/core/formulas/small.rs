//! The short way of element-wise operations: a few floats in a row, of one dtype and shape.
//!
//! Owns: what takes this way, and the tensor that is put together where it stays: each move of one costs as much as a
//! small operation's bookkeeping. Never promotes, broadcasts or captures: the place stays empty, and `binary` and
//! its kin are asked.
//! Invariant: what is computed and recorded is what the other way computes and records.

use crate::array::{Storage, capture};
use crate::error::Result;
use crate::graph::Mode;
use crate::kernels::elementwise::{Few, In, Number, Run, apply_few};
use crate::ops::core::elementwise::{Elementwise, Slot};
use crate::ops::core::op_decl::Scalar;
use crate::tensor::{Edge, Tensor};

/// An operand that may take the short way.
pub(crate) trait Part<'a>: Copy {
    /// The elements as a loop takes them.
    type Few: Few;

    /// The operand of `n` elements beside others of this shape and dtype, if it is of this sort.
    fn few(self, like: &Tensor, n: usize) -> Option<Self::Few>;

    /// The tensor, if it is one.
    fn tensor(self) -> Option<&'a Tensor>;

    /// The operand as all operations know it; none where there is none.
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
    /// Computes and records in `place`, if the operands are few and of the sort; one of them is `like`. Else `place` stays
    /// empty. `mode` is that of the thread.
    ///
    /// # Errors
    /// `Memory`, and what the record gate refuses; `place` is empty.
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
        if self.guard.is_some() || capture::active() || !like.layout().is_inline_contiguous() {
            return Ok(());
        }
        let (Some(x), Some(y)) = (a.few(like, n), b.few(like, n)) else { return Ok(()) };
        let Some(of_floats) = self.forward.of_floats(dtype) else { return Ok(()) };
        let storage = Storage::alloc(n * of_floats.result.size())?;
        apply_few(of_floats, (x, y), (&storage, n), params);
        let layout = like.layout().compacted();
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

/// Makes what stands in the place an output of its node, or empties it.
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
