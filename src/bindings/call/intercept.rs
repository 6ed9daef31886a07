//! Dispatch point of all calls: every operation that a user calls, by whatever name, operator or protocol, runs inside
//! [`Call::intercept`], so that observers, tracers or profilers are asked in one place. It also releases the GIL around
//! large kernels.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::bindings::call::observe;
use crate::bindings::object::{PyTensor, wrap_computed, wrap_computed_view};
use crate::error::Result;
use crate::graph::{ANOMALY, CALL_SITES, CHECK_NAN, Mode, PACKING, TRACING};
use crate::ops::core::op_decl::OpDecl;
use crate::tensor::Tensor;
use crate::threads::{NotAlone, assert_no_lock_held};

/// Above this many elements, the kernel is worth the 50 ns of releasing the GIL.
pub(crate) const GIL_RELEASE_ELEMENTS: usize = 8 << 10;

/// The arguments of a call, borrowed; described only when an observer asks.
#[derive(Clone, Copy)]
pub(crate) enum Inputs<'a, 'py> {
    /// The operands of an operator, or of a method without other arguments.
    Operands(&'a [&'a Bound<'py, PyAny>]),
    /// An element of the first axis: `t[i]`.
    Element(&'a Bound<'py, PyAny>, usize),
    /// The positional and keyword arguments of a declared operation.
    Declared(&'static OpDecl, &'a [Bound<'py, PyAny>], &'a [Keyword<'py>]),
    /// Inputs and attributes, computed on demand.
    Described(&'a dyn Fn() -> PyResult<Description<'py>>),
}

/// A keyword argument.
pub(crate) type Keyword<'py> = (Bound<'py, PyString>, Bound<'py, PyAny>);
/// The arguments that may be tensors, and the others by name: a dict, or an object with attributes.
pub(crate) type Description<'py> = (Bound<'py, PyTuple>, Option<Bound<'py, PyAny>>);

/// One call of an operation, as its caller wrote it.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a, 'py> {
    py: Python<'py>,
    name: &'a str,
    arguments: Inputs<'a, 'py>,
}

/// Runs `work` without the GIL; other threads may enter the engine meanwhile.
#[inline]
pub(crate) fn without_gil<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    assert_no_lock_held();
    let _others = NotAlone::new();
    py.detach(work)
}

/// Whether calls on this thread are intercepted, so that fast paths must not bypass [`Call`].
#[inline]
pub(crate) fn intercepted() -> bool {
    is_intercepted(Mode::current())
}

/// Whether calls are intercepted in this mode.
#[inline]
pub(crate) fn is_intercepted(mode: Mode) -> bool {
    mode.has(TRACING)
}

/// Whether calls in this mode are not intercepted and run no Python code while they compute and record (no saved-tensor
/// hooks, call sites or anomaly checks).
#[inline(always)]
pub(crate) fn allows_small_ops(mode: Mode) -> bool {
    mode.0 & (TRACING | PACKING | CALL_SITES | ANOMALY | CHECK_NAN) == 0
}

impl<'a, 'py> Call<'a, 'py> {
    #[inline]
    pub(crate) fn new(py: Python<'py>, name: &'a str, arguments: Inputs<'a, 'py>) -> Self {
        Call { py, name, arguments }
    }

    /// The call of an operator.
    #[inline]
    pub(crate) fn operator(name: &'a str, operands: &'a [&'a Bound<'py, PyAny>]) -> Self {
        Call::new(operands[0].py(), name, Inputs::Operands(operands))
    }

    /// Computes one tensor from this many input elements.
    #[inline]
    pub(crate) fn run_tensor(
        self,
        elements: usize,
        compute: impl FnOnce() -> Result<Tensor> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.intercept(|| {
            wrap_computed(self.py, || self.compute_maybe_without_gil(elements, compute))
        })
    }

    /// The same for a result that may be a view of `source`.
    #[inline]
    pub(crate) fn run_view(
        self,
        source: &Bound<'py, PyTensor>,
        elements: usize,
        compute: impl FnOnce() -> Result<Tensor> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.intercept(|| {
            wrap_computed_view(source, || self.compute_maybe_without_gil(elements, compute))
        })
    }

    /// Runs a computation on this many elements, without the GIL if they are many, and converts its result to an
    /// object.
    #[inline]
    pub(crate) fn run<T: Send>(
        self,
        elements: usize,
        compute: impl FnOnce() -> Result<T> + Send,
        object: impl FnOnce(T) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.intercept(|| object(self.compute_maybe_without_gil(elements, compute)?))
    }

    /// Runs a computation, without the GIL if it has many elements.
    #[inline]
    fn compute_maybe_without_gil<T: Send>(
        self,
        elements: usize,
        compute: impl FnOnce() -> Result<T> + Send,
    ) -> Result<T> {
        if elements > GIL_RELEASE_ELEMENTS { without_gil(self.py, compute) } else { compute() }
    }

    /// Runs an in-place computation on this many elements and returns the changed tensor.
    #[inline]
    pub(crate) fn run_in_place(
        self,
        changed: &Bound<'py, PyAny>,
        elements: usize,
        compute: impl FnOnce() -> Result<()> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.run(elements, compute, |()| {
            if let Ok(tensor) = changed.cast::<PyTensor>() {
                tensor.get().note_write();
            }
            Ok(changed.clone())
        })
    }

    /// Runs the call, which may include Python code. The only place where calls are intercepted.
    #[inline]
    pub(crate) fn intercept(
        self,
        compute: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        assert_no_lock_held();
        let result = compute()?;
        if intercepted() {
            self.notify_observers(&result)?;
        }
        Ok(result)
    }

    #[cold]
    fn notify_observers(self, result: &Bound<'py, PyAny>) -> PyResult<()> {
        let none = PyTuple::empty(self.py);
        match self.arguments {
            Inputs::Operands(operands) => {
                observe::notify(self.name, &PyTuple::new(self.py, operands)?, None, result)
            }
            Inputs::Element(tensor, i) => {
                let operands = (tensor, i).into_pyobject(self.py)?;
                observe::notify(self.name, &operands, None, result)
            }
            Inputs::Declared(decl, positional, keywords) => {
                let named = observe::arguments_by_name(self.py, decl, positional, keywords)?;
                observe::notify(self.name, &none, Some(named.as_any()), result)
            }
            Inputs::Described(describe) => {
                let (inputs, attributes) = describe()?;
                observe::notify(self.name, &inputs, attributes.as_ref(), result)
            }
        }
    }
}
