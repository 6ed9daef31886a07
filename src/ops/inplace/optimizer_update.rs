//! Optimiser steps: checks and casts, then an in-place update of parameters and states by a rule of `kernels::optimizer`.
//!
//! Invariant: a step that is refused has changed nothing.

use std::borrow::Cow;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::optimizer;
use crate::kernels::optimizer::{MAX_NUMBERS, UpdateOptions, UpdateRule};
use crate::kernels::{View, ViewMut};
use crate::ops::core::broadcast::astype;
use crate::ops::inplace::methods::{
    Overwrite, admit_write, can_read_during_write, finish_write, overwrite, recorded,
};
use crate::ops::inplace::write_access::WriteGuards;
use crate::tensor::Tensor;

const OP: &str = "optimizer.step";

/// An option of a rule: a number, or a one-element tensor that is read when the rule runs.
pub enum RuleOption {
    /// A number.
    Value(f64),
    /// A one-element tensor.
    Read(Tensor),
}

/// One step of an optimiser.
pub struct Update<'a> {
    /// The name of the update rule.
    pub rule: &'a str,
    /// Whether the objective is maximised.
    pub maximize: bool,
    /// The weight decay: this multiple of the parameter is added to its gradient.
    pub decay: f64,
    /// The parameters.
    pub params: &'a [Tensor],
    /// Their gradients.
    pub grads: &'a [Tensor],
    /// The states of all parameters, those of one parameter adjacent.
    pub states: &'a [Tensor],
    /// The step counts of the parameters: one number each.
    pub counts: &'a [Tensor],
    /// The options of the rule.
    pub options: &'a [RuleOption],
}

/// Updates parameters, states and counts in place. Nothing is recorded.
///
/// # Errors
/// If counts, shapes or dtypes do not match, or a tensor cannot be written.
pub fn step(step: &Update<'_>) -> Result<()> {
    let rule = checked_rule(step)?;
    let mut written = Vec::with_capacity(step.counts.len() + step.params.len() + step.states.len());
    for x in step.counts {
        written.push((x, in_dtype(x, DType::F64)?));
    }
    let mut read = Vec::with_capacity(step.grads.len() + 1);
    for (i, (p, g)) in step.params.iter().zip(step.grads).enumerate() {
        let first = written.len();
        for x in std::iter::once(p).chain(states_of(step, rule, i)) {
            written.push((x, in_dtype(x, p.dtype())?));
        }
        let g = astype(&g.detach(), p.dtype())?;
        let readable = written[first..].iter().all(|(_, x)| can_read_during_write(x, &g));
        read.push(if readable { g } else { g.duplicate()? });
    }
    let options = options(step, &mut read)?;
    let changed = || written.iter().filter(|(_, done)| matches!(done, Cow::Borrowed(_)));
    let writing = WriteGuards::of(OP, changed().map(|(x, _)| x.storage()))?;
    changed().try_for_each(|(x, _)| x.keep_saved())?;
    {
        let reads: Vec<View<'_>> = read.iter().map(Tensor::view_of).collect();
        let mut writes: Vec<ViewMut<'_>> =
            written.iter().map(|(_, x)| x.shared_view_mut()).collect();
        optimizer::update(rule, &options, &reads, &mut writes)?;
    }
    drop(writing);
    for (x, done) in &written {
        match done {
            Cow::Borrowed(_) => finish_write(OP, x, x, None, false),
            Cow::Owned(updated) => overwrite(OP, x, updated, Overwrite::Assigned)?,
        }
    }
    Ok(())
}

/// The states of parameter `i`.
fn states_of<'a>(step: &Update<'a>, rule: UpdateRule, i: usize) -> &'a [Tensor] {
    &step.states[i * rule.states()..(i + 1) * rule.states()]
}

fn refuse(what: String, remedy: &'static str) -> Box<Error> {
    Box::new(Error::Shape { op: OP.into(), what, remedy })
}

/// The rule, if all arguments match and may be written.
fn checked_rule(step: &Update<'_>) -> Result<UpdateRule> {
    let Some(rule) = UpdateRule::named(step.rule) else {
        return Err(refuse(format!("there is no rule {:?}", step.rule), "use one of fg.optim"));
    };
    let count = step.params.len();
    let given = [step.grads.len(), step.states.len(), step.counts.len(), step.options.len()];
    let wanted = [count, count * rule.states(), rule.counts(), rule.options()];
    if given != wanted {
        let what = format!("gradients, states, counts and options are {given:?}, not {wanted:?}");
        return Err(refuse(what, "give what the rule takes"));
    }
    for (i, (p, g)) in step.params.iter().zip(step.grads).enumerate() {
        if !p.dtype().is_inexact() {
            let what = format!("parameter {i} is {}", p.dtype());
            return Err(refuse(what, "give floats or complex numbers"));
        }
        if g.dtype().is_complex() && !p.dtype().is_complex() {
            let what = format!("parameter {i} is {} and its gradient {}", p.dtype(), g.dtype());
            return Err(refuse(what, "give a real gradient"));
        }
        for (what, x) in std::iter::once(("gradient", g))
            .chain(states_of(step, rule, i).iter().map(|x| ("state", x)))
        {
            if x.shape() != p.shape() {
                let shapes = format!("{:?} and its {what} {:?}", p.shape(), x.shape());
                let what = format!("parameter {i} has shape {shapes}");
                return Err(refuse(what, "give tensors of the parameter's shape"));
            }
        }
    }
    let numbers = step.options.iter().filter_map(|option| match option {
        RuleOption::Read(x) => Some(x),
        RuleOption::Value(_) => None,
    });
    for x in step.counts.iter().chain(numbers) {
        if x.size() != 1 || x.dtype().is_complex() {
            let what =
                format!("a count or an option has shape {:?} and dtype {}", x.shape(), x.dtype());
            return Err(refuse(what, "give real tensors of one element"));
        }
    }
    for x in step.params.iter().chain(step.states).chain(step.counts) {
        let history = recorded(x, step.grads.iter().any(Tensor::requires_grad));
        admit_write(OP, x, history)?;
        if history {
            return Err(refuse("a step has no derivative".into(), "call it under no_grad()"));
        }
    }
    Ok(rule)
}

/// A tensor to update in the loop's dtype: itself, or a cast copy.
fn in_dtype(x: &Tensor, dtype: DType) -> Result<Cow<'_, Tensor>> {
    Ok(if x.dtype() == dtype { Cow::Borrowed(x) } else { Cow::Owned(astype(&x.detach(), dtype)?) })
}

/// The options for the kernel; one-element tensors are appended to `read`.
fn options(step: &Update<'_>, read: &mut Vec<Tensor>) -> Result<UpdateOptions> {
    let (mut values, mut places) = ([0.0; MAX_NUMBERS], Vec::new());
    for (i, option) in step.options.iter().enumerate() {
        match option {
            RuleOption::Value(value) => values[i] = *value,
            RuleOption::Read(x) => {
                places.push(i);
                read.push(astype(&x.detach(), DType::F64)?);
            }
        }
    }
    Ok(UpdateOptions { maximize: step.maximize, decay: step.decay, values, places })
}
