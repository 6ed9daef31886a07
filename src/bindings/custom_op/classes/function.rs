//! `fg.Function`: an operation as a class with static `forward` and `backward`, as in PyTorch.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::bindings::call::intercept::{Call, Description, Inputs};
use crate::bindings::custom_op::arguments::Arguments;
use crate::bindings::custom_op::call::CustomCall;
use crate::bindings::custom_op::class_info::ClassInfo;
use crate::bindings::custom_op::context::FunctionContext;
use crate::bindings::custom_op::python_rule::Callee;
use crate::bindings::errors::{bad_type, to_python};
use crate::error::Error;

/// An operation with a derivative of your own: subclass it with static `forward` and `backward`.
///
/// `forward(ctx, *args, **kwargs)` computes with recording off and keeps what backward needs in `ctx`;
/// `backward(ctx, *grads)` returns one gradient or None per argument of forward. Call it with `apply`.
/// The other form is `forward(*args)` with `setup_context(ctx, inputs, output)`.
#[pyclass(name = "Function", module = "ferrograd", subclass, frozen)]
pub(crate) struct Function;

#[pymethods]
impl Function {
    #[classattr]
    #[pyo3(name = "_form")]
    const FORM: Option<bool> = None;

    #[new]
    #[classmethod]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(
        cls: &Bound<'_, PyType>,
        _args: &Bound<'_, PyTuple>,
        _kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Function> {
        let name = cls.name()?;
        Err(bad_type(
            "Function",
            format!("{name} cannot be instantiated: its methods are static"),
            format!(
                "call {name}.apply(…), or derive from CustomFunction for one that carries parameters"
            ),
        ))
    }

    /// Calls the function: returns what forward returned, connected to the graph.
    #[classmethod]
    #[pyo3(signature = (*args, **kwargs))]
    fn apply<'py>(
        cls: &Bound<'py, PyType>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = cls.py();
        let Some(forward) = cls.getattr_opt(pyo3::intern!(py, "forward"))? else {
            return Err(no_forward(cls)?);
        };
        let info = ClassInfo::of(cls, Some(&forward))?;
        let info = info.get();
        let replay =
            || Ok((cls.getattr(pyo3::intern!(py, "apply"))?, args.clone(), kwargs.cloned()));
        let custom_call = CustomCall {
            info,
            arguments: Arguments::find(info, args, kwargs)?,
            callee: Callee::Class(cls.clone().unbind()),
            replay: Some(&replay),
            custom_function_rules: false,
        };
        let run = |context: &Bound<'py, FunctionContext>| match &info.setup {
            None => call_with(&forward, context, args, kwargs),
            Some(setup) => {
                let output = forward.call(args, kwargs)?;
                let inputs = info.signature(py)?.bind(&info.name, args, kwargs)?;
                setup.bind(py).call1((context, inputs, &output))?;
                Ok(output)
            }
        };
        let describe = || describe_call(cls.as_any(), args);
        let call = Call::new(py, &info.name, Inputs::Described(&describe));
        call.intercept(|| custom_call.run(py, run))
    }
}

/// What observers see of a call: its arguments, and the `attrs` of its owner, if it has any.
pub(super) fn describe_call<'py>(
    owner: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
) -> PyResult<Description<'py>> {
    let attributes = owner.getattr_opt(pyo3::intern!(owner.py(), "attrs"))?;
    Ok((args.clone(), attributes))
}

/// Calls `forward(ctx, *args, **kwargs)`; avoids building a tuple for one or two arguments.
#[inline]
fn call_with<'py>(
    forward: &Bound<'py, PyAny>,
    context: &Bound<'py, FunctionContext>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if kwargs.is_none() {
        match args.len() {
            1 => return forward.call1((context, args.get_borrowed_item(0)?)),
            2 => {
                let (a, b) = (args.get_borrowed_item(0)?, args.get_borrowed_item(1)?);
                return forward.call1((context, a, b));
            }
            _ => {}
        }
    }
    let all = std::iter::once(context.as_any().clone()).chain(args.iter());
    forward.call(PyTuple::new(args.py(), all.collect::<Vec<_>>())?, kwargs)
}

#[cold]
fn no_forward(cls: &Bound<'_, PyType>) -> PyResult<PyErr> {
    Ok(to_python(Box::new(Error::NotDifferentiable {
        op: cls.name()?.to_string().into(),
        what: "the class has no forward".into(),
        remedy: "define a static forward(ctx, *args)".into(),
    })))
}

/// Marks a backward that must not be differentiated again: it may use anything, and a second derivative raises.
#[pyfunction]
pub(crate) fn once_differentiable<'py>(backward: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let function = backward.getattr_opt("__func__")?.unwrap_or_else(|| backward.clone());
    function.setattr("__once_differentiable__", true)?;
    Ok(backward)
}
