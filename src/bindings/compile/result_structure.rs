//! `ResultStructure`: how the results of a program become what the compiled function returns.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyList, PySet};
use pyo3::{PyTraverseError, PyVisit};

use ::numpy::PyUntypedArray;

use crate::bindings::object::PyTensor;
use crate::bindings::pytree::PyTree;

/// What stands at a leaf of the return value.
enum ResultLeaf {
    /// The next result of the program.
    Computed,
    Constant(Py<PyAny>),
    /// A constant that callers may change: each call gets a copy.
    Copied(Py<PyAny>),
}

/// The results of a function, with places for tensors.
#[pyclass(name = "_ResultStructure", module = "ferrograd._core", frozen)]
pub(crate) struct ResultStructure {
    tree: Py<PyTree>,
    leaves: Vec<ResultLeaf>,
}

#[pymethods]
impl ResultStructure {
    /// Of the leaves that the function returned once, of which tensors are computed anew.
    #[new]
    fn new(py: Python<'_>, tree: &Bound<'_, PyTree>, leaves: &Bound<'_, PyList>) -> PyResult<Self> {
        let leaf = |leaf: Bound<'_, PyAny>| {
            let is_mutable = leaf.is_exact_instance_of::<PyUntypedArray>()
                || leaf.is_exact_instance_of::<PySet>()
                || leaf.is_exact_instance_of::<PyByteArray>();
            match (leaf.is_instance_of::<PyTensor>(), is_mutable) {
                (true, _) => ResultLeaf::Computed,
                (_, true) => ResultLeaf::Copied(leaf.unbind()),
                _ => ResultLeaf::Constant(leaf.unbind()),
            }
        };
        let tree = Py::new(py, tree.get().without_items(py)?)?;
        Ok(ResultStructure { tree, leaves: leaves.iter().map(leaf).collect() })
    }

    /// The containers.
    #[getter]
    fn tree(&self, py: Python<'_>) -> Py<PyTree> {
        self.tree.clone_ref(py)
    }

    /// The constants, with the class `Tensor` in the place of what is computed.
    #[getter]
    fn leaves<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyAny>> {
        let leaves = self.leaves.iter().map(|leaf| match leaf {
            ResultLeaf::Computed => py.get_type::<PyTensor>().into_any(),
            ResultLeaf::Constant(value) | ResultLeaf::Copied(value) => value.bind(py).clone(),
        });
        leaves.collect()
    }

    /// The return value, of the results of a program.
    pub(crate) fn build<'py>(&self, results: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyAny>> {
        self.assemble(results.py(), results.iter())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.tree)?;
        for leaf in &self.leaves {
            if let ResultLeaf::Constant(value) | ResultLeaf::Copied(value) = leaf {
                visit.call(value)?;
            }
        }
        Ok(())
    }
}

impl ResultStructure {
    /// The return value, of the results of a program.
    pub(crate) fn assemble<'py>(
        &self,
        py: Python<'py>,
        results: impl IntoIterator<Item = Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        static COPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let (mut results, mut leaves) = (results.into_iter(), self.leaves.iter());
        let mut next = || match leaves.next() {
            Some(ResultLeaf::Constant(value)) => Ok(value.bind(py).clone()),
            Some(ResultLeaf::Copied(value)) => COPY.import(py, "copy", "copy")?.call1((value,)),
            _ => Ok(results.next().unwrap_or_else(|| py.None().into_bound(py))),
        };
        self.tree.get().structure.rebuild(py, None, &mut |(), _| next())
    }
}
