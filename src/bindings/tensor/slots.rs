//! The slots of operators for a few floats, and of basic indices, which stand in front of those that pyo3 makes.
//!
//! Owns: the C functions, and pyo3's, to which everything goes that is not of this sort: subclasses, other operands, modes
//! in which somebody watches or code of the host may run. Never computes: `ops::core::formulas::small` does.
//! Invariant: what a slot here answers is what pyo3's answers; without a GIL they are not used.

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
use crate::bindings::call::small_ops::{Answer, Object};
use crate::bindings::call::{intercept, slice};
use crate::bindings::object::{PyTensor, free_list, wrap_part};
use crate::graph::Mode;
use crate::ops::core::op_decl::IndexItem;
use crate::ops::elementwise::{arithmetic, compare};
use crate::ops::index::getitem;

/// pyo3's slots.
struct Before {
    add: c::binaryfunc,
    subtract: c::binaryfunc,
    multiply: c::binaryfunc,
    divide: c::binaryfunc,
    power: c::ternaryfunc,
    negative: c::unaryfunc,
    compare: c::richcmpfunc,
    subscript: c::binaryfunc,
}

static BEFORE: OnceLock<Before> = OnceLock::new();

macro_rules! binary_slots {
    ($($name:ident: $op:expr;)*) => {$(
        /// # Safety
        /// As the slot.
        unsafe extern "C" fn $name(a: Object, b: Object) -> Object {
            // SAFETY: the caller's contract.
            unsafe {
                match (small_ops::two($op, a, b, Mode::current()), BEFORE.get()) {
                    (Some(object), _) => object,
                    (None, Some(before)) => (before.$name)(a, b),
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
        match (if plain { power_of_number(a, b) } else { None }, BEFORE.get()) {
            (Some(object), _) => object,
            (None, Some(before)) => (before.power)(a, b, modulo),
            (None, None) => ptr::null_mut(),
        }
    }
}

/// # Safety
/// As the slot.
unsafe extern "C" fn negative(a: Object) -> Object {
    // SAFETY: the caller's contract.
    unsafe {
        match (small_ops::one(&arithmetic::NEGATIVE, a, Mode::current()), BEFORE.get()) {
            (Some(object), _) => object,
            (None, Some(before)) => (before.negative)(a),
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
        match (small_ops::two(spec, a, b, Mode::current()), BEFORE.get()) {
            (Some(object), _) => object,
            (None, Some(before)) => (before.compare)(a, b, op),
            (None, None) => ptr::null_mut(),
        }
    }
}

/// # Safety
/// As the slot.
unsafe extern "C" fn subscript(a: Object, key: Object) -> Object {
    // A panic is for pyo3's slot, which makes an exception of it.
    // SAFETY: the caller's contract.
    let part = catch_unwind(AssertUnwindSafe(|| unsafe { part(a, key) })).unwrap_or(None);
    // SAFETY: as above.
    unsafe {
        match (part, BEFORE.get()) {
            (Some(object), _) => object,
            (None, Some(before)) => (before.subscript)(a, key),
            (None, None) => ptr::null_mut(),
        }
    }
}

/// A view by integers and slices.
///
/// # Safety
/// The objects live, and the thread is attached.
#[inline]
unsafe fn part(a: Object, key: Object) -> Answer {
    if !intercept::is_quiet(Mode::current()) {
        return None;
    }
    // SAFETY: the caller's contract; `exact` saw a tensor.
    let (py, x, source, key) = unsafe {
        let py = Python::assume_attached();
        let x = free_list::exact(a)?;
        let source = Bound::from_borrowed_ptr(py, a).cast_into_unchecked::<PyTensor>();
        (py, x, source, Borrowed::from_ptr(py, key))
    };
    let items = match key.cast_exact::<PyTuple>() {
        Ok(keys) => {
            let mut items = Items::new();
            for key in keys.iter_borrowed() {
                items.push(item(&key)?);
            }
            wrap_part(&source, || getitem::index(x, &items))
        }
        Err(_) => {
            let item = [item(&key)?];
            wrap_part(&source, || getitem::index(x, &item))
        }
    };
    Some(items.map_or_else(
        |error| {
            error.restore(py);
            ptr::null_mut()
        },
        Bound::into_ptr,
    ))
}

type Items = SmallVec<[IndexItem; 2]>;

/// The item of an index that an integer or a slice is.
#[inline]
fn item(key: &Bound<'_, PyAny>) -> Option<IndexItem> {
    if let Ok(slice) = key.cast_exact::<PySlice>() {
        return slice::item(slice).ok();
    }
    let int = key.cast_exact::<PyInt>().ok()?;
    int.extract::<i64>().ok().map(IndexItem::Int)
}

/// The power of a tensor with one of the exponents for which there is another operation.
///
/// # Safety
/// The objects live, and the thread is attached.
#[inline]
unsafe fn power_of_number(a: Object, b: Object) -> Answer {
    // SAFETY: the caller's contract.
    unsafe {
        let exponent = small_ops::number(b)?.as_f64();
        let same = arithmetic::POWER.unary_for_scalar.and_then(|beside| beside(exponent))?;
        small_ops::one(same, a, Mode::current())
    }
}

/// Puts the slots in front of pyo3's.
pub(crate) fn begin(py: Python<'_>) {
    let class = PyTensor::type_object_raw(py);
    // SAFETY: the class lives for ever, as do its slots, and nobody else changes them while the module is being made.
    unsafe {
        let (numbers, mapping) = ((*class).tp_as_number.as_mut(), (*class).tp_as_mapping.as_mut());
        let (true, Some(numbers), Some(mapping)) = (free_list::HAS_GIL, numbers, mapping) else {
            return;
        };
        let found = || {
            Some(Before {
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
        if found().is_none_or(|before| BEFORE.set(before).is_err()) {
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
