//! Custom functions that look at values in recorded functions: steps that call them again.
//!
//! Owns: when a call becomes such a step, what that step calls, and the step of its backward. Never runs a forward or a
//! backward: a call runs once, whether it becomes a step or not.
//! Invariant: forward and backward of one call are both steps or both part of the program.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

use crate::bindings::call::host_call::{lasting, python_code};
use crate::bindings::custom_op::call::{Job, Versions};
use crate::bindings::custom_op::outputs::Outputs;
use crate::bindings::errors::{from_python, python, to_python};
use crate::bindings::object::wrap;
use crate::bindings::package;
use crate::compile::host_call;
use crate::compile::host_call::HostSpan;
use crate::error::{Error, Result};
use crate::graph::Context;
use crate::ops::custom_op::FunctionCall;
use crate::tensor::Tensor;

/// A call that a step of the program makes again.
pub(super) struct Repeated<'py> {
    /// The outputs, in memory that the step writes.
    pub(super) outputs: SmallVec<[Bound<'py, PyAny>; 2]>,
    pub(super) call: RepeatedCall,
}

/// What the backward needs of such a call.
pub(super) struct RepeatedCall {
    /// The Python object that makes the call again.
    pub(super) object: Py<PyAny>,
    /// The addresses of the memory of the arguments, which the recording keeps.
    arguments: Vec<usize>,
}

/// Makes a call a step, if it looked at values, or calls of its class are known to.
pub(super) fn repeat<'py>(
    job: &Job<'_, 'py>,
    call: &FunctionCall,
    stretch: HostSpan,
    before: &Versions,
    (returned, outputs): (&Bound<'py, PyAny>, &Outputs<'py>),
) -> PyResult<Option<Repeated<'py>>> {
    let form = job.form;
    let Some(again) =
        job.again.filter(|_| stretch.reads_values() || form.reads.load(Ordering::Relaxed))
    else {
        return Ok(None);
    };
    let py = returned.py();
    let inputs: Vec<&Tensor> = job.arguments.values().collect();
    let made: Vec<&Tensor> =
        (0..outputs.tensors.len()).map(|k| outputs.tensor(k)).collect::<PyResult<_>>()?;
    if inputs.iter().zip(before).any(|(x, version)| x.version() != *version) {
        return Err(refused(
            &form.name,
            "changes an argument in place",
            "change a copy of it, and return that",
        ));
    }
    let shares = |y: &&Tensor| inputs.iter().any(|x| x.storage().same(y.storage()));
    if made.iter().any(shares) {
        return Err(refused(
            &form.name,
            "returns an argument, or a view of one",
            "return a copy of it",
        ));
    }
    let (function, args, kwargs) = again()?;
    let needs: Vec<bool> = (0..inputs.len()).map(|i| call.needs(i)).collect();
    let tensors = PyTuple::new(py, &job.arguments.tensors)?;
    let class = package::FUNCTION_CALL.get(py)?;
    let object = class.call1((&*form.name, function, args, kwargs, tensors, needs, returned))?;
    let code = python_code(&form.name, &object)?;
    let fresh = python(stretch.replace(form.lasting(), &inputs, &made, code))?;
    let outputs = fresh.into_iter().map(|y| wrap(py, y)).collect::<PyResult<_>>()?;
    let arguments = inputs.iter().map(|x| x.storage().ptr().addr()).collect();
    Ok(Some(Repeated { outputs, call: RepeatedCall { object: object.unbind(), arguments } }))
}

/// The stretch of a recording in which a backward runs, and what it was given.
pub(super) struct BackwardStretch {
    stretch: HostSpan,
    /// The outputs that have gradients, and these.
    graded: Vec<(usize, Tensor)>,
}

impl BackwardStretch {
    /// Begins it; `None` outside recordings. `saved` is what a call that is no step keeps.
    pub(super) fn begin<'a>(
        call: Option<&RepeatedCall>,
        saved: impl Iterator<Item = &'a Tensor>,
        cx: &Context<'_, Tensor>,
    ) -> Option<BackwardStretch> {
        let graded = || (0..cx.outputs()).filter_map(|k| Some((k, cx.grad(k)?.clone())));
        let given = || {
            let own = call.map_or(&[][..], |call| &call.arguments[..]).iter().copied();
            let grads: Vec<usize> = graded().map(|(_, g)| g.storage().ptr().addr()).collect();
            own.chain(grads).chain(saved.map(|x| x.storage().ptr().addr())).collect()
        };
        let stretch = HostSpan::begin_with(given)?;
        Some(BackwardStretch { stretch, graded: graded().collect() })
    }

    /// Whether the backward looked at values although its forward is part of the program.
    pub(super) fn reads_values(&self) -> bool {
        self.stretch.reads_values()
    }

    /// Makes the backward a step: gives the gradients, by number of the input, in memory that the step writes.
    pub(super) fn replace(
        self,
        py: Python<'_>,
        name: &str,
        call: &RepeatedCall,
        found: SmallVec<[(usize, Tensor); 2]>,
        cx: &Context<'_, Tensor>,
        inputs: usize,
    ) -> Result<SmallVec<[(usize, Tensor); 2]>> {
        let wanted: Vec<usize> = (0..inputs).filter(|&i| cx.wants(i)).collect();
        let mut sums: Vec<(usize, Tensor)> = Vec::new();
        for (i, gradient) in found.into_iter().filter(|(i, _)| cx.wants(*i)) {
            sums.push((i, gradient));
        }
        let present: Vec<bool> =
            wanted.iter().map(|i| sums.iter().any(|(found, _)| found == i)).collect();
        sums.sort_by_key(|(i, _)| *i);
        let graded: Vec<usize> = self.graded.iter().map(|(k, _)| *k).collect();
        let pull = || {
            let pull = call.object.bind(py).call_method1("pull", (graded, wanted, present))?;
            python_code(name, &pull)
        };
        let code = pull().map_err(|raised| from_python(raised, ""))?;
        let grads: Vec<&Tensor> = self.graded.iter().map(|(_, grad)| grad).collect();
        let results: Vec<&Tensor> = sums.iter().map(|(_, gradient)| gradient).collect();
        let name = lasting(&format!("{name} backward"));
        let fresh = self.stretch.replace(name, &grads, &results, code)?;
        Ok(sums.iter().map(|(i, _)| *i).zip(fresh).collect())
    }
}

thread_local! {
    static AGAIN: Cell<bool> = const { Cell::new(false) };
}

/// Has calls of a class be steps from now on, and the recording begin anew.
#[cold]
pub(super) fn begin_anew(name: &str, reads: &AtomicBool) -> Box<Error> {
    reads.store(true, Ordering::Relaxed);
    AGAIN.set(true);
    let error = || {
        Box::new(Error::Captured {
            op: name.to_owned().into(),
            what: "its backward looks at values in a function that fg.compile records".into(),
            remedy: "let exceptions of the backward pass end the function",
        })
    };
    host_call::refuse(error());
    error()
}

/// Records, and again where a backward was found to look at values after its forward had become part of the program.
pub(crate) fn recorded<T>(mut record: impl FnMut() -> PyResult<T>) -> PyResult<T> {
    loop {
        AGAIN.set(false);
        let done = record();
        if done.is_ok() || !AGAIN.replace(false) {
            return done;
        }
    }
}

/// Why a second derivative is refused.
#[cold]
pub(super) fn no_second(name: &str) -> Box<Error> {
    Box::new(Error::Captured {
        op: name.to_owned().into(),
        what: "it looks at values, and a function that fg.compile records asks for its second derivative".into(),
        remedy: "write its forward and backward with tensor operations, or leave the function uncompiled",
    })
}

#[cold]
fn refused(name: &str, does: &str, remedy: &'static str) -> PyErr {
    to_python(Box::new(Error::Captured {
        op: name.to_owned().into(),
        what: format!("it looks at values in a function that fg.compile records, and {does}"),
        remedy,
    }))
}
