//! Host code on tensors in the middle of a recorded function.
//!
//! Owns: the step that calls it, which copies operands in and results out, and the stretch of a recording during which it
//! runs. Never knows the host language, and never differentiates: a custom function does.
//! Invariant: host code sees memory of its own, and its results have the shapes and dtypes that were recorded.

use std::any::Any;
use std::sync::Arc;

use crate::array::capture;
use crate::compile::Program;
use crate::error::{Dims, Error, Result};
use crate::graph::{Foreign, Mode, ModeGuard, SERIAL};
use crate::kernels::host_call;
use crate::kernels::host_call::{Host, HostSpan};
pub use crate::kernels::launch::Object;
use crate::kernels::launch::{self, HOST_OBJECT, Objects};
use crate::kernels::{self, View, ViewMut};
use crate::tensor::Tensor;

/// Code of the host language.
pub trait HostCode: Send + Sync {
    /// Computes results from copies of the inputs; `run` is what the host code of one run shares.
    ///
    /// # Errors
    /// What the code raises.
    fn call(&self, inputs: Vec<Tensor>, run: &Object) -> Result<Vec<Tensor>>;

    /// What the host code of a new run shares.
    fn new_run(&self) -> Object;

    /// What the code changes beside its results, as it is now.
    ///
    /// # Errors
    /// What the host raises.
    fn hold(&self) -> Result<Option<Object>>;

    /// Puts that back.
    fn give_back(&self, held: &Object);

    /// Objects of the host language that the code owns.
    fn foreign(&self) -> &dyn Foreign;
}

/// A step that calls host code.
struct HostStep {
    name: &'static str,
    code: Arc<dyn HostCode>,
    /// The mode in which the code ran.
    mode: Mode,
}

impl HostStep {
    fn step(name: &'static str, code: Arc<dyn HostCode>, mode: Mode) -> Arc<dyn Host> {
        Arc::new(HostStep { name, code, mode: mode.with(SERIAL, false) })
    }

    #[cold]
    fn unlike(&self, got: &[Tensor], want: &[ViewMut<'_>]) -> Box<Error> {
        let text = |dtype, dims: &[usize]| format!("{dtype}{}", Dims::from(dims));
        let got: Vec<String> = got.iter().map(|t| text(t.dtype(), t.shape())).collect();
        let want: Vec<String> = want.iter().map(|v| text(v.dtype, v.dims)).collect();
        Box::new(Error::Captured {
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

impl Host for HostStep {
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
        let run = objects[HOST_OBJECT].get_or_insert_with(|| self.code.new_run()).clone();
        let results = {
            let _mode = ModeGuard::new(self.mode);
            self.code.call(inputs, &run)?
        };
        let like = |(t, v): (&Tensor, &ViewMut<'_>)| t.dtype() == v.dtype && t.shape() == v.dims;
        if results.len() != writes.len() || !results.iter().zip(&*writes).all(like) {
            return Err(self.unlike(&results, writes));
        }
        for (result, written) in results.iter().zip(writes) {
            kernels::copy(result.view_of(), written.reborrow());
        }
        Ok(())
    }

    fn hold(&self) -> Result<Option<Object>> {
        self.code.hold()
    }

    fn give_back(&self, held: &Object) {
        self.code.give_back(held);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A part of the recording of this thread in which host code runs.
pub struct HostStretch(HostSpan);

impl HostStretch {
    /// Begins a stretch of code that was given these tensors; `None` outside recordings.
    #[inline]
    pub fn begin<'a>(given: impl Iterator<Item = &'a Tensor>) -> Option<HostStretch> {
        HostStretch::begin_with(|| given.map(|t| t.storage().ptr().addr()).collect())
    }

    /// The same for code that was given the memory at these addresses.
    #[inline]
    pub fn begin_with(given: impl FnOnce() -> Vec<usize>) -> Option<HostStretch> {
        if capture::active() { HostSpan::begin(given()).map(HostStretch) } else { None }
    }

    /// Whether the code read values, so that only calling it again repeats what it did.
    pub fn reads_values(&self) -> bool {
        self.0.reads_values()
    }

    /// Has a step call `code` in the place of what was recorded since the stretch began. Returns the results in memory
    /// that the step writes.
    ///
    /// # Errors
    /// `Captured` when the code looks at tensors of the function that it was not given.
    pub fn replace(
        self,
        name: &'static str,
        inputs: &[&Tensor],
        results: &[&Tensor],
        code: Arc<dyn HostCode>,
    ) -> Result<Vec<Tensor>> {
        self.give_way(name, inputs, results, HostStep::step(name, code, Mode::current()))
    }

    fn give_way(
        self,
        name: &'static str,
        inputs: &[&Tensor],
        results: &[&Tensor],
        step: Arc<dyn Host>,
    ) -> Result<Vec<Tensor>> {
        self.0.give_way().map_err(|error| match *error {
            Error::Captured { what, remedy, .. } => {
                Box::new(Error::Captured { op: name.into(), what, remedy })
            }
            error => Box::new(error),
        })?;
        let mut outs = Vec::with_capacity(results.len());
        for result in results {
            let out = Tensor::empty(result.shape(), result.dtype())?;
            let _paused = capture::Pause::new();
            kernels::copy(result.view_of(), out.view_mut());
            outs.push(out);
        }
        let reads: Vec<View<'_>> = inputs.iter().map(|input| input.view_of()).collect();
        let writes: Vec<ViewMut<'_>> = outs.iter().map(Tensor::view_mut).collect();
        host_call::record(name, &reads, &writes, step);
        Ok(outs)
    }
}

/// Calls host code: at once, and in a recording also by a step of the program.
///
/// # Errors
/// What the code raises; `Captured` when it looks at tensors of the recorded function that it was not given.
pub fn call(
    name: &'static str,
    inputs: &[&Tensor],
    code: Arc<dyn HostCode>,
) -> Result<Vec<Tensor>> {
    let copies = || inputs.iter().map(|input| input.detach().duplicate()).collect::<Result<_>>();
    let Some(stretch) = HostStretch::begin(inputs.iter().copied()) else {
        return code.call(copies()?, &code.new_run());
    };
    let step = HostStep::step(name, code.clone(), Mode::current());
    host_call::hold(&step)?;
    let run = host_call::object(&|| code.new_run());
    let results = code.call(copies()?, &run)?;
    stretch.give_way(name, inputs, &results.iter().collect::<Vec<_>>(), step)
}

/// Objects of the host language that a program owns.
pub(super) fn foreign(program: &Program) -> impl Iterator<Item = &dyn Foreign> {
    let hosts = program.hosts().iter();
    hosts.filter_map(|host| Some(host.as_any().downcast_ref::<HostStep>()?.code.foreign()))
}

/// Has the recording of this thread fail with this error.
pub fn refuse(error: Box<Error>) {
    launch::with_tracer(|tracer| tracer.refuse(error));
}
