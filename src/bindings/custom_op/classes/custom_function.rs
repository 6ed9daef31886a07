//! `fg.CustomFunction`: an operation as an instance that carries hyper-parameters, with abstract `forward` and
//! `backward`.

use std::collections::BTreeSet;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PySuper, PyTuple, PyType};

use crate::bindings::call::intercept::{Call, Inputs};
use crate::bindings::custom_op::arguments::Arguments;
use crate::bindings::custom_op::call::CustomCall;
use crate::bindings::custom_op::class_info::ClassInfo;
use crate::bindings::custom_op::context::FunctionContext;
use crate::bindings::custom_op::function::describe_call;
use crate::bindings::custom_op::outputs::contract_error;
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
        let info = ClassInfo::of(&slf.get_type(), None)?;
        let info = info.get();
        if let Some(i) = inputs.iter_borrowed().position(|ob| ob.is_none()) {
            let what = format!("inputs must not be null: input {i} is None");
            return Err(bad_type(&info.name, what, "pass a tensor"));
        }
        let replay = || Ok((slf.getattr(pyo3::intern!(py, "apply_many"))?, inputs.clone(), None));
        let custom_call = CustomCall {
            info,
            arguments: Arguments::find(info, inputs, None)?,
            callee: Callee::Instance(slf.clone().into_any().unbind()),
            replay: Some(&replay),
            custom_function_rules: true,
        };
        let run = |context: &Bound<'py, FunctionContext>| {
            slf.call_method1(pyo3::intern!(py, "forward"), (inputs, context))
        };
        let describe = || describe_call(slf.as_any(), inputs);
        let call = Call::new(py, &info.name, Inputs::Described(&describe));
        Ok(call.intercept(|| custom_call.run(py, run))?.cast_into()?)
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
        let info = ClassInfo::of(cls, None)?;
        if info.get().complete.get(cls.py()).is_some() {
            return Ok(CustomFunction);
        }
        let missing = mark_abstract(cls)?;
        if missing.is_empty() {
            info.get().complete.get_or_init(cls.py(), || ());
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
        mark_abstract(cls).map(drop)
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
            return Err(contract_error(format!(
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

/// The abstract methods that a class does not define, sorted: `forward`, `backward`, and what `abc` lists.
fn missing_methods(cls: &Bound<'_, PyType>) -> PyResult<BTreeSet<String>> {
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

/// Updates `__abstractmethods__`, which `inspect.isabstract` and `object.__new__` read.
pub(crate) fn mark_abstract(cls: &Bound<'_, PyType>) -> PyResult<BTreeSet<String>> {
    let missing = missing_methods(cls)?;
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
