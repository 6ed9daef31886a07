//! Custom functions that read tensor values while a function is traced: their forward and backward become host
//! callbacks of the program.
//! Forward and backward of one call are either both host callbacks or both traced.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

use crate::bindings::call::python_host_call::{intern_name, python_host_code};
use crate::bindings::custom_op::call::{CustomCall, Versions};
use crate::bindings::custom_op::outputs::Outputs;
use crate::bindings::errors::{from_python, to_py_result, to_python};
use crate::bindings::object::wrap;
use crate::bindings::package;
use crate::compile::host_call;
use crate::compile::host_call::HostSpan;
use crate::error::{Error, Result};
use crate::graph::Context;
use crate::ops::custom_op::FunctionCall;
use crate::tensor::Tensor;

/// A call that became a host-callback step of the program.
pub(super) struct HostStep<'py> {
    /// The outputs, in buffers that the step writes.
    pub(super) outputs: SmallVec<[Bound<'py, PyAny>; 2]>,
    pub(super) call: HostStepCall,
}

/// What the backward of such a call needs.
pub(super) struct HostStepCall {
    /// The Python object that repeats the call.
    pub(super) object: Py<PyAny>,
    /// Buffer addresses of the arguments, which the trace keeps alive.
    arguments: Vec<usize>,
}

/// Makes a call a step, if it looked at values, or calls of its class are known to.
pub(super) fn make_host_step<'py>(
    custom_call: &CustomCall<'_, 'py>,
    call: &FunctionCall,
    span: HostSpan,
    before: &Versions,
    (returned, outputs): (&Bound<'py, PyAny>, &Outputs<'py>),
) -> PyResult<Option<HostStep<'py>>> {
    let info = custom_call.info;
    let Some(replay) = custom_call
        .replay
        .filter(|_| span.reads_values() || info.reads_values.load(Ordering::Relaxed))
    else {
        return Ok(None);
    };
    let py = returned.py();
    let inputs: Vec<&Tensor> = custom_call.arguments.values().collect();
    let made: Vec<&Tensor> =
        (0..outputs.tensors.len()).map(|k| outputs.tensor(k)).collect::<PyResult<_>>()?;
    if inputs.iter().zip(before).any(|(x, version)| x.version() != *version) {
        return Err(refuse_host_step(
            &info.name,
            "changes an argument in place",
            "change a copy of it, and return that",
        ));
    }
    let shares = |y: &&Tensor| inputs.iter().any(|x| x.storage().same(y.storage()));
    if made.iter().any(shares) {
        return Err(refuse_host_step(
            &info.name,
            "returns an argument, or a view of one",
            "return a copy of it",
        ));
    }
    let (function, args, kwargs) = replay()?;
    let needs: Vec<bool> = (0..inputs.len()).map(|i| call.needs(i)).collect();
    let tensors = PyTuple::new(py, &custom_call.arguments.tensors)?;
    let class = package::FUNCTION_CALL.get(py)?;
    let object = class.call1((&*info.name, function, args, kwargs, tensors, needs, returned))?;
    let code = python_host_code(&info.name, &object)?;
    let fresh = to_py_result(span.replace(info.static_name(), &inputs, &made, code))?;
    let outputs = fresh.into_iter().map(|y| wrap(py, y)).collect::<PyResult<_>>()?;
    let arguments = inputs.iter().map(|x| x.storage().ptr().addr()).collect();
    Ok(Some(HostStep { outputs, call: HostStepCall { object: object.unbind(), arguments } }))
}

/// The stretch of a recording in which a backward runs, and what it was given.
pub(super) struct BackwardHostSpan {
    span: HostSpan,
    /// The outputs that have gradients, and these.
    output_grads: Vec<(usize, Tensor)>,
}

impl BackwardHostSpan {
    /// Begins the span; None if no trace is active. `saved` are the saved tensors of a call that is no host callback.
    pub(super) fn begin<'a>(
        call: Option<&HostStepCall>,
        saved: impl Iterator<Item = &'a Tensor>,
        cx: &Context<'_, Tensor>,
    ) -> Option<BackwardHostSpan> {
        let output_grads = || (0..cx.outputs()).filter_map(|k| Some((k, cx.grad(k)?.clone())));
        let given = || {
            let own = call.map_or(&[][..], |call| &call.arguments[..]).iter().copied();
            let grads: Vec<usize> = output_grads().map(|(_, g)| g.storage().ptr().addr()).collect();
            own.chain(grads).chain(saved.map(|x| x.storage().ptr().addr())).collect()
        };
        let span = HostSpan::begin_with(given)?;
        Some(BackwardHostSpan { span, output_grads: output_grads().collect() })
    }

    /// Whether the backward read values although its forward was traced.
    pub(super) fn reads_values(&self) -> bool {
        self.span.reads_values()
    }

    /// Turns the backward into a host-callback step; returns the gradients, by input number, in buffers that the step
    /// writes.
    pub(super) fn replace(
        self,
        py: Python<'_>,
        name: &str,
        call: &HostStepCall,
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
        let output_grads: Vec<usize> = self.output_grads.iter().map(|(k, _)| *k).collect();
        let pull = || {
            let pull =
                call.object.bind(py).call_method1("pull", (output_grads, wanted, present))?;
            python_host_code(name, &pull)
        };
        let code = pull().map_err(|raised| from_python(raised, ""))?;
        let grads: Vec<&Tensor> = self.output_grads.iter().map(|(_, grad)| grad).collect();
        let results: Vec<&Tensor> = sums.iter().map(|(_, gradient)| gradient).collect();
        let name = intern_name(&format!("{name} backward"));
        let fresh = self.span.replace(name, &grads, &results, code)?;
        Ok(sums.iter().map(|(i, _)| *i).zip(fresh).collect())
    }
}

thread_local! {
    static RETRACE: Cell<bool> = const { Cell::new(false) };
}

/// Makes calls of a class host callbacks from now on, and requests a new trace.
#[cold]
pub(super) fn request_retrace(name: &str, reads_values: &AtomicBool) -> Box<Error> {
    reads_values.store(true, Ordering::Relaxed);
    RETRACE.set(true);
    let error = || {
        Box::new(Error::NotTraceable {
            op: name.to_owned().into(),
            what: "its backward looks at values in a function that fg.compile records".into(),
            remedy: "let exceptions of the backward pass end the function",
        })
    };
    host_call::refuse(error());
    error()
}

/// Traces, and traces again if a backward was found to read values after its forward had been traced.
pub(crate) fn trace_with_retry<T>(mut trace: impl FnMut() -> PyResult<T>) -> PyResult<T> {
    loop {
        RETRACE.set(false);
        let done = trace();
        if done.is_ok() || !RETRACE.replace(false) {
            return done;
        }
    }
}

/// The error for a second derivative of a host callback.
#[cold]
pub(super) fn no_second_derivative(name: &str) -> Box<Error> {
    Box::new(Error::NotTraceable {
        op: name.to_owned().into(),
        what: "it looks at values, and a function that fg.compile records asks for its second derivative".into(),
        remedy: "write its forward and backward with tensor operations, or leave the function uncompiled",
    })
}

#[cold]
fn refuse_host_step(name: &str, does: &str, remedy: &'static str) -> PyErr {
    to_python(Box::new(Error::NotTraceable {
        op: name.to_owned().into(),
        what: format!("it looks at values in a function that fg.compile records, and {does}"),
        remedy,
    }))
}
