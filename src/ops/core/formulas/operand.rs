//! Operands of an element-wise loop: tensors of one shape and dtype, and scalars.

use crate::array::capture;
use crate::kernels::elementwise::{Flat, FlatIn, In};
use crate::kernels::launch;
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::tensor::Tensor;

/// A borrowed operand: a tensor or a scalar.
#[derive(Clone, Copy)]
pub enum Slot<'a> {
    /// Elements.
    Tensor(&'a Tensor),
    /// One number for all elements, in the dtype of the tensors.
    Scalar(Scalar),
}

impl<'a> From<&'a Operand> for Slot<'a> {
    fn from(operand: &'a Operand) -> Slot<'a> {
        match operand {
            Operand::Tensor(t) => Slot::Tensor(t),
            Operand::Scalar(s) => Slot::Scalar(*s),
        }
    }
}

impl<'a> Slot<'a> {
    pub(in crate::ops::core) fn tensor(self) -> Option<&'a Tensor> {
        match self {
            Slot::Tensor(t) => Some(t),
            Slot::Scalar(_) => None,
        }
    }

    /// The operand of a small contiguous call; `None` if it is strided or too large.
    #[inline(always)]
    pub(in crate::ops) fn flat(self) -> Option<FlatIn<'a>> {
        self.flat_of(self.tensor().map_or(0, Tensor::size))
    }

    /// [`flat`](Self::flat) for an operand that is known to have `n` elements or to be a scalar.
    #[inline(always)]
    pub(super) fn flat_of(self, n: usize) -> Option<FlatIn<'a>> {
        match self {
            Slot::Tensor(t) if t.is_contiguous() => {
                Flat::run(t.storage(), (t.layout().offset(), n), t.dtype()).map(FlatIn::Elements)
            }
            Slot::Tensor(t) => t.repeated().map(FlatIn::Repeated),
            Slot::Scalar(Scalar::Int(i)) => Some(FlatIn::Int(i)),
            Slot::Scalar(s) => Some(FlatIn::Float(s.as_f64())),
        }
    }

    pub(in crate::ops) fn input(self) -> In<'a> {
        match self {
            Slot::Tensor(t) => In::View(t.view_of()),
            Slot::Scalar(Scalar::Int(i)) => In::Int(i),
            Slot::Scalar(s) => In::Float(s.as_f64()),
        }
    }
}

/// Whether a tensor is a one-element argument of a function that is being traced.
#[cold]
pub(super) fn stands_for_number(x: &Tensor) -> bool {
    let input = capture::with_buffer(x.storage().ptr().addr(), |buffer| {
        matches!(buffer.origin, capture::Origin::Input(_))
    });
    input == Some(true) && x.storage().nbytes() <= 8
}

/// Refuses to trace: the operation chooses another implementation for some scalars, so a traced scalar would be baked in.
#[cold]
pub(super) fn refuse_number(op: &'static str) {
    launch::with_recorder(|recorder| recorder.refuse_number(op));
}
