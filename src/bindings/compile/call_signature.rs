//! `CallSignature`: what must be equal for a program to serve a call of a compiled function.
//!
//! Both the cached calls and the Python package compare calls by it. Invariant: a call that matches has the signature of
//! the traced one, so its inputs differ in their values only.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::bindings::call::default_dtype::default_dtype;
use crate::bindings::compile::leaf_key::{Arguments, LeafKey, StaticLeaf, require_hashable};
use crate::bindings::pytree::{PyTree, Structure, static_value};
use crate::dtype::DType;
use crate::graph::{GRAD, Mode};

/// The signature of a call: structure and leaves of its arguments, and modes.
#[pyclass(name = "_CallSignature", module = "ferrograd._core", frozen)]
pub(crate) struct CallSignature {
    /// The structure of `(args, kwargs)`.
    tree: Py<PyTree>,
    leaves: Vec<LeafKey>,
    /// Positions and names of the static arguments, and their values.
    statics: Vec<(StaticLeaf, StaticLeaf)>,
    is_recording: bool,
    default_dtype: DType,
    /// Whether the function can see the order of its keyword arguments.
    is_ordered: bool,
    /// Whether every input is the argument itself; else one is made of it, for each call.
    is_direct: bool,
    hash: u64,
}

/// Flattens the arguments of a call: the signature, the run-time inputs (not constants), and all leaves. `statics` are
/// positions or names of static arguments and their values; with `floats`, Python's numbers are run-time inputs.
#[pyfunction]
pub(crate) fn _split_call<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
    statics: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    floats: bool,
    is_ordered: bool,
) -> PyResult<(CallSignature, Bound<'py, PyList>, Bound<'py, PyList>)> {
    let py = args.py();
    let (values, all) = (PyList::empty(py), PyList::empty(py));
    let (mut leaves, mut is_direct) = (Vec::new(), true);
    let call = PyTuple::new(py, [args.as_any(), kwargs.as_any()])?;
    let mut add = |leaf: &Bound<'py, PyAny>| {
        let (key, input) = LeafKey::of(leaf, floats)?;
        leaves.push(key);
        all.append(leaf)?;
        input.map_or(Ok(()), |input| {
            is_direct &= input.is(leaf);
            values.append(input)
        })
    };
    let mut structure = Structure::flatten("containers", call.as_any(), &mut add)?;
    // The signature is kept, and must not keep the arguments.
    structure.remove_items(py)?;
    let owned = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<_> {
        require_hashable(&value)?;
        Ok((StaticLeaf(name.unbind()), StaticLeaf(value.unbind())))
    };
    let mut signature = CallSignature {
        tree: Py::new(py, PyTree { structure })?,
        leaves,
        statics: statics.into_iter().map(owned).collect::<PyResult<_>>()?,
        is_recording: Mode::current().has(GRAD),
        default_dtype: default_dtype(),
        is_ordered,
        is_direct,
        hash: 0,
    };
    signature.hash = signature.hashed(py)?;
    Ok((signature, values, all))
}

#[pymethods]
impl CallSignature {
    /// The structure of `(args, kwargs)`, without the static arguments.
    #[getter]
    fn tree(&self, py: Python<'_>) -> Py<PyTree> {
        self.tree.clone_ref(py)
    }

    /// The indices of the leaves that are run-time inputs.
    #[getter]
    fn places(&self) -> Vec<usize> {
        let numbered = self.leaves.iter().enumerate();
        numbered.filter(|(_, leaf)| leaf.is_input()).map(|(place, _)| place).collect()
    }

    /// Whether there is a tensor among the leaves: results are tensors then.
    #[getter]
    pub(crate) fn has_tensors(&self) -> bool {
        self.leaves.iter().any(|leaf| matches!(leaf, LeafKey::Tensor(..)))
    }

    /// Whether a run-time input is a number.
    #[getter]
    fn has_numbers(&self) -> bool {
        self.leaves.iter().any(|leaf| matches!(leaf, LeafKey::Number(_)))
    }

    /// Which of the run-time inputs are NumPy's scalars.
    #[getter]
    fn scalars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        let inputs = self.leaves.iter().filter(|leaf| leaf.is_input()).enumerate();
        let scalars = inputs.filter(|(_, leaf)| matches!(leaf, LeafKey::Scalar(_)));
        PyFrozenSet::new(py, scalars.map(|(number, _)| number))
    }

    /// The first leaf that is not in C order: another order of elements sums in another order.
    #[getter]
    fn non_contiguous(&self) -> Option<usize> {
        self.leaves.iter().position(|leaf| !leaf.is_contiguous())
    }

    /// The leaf as an argument, in words: `0['w']`, `scale`.
    fn argument(&self, py: Python<'_>, leaf: usize) -> PyResult<String> {
        let paths = self.tree.get().paths(py)?;
        let path = paths.get(leaf).map_or("", String::as_str);
        // Positional arguments are the first of a pair, keywords the second.
        let (is_keyword, rest) = (path.starts_with("[1]"), path.get("[0][".len()..).unwrap_or(""));
        let (name, rest) = rest.split_once(']').unwrap_or((rest, ""));
        let name = if is_keyword { name.trim_matches(['\'', '"']) } else { name };
        Ok(format!("{name}{rest}"))
    }

    /// What is new in this call, against another signature.
    fn difference(&self, py: Python<'_>, before: &CallSignature) -> PyResult<String> {
        let surroundings = [
            ("the structure of the arguments", !self.has_same_structure(py, before)),
            ("a static argument", self.statics != before.statics),
            ("whether gradients are recorded", self.is_recording != before.is_recording),
            ("the default dtype", self.default_dtype != before.default_dtype),
        ];
        if let Some((what, _)) = surroundings.into_iter().find(|(_, differs)| *differs) {
            return Ok(format!("{what} is different"));
        }
        let pairs = self.leaves.iter().zip(&before.leaves).enumerate();
        let different = pairs.filter(|(_, (now, old))| now != old).take(3);
        let news = different.map(|(i, (now, old))| {
            let (name, now, old) = (self.argument(py, i)?, now.describe(py)?, old.describe(py)?);
            Ok(format!("argument {name} is {now} and was {old}"))
        });
        let news = news.collect::<PyResult<Vec<_>>>()?;
        match news.is_empty() {
            true => Ok("what belongs to the program is different".into()),
            false => Ok(news.join(", ")),
        }
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<CallSignature>().map(Bound::get) else { return false };
        self.hash == other.hash
            && self.is_recording == other.is_recording
            && self.default_dtype == other.default_dtype
            && self.has_same_structure(py, other)
            && self.leaves == other.leaves
            && self.statics == other.statics
    }

    fn __hash__(&self) -> u64 {
        self.hash
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.tree)?;
        for (name, value) in &self.statics {
            visit.call(&name.0)?;
            visit.call(&value.0)?;
        }
        for leaf in &self.leaves {
            if let LeafKey::Static(known) = leaf {
                visit.call(&known.0)?;
            }
        }
        Ok(())
    }
}

impl CallSignature {
    /// Whether calls can be matched without Python: every input is the argument itself.
    pub(crate) fn is_direct(&self) -> bool {
        self.is_direct && self.statics.is_empty()
    }

    fn has_same_structure(&self, py: Python<'_>, other: &CallSignature) -> bool {
        self.leaves.len() == other.leaves.len()
            && self.tree.get().structure.is_same(py, &other.tree.get().structure)
    }

    fn hashed(&self, py: Python<'_>) -> PyResult<u64> {
        let mut state = DefaultHasher::new();
        self.tree.get().structure.hash_into(py, &mut state)?;
        self.leaves.iter().try_for_each(|leaf| leaf.hash_into(py, &mut state))?;
        for (name, value) in &self.statics {
            static_value::hash_into(name.0.bind(py), &mut state)?;
            static_value::hash_into(value.0.bind(py), &mut state)?;
        }
        (self.is_recording, self.default_dtype).hash(&mut state);
        Ok(state.finish())
    }

    /// The inputs of the program, if the call matches.
    pub(crate) fn inputs<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> Option<Arguments<'py>> {
        let Structure::Node(call) = &self.tree.get().structure else { return None };
        let [positional, keywords] = &call.children[..] else { return None };
        let mut inputs = Arguments::new();
        let mut keys = self.leaves.iter();
        let mut leaf = |(): &(), leaf: &Bound<'py, PyAny>| {
            keys.next().is_some_and(|key| key.accepts(leaf, &mut inputs))
        };
        let matches = positional.matches(args.as_any(), &mut leaf)
            && match (kwargs, keywords) {
                (Some(kwargs), _) if self.is_ordered => keywords.matches(kwargs, &mut leaf),
                (Some(kwargs), Structure::Node(node)) => node.matches_unordered(kwargs, &mut leaf),
                (None, Structure::Node(node)) => node.children.is_empty(),
                _ => false,
            };
        matches.then_some(inputs)
    }
}
