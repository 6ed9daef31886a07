//! The backward of every element-wise operation.
//!
//! Owns: restoring what a derivative uses, and its two readings: one fused loop over the buffers, or,
//! under `create_graph`, tensor operations that record themselves.
//! Never contains a formula. Invariant: each saved value is restored at most once.

use std::any::Any;
use std::borrow::Cow;

use smallvec::SmallVec;

use crate::array::Layout;
use crate::error::Result;
use crate::graph::{Context, Rule};
use crate::kernels::elementwise::{In, LoopTable, Small, apply};
use crate::ops::core::elementwise::{Derivative, Elementwise, Source};
use crate::ops::core::symbolic;
use crate::ops::core::symbolic::Sym;
use crate::tensor::Tensor;

/// What a derivative reads: tensors or constants, restored once.
pub(super) struct Operands {
    values: SmallVec<[(Source, Read); 3]>,
    pub(in crate::ops::core) params: SmallVec<[f64; 2]>,
}

pub(super) enum Read {
    Tensor(Tensor),
    Scalar(f64),
}

impl Operands {
    /// The parameters alone.
    pub(in crate::ops::core) fn new(
        op: &Elementwise,
        cx: &Context<'_, Tensor>,
    ) -> Result<Operands> {
        let params = (op.saves.len()..cx.saved_count()).map(|i| cx.scalar(i));
        Ok(Operands { values: SmallVec::new(), params: params.collect::<Result<_>>()? })
    }

    pub(super) fn restore(
        op: &Elementwise,
        cx: &mut Context<'_, Tensor>,
        uses: &[Source],
        known: Option<Operands>,
    ) -> Result<Operands> {
        let mut all = match known {
            Some(known) => known,
            None => Operands::new(op, cx)?,
        };
        for (slot, &source) in op.saves.iter().enumerate() {
            if uses.contains(&source) && all.find(source).is_none() {
                let value = if cx.has_saved(slot) {
                    Read::Tensor(cx.saved(slot)?)
                } else {
                    Read::Scalar(cx.scalar(slot)?)
                };
                all.values.push((source, value));
            }
        }
        Ok(all)
    }

    pub(super) fn find(&self, source: Source) -> Option<&Read> {
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

    fn is_zero(&self, input: usize) -> bool {
        matches!(self.by.get(input), Some(Derivative::Zero))
    }

    fn backward(&self, cx: &mut Context<'_, Tensor>) -> Result<()> {
        let Some(place) = cx.take_grads().first_mut() else {
            return Ok(());
        };
        let Some(g) = place.as_ref() else {
            return Ok(());
        };
        let plain = !cx.create_graph() && cx.batch().is_empty();
        // The derivative that may use up the gradient comes last. Those that have a sum to be added to need no memory.
        let free = |&i: &usize| cx.wants(i) && !(plain && cx.partial_sum(i).is_some());
        let last = (0..self.by.len()).rev().find(free);
        let mut small = match g.flat() {
            flat if !plain || flat.is_some() => Small::new(flat.filter(|_| plain)),
            _ => Small::repeated(g.repeated()),
        };
        self.fill(cx, &mut small);
        let mut operands = None;
        let mut given = false;
        for (i, derivative) in self.by.iter().enumerate() {
            if Some(i) == last || !cx.wants(i) || self.added(cx, i, g, &small) {
                continue;
            }
            let gradient = match self.made(i, g, &small) {
                Some(gradient) => gradient,
                None => self.derived(cx, derivative, g.clone(), &mut operands)?,
            };
            cx.give(i, gradient)?;
            given = true;
        }
        match last {
            Some(i) if given && self.added(cx, i, g, &small) => Ok(()),
            Some(i) if self.rewritten(i, g, &small) => cx.give_from(i, place),
            Some(i) => {
                let mut made = self.made(i, g, &small);
                if made.is_some() {
                    return cx.give_from(i, &mut made);
                }
                let Some(g) = place.take() else { return Ok(()) };
                let gradient = self.derived(cx, &self.by[i], g, &mut operands)?;
                cx.give(i, gradient)
            }
            None => Ok(()),
        }
    }
}

impl Elementwise {
    /// One derivative, with the gradient to use up.
    fn derived(
        &self,
        cx: &mut Context<'_, Tensor>,
        derivative: &Derivative,
        g: Tensor,
        operands: &mut Option<Operands>,
    ) -> Result<Tensor> {
        Ok(match derivative {
            Derivative::Identity => g,
            Derivative::Zero => Tensor::zeros(g.shape(), g.dtype())?,
            Derivative::Formula { uses, table, sym } => {
                let mut read = Operands::restore(self, cx, uses, operands.take())?;
                let gradient = if cx.create_graph() {
                    symbolic(&g, uses, *sym, &read)?
                } else {
                    fused(&g, uses, table, &mut read)?
                };
                *operands = Some(read);
                gradient
            }
        })
    }

    /// The numbers of a derivative's operands among those of [`Elementwise::small`].
    #[inline(always)]
    fn numbered(&self, uses: &'static [Source]) -> impl Iterator<Item = usize> {
        let saves = self.saves;
        uses.iter().map(move |&source| match source {
            Source::Grad => 0,
            _ => 1 + saves.iter().position(|&s| s == source).unwrap_or(usize::MAX - 1),
        })
    }

    /// What the derivatives read beside the gradient, in place; absent is what is not as it was saved or lies otherwise.
    #[inline(always)]
    fn fill<'c: 'f, 'f>(&self, cx: &Context<'c, Tensor>, small: &mut Small<'f>) {
        if !small.is_open() {
            return;
        }
        for k in 0..self.saves.len() {
            if let Some(saved) = cx.payload(k) {
                if let Some((storage, run, dtype)) = saved.run() {
                    small.elements(k + 1, storage, run, dtype);
                }
            } else if let Some(number) = cx.number(k) {
                small.number(k + 1, number);
            }
        }
        for (k, i) in (self.saves.len()..cx.saved_count()).enumerate() {
            small.param(k, cx.number(i));
        }
    }

    /// Adds the gradient of operand `i` to what that has been given so far; false where this takes more than a small loop.
    #[inline(never)]
    fn added(&self, cx: &mut Context<'_, Tensor>, i: usize, g: &Tensor, small: &Small<'_>) -> bool {
        let Some(sum) = cx.partial_sum(i).filter(|_| small.is_open()) else { return false };
        let fits = sum.layout().same_dims(g.layout()) && sum.storage().is_reusable();
        let Some(place) = sum.flat().filter(|_| fits) else { return false };
        match &self.by[i] {
            Derivative::Identity => small.add_first(place, symbolic::sums()),
            Derivative::Zero => false,
            Derivative::Formula { uses, table, .. } => {
                small.add(table, self.numbered(uses), place, symbolic::sums())
            }
        }
    }

    /// The gradient of operand `i` in memory of its own; `None` where this takes more than a small loop. Where the result's is
    /// one element for all, as below a sum, and so is what is read beside it, one element is all that is computed.
    #[inline(never)]
    fn made(&self, i: usize, g: &Tensor, small: &Small<'_>) -> Option<Tensor> {
        let Derivative::Formula { uses, table, .. } = &self.by[i] else { return None };
        if !small.is_open() {
            return None;
        }
        if small.is_one(self.numbered(uses)) {
            let out = Tensor::empty_as(&Layout::scalar(), g.dtype()).ok()?;
            let done = small.write_one(table, self.numbered(uses), out.flat()?);
            return done.then(|| out.into_layout(g.layout().with_offset(0)));
        }
        let out = Tensor::empty_as(g.layout(), g.dtype()).ok()?;
        small.write(table, self.numbered(uses), out.flat()?).then_some(out)
    }

    /// Turns the gradient of the result into that of operand `i`; false where others see it, or where this takes more
    /// than a small loop.
    #[inline(always)]
    fn rewritten(&self, i: usize, g: &Tensor, small: &Small<'_>) -> bool {
        match &self.by[i] {
            Derivative::Identity => true,
            Derivative::Zero => false,
            Derivative::Formula { uses, table, .. } => {
                let ours = small.is_open() && g.is_plain() && g.storage().is_reusable();
                ours && small.rewrite(table, self.numbered(uses))
            }
        }
    }
}

/// Where a derivative is written: the gradient's own buffer when nobody else has it.
#[inline]
fn gradient_buffer(g: &Tensor) -> Result<Tensor> {
    if g.is_overwritable() { Ok(g.detach()) } else { Tensor::empty_as(g.layout(), g.dtype()) }
}

/// Reads the derivative as one loop; writes into the gradient's own buffer when nobody else has it.
/// What is read repeats along the axis of a batched gradient.
fn fused(g: &Tensor, uses: &[Source], table: &LoopTable, read: &mut Operands) -> Result<Tensor> {
    let out = gradient_buffer(g)?;
    for (_, value) in &mut read.values {
        if let Read::Tensor(t) = value
            && t.ndim() != g.ndim()
        {
            *t = t.with_layout(t.layout().broadcast_to(g.shape())?);
        }
    }
    let inputs: SmallVec<[In<'_>; 4]> = uses
        .iter()
        .map(|&source| match read.find(source) {
            Some(Read::Tensor(t)) => In::View(t.view_of()),
            Some(Read::Scalar(s)) => In::Float(*s),
            None => In::View(g.view_of()),
        })
        .collect();
    apply(table, &inputs, out.shared_view_mut(), &read.params);
    Ok(out)
}

/// Reads the derivative as tensor operations, which record themselves.
fn symbolic(
    g: &Tensor,
    uses: &[Source],
    text: fn(&[Sym]) -> Sym,
    read: &Operands,
) -> Result<Tensor> {
    symbolic::evaluate(g, |tape| {
        let mut arguments: SmallVec<[Sym; 6]> = SmallVec::new();
        for &source in uses {
            arguments.push(match read.find(source) {
                Some(Read::Tensor(t)) => tape.tensor(t.clone()),
                Some(Read::Scalar(s)) => tape.constant(*s),
                None => tape.tensor(g.clone()),
            });
        }
        arguments.extend(read.params.iter().map(|&p| tape.constant(p)));
        text(&arguments)
    })
}
