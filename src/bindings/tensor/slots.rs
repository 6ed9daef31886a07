//! Type slots of operators and basic indexing that try the fast path for small tensors before pyo3's slots.
//!
//! Invariant: the result is the same as that of pyo3's slot, which handles everything else; without a GIL the slots are
//! not installed.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;

use pyo3::PyTypeInfo;
use pyo3::ffi as c;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PySlice, PyTuple};
use smallvec::SmallVec;

use crate::bindings::call::small_ops;
use crate::bindings::call::small_ops::{Object, SmallResult};
use crate::bindings::call::{intercept, slice};
use crate::bindings::object::{PyTensor, free_list, wrap_computed_view};
use crate::graph::Mode;
use crate::ops::core::op_decl::IndexItem;
use crate::ops::elementwise::{arithmetic, compare};
use crate::ops::index::getitem;

/// The slots that pyo3 made.
struct Pyo3Slots {
    add: c::binaryfunc,
    subtract: c::binaryfunc,
    multiply: c::binaryfunc,
    divide: c::binaryfunc,
    power: c::ternaryfunc,
    negative: c::unaryfunc,
    compare: c::richcmpfunc,
    subscript: c::binaryfunc,
}

static PYO3_SLOTS: OnceLock<Pyo3Slots> = OnceLock::new();

macro_rules! binary_slots {
    ($($name:ident: $op:expr;)*) => {$(
        /// # Safety
        /// As the slot.
        unsafe extern "C" fn $name(a: Object, b: Object) -> Object {
            // SAFETY: the caller's contract.
            unsafe {
                match (small_ops::binary($op, a, b, Mode::current()), PYO3_SLOTS.get()) {
                    (Some(object), _) => object,
                    (None, Some(pyo3)) => (pyo3.$name)(a, b),
                    (None, None) => ptr::null_mut(),
                }
            }
        }
    )*};
}

binary_slots! {
    add: &arithmetic::ADD;
    subtract: &arithmetic::SUBTRACT;
    multiply: &arithmetic::MULTIPLY;
    divide: &arithmetic::DIVIDE;
}

/// # Safety
/// As the slot.
unsafe extern "C" fn power(a: Object, b: Object, modulo: Object) -> Object {
    // SAFETY: the caller's contract.
    unsafe {
        let plain = ptr::eq(modulo, c::Py_None());
        match (if plain { power_with_number(a, b) } else { None }, PYO3_SLOTS.get()) {
            (Some(object), _) => object,
            (None, Some(pyo3)) => (pyo3.power)(a, b, modulo),
            (None, None) => ptr::null_mut(),
        }
    }
}

/// # Safety
/// As the slot.
unsafe extern "C" fn negative(a: Object) -> Object {
    // SAFETY: the caller's contract.
    unsafe {
        match (small_ops::unary(&arithmetic::NEGATIVE, a, Mode::current()), PYO3_SLOTS.get()) {
            (Some(object), _) => object,
            (None, Some(pyo3)) => (pyo3.negative)(a),
            (None, None) => ptr::null_mut(),
        }
    }
}

/// # Safety
/// As the slot.
unsafe extern "C" fn compare(a: Object, b: Object, op: c_int) -> Object {
    let spec = match op {
        c::Py_LT => &compare::LESS,
        c::Py_LE => &compare::LESS_EQUAL,
        c::Py_EQ => &compare::EQUAL,
        c::Py_NE => &compare::NOT_EQUAL,
        c::Py_GT => &compare::GREATER,
        _ => &compare::GREATER_EQUAL,
    };
    // SAFETY: the caller's contract.
    unsafe {
        match (small_ops::binary(spec, a, b, Mode::current()), PYO3_SLOTS.get()) {
            (Some(object), _) => object,
            (None, Some(pyo3)) => (pyo3.compare)(a, b, op),
            (None, None) => ptr::null_mut(),
        }
    }
}

/// # Safety
/// As the slot.
unsafe extern "C" fn subscript(a: Object, key: Object) -> Object {
    // After a panic pyo3's slot runs, which turns it into an exception.
    // SAFETY: the caller's contract.
    let view = catch_unwind(AssertUnwindSafe(|| unsafe { basic_index(a, key) })).unwrap_or(None);
    // SAFETY: as above.
    unsafe {
        match (view, PYO3_SLOTS.get()) {
            (Some(object), _) => object,
            (None, Some(pyo3)) => (pyo3.subscript)(a, key),
            (None, None) => ptr::null_mut(),
        }
    }
}

/// Basic indexing with integers and slices: returns a view.
///
/// # Safety
/// The objects live, and the thread is attached.
#[inline]
unsafe fn basic_index(a: Object, key: Object) -> SmallResult {
    if !intercept::allows_small_ops(Mode::current()) {
        return None;
    }
    // SAFETY: the caller's contract; `exact_tensor` has checked the class.
    let (py, x, source, key) = unsafe {
        let py = Python::assume_attached();
        let x = free_list::exact_tensor(a)?;
        let source = Bound::from_borrowed_ptr(py, a).cast_into_unchecked::<PyTensor>();
        (py, x, source, Borrowed::from_ptr(py, key))
    };
    let view = match key.cast_exact::<PyTuple>() {
        Ok(keys) => {
            let mut items = Items::new();
            for key in keys.iter_borrowed() {
                items.push(basic_index_item(&key)?);
            }
            wrap_computed_view(&source, || getitem::index(x, &items))
        }
        Err(_) => {
            let item = [basic_index_item(&key)?];
            wrap_computed_view(&source, || getitem::index(x, &item))
        }
    };
    Some(view.map_or_else(
        |error| {
            error.restore(py);
            ptr::null_mut()
        },
        Bound::into_ptr,
    ))
}

type Items = SmallVec<[IndexItem; 2]>;

/// The index item of an integer or a slice.
#[inline]
fn basic_index_item(key: &Bound<'_, PyAny>) -> Option<IndexItem> {
    if let Ok(slice) = key.cast_exact::<PySlice>() {
        return slice::slice_item(slice).ok();
    }
    let int = key.cast_exact::<PyInt>().ok()?;
    int.extract::<i64>().ok().map(IndexItem::Int)
}

/// `t ** number` for exponents with an operation of their own, such as 2.
///
/// # Safety
/// The objects live, and the thread is attached.
#[inline]
unsafe fn power_with_number(a: Object, b: Object) -> SmallResult {
    // SAFETY: the caller's contract.
    unsafe {
        // Whole numbers have rules of their own for some exponents.
        if !free_list::exact_tensor(a)?.dtype().is_float() {
            return None;
        }
        let exponent = small_ops::exact_number(b)?.as_f64();
        let same = arithmetic::POWER.unary_for_scalar.and_then(|beside| beside(exponent))?;
        small_ops::unary(same, a, Mode::current())
    }
}

/// Installs the slots.
pub(crate) fn install(py: Python<'_>) {
    let class = PyTensor::type_object_raw(py);
    // SAFETY: the class and its slot tables live for ever, and nothing else accesses them while the module is being
    // created.
    unsafe {
        let (numbers, mapping) = ((*class).tp_as_number.as_mut(), (*class).tp_as_mapping.as_mut());
        let (true, Some(numbers), Some(mapping)) = (free_list::HAS_GIL, numbers, mapping) else {
            return;
        };
        let found = || {
            Some(Pyo3Slots {
                add: numbers.nb_add?,
                subtract: numbers.nb_subtract?,
                multiply: numbers.nb_multiply?,
                divide: numbers.nb_true_divide?,
                power: numbers.nb_power?,
                negative: numbers.nb_negative?,
                compare: (*class).tp_richcompare?,
                subscript: mapping.mp_subscript?,
            })
        };
        if found().is_none_or(|pyo3| PYO3_SLOTS.set(pyo3).is_err()) {
            return;
        }
        numbers.nb_add = Some(add);
        numbers.nb_subtract = Some(subtract);
        numbers.nb_multiply = Some(multiply);
        numbers.nb_true_divide = Some(divide);
        numbers.nb_power = Some(power);
        numbers.nb_negative = Some(negative);
        (*class).tp_richcompare = Some(compare);
        mapping.mp_subscript = Some(subscript);
    }
}
