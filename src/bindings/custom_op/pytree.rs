//! Pytrees: the positions of tensors in nested tuples, lists and dicts, found once per call and reused for gradients.
//! A container without tensors is a constant.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

use crate::bindings::call::sequence::check_depth;
use crate::bindings::custom_op::outputs::as_tensor;

/// The type of a sequence.
pub(super) enum SequenceKind {
    List,
    Tuple,
    /// A named tuple: its class.
    Named(Py<PyType>),
}

/// The positions of tensors in an object.
pub(super) enum Tree {
    Constant,
    /// An array argument: a constant for which backward may still return a gradient.
    Array,
    /// The tensor with this number.
    Tensor(u32),
    /// A tuple or list.
    Sequence(Box<(SequenceKind, Vec<Tree>)>),
    /// A dict: keys and the trees of the values.
    Mapping(Box<[(Py<PyAny>, Tree)]>),
}

/// Builds trees, numbering the tensors in order of appearance.
pub(super) struct TreeBuilder<'a, 'py> {
    /// Called with each object; returns the number of a tensor.
    pub(super) leaf: &'a mut dyn FnMut(&Bound<'py, PyAny>) -> PyResult<Option<u32>>,
    /// The function's name, for messages.
    pub(super) op: &'a str,
}

impl<'py> TreeBuilder<'_, 'py> {
    pub(super) fn tree(&mut self, ob: &Bound<'py, PyAny>, depth: usize) -> PyResult<Tree> {
        if let Some(number) = (self.leaf)(ob)? {
            return Ok(Tree::Tensor(number));
        }
        if let Ok(tuple) = ob.cast::<PyTuple>() {
            check_depth(self.op, ob, depth + 1)?;
            return self.sequence(kind_of(tuple)?, tuple.iter(), depth);
        }
        if let Ok(list) = ob.cast::<PyList>() {
            check_depth(self.op, ob, depth + 1)?;
            return self.sequence(SequenceKind::List, list.iter(), depth);
        }
        match ob.cast_exact::<PyDict>() {
            Ok(dict) => {
                check_depth(self.op, ob, depth + 1)?;
                self.mapping(dict, depth)
            }
            Err(_) => Ok(Tree::Constant),
        }
    }

    fn sequence(
        &mut self,
        kind: SequenceKind,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
        depth: usize,
    ) -> PyResult<Tree> {
        let items =
            items.map(|item| self.tree(&item, depth + 1)).collect::<PyResult<Vec<Tree>>>()?;
        let empty = items.iter().all(|item| matches!(item, Tree::Constant));
        Ok(if empty { Tree::Constant } else { Tree::Sequence(Box::new((kind, items))) })
    }

    fn mapping(&mut self, dict: &Bound<'py, PyDict>, depth: usize) -> PyResult<Tree> {
        let mut items = Vec::with_capacity(dict.len());
        for (key, value) in dict.iter() {
            items.push((key.unbind(), self.tree(&value, depth + 1)?));
        }
        let empty = items.iter().all(|(_, item)| matches!(item, Tree::Constant));
        Ok(if empty { Tree::Constant } else { Tree::Mapping(items.into()) })
    }
}

fn kind_of(tuple: &Bound<'_, PyTuple>) -> PyResult<SequenceKind> {
    let class = tuple.get_type();
    let named = !tuple.is_exact_instance_of::<PyTuple>()
        && class.hasattr(pyo3::intern!(tuple.py(), "_make"))?;
    Ok(if named { SequenceKind::Named(class.unbind()) } else { SequenceKind::Tuple })
}

impl SequenceKind {
    fn build<'py>(&self, py: Python<'py>, items: Vec<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            SequenceKind::List => Ok(PyList::new(py, items)?.into_any()),
            SequenceKind::Tuple => Ok(PyTuple::new(py, items)?.into_any()),
            SequenceKind::Named(class) => {
                class.bind(py).call_method1(pyo3::intern!(py, "_make"), (PyList::new(py, items)?,))
            }
        }
    }
}

impl Tree {
    /// Rebuilds the object: tensors from `leaf`, constants from `template`, or None.
    pub(super) fn rebuild<'py>(
        &self,
        py: Python<'py>,
        template: Option<&Bound<'py, PyAny>>,
        leaf: &mut dyn FnMut(u32) -> PyResult<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        match self {
            Tree::Constant | Tree::Array => {
                Ok(template.map_or_else(|| py.None(), |ob| ob.clone().unbind()))
            }
            Tree::Tensor(number) => leaf(*number),
            Tree::Sequence(sequence) => {
                let (kind, items) = &**sequence;
                let mut built = Vec::with_capacity(items.len());
                for (i, item) in items.iter().enumerate() {
                    let part = template.filter(|_| !matches!(item, Tree::Tensor(_)));
                    let part = part.map(|ob| ob.get_item(i)).transpose()?;
                    built.push(item.rebuild(py, part.as_ref(), leaf)?);
                }
                Ok(kind.build(py, built)?.unbind())
            }
            Tree::Mapping(items) => {
                let dict = PyDict::new(py);
                for (key, item) in items.iter() {
                    let part = template.map(|ob| ob.get_item(key.bind(py))).transpose()?;
                    dict.set_item(key.bind(py), item.rebuild(py, part.as_ref(), leaf)?)?;
                }
                Ok(dict.into_any().unbind())
            }
        }
    }

    /// Whether `test` holds for any tensor's number.
    pub(super) fn any(&self, test: &dyn Fn(u32) -> bool) -> bool {
        match self {
            Tree::Constant | Tree::Array => false,
            Tree::Tensor(number) => test(*number),
            Tree::Sequence(sequence) => sequence.1.iter().any(|item| item.any(test)),
            Tree::Mapping(items) => items.iter().any(|(_, item)| item.any(test)),
        }
    }

    /// Visits the Python objects that the tree owns.
    pub(super) fn visit(&self, visit: &mut dyn FnMut(&Py<PyAny>)) {
        match self {
            Tree::Constant | Tree::Array | Tree::Tensor(_) => {}
            Tree::Sequence(sequence) => {
                if let SequenceKind::Named(class) = &sequence.0 {
                    visit(class.as_any());
                }
                sequence.1.iter().for_each(|item| item.visit(visit));
            }
            Tree::Mapping(items) => items.iter().for_each(|(key, item)| {
                visit(key);
                item.visit(visit);
            }),
        }
    }
}

/// The leaf function for arguments: numbers tensors, ignores everything else.
pub(super) fn tensor_leaf<'py>(
    found: &mut impl Extend<Bound<'py, PyAny>>,
    count: &mut u32,
    ob: &Bound<'py, PyAny>,
) -> Option<u32> {
    as_tensor(ob)?;
    found.extend([ob.clone()]);
    *count += 1;
    Some(*count - 1)
}
