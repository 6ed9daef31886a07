//! The arguments of a compiled function's call, matched against those with which a program was recorded.
//!
//! Owns: `Places`, the plan of that match. Never converts an argument, and never says what is wrong with one: a call that
//! does not match is left to the package. Invariant: a call that matches has the signature of the recorded one.

use ::numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use smallvec::SmallVec;

use crate::array::Elements;
use crate::bindings::interop::numpy;
use crate::bindings::object::PyTensor;
use crate::compile::traced_function::{Signature, elements};
use crate::dtype::Complex128;
use crate::tensor::Tensor;

/// An argument of a run.
pub(crate) enum Argument<'py> {
    /// An array whose elements are read where they lie.
    Array(Bound<'py, PyUntypedArray>),
    /// A tensor, or a copy of something else.
    Tensor(Tensor),
}

impl Argument<'_> {
    pub(crate) fn elements(&self) -> Elements<'_> {
        match self {
            Argument::Array(array) => numpy::elements(array),
            Argument::Tensor(tensor) => elements(tensor),
        }
    }

    /// A tensor that nobody else changes: an array is copied.
    pub(crate) fn into_tensor(self, want: &Signature) -> PyResult<Tensor> {
        match self {
            Argument::Array(array) => numpy::copy("compile", &array, want.dtype),
            Argument::Tensor(tensor) => Ok(tensor),
        }
    }
}

/// The arguments of one call that a program takes.
pub(crate) type Arguments<'py> = SmallVec<[Argument<'py>; 8]>;

/// A float or a complex number that a program takes anew.
pub(crate) fn number(given: &Bound<'_, PyAny>) -> Option<Tensor> {
    if let Ok(float) = given.cast_exact::<PyFloat>() {
        return Some(Tensor::from(float.value()));
    }
    let complex = given.cast_exact::<PyComplex>().ok()?;
    Some(Tensor::from(Complex128::new(complex.real(), complex.imag())))
}

/// An array that lies as the recorded argument did: in C order, or not.
pub(crate) fn in_place<'py>(
    want: &Signature,
    given: &Bound<'py, PyAny>,
    ordered: bool,
) -> Option<Bound<'py, PyUntypedArray>> {
    let array = given.cast_exact::<PyUntypedArray>().ok()?;
    let here = array.shape() == &want.dims[..]
        && array.is_c_contiguous() == ordered
        && numpy::native_dtype(&array.dtype()) == Some(want.dtype)
        && numpy::is_aligned(array);
    here.then(|| array.clone())
}

/// What stands at one place of the arguments.
enum Place {
    /// An array, and whether it lies in C order.
    Array(bool),
    /// A tensor, whether it requires grad, whether it lies in C order, and whether it is a value.
    Tensor(bool, bool, bool),
    /// A float, or a complex number.
    Number,
    /// What belongs to the program: None, a whole number, a text, a float.
    Same(Py<PyAny>),
    Tuple(Vec<Place>),
    List(Vec<Place>),
    Dict(Vec<(Py<PyAny>, Place)>),
}

/// What stands at the places of a call.
pub(crate) struct Places {
    positional: Vec<Place>,
    keywords: Vec<(Py<PyAny>, Place)>,
    /// Whether the function sees in which order keywords were given.
    ordered: bool,
    /// Whether there is a tensor: then results are tensors.
    pub(crate) tensors: bool,
}

impl Places {
    /// The places of a call of which a program takes `values`, in their order; `None` where there are others than these.
    pub(crate) fn of<'py>(
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
        values: &Bound<'py, PyList>,
        ordered: bool,
    ) -> Option<Places> {
        let mut values = values.iter().peekable();
        let mut place = |given: &Bound<'py, PyAny>| Place::of(given, &mut values);
        let positional = args.iter().map(|given| place(&given)).collect::<Option<_>>()?;
        let keywords = kwargs.iter().map(|(key, given)| Some((key.unbind(), place(&given)?)));
        let keywords = keywords.collect::<Option<_>>()?;
        if values.next().is_some() {
            return None;
        }
        let mut places = Places { positional, keywords, ordered, tensors: false };
        let all = places.keywords.iter().map(|(_, place)| place).chain(&places.positional);
        places.tensors = all.fold(false, |any, place| any | place.has_tensor());
        Some(places)
    }

    /// The arguments that a program takes, if the call is like the recorded one.
    pub(crate) fn arguments<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        wants: &[Signature],
    ) -> Option<Arguments<'py>> {
        let mut found = Arguments::new();
        if args.len() != self.positional.len() {
            return None;
        }
        for (given, place) in args.iter_borrowed().zip(&self.positional) {
            place.take(&given, wants, &mut found)?;
        }
        match kwargs {
            Some(kwargs) if self.ordered => {
                take_items(&self.keywords, kwargs, wants, &mut found)?;
            }
            Some(kwargs) => {
                (kwargs.len() == self.keywords.len()).then_some(())?;
                for (name, place) in &self.keywords {
                    let given = kwargs.get_item(name).ok()??;
                    place.take(&given, wants, &mut found)?;
                }
            }
            None if self.keywords.is_empty() => {}
            None => return None,
        }
        Some(found)
    }
}

impl Place {
    fn of<'py>(
        given: &Bound<'py, PyAny>,
        values: &mut std::iter::Peekable<impl Iterator<Item = Bound<'py, PyAny>>>,
    ) -> Option<Place> {
        if values.next_if(|value| value.is(given)).is_some() {
            return Some(if number(given).is_some() {
                Place::Number
            } else if let Ok(tensor) = given.cast::<PyTensor>() {
                let tensor = &tensor.get().tensor;
                Place::Tensor(tensor.requires_grad(), tensor.is_contiguous(), tensor.is_value())
            } else {
                let array = given.cast_exact::<PyUntypedArray>();
                Place::Array(array.is_ok_and(|array| array.is_c_contiguous()))
            });
        }
        if let Ok(tuple) = given.cast_exact::<PyTuple>() {
            let places = tuple.iter().map(|item| Place::of(&item, values));
            return places.collect::<Option<_>>().map(Place::Tuple);
        }
        if let Ok(list) = given.cast_exact::<PyList>() {
            let places = list.iter().map(|item| Place::of(&item, values));
            return places.collect::<Option<_>>().map(Place::List);
        }
        if let Ok(dict) = given.cast_exact::<PyDict>() {
            let place = |(key, item): (Bound<'py, PyAny>, Bound<'py, PyAny>)| {
                is_plain(&key).then_some(())?;
                Some((key.unbind(), Place::of(&item, values)?))
            };
            return dict.iter().map(place).collect::<Option<_>>().map(Place::Dict);
        }
        is_plain(given).then(|| Place::Same(given.clone().unbind()))
    }

    fn has_tensor(&self) -> bool {
        match self {
            Place::Tensor(..) => true,
            Place::Array(_) | Place::Number | Place::Same(_) => false,
            Place::Tuple(places) | Place::List(places) => places.iter().any(Place::has_tensor),
            Place::Dict(items) => items.iter().any(|(_, place)| place.has_tensor()),
        }
    }

    fn take<'py>(
        &self,
        given: &Bound<'py, PyAny>,
        wants: &[Signature],
        found: &mut Arguments<'py>,
    ) -> Option<()> {
        match self {
            Place::Array(ordered) => {
                let array = in_place(&wants[found.len()], given, *ordered)?;
                found.push(Argument::Array(array));
            }
            Place::Tensor(requires, ordered, value) => {
                let tensor = &given.cast::<PyTensor>().ok()?.get().tensor;
                let want = &wants[found.len()];
                let like = tensor.dtype() == want.dtype
                    && tensor.shape() == &want.dims[..]
                    && tensor.is_contiguous() == *ordered
                    && tensor.requires_grad() == *requires
                    && tensor.is_value() == *value;
                found.push(Argument::Tensor(like.then(|| tensor.clone())?));
            }
            Place::Number => {
                let value = number(given)?;
                (value.dtype() == wants[found.len()].dtype).then_some(())?;
                found.push(Argument::Tensor(value));
            }
            Place::Same(before) => return same(before.bind(given.py()), given).then_some(()),
            Place::Tuple(places) => {
                let tuple = given.cast_exact::<PyTuple>().ok()?;
                (tuple.len() == places.len()).then_some(())?;
                for (item, place) in tuple.iter_borrowed().zip(places) {
                    place.take(&item, wants, found)?;
                }
            }
            Place::List(places) => {
                let list = given.cast_exact::<PyList>().ok()?;
                (list.len() == places.len()).then_some(())?;
                for (item, place) in list.iter().zip(places) {
                    place.take(&item, wants, found)?;
                }
            }
            Place::Dict(items) => {
                return take_items(items, given.cast_exact::<PyDict>().ok()?, wants, found);
            }
        }
        Some(())
    }
}

/// The items of a dict with these keys, in this order.
fn take_items<'py>(
    items: &[(Py<PyAny>, Place)],
    dict: &Bound<'py, PyDict>,
    wants: &[Signature],
    found: &mut Arguments<'py>,
) -> Option<()> {
    (dict.len() == items.len()).then_some(())?;
    for ((key, item), (before, place)) in dict.iter().zip(items) {
        same(before.bind(dict.py()), &key).then_some(())?;
        place.take(&item, wants, found)?;
    }
    Some(())
}

/// Whether an object is of a class whose equal objects are the same to every program.
fn is_plain(given: &Bound<'_, PyAny>) -> bool {
    given.is_none()
        || given.is_exact_instance_of::<PyInt>()
        || given.is_exact_instance_of::<PyString>()
        || given.is_exact_instance_of::<PyBool>()
        || given.is_exact_instance_of::<PyFloat>()
}

/// Whether two plain objects are the same to every program: -0.0 equals 0.0, and NaN not even itself.
fn same(before: &Bound<'_, PyAny>, now: &Bound<'_, PyAny>) -> bool {
    if before.is(now) {
        return true;
    }
    if let (Ok(before), Ok(now)) = (before.cast_exact::<PyFloat>(), now.cast_exact::<PyFloat>()) {
        return before.value().to_bits() == now.value().to_bits();
    }
    before.get_type().is(now.get_type()) && before.eq(now).unwrap_or(false)
}
