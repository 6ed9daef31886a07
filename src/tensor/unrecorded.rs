//! Notes on results of operations that were not recorded: mode flags, view origin, cut cause.
//!
//! Invariant: with recording on and outside inference mode, results of plain tensors are plain.

use crate::graph::{FORWARD, GRAD, INFERENCE, Mode};
#[cfg(feature = "python")]
use crate::tensor::Edge;
use crate::tensor::{AtomicDetachReason, Tensor, TensorFlags, ViewOrigin};

impl Tensor {
    /// Makes this result, just computed, an output of a node; only the edge is written.
    #[cfg(feature = "python")]
    #[inline(always)]
    pub(crate) fn record_as(&mut self, edge: Edge) {
        if let Some(attachments) = edge.node().attachments() {
            self.note_nan(attachments);
        }
        self.edge = Some(edge);
    }

    /// Marks a copy of one element: a write to it would not reach the memory that it was read from.
    #[inline]
    pub(crate) fn read_as_element(mut self) -> Tensor {
        self.view_origin = ViewOrigin::Element;
        self
    }

    /// This handle with a view origin, if it is a view; the first origin stays.
    #[inline]
    pub(crate) fn with_origin(mut self, origin: ViewOrigin) -> Tensor {
        self.set_origin(origin);
        self
    }

    #[inline]
    fn set_origin(&mut self, origin: ViewOrigin) {
        if self.is_view() && self.view_origin == ViewOrigin::Plain {
            self.view_origin = origin;
        }
    }

    /// This unrecorded result, with the flags of the current mode.
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
        self.detach_reason = AtomicDetachReason::of(inputs.clone(), mode);
        if !mode.has(GRAD) {
            self.set_mode_flags(mode, inputs);
        }
    }

    /// This result of an operation without a derivative.
    #[inline]
    pub(crate) fn underived<'a>(mut self, inputs: impl Iterator<Item = &'a Tensor>) -> Tensor {
        self.note_underived(inputs, Mode::current());
        self
    }

    /// Notes that an operation without a derivative made this.
    #[inline]
    pub(crate) fn note_underived<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a Tensor>,
        mode: Mode,
    ) {
        self.detach_reason = AtomicDetachReason::of(inputs, mode);
    }

    /// Sets the flags of `mode`: a view made without recording must not be written with recording; in a custom function's
    /// forward, a result that depends on an input that requires grad is cut.
    fn set_mode_flags<'a>(&mut self, mode: Mode, mut inputs: impl Iterator<Item = &'a Tensor>) {
        let view = self.flags.has(TensorFlags::VIEW);
        if mode.has(INFERENCE) {
            if view && !self.flags.has(TensorFlags::INFERENCE) {
                self.set_origin(ViewOrigin::InferenceMode);
            } else {
                self.flags = self.flags.with(TensorFlags::INFERENCE);
            }
        } else {
            self.set_origin(ViewOrigin::NoGrad);
        }
        let varies = (view || mode.has(FORWARD))
            && self.dtype.is_inexact()
            && inputs
                .any(|x| x.requires_grad() || x.is_cut() || x.flags.has(TensorFlags::HIDES_GRAD));
        if varies && view {
            self.flags = self.flags.with(TensorFlags::HIDES_GRAD);
        }
        if varies && mode.has(FORWARD) {
            self.flags = self.flags.with(TensorFlags::CUT);
        }
    }
}
