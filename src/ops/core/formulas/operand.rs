//! Operands of an element-wise operation: tensors of one shape and dtype, and numbers.
//!
//! Owns: `Slot` and how kernels see it. Never promotes or broadcasts.
//! Invariant: a number stands for all elements, in the dtype of those beside it.

use crate::array::capture;
use crate::kernels::elementwise::{Flat, FlatOperand, In};
use crate::kernels::launch;
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::tensor::Tensor;

/// An operand whose dtype and shape are operands.
#[derive(Clone, Copy)]
pub enum Slot<'a> {
    /// Elements.
    Tensor(&'a Tensor),
    /// One number for all elements.
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

    /// The operand of a small call, if it is one.
    #[inline(always)]
    pub(in crate::ops) fn flat(self) -> Option<FlatOperand<'a>> {
        self.flat_of(self.tensor().map_or(0, Tensor::size))
    }

    /// The same for an operand that is known to have `n` elements, or to be a number.
    #[inline(always)]
    pub(super) fn flat_of(self, n: usize) -> Option<FlatOperand<'a>> {
        match self {
            Slot::Tensor(t) if t.is_contiguous() => {
                Flat::run(t.storage(), (t.layout().offset(), n), t.dtype())
                    .map(FlatOperand::Elements)
            }
            Slot::Tensor(t) => t.repeated().map(FlatOperand::Repeated),
            Slot::Scalar(Scalar::Int(i)) => Some(FlatOperand::Int(i)),
            Slot::Scalar(s) => Some(FlatOperand::Float(s.as_f64())),
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

/// Whether a tensor is a one-element argument of a function that is being recorded.
#[cold]
pub(super) fn stands_for_number(x: &Tensor) -> bool {
    let input = capture::with_buffer(x.storage().ptr().addr(), |buffer| {
        matches!(buffer.origin, capture::Origin::Input(_))
    });
    input == Some(true) && x.storage().nbytes() <= 8
}

/// An operation that computes otherwise beside some numbers: a number that is an argument belongs to the program.
#[cold]
pub(super) fn refuse_number(op: &'static str) {
    launch::with_tracer(|tracer| tracer.refuse_number(op));
}
