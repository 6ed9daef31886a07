//! Memory of `Tensor` objects that is used again.
//!
//! Owns: a short list of freed blocks, and the making of an object in one. Never keeps a value: what lay in a block was
//! dropped, and the collector does not know of the block. Subclasses, and interpreters without a GIL, take CPython's way.
//! Invariant: a block on the list was an exact `Tensor`, and only the thread that holds the GIL touches the list.

use std::cell::Cell;
use std::ffi::c_void;
use std::mem::{MaybeUninit, offset_of};
use std::ptr;

use pyo3::PyTypeInfo;
use pyo3::ffi as c;
use pyo3::prelude::*;

use crate::bindings::object::PyTensor;
use crate::tensor::Tensor;

/// A loop frees about as many objects as it makes; more blocks than this would only be kept.
const MOST: usize = 64;

/// How PyO3 lays out an object of the class.
#[repr(C)]
struct Object {
    head: c::PyObject,
    value: MaybeUninit<PyTensor>,
    weak: *mut c::PyObject,
}

struct Blocks {
    /// The class, once it is known that its objects lie as `Object` says.
    class: Cell<*mut c::PyTypeObject>,
    kept: Cell<usize>,
    blocks: [Cell<*mut Object>; MOST],
}

// SAFETY: whoever touches the cells holds the GIL; without one, no class is ever set and no block is kept.
unsafe impl Sync for Blocks {}

static BLOCKS: Blocks = Blocks {
    class: Cell::new(ptr::null_mut()),
    kept: Cell::new(0),
    blocks: [const { Cell::new(ptr::null_mut()) }; MOST],
};

/// The Python object of a tensor, in a block that was used before if there is one.
#[inline]
pub(crate) fn object<'py>(
    py: Python<'py>,
    tensor: Tensor,
    base: Option<Py<PyTensor>>,
) -> PyResult<Bound<'py, PyTensor>> {
    let kept = BLOCKS.kept.get();
    if kept == 0 {
        return fresh(py, tensor, base);
    }
    BLOCKS.kept.set(kept - 1);
    let block = BLOCKS.blocks[kept - 1].get();
    // SAFETY: the block has the size and layout of an object of the class, and nobody else has it. The collector is told
    // of it when all of it is written.
    unsafe {
        c::PyObject_Init(block.cast(), BLOCKS.class.get());
        let value = (&raw mut (*block).value).cast::<PyTensor>();
        (&raw mut (*value).tensor).write(tensor);
        (&raw mut (*value).base).write(base);
        (&raw mut (*value).node).write(Default::default());
        (&raw mut (*block).weak).write(ptr::null_mut());
        c::PyObject_GC_Track(block.cast());
        Ok(Bound::from_owned_ptr(py, block.cast()).cast_into_unchecked())
    }
}

#[cold]
#[inline(never)]
fn fresh<'py>(
    py: Python<'py>,
    tensor: Tensor,
    base: Option<Py<PyTensor>>,
) -> PyResult<Bound<'py, PyTensor>> {
    Bound::new(py, PyTensor { base, ..PyTensor::from(tensor) })
}

/// Begins to use blocks again, if objects of the class lie in memory as they are written here.
pub(crate) fn begin(py: Python<'_>) -> PyResult<()> {
    let class = PyTensor::type_object_raw(py);
    let object = Bound::new(py, PyTensor::from(Tensor::from(0.0)))?;
    let value = ptr::from_ref(object.get()).addr() - object.as_ptr().addr();
    // In an interpreter without a GIL the head of an object is larger.
    let has_gil = size_of::<c::PyObject>() == 2 * size_of::<usize>();
    // SAFETY: the class lives for ever, and nobody else changes it while the module is being made.
    let class = unsafe { &mut *class };
    let sizes =
        [class.tp_basicsize, class.tp_weaklistoffset, class.tp_itemsize, class.tp_dictoffset];
    let expected = [size_of::<Object>(), offset_of!(Object, weak), 0, 0];
    let free = class.tp_free.map(|free| free as usize);
    if has_gil
        && value == offset_of!(Object, value)
        && sizes.iter().zip(expected).all(|(&have, want)| have as usize == want)
        && free == Some(c::PyObject_GC_Del as *const () as usize)
    {
        class.tp_free = Some(give);
        BLOCKS.class.set(class);
    }
    Ok(())
}

/// Takes the block of an object whose contents are gone.
///
/// # Safety
/// As `tp_free` of a class with the collector's flag.
unsafe extern "C" fn give(block: *mut c_void) {
    let kept = BLOCKS.kept.get();
    // SAFETY: the caller's contract; the head of the object is still there.
    unsafe {
        if kept == MOST || c::Py_TYPE(block.cast()) != BLOCKS.class.get() {
            c::PyObject_GC_Del(block);
            return;
        }
        c::PyObject_GC_UnTrack(block);
    }
    BLOCKS.blocks[kept].set(block.cast());
    BLOCKS.kept.set(kept + 1);
}
