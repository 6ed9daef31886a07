//! `switch` on tensors: traces all branches, launches the selected one as one kernel, and records one autograd node.
//!
//! Invariant: gradients flow through the selected branch; those of the others are zero.

use std::sync::Arc;

use super::branch_vjp::{Branches, Derived};
use super::launch_loop::Left;
use super::subprogram::{Part, cotangents_of, minus_zeros, restored, saved};
use crate::array::{Storage, capture};
use crate::compile::autograd::{
    BackwardProgram, Closures, Original, arguments, bytes, record_node,
};
use crate::compile::traced_function::{Signature, in_order};
use crate::compile::{Branch, BranchParts, Choice};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Context, Foreign, Host, NoHost, recording};
use crate::kernels::launch::Objects;
use crate::kernels::{View, ViewMut};
use crate::ops::autograd::backward::Endpoint;
use crate::ops::custom_op::Spec;
use crate::tensor::Tensor;

const NAME: &str = "switch";

/// The results of `functions[index]` on the operands. `index` is a scalar of int64 and is clamped to the range.
///
/// # Errors
/// What a branch raises; `Captured` if one cannot be traced; `Argument` if their results differ in number, dtype or
/// shape.
pub fn switch(
    index: &Tensor,
    operands: &[Tensor],
    functions: Vec<Box<dyn Original>>,
    host: &dyn Host,
) -> Result<Vec<Tensor>> {
    let requires: Vec<bool> = operands.iter().map(|x| recording() && x.requires_grad()).collect();
    let mut parts: Vec<Part> = Vec::with_capacity(functions.len());
    for branch in &functions {
        let f = |given: &[Tensor]| branch.call(given);
        parts.push(Part::record(operands, &requires, host, &f)?);
    }
    if parts.iter().any(|part| part.results != parts[0].results) {
        return Err(different());
    }
    let given: Vec<Tensor> = std::iter::once(index).chain(operands).cloned().collect();
    Switch::of(parts, &requires).run(&given, Branches(functions))
}

/// The traced branches with what their node needs.
struct Switch {
    choice: Arc<Choice>,
    results: Vec<Signature>,
    /// Whether the index (never) and the operands require grad.
    requires: Vec<bool>,
    /// The results that require grad in some branch.
    histories: Vec<usize>,
    /// The targets of gradients: index among the node's edges, shape and dtype.
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

    /// Runs the selected branch and records the node. `given` are the index and the operands.
    fn run(self, given: &[Tensor], functions: Branches) -> Result<Vec<Tensor>> {
        let whole: Vec<Tensor> = given.iter().map(in_order).collect::<Result<_>>()?;
        let outside: Vec<Tensor> = self.outside.iter().map(bytes).collect::<Result<_>>()?;
        let new = |signature: &Signature| signature.spec(None).empty();
        let results: Vec<Tensor> = self.results.iter().map(new).collect::<Result<_>>()?;
        let tape = Tensor::empty(&[self.choice.tape_bytes()], DType::U8)?;
        let choice = Arc::clone(&self.choice);
        let (reads, writes) = (whole.iter().chain(&outside), results.iter().chain([&tape]));
        let left =
            Left::by(NAME, reads, writes, move |reads, writes| choice.forward(reads, writes))?;
        if self.histories.is_empty() {
            return Ok(results);
        }
        let saved = saved(given, &outside, &tape);
        record_node(SwitchNode { of: self, functions, left }, given, saved, results)
    }
}

/// Builds the kernel's branch from a traced one.
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

/// The autograd node of a `switch`.
struct SwitchNode {
    of: Switch,
    functions: Branches,
    left: Left,
}

impl BackwardProgram for SwitchNode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn cost(&self) -> f32 {
        10_000.0
    }

    fn requires(&self) -> &[bool] {
        &self.of.requires
    }

    fn closures(&self) -> Closures<'_> {
        Closures::Reached(&self.of.closures)
    }

    fn outside(&self) -> (usize, &[Storage]) {
        (self.of.requires.len(), &self.of.outside)
    }

    fn keeps(&self, memory: &Storage) -> bool {
        self.functions.0.iter().any(|function| function.keeps(memory))
    }

    fn histories(&self) -> Vec<usize> {
        self.of.histories.clone()
    }

    fn replayed(&self, cx: &Context<'_, Tensor>) -> Result<Option<Vec<Option<Tensor>>>> {
        let Switch { choice, results, histories, targets, .. } = &self.of;
        let given: Vec<bool> = histories.iter().map(|&k| cx.grad(k).is_some()).collect();
        let Some(ways) = choice.ways(&given) else { return Ok(None) };
        let read: Vec<bool> =
            [true].into_iter().chain(choice.read_backward()).chain([true]).collect();
        let taken = (0..cx.saved_count()).map(|saved| restored(cx, saved, read[saved]));
        let mut reads = taken.collect::<Result<Vec<Tensor>>>()?;
        reads.extend(cotangents_of(
            cx,
            histories.iter().map(|&k| (k, results[k].spec(None))),
            true,
        )?);
        let found: Vec<Tensor> =
            targets.iter().map(|(_, spec)| spec.empty()).collect::<Result<_>>()?;
        let (choice, ways) = (Arc::clone(choice), Arc::new(ways));
        let (of_choice, of_pass) = (Arc::clone(&choice), Arc::clone(&ways));
        let kernel =
            move |reads: &[View<'_>], writes: &mut [ViewMut<'_>], left: Option<&Objects>| {
                let objects = left.map_or(&[][..], |objects| &objects[..]);
                of_choice.backward(&of_pass, reads, writes, objects)
            };
        self.left.taken(NAME, reads.iter(), found.iter(), kernel)?;
        let gives = |gradient: usize| choice.gives(&ways, gradient);
        let found = found.into_iter().enumerate();
        Ok(Some(self.placed(found.map(|(k, gradient)| gives(k).then_some(gradient)))))
    }

    fn call_again(&self, arguments: &[Tensor]) -> Result<Vec<Tensor>> {
        let index = arguments[0].item::<i64>()?.max(0) as usize;
        self.functions.0[index.min(self.functions.0.len() - 1)].call(&arguments[1..])
    }

    fn foreign(&self) -> Option<&dyn Foreign> {
        Some(&self.functions)
    }

    /// In a trace, where the index may change between runs, the gradients are a `switch` of the VJPs of the branches.
    fn derived(&self, cx: &Context<'_, Tensor>) -> Result<Vec<Option<Tensor>>> {
        let Switch { results, requires, histories, targets, closures, .. } = &self.of;
        if !capture::active() {
            return self.computed(cx);
        }
        let mut given = arguments(cx, requires.len())?;
        for &k in histories {
            let cotangent = cx.grad(k).cloned();
            given.push(cotangent.map_or_else(|| results[k].spec(None).zeros(), Ok)?);
        }
        let derived = |branch: &dyn Original| {
            Box::new(Derived {
                branch: branch.share(),
                requires: requires[1..].to_vec(),
                closures: closures.clone(),
                histories: histories.clone(),
                targets: targets.iter().map(|(_, spec)| spec.clone()).collect(),
            }) as Box<dyn Original>
        };
        let functions = self.functions.0.iter().map(|branch| derived(&**branch)).collect();
        let found = switch(&given[0], &given[1..], functions, &NoHost)?;
        Ok(self.placed(found.into_iter().map(Some)))
    }
}

impl SwitchNode {
    /// The gradients of the targets at their positions among the node's edges.
    fn placed(&self, found: impl Iterator<Item = Option<Tensor>>) -> Vec<Option<Tensor>> {
        let Switch { requires, targets, closures, .. } = &self.of;
        let mut grads: Vec<Option<Tensor>> = vec![None; requires.len() + closures.len()];
        for ((place, _), gradient) in targets.iter().zip(found) {
            grads[*place] = gradient;
        }
        grads
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
