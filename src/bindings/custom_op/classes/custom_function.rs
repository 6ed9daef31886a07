//! `fg.CustomFunction`: document 000, an instance that carries hyper-parameters.
//!
//! Owns: the abstract class with `apply`, `apply_many` and call. Never holds state of a call.
//! Invariant: a class that lacks forward or backward cannot be instantiated.

use std::collections::BTreeSet;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PySuper, PyTuple, PyType};

use crate::bindings::call::intercept::{Call, Inputs};
use crate::bindings::custom_op::arguments::Arguments;
use crate::bindings::custom_op::call::Job;
use crate::bindings::custom_op::class_info::Form;
use crate::bindings::custom_op::context::FunctionContext;
use crate::bindings::custom_op::function::described;
use crate::bindings::custom_op::outputs::contract;
use crate::bindings::custom_op::python_rule::Callee;
use crate::bindings::errors::bad_type;

/// An operation with a derivative of your own whose instances carry parameters: subclass it with
/// `forward(self, inputs, ctx)` and `backward(self, grad_outputs, ctx)`, which return sequences.
///
/// `apply` gives the first output, `apply_many` all of them; calling the instance is `apply`.
#[pyclass(name = "CustomFunction", module = "ferrograd", subclass, frozen, weakref)]
pub(crate) struct CustomFunction;

impl CustomFunction {
    fn invoke<'py>(
        slf: &Bound<'py, Self>,
        inputs: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = slf.py();
        let form = Form::of(&slf.get_type(), None)?;
        let form = form.get();
        if let Some(i) = inputs.iter_borrowed().position(|ob| ob.is_none()) {
            let what = format!("inputs must not be null: input {i} is None");
            return Err(bad_type(&form.name, what, "pass a tensor"));
        }
        let again = || Ok((slf.getattr(pyo3::intern!(py, "apply_many"))?, inputs.clone(), None));
        let job = Job {
            form,
            arguments: Arguments::find(form, inputs, None)?,
            callee: Callee::Instance(slf.clone().into_any().unbind()),
            again: Some(&again),
            strict: true,
        };
        let run = |context: &Bound<'py, FunctionContext>| {
            slf.call_method1(pyo3::intern!(py, "forward"), (inputs, context))
        };
        let describe = || described(slf.as_any(), inputs);
        let call = Call::new(py, &form.name, Inputs::Described(&describe));
        Ok(call.intercept(|| job.run(py, run))?.cast_into()?)
    }
}

#[pymethods]
impl CustomFunction {
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
    ) -> PyResult<CustomFunction> {
        let form = Form::of(cls, None)?;
        if form.get().complete.get(cls.py()).is_some() {
            return Ok(CustomFunction);
        }
        let missing = mark(cls)?;
        if missing.is_empty() {
            form.get().complete.get_or_init(cls.py(), || ());
            return Ok(CustomFunction);
        }
        let plural = if missing.len() > 1 { "s" } else { "" };
        Err(PyTypeError::new_err(format!(
            "Can't instantiate abstract class {} without an implementation for abstract method{plural} '{}'",
            cls.name()?,
            missing.into_iter().collect::<Vec<_>>().join("', '")
        )))
    }

    /// Marks a class that is still incomplete as abstract, as `abc` does.
    #[classmethod]
    #[pyo3(signature = (**kwargs))]
    fn __init_subclass__(
        cls: &Bound<'_, PyType>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let base = cls.py().get_type::<CustomFunction>();
        PySuper::new(&base, cls)?.call_method("__init_subclass__", (), kwargs)?;
        mark(cls).map(drop)
    }

    /// Computes the outputs from `inputs` and keeps in `ctx` what backward needs; returns a sequence of tensors.
    #[allow(unused_variables)]
    fn forward(&self, inputs: &Bound<'_, PyAny>, ctx: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Err(abstract_method("forward"))
    }

    /// Computes the gradients of the inputs from those of the outputs; returns one tensor or None per input.
    #[allow(unused_variables)]
    fn backward(
        &self,
        grad_outputs: &Bound<'_, PyAny>,
        ctx: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        Err(abstract_method("backward"))
    }

    /// Calls the function and returns its first output.
    #[pyo3(signature = (*inputs))]
    fn apply<'py>(
        slf: &Bound<'py, Self>,
        inputs: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let outputs = CustomFunction::invoke(slf, inputs)?;
        if outputs.is_empty() {
            let name = slf.get_type().name()?;
            return Err(contract(format!(
                "Function produced no outputs: the forward of {name} returned none; call apply_many for its effect"
            )));
        }
        outputs.get_item(0)
    }

    /// Calls the function and returns all its outputs.
    #[pyo3(signature = (*inputs))]
    fn apply_many<'py>(
        slf: &Bound<'py, Self>,
        inputs: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyList>> {
        CustomFunction::invoke(slf, inputs)
    }

    #[pyo3(signature = (*inputs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        inputs: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        CustomFunction::apply(slf, inputs)
    }
}

/// The methods that the class has yet to define, sorted: document 000's two, and what `abc` finds in a class that uses it.
fn missing(cls: &Bound<'_, PyType>) -> PyResult<BTreeSet<String>> {
    let base = cls.py().get_type::<CustomFunction>();
    let mut missing = BTreeSet::new();
    if let Some(declared) = cls.getattr_opt("__abstractmethods__")? {
        for name in declared.try_iter()? {
            missing.insert(name?.extract()?);
        }
    }
    for name in ["backward", "forward"] {
        missing.remove(name);
        if cls.getattr(name)?.is(base.getattr(name)?) {
            missing.insert(name.to_owned());
        }
    }
    Ok(missing)
}

/// Sets what `inspect.isabstract` and `object.__new__` read to the methods that are missing now.
pub(crate) fn mark(cls: &Bound<'_, PyType>) -> PyResult<BTreeSet<String>> {
    let missing = missing(cls)?;
    if !missing.is_empty() || cls.hasattr("__abstractmethods__")? {
        cls.setattr("__abstractmethods__", PyFrozenSet::new(cls.py(), &missing)?)?;
    }
    Ok(missing)
}

#[cold]
fn abstract_method(name: &str) -> PyErr {
    pyo3::exceptions::PyNotImplementedError::new_err(format!(
        "CustomFunction.{name} is abstract; implement it in the subclass"
    ))
}
