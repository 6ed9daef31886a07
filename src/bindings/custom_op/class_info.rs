//! How a class declares its function, found once and kept on the class.
//!
//! Owns: the name, whether forward takes the context, and, only when a call needs it, forward's signature.
//! Never inspects anything at a call of a known class.
//! Invariant: a form belongs to exactly one class and one forward; replacing forward makes a new form.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use pyo3::{PyTraverseError, PyVisit};

use crate::bindings::call::host_call::lasting;
use crate::bindings::errors::{bad_type, to_python};
use crate::error::Error;

/// The parameters of a forward, the context left out.
pub(super) struct Signature {
    /// The parameters that can be given by position: name and default.
    pub(super) positional: Vec<(Py<PyString>, Option<Py<PyAny>>)>,
    /// The others that can be given by name.
    pub(super) keywords: Vec<Py<PyString>>,
}

/// What is known of a class.
#[pyclass(name = "_Form", module = "ferrograd._core", frozen)]
pub(crate) struct Form {
    class: usize,
    pub(super) name: Arc<str>,
    forward: Option<Py<PyAny>>,
    /// `setup_context`, if forward does without the context.
    pub(super) setup: Option<Py<PyAny>>,
    /// Whether there is a derivative.
    pub(super) differentiable: bool,
    /// `clear_saved_tensors_on_access`: backward reads the saved tensors only once.
    pub(super) once: bool,
    /// Whether its forward or its backward looked at values while a function was recorded.
    pub(super) reads: Arc<AtomicBool>,
    /// Whether a `CustomFunction` of the class was found to lack nothing.
    pub(super) complete: PyOnceLock<()>,
    signature: PyOnceLock<Signature>,
}

impl Form {
    /// The name for what outlives the class.
    #[cold]
    pub(super) fn lasting(&self) -> &'static str {
        lasting(&self.name)
    }

    /// The form of a class whose `forward` is now this one.
    #[inline]
    pub(super) fn of<'py>(
        class: &Bound<'py, PyType>,
        forward: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Form>> {
        let known = class.getattr(pyo3::intern!(class.py(), "_form"))?;
        if let Ok(form) = known.cast_into_exact::<Form>() {
            let own = form.get();
            let same = match (&own.forward, forward) {
                (Some(a), Some(b)) => a.is(b),
                _ => true,
            };
            if own.class == class.as_ptr() as usize && same {
                return Ok(form);
            }
        }
        Form::analyse(class, forward)
    }

    /// The form of a class that is no function itself: its name, and a derivative.
    #[inline]
    pub(super) fn of_owner<'py>(class: &Bound<'py, PyType>) -> PyResult<Bound<'py, Form>> {
        let (py, place) = (class.py(), class.as_ptr() as usize);
        if let Some(known) = class.getattr_opt(pyo3::intern!(py, "_op_form"))?
            && let Ok(form) = known.cast_into_exact::<Form>()
            && form.get().class == place
        {
            return Ok(form);
        }
        let form = Form {
            class: place,
            name: class.name()?.to_string().into(),
            forward: None,
            setup: None,
            differentiable: true,
            once: false,
            reads: Arc::default(),
            complete: PyOnceLock::new(),
            signature: PyOnceLock::new(),
        };
        let form = Bound::new(py, form)?;
        class.setattr(pyo3::intern!(py, "_op_form"), &form)?;
        Ok(form)
    }

    #[cold]
    fn analyse<'py>(
        class: &Bound<'py, PyType>,
        forward: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Form>> {
        let name: Arc<str> = class.name()?.to_string().into();
        let backward = class.getattr_opt("backward")?;
        let vjp = class.getattr_opt("vjp")?;
        if forward.is_some() && backward.is_some() && vjp.is_some() {
            return Err(to_python(Box::new(Error::State {
                op: name.to_string().into(),
                what: "the class defines both backward and vjp".into(),
                remedy: "define one of them",
            })));
        }
        let form = Form {
            class: class.as_ptr() as usize,
            name,
            forward: forward.map(|f| f.clone().unbind()),
            setup: class.getattr_opt("setup_context")?.map(Bound::unbind),
            differentiable: backward.is_some() || vjp.is_some(),
            once: class
                .getattr_opt("clear_saved_tensors_on_access")?
                .is_some_and(|flag| flag.is_truthy().unwrap_or(false)),
            reads: Arc::default(),
            complete: PyOnceLock::new(),
            signature: PyOnceLock::new(),
        };
        let form = Bound::new(class.py(), form)?;
        class.setattr(pyo3::intern!(class.py(), "_form"), &form)?;
        Ok(form)
    }

    /// The signature of forward.
    pub(super) fn signature(&self, py: Python<'_>) -> PyResult<&Signature> {
        self.signature.get_or_try_init(py, || {
            let Some(forward) = &self.forward else {
                return Ok(Signature { positional: Vec::new(), keywords: Vec::new() });
            };
            Signature::read(forward.bind(py), self.setup.is_none())
        })
    }
}

#[pymethods]
impl Form {
    /// The class owns its form, and the form the class's functions: a cycle the collector must see.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.forward)?;
        visit.call(&self.setup)
    }
}

impl Signature {
    fn read(forward: &Bound<'_, PyAny>, skip_context: bool) -> PyResult<Signature> {
        let py = forward.py();
        let inspect = py.import("inspect")?;
        let parameters = inspect.call_method1("signature", (forward,))?.getattr("parameters")?;
        let empty = inspect.getattr("_empty")?;
        let mut signature = Signature { positional: Vec::new(), keywords: Vec::new() };
        let values = parameters.call_method0("values")?;
        for parameter in values.try_iter()?.skip(usize::from(skip_context)) {
            let parameter = parameter?;
            let name = parameter.getattr("name")?.cast_into::<PyString>()?.unbind();
            let default = parameter.getattr("default")?;
            let default = if default.is(&empty) { None } else { Some(default.unbind()) };
            match parameter.getattr("kind")?.extract::<u8>()? {
                0 | 1 => signature.positional.push((name, default)),
                3 => signature.keywords.push(name),
                _ => {}
            }
        }
        Ok(signature)
    }

    /// The position of the keyword `name` among the arguments, if forward has a parameter of this name.
    pub(super) fn position(
        &self,
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
    ) -> PyResult<Option<usize>> {
        let names = self.positional.iter().map(|(name, _)| name).chain(&self.keywords);
        for (i, known) in names.enumerate() {
            if known.bind(py).as_any().eq(name)? {
                return Ok(Some(i));
            }
        }
        Ok(None)
    }

    /// All positional arguments with the defaults filled in, as `setup_context` receives them.
    pub(super) fn bind<'py>(
        &self,
        op: &str,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = args.py();
        if kwargs.is_none() && args.len() >= self.positional.len() {
            return Ok(args.clone());
        }
        let mut bound: Vec<Bound<'py, PyAny>> = args.iter().collect();
        for (name, default) in self.positional.iter().skip(args.len()) {
            let given = kwargs.map(|all| all.get_item(name.bind(py))).transpose()?.flatten();
            match (given, default) {
                (Some(value), _) => bound.push(value),
                (None, Some(default)) => bound.push(default.bind(py).clone()),
                (None, None) => {
                    let what = format!("the argument {} of forward is missing", name.bind(py));
                    return Err(bad_type(op, what, "pass it to apply"));
                }
            }
        }
        PyTuple::new(py, bound)
    }
}
