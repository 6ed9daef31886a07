//! `scan` and `while_loop`: a recorded body that runs once per iteration, as one kernel and one node.
//!
//! Owns: what a loop takes and gives as tensors, and its node. Never walks iterations: `program/looped.rs` does.
//! Invariant: the loop reads what its node saves and what it was given, and nothing else.

use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;

use super::part::{Part, Traced, agreed, minus_zeros};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{
    self, Context, Edges, Flags, Foreign, Host, Rule, RuleRef, Saved, SavedValues, recording,
};
use crate::kernels::launch::{self, Object, Objects, Run};
use crate::kernels::{View, ViewMut};
use crate::ops::derive::backward::Endpoint;
use crate::ops::derive::joint::{Closures, Original, bytes, computed};
use crate::ops::derive::replay::{Signature, in_order};
use crate::program::{Condition, Loop, LoopParts, Trace};
use crate::tensor::{Edge, Tensor};

/// The estimated cost of the backward of a loop, in nanoseconds.
const COST_NS: f32 = 100_000.0;

/// What a loop goes over.
#[derive(Clone, Copy)]
pub struct Scanned<'a> {
    /// Tensors of one length.
    pub xs: &'a [Tensor],
    /// That length.
    pub length: usize,
    /// Whether the loop begins at the end.
    pub reverse: bool,
}

/// The last carry, then results stacked along a new first axis, of `carry, ys = f(carry, x)` for every x.
///
/// # Errors
/// What `f` reports; `Captured` when it cannot be recorded; `Shape` when the carry changes its form.
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
    Ok(looped.run(&given, original)?)
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
        let _off = graph::ModeGuard::grad(false);
        Part::record(carry, &none, host, condition)?
    };
    let part = settled(carry, carry, carry.len(), host, f)?;
    let cut = |(x, number): (&Tensor, &Option<usize>)| x.requires_grad() && number.is_none();
    if recording() && carry.iter().zip(&part.cotangents).any(cut) {
        return Err(loses_history().into());
    }
    let over = Scanned { xs: &[], length: usize::MAX, reverse: false };
    let outside = until.joint.outside.clone();
    let condition = Condition { program: until.joint.forward };
    let mut looped = looped(part, carry.len(), over, Some(condition));
    looped.outside.extend(outside);
    Ok(looped.run(carry, original)?)
}

/// What a loop without iterations gives.
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

/// The body, with those carried values requiring grad whose next ones do.
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

/// The element of a scanned tensor that comes first; zeros if there is none.
fn element(x: &Tensor, over: Scanned<'_>) -> Result<Tensor> {
    let dims = &x.shape()[1..];
    if over.length == 0 {
        return Tensor::zeros(dims, x.dtype());
    }
    let at = if over.reverse { over.length - 1 } else { 0 };
    Ok(x.detach().relaid(x.layout().select(0, at)))
}

/// A loop with what its node needs.
struct Looped {
    looped: Arc<Loop>,
    arguments: Vec<Signature>,
    results: Vec<Signature>,
    requires: Vec<bool>,
    closures: Vec<Endpoint>,
    /// Memory that body and condition read beside their arguments.
    outside: Vec<crate::array::Storage>,
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
    fn run(self, given: &[Tensor], original: Box<dyn Original>) -> Result<Vec<Tensor>> {
        let looped = &self.looped;
        let whole: Vec<Tensor> = given.iter().map(in_order).collect::<Result<_>>()?;
        let outside: Vec<Tensor> = self.outside.iter().map(bytes).collect::<Result<_>>()?;
        let mut results: Vec<Tensor> = Vec::with_capacity(self.results.len());
        for (i, Signature { dtype, dims }) in self.results.iter().enumerate() {
            let stacked = (i >= looped.carries()).then_some(looped.length());
            let dims: SmallVec<[usize; 5]> =
                stacked.into_iter().chain(dims.iter().copied()).collect();
            results.push(Tensor::empty(&dims, *dtype)?);
        }
        let tape = Tensor::empty(&[looped.tape_bytes()], DType::U8)?;
        let slot = launch::new_object();
        let mut objects: Objects = vec![None; slot + 1];
        let of_loop = Arc::clone(looped);
        let run: Run = Arc::new(move |reads, writes, objects| {
            objects[slot] = Some(Arc::new(of_loop.forward(reads, writes)?));
            Ok(())
        });
        let reads: Vec<View<'_>> = whole.iter().chain(&outside).map(Tensor::view_of).collect();
        let mut writes: Vec<ViewMut<'_>> =
            results.iter().chain([&tape]).map(Tensor::view_mut).collect();
        launch::run_kernel(looped.name(), &reads, &mut writes, run, &mut objects)?;
        let trace = objects.pop().flatten();
        if looped.histories().next().is_none() {
            return Ok(results);
        }
        self.record(given, results, (tape, outside, trace, slot), original)
    }

    fn record(
        self,
        given: &[Tensor],
        results: Vec<Tensor>,
        (tape, outside, trace, slot): (Tensor, Vec<Tensor>, Option<Object>, usize),
        original: Box<dyn Original>,
    ) -> Result<Vec<Tensor>> {
        let histories: Vec<usize> = self.looped.histories().collect();
        let saved: SavedValues<Tensor> = (0..)
            .zip(given)
            .map(|(i, x)| Saved::input(x, i))
            .chain(outside[..self.looped.outside()].iter().map(Saved::value))
            .chain([Saved::made(&tape)])
            .collect();
        let own = given.iter().zip(&self.requires);
        let edges: Edges<Tensor> = own
            .map(|(x, requires)| x.grad_edge().filter(|_| *requires))
            .chain(self.closures.iter().map(|point| Some(point.edge.clone())))
            .collect();
        let rule = LoopRule { of: self, original, trace, slot };
        let rule = RuleRef::Boxed(Box::new(rule));
        let count = results.len() as u32;
        let node = graph::record(rule, edges, saved, count, COST_NS, Flags::FOREIGN)?;
        let attach = |(k, result): (usize, Tensor)| match histories.contains(&k) {
            true => result.attach(Edge::new(node.clone(), k as u32)),
            false => result,
        };
        Ok(results.into_iter().enumerate().map(attach).collect())
    }
}

/// The rule of a loop's node.
struct LoopRule {
    of: Looped,
    original: Box<dyn Original>,
    /// What the forward loop left beside the tape, and its number among the objects of a recording.
    trace: Option<Object>,
    slot: usize,
}

impl LoopRule {
    fn replayed(&self, cx: &Context<'_, Tensor>) -> Result<Vec<Option<Tensor>>> {
        let Looped { looped, arguments, closures, .. } = &self.of;
        let scanned = looped.carries()..arguments.len();
        let xs: Vec<Tensor> = scanned.map(|i| in_order(&cx.saved(i)?)).collect::<Result<_>>()?;
        let rest: Vec<Tensor> =
            (arguments.len()..cx.saved_count()).map(|i| cx.saved(i)).collect::<Result<_>>()?;
        let cotangents: Vec<Tensor> =
            looped.histories().map(|k| self.cotangent(cx, k)).collect::<Result<_>>()?;
        let derived = looped.has_gradient().enumerate().filter(|(_, there)| *there);
        let found: Vec<Tensor> = derived
            .map(|(target, _)| match target.checked_sub(arguments.len()) {
                Some(closure) => closures[closure].spec.empty(),
                None if target < looped.carries() => arguments[target].spec(None).empty(),
                None => arguments[target].spec(Some(looped.length())).empty(),
            })
            .collect::<Result<_>>()?;
        let slot = self.slot;
        let of_loop = Arc::clone(looped);
        let run: Run = Arc::new(move |reads, writes, objects| {
            let trace = objects[slot].clone().and_then(|trace| trace.downcast::<Trace>().ok());
            of_loop.backward(reads, writes, trace.as_deref())
        });
        let mut objects: Objects = vec![None; slot + 1];
        objects[slot].clone_from(&self.trace);
        let inputs = xs.iter().chain(&rest).chain(&cotangents);
        let reads: Vec<View<'_>> = inputs.map(Tensor::view_of).collect();
        let mut writes: Vec<ViewMut<'_>> = found.iter().map(Tensor::view_mut).collect();
        launch::run_kernel(looped.name(), &reads, &mut writes, run, &mut objects)?;
        drop((reads, writes));
        let mut found = found.into_iter();
        Ok(looped.has_gradient().map(|there| if there { found.next() } else { None }).collect())
    }

    /// The gradient of a result; zeros if it has none.
    fn cotangent(&self, cx: &Context<'_, Tensor>, result: usize) -> Result<Tensor> {
        let looped = &self.of.looped;
        match cx.grad(result) {
            Some(grad) => in_order(grad),
            None => {
                let stacked = (result >= looped.carries()).then_some(looped.length());
                self.of.results[result].spec(stacked).zeros()
            }
        }
    }
}

impl Rule<Tensor> for LoopRule {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(self.of.looped.name())
    }

    fn backward(&self, cx: &mut Context<'_, Tensor>) -> Result<()> {
        let replayed = match cx.create_graph() {
            true => None,
            false => agreed(self.replayed(cx))?,
        };
        let grads = match replayed {
            Some(grads) => grads,
            None => {
                let closures: Vec<Edge> =
                    self.of.closures.iter().map(|point| point.edge.clone()).collect();
                let (closures, histories) =
                    (Closures::Reached(&closures), self.of.looped.histories());
                computed(cx, &self.of.requires, closures, histories, |copies| {
                    self.original.call(copies)
                })?
            }
        };
        for (i, grad) in grads.into_iter().enumerate() {
            if let Some(grad) = grad {
                cx.give(i, grad)?;
            }
        }
        Ok(())
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
