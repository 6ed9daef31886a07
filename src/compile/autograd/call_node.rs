//! The autograd node of a compiled call: runs the forward program, saves residuals, and runs the backward program.
//!
//! Invariant: the node saves the external memory that its backward program reads, so that a later change in place is
//! detected.

use std::sync::Arc;

use smallvec::SmallVec;

use super::backward_node::{BackwardProgram, record_node};
use super::differentiable_program::DifferentiableProgram;
use super::higher_order::{Closures, OriginalFunction};
use crate::array::{Elements, Layout, Storage};
use crate::compile::program::copy_saved_memory;
use crate::compile::program::{tensor_elements, to_contiguous};
use crate::compile::{Executable, HostStates, Output, Source, elements_mut};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Context, HostObjects, Saved, SavedValues};
use crate::kernels::launch::Objects;
use crate::ops::inplace::write_access::WriteGuards;
use crate::tensor::Tensor;

const OP: &str = "compile";

impl DifferentiableProgram {
    /// Runs the forward program and records one node. `original` computes the same results eagerly, for higher
    /// derivatives.
    ///
    /// # Errors
    /// What a step raises; as [`record`](crate::graph::record).
    pub fn apply(
        self: &Arc<Self>,
        arguments: &[Tensor],
        original: Box<dyn OriginalFunction>,
    ) -> Result<Vec<Tensor>> {
        let forward = &self.executables.forward;
        let inputs: Vec<Tensor> = arguments.iter().map(to_contiguous).collect::<Result<_>>()?;
        let elements: SmallVec<[Elements<'_>; 8]> = inputs.iter().map(tensor_elements).collect();
        let memory = forward.allocate()?;
        let host_states = forward.host_states()?;
        let writing = WriteGuards::for_program(OP, forward.external_written())?;
        copy_saved_memory(forward)?;
        let objects = forward.run_with_objects(&elements, &mut elements_mut(&memory), &[])?;
        drop(writing);
        for storage in forward.external_written() {
            storage.bump_version(OP);
        }
        let mut results: Vec<Tensor> = Vec::with_capacity(self.cotangents.len());
        for output in forward.outputs() {
            let raw = output_tensor(forward, output, &memory, |n| inputs[n].clone())?;
            let shared = results.iter().any(|other| other.storage().same(raw.storage()));
            results.push(if shared { raw.duplicate()? } else { raw });
        }
        let saved = self.saved(arguments, &memory)?;
        let program = CallNode { program: Arc::clone(self), original, objects, host_states };
        record_node(program, arguments, saved, results)
    }

    /// The saved values of the node: arguments, residuals, and external memory that the backward program reads.
    fn saved(&self, arguments: &[Tensor], memory: &[Storage]) -> Result<SavedValues<Tensor>> {
        let forward = &self.executables.forward;
        let arguments = (0..).zip(arguments).map(|(i, x)| Ok(Saved::input(x, i)));
        let residuals = self.executables.residuals.iter().map(|&id| forward.result(id, memory));
        arguments
            .chain(residuals.map(|storage| Ok(Saved::value(&as_flat_tensor(storage)?))))
            .chain(self.external.iter().map(|storage| Ok(Saved::value(&as_flat_tensor(storage)?))))
            .collect()
    }
}

/// The whole buffer as a flat tensor, with the widest dtype that divides its size.
pub(crate) fn as_flat_tensor(storage: &Storage) -> Result<Tensor> {
    let words = [DType::F64, DType::F32, DType::U8];
    let fits = |dtype: &DType| storage.nbytes().is_multiple_of(dtype.size());
    let dtype = words.into_iter().find(fits).unwrap_or(DType::U8);
    let layout = Layout::contiguous(&[storage.nbytes() / dtype.size()])?;
    Ok(Tensor::assemble(storage.data_handle(), layout, dtype, None))
}

/// An output of a run as a tensor that owns its memory.
fn output_tensor(
    program: &Executable,
    output: &Output,
    memory: &[Storage],
    input: impl FnOnce(usize) -> Tensor,
) -> Result<Tensor> {
    let Output { buffer, layout, dtype } = output;
    let tensor_over = |storage: Storage| Tensor::assemble(storage, layout.clone(), *dtype, None);
    match program.source(*buffer) {
        Source::Output => Ok(tensor_over(program.result(*buffer, memory).clone())),
        Source::Input(number) => {
            let argument = input(*number);
            let offset = argument.layout().offset() + layout.offset();
            let storage = argument.storage().clone();
            Tensor::assemble(storage, layout.with_offset(offset), *dtype, None).duplicate()
        }
        Source::External(storage) => tensor_over(storage.full_handle()).duplicate(),
        Source::Constant(storage) => Ok(tensor_over(storage.copy()?)),
        Source::Unused | Source::Temporary => Ok(tensor_over(Storage::alloc(0)?)),
    }
}

/// The backward program of one compiled call.
struct CallNode {
    program: Arc<DifferentiableProgram>,
    original: Box<dyn OriginalFunction>,
    /// Objects that the forward program left for the backward program.
    objects: Objects,
    /// The state of host callbacks (random generators) before the forward run.
    host_states: HostStates,
}

impl BackwardProgram for CallNode {
    fn name(&self) -> &'static str {
        "compiled"
    }

    fn cost(&self) -> f32 {
        10_000.0
    }

    fn requires(&self) -> &[bool] {
        &self.program.requires
    }

    fn closures(&self) -> Closures<'_> {
        Closures::Exact(&self.program.closures)
    }

    fn external(&self) -> (usize, &[Storage]) {
        let program = &self.program;
        (program.arguments.len() + program.executables.residuals.len(), &program.external)
    }

    fn has_copy_of(&self, memory: &Storage) -> bool {
        self.original.has_copy_of(memory)
    }

    fn grad_results(&self) -> Vec<usize> {
        let cotangents = (0..).zip(&self.program.cotangents);
        cotangents.filter_map(|(k, cotangent)| cotangent.map(|_| k)).collect()
    }

    fn run_program(&self, cx: &Context<'_, Tensor>) -> Result<Option<Vec<Option<Tensor>>>> {
        let DifferentiableProgram { executables, arguments, grads, .. } = &*self.program;
        let present: Vec<bool> =
            self.grad_results().iter().map(|&k| cx.grad(k).is_some()).collect();
        let partial = if present.contains(&false) {
            let Some(partial) = self.program.for_cotangents(&present) else { return Ok(None) };
            Some(partial)
        } else {
            None
        };
        let program = partial.as_ref().map_or(&executables.backward, |partial| &partial.program);
        let mut inputs: Vec<Option<Tensor>> = Vec::new();
        for i in 0..arguments.len() {
            let read = program.reads_input(i);
            inputs.push(if read { Some(to_contiguous(&cx.saved(i)?)?) } else { None });
        }
        for k in self.grad_results() {
            inputs.push(cx.grad(k).map(to_contiguous).transpose()?);
        }
        let mut saved = arguments.len()..;
        let mut next = || saved.next().map(|saved| cx.saved(saved)).transpose();
        for _ in &executables.residuals {
            inputs.push(next()?);
        }
        for _ in &executables.external {
            let read = executables.backward.reads_input(inputs.len());
            inputs.push(if read { next()? } else { None });
        }
        // Saved only as a guard: raises if this memory was changed in place since the forward run.
        for _ in executables.backward.external_read() {
            next()?;
        }
        let elements: SmallVec<[Elements<'_>; 8]> = inputs[..program.inputs()]
            .iter()
            .map(|x| x.as_ref().map_or_else(Elements::null, tensor_elements))
            .collect();
        let memory = program.allocate()?;
        program.run_with_objects(&elements, &mut elements_mut(&memory), &self.objects)?;
        let read = |n: usize| inputs[n].clone().expect("an input that is a result is there");
        let number =
            |n: usize| partial.as_ref().map_or(Some(n), |partial| partial.output_indices[n]);
        let grad = |n: usize| output_tensor(program, &program.outputs()[n], &memory, read);
        let gradients = grads.iter().map(|n| n.and_then(number).map(grad).transpose());
        gradients.collect::<Result<_>>().map(Some)
    }

    fn host_objects(&self) -> Option<&dyn HostObjects> {
        self.original.host_objects()
    }

    /// Restores the generator state of the forward run, so that the function draws the same random numbers.
    fn call_original(&self, copies: &[Tensor]) -> Result<Vec<Tensor>> {
        let forward = &self.program.executables.forward;
        if forward.is_stale() || forward.external_written().next().is_some() {
            return Err(not_repeatable());
        }
        let now = forward.host_states()?;
        self.host_states.iter().for_each(|(host, state)| host.restore_state(state));
        let results = self.original.call(copies);
        now.iter().for_each(|(host, state)| host.restore_state(state));
        results
    }
}

#[cold]
fn not_repeatable() -> Box<Error> {
    Box::new(Error::State {
        op: OP.into(),
        what:
            "this backward runs the function again (create_graph is set, or an operation has several \
               results of which some have no gradient), which would not do what it did: it changes \
               memory outside, or a number that it read has changed"
                .into(),
        remedy: "return only results that are used, or call the function without fg.compile",
    })
}
