//! `switch` on tensors: traces all branches, launches the selected one as one kernel, and records one autograd node.
//!
//! Invariant: gradients flow through the selected branch; those of the others are zero.

use std::sync::Arc;

use super::branch_vjp::{BranchFunctions, BranchVjp};
use super::kernel_pair::ForwardState;
use super::subprogram::{Subprogram, cotangents_of, minus_zeros, saved_or_empty, saved_values};
use crate::array::{Storage, observer};
use crate::compile::autograd::{
    BackwardProgram, Closures, OriginalFunction, as_flat_tensor, record_node, saved_arguments,
};
use crate::compile::program::{Signature, to_contiguous};
use crate::compile::{Branch, BranchParts, BranchSet};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Context, Host, HostObjects, NoHost, recording};
use crate::kernels::launch::Objects;
use crate::kernels::{View, ViewMut};
use crate::ops::autograd::backward::Endpoint;
use crate::ops::core::shape_dtype::ShapeDType;
use crate::tensor::Tensor;

const NAME: &str = "switch";

/// The results of `functions[index]` on the operands. `index` is a scalar of int64 and is clamped to the range.
///
/// # Errors
/// What a branch raises; `NotTraceable` if one cannot be traced; `Argument` if their results differ in number, dtype or
/// shape.
pub fn switch(
    index: &Tensor,
    operands: &[Tensor],
    functions: Vec<Box<dyn OriginalFunction>>,
    host: &dyn Host,
) -> Result<Vec<Tensor>> {
    let requires: Vec<bool> = operands.iter().map(|x| recording() && x.requires_grad()).collect();
    let mut subprograms: Vec<Subprogram> = Vec::with_capacity(functions.len());
    for branch in &functions {
        let f = |operands: &[Tensor]| branch.call(operands);
        subprograms.push(Subprogram::trace(operands, &requires, host, &f)?);
    }
    if subprograms.iter().any(|subprogram| subprogram.results != subprograms[0].results) {
        return Err(branches_differ());
    }
    let inputs: Vec<Tensor> = std::iter::once(index).chain(operands).cloned().collect();
    TracedSwitch::of(subprograms, &requires).run(&inputs, BranchFunctions(functions))
}

/// The traced branches with what their node needs.
struct TracedSwitch {
    branch_set: Arc<BranchSet>,
    results: Vec<Signature>,
    /// Whether the index (never) and the operands require grad.
    requires: Vec<bool>,
    /// The results that require grad in some branch.
    grad_results: Vec<usize>,
    /// The targets of gradients: index among the node's edges, shape and dtype.
    targets: Vec<(usize, ShapeDType)>,
    closures: Vec<Endpoint>,
    external: Vec<Storage>,
}

impl TracedSwitch {
    fn of(subprograms: Vec<Subprogram>, requires: &[bool]) -> TracedSwitch {
        let results = subprograms[0].results.clone();
        let operands = subprograms[0].arguments.clone();
        let requires_grad_somewhere =
            |k: &usize| subprograms.iter().any(|subprogram| subprogram.cotangents[*k].is_some());
        let grad_results: Vec<usize> = (0..results.len()).filter(requires_grad_somewhere).collect();
        let mut closures: Vec<Endpoint> = Vec::new();
        for target in subprograms.iter().flat_map(|subprogram| &subprogram.closures) {
            if !closures.iter().any(|known| known.edge == target.edge) {
                closures.push(target.clone());
            }
        }
        let argument_targets = requires.iter().zip(&operands).enumerate();
        let argument_targets = argument_targets.filter(|(_, (requires, _))| **requires);
        let argument_targets =
            argument_targets.map(|(i, (_, signature))| (1 + i, signature.spec(None)));
        let closed = (1 + operands.len()..).zip(closures.iter().map(|target| target.spec.clone()));
        let targets: Vec<(usize, ShapeDType)> = argument_targets.chain(closed).collect();
        let nbytes = |spec: &ShapeDType| spec.dims.iter().product::<usize>() * spec.dtype.size();
        let mut external = Vec::new();
        let branches = subprograms.into_iter().map(|mut subprogram| {
            let read = std::mem::take(&mut subprogram.executables.external);
            let count = read.len();
            external.extend(read);
            branch(subprogram, count, &grad_results, &targets, &closures)
        });
        let branch_set = BranchSet {
            branches: branches.collect(),
            operands: operands.len(),
            result_bytes: results.iter().map(Signature::nbytes).collect(),
            gradient_bytes: targets.iter().map(|(_, spec)| nbytes(spec)).collect(),
        };
        let requires = std::iter::once(false).chain(requires.iter().copied()).collect();
        let branch_set = Arc::new(branch_set);
        TracedSwitch { branch_set, results, requires, grad_results, targets, closures, external }
    }

    /// Runs the selected branch and records the node. `inputs` are the index and the operands.
    fn run(self, inputs: &[Tensor], functions: BranchFunctions) -> Result<Vec<Tensor>> {
        let contiguous_inputs: Vec<Tensor> =
            inputs.iter().map(to_contiguous).collect::<Result<_>>()?;
        let external: Vec<Tensor> =
            self.external.iter().map(as_flat_tensor).collect::<Result<_>>()?;
        let new = |signature: &Signature| signature.spec(None).empty();
        let results: Vec<Tensor> = self.results.iter().map(new).collect::<Result<_>>()?;
        let tape = Tensor::empty(&[self.branch_set.tape_bytes()], DType::U8)?;
        let branch_set = Arc::clone(&self.branch_set);
        let (reads, writes) =
            (contiguous_inputs.iter().chain(&external), results.iter().chain([&tape]));
        let forward_state =
            ForwardState::run_forward(NAME, reads, writes, move |reads, writes| {
                branch_set.forward(reads, writes)
            })?;
        if self.grad_results.is_empty() {
            return Ok(results);
        }
        let saved_values = saved_values(inputs, &external, &tape);
        record_node(
            SwitchNode { inner: self, functions, forward_state },
            inputs,
            saved_values,
            results,
        )
    }
}

/// Builds the kernel's branch from a traced one.
fn branch(
    subprogram: Subprogram,
    external: usize,
    grad_results: &[usize],
    targets: &[(usize, ShapeDType)],
    closures: &[Endpoint],
) -> Branch {
    let taken = (0..).zip(&subprogram.cotangents).filter_map(|(k, number)| number.map(|_| k));
    let cotangent_index = |k: usize| grad_results.iter().position(|&history| history == k);
    let cotangents = taken.filter_map(cotangent_index).collect();
    let operands = subprogram.arguments.len();
    let edge_of = |target: usize| match target.checked_sub(operands) {
        None => Some(1 + target),
        Some(closure) => {
            let edge = &subprogram.closures[closure].edge;
            let index = closures.iter().position(|target| target.edge == *edge)?;
            Some(1 + operands + index)
        }
    };
    let computed = (0..).zip(&subprogram.grads).filter(|(_, number)| number.is_some());
    let gradients = computed.filter_map(|(target, _)| {
        let edge_index = edge_of(target)?;
        targets.iter().position(|(edge, _)| *edge == edge_index)
    });
    Branch::new(BranchParts {
        external,
        cotangents,
        initial_sums: subprogram.closures.iter().map(minus_zeros).collect(),
        gradients: gradients.collect(),
        body: subprogram.executables,
    })
}

/// The autograd node of a `switch`.
struct SwitchNode {
    inner: TracedSwitch,
    functions: BranchFunctions,
    forward_state: ForwardState,
}

impl BackwardProgram for SwitchNode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn cost(&self) -> f32 {
        10_000.0
    }

    fn requires(&self) -> &[bool] {
        &self.inner.requires
    }

    fn closures(&self) -> Closures<'_> {
        Closures::Subset(&self.inner.closures)
    }

    fn external(&self) -> (usize, &[Storage]) {
        (self.inner.requires.len(), &self.inner.external)
    }

    fn has_copy_of(&self, memory: &Storage) -> bool {
        self.functions.0.iter().any(|function| function.has_copy_of(memory))
    }

    fn grad_results(&self) -> Vec<usize> {
        self.inner.grad_results.clone()
    }

    fn run_program(&self, cx: &Context<'_, Tensor>) -> Result<Option<Vec<Option<Tensor>>>> {
        let TracedSwitch { branch_set, results, grad_results, targets, .. } = &self.inner;
        let present: Vec<bool> = grad_results.iter().map(|&k| cx.grad(k).is_some()).collect();
        let Some(backwards) = branch_set.backwards(&present) else { return Ok(None) };
        let read: Vec<bool> =
            [true].into_iter().chain(branch_set.read_backward()).chain([true]).collect();
        let saved_inputs =
            (0..cx.saved_count()).map(|index| saved_or_empty(cx, index, read[index]));
        let mut reads = saved_inputs.collect::<Result<Vec<Tensor>>>()?;
        reads.extend(cotangents_of(
            cx,
            grad_results.iter().map(|&k| (k, results[k].spec(None))),
            true,
        )?);
        let gradients: Vec<Tensor> =
            targets.iter().map(|(_, spec)| spec.empty()).collect::<Result<_>>()?;
        let (branch_set, backwards) = (Arc::clone(branch_set), Arc::new(backwards));
        let (kernel_branches, kernel_backwards) = (Arc::clone(&branch_set), Arc::clone(&backwards));
        let kernel = move |reads: &[View<'_>],
                           writes: &mut [ViewMut<'_>],
                           forward_state: Option<&Objects>| {
            let objects = forward_state.map_or(&[][..], |objects| &objects[..]);
            kernel_branches.backward(&kernel_backwards, reads, writes, objects)
        };
        self.forward_state.run_backward(NAME, reads.iter(), gradients.iter(), kernel)?;
        let computes = |gradient: usize| branch_set.computes(&backwards, gradient);
        let gradients = gradients.into_iter().enumerate();
        Ok(Some(self.by_edge(gradients.map(|(k, gradient)| computes(k).then_some(gradient)))))
    }

    fn call_original(&self, arguments: &[Tensor]) -> Result<Vec<Tensor>> {
        let index = arguments[0].item::<i64>()?.max(0) as usize;
        self.functions.0[index.min(self.functions.0.len() - 1)].call(&arguments[1..])
    }

    fn host_objects(&self) -> Option<&dyn HostObjects> {
        Some(&self.functions)
    }

    /// In a trace, where the index may change between runs, the gradients are a `switch` of the VJPs of the branches.
    fn differentiable_gradients(&self, cx: &Context<'_, Tensor>) -> Result<Vec<Option<Tensor>>> {
        let TracedSwitch { results, requires, grad_results, targets, closures, .. } = &self.inner;
        if !observer::is_active() {
            return self.gradients_by_original(cx);
        }
        let mut inputs = saved_arguments(cx, requires.len())?;
        for &k in grad_results {
            let cotangent = cx.grad(k).cloned();
            inputs.push(cotangent.map_or_else(|| results[k].spec(None).zeros(), Ok)?);
        }
        let vjp = |branch: &dyn OriginalFunction| {
            Box::new(BranchVjp {
                branch: branch.share(),
                requires: requires[1..].to_vec(),
                closures: closures.clone(),
                grad_results: grad_results.clone(),
                targets: targets.iter().map(|(_, spec)| spec.clone()).collect(),
            }) as Box<dyn OriginalFunction>
        };
        let functions = self.functions.0.iter().map(|branch| vjp(&**branch)).collect();
        let gradients = switch(&inputs[0], &inputs[1..], functions, &NoHost)?;
        Ok(self.by_edge(gradients.into_iter().map(Some)))
    }
}

impl SwitchNode {
    /// The gradients of the targets at their positions among the node's edges.
    fn by_edge(&self, gradients: impl Iterator<Item = Option<Tensor>>) -> Vec<Option<Tensor>> {
        let TracedSwitch { requires, targets, closures, .. } = &self.inner;
        let mut grads: Vec<Option<Tensor>> = vec![None; requires.len() + closures.len()];
        for ((edge, _), gradient) in targets.iter().zip(gradients) {
            grads[*edge] = gradient;
        }
        grads
    }
}

#[cold]
fn branches_differ() -> Box<Error> {
    Box::new(Error::Argument {
        op: NAME.into(),
        what: "the branches give different numbers, dtypes or shapes of results".into(),
        remedy: "give the same from each".into(),
    })
}
