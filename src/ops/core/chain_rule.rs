//! The backward of every element-wise operation.
//!
//! Owns: restoring what a derivative uses, and its two readings: one fused loop over the buffers, or,
//! under `create_graph`, tensor operations that record themselves.
//! Never contains a formula. Invariant: each saved value is restored at most once.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::error::Result;
use crate::graph::{Context, Rule};
use crate::kernels::elementwise::{Flat, FlatIn, In, LoopTable, apply, apply_flat};
use crate::ops::core::elementwise::{Derivative, Elementwise, Source};
use crate::ops::core::sym::{self, Sym};
use crate::tensor::Tensor;

/// What a derivative reads: tensors or constants, restored once.
struct Operands {
    values: SmallVec<[(Source, Read); 3]>,
    params: SmallVec<[f64; 2]>,
}

enum Read {
    Tensor(Tensor),
    Scalar(f64),
}

impl Operands {
    fn restore(
        op: &Elementwise,
        cx: &mut Context<'_, Tensor>,
        uses: &[Source],
        known: Option<Operands>,
    ) -> Result<Operands> {
        let mut all = match known {
            Some(known) => known,
            None => {
                let params = (op.saves.len()..cx.saved_count()).map(|i| cx.scalar(i));
                Operands { values: SmallVec::new(), params: params.collect::<Result<_>>()? }
            }
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

    fn find(&self, source: Source) -> Option<&Read> {
        self.values.iter().find(|(s, _)| *s == source).map(|(_, value)| value)
    }
}

/// What a small loop may compute: a formula in a pass that is neither recorded nor batched.
#[inline]
fn plain_formula<'d>(
    cx: &Context<'_, Tensor>,
    derivative: &'d Derivative,
) -> Option<(&'d [Source], &'d LoopTable)> {
    match derivative {
        Derivative::Formula { uses, table, .. } if !cx.create_graph() && cx.batch().is_empty() => {
            Some((uses, table))
        }
        _ => None,
    }
}

impl Rule<Tensor> for Elementwise {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(self.name)
    }

    fn batches(&self) -> bool {
        true
    }

    fn is_zero(&self, input: usize) -> bool {
        matches!(self.by.get(input), Some(Derivative::Zero))
    }

    fn backward(&self, cx: &mut Context<'_, Tensor>) -> Result<()> {
        let Some(g) = cx.take_grad(0) else {
            return Ok(());
        };
        let Some(last) = (0..self.by.len()).rev().find(|&i| cx.wants(i)) else {
            return Ok(());
        };
        let mut operands = None;
        for (i, derivative) in self.by[..last].iter().enumerate() {
            if cx.wants(i) {
                let gradient = match self.small(cx, derivative, &g) {
                    Some(gradient) => gradient,
                    None => self.derived(cx, derivative, g.clone(), &mut operands)?,
                };
                cx.give(i, gradient)?;
            }
        }
        let derivative = &self.by[last];
        // The last derivative may write into the gradient's own buffer.
        let reusable = g.is_plain() && g.is_contiguous() && g.storage().is_reusable();
        if reusable && self.small_into(cx, derivative, &g, &g) {
            return cx.give(last, g);
        }
        let small = if reusable { None } else { self.small(cx, derivative, &g) };
        let gradient = match small {
            Some(gradient) => gradient,
            None => self.derived(cx, derivative, g, &mut operands)?,
        };
        cx.give(last, gradient)
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

    /// The saved entry of a source.
    #[inline]
    fn entry(&self, source: Source) -> usize {
        self.saves.iter().position(|&s| s == source).unwrap_or(usize::MAX)
    }

    /// One operand of a small loop, in place.
    #[inline]
    fn flat_operand<'b>(
        &self,
        cx: &'b Context<'_, Tensor>,
        g: &'b Tensor,
        source: Source,
    ) -> Option<FlatIn<'b>> {
        if source == Source::Grad {
            return g.flat().map(FlatIn::Elements);
        }
        let entry = self.entry(source);
        match cx.payload(entry) {
            Some(saved) => {
                let (storage, run, dtype) = saved.run()?;
                Flat::run(storage, run, dtype).map(FlatIn::Elements)
            }
            None if cx.has_saved(entry) => None,
            None => Some(FlatIn::Float(cx.scalar(entry).ok()?)),
        }
    }

    /// The derivative as one small loop into memory of its own; `None` leaves it to `derived`.
    #[inline]
    fn small(
        &self,
        cx: &Context<'_, Tensor>,
        derivative: &Derivative,
        g: &Tensor,
    ) -> Option<Tensor> {
        let (uses, table) = plain_formula(cx, derivative)?;
        g.flat()?;
        let out = Tensor::empty_as(g.layout(), g.dtype()).ok()?;
        self.fused_flat(cx, g, uses, table, &out)?;
        Some(out)
    }

    /// The derivative as one small loop without restoring anything, into `out`, which may be the gradient; `false` leaves
    /// it to `derived`, which also reports what was changed in place.
    #[inline]
    fn small_into(
        &self,
        cx: &Context<'_, Tensor>,
        derivative: &Derivative,
        g: &Tensor,
        out: &Tensor,
    ) -> bool {
        plain_formula(cx, derivative)
            .and_then(|(uses, table)| self.fused_flat(cx, g, uses, table, out))
            .is_some()
    }

    #[inline]
    fn fused_flat(
        &self,
        cx: &Context<'_, Tensor>,
        g: &Tensor,
        uses: &[Source],
        table: &LoopTable,
        out: &Tensor,
    ) -> Option<()> {
        let mut ins = [FlatIn::Int(0); 4];
        for (input, &source) in ins.iter_mut().zip(uses) {
            *input = self.flat_operand(cx, g, source)?;
        }
        let mut params = [0.0; 4];
        for (k, param) in params.iter_mut().zip(self.saves.len()..cx.saved_count()) {
            *k = cx.scalar(param).ok()?;
        }
        apply_flat(table, ins.get(..uses.len())?, out.flat()?, &params).then_some(())
    }
}

/// Where a derivative is written: the gradient's own buffer when nobody else has it.
#[inline]
fn gradient_buffer(g: &Tensor) -> Result<Tensor> {
    if g.is_contiguous() && g.storage().is_reusable() {
        Ok(g.detach())
    } else {
        Tensor::empty_as(g.layout(), g.dtype())
    }
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
    sym::evaluate(g, |tape| {
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
