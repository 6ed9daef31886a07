//! Turns the arguments of a call into operands and parameters of an element-wise loop.
//!
//! Invariant: if the loop would interpret an argument differently from the operation, there is no loop.

use smallvec::SmallVec;

use crate::ops::core::elementwise::{Elementwise, OperandRef};
use crate::ops::core::op_decl::{Arg, Kind, OpDecl, Scalar, Shortcut};

/// An element-wise operation, its operands, and its parameters.
type ElementwiseCall<'a> =
    (&'static Elementwise, SmallVec<[OperandRef<'a>; 3]>, SmallVec<[f64; 2]>);

/// The value of a real scalar, as a loop parameter.
fn real_param(number: Scalar) -> Option<f64> {
    match number {
        Scalar::Complex(..) => None,
        real => Some(real.as_f64()),
    }
}

/// The element-wise loop that computes a call, if there is one.
pub(super) fn elementwise_call<'a>(decl: &OpDecl, args: &'a [Arg]) -> Option<ElementwiseCall<'a>> {
    let op = match decl.shortcut {
        Shortcut::Unary(op, _) | Shortcut::Binary(op) => op,
        _ => decl.facts.elementwise?,
    };
    let mut operands = SmallVec::new();
    let mut params: SmallVec<[f64; 2]> = SmallVec::new();
    for (param, arg) in decl.params.iter().zip(args) {
        match arg {
            // A bound is a parameter; an omitted one is infinite. A NaN bound makes every result NaN, which the loop does not.
            Arg::Scalar(s) if param.is_optional_operand() => {
                params.push(real_param(*s).filter(|s| !s.is_nan())?)
            }
            Arg::None | Arg::Missing if param.is_optional_operand() => {
                let lower = params.is_empty();
                params.push(if lower { f64::NEG_INFINITY } else { f64::INFINITY });
            }
            Arg::Tensor(t) if !param.is_optional_operand() => operands.push(OperandRef::Tensor(t)),
            Arg::Scalar(s) if param.kind == Kind::Operand => operands.push(OperandRef::Scalar(*s)),
            Arg::Scalar(s) => params.push(real_param(*s)?),
            Arg::Missing => match (param.default?)() {
                Arg::Scalar(s) => params.push(s.as_f64()),
                _ => return None,
            },
            _ => return None,
        }
    }
    Some((op, operands, params))
}
