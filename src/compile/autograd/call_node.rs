//! The autograd node of a compiled call: runs the forward program, saves residuals, and runs the backward program.
//!
//! Invariant: the node saves the external memory that its backward program reads, so that a later change in place is
//! detected.

use std::sync::Arc;

use smallvec::SmallVec;

use super::backward_node::{BackwardProgram, record_node};
use super::higher_order::{Closures, Original};
use super::joint_trace::JointReplay;
use crate::array::{Elements, Layout, Storage};
use crate::compile::traced_function::keep_saved_memory;
use crate::compile::traced_function::{elements, in_order};
use crate::compile::{Output, Program, Source, States, places};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Context, Foreign, Saved, SavedValues};
use crate::kernels::launch::Objects;
use crate::ops::inplace::write_access::Writings;
use crate::tensor::Tensor;

const OP: &str = "compile";

impl JointReplay {
    /// Runs the forward program and records one node. `original` computes the same results eagerly, for higher
    /// derivatives.
    ///
    /// # Errors
    /// What a step raises; as [`record`](crate::graph::record).
    pub fn apply(
        self: &Arc<Self>,
        arguments: &[Tensor],
        original: Box<dyn Original>,
    ) -> Result<Vec<Tensor>> {
        let forward = &self.joint.forward;
        let whole: Vec<Tensor> = arguments.iter().map(in_order).collect::<Result<_>>()?;
        let inputs: SmallVec<[Elements<'_>; 8]> = whole.iter().map(elements).collect();
        let memory = forward.allocate()?;
        let states = forward.states()?;
        let writing = Writings::of_run(OP, forward.written_outside())?;
        keep_saved_memory(forward)?;
        let objects = forward.run_part(&inputs, &mut places(&memory), &[])?;
        drop(writing);
        for storage in forward.written_outside() {
            storage.bump_version(OP);
        }
        let mut raws: Vec<Tensor> = Vec::with_capacity(self.cotangents.len());
        for output in forward.outputs() {
            let raw = result(forward, output, &memory, |n| whole[n].clone())?;
            let shared = raws.iter().any(|other| other.storage().same(raw.storage()));
            raws.push(if shared { raw.duplicate()? } else { raw });
        }
        let saved = self.saved(arguments, &memory)?;
        let program = Compiled { joint: Arc::clone(self), original, objects, states };
        record_node(program, arguments, saved, raws)
    }

    /// The saved values of the node: arguments, residuals, and external memory that the backward program reads.
    fn saved(&self, arguments: &[Tensor], memory: &[Storage]) -> Result<SavedValues<Tensor>> {
        let forward = &self.joint.forward;
        let arguments = (0..).zip(arguments).map(|(i, x)| Ok(Saved::input(x, i)));
        let residuals = self.joint.residuals.iter().map(|&id| forward.result(id, memory));
        arguments
            .chain(residuals.map(|storage| Ok(Saved::value(&bytes(storage)?))))
            .chain(self.outside.iter().map(|storage| Ok(Saved::value(&bytes(storage)?))))
            .collect()
    }
}

/// The whole buffer as a flat tensor, with the widest dtype that divides its size.
pub(crate) fn bytes(storage: &Storage) -> Result<Tensor> {
    let words = [DType::F64, DType::F32, DType::U8];
    let fits = |dtype: &DType| storage.nbytes().is_multiple_of(dtype.size());
    let dtype = words.into_iter().find(fits).unwrap_or(DType::U8);
    let layout = Layout::contiguous(&[storage.nbytes() / dtype.size()])?;
    Ok(Tensor::assemble(storage.data_handle(), layout, dtype, None))
}

/// An output of a run as a tensor that owns its memory.
fn result(
    program: &Program,
    output: &Output,
    memory: &[Storage],
    input: impl FnOnce(usize) -> Tensor,
) -> Result<Tensor> {
    let Output { buffer, layout, dtype } = output;
    let of = |storage: Storage| Tensor::assemble(storage, layout.clone(), *dtype, None);
    match program.source(*buffer) {
        Source::Output => Ok(of(program.result(*buffer, memory).clone())),
        Source::Input(number) => {
            let whole = input(*number);
            let offset = whole.layout().offset() + layout.offset();
            let storage = whole.storage().clone();
            Tensor::assemble(storage, layout.with_offset(offset), *dtype, None).duplicate()
        }
        Source::Outside(storage) => of(storage.full_handle()).duplicate(),
        Source::Constant(storage) => Ok(of(storage.copy()?)),
        Source::Unused | Source::Temporary => Ok(of(Storage::alloc(0)?)),
    }
}

/// The backward program of one compiled call.
struct Compiled {
    joint: Arc<JointReplay>,
    original: Box<dyn Original>,
    /// Objects that the forward program left for the backward program.
    objects: Objects,
    /// The state of host callbacks (random generators) before the forward run.
    states: States,
}

impl BackwardProgram for Compiled {
    fn name(&self) -> &'static str {
        "compiled"
    }

    fn cost(&self) -> f32 {
        10_000.0
    }

    fn requires(&self) -> &[bool] {
        &self.joint.requires
    }

    fn closures(&self) -> Closures<'_> {
        Closures::Exactly(&self.joint.closures)
    }

    fn outside(&self) -> (usize, &[Storage]) {
        let joint = &self.joint;
        (joint.arguments.len() + joint.joint.residuals.len(), &joint.outside)
    }

    fn keeps(&self, memory: &Storage) -> bool {
        self.original.keeps(memory)
    }

    fn histories(&self) -> Vec<usize> {
        let cotangents = (0..).zip(&self.joint.cotangents);
        cotangents.filter_map(|(k, cotangent)| cotangent.map(|_| k)).collect()
    }

    fn replayed(&self, cx: &Context<'_, Tensor>) -> Result<Option<Vec<Option<Tensor>>>> {
        let JointReplay { joint, arguments, grads, .. } = &*self.joint;
        let given: Vec<bool> = self.histories().iter().map(|&k| cx.grad(k).is_some()).collect();
        let narrowed = if given.contains(&false) {
            let Some(narrowed) = self.joint.narrowed(&given) else { return Ok(None) };
            Some(narrowed)
        } else {
            None
        };
        let program = narrowed.as_ref().map_or(&joint.backward, |narrowed| &narrowed.program);
        let mut whole: Vec<Option<Tensor>> = Vec::new();
        for i in 0..arguments.len() {
            let read = program.reads_input(i);
            whole.push(if read { Some(in_order(&cx.saved(i)?)?) } else { None });
        }
        for k in self.histories() {
            whole.push(cx.grad(k).map(in_order).transpose()?);
        }
        let mut saved = arguments.len()..;
        let mut next = || saved.next().map(|saved| cx.saved(saved)).transpose();
        for _ in &joint.residuals {
            whole.push(next()?);
        }
        for _ in &joint.outside {
            let read = joint.backward.reads_input(whole.len());
            whole.push(if read { next()? } else { None });
        }
        // Saved only as a guard: raises if this memory was changed in place since the forward run.
        for _ in joint.backward.read_where_it_lies() {
            next()?;
        }
        let inputs: SmallVec<[Elements<'_>; 8]> = whole[..program.inputs()]
            .iter()
            .map(|x| x.as_ref().map_or_else(Elements::unread, elements))
            .collect();
        let memory = program.allocate()?;
        program.run_part(&inputs, &mut places(&memory), &self.objects)?;
        let read = |n: usize| whole[n].clone().expect("an input that is a result is there");
        let number = |n: usize| narrowed.as_ref().map_or(Some(n), |narrowed| narrowed.numbers[n]);
        let grad = |n: usize| result(program, &program.outputs()[n], &memory, read);
        let found = grads.iter().map(|n| n.and_then(number).map(grad).transpose());
        found.collect::<Result<_>>().map(Some)
    }

    fn foreign(&self) -> Option<&dyn Foreign> {
        self.original.foreign()
    }

    /// Restores the generator state of the forward run, so that the function draws the same random numbers.
    fn call_again(&self, copies: &[Tensor]) -> Result<Vec<Tensor>> {
        let forward = &self.joint.joint.forward;
        if forward.is_stale() || forward.written_outside().next().is_some() {
            return Err(runs_otherwise());
        }
        let now = forward.states()?;
        self.states.iter().for_each(|(host, state)| host.give_back(state));
        let results = self.original.call(copies);
        now.iter().for_each(|(host, state)| host.give_back(state));
        results
    }
}

#[cold]
fn runs_otherwise() -> Box<Error> {
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
