//! `switch`: recorded branches of which one runs, as one kernel and one node.
//!
//! Owns: what the branches have in common, and the node. Never chooses: `program/choice.rs` does.
//! Invariant: gradients flow through the branch that ran; those of the others are zero.

use std::borrow::Cow;
use std::sync::Arc;

use super::part::{Part, Traced, agreed, minus_zeros};
use crate::array::Storage;
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
use crate::ops::function::Spec;
use crate::program::{Branch, BranchParts, Choice};
use crate::tensor::{Edge, Tensor};

/// The estimated cost of the backward of a branch, in nanoseconds.
const COST_NS: f32 = 10_000.0;
const NAME: &str = "switch";

/// The results of `branches[index]` on the operands; `index` is one int64, and one outside the range means the nearest.
/// `original` is given the index, then the operands.
///
/// # Errors
/// What a branch reports; `Captured` when one cannot be recorded; `Argument` when they give different forms.
pub fn switch<E: From<Box<Error>>>(
    index: &Tensor,
    operands: &[Tensor],
    original: Box<dyn Original>,
    host: &dyn Host,
    branches: &[Traced<'_, E>],
) -> std::result::Result<Vec<Tensor>, E> {
    let requires: Vec<bool> = operands.iter().map(|x| recording() && x.requires_grad()).collect();
    let mut parts: Vec<Part> = Vec::with_capacity(branches.len());
    for branch in branches {
        parts.push(Part::record(operands, &requires, host, *branch)?);
    }
    if parts.iter().any(|part| part.results != parts[0].results) {
        return Err(different().into());
    }
    let given: Vec<Tensor> = std::iter::once(index).chain(operands).cloned().collect();
    Ok(Switch::of(parts, &requires).run(&given, original)?)
}

/// Branches with what their node needs.
struct Switch {
    choice: Arc<Choice>,
    results: Vec<Signature>,
    /// Which of index and operands require grad.
    requires: Vec<bool>,
    /// The results that have a history in some branch.
    histories: Vec<usize>,
    /// The targets: positions among the node's edges, with what a gradient is like.
    targets: Vec<(usize, Spec)>,
    closures: Vec<Endpoint>,
    outside: Vec<Storage>,
}

impl Switch {
    fn of(parts: Vec<Part>, requires: &[bool]) -> Switch {
        let results = parts[0].results.clone();
        let operands = parts[0].arguments.clone();
        let has = |k: &usize| parts.iter().any(|part| part.cotangents[*k].is_some());
        let histories: Vec<usize> = (0..results.len()).filter(has).collect();
        let mut closures: Vec<Endpoint> = Vec::new();
        for point in parts.iter().flat_map(|part| &part.closures) {
            if !closures.iter().any(|known| known.edge == point.edge) {
                closures.push(point.clone());
            }
        }
        let own = requires.iter().zip(&operands).enumerate();
        let own = own.filter(|(_, (requires, _))| **requires);
        let own = own.map(|(i, (_, signature))| (1 + i, signature.spec(None)));
        let closed = (1 + operands.len()..).zip(closures.iter().map(|point| point.spec.clone()));
        let targets: Vec<(usize, Spec)> = own.chain(closed).collect();
        let nbytes = |spec: &Spec| spec.dims.iter().product::<usize>() * spec.dtype.size();
        let mut outside = Vec::new();
        let branches = parts.into_iter().map(|mut part| {
            let own = std::mem::take(&mut part.joint.outside);
            let count = own.len();
            outside.extend(own);
            branch(part, count, &histories, &targets, &closures)
        });
        let choice = Choice {
            branches: branches.collect(),
            operands: operands.len(),
            result_bytes: results.iter().map(Signature::nbytes).collect(),
            derived_bytes: targets.iter().map(|(_, spec)| nbytes(spec)).collect(),
        };
        let requires = std::iter::once(false).chain(requires.iter().copied()).collect();
        let choice = Arc::new(choice);
        Switch { choice, results, requires, histories, targets, closures, outside }
    }

    /// Runs a branch and records the node. `given` are the index and the operands.
    fn run(self, given: &[Tensor], original: Box<dyn Original>) -> Result<Vec<Tensor>> {
        let whole: Vec<Tensor> = given.iter().map(in_order).collect::<Result<_>>()?;
        let outside: Vec<Tensor> = self.outside.iter().map(bytes).collect::<Result<_>>()?;
        let new = |signature: &Signature| signature.spec(None).empty();
        let results: Vec<Tensor> = self.results.iter().map(new).collect::<Result<_>>()?;
        let tape = Tensor::empty(&[self.choice.tape_bytes()], DType::U8)?;
        let slot = launch::new_object();
        let mut objects: Objects = vec![None; slot + 1];
        let choice = Arc::clone(&self.choice);
        let run: Run = Arc::new(move |reads, writes, objects| {
            objects[slot] = Some(Arc::new(choice.forward(reads, writes)?));
            Ok(())
        });
        let reads: Vec<View<'_>> = whole.iter().chain(&outside).map(Tensor::view_of).collect();
        let mut writes: Vec<ViewMut<'_>> =
            results.iter().chain([&tape]).map(Tensor::view_mut).collect();
        launch::run_kernel(NAME, &reads, &mut writes, run, &mut objects)?;
        if self.histories.is_empty() {
            return Ok(results);
        }
        let saved: SavedValues<Tensor> = (0..)
            .zip(given)
            .map(|(i, x)| Saved::input(x, i))
            .chain(outside.iter().map(Saved::value))
            .chain([Saved::made(&tape)])
            .collect();
        let own = given.iter().zip(&self.requires);
        let edges: Edges<Tensor> = own
            .map(|(x, requires)| x.grad_edge().filter(|_| *requires))
            .chain(self.closures.iter().map(|point| Some(point.edge.clone())))
            .collect();
        let histories = self.histories.clone();
        let made = objects.pop().flatten();
        let rule = RuleRef::Boxed(Box::new(SwitchRule { of: self, original, made, slot }));
        let count = results.len() as u32;
        let node = graph::record(rule, edges, saved, count, COST_NS, Flags::FOREIGN)?;
        let attach = |(k, result): (usize, Tensor)| match histories.contains(&k) {
            true => result.attach(Edge::new(node.clone(), k as u32)),
            false => result,
        };
        Ok(results.into_iter().enumerate().map(attach).collect())
    }
}

/// A part as a branch of a choice with these gradients.
fn branch(
    part: Part,
    outside: usize,
    histories: &[usize],
    targets: &[(usize, Spec)],
    closures: &[Endpoint],
) -> Branch {
    let taken = (0..).zip(&part.cotangents).filter_map(|(k, own)| own.map(|_| k));
    let place = |k: usize| histories.iter().position(|&history| history == k);
    let cotangents = taken.filter_map(place).collect();
    let operands = part.arguments.len();
    let edge_of = |target: usize| match target.checked_sub(operands) {
        None => Some(1 + target),
        Some(own) => {
            let edge = &part.closures[own].edge;
            let at = closures.iter().position(|point| point.edge == *edge)?;
            Some(1 + operands + at)
        }
    };
    let given = (0..).zip(&part.grads).filter(|(_, number)| number.is_some());
    let derived = given.filter_map(|(target, _)| {
        let edge = edge_of(target)?;
        targets.iter().position(|(place, _)| *place == edge)
    });
    Branch::new(BranchParts {
        outside,
        cotangents,
        nothing: part.closures.iter().map(minus_zeros).collect(),
        derived: derived.collect(),
        body: part.joint,
    })
}

/// The rule of a node of branches.
struct SwitchRule {
    of: Switch,
    original: Box<dyn Original>,
    /// The objects of the branch that ran, and their number among those of a recording.
    made: Option<Object>,
    slot: usize,
}

impl SwitchRule {
    fn replayed(&self, cx: &Context<'_, Tensor>) -> Result<Vec<Option<Tensor>>> {
        let Switch { choice, results, requires, histories, targets, closures, .. } = &self.of;
        let own: Vec<Tensor> =
            (0..requires.len()).map(|i| in_order(&cx.saved(i)?)).collect::<Result<_>>()?;
        let rest: Vec<Tensor> =
            (requires.len()..cx.saved_count()).map(|i| cx.saved(i)).collect::<Result<_>>()?;
        let cotangent = |&k: &usize| match cx.grad(k) {
            Some(grad) => in_order(grad),
            None => results[k].spec(None).zeros(),
        };
        let cotangents: Vec<Tensor> = histories.iter().map(cotangent).collect::<Result<_>>()?;
        let found: Vec<Tensor> =
            targets.iter().map(|(_, spec)| spec.empty()).collect::<Result<_>>()?;
        let (slot, choice) = (self.slot, Arc::clone(choice));
        let run: Run = Arc::new(move |reads, writes, objects| {
            let made = objects[slot].clone().and_then(|made| made.downcast::<Objects>().ok());
            choice.backward(reads, writes, &made.map_or_else(Vec::new, |made| (*made).clone()))
        });
        let mut objects: Objects = vec![None; slot + 1];
        objects[slot].clone_from(&self.made);
        let inputs = own.iter().chain(&rest).chain(&cotangents);
        let reads: Vec<View<'_>> = inputs.map(Tensor::view_of).collect();
        let mut writes: Vec<ViewMut<'_>> = found.iter().map(Tensor::view_mut).collect();
        launch::run_kernel(NAME, &reads, &mut writes, run, &mut objects)?;
        drop((reads, writes));
        let mut grads: Vec<Option<Tensor>> = vec![None; requires.len() + closures.len()];
        for ((place, _), gradient) in targets.iter().zip(found) {
            grads[*place] = Some(gradient);
        }
        Ok(grads)
    }
}

impl Rule<Tensor> for SwitchRule {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(NAME)
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
                    (Closures::Reached(&closures), self.of.histories.iter().copied());
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
fn different() -> Box<Error> {
    Box::new(Error::Argument {
        op: NAME.into(),
        what: "the branches give different numbers, dtypes or shapes of results".into(),
        remedy: "give the same from each".into(),
    })
}
