//! What is known of a user's function class (name, `setup_context`, signature of forward), analysed at the first call
//! and cached on the class. Replacing `forward` invalidates the cache.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use pyo3::{PyTraverseError, PyVisit};

use crate::bindings::call::python_host_call::intern_name;
use crate::bindings::errors::{bad_type, to_python};
use crate::error::Error;

/// The parameters of forward, without the context.
pub(super) struct Signature {
    /// Positional parameters: name and default.
    pub(super) positional: Vec<(Py<PyString>, Option<Py<PyAny>>)>,
    /// Keyword-only parameters.
    pub(super) keywords: Vec<Py<PyString>>,
}

/// The cached facts of a class.
#[pyclass(name = "_Form", module = "ferrograd._core", frozen)]
pub(crate) struct ClassInfo {
    class: usize,
    pub(super) name: Arc<str>,
    forward: Option<Py<PyAny>>,
    /// `setup_context`, if forward does not take the context.
    pub(super) setup: Option<Py<PyAny>>,
    /// Whether the class has a derivative.
    pub(super) differentiable: bool,
    /// `clear_saved_tensors_on_access`: backward may read the saved tensors only once.
    pub(super) once: bool,
    /// Whether forward or backward was found to read values during a trace: it then runs as a host callback.
    pub(super) reads_values: Arc<AtomicBool>,
    /// Set once a `CustomFunction` class was checked to have no abstract methods.
    pub(super) complete: PyOnceLock<()>,
    signature: PyOnceLock<Signature>,
}

impl ClassInfo {
    /// The class name, interned for ever.
    #[cold]
    pub(super) fn static_name(&self) -> &'static str {
        intern_name(&self.name)
    }

    /// The cached info of a class, if its `forward` is still this one; otherwise analyses the class.
    #[inline]
    pub(super) fn of<'py>(
        class: &Bound<'py, PyType>,
        forward: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, ClassInfo>> {
        let known = class.getattr(pyo3::intern!(class.py(), "_form"))?;
        if let Ok(info) = known.cast_into_exact::<ClassInfo>() {
            let cached = info.get();
            let same = match (&cached.forward, forward) {
                (Some(a), Some(b)) => a.is(b),
                _ => true,
            };
            if cached.class == class.as_ptr() as usize && same {
                return Ok(info);
            }
        }
        ClassInfo::analyse(class, forward)
    }

    /// The info of a functor's class, which has no forward of its own: its name, and a derivative.
    #[inline]
    pub(super) fn of_functor<'py>(class: &Bound<'py, PyType>) -> PyResult<Bound<'py, ClassInfo>> {
        let (py, place) = (class.py(), class.as_ptr() as usize);
        if let Some(known) = class.getattr_opt(pyo3::intern!(py, "_op_form"))?
            && let Ok(info) = known.cast_into_exact::<ClassInfo>()
            && info.get().class == place
        {
            return Ok(info);
        }
        let info = ClassInfo {
            class: place,
            name: class.name()?.to_string().into(),
            forward: None,
            setup: None,
            differentiable: true,
            once: false,
            reads_values: Arc::default(),
            complete: PyOnceLock::new(),
            signature: PyOnceLock::new(),
        };
        let info = Bound::new(py, info)?;
        class.setattr(pyo3::intern!(py, "_op_form"), &info)?;
        Ok(info)
    }

    #[cold]
    fn analyse<'py>(
        class: &Bound<'py, PyType>,
        forward: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, ClassInfo>> {
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
        let info = ClassInfo {
            class: class.as_ptr() as usize,
            name,
            forward: forward.map(|f| f.clone().unbind()),
            setup: class.getattr_opt("setup_context")?.map(Bound::unbind),
            differentiable: backward.is_some() || vjp.is_some(),
            once: class
                .getattr_opt("clear_saved_tensors_on_access")?
                .is_some_and(|flag| flag.is_truthy().unwrap_or(false)),
            reads_values: Arc::default(),
            complete: PyOnceLock::new(),
            signature: PyOnceLock::new(),
        };
        let info = Bound::new(class.py(), info)?;
        class.setattr(pyo3::intern!(class.py(), "_form"), &info)?;
        Ok(info)
    }

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
impl ClassInfo {
    /// The class owns this object, which owns the class's functions: a cycle that the collector must see.
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

    /// The position of the parameter `name`, if forward has one.
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
