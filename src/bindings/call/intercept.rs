//! The door: every call of an operation that a user makes goes through here, by whatever name, operator or protocol
//! it came.
//!
//! Owns: `Call`, which says what was called on what; the release of the GIL around large work; the way of an error to
//! Python; who is told of the call. Never binds arguments, computes or records: that happens behind the door.
//! Invariant: what a user asked for is computed within [`Call::intercept`], so that whatever intercepts operations
//! (an observer, a tracer, a batcher, a profiler) is asked in one place.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::bindings::call::observe;
use crate::bindings::object::{PyTensor, wrap_computed, wrap_part};
use crate::error::Result;
use crate::graph::{ANOMALY, CALL_SITES, CHECK_NAN, Mode, PACKING, TRACING};
use crate::ops::core::op_decl::OpDecl;
use crate::tensor::Tensor;
use crate::threads::{NotAlone, assert_no_lock_held};

/// Work on more elements than this is worth the 50 ns that a release of the GIL costs.
pub(crate) const SMALL: usize = 8 << 10;

/// What a caller gave to an operation.
#[derive(Clone, Copy)]
pub(crate) enum Inputs<'a, 'py> {
    /// The operands of an operator, or of a method that takes nothing else.
    Operands(&'a [&'a Bound<'py, PyAny>]),
    /// One element of the first axis.
    Element(&'a Bound<'py, PyAny>, usize),
    /// What a declared operation was given by position and by name.
    Declared(&'static OpDecl, &'a [Bound<'py, PyAny>], &'a [Keyword<'py>]),
    /// Inputs and attributes, put together when somebody asks.
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

/// Runs `work` without the GIL: other threads may be in the engine meanwhile.
#[inline]
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    assert_no_lock_held();
    let _others = NotAlone::new();
    py.detach(work)
}

/// Whether something intercepts the calls of this thread, so that no short way may be taken.
#[inline]
pub(crate) fn intercepted() -> bool {
    intercepts(Mode::current())
}

/// The same in this mode.
#[inline]
pub(crate) fn intercepts(mode: Mode) -> bool {
    mode.has(TRACING)
}

/// Whether calls in this mode neither are intercepted nor run code of the host while they compute and record.
#[inline(always)]
pub(crate) fn is_quiet(mode: Mode) -> bool {
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

    /// Runs the computation of one tensor, which works on this many elements.
    #[inline]
    pub(crate) fn tensor(
        self,
        elements: usize,
        compute: impl FnOnce() -> Result<Tensor> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.intercept(|| wrap_computed(self.py, || self.at_work(elements, compute)))
    }

    /// The same of one that may be a view of `source`.
    #[inline]
    pub(crate) fn part(
        self,
        source: &Bound<'py, PyTensor>,
        elements: usize,
        compute: impl FnOnce() -> Result<Tensor> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.intercept(|| wrap_part(source, || self.at_work(elements, compute)))
    }

    /// Runs a computation on this many elements, without the GIL where they are many, and makes an object of what it
    /// yields.
    #[inline]
    pub(crate) fn run<T: Send>(
        self,
        elements: usize,
        compute: impl FnOnce() -> Result<T> + Send,
        object: impl FnOnce(T) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.intercept(|| object(self.at_work(elements, compute)?))
    }

    /// Runs a computation on this many elements, without the GIL where they are many.
    #[inline]
    fn at_work<T: Send>(
        self,
        elements: usize,
        compute: impl FnOnce() -> Result<T> + Send,
    ) -> Result<T> {
        if elements > SMALL { detached(self.py, compute) } else { compute() }
    }

    /// Runs what changes a tensor in place, by work on this many elements, and gives the tensor back.
    #[inline]
    pub(crate) fn change(
        self,
        changed: &Bound<'py, PyAny>,
        elements: usize,
        compute: impl FnOnce() -> Result<()> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.run(elements, compute, |()| {
            if let Ok(tensor) = changed.cast::<PyTensor>() {
                tensor.get().written();
            }
            Ok(changed.clone())
        })
    }

    /// Runs what the call stands for, Python code too. Here, and nowhere else, calls can be intercepted.
    #[inline]
    pub(crate) fn intercept(
        self,
        compute: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        assert_no_lock_held();
        let result = compute()?;
        if intercepted() {
            self.observed(&result)?;
        }
        Ok(result)
    }

    #[cold]
    fn observed(self, result: &Bound<'py, PyAny>) -> PyResult<()> {
        let none = PyTuple::empty(self.py);
        match self.arguments {
            Inputs::Operands(operands) => {
                observe::tell(self.name, &PyTuple::new(self.py, operands)?, None, result)
            }
            Inputs::Element(tensor, i) => {
                let operands = (tensor, i).into_pyobject(self.py)?;
                observe::tell(self.name, &operands, None, result)
            }
            Inputs::Declared(decl, positional, keywords) => {
                let named = observe::by_name(self.py, decl, positional, keywords)?;
                observe::tell(self.name, &none, Some(named.as_any()), result)
            }
            Inputs::Described(describe) => {
                let (inputs, attributes) = describe()?;
                observe::tell(self.name, &inputs, attributes.as_ref(), result)
            }
        }
    }
}
