//! Matches the arguments of a call of a compiled function against those of a cached program, without Python code.
//!
//! A mismatch is left to the Python package, which traces again or raises. Invariant: a call that matches has the
//! signature of the traced one.

use ::numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use smallvec::SmallVec;

use crate::array::Elements;
use crate::bindings::interop::numpy;
use crate::bindings::object::PyTensor;
use crate::compile::program::{Signature, tensor_elements};
use crate::dtype::Complex128;
use crate::tensor::Tensor;

/// An argument of a run.
pub(crate) enum Argument<'py> {
    /// An array, read without a copy.
    Array(Bound<'py, PyUntypedArray>),
    /// A tensor, or a copy of something else.
    Tensor(Tensor),
}

impl Argument<'_> {
    pub(crate) fn elements(&self) -> Elements<'_> {
        match self {
            Argument::Array(array) => numpy::elements(array),
            Argument::Tensor(tensor) => tensor_elements(tensor),
        }
    }

    /// A tensor that only the program references: an array is copied.
    pub(crate) fn into_tensor(self, signature: &Signature) -> PyResult<Tensor> {
        match self {
            Argument::Array(array) => numpy::copy("compile", &array, signature.dtype),
            Argument::Tensor(tensor) => Ok(tensor),
        }
    }
}

/// The arguments of one call that are inputs of the program.
pub(crate) type Arguments<'py> = SmallVec<[Argument<'py>; 8]>;

/// A float or a complex number as a tensor.
pub(crate) fn number(argument: &Bound<'_, PyAny>) -> Option<Tensor> {
    if let Ok(float) = argument.cast_exact::<PyFloat>() {
        return Some(Tensor::from(float.value()));
    }
    let complex = argument.cast_exact::<PyComplex>().ok()?;
    Some(Tensor::from(Complex128::new(complex.real(), complex.imag())))
}

/// An array with the signature of the traced argument and the same contiguity.
pub(crate) fn matching_array<'py>(
    signature: &Signature,
    argument: &Bound<'py, PyAny>,
    is_ordered: bool,
) -> Option<Bound<'py, PyUntypedArray>> {
    let array = argument.cast_exact::<PyUntypedArray>().ok()?;
    let matches_signature = array.shape() == &signature.dims[..]
        && array.is_c_contiguous() == is_ordered
        && numpy::native_dtype(&array.dtype()) == Some(signature.dtype)
        && numpy::is_aligned(array);
    matches_signature.then(|| array.clone())
}

/// The expected argument at one node of the argument tree.
enum ArgumentNode {
    /// An array; whether it is C-contiguous.
    Array(bool),
    /// A tensor: whether it requires grad, is contiguous, and is a scalar value.
    Tensor(bool, bool, bool),
    /// A float or a complex number.
    Number,
    /// A static argument: None, bool, int, str, or a float that is not traced.
    Static(Py<PyAny>),
    Tuple(Vec<ArgumentNode>),
    List(Vec<ArgumentNode>),
    Dict(Vec<(Py<PyAny>, ArgumentNode)>),
}

/// The expected arguments of a call (a pytree).
pub(crate) struct ArgumentTree {
    positional: Vec<ArgumentNode>,
    keywords: Vec<(Py<PyAny>, ArgumentNode)>,
    /// Whether the function can see the order of its keyword arguments.
    is_ordered: bool,
    /// Whether there is a tensor: results are tensors then.
    pub(crate) has_tensors: bool,
}

impl ArgumentTree {
    /// The tree of a call in which `values` are the traced arguments, in order; `None` if it has leaves of other
    /// types.
    pub(crate) fn of<'py>(
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
        values: &Bound<'py, PyList>,
        is_ordered: bool,
    ) -> Option<ArgumentTree> {
        let mut values = values.iter().peekable();
        let mut node = |argument: &Bound<'py, PyAny>| ArgumentNode::of(argument, &mut values);
        let positional = args.iter().map(|argument| node(&argument)).collect::<Option<_>>()?;
        let keywords = kwargs.iter().map(|(key, argument)| Some((key.unbind(), node(&argument)?)));
        let keywords = keywords.collect::<Option<_>>()?;
        if values.next().is_some() {
            return None;
        }
        let mut tree = ArgumentTree { positional, keywords, is_ordered, has_tensors: false };
        let all = tree.keywords.iter().map(|(_, node)| node).chain(&tree.positional);
        tree.has_tensors = all.fold(false, |any, node| any | node.has_tensor());
        Some(tree)
    }

    /// The inputs of the program, if the call matches.
    pub(crate) fn arguments<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        signatures: &[Signature],
    ) -> Option<Arguments<'py>> {
        let mut inputs = Arguments::new();
        if args.len() != self.positional.len() {
            return None;
        }
        for (argument, node) in args.iter_borrowed().zip(&self.positional) {
            node.match_into(&argument, signatures, &mut inputs)?;
        }
        match kwargs {
            Some(kwargs) if self.is_ordered => {
                match_items(&self.keywords, kwargs, signatures, &mut inputs)?;
            }
            Some(kwargs) => {
                (kwargs.len() == self.keywords.len()).then_some(())?;
                for (name, node) in &self.keywords {
                    let argument = kwargs.get_item(name).ok()??;
                    node.match_into(&argument, signatures, &mut inputs)?;
                }
            }
            None if self.keywords.is_empty() => {}
            None => return None,
        }
        Some(inputs)
    }
}

impl ArgumentNode {
    fn of<'py>(
        argument: &Bound<'py, PyAny>,
        values: &mut std::iter::Peekable<impl Iterator<Item = Bound<'py, PyAny>>>,
    ) -> Option<ArgumentNode> {
        if values.next_if(|value| value.is(argument)).is_some() {
            return Some(if number(argument).is_some() {
                ArgumentNode::Number
            } else if let Ok(tensor) = argument.cast::<PyTensor>() {
                let tensor = &tensor.get().tensor;
                ArgumentNode::Tensor(
                    tensor.requires_grad(),
                    tensor.is_contiguous(),
                    tensor.is_value(),
                )
            } else {
                let array = argument.cast_exact::<PyUntypedArray>();
                ArgumentNode::Array(array.is_ok_and(|array| array.is_c_contiguous()))
            });
        }
        if let Ok(tuple) = argument.cast_exact::<PyTuple>() {
            let nodes = tuple.iter().map(|item| ArgumentNode::of(&item, values));
            return nodes.collect::<Option<_>>().map(ArgumentNode::Tuple);
        }
        if let Ok(list) = argument.cast_exact::<PyList>() {
            let nodes = list.iter().map(|item| ArgumentNode::of(&item, values));
            return nodes.collect::<Option<_>>().map(ArgumentNode::List);
        }
        if let Ok(dict) = argument.cast_exact::<PyDict>() {
            let node = |(key, item): (Bound<'py, PyAny>, Bound<'py, PyAny>)| {
                is_static(&key).then_some(())?;
                Some((key.unbind(), ArgumentNode::of(&item, values)?))
            };
            return dict.iter().map(node).collect::<Option<_>>().map(ArgumentNode::Dict);
        }
        is_static(argument).then(|| ArgumentNode::Static(argument.clone().unbind()))
    }

    fn has_tensor(&self) -> bool {
        match self {
            ArgumentNode::Tensor(..) => true,
            ArgumentNode::Array(_) | ArgumentNode::Number | ArgumentNode::Static(_) => false,
            ArgumentNode::Tuple(nodes) | ArgumentNode::List(nodes) => {
                nodes.iter().any(ArgumentNode::has_tensor)
            }
            ArgumentNode::Dict(items) => items.iter().any(|(_, node)| node.has_tensor()),
        }
    }

    fn match_into<'py>(
        &self,
        argument: &Bound<'py, PyAny>,
        signatures: &[Signature],
        inputs: &mut Arguments<'py>,
    ) -> Option<()> {
        match self {
            ArgumentNode::Array(is_ordered) => {
                let array = matching_array(&signatures[inputs.len()], argument, *is_ordered)?;
                inputs.push(Argument::Array(array));
            }
            ArgumentNode::Tensor(requires, is_ordered, is_value) => {
                let tensor = &argument.cast::<PyTensor>().ok()?.get().tensor;
                let traits = (*requires, *is_ordered, *is_value);
                tensor_matches(tensor, &signatures[inputs.len()], traits).then_some(())?;
                inputs.push(Argument::Tensor(tensor.clone()));
            }
            ArgumentNode::Number => {
                let value = number(argument)?;
                (value.dtype() == signatures[inputs.len()].dtype).then_some(())?;
                inputs.push(Argument::Tensor(value));
            }
            ArgumentNode::Static(traced) => {
                return is_same_static(traced.bind(argument.py()), argument).then_some(());
            }
            ArgumentNode::Tuple(nodes) => {
                let tuple = argument.cast_exact::<PyTuple>().ok()?;
                (tuple.len() == nodes.len()).then_some(())?;
                for (item, node) in tuple.iter_borrowed().zip(nodes) {
                    node.match_into(&item, signatures, inputs)?;
                }
            }
            ArgumentNode::List(nodes) => {
                let list = argument.cast_exact::<PyList>().ok()?;
                (list.len() == nodes.len()).then_some(())?;
                for (item, node) in list.iter().zip(nodes) {
                    node.match_into(&item, signatures, inputs)?;
                }
            }
            ArgumentNode::Dict(items) => {
                let dict = argument.cast_exact::<PyDict>().ok()?;
                return match_items(items, dict, signatures, inputs);
            }
        }
        Some(())
    }
}

/// Whether a tensor has this signature, requires grad or not, is contiguous or not, and is a scalar value or not.
#[inline]
fn tensor_matches(
    tensor: &Tensor,
    signature: &Signature,
    (requires, is_ordered, is_value): (bool, bool, bool),
) -> bool {
    tensor.dtype() == signature.dtype
        && tensor.shape() == &signature.dims[..]
        && tensor.is_contiguous() == is_ordered
        && tensor.requires_grad() == requires
        && tensor.is_value() == is_value
}

/// Matches the items of a dict with these keys in this order.
fn match_items<'py>(
    items: &[(Py<PyAny>, ArgumentNode)],
    dict: &Bound<'py, PyDict>,
    signatures: &[Signature],
    inputs: &mut Arguments<'py>,
) -> Option<()> {
    (dict.len() == items.len()).then_some(())?;
    for ((key, item), (traced, node)) in dict.iter().zip(items) {
        is_same_static(traced.bind(dict.py()), &key).then_some(())?;
        node.match_into(&item, signatures, inputs)?;
    }
    Some(())
}

/// Whether an object is of a type whose equal objects compile to the same program.
fn is_static(argument: &Bound<'_, PyAny>) -> bool {
    argument.is_none()
        || argument.is_exact_instance_of::<PyInt>()
        || argument.is_exact_instance_of::<PyString>()
        || argument.is_exact_instance_of::<PyBool>()
        || argument.is_exact_instance_of::<PyFloat>()
}

/// Whether two static objects compile to the same program. Compares bits of floats: -0.0 and 0.0 differ, a NaN equals
/// itself.
fn is_same_static(traced: &Bound<'_, PyAny>, now: &Bound<'_, PyAny>) -> bool {
    if traced.is(now) {
        return true;
    }
    if let (Ok(traced), Ok(now)) = (traced.cast_exact::<PyFloat>(), now.cast_exact::<PyFloat>()) {
        return traced.value().to_bits() == now.value().to_bits();
    }
    traced.get_type().is(now.get_type()) && traced.eq(now).unwrap_or(false)
}
