//! `PyTree`: the structure of a nested value as a Python object, and `flatten`.

use std::hash::{DefaultHasher, Hasher};

use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyType};
use pyo3::{PyTraverseError, PyVisit};

use crate::bindings::call::sequence::{MAX_DEPTH, check_depth};
use crate::bindings::errors::bad_value;
use crate::bindings::pytree::Structure;
use crate::bindings::pytree::container::Container;
use crate::bindings::pytree::structure::Node;

/// The containers of a nested value: see `flatten` of `ferrograd._tensor.pytree`.
#[pyclass(name = "_PyTree", module = "ferrograd._core", frozen)]
pub(crate) struct PyTree {
    pub(crate) structure: Structure<()>,
}

/// The leaves of a nested value, and its structure.
#[pyfunction]
pub(crate) fn _flatten<'py>(value: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyList>, PyTree)> {
    let leaves = PyList::empty(value.py());
    let structure = Structure::flatten("containers", value, &mut |leaf| leaves.append(leaf))?;
    Ok((leaves, PyTree { structure }))
}

/// Refuses a container that stands inside `depth` others, if these are too many.
#[pyfunction]
pub(crate) fn _check_depth(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
    check_depth("containers", value, depth + 1)
}

#[pymethods]
impl PyTree {
    /// The most containers inside each other.
    #[classattr]
    const MAX_DEPTH: usize = MAX_DEPTH;

    /// A tuple of values of these structures.
    #[staticmethod]
    fn of_tuple(py: Python<'_>, trees: Vec<PyRef<'_, PyTree>>) -> PyTree {
        let children = trees.iter().map(|tree| tree.structure.clone_ref(py)).collect();
        let node = Node { container: Container::Tuple, children };
        PyTree { structure: Structure::Node(Box::new(node)) }
    }

    /// The value with these leaves in place of its own. Takes as many from an iterator as there are.
    fn unflatten<'py>(&self, leaves: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = leaves.py();
        let mut leaves: Bound<'py, PyIterator> = leaves.try_iter()?;
        self.structure.rebuild(py, None, &mut |(), _| leaves.next().ok_or_else(too_few_leaves)?)
    }

    /// The same without items of the value that it was made from: some containers are made as copies of it.
    pub(crate) fn without_items(&self, py: Python<'_>) -> PyResult<PyTree> {
        let mut structure = self.structure.clone_ref(py);
        structure.remove_items(py)?;
        Ok(PyTree { structure })
    }

    /// Whether the value is a leaf itself.
    #[getter]
    fn is_leaf(&self) -> bool {
        matches!(self.structure, Structure::Leaf(()))
    }

    /// The number of leaves.
    #[getter]
    fn num_leaves(&self) -> usize {
        let mut count = 0;
        self.structure.for_each_leaf(&mut |()| count += 1);
        count
    }

    /// The class of the outermost container; None for a leaf and for None.
    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyType>> {
        Some(self.node()?.container.class(py))
    }

    /// The keys of the outermost container: numbers, keys of a dict, names of fields.
    #[getter]
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        match self.node() {
            Some(node) => PyList::new(py, node.container.keys(py, node.children.len())?),
            None => Ok(PyList::empty(py)),
        }
    }

    /// The structures of the items of the outermost container.
    #[getter]
    fn children(&self, py: Python<'_>) -> Vec<PyTree> {
        let children = self.node().map_or(&[][..], |node| &node.children);
        children.iter().map(|child| PyTree { structure: child.clone_ref(py) }).collect()
    }

    /// Where each leaf is: `['w'][0]`.
    pub(crate) fn paths(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let mut found = Vec::new();
        self.structure.paths(py, "", &mut found)?;
        Ok(found)
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.structure.text(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("PyTree({})", self.structure.text(py)?))
    }

    /// Whether both have the same containers, lengths, keys and static fields.
    pub(crate) fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<PyTree>();
        other.is_ok_and(|other| self.structure.is_same(py, &other.get().structure))
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        let mut state = DefaultHasher::new();
        self.structure.hash_into(py, &mut state)?;
        Ok(state.finish())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let mut outcome = Ok(());
        self.structure.visit(&mut |ob| {
            if outcome.is_ok() {
                outcome = visit.call(ob);
            }
        });
        outcome
    }
}

impl PyTree {
    fn node(&self) -> Option<&Node<()>> {
        match &self.structure {
            Structure::Node(node) => Some(node),
            _ => None,
        }
    }
}

/// The error of a structure that gets fewer leaves than it has.
#[cold]
fn too_few_leaves() -> PyErr {
    bad_value("unflatten", "there are fewer leaves than the structure has", "pass one for each")
}
