//! `scan` and `while_loop` on tensors: traces the body, launches the loop as one kernel, and records one autograd
//! node. The iterations run in `compile/control_flow/loop_forward.rs`.
//!
//! Invariant: the loop reads the memory that its node saves, and nothing else.

use std::sync::Arc;

use super::launch_loop::Left;
use super::subprogram::{Part, Traced, cotangents_of, minus_zeros, restored, saved};
use crate::array::{Storage, capture};
use crate::compile::autograd::{BackwardProgram, Closures, Original, bytes, record_node};
use crate::compile::traced_function::{Signature, in_order};
use crate::compile::{Condition, Loop, LoopParts, Trace};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Context, Foreign, Host, ModeGuard, detach_if_long, recording};
use crate::kernels::{View, ViewMut};
use crate::ops::autograd::backward::Endpoint;
use crate::ops::custom_op::Spec;
use crate::tensor::Tensor;

/// The scanned tensors of a loop.
#[derive(Clone, Copy)]
pub struct Scanned<'a> {
    /// Tensors whose first axis has this length.
    pub xs: &'a [Tensor],
    /// The number of iterations.
    pub length: usize,
    /// Whether iteration 0 reads the last elements.
    pub reverse: bool,
    /// The carry is stored every so many iterations for recomputation; 1 stores all residuals instead.
    pub every: usize,
}

/// The final carry, then the stacked results of `carry, ys = f(carry, x)` for every element `x`.
///
/// # Errors
/// What `f` raises; `Captured` if it cannot be traced; `Shape` if the carry changes its shape or dtype.
pub fn scan<E: From<Box<Error>>>(
    carry: &[Tensor],
    over: Scanned<'_>,
    original: Box<dyn Original>,
    host: &dyn Host,
    f: Traced<'_, E>,
) -> std::result::Result<Vec<Tensor>, E> {
    let first = over.xs.iter().map(|x| element(x, over)).collect::<Result<Vec<Tensor>>>()?;
    let arguments: Vec<Tensor> = carry.iter().cloned().chain(first).collect();
    let given: Vec<Tensor> = carry.iter().chain(over.xs).cloned().collect();
    let part = settled(&arguments, &given, carry.len(), host, f)?;
    if over.length == 0 {
        return Ok(unchanged(carry, &part)?);
    }
    let looped = looped(part, carry.len(), over, None);
    Ok(looped.run(&given, original, host)?)
}

/// The carry after `while condition(carry): carry = f(carry)`.
///
/// # Errors
/// As `scan`.
pub fn while_loop<E: From<Box<Error>>>(
    carry: &[Tensor],
    original: Box<dyn Original>,
    host: &dyn Host,
    condition: Traced<'_, E>,
    f: Traced<'_, E>,
) -> std::result::Result<Vec<Tensor>, E> {
    let none = vec![false; carry.len()];
    let until = {
        let _off = ModeGuard::grad(false);
        Part::record(carry, &none, host, condition)?
    };
    let part = settled(carry, carry, carry.len(), host, f)?;
    let cut = |(x, number): (&Tensor, &Option<usize>)| x.requires_grad() && number.is_none();
    if recording() && carry.iter().zip(&part.cotangents).any(cut) {
        return Err(loses_history().into());
    }
    let over = Scanned { xs: &[], length: usize::MAX, reverse: false, every: 1 };
    let outside = until.joint.outside.clone();
    let condition = Condition { program: until.joint.forward };
    let mut looped = looped(part, carry.len(), over, Some(condition));
    looped.outside.extend(outside);
    Ok(looped.run(carry, original, host)?)
}

/// The results of a loop without iterations.
fn unchanged(carry: &[Tensor], part: &Part) -> Result<Vec<Tensor>> {
    let stacked = part.results[carry.len()..].iter().map(|result| result.spec(Some(0)).zeros());
    carry.iter().cloned().map(Ok).chain(stacked).collect()
}

#[cold]
fn loses_history() -> Box<Error> {
    Box::new(Error::Captured {
        op: "while_loop".into(),
        what: "a carried value requires grad, and what the body makes of it does not".into(),
        remedy: "detach it before the loop",
    })
}

/// Traces the body. A carried value requires grad if the one that follows it does, so that tracing is repeated until
/// this no longer changes.
fn settled<E: From<Box<Error>>>(
    arguments: &[Tensor],
    given: &[Tensor],
    carries: usize,
    host: &dyn Host,
    f: Traced<'_, E>,
) -> std::result::Result<Part, E> {
    let mut requires: Vec<bool> = given.iter().map(|x| recording() && x.requires_grad()).collect();
    loop {
        let part = Part::record(arguments, &requires, host, f)?;
        for (before, now) in part.arguments.iter().zip(&part.results).take(carries) {
            if before != now {
                return Err(changed(before, now).into());
            }
        }
        let mut grown = false;
        for (requires, history) in requires.iter_mut().zip(&part.cotangents).take(carries) {
            grown |= history.is_some() && !*requires;
            *requires |= history.is_some();
        }
        if !grown {
            return Ok(part);
        }
    }
}

/// The element that iteration 0 reads; zeros for a loop of length 0.
fn element(x: &Tensor, over: Scanned<'_>) -> Result<Tensor> {
    let dims = &x.shape()[1..];
    if over.length == 0 {
        return Tensor::zeros(dims, x.dtype());
    }
    let at = if over.reverse { over.length - 1 } else { 0 };
    Ok(x.detach().relaid(x.layout().select(0, at)))
}

/// A traced loop with what its node needs.
struct Looped {
    looped: Arc<Loop>,
    arguments: Vec<Signature>,
    results: Vec<Signature>,
    requires: Vec<bool>,
    closures: Vec<Endpoint>,
    /// The external memory of the body, then that of the condition.
    outside: Vec<Storage>,
}

fn looped(part: Part, carries: usize, over: Scanned<'_>, condition: Option<Condition>) -> Looped {
    let sizes = |all: &[Signature]| all.iter().map(Signature::nbytes).collect::<Vec<usize>>();
    let Part { mut joint, arguments, results, requires, cotangents, closures, grads } = part;
    let outside = std::mem::take(&mut joint.outside);
    let looped = Loop::new(LoopParts {
        condition,
        outside: outside.len(),
        carries,
        scanned: over.xs.len(),
        length: over.length,
        reverse: over.reverse,
        every: over.every,
        argument_bytes: sizes(&arguments),
        result_bytes: sizes(&results),
        nothing: closures.iter().map(minus_zeros).collect(),
        cotangents,
        grads,
        body: joint,
    });
    Looped { looped: Arc::new(looped), arguments, results, requires, closures, outside }
}

impl Looped {
    /// Runs the loop and records its node.
    fn run(
        self,
        given: &[Tensor],
        original: Box<dyn Original>,
        host: &dyn Host,
    ) -> Result<Vec<Tensor>> {
        let looped = &self.looped;
        let whole: Vec<Tensor> = given.iter().map(in_order).collect::<Result<_>>()?;
        let outside: Vec<Tensor> = self.outside.iter().map(bytes).collect::<Result<_>>()?;
        let results: Vec<Tensor> =
            (0..self.results.len()).map(|k| self.result(k).empty()).collect::<Result<_>>()?;
        let tape = Tensor::empty(&[looped.tape_bytes()], DType::U8)?;
        let of_loop = Arc::clone(looped);
        let (reads, writes) = (whole.iter().chain(&outside), results.iter().chain([&tape]));
        let left = detach_if_long(host, looped.cost(), || {
            Left::by(looped.name(), reads, writes, move |reads, writes| {
                of_loop.forward(reads, writes)
            })
        })?;
        if looped.histories().next().is_none() {
            return Ok(results);
        }
        let saved = saved(given, &outside, &tape);
        record_node(LoopNode { of: self, original, left }, given, saved, results)
    }

    /// The shape and dtype of a result.
    fn result(&self, k: usize) -> Spec {
        let stacked = (k >= self.looped.carries()).then_some(self.looped.length());
        self.results[k].spec(stacked)
    }

    /// The shape and dtype of the gradient of an argument or a closure.
    fn target(&self, target: usize) -> Spec {
        match target.checked_sub(self.arguments.len()) {
            Some(closure) => self.closures[closure].spec.clone(),
            None => {
                let scanned = target >= self.looped.carries();
                self.arguments[target].spec(scanned.then_some(self.looped.length()))
            }
        }
    }
}

/// The autograd node of a loop.
struct LoopNode {
    of: Looped,
    original: Box<dyn Original>,
    left: Left,
}

impl BackwardProgram for LoopNode {
    fn name(&self) -> &'static str {
        self.of.looped.name()
    }

    fn cost(&self) -> f32 {
        100_000.0
    }

    fn requires(&self) -> &[bool] {
        &self.of.requires
    }

    fn closures(&self) -> Closures<'_> {
        Closures::Reached(&self.of.closures)
    }

    fn outside(&self) -> (usize, &[Storage]) {
        (self.of.arguments.len(), &self.of.outside)
    }

    fn keeps(&self, memory: &Storage) -> bool {
        self.original.keeps(memory)
    }

    fn histories(&self) -> Vec<usize> {
        self.of.looped.histories().collect()
    }

    fn replayed(&self, cx: &Context<'_, Tensor>) -> Result<Option<Vec<Option<Tensor>>>> {
        let looped = &self.of.looped;
        let given: Vec<bool> = looped.histories().map(|k| cx.grad(k).is_some()).collect();
        let narrowed = looped.backward_plan(Some(&given));
        let (exact, endless) = (narrowed.is_some(), looped.length() == usize::MAX);
        // A trace does not know the length of a `while_loop`: missing cotangents are zeros there.
        let whole = || looped.backward_plan(None).filter(|_| endless && capture::active());
        let Some(plan) = narrowed.or_else(whole) else { return Ok(None) };
        let read = looped.read_backward().enumerate().skip(looped.carries());
        // The saved values after these are the external memory of a condition and, last, the tape.
        let taken = read.chain([(cx.saved_count() - 1, true)]);
        let taken = taken.map(|(saved, read)| restored(cx, saved, read));
        let mut reads = taken.collect::<Result<Vec<Tensor>>>()?;
        let results = looped.histories().map(|k| (k, self.of.result(k)));
        reads.extend(cotangents_of(cx, results, exact)?);
        let derived = plan.gradients().enumerate().filter(|(_, there)| *there);
        let found: Vec<Tensor> =
            derived.map(|(target, _)| self.of.target(target).empty()).collect::<Result<_>>()?;
        let (of_loop, plan) = (Arc::clone(looped), Arc::new(plan));
        let of_pass = Arc::clone(&plan);
        let kernel = move |reads: &[View<'_>], writes: &mut [ViewMut<'_>], left: Option<&Trace>| {
            of_loop.backward(&of_pass, reads, writes, left)
        };
        self.left.taken(looped.name(), reads.iter(), found.iter(), kernel)?;
        let mut found = found.into_iter();
        Ok(Some(plan.gradients().map(|there| if there { found.next() } else { None }).collect()))
    }

    fn call_again(&self, arguments: &[Tensor]) -> Result<Vec<Tensor>> {
        self.original.call(arguments)
    }

    fn foreign(&self) -> Option<&dyn Foreign> {
        self.original.foreign()
    }
}

#[cold]
fn changed(before: &Signature, now: &Signature) -> Box<Error> {
    Box::new(Error::Argument {
        op: "scan".into(),
        what: format!(
            "a carried value was {}{:?} and became {}{:?}",
            before.dtype, before.dims, now.dtype, now.dims
        ),
        remedy: "keep its dtype and shape".into(),
    })
}
