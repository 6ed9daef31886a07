//! The backward rule of every element-wise operation: one fused loop over the buffers or, under `create_graph`, tensor
//! operations that record themselves.

use std::any::Any;
use std::borrow::Cow;

use smallvec::SmallVec;

use crate::array::Layout;
use crate::error::Result;
use crate::graph::{Context, Rule};
use crate::kernels::elementwise::{Flat, FlatOperand, LoopOperand, LoopTable, SmallCall, apply};
use crate::ops::core::elementwise::{Derivative, Elementwise, OperandRef, Source};
use crate::ops::core::symbolic;
use crate::ops::core::symbolic::Symbol;
use crate::tensor::Tensor;

/// The saved operands and parameters of one backward call, each restored at most once.
pub(super) struct SavedOperands {
    values: SmallVec<[(Source, SavedOperand); 3]>,
    pub(in crate::ops::core) params: SmallVec<[f64; 2]>,
}

pub(super) enum SavedOperand {
    Tensor(Tensor),
    Scalar(f64),
}

impl SavedOperands {
    /// With the parameters only; operands are restored on demand.
    pub(in crate::ops::core) fn new(
        op: &Elementwise,
        cx: &Context<'_, Tensor>,
    ) -> Result<SavedOperands> {
        let params = (op.saves.len()..cx.saved_count()).map(|i| cx.scalar(i));
        Ok(SavedOperands { values: SmallVec::new(), params: params.collect::<Result<_>>()? })
    }

    /// The operands of a call that is running.
    pub(super) fn of_call(
        op: &Elementwise,
        operands: &[OperandRef<'_>],
        out: &Tensor,
        params: &[f64],
    ) -> SavedOperands {
        let operand = |&source: &Source| match source {
            Source::Input(k) => match operands[k as usize] {
                OperandRef::Tensor(t) => SavedOperand::Tensor(t.clone()),
                OperandRef::Scalar(s) => SavedOperand::Scalar(s.as_f64()),
            },
            _ => SavedOperand::Tensor(out.clone()),
        };
        let values = op.saves.iter().map(|source| (*source, operand(source))).collect();
        SavedOperands { values, params: SmallVec::from_slice(params) }
    }

    pub(super) fn restore(
        op: &Elementwise,
        cx: &mut Context<'_, Tensor>,
        uses: &[Source],
        known: Option<SavedOperands>,
    ) -> Result<SavedOperands> {
        let mut all = match known {
            Some(known) => known,
            None => SavedOperands::new(op, cx)?,
        };
        for (slot, &source) in op.saves.iter().enumerate() {
            if uses.contains(&source) && all.find(source).is_none() {
                let value = if cx.has_saved(slot) {
                    SavedOperand::Tensor(cx.saved(slot)?)
                } else {
                    SavedOperand::Scalar(cx.scalar(slot)?)
                };
                all.values.push((source, value));
            }
        }
        Ok(all)
    }

    pub(super) fn find(&self, source: Source) -> Option<&SavedOperand> {
        self.values.iter().find(|(s, _)| *s == source).map(|(_, value)| value)
    }
}

impl Rule<Tensor> for Elementwise {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(self.name)
    }

    fn supports_batch(&self) -> bool {
        true
    }

    fn elementwise(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn jvp(&self, cx: &mut Context<'_, Tensor>) -> Result<bool> {
        let mut operands = None;
        // The formulas of complex numbers are those of VJPs, from which JVPs of some operations differ.
        if (0..self.by.len()).any(|i| cx.grad(i).is_some_and(|t| !t.dtype().is_float())) {
            return Ok(false);
        }
        for (i, derivative) in self.by.iter().enumerate() {
            match (cx.take_grad(i), derivative) {
                (None, _) | (_, Derivative::Zero) => {}
                (Some(t), derivative) => {
                    let tangent = self.compute(cx, derivative, t, &mut operands)?;
                    cx.give(0, tangent)?;
                }
            }
        }
        Ok(true)
    }

    fn is_zero(&self, input: usize) -> bool {
        matches!(self.by.get(input), Some(Derivative::Zero))
    }

    fn backward(&self, cx: &mut Context<'_, Tensor>) -> Result<()> {
        let Some(grad_slot) = cx.take_grads().first_mut() else {
            return Ok(());
        };
        let Some(g) = grad_slot.as_ref() else {
            return Ok(());
        };
        let plain = !cx.create_graph() && cx.batch().is_empty();
        // The last derivative may consume the gradient's buffer. Those with an accumulated sum to add to need no memory.
        let may_consume = |&i: &usize| cx.wants(i) && !(plain && cx.partial_sum(i).is_some());
        let last = (0..self.by.len()).rev().find(may_consume);
        let small = if plain { self.small_call(cx, g) } else { None };
        let small = small.as_ref();
        let mut operands = None;
        let mut any_given = false;
        for (i, derivative) in self.by.iter().enumerate() {
            if Some(i) == last || !cx.wants(i) || self.add_to_sum(cx, i, g, small) {
                continue;
            }
            let gradient = match self.compute_small(i, g, small) {
                Some(gradient) => gradient,
                None => self.compute(cx, derivative, g.clone(), &mut operands)?,
            };
            cx.give(i, gradient)?;
            any_given = true;
        }
        match last {
            Some(i) if any_given && self.add_to_sum(cx, i, g, small) => Ok(()),
            Some(i) if self.overwrite_small(i, g, small) => cx.give_from(i, grad_slot),
            Some(i) => {
                let mut gradient = self.compute_small(i, g, small);
                if gradient.is_some() {
                    return cx.give_from(i, &mut gradient);
                }
                let Some(g) = grad_slot.take() else { return Ok(()) };
                let gradient = self.compute(cx, &self.by[i], g, &mut operands)?;
                cx.give(i, gradient)
            }
            None => Ok(()),
        }
    }
}

impl Elementwise {
    /// The general path for one derivative; consumes the gradient `g`.
    fn compute(
        &self,
        cx: &mut Context<'_, Tensor>,
        derivative: &Derivative,
        g: Tensor,
        operands: &mut Option<SavedOperands>,
    ) -> Result<Tensor> {
        Ok(match derivative {
            Derivative::Identity => g,
            Derivative::Zero => Tensor::zeros(g.shape(), g.dtype())?,
            Derivative::Formula { uses, table, symbolic: formula } => {
                let mut read = SavedOperands::restore(self, cx, uses, operands.take())?;
                let gradient = if cx.create_graph() {
                    symbolic(&g, uses, *formula, &read)?
                } else {
                    fused(&g, uses, table, &mut read)?
                };
                *operands = Some(read);
                gradient
            }
        })
    }

    /// The indices of a derivative's operands among those of [`small_call`](Self::small_call), of which 0 is the gradient.
    #[inline(always)]
    pub(super) fn operand_numbers(
        &self,
        uses: &'static [Source],
    ) -> impl Iterator<Item = usize> + Clone + use<> {
        let saves = self.saves;
        uses.iter().map(move |&source| match source {
            Source::Grad => 0,
            _ => 1 + saves.iter().position(|&s| s == source).unwrap_or(usize::MAX - 1),
        })
    }

    /// The small call of the derivatives: the gradient, and the saved operands that are contiguous and of an unchanged version;
    /// the others are absent. None if the gradient does not fit.
    #[inline(always)]
    fn small_call<'c: 'f, 'f>(
        &self,
        cx: &Context<'c, Tensor>,
        g: &'f Tensor,
    ) -> Option<SmallCall<'f>> {
        let mut call = SmallCall::new(g.dtype(), g.size())?;
        let gradient = match g.flat() {
            Some(flat) => FlatOperand::Elements(flat),
            None => FlatOperand::Repeated(g.repeated()?),
        };
        if !call.set(0, gradient) {
            return None;
        }
        for k in 0..self.saves.len() {
            if let Some(saved) = cx.payload(k) {
                if let Some((storage, run, dtype)) = saved.run()
                    && let Some(run) = Flat::run(storage, run, dtype)
                {
                    call.set(k + 1, FlatOperand::Elements(run));
                }
            } else if let Some(number) = cx.number(k) {
                call.set(k + 1, FlatOperand::Float(number));
            }
        }
        for (k, i) in (self.saves.len()..cx.saved_count()).enumerate() {
            if !call.set_param(k, cx.number(i)?) {
                return None;
            }
        }
        Some(call)
    }

    /// Fast path: adds the gradient of operand `i` to its accumulated sum in place; false if the loop is not small.
    #[inline(never)]
    fn add_to_sum(
        &self,
        cx: &mut Context<'_, Tensor>,
        i: usize,
        g: &Tensor,
        small: Option<&SmallCall<'_>>,
    ) -> bool {
        let (Some(sum), Some(small)) = (cx.partial_sum(i), small) else { return false };
        let fits = sum.layout().same_dims(g.layout()) && sum.storage().is_reusable();
        let Some(target) = sum.flat().filter(|_| fits) else { return false };
        match &self.by[i] {
            Derivative::Identity => small.add_first(target, symbolic::add_loops()),
            Derivative::Zero => false,
            Derivative::Formula { uses, table, .. } => {
                small.add(table, self.operand_numbers(uses), target, symbolic::add_loops())
            }
        }
    }

    /// Fast path: the gradient of operand `i` in new memory; `None` if the loop is not small. If all inputs are stride-0 (as
    /// below a sum), computes one element and expands it.
    #[inline(never)]
    fn compute_small(&self, i: usize, g: &Tensor, small: Option<&SmallCall<'_>>) -> Option<Tensor> {
        let (Derivative::Formula { uses, table, .. }, Some(small)) = (&self.by[i], small) else {
            return None;
        };
        if small.all_scalars(self.operand_numbers(uses)) {
            let out = Tensor::empty_as(&Layout::scalar(), g.dtype()).ok()?;
            let done = small.write(table, self.operand_numbers(uses), out.flat()?);
            return done.then(|| out.into_layout(g.layout().with_offset(0)));
        }
        let out = Tensor::empty_as(g.layout(), g.dtype()).ok()?;
        small.write(table, self.operand_numbers(uses), out.flat()?).then_some(out)
    }

    /// Fast path: overwrites the output's gradient with that of operand `i`; false if its buffer is shared or the loop is
    /// not small.
    #[inline(always)]
    fn overwrite_small(&self, i: usize, g: &Tensor, small: Option<&SmallCall<'_>>) -> bool {
        match &self.by[i] {
            Derivative::Identity => true,
            Derivative::Zero => false,
            Derivative::Formula { uses, table, .. } => {
                let exclusive = g.is_plain() && g.storage().is_reusable();
                small.is_some_and(|small| {
                    exclusive && small.overwrite(table, self.operand_numbers(uses))
                })
            }
        }
    }
}

/// The destination of a derivative: the gradient's own buffer if it is not shared, else new memory.
#[inline]
fn gradient_buffer(g: &Tensor) -> Result<Tensor> {
    if g.is_overwritable() { Ok(g.detach()) } else { Tensor::empty_as(g.layout(), g.dtype()) }
}

/// Evaluates the derivative as one loop, in the gradient's own buffer if possible. Saved operands broadcast along the batch
/// axis of the gradient.
pub(super) fn fused(
    g: &Tensor,
    uses: &[Source],
    table: &LoopTable,
    read: &mut SavedOperands,
) -> Result<Tensor> {
    let out = gradient_buffer(g)?;
    for (_, value) in &mut read.values {
        if let SavedOperand::Tensor(t) = value
            && t.ndim() != g.ndim()
        {
            *t = t.with_layout(t.layout().broadcast_to(g.shape())?);
        }
    }
    let inputs: SmallVec<[LoopOperand<'_>; 4]> = uses
        .iter()
        .map(|&source| match read.find(source) {
            Some(SavedOperand::Tensor(t)) => LoopOperand::View(t.view_of()),
            Some(SavedOperand::Scalar(s)) => LoopOperand::Float(*s),
            None => LoopOperand::View(g.view_of()),
        })
        .collect();
    apply(table, &inputs, out.shared_view_mut(), &read.params);
    Ok(out)
}

/// Evaluates the derivative with tensor operations, which record themselves.
fn symbolic(
    g: &Tensor,
    uses: &[Source],
    formula: fn(&[Symbol]) -> Symbol,
    read: &SavedOperands,
) -> Result<Tensor> {
    symbolic::evaluate(g, |tape| {
        let mut arguments: SmallVec<[Symbol; 6]> = SmallVec::new();
        for &source in uses {
            arguments.push(match read.find(source) {
                Some(SavedOperand::Tensor(t)) => tape.tensor(t.clone()),
                Some(SavedOperand::Scalar(s)) => tape.constant(*s),
                None => tape.tensor(g.clone()),
            });
        }
        arguments.extend(read.params.iter().map(|&p| tape.constant(p)));
        formula(&arguments)
    })
}
