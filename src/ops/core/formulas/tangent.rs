//! Fast path of forward mode: the tangent of an element-wise result from the operands themselves, if nothing else is to be
//! recorded.

use crate::error::Result;
use crate::graph::{Value, forward_ad};
use crate::kernels::elementwise::{FlatOperand, SmallCall};
use crate::ops::core::elementwise::{Derivative, Elementwise, OperandRef, Source};
use crate::ops::core::formulas::chain_rule::{SavedOperands, fused};
use crate::ops::core::symbolic;
use crate::tensor::{Edge, Tensor};

/// A call whose tangents are computed.
#[derive(Clone, Copy)]
struct ForwardCall<'a> {
    op: &'static Elementwise,
    operands: &'a [OperandRef<'a>],
    out: &'a Tensor,
    params: &'a [f64],
}

impl Elementwise {
    /// The edge of the result with its tangent, `None` for a zero tangent; an outer `None` if an operand has a history for
    /// reverse mode or tangents of several levels, which need the node of the operation.
    #[inline(never)]
    pub(super) fn push_from_operands<const N: usize>(
        &'static self,
        operands: &[OperandRef<'_>; N],
        edges: &[Option<Edge>; N],
        out: &Tensor,
        params: &[f64],
    ) -> Result<Option<Option<Edge>>> {
        let Some(found) = forward_ad::lone_tangents(edges) else { return Ok(None) };
        if !out.dtype().is_float()
            || found.tangents.iter().flatten().any(|t| t.dtype() != out.dtype())
        {
            return Ok(None);
        }
        let call = ForwardCall { op: self, operands, out, params };
        let mut sum: Option<Tensor> = None;
        for (derivative, tangent) in self.by.iter().zip(found.tangents) {
            let Some(tangent) = tangent else { continue };
            sum = match derivative {
                Derivative::Zero => continue,
                Derivative::Identity => Some(add(sum, tangent.clone())?),
                Derivative::Formula { .. } => Some(call.add_formula(derivative, tangent, sum)?),
            };
        }
        Ok(Some(sum.map(|tangent| forward_ad::dual_of_constant(self.name, tangent, found.level))))
    }
}

fn add(sum: Option<Tensor>, term: Tensor) -> Result<Tensor> {
    match sum {
        Some(sum) => Tensor::accumulate(sum, &term),
        None => Ok(term),
    }
}

impl ForwardCall<'_> {
    /// `sum` and the term of one operand: its formula, read with the tangent in place of the gradient.
    fn add_formula(
        self,
        derivative: &'static Derivative,
        tangent: &Tensor,
        sum: Option<Tensor>,
    ) -> Result<Tensor> {
        let Derivative::Formula { uses, table, .. } = derivative else {
            return add(sum, tangent.clone());
        };
        if let Some(small) = self.small_call(tangent) {
            let numbers = self.op.operand_numbers(uses);
            match &sum {
                Some(sum) => {
                    if let Some(target) = sum.flat().filter(|_| sum.is_overwritable())
                        && small.add(table, numbers, target, symbolic::add_loops())
                    {
                        return Ok(sum.clone());
                    }
                }
                None => {
                    let out = Tensor::empty_as(tangent.layout(), tangent.dtype())?;
                    if let Some(target) = out.flat()
                        && small.write(table, numbers, target)
                    {
                        return Ok(out);
                    }
                }
            }
        }
        let mut read = SavedOperands::of_call(self.op, self.operands, self.out, self.params);
        // A second handle, so that the operand's tangent is not overwritten.
        let tangent = tangent.clone();
        add(sum, fused(&tangent, uses, table, &mut read)?)
    }

    /// The small call of the formulas; `None` if the tangent does not fit. Operands that do not fit are absent.
    fn small_call<'f>(self, tangent: &'f Tensor) -> Option<SmallCall<'f>>
    where
        Self: 'f,
    {
        let n = tangent.size();
        let mut call = SmallCall::new(tangent.dtype(), n)?;
        if n != self.out.size() || !call.set(0, FlatOperand::Elements(tangent.flat()?)) {
            return None;
        }
        for (k, source) in self.op.saves.iter().enumerate() {
            let operand = match source {
                Source::Output => self.out.flat().map(FlatOperand::Elements),
                Source::Input(i) => self.operands[*i as usize].flat(n),
                Source::Grad => None,
            };
            operand.map(|operand| call.set(k + 1, operand));
        }
        let mut params = self.params.iter().enumerate();
        params.all(|(k, &number)| call.set_param(k, number)).then_some(call)
    }
}
