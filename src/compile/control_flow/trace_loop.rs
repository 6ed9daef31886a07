//! `scan` and `while_loop` on tensors: traces the body, launches the loop as one kernel, and records one autograd
//! node. The iterations run in `compile/control_flow/run_loop.rs`.
//!
//! Invariant: the loop reads the memory that its node saves, and nothing else.

use std::sync::Arc;

use super::kernel_pair::ForwardState;
use super::subprogram::{
    Subprogram, Traced, cotangents_of, minus_zeros, saved_or_empty, saved_values,
};
use crate::array::{Storage, observer};
use crate::compile::autograd::{
    BackwardProgram, Closures, OriginalFunction, as_flat_tensor, record_node,
};
use crate::compile::program::{Signature, to_contiguous};
use crate::compile::{Condition, LoopParts, LoopProgram, LoopResiduals};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Context, Host, HostObjects, ModeGuard, detach_if_long, recording};
use crate::kernels::{View, ViewMut};
use crate::ops::autograd::backward::Endpoint;
use crate::ops::core::shape_dtype::ShapeDType;
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
    pub checkpoint_interval: usize,
}

/// The final carry, then the stacked results of `carry, ys = f(carry, x)` for every element `x`.
///
/// # Errors
/// What `f` raises; `NotTraceable` if it cannot be traced; `Shape` if the carry changes its shape or dtype.
pub fn scan<E: From<Box<Error>>>(
    carry: &[Tensor],
    scanned: Scanned<'_>,
    original: Box<dyn OriginalFunction>,
    host: &dyn Host,
    f: Traced<'_, E>,
) -> std::result::Result<Vec<Tensor>, E> {
    let first =
        scanned.xs.iter().map(|x| first_element(x, scanned)).collect::<Result<Vec<Tensor>>>()?;
    let arguments: Vec<Tensor> = carry.iter().cloned().chain(first).collect();
    let operands: Vec<Tensor> = carry.iter().chain(scanned.xs).cloned().collect();
    let subprogram = trace_body(&arguments, &operands, carry.len(), host, f)?;
    if scanned.length == 0 {
        return Ok(results_of_no_iteration(carry, &subprogram)?);
    }
    let traced_loop = build_loop(subprogram, carry.len(), scanned, None);
    Ok(traced_loop.run(&operands, original, host)?)
}

/// The carry after `while condition(carry): carry = f(carry)`.
///
/// # Errors
/// As `scan`.
pub fn while_loop<E: From<Box<Error>>>(
    carry: &[Tensor],
    original: Box<dyn OriginalFunction>,
    host: &dyn Host,
    condition: Traced<'_, E>,
    f: Traced<'_, E>,
) -> std::result::Result<Vec<Tensor>, E> {
    let none = vec![false; carry.len()];
    let condition_program = {
        let _off = ModeGuard::grad(false);
        Subprogram::trace(carry, &none, host, condition)?
    };
    let subprogram = trace_body(carry, carry, carry.len(), host, f)?;
    let loses_grad = |(x, number): (&Tensor, &Option<usize>)| x.requires_grad() && number.is_none();
    if recording() && carry.iter().zip(&subprogram.cotangents).any(loses_grad) {
        return Err(loses_history().into());
    }
    let scanned = Scanned { xs: &[], length: usize::MAX, reverse: false, checkpoint_interval: 1 };
    let external = condition_program.executables.external.clone();
    let condition = Condition { program: condition_program.executables.forward };
    let mut traced_loop = build_loop(subprogram, carry.len(), scanned, Some(condition));
    traced_loop.external.extend(external);
    Ok(traced_loop.run(carry, original, host)?)
}

/// The results of a loop without iterations.
fn results_of_no_iteration(carry: &[Tensor], subprogram: &Subprogram) -> Result<Vec<Tensor>> {
    let stacked =
        subprogram.results[carry.len()..].iter().map(|result| result.spec(Some(0)).zeros());
    carry.iter().cloned().map(Ok).chain(stacked).collect()
}

#[cold]
fn loses_history() -> Box<Error> {
    Box::new(Error::NotTraceable {
        op: "while_loop".into(),
        what: "a carried value requires grad, and what the body makes of it does not".into(),
        remedy: "detach it before the loop",
    })
}

/// Traces the body. A carried value requires grad if the one that follows it does, so that tracing is repeated until
/// this no longer changes.
fn trace_body<E: From<Box<Error>>>(
    arguments: &[Tensor],
    operands: &[Tensor],
    carries: usize,
    host: &dyn Host,
    f: Traced<'_, E>,
) -> std::result::Result<Subprogram, E> {
    let mut requires: Vec<bool> =
        operands.iter().map(|x| recording() && x.requires_grad()).collect();
    loop {
        let subprogram = Subprogram::trace(arguments, &requires, host, f)?;
        for (before, now) in subprogram.arguments.iter().zip(&subprogram.results).take(carries) {
            if before != now {
                return Err(carry_changed(before, now).into());
            }
        }
        let mut changed_requires = false;
        for (requires, history) in requires.iter_mut().zip(&subprogram.cotangents).take(carries) {
            changed_requires |= history.is_some() && !*requires;
            *requires |= history.is_some();
        }
        if !changed_requires {
            return Ok(subprogram);
        }
    }
}

/// The element that iteration 0 reads; zeros for a loop of length 0.
fn first_element(x: &Tensor, scanned: Scanned<'_>) -> Result<Tensor> {
    let dims = &x.shape()[1..];
    if scanned.length == 0 {
        return Tensor::zeros(dims, x.dtype());
    }
    let index = if scanned.reverse { scanned.length - 1 } else { 0 };
    Ok(x.detach().into_layout(x.layout().select(0, index)))
}

/// A traced loop with what its node needs.
struct TracedLoop {
    program: Arc<LoopProgram>,
    arguments: Vec<Signature>,
    results: Vec<Signature>,
    requires: Vec<bool>,
    closures: Vec<Endpoint>,
    /// The external memory of the body, then that of the condition.
    external: Vec<Storage>,
}

fn build_loop(
    subprogram: Subprogram,
    carries: usize,
    scanned: Scanned<'_>,
    condition: Option<Condition>,
) -> TracedLoop {
    let sizes = |all: &[Signature]| all.iter().map(Signature::nbytes).collect::<Vec<usize>>();
    let Subprogram { mut executables, arguments, results, requires, cotangents, closures, grads } =
        subprogram;
    let external = std::mem::take(&mut executables.external);
    let program = LoopProgram::new(LoopParts {
        condition,
        external: external.len(),
        carries,
        scanned: scanned.xs.len(),
        length: scanned.length,
        reverse: scanned.reverse,
        checkpoint_interval: scanned.checkpoint_interval,
        argument_bytes: sizes(&arguments),
        result_bytes: sizes(&results),
        initial_sums: closures.iter().map(minus_zeros).collect(),
        cotangents,
        grads,
        body: executables,
    });
    TracedLoop { program: Arc::new(program), arguments, results, requires, closures, external }
}

impl TracedLoop {
    /// Runs the loop and records its node.
    fn run(
        self,
        operands: &[Tensor],
        original: Box<dyn OriginalFunction>,
        host: &dyn Host,
    ) -> Result<Vec<Tensor>> {
        let program = &self.program;
        let contiguous_inputs: Vec<Tensor> =
            operands.iter().map(to_contiguous).collect::<Result<_>>()?;
        let external: Vec<Tensor> =
            self.external.iter().map(as_flat_tensor).collect::<Result<_>>()?;
        let results: Vec<Tensor> =
            (0..self.results.len()).map(|k| self.result(k).empty()).collect::<Result<_>>()?;
        let tape = Tensor::empty(&[program.tape_bytes()], DType::U8)?;
        let loop_kernel = Arc::clone(program);
        let (reads, writes) =
            (contiguous_inputs.iter().chain(&external), results.iter().chain([&tape]));
        let forward_state = detach_if_long(host, program.cost(), || {
            ForwardState::run_forward(program.name(), reads, writes, move |reads, writes| {
                loop_kernel.forward(reads, writes)
            })
        })?;
        if program.grad_results().next().is_none() {
            return Ok(results);
        }
        let saved_values = saved_values(operands, &external, &tape);
        record_node(
            LoopNode { inner: self, original, forward_state },
            operands,
            saved_values,
            results,
        )
    }

    /// The shape and dtype of a result.
    fn result(&self, k: usize) -> ShapeDType {
        let stacked = (k >= self.program.carries()).then_some(self.program.length());
        self.results[k].spec(stacked)
    }

    /// The shape and dtype of the gradient of an argument or a closure.
    fn target(&self, target: usize) -> ShapeDType {
        match target.checked_sub(self.arguments.len()) {
            Some(closure) => self.closures[closure].spec.clone(),
            None => {
                let scanned = target >= self.program.carries();
                self.arguments[target].spec(scanned.then_some(self.program.length()))
            }
        }
    }
}

/// The autograd node of a loop.
struct LoopNode {
    inner: TracedLoop,
    original: Box<dyn OriginalFunction>,
    forward_state: ForwardState,
}

impl BackwardProgram for LoopNode {
    fn name(&self) -> &'static str {
        self.inner.program.name()
    }

    fn cost(&self) -> f32 {
        100_000.0
    }

    fn requires(&self) -> &[bool] {
        &self.inner.requires
    }

    fn closures(&self) -> Closures<'_> {
        Closures::Subset(&self.inner.closures)
    }

    fn external(&self) -> (usize, &[Storage]) {
        (self.inner.arguments.len(), &self.inner.external)
    }

    fn has_copy_of(&self, memory: &Storage) -> bool {
        self.original.has_copy_of(memory)
    }

    fn grad_results(&self) -> Vec<usize> {
        self.inner.program.grad_results().collect()
    }

    fn run_program(&self, cx: &Context<'_, Tensor>) -> Result<Option<Vec<Option<Tensor>>>> {
        let program = &self.inner.program;
        let present: Vec<bool> = program.grad_results().map(|k| cx.grad(k).is_some()).collect();
        let partial_plan = program.backward_plan(Some(&present));
        let (exact, endless) = (partial_plan.is_some(), program.length() == usize::MAX);
        // A trace does not know the length of a `while_loop`: missing cotangents are zeros there.
        let for_all = || program.backward_plan(None).filter(|_| endless && observer::is_active());
        let Some(plan) = partial_plan.or_else(for_all) else { return Ok(None) };
        let read = program.read_backward().enumerate().skip(program.carries());
        // The saved values after these are the external memory of a condition and, last, the tape.
        let saved_inputs = read.chain([(cx.saved_count() - 1, true)]);
        let saved_inputs = saved_inputs.map(|(index, read)| saved_or_empty(cx, index, read));
        let mut reads = saved_inputs.collect::<Result<Vec<Tensor>>>()?;
        let results = program.grad_results().map(|k| (k, self.inner.result(k)));
        reads.extend(cotangents_of(cx, results, exact)?);
        let computed = plan.gradients().enumerate().filter(|(_, is_computed)| *is_computed);
        let gradients: Vec<Tensor> =
            computed.map(|(target, _)| self.inner.target(target).empty()).collect::<Result<_>>()?;
        let (loop_kernel, plan) = (Arc::clone(program), Arc::new(plan));
        let plan_of_kernel = Arc::clone(&plan);
        let kernel = move |reads: &[View<'_>],
                           writes: &mut [ViewMut<'_>],
                           forward_state: Option<&LoopResiduals>| {
            loop_kernel.backward(&plan_of_kernel, reads, writes, forward_state)
        };
        self.forward_state.run_backward(program.name(), reads.iter(), gradients.iter(), kernel)?;
        let mut gradients = gradients.into_iter();
        Ok(Some(
            plan.gradients()
                .map(|is_computed| if is_computed { gradients.next() } else { None })
                .collect(),
        ))
    }

    fn call_original(&self, arguments: &[Tensor]) -> Result<Vec<Tensor>> {
        self.original.call(arguments)
    }

    fn host_objects(&self) -> Option<&dyn HostObjects> {
        self.original.host_objects()
    }
}

#[cold]
fn carry_changed(before: &Signature, now: &Signature) -> Box<Error> {
    Box::new(Error::Argument {
        op: "scan".into(),
        what: format!(
            "a carried value was {}{:?} and became {}{:?}",
            before.dtype, before.dims, now.dtype, now.dims
        ),
        remedy: "keep its dtype and shape".into(),
    })
}
