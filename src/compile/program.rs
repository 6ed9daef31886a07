//! `Program`: traces one call of a function of tensors, and runs the optimised kernels on other tensors.
//!
//! A traced function may differentiate inside; the results of a program have no history. Invariant: results are bit
//! for bit those of the function; external memory that the program writes gets a new version.

use smallvec::SmallVec;

pub(crate) use super::leaf_state::GradMemory;
use super::leaf_state::{Leaves, is_new_gradient, refuse_own_gradients, restore_grads};
use crate::array::{Elements, Layout, Storage, observer};
use crate::compile::host_call::host_objects;
use crate::compile::trace::buffers;
pub use crate::compile::{Executable, Output};
use crate::compile::{Source, TracedResult, Tracer};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::graph::{HostObjects, Mode, ModeGuard, SERIAL, TRANSFORM};
use crate::ops::core::shape_dtype::ShapeDType;
use crate::ops::inplace::write_access::WriteGuards;
use crate::tensor::Tensor;
use crate::tensor::traced_grad_effects;

const OP: &str = "compile";

/// The dtype and shape of an argument.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    /// Its dtype.
    pub dtype: DType,
    /// Its shape.
    pub dims: SmallVec<[usize; 4]>,
}

impl Signature {
    /// The signature of a tensor.
    pub(crate) fn of(x: &Tensor) -> Signature {
        Signature { dtype: x.dtype(), dims: x.shape().into() }
    }

    /// Bytes of the elements.
    pub(crate) fn nbytes(&self) -> usize {
        self.dims.iter().product::<usize>() * self.dtype.size()
    }

    /// The shape and dtype, with another leading axis.
    pub(crate) fn spec(&self, leading: Option<usize>) -> ShapeDType {
        let dims = leading.into_iter().chain(self.dims.iter().copied()).collect();
        ShapeDType { dims, dtype: self.dtype }
    }
}

/// Calls `f` as a dry run: undoes its side effects after `read_results` has read its results.
///
/// # Errors
/// What `f` raises; `NotTraceable` if `f` could not be traced.
#[cfg(feature = "python")]
pub(crate) fn dry_run<T, R, E: From<Box<Error>>>(
    f: impl FnOnce() -> Result<T, E>,
    read_results: impl FnOnce(T) -> Result<R, E>,
) -> Result<R, E> {
    let _mode = ModeGuard::switch(SERIAL, true);
    let _tracer = Tracer::begin(&[], &[], false)?;
    buffers::set_began_in_transform(Mode::current().has(TRANSFORM));
    let touched_leaves = traced_grad_effects::EffectScope::begin();
    let results = f();
    let touched_leaves = touched_leaves.end();
    let read = results.and_then(|results| {
        let _paused = observer::Pause::new();
        read_results(results)
    });
    restore_grads(&touched_leaves);
    read
}

/// A traced function of tensors.
///
/// ```
/// use ferrograd::{Program, Tensor, grad};
/// let x = Tensor::from(vec![0.5, 1.0]);
/// let slope = |xs: &[Tensor]| {
///     let x = xs[0].detach().with_grad();
///     grad(&[x.sin()?.sum_all()?], &[x])
/// };
/// let (program, first) = Program::trace(&[x], false, slope)?;
/// let again = program.run(&[Tensor::from(vec![2.0, 3.0])])?;
/// assert!((again[0].to_vec::<f64>()?[1] - 3.0f64.cos()).abs() < 1e-15);
/// # Ok::<(), Box<ferrograd::Error>>(())
/// ```
pub struct Program {
    executable: Executable,
    arguments: Vec<Signature>,
    /// How many outputs of the executable are results of the function; new gradients of leaves follow.
    results: usize,
    leaves: Leaves,
}

impl Program {
    /// Calls `f` with copies of the arguments and traces it. Returns the program and the results of `f`. With `has_scalars`,
    /// some arguments are Python scalars; a function that uses float32 is refused then.
    ///
    /// # Errors
    /// What `f` raises; `NotTraceable` if the function cannot be traced.
    pub fn trace<E: From<Box<Error>>>(
        arguments: &[Tensor],
        has_scalars: bool,
        f: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>, E>,
    ) -> Result<(Program, Vec<Tensor>), E> {
        let (program, results) = Program::try_trace(arguments, has_scalars, false, f)?;
        let missing = || Error::Internal { op: OP.into(), what: "there is no program".into() };
        Ok((program.ok_or_else(|| Box::new(missing()))?, results))
    }

    /// The same, but with `may_keep`, a call whose computed tensors escape (an optimiser's state made at its first
    /// step) counts as an eager call: its effects stay, and there is no program.
    ///
    /// # Errors
    /// As `trace`.
    pub fn try_trace<E: From<Box<Error>>>(
        arguments: &[Tensor],
        has_scalars: bool,
        may_keep: bool,
        f: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>, E>,
    ) -> Result<(Option<Program>, Vec<Tensor>), E> {
        let requires: Vec<bool> = arguments.iter().map(Tensor::requires_grad).collect();
        let copies = copy_arguments(arguments, &requires)?;
        // One thread makes every launch; kernels are still parallel inside.
        let _mode = ModeGuard::switch(SERIAL, true);
        let storages: Vec<&Storage> = copies.iter().map(Tensor::storage).collect();
        let argument_storages: Vec<&Storage> = arguments.iter().map(Tensor::storage).collect();
        let tracer = Tracer::begin(&storages, &argument_storages, has_scalars)?;
        buffers::set_began_in_transform(Mode::current().has(TRANSFORM));
        let touched_leaves = traced_grad_effects::EffectScope::begin();
        let results = f(&copies);
        let touched_leaves = touched_leaves.end();
        let results = results.inspect_err(|_| restore_grads(&touched_leaves))?;
        refuse_own_gradients(&touched_leaves, &copies)?;
        let grads: Vec<Option<Tensor>> =
            touched_leaves.iter().map(|leaf| leaf.meta.grad()).collect();
        let new_grads =
            touched_leaves.iter().zip(&grads).filter(|(leaf, grad)| is_new_gradient(leaf, grad));
        let new_grads: Vec<&Tensor> = new_grads.filter_map(|(_, grad)| grad.as_ref()).collect();
        let traced_results: Vec<TracedResult<'_>> =
            results.iter().chain(new_grads.iter().copied()).map(traced_result).collect();
        // A result that is the new gradient of a leaf is also referenced by the leaf.
        let is_gradient =
            |x: &&Tensor| new_grads.iter().any(|grad| grad.storage().same(x.storage()));
        let own = results.iter().filter(|x| !is_gradient(x));
        let held: Vec<&Storage> = copies.iter().chain(own).map(Tensor::storage).collect();
        let executable = tracer.finish(copies.len(), &traced_results, &held, may_keep);
        let Some(mut executable) = executable.inspect_err(|_| restore_grads(&touched_leaves))?
        else {
            return Ok((None, results));
        };
        let leaves = Leaves::of(&touched_leaves, &grads, results.len(), &mut executable);
        let arguments = copies.iter().map(Signature::of).collect();
        Ok((Some(Program { executable, arguments, results: results.len(), leaves }), results))
    }

    /// The number of results of the function.
    pub fn results(&self) -> usize {
        self.results
    }

    /// Whether a guard fails: gradients of leaves, or external memory whose contents were baked in, are not as at
    /// trace time. The function must be traced again then.
    pub fn is_stale(&self) -> bool {
        self.grad_memory().is_none()
    }

    /// The memory of gradients that a run takes after its arguments; `None` if the program is stale.
    #[inline]
    pub(crate) fn grad_memory(&self) -> Option<GradMemory> {
        if self.executable.is_stale() { None } else { self.leaves.grad_memory(&self.executable) }
    }

    /// The same for a run: shared gradients that it accumulates into are copied first.
    ///
    /// # Errors
    /// `Memory` if there is none for a copy.
    #[inline]
    pub(crate) fn unique_grad_memory(&self) -> Result<Option<GradMemory>> {
        if self.executable.is_stale() {
            return Ok(None);
        }
        self.leaves.make_grads_unique()?;
        Ok(self.leaves.grad_memory(&self.executable))
    }

    /// Whether gradients that a run accumulates into overlap none of its arguments.
    pub(crate) fn grads_disjoint_from(
        &self,
        gradients: &GradMemory,
        arguments: &[Elements<'_>],
    ) -> bool {
        let mut pairs = self.arguments.iter().zip(arguments);
        gradients.is_empty()
            || pairs.all(|(signature, elements)| {
                gradients.is_disjoint_from(elements, signature.nbytes())
            })
    }

    /// Whether a run writes to the memory of this argument.
    pub(crate) fn writes_to(&self, argument: &Tensor) -> bool {
        self.executable.external_written().any(|storage| storage.same(argument.storage()))
    }

    /// Python objects that the program owns.
    pub fn host_objects(&self) -> impl Iterator<Item = &dyn HostObjects> {
        host_objects(&self.executable)
    }

    /// The dtypes and shapes of the arguments.
    pub fn arguments(&self) -> &[Signature] {
        &self.arguments
    }

    /// The executable.
    pub fn executable(&self) -> &Executable {
        &self.executable
    }

    /// Computes the results for other arguments of the same dtypes and shapes.
    ///
    /// # Errors
    /// `Argument` if number, dtype or shape of the arguments differ; what a step raises.
    pub fn run(&self, arguments: &[Tensor]) -> Result<Vec<Tensor>> {
        self.check(OP, arguments)?;
        let inputs: Vec<Tensor> = arguments.iter().map(to_contiguous).collect::<Result<_>>()?;
        let gradients = self.unique_grad_memory()?;
        let mut elements: SmallVec<[Elements<'_>; 8]> =
            inputs.iter().map(tensor_elements).collect();
        let gradients =
            gradients.as_ref().filter(|memory| self.grads_disjoint_from(memory, &elements));
        let Some(gradients) = gradients else {
            return Err(Box::new(Error::State {
                op: OP.into(),
                what: "what the function read beside its arguments has changed".into(),
                remedy: "record the function again",
            }));
        };
        self.refuse_written(OP, arguments)?;
        elements.extend(gradients.elements());
        let writing = self.begin_run(gradients)?;
        let results = self.executable.compute(&elements)?;
        drop(writing);
        self.finish_run(&results, gradients)?;
        let outputs = 0..self.results;
        outputs.map(|number| self.result(number, &results, |i| Ok(inputs[i].clone()))).collect()
    }

    /// For each result buffer the index of the result that covers it in C order; `None` if there are other results,
    /// or results share a buffer.
    #[cfg(feature = "python")]
    pub(crate) fn contiguous_results(&self) -> Option<Vec<usize>> {
        let outputs = &self.executable.outputs()[..self.results];
        if self.leaves.take_results() || outputs.len() != self.executable.results().len() {
            return None;
        }
        let covers = |buffer, output: &Output| {
            let layout = &output.layout;
            output.buffer == buffer
                && layout.offset() == 0
                && layout.is_contiguous()
                && layout.numel() * output.dtype.size() == self.executable.nbytes(buffer)
        };
        let number = |&buffer| outputs.iter().position(|output| covers(buffer, output));
        self.executable.results().iter().map(number).collect()
    }

    /// Result `number` of a run with this result memory; `argument` returns an argument by its index.
    pub(crate) fn result<E: From<Box<Error>>>(
        &self,
        number: usize,
        results: &[Storage],
        argument: impl FnOnce(usize) -> Result<Tensor, E>,
    ) -> Result<Tensor, E> {
        let Output { buffer, ref layout, dtype } = self.executable.outputs()[number];
        let (storage, layout): (Storage, Layout) = match self.executable.source(buffer) {
            Source::Input(number) => {
                let argument = argument(*number)?;
                let offset = argument.layout().offset() + layout.offset();
                (argument.storage().clone(), layout.with_offset(offset))
            }
            Source::External(storage) => (storage.full_handle(), layout.clone()),
            Source::Constant(storage) => (storage.copy()?, layout.clone()),
            Source::Unused | Source::Temporary => (Storage::alloc(0)?, layout.clone()),
            Source::Output => (self.executable.result(buffer, results).clone(), layout.clone()),
        };
        Ok(Tensor::assemble(storage, layout, dtype, None))
    }

    /// Called before a run, and held during it: copies saved values in memory that the run writes.
    ///
    /// # Errors
    /// `Memory` if there is none for a copy, `InPlace` if a view of that memory forbids the write.
    pub(crate) fn begin_run<'a>(&'a self, gradients: &'a GradMemory) -> Result<WriteGuards<'a>> {
        let written = self.executable.external_written().chain(self.leaves.written(gradients));
        let writing = WriteGuards::for_program(OP, written)?;
        copy_saved_memory(&self.executable)?;
        self.leaves.copy_saved_gradients(gradients)?;
        Ok(writing)
    }

    /// Applies the side effects of a run: new versions of external memory, and gradients of leaves.
    pub(crate) fn finish_run(&self, results: &[Storage], gradients: &GradMemory) -> Result<()> {
        for storage in self.executable.external_written() {
            storage.bump_version(OP);
        }
        self.leaves.set_gradients(gradients, |number| {
            self.result(number, results, |_| Err(argument_as_gradient()))
        })
    }

    /// Refuses arguments whose memory a run writes.
    pub(super) fn refuse_written(&self, op: &'static str, arguments: &[Tensor]) -> Result<()> {
        if !arguments.iter().any(|argument| self.writes_to(argument)) {
            return Ok(());
        }
        Err(Box::new(Error::NotTraceable {
            op: op.into(),
            what: "an argument is memory that the function changes".into(),
            remedy: "pass a copy of it",
        }))
    }

    pub(super) fn check(&self, op: &'static str, arguments: &[Tensor]) -> Result<()> {
        if observer::is_active() {
            return Err(Box::new(Error::State {
                op: op.into(),
                what: "a program cannot run while another one is recorded".into(),
                remedy: "call the function that it was made from",
            }));
        }
        let fits = |(t, s): (&Tensor, &Signature)| t.dtype() == s.dtype && t.shape() == &s.dims[..];
        if arguments.len() == self.arguments.len()
            && arguments.iter().zip(&self.arguments).all(fits)
        {
            return Ok(());
        }
        let list = |of: &mut dyn Iterator<Item = (DType, &[usize])>| {
            let texts: Vec<String> = of.map(|(d, s)| format!("{d}{}", Dims::from(s))).collect();
            texts.join(", ")
        };
        let got = list(&mut arguments.iter().map(|t| (t.dtype(), t.shape())));
        let want = list(&mut self.arguments.iter().map(|s| (s.dtype, &s.dims[..])));
        Err(Box::new(Error::Argument {
            op: op.into(),
            what: format!("the arguments are {got}, and the program was recorded for {want}"),
            remedy: "record the function again for these".into(),
        }))
    }
}

/// Copies of the arguments of a call, scalars of NumPy's kind kept as such; those that require grad are leaves.
pub(crate) fn copy_arguments(arguments: &[Tensor], requires: &[bool]) -> Result<Vec<Tensor>> {
    let copies = copy_tensors(arguments, requires)?;
    Ok(copies.into_iter().zip(arguments).map(|(copy, x)| copy.with_kind_of(x)).collect())
}

/// Copies of tensors; those that require grad are leaves.
pub(crate) fn copy_tensors(arguments: &[Tensor], requires: &[bool]) -> Result<Vec<Tensor>> {
    let copy = |(x, &requires): (&Tensor, &bool)| {
        let copy = x.duplicate()?;
        Ok(if requires { copy.with_grad() } else { copy })
    };
    arguments.iter().zip(requires).map(copy).collect()
}

pub(crate) fn traced_result(t: &Tensor) -> TracedResult<'_> {
    (t.storage(), t.layout(), t.dtype())
}

#[cold]
fn argument_as_gradient() -> Box<Error> {
    Box::new(Error::NotTraceable {
        op: OP.into(),
        what: "an argument becomes the gradient of a leaf".into(),
        remedy: "give the leaf a copy of it",
    })
}

/// The elements of a contiguous tensor.
pub(crate) fn tensor_elements(x: &Tensor) -> Elements<'_> {
    Elements::of(x.storage(), byte_offset(x))
}

/// The byte offset of its first element.
pub(super) fn byte_offset(x: &Tensor) -> usize {
    x.layout().offset().unsigned_abs() * x.dtype().size()
}

/// The tensor, or a contiguous copy.
pub(crate) fn to_contiguous(x: &Tensor) -> Result<Tensor> {
    if x.is_contiguous() { Ok(x.clone()) } else { x.duplicate() }
}

/// Called before a run: copies saved values in external memory that the program writes.
///
/// # Errors
/// `Memory` if there is none for a copy; nothing has changed then.
pub(crate) fn copy_saved_memory(program: &Executable) -> Result<()> {
    for (storage, layout, dtype) in program.external_slices_written() {
        if storage.may_be_saved() {
            Tensor::assemble(storage.data_handle(), layout.clone(), *dtype, None).copy_saved()?;
        }
    }
    Ok(())
}
