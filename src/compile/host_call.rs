//! Host callbacks: Python code in the middle of a traced function (like JAX's `pure_callback`).
//!
//! The step copies operands in and results out. Invariant: a callback sees only memory of its own, and its results
//! have the shapes and dtypes of the trace.

use std::any::Any;
use std::sync::Arc;

use crate::array::observer;
use crate::compile::Executable;
use crate::compile::trace::buffers;
use crate::compile::trace::host_span::TraceMark;
use crate::compile::trace::tracer::with_steps;
use crate::error::{Dims, Error, Result};
use crate::graph::{HostObjects, Mode, ModeGuard, SERIAL};
pub use crate::kernels::launch::Object;
use crate::kernels::launch::{HOST_OBJECT, HostFunction, Launch, LaunchKind, Objects};
use crate::kernels::{self, View, ViewMut};
use crate::tensor::Tensor;

/// A Python function as a callback.
pub trait HostCallback: Send + Sync {
    /// Computes results from copies of the inputs; `run` is an object that the callbacks of one run share.
    ///
    /// # Errors
    /// What the callback raises.
    fn call(&self, inputs: Vec<Tensor>, run: &Object) -> Result<Vec<Tensor>>;

    /// A new object for the callbacks of one run to share.
    fn new_run(&self) -> Object;

    /// Saves the state that the callback changes as a side effect (a random generator).
    ///
    /// # Errors
    /// What the host raises.
    fn save_state(&self) -> Result<Option<Object>>;

    /// Restores that state.
    fn restore_state(&self, state: &Object);

    /// Python objects that the callback owns, for the garbage collector.
    fn host_objects(&self) -> &dyn HostObjects;
}

/// The step that calls a callback.
struct HostCallStep {
    name: &'static str,
    callback: Arc<dyn HostCallback>,
    /// The mode in which the callback ran when it was traced.
    mode: Mode,
}

impl HostCallStep {
    fn new_host(
        name: &'static str,
        callback: Arc<dyn HostCallback>,
        mode: Mode,
    ) -> Arc<dyn HostFunction> {
        Arc::new(HostCallStep { name, callback, mode: mode.with(SERIAL, false) })
    }

    #[cold]
    fn result_mismatch(&self, got: &[Tensor], want: &[ViewMut<'_>]) -> Box<Error> {
        let text = |dtype, dims: &[usize]| format!("{dtype}{}", Dims::from(dims));
        let got: Vec<String> = got.iter().map(|t| text(t.dtype(), t.shape())).collect();
        let want: Vec<String> = want.iter().map(|v| text(v.dtype, v.dims)).collect();
        Box::new(Error::NotTraceable {
            op: self.name.into(),
            what: format!(
                "it gave [{}] when the function was recorded, and gives [{}] now",
                want.join(", "),
                got.join(", ")
            ),
            remedy: "give results of the same number, dtypes and shapes in every call, or leave the function uncompiled",
        })
    }
}

impl HostFunction for HostCallStep {
    fn run(
        &self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        objects: &mut Objects,
    ) -> Result<()> {
        let mut inputs = Vec::with_capacity(reads.len());
        for &read in reads {
            let input = Tensor::empty(read.dims(), read.dtype())?;
            kernels::copy(read, input.view_mut());
            inputs.push(input);
        }
        let run = objects[HOST_OBJECT].get_or_insert_with(|| self.callback.new_run()).clone();
        let results = {
            let _mode = ModeGuard::new(self.mode);
            self.callback.call(inputs, &run)?
        };
        let matches_written =
            |(t, v): (&Tensor, &ViewMut<'_>)| t.dtype() == v.dtype && t.shape() == v.dims;
        if results.len() != writes.len() || !results.iter().zip(&*writes).all(matches_written) {
            return Err(self.result_mismatch(&results, writes));
        }
        for (result, written) in results.iter().zip(writes) {
            kernels::copy(result.view_of(), written.reborrow());
        }
        Ok(())
    }

    fn save_state(&self) -> Result<Option<Object>> {
        self.callback.save_state()
    }

    fn restore_state(&self, state: &Object) {
        self.callback.restore_state(state);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A span of this thread's trace during which host code runs.
///
/// Invariant: a program contains either the launches that host code made while it was traced, or the step
/// that calls it again, never both; and what it read then it finds in every run.
#[must_use = "the span ends when this is dropped"]
pub struct HostSpan {
    mark: TraceMark,
    is_open: bool,
}

impl HostSpan {
    /// Starts a span; `received` are the tensors that the host code receives. `None` if nothing is traced.
    #[inline]
    pub fn begin<'a>(received: impl Iterator<Item = &'a Tensor>) -> Option<HostSpan> {
        HostSpan::begin_with(|| received.map(|t| t.storage().ptr().addr()).collect())
    }

    /// The same, for base addresses of buffers.
    #[inline]
    pub fn begin_with(received: impl FnOnce() -> Vec<usize>) -> Option<HostSpan> {
        if observer::is_active() { HostSpan::begin_traced(received()) } else { None }
    }

    #[cold]
    fn begin_traced(received: Vec<usize>) -> Option<HostSpan> {
        let mark = with_steps(|steps| steps.mark())?;
        buffers::begin_host_span(received);
        Some(HostSpan { mark, is_open: true })
    }

    /// Whether the code read values of tensors, so that only calling it again repeats its effect.
    pub fn reads_values(&self) -> bool {
        buffers::host_span_reads_traced()
    }

    /// Drops the traced launches of the code: a step will call it again.
    fn drop_launches(mut self) -> Result<()> {
        self.is_open = false;
        let dropped = with_steps(|steps| steps.drop_since(self.mark));
        buffers::end_host_span(true);
        dropped.unwrap_or(Ok(()))
    }

    /// Replaces the steps traced during the span by one step that calls `callback`. Returns the results in memory that
    /// this step writes.
    ///
    /// # Errors
    /// `NotTraceable` if the code reads tensors of the function that were not passed to it.
    pub fn replace(
        self,
        name: &'static str,
        inputs: &[&Tensor],
        results: &[&Tensor],
        callback: Arc<dyn HostCallback>,
    ) -> Result<Vec<Tensor>> {
        self.replace_with(
            name,
            inputs,
            results,
            HostCallStep::new_host(name, callback, Mode::current()),
        )
    }

    fn replace_with(
        self,
        name: &'static str,
        inputs: &[&Tensor],
        results: &[&Tensor],
        host_step: Arc<dyn HostFunction>,
    ) -> Result<Vec<Tensor>> {
        self.drop_launches().map_err(|error| match *error {
            Error::NotTraceable { what, remedy, .. } => {
                Box::new(Error::NotTraceable { op: name.into(), what, remedy })
            }
            error => Box::new(error),
        })?;
        let mut outputs = Vec::with_capacity(results.len());
        for result in results {
            let output = Tensor::empty(result.shape(), result.dtype())?;
            let _paused = observer::Pause::new();
            kernels::copy(result.view_of(), output.view_mut());
            outputs.push(output);
        }
        let reads: Vec<View<'_>> = inputs.iter().map(|input| input.view_of()).collect();
        let writes: Vec<ViewMut<'_>> = outputs.iter().map(Tensor::view_mut).collect();
        let reads = reads.iter().map(Into::into).collect();
        let writes = writes.iter().map(Into::into).collect();
        let launch = Launch { name, reads, writes, work: LaunchKind::Host(host_step) };
        with_steps(|steps| steps.launch(launch));
        Ok(outputs)
    }
}

impl Drop for HostSpan {
    fn drop(&mut self) {
        if self.is_open {
            // Launches of failed code that had read values must not stay in the trace.
            let repeats = self.reads_values();
            if repeats {
                let _ = with_steps(|steps| steps.drop_since(self.mark));
            }
            buffers::end_host_span(repeats);
        }
    }
}

/// Calls a callback now and, if a trace is active, by a step of the program.
///
/// # Errors
/// What the callback raises; `NotTraceable` if it reads tensors of the function that were not passed to it.
pub fn call(
    name: &'static str,
    inputs: &[&Tensor],
    callback: Arc<dyn HostCallback>,
) -> Result<Vec<Tensor>> {
    let copies = || inputs.iter().map(|input| input.detach().duplicate()).collect::<Result<_>>();
    let Some(span) = HostSpan::begin(inputs.iter().copied()) else {
        return callback.call(copies()?, &callback.new_run());
    };
    let host_step = HostCallStep::new_host(name, callback.clone(), Mode::current());
    if let Some(state) = host_step.save_state()? {
        with_steps(|steps| steps.host_states.push((host_step.clone(), state)));
    }
    let run =
        with_steps(|steps| steps.host_object.get_or_insert_with(|| callback.new_run()).clone());
    let run = run.unwrap_or_else(|| callback.new_run());
    let results = callback.call(copies()?, &run)?;
    span.replace_with(name, inputs, &results.iter().collect::<Vec<_>>(), host_step)
}

/// Python objects that an executable owns.
pub(super) fn host_objects(program: &Executable) -> impl Iterator<Item = &dyn HostObjects> {
    let hosts = program.hosts().iter();
    hosts.filter_map(|host| {
        Some(host.as_any().downcast_ref::<HostCallStep>()?.callback.host_objects())
    })
}

/// Makes the active trace fail with this error.
pub fn refuse(error: Box<Error>) {
    with_steps(|steps| {
        steps.error.get_or_insert(error);
    });
}
