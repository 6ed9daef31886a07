//! What a compiled function must find at one leaf of its arguments: the value itself, or its dtype, shape and kind.
//!
//! Invariant: leaves with equal keys differ in nothing but the contents of arrays and tensors and the values of numbers.

use std::hash::{Hash, Hasher};

use ::numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyComplex, PyFloat, PySlice, PyTuple, PyType};
use smallvec::SmallVec;

use crate::array::Elements;
use crate::bindings::attach::attached;
use crate::bindings::errors::{bad_type, type_name};
use crate::bindings::interop::numpy;
use crate::bindings::object::PyTensor;
use crate::bindings::pytree::static_value;
use crate::compile::program::{Signature, tensor_elements};
use crate::dtype::{Complex128, DType};
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

/// What is expected at one leaf of the arguments.
#[derive(PartialEq)]
pub(crate) enum LeafKey {
    /// An array; whether it is C-contiguous.
    Array(Signature, bool),
    /// A tensor.
    Tensor(Signature, TensorTraits),
    /// A scalar of NumPy's.
    Scalar(DType),
    /// A float or a complex number, which is a run-time input of the program.
    Number(DType),
    /// Anything else, which belongs to the program.
    Static(StaticLeaf),
}

/// What else programs depend on in a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TensorTraits {
    requires_grad: bool,
    is_contiguous: bool,
    is_value: bool,
}

/// A static argument.
pub(crate) struct StaticLeaf(pub(crate) Py<PyAny>);

impl PartialEq for StaticLeaf {
    fn eq(&self, other: &StaticLeaf) -> bool {
        attached(|py| static_value::is_same(self.0.bind(py), other.0.bind(py))).unwrap_or(false)
    }
}

impl TensorTraits {
    #[inline]
    fn of(tensor: &Tensor) -> TensorTraits {
        TensorTraits {
            requires_grad: tensor.requires_grad(),
            is_contiguous: tensor.is_contiguous(),
            is_value: tensor.is_value(),
        }
    }
}

/// A leaf and what the program takes of it: the leaf, or an array made of it.
type Classified<'py> = (LeafKey, Option<Bound<'py, PyAny>>);

impl LeafKey {
    /// The key of a leaf, and its run-time input if it is not a constant. With `floats`, Python's numbers are inputs, too.
    pub(crate) fn of<'py>(leaf: &Bound<'py, PyAny>, floats: bool) -> PyResult<Classified<'py>> {
        if let Ok(tensor) = leaf.cast::<PyTensor>() {
            let tensor = &tensor.get().tensor;
            let key = LeafKey::Tensor(Signature::of(tensor), TensorTraits::of(tensor));
            return Ok((key, Some(leaf.clone())));
        }
        if let Ok(array) = leaf.cast_exact::<PyUntypedArray>()
            && let Some(dtype) = numpy::native_dtype(&array.dtype())
        {
            return Ok((LeafKey::array(array, dtype), Some(leaf.clone())));
        }
        if let Some(converted) = LeafKey::of_converted(leaf)? {
            return Ok(converted);
        }
        if floats && let Some(number) = number(leaf) {
            return Ok((LeafKey::Number(number.dtype()), Some(leaf.clone())));
        }
        require_hashable(leaf)?;
        Ok((LeafKey::Static(StaticLeaf(leaf.clone().unbind())), None))
    }

    fn array(array: &Bound<'_, PyUntypedArray>, dtype: DType) -> LeafKey {
        let signature = Signature { dtype, dims: array.shape().into() };
        LeafKey::Array(signature, array.is_c_contiguous())
    }

    /// The same of a scalar of NumPy's, and of an array of a subclass or in another byte order: an array is made of it.
    fn of_converted<'py>(leaf: &Bound<'py, PyAny>) -> PyResult<Option<Classified<'py>>> {
        let is_scalar = numpy::is_scalar(leaf)?;
        if !(is_scalar || numpy::is_array(leaf)) {
            return Ok(None);
        }
        if !is_scalar {
            refuse_other_arithmetic(leaf)?;
        }
        let py = leaf.py();
        let native = leaf.getattr(intern!(py, "dtype"))?;
        let native = native.call_method1(intern!(py, "newbyteorder"), ("=",))?;
        let Some(dtype) = numpy::native_dtype(native.cast()?) else { return Ok(None) };
        static CONTIGUOUS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let array = CONTIGUOUS.import(py, "numpy", "ascontiguousarray")?.call1((leaf, native))?;
        let array =
            array.call_method1(intern!(py, "reshape"), (leaf.getattr(intern!(py, "shape"))?,))?;
        let key = match is_scalar {
            true => LeafKey::Scalar(dtype),
            false => LeafKey::array(array.cast()?, dtype),
        };
        Ok(Some((key, Some(array))))
    }

    /// Whether a leaf has this key; if so, adds its run-time input. Also false for a leaf that must be converted first.
    #[inline]
    pub(crate) fn accepts<'py>(
        &self,
        leaf: &Bound<'py, PyAny>,
        inputs: &mut Arguments<'py>,
    ) -> bool {
        let input = match self {
            LeafKey::Array(signature, is_ordered) => {
                matching_array(signature, leaf, *is_ordered).map(Argument::Array)
            }
            LeafKey::Tensor(signature, traits) => leaf.cast::<PyTensor>().ok().and_then(|leaf| {
                let tensor = &leaf.get().tensor;
                let fits = tensor.dtype() == signature.dtype
                    && tensor.shape() == &signature.dims[..]
                    && TensorTraits::of(tensor) == *traits;
                fits.then(|| Argument::Tensor(tensor.clone()))
            }),
            LeafKey::Number(dtype) => {
                number(leaf).filter(|value| value.dtype() == *dtype).map(Argument::Tensor)
            }
            LeafKey::Scalar(_) => None,
            LeafKey::Static(known) => {
                return static_value::is_same(known.0.bind(leaf.py()), leaf).unwrap_or(false);
            }
        };
        input.map(|input| inputs.push(input)).is_some()
    }

    /// Whether the program takes the leaf anew.
    pub(crate) fn is_input(&self) -> bool {
        !matches!(self, LeafKey::Static(_))
    }

    /// Whether the leaf is in C order, or nothing that has an order.
    pub(crate) fn is_contiguous(&self) -> bool {
        match self {
            LeafKey::Array(_, is_ordered) => *is_ordered,
            LeafKey::Tensor(_, traits) => traits.is_contiguous,
            _ => true,
        }
    }

    /// Hashes the key: equal ones alike.
    pub(crate) fn hash_into(&self, py: Python<'_>, state: &mut impl Hasher) -> PyResult<()> {
        std::mem::discriminant(self).hash(state);
        match self {
            LeafKey::Array(signature, is_ordered) => {
                (signature.dtype, &signature.dims, is_ordered).hash(state);
            }
            LeafKey::Tensor(signature, traits) => {
                (signature.dtype, &signature.dims, traits).hash(state);
            }
            LeafKey::Scalar(dtype) | LeafKey::Number(dtype) => dtype.hash(state),
            LeafKey::Static(known) => static_value::hash_into(known.0.bind(py), state)?,
        }
        Ok(())
    }

    /// The leaf in words: `float64(3,)`, `int 2`.
    pub(crate) fn describe(&self, py: Python<'_>) -> PyResult<String> {
        let array = |signature: &Signature| -> PyResult<String> {
            let dims = PyTuple::new(py, signature.dims.iter())?;
            Ok(format!("{}{}", signature.dtype.name(), dims.repr()?))
        };
        Ok(match self {
            LeafKey::Array(signature, _) => array(signature)?,
            LeafKey::Tensor(signature, traits) if traits.requires_grad => {
                format!("{}, which requires grad", array(signature)?)
            }
            LeafKey::Tensor(signature, _) => array(signature)?,
            LeafKey::Scalar(dtype) => format!("{}()", dtype.name()),
            LeafKey::Number(dtype) if dtype.is_complex() => "a complex number".into(),
            LeafKey::Number(_) => "a float".into(),
            LeafKey::Static(known) => {
                let known = known.0.bind(py);
                format!("{} {}", known.get_type().name()?, known.repr()?)
            }
        })
    }
}

/// Refuses subclasses of arrays that compute otherwise.
fn refuse_other_arithmetic(leaf: &Bound<'_, PyAny>) -> PyResult<()> {
    static MASKED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static MATRIX: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = leaf.py();
    if leaf.is_instance(MASKED.import(py, "numpy.ma", "MaskedArray")?.as_any())?
        || leaf.is_instance(MATRIX.import(py, "numpy", "matrix")?.as_any())?
    {
        let what = format!(
            "an argument is a {}, which computes otherwise than arrays do",
            type_name(leaf)
        );
        return Err(bad_type("compile", what, "pass a plain array (numpy.asarray, filled())"));
    }
    Ok(())
}

/// Refuses a static argument that cannot be compared.
pub(crate) fn require_hashable(leaf: &Bound<'_, PyAny>) -> PyResult<()> {
    if leaf.is_instance_of::<PySlice>() || leaf.hash().is_ok() {
        return Ok(());
    }
    if let Ok(array) = leaf.cast::<PyUntypedArray>() {
        let what =
            format!("an argument is an array of {}, which programs do not take", array.dtype());
        return Err(bad_type("compile", what, "convert it with astype"));
    }
    let what = format!(
        "an argument is a {}, which is neither an array, a number nor hashable",
        type_name(leaf)
    );
    Err(bad_type("compile", what, "convert it to an array, or close over it"))
}
