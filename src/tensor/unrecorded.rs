//! What a result is told of the operation that made it, where that was not recorded.
//!
//! Owns: the marks of the mode that a result was made in, how a view was made, and why there is no history. Never records
//! and never computes.
//! Invariant: with recording on and outside inference mode, results of plain tensors are plain.

use crate::graph::{FORWARD, GRAD, INFERENCE, Mode};
#[cfg(feature = "python")]
use crate::tensor::Edge;
use crate::tensor::{Creation, CutCause, Marks, Tensor};

impl Tensor {
    /// Makes this result, which has just been computed, an output of its node: nothing but the edge is written.
    #[cfg(feature = "python")]
    #[inline(always)]
    pub(crate) fn record_as(&mut self, edge: Edge) {
        if let Some(extras) = edge.node().extras() {
            self.note_nan(extras);
        }
        self.edge = Some(edge);
    }

    /// This copy of one element, which a write to it would not reach in the memory that it was read from.
    #[inline]
    pub(crate) fn read_as_element(mut self) -> Tensor {
        self.creation = Creation::Element;
        self
    }

    /// This handle, noting how it was made if it is a view; the first note stays.
    #[inline]
    pub(crate) fn created(mut self, how: Creation) -> Tensor {
        self.set_created(how);
        self
    }

    #[inline]
    fn set_created(&mut self, how: Creation) {
        if self.is_view() && self.creation == Creation::Plain {
            self.creation = how;
        }
    }

    /// This result of an operation that was not recorded, with the marks of the mode that it was made in.
    #[inline]
    pub(crate) fn unrecorded<'a>(
        mut self,
        inputs: impl Iterator<Item = &'a Tensor> + Clone,
    ) -> Tensor {
        self.note_unrecorded(inputs, Mode::current());
        self
    }

    /// Notes that an operation on `inputs` made this without recording.
    #[inline]
    pub(crate) fn note_unrecorded<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a Tensor> + Clone,
        mode: Mode,
    ) {
        self.cut_cause = CutCause::of(inputs.clone(), mode);
        if !mode.has(GRAD) {
            self.made_in(mode, inputs);
        }
    }

    /// This result of an operation that has no derivative there.
    #[inline]
    pub(crate) fn underived<'a>(mut self, inputs: impl Iterator<Item = &'a Tensor>) -> Tensor {
        self.note_underived(inputs, Mode::current());
        self
    }

    /// Notes that an operation on `inputs` made this which has no derivative there.
    #[inline]
    pub(crate) fn note_underived<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a Tensor>,
        mode: Mode,
    ) {
        self.cut_cause = CutCause::of(inputs, mode);
    }

    /// A view made without recording must not be changed with it; inside a custom function's forward, a result is
    /// marked when it varies with an input that requires grad.
    fn made_in<'a>(&mut self, mode: Mode, mut inputs: impl Iterator<Item = &'a Tensor>) {
        let view = self.marks.has(Marks::VIEW);
        if mode.has(INFERENCE) {
            if view && !self.marks.has(Marks::INFERENCE) {
                self.set_created(Creation::InferenceMode);
            } else {
                self.marks = self.marks.and(Marks::INFERENCE);
            }
        } else {
            self.set_created(Creation::NoGrad);
        }
        let varies = (view || mode.has(FORWARD))
            && self.dtype.is_inexact()
            && inputs.any(|x| x.requires_grad() || x.is_cut() || x.marks.has(Marks::HIDES_GRAD));
        if varies && view {
            self.marks = self.marks.and(Marks::HIDES_GRAD);
        }
        if varies && mode.has(FORWARD) {
            self.marks = self.marks.and(Marks::CUT);
        }
    }
}
