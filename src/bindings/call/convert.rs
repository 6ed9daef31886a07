//! Conversion of Python objects to operands: tensors, numbers, dtypes, integers, index expressions.
//! `bool`, `int` and exact `float` and `complex` objects stay weak (untyped) numbers; NumPy scalars and other
//! subclasses are 0-d arrays, as in NumPy.

use pyo3::exceptions::{PyAttributeError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyComplex, PyDict, PyEllipsis, PyFloat, PyInt, PyList, PyRange, PySet, PySlice, PyTuple,
};
use smallvec::SmallVec;

use crate::array::observer;
use crate::bindings::call::sequence::{MAX_ITEMS, any_element, check_depth, elements, is_sequence};
use crate::bindings::call::slice;
use crate::bindings::errors::{bad_type, to_python, type_name};
use crate::bindings::interop::foreign_arrays;
use crate::bindings::interop::foreign_arrays::OverrideRule;
use crate::bindings::interop::numpy;
use crate::bindings::object::PyTensor;
use crate::dtype::{DType, Kind};
use crate::error::Error;
use crate::ops::core::op_decl::{IndexItem, Ints, Nested, OpDecl, Operand, Scalar};
use crate::ops::shape::join;
use crate::tensor::Tensor;

/// The value of `requires_grad=`.
pub(crate) fn requires_grad_flag(ob: &Bound<'_, PyAny>) -> PyResult<bool> {
    ob.extract::<bool>().map_err(|_| {
        bad_type("requires_grad", format!("the value is a {}", type_name(ob)), "pass True or False")
    })
}

/// A Python number that stays weak; `None` for everything else, NumPy scalars included.
#[inline]
pub(crate) fn weak_number(ob: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if let Ok(float) = ob.cast_exact::<PyFloat>() {
        return Ok(Some(Scalar::Float(float.value())));
    }
    if ob.is_exact_instance_of::<PyInt>() {
        return int_scalar(ob).map(Some);
    }
    if let Ok(flag) = ob.cast_exact::<PyBool>() {
        return Ok(Some(Scalar::Bool(flag.is_true())));
    }
    // A subclass of int, such as `t.size` or an enum member, is a number like any other.
    if ob.is_instance_of::<PyInt>() {
        return int_scalar(ob).map(Some);
    }
    if let Ok(complex) = ob.cast_exact::<PyComplex>() {
        return Ok(Some(Scalar::Complex(complex.real(), complex.imag())));
    }
    Ok(None)
}

/// An integer as a weak number.
#[inline]
fn int_scalar(ob: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    integer(ob).map(Scalar::Int).or_else(|error| match ob.extract::<u64>() {
        Ok(beyond) => Ok(Scalar::Unsigned(beyond)),
        Err(_) => ob.extract::<f64>().map(Scalar::Huge).map_err(|_| error),
    })
}

/// An integer, also from an object with `__index__`.
pub(crate) fn integer(ob: &Bound<'_, PyAny>) -> PyResult<i64> {
    ob.extract::<i64>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(ob.py()) {
            PyOverflowError::new_err(format!(
                "the integer {ob} does not fit in 64 bits; use a float, for example float({ob})"
            ))
        } else {
            error
        }
    })
}

/// A tensor from a tensor, an array, a number or a nested sequence.
///
/// Arrays are shared, not copied. `None` for any other object.
pub(crate) fn tensor_like(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if let Ok(tensor) = ob.cast::<PyTensor>() {
        return Ok(Some(tensor.get().tensor.clone()));
    }
    if let Some(number) = weak_number(ob)? {
        if let Scalar::Huge(_) = number {
            integer(ob)?;
        }
        return Ok(Some(Tensor::scalar(number)));
    }
    array_like(op, ob)
}

/// `tensor_like` for an object that is neither a tensor nor a weak number.
fn array_like(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if numpy::is_array(ob) {
        return numpy::share(op, ob).map(Some);
    }
    if is_sequence(ob) {
        return from_sequence(op, ob).map(Some);
    }
    let number = ob.is_instance_of::<PyFloat>() || ob.is_instance_of::<PyComplex>();
    if number || numpy::is_scalar(ob)? {
        let tensor = numpy::take_over(op, &numpy::asarray(op, ob)?)?;
        observer::note_filled(tensor.storage());
        return Ok(Some(tensor));
    }
    if ob.hasattr(pyo3::intern!(ob.py(), "__array__"))? {
        // A foreign tensor: its library may write to the memory later, so it is shared.
        return numpy::share(op, &numpy::asarray(op, ob)?).map(Some);
    }
    if ob.is_instance_of::<PyRange>() {
        return from_range(op, ob);
    }
    Ok(None)
}

/// The integers of a range.
#[cold]
fn from_range(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    let Some(found) = ints(op, "a range", ob, MAX_ITEMS)? else { return Ok(None) };
    let tensor = Tensor::from(found.to_vec());
    observer::note_filled(tensor.storage());
    Ok(Some(tensor))
}

/// The other operand of a tensor's operator; `None` for an object that is no operand, or implements arithmetic with arrays
/// itself.
#[inline]
pub(crate) fn operand_like(
    op: &str,
    rule: OverrideRule,
    ob: &Bound<'_, PyAny>,
) -> PyResult<Option<Operand>> {
    if let Some(number) = weak_number(ob)? {
        return Ok(Some(Operand::Scalar(number)));
    }
    if foreign_arrays::should_defer(rule, ob)? {
        return Ok(None);
    }
    let tensor = match ob.cast::<PyTensor>() {
        Ok(tensor) => Some(tensor.get().tensor.clone()),
        Err(_) => array_like(op, ob)?,
    };
    Ok(tensor.map(Operand::Tensor))
}

/// `operand_like` for an operation that takes tensors only: a number is one without axes.
#[inline]
pub(crate) fn tensor_operand_like(
    op: &str,
    rule: OverrideRule,
    ob: &Bound<'_, PyAny>,
) -> PyResult<Option<Tensor>> {
    if foreign_arrays::should_defer(rule, ob)? {
        return Ok(None);
    }
    tensor_like(op, ob)
}

/// A tensor from anything that acts as one.
pub(crate) fn tensor_of(op: &str, name: &str, ob: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    tensor_like(op, ob)?.ok_or_else(|| {
        if ob.is_none() {
            let what = format!("inputs must not be null: {name} is None");
            return bad_type(op, what, "pass a tensor");
        }
        bad_type(
            op,
            format!("{name} is a {}", type_name(ob)),
            format!("pass a tensor, an array, a number or a nested sequence of numbers as {name}"),
        )
    })
}

/// A tensor or a weak number.
#[inline]
pub(crate) fn operand_of(op: &str, name: &str, ob: &Bound<'_, PyAny>) -> PyResult<Operand> {
    if let Ok(tensor) = ob.cast::<PyTensor>() {
        return Ok(Operand::Tensor(tensor.get().tensor.clone()));
    }
    match weak_number(ob)? {
        Some(number) => Ok(Operand::Scalar(number)),
        None if numpy::is_array(ob) => numpy::operand(op, ob).map(Operand::Tensor),
        None => tensor_of(op, name, ob).map(Operand::Tensor),
    }
}

/// The value of an assignment to elements of a dtype: Python numbers in a list are range-checked against it.
pub(crate) fn assigned_value(
    op: &str,
    name: &str,
    ob: &Bound<'_, PyAny>,
    dtype: DType,
) -> PyResult<Operand> {
    if is_sequence(ob) && !holds_tensor(op, ob)? {
        let tensor = numpy::take_over(op, &numpy::asarray_checked(op, ob, dtype)?)?;
        observer::note_filled(tensor.storage());
        return Ok(Operand::Tensor(tensor));
    }
    if let Some(number) = signed_number(ob, dtype)? {
        return operand_of(op, name, &number);
    }
    operand_of(op, name, ob)
}

/// A NumPy real scalar as a Python number, for signed integer dtypes only: NumPy range-checks for those and casts for
/// others.
fn signed_number<'py>(ob: &Bound<'py, PyAny>, dtype: DType) -> PyResult<Option<Bound<'py, PyAny>>> {
    if dtype.row().kind != Kind::Signed || !numpy::is_scalar(ob)? {
        return Ok(None);
    }
    let number = ob.call_method0("item")?;
    let real = number.is_instance_of::<PyInt>() || number.is_exact_instance_of::<PyFloat>();
    Ok(real.then_some(number))
}

/// A tensor from a nested sequence; tensors inside are stacked, so that gradients flow to them.
pub(crate) fn from_sequence(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    sequence_at(op, ob, 1)
}

/// The same for a sequence at nesting level `depth`, counted from 1.
fn sequence_at(op: &str, ob: &Bound<'_, PyAny>, depth: usize) -> PyResult<Tensor> {
    if !holds_tensor_at(op, ob, depth)? {
        let tensor = numpy::take_over(op, &numpy::asarray(op, ob)?)?;
        observer::note_filled(tensor.storage());
        return Ok(tensor);
    }
    let mut parts = Vec::new();
    any_element(ob, |item| {
        parts.push(if is_sequence(&item) {
            sequence_at(op, &item, depth + 1)?
        } else {
            tensor_of(op, "an element", &item)?
        });
        Ok(false)
    })?;
    Ok(join::stack(&parts, 0)?)
}

/// Whether a nested sequence contains a tensor somewhere.
pub(crate) fn holds_tensor(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<bool> {
    holds_tensor_at(op, ob, 1)
}

fn holds_tensor_at(op: &str, ob: &Bound<'_, PyAny>, depth: usize) -> PyResult<bool> {
    if !is_sequence(ob) {
        return Ok(false);
    }
    check_depth(op, ob, depth)?;
    any_element(ob, |item| {
        Ok(item.is_instance_of::<PyTensor>() || holds_tensor_at(op, &item, depth + 1)?)
    })
}

/// A list of tensors from a sequence of them, or the rows of a tensor.
pub(crate) fn tensors_of(
    decl: &OpDecl,
    name: &str,
    ob: &Bound<'_, PyAny>,
) -> PyResult<Vec<Tensor>> {
    if let Some(tensors) = plain_tensors(ob) {
        return Ok(tensors);
    }
    if !iterable(ob) {
        return Err(bad_type(
            decl.name,
            format!("{name} is a {}", type_name(ob)),
            format!("pass a sequence of tensors as {name}"),
        ));
    }
    let items: Vec<_> = elements(decl.name, name, ob, MAX_ITEMS)?.collect::<PyResult<_>>()?;
    tensors_from(decl.name, "an element", &items)
}

/// Fast path: the tensors of a list or tuple of exact tensors; `None` for any other object.
fn plain_tensors(ob: &Bound<'_, PyAny>) -> Option<Vec<Tensor>> {
    let mut tensors = Vec::new();
    let mut add = |item: &Bound<'_, PyAny>| {
        tensors.push(item.cast_exact::<PyTensor>().ok()?.get().tensor.clone());
        Some(())
    };
    if let Ok(list) = ob.cast_exact::<PyList>() {
        for item in list {
            add(&item)?;
        }
    } else {
        for item in ob.cast_exact::<PyTuple>().ok()?.iter_borrowed() {
            add(&item)?;
        }
    }
    Some(tensors)
}

/// A tensor of each object.
pub(crate) fn tensors_from(
    op: &str,
    name: &str,
    objects: &[Bound<'_, PyAny>],
) -> PyResult<Vec<Tensor>> {
    objects.iter().map(|ob| tensor_of(op, name, ob)).collect()
}

fn iterable(ob: &Bound<'_, PyAny>) -> bool {
    ob.try_iter().is_ok()
}

/// The integer that an object is through `__index__`; `None` when it is none.
pub(crate) fn index_number(ob: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if ob.is_exact_instance_of::<PyInt>() {
        return integer(ob).map(Some);
    }
    // Skip the frequent non-integers: calling `__index__` would raise an exception, which is slow.
    if ob.is_exact_instance_of::<PyTuple>() || ob.is_exact_instance_of::<PyList>() {
        return Ok(None);
    }
    match ob.call_method0(pyo3::intern!(ob.py(), "__index__")) {
        Ok(index) => integer(&index).map(Some),
        Err(error) => none_if_not_integer(ob.py(), error),
    }
}

/// `None` for the exceptions of an object that is no integer; any other exception is raised.
fn none_if_not_integer<T>(py: Python<'_>, error: PyErr) -> PyResult<Option<T>> {
    let means_no = error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyAttributeError>(py)
        || error.is_instance_of::<PyValueError>(py);
    if means_no { Ok(None) } else { Err(error) }
}

/// At most `limit` integers, from one integer or a sequence; `None` for any other object.
pub(crate) fn ints(
    op: &str,
    name: &str,
    ob: &Bound<'_, PyAny>,
    limit: usize,
) -> PyResult<Option<Ints>> {
    if let Some(number) = index_number(ob)? {
        return Ok(Some(SmallVec::from_slice(&[number])));
    }
    let unordered = ob.is_instance_of::<PyDict>() || ob.is_instance_of::<PySet>();
    if unordered || ob.is_instance_of::<pyo3::types::PyString>() || !iterable(ob) {
        return Ok(None);
    }
    // The rows of a matrix are not integers, also when it has no rows.
    let flat = is_sequence(ob)
        || ob.getattr(pyo3::intern!(ob.py(), "ndim")).map_or(true, |n| n.eq(1).unwrap_or(false));
    if !flat {
        return Ok(None);
    }
    let mut found = Ints::new();
    for item in elements(op, name, ob, limit)? {
        match item?.extract::<i64>() {
            Ok(i) => found.push(i),
            Err(error) => return none_if_not_integer(ob.py(), error),
        }
    }
    Ok(Some(found))
}

/// One integer, or a list per element of a sequence; `None` when it is neither.
pub(crate) fn nested(op: &str, name: &str, ob: &Bound<'_, PyAny>) -> PyResult<Option<Nested>> {
    if let Some(number) = index_number(ob)? {
        return Ok(Some(Nested::One(number)));
    }
    if ob.is_instance_of::<pyo3::types::PyString>() || !iterable(ob) {
        return Ok(None);
    }
    let mut lists = Vec::new();
    for item in elements(op, name, ob, MAX_ITEMS)? {
        match ints(op, name, &item?, MAX_ITEMS)? {
            Some(list) => lists.push(list),
            None => return Ok(None),
        }
    }
    Ok(Some(Nested::Each(lists)))
}

pub(crate) fn dtype_of(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<DType> {
    numpy::dtype_of(op, ob)
}

/// The items of an index expression `t[key]`.
pub(crate) fn index_of(key: &Bound<'_, PyAny>) -> PyResult<SmallVec<[IndexItem; 4]>> {
    let mut items = SmallVec::new();
    if let Ok(parts) = key.cast::<PyTuple>() {
        for part in parts.iter() {
            items.push(index_item(&part)?);
        }
    } else {
        items.push(index_item(key)?);
    }
    Ok(items)
}

/// An integer index; one beyond 64 bits is out of range rather than an overflow.
#[inline]
pub(crate) fn index_int(ob: &Bound<'_, PyAny>) -> PyResult<i64> {
    ob.extract::<i64>().map_err(|_| {
        bad_index(format!("index {ob} is out of range for every axis"), "use a smaller index")
    })
}

#[cold]
fn bad_index(what: String, remedy: &'static str) -> PyErr {
    to_python(Box::new(Error::BadIndex { op: "index".into(), what, remedy }))
}

fn index_item(part: &Bound<'_, PyAny>) -> PyResult<IndexItem> {
    if part.is_exact_instance_of::<PyInt>() {
        return index_int(part).map(IndexItem::Int);
    }
    if let Ok(slice) = part.cast::<PySlice>() {
        return slice::slice_item(slice);
    }
    if part.is_none() {
        return Ok(IndexItem::NewAxis);
    }
    if part.is_instance_of::<PyEllipsis>() {
        return Ok(IndexItem::Ellipsis);
    }
    if let Ok(tensor) = part.cast::<PyTensor>() {
        return Ok(IndexItem::Array(tensor.get().tensor.clone()));
    }
    if is_sequence(part) && part.len()? == 0 {
        return Ok(IndexItem::Array(Tensor::from_vec(Vec::<i64>::new(), &[0])?));
    }
    if let Some(array) = tensor_like("index", part)? {
        if array.ndim() == 0 && array.dtype().is_integer() {
            return Ok(IndexItem::Int(integer(part)?));
        }
        return Ok(IndexItem::Array(array));
    }
    if let Some(number) = index_number(part)? {
        return Ok(IndexItem::Int(number));
    }
    let remedy = "use integers, slices, None, ..., and integer or boolean arrays";
    Err(bad_index(format!("a {} cannot index", type_name(part)), remedy))
}
