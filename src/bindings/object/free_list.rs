//! A free list of `Tensor` object memory, and creation and destruction of objects with it.
//!
//! Invariant: a block on the list was an exact `Tensor` (no subclass), its contents are dropped, and the collector does
//! not track it. Only the thread that holds the GIL touches the list; interpreters without a GIL do not use it.

use std::cell::Cell;
use std::ffi::c_void;
use std::mem::{ManuallyDrop, MaybeUninit, offset_of};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use pyo3::PyTypeInfo;
use pyo3::ffi as c;
use pyo3::prelude::*;

use crate::bindings::object::PyTensor;
use crate::error::Result;
use crate::tensor::Tensor;
use crate::threads::assert_no_lock_held;

/// Length of the free list: a loop frees about as many objects as it makes.
const MAX_BLOCKS: usize = 64;

/// Whether the interpreter has a GIL: without one, the object header is larger.
pub(crate) const HAS_GIL: bool = size_of::<c::PyObject>() == 2 * size_of::<usize>();

/// The memory layout of a `Tensor` object in PyO3.
#[repr(C)]
struct TensorObject {
    head: c::PyObject,
    value: MaybeUninit<PyTensor>,
    weak: *mut c::PyObject,
}

struct FreeList {
    /// The class, set after its objects are known to have the layout of `TensorObject`.
    class: Cell<*mut c::PyTypeObject>,
    len: Cell<usize>,
    blocks: [Cell<*mut TensorObject>; MAX_BLOCKS],
}

// SAFETY: the cells are only accessed with the GIL held; without a GIL, no class is ever set and the list stays empty.
unsafe impl Sync for FreeList {}

static FREE_LIST: FreeList = FreeList {
    class: Cell::new(ptr::null_mut()),
    len: Cell::new(0),
    blocks: [const { Cell::new(ptr::null_mut()) }; MAX_BLOCKS],
};

/// The object that a view is a view of.
pub(super) type Base = Option<Py<PyTensor>>;

/// A block taken from the list, untracked by the collector. Returns to the list when dropped.
struct FreeBlock(NonNull<TensorObject>);

impl FreeBlock {
    /// Pops the block that was freed last.
    #[inline]
    fn pop() -> Option<FreeBlock> {
        let len = FREE_LIST.len.get().checked_sub(1)?;
        FREE_LIST.len.set(len);
        NonNull::new(FREE_LIST.blocks[len].get()).map(FreeBlock)
    }

    #[inline]
    fn value(&self) -> *mut PyTensor {
        // SAFETY: takes the address of a field inside the block; nothing is read.
        unsafe { (&raw mut (*self.0.as_ptr()).value).cast() }
    }

    #[inline]
    fn tensor(&self) -> *mut Tensor {
        // SAFETY: as above.
        unsafe { &raw mut (*self.value()).tensor }
    }

    /// Initialises the object; the collector tracks it once all fields are written.
    ///
    /// # Safety
    /// The `tensor` field has been written.
    #[inline]
    unsafe fn finish<'py>(self, py: Python<'py>, base: Base) -> Bound<'py, PyTensor> {
        let (value, block) = (self.value(), ManuallyDrop::new(self).0.as_ptr());
        // SAFETY: the block has the size and layout of an object of the class, and is exclusively ours.
        unsafe {
            c::PyObject_Init(block.cast(), FREE_LIST.class.get());
            (&raw mut (*value).base).write(base);
            (&raw mut (*value).node).write(Default::default());
            (&raw mut (*block).weak).write(ptr::null_mut());
            c::PyObject_GC_Track(block.cast());
            Bound::from_owned_ptr(py, block.cast()).cast_into_unchecked()
        }
    }
}

impl Drop for FreeBlock {
    fn drop(&mut self) {
        // SAFETY: the block is exclusively ours, and its object header is still valid.
        unsafe { push_block(self.0.as_ptr()) }
    }
}

/// Creates the Python object of a tensor, in a block of the list if there is one.
#[inline]
pub(crate) fn new_object<'py>(
    py: Python<'py>,
    tensor: Tensor,
    base: Option<Py<PyTensor>>,
) -> PyResult<Bound<'py, PyTensor>> {
    let Some(block) = FreeBlock::pop() else {
        return allocate(py, tensor, base);
    };
    // SAFETY: the block is exclusively ours.
    unsafe {
        block.tensor().write(tensor);
        Ok(block.finish(py, base))
    }
}

/// Creates the Python object of a tensor and computes the tensor directly into it: each move of a tensor costs as much
/// as the bookkeeping of a small operation. `base` returns the base object of the result, or None if `otherwise` must
/// make the object.
#[inline]
pub(super) fn compute_object<'py>(
    py: Python<'py>,
    compute: impl FnOnce() -> Result<Tensor>,
    base: impl FnOnce(&Tensor) -> Option<Base>,
    otherwise: impl FnOnce(Tensor) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    const { assert!(size_of::<Result<Tensor>>() == size_of::<Tensor>()) };
    let Some(block) = FreeBlock::pop() else {
        return otherwise(compute()?);
    };
    let place = block.tensor().cast::<Result<Tensor>>();
    // SAFETY: the block is exclusively ours and has space for the result (same size, asserted above); the result is
    // moved out at most once.
    unsafe {
        place.write(compute());
        let base = match &*place {
            Ok(tensor) if ptr::eq(tensor, block.tensor()) => base(tensor),
            _ => None,
        };
        match base {
            Some(base) => Ok(block.finish(py, base).into_any()),
            None => otherwise(place.read()?),
        }
    }
}

/// Creates the Python object of a plain tensor that `compute` writes in place; None if it wrote none, or the list is
/// empty.
#[inline(always)]
pub(crate) fn compute_plain_object<'py>(
    py: Python<'py>,
    compute: impl FnOnce(&mut Option<Tensor>) -> Result<()>,
) -> Result<Option<Bound<'py, PyTensor>>> {
    const { assert!(size_of::<Option<Tensor>>() == size_of::<Tensor>()) };
    let Some(block) = FreeBlock::pop() else {
        return Ok(None);
    };
    let place = block.tensor().cast::<Option<Tensor>>();
    // SAFETY: the block is exclusively ours and has space for the tensor (same size, asserted above).
    unsafe {
        place.write(None);
        compute(&mut *place)?;
        match &*place {
            Some(tensor) if ptr::eq(tensor, block.tensor()) => Ok(Some(block.finish(py, None))),
            _ => {
                drop(place.read());
                Ok(None)
            }
        }
    }
}

/// The tensor of an exact `Tensor` object; None also while the free list is not in use.
///
/// # Safety
/// `ob` is a live object, and the thread is attached; the object lives for `'a`.
#[inline(always)]
pub(crate) unsafe fn exact_tensor<'a>(ob: *mut c::PyObject) -> Option<&'a Tensor> {
    // SAFETY: the caller's contract; an object of the class has the layout of `TensorObject`, and the class is frozen.
    unsafe {
        let object = ob.cast::<TensorObject>();
        (c::Py_TYPE(ob) == FREE_LIST.class.get())
            .then(|| &(*(&raw const (*object).value).cast::<PyTensor>()).tensor)
    }
}

#[cold]
#[inline(never)]
fn allocate<'py>(
    py: Python<'py>,
    tensor: Tensor,
    base: Option<Py<PyTensor>>,
) -> PyResult<Bound<'py, PyTensor>> {
    Bound::new(py, PyTensor { base, ..PyTensor::from(tensor) })
}

/// Installs the free list and the fast destructor, if the class has the expected layout.
pub(crate) fn install(py: Python<'_>) -> PyResult<()> {
    let class = PyTensor::type_object_raw(py);
    let object = Bound::new(py, PyTensor::from(Tensor::from(0.0)))?;
    let value = ptr::from_ref(object.get()).addr() - object.as_ptr().addr();
    // SAFETY: the class lives for ever, and nothing else accesses it while the module is being created.
    let class = unsafe { &mut *class };
    let sizes =
        [class.tp_basicsize, class.tp_weaklistoffset, class.tp_itemsize, class.tp_dictoffset];
    let expected = [size_of::<TensorObject>(), offset_of!(TensorObject, weak), 0, 0];
    let free = class.tp_free.map(|free| free as usize);
    if HAS_GIL
        && value == offset_of!(TensorObject, value)
        && sizes.iter().zip(expected).all(|(&have, want)| have as usize == want)
        && free == Some(c::PyObject_GC_Del as *const () as usize)
    {
        class.tp_free = Some(free_object);
        FREE_LIST.class.set(class);
        if let Some(before) = class.tp_dealloc
            && PYO3_DEALLOC.set(before).is_ok()
        {
            class.tp_dealloc = Some(dealloc);
        }
    }
    Ok(())
}

/// pyo3's `tp_dealloc`.
static PYO3_DEALLOC: OnceLock<c::destructor> = OnceLock::new();

/// `tp_dealloc`. Objects that own only data, their own or that of a base, skip pyo3's preparations for running Python
/// code.
///
/// # Safety
/// As `tp_dealloc` of the class.
unsafe extern "C" fn dealloc(ob: *mut c::PyObject) {
    assert_no_lock_held();
    let object = ob.cast::<TensorObject>();
    // SAFETY: the caller's contract: the reference count is zero and all fields are valid; a dropped field is not used
    // again.
    unsafe {
        let value = (&raw mut (*object).value).cast::<PyTensor>();
        let exact = c::Py_TYPE(ob) == FREE_LIST.class.get() && (*object).weak.is_null();
        if exact && (*value).node.get().is_none() && (*value).tensor.is_bare() {
            c::PyObject_GC_UnTrack(ob.cast());
            let base = (&raw mut (*value).base).read();
            (&raw mut (*value).tensor).drop_in_place();
            push_block(object);
            c::Py_DECREF(FREE_LIST.class.get().cast());
            // Last: this may deallocate the base, which may run Python code.
            if let Some(base) = base {
                c::Py_DECREF(base.into_ptr());
            }
        } else if let Some(before) = PYO3_DEALLOC.get() {
            before(ob);
        }
    }
}

/// `tp_free`: puts the memory of an object on the list; its contents were dropped.
///
/// # Safety
/// As `tp_free` of a class with the collector's flag.
unsafe extern "C" fn free_object(block: *mut c_void) {
    // SAFETY: the caller's contract; the object header is still valid.
    unsafe {
        if FREE_LIST.len.get() == MAX_BLOCKS || c::Py_TYPE(block.cast()) != FREE_LIST.class.get() {
            c::PyObject_GC_Del(block);
            return;
        }
        c::PyObject_GC_UnTrack(block);
        push_block(block.cast());
    }
}

/// Pushes a block on the list, or frees it if the list is full.
///
/// # Safety
/// The block is exclusively the caller's, and the collector does not track it.
#[inline]
unsafe fn push_block(block: *mut TensorObject) {
    let len = FREE_LIST.len.get();
    match FREE_LIST.blocks.get(len) {
        Some(place) => {
            place.set(block);
            FREE_LIST.len.set(len + 1);
        }
        // SAFETY: the caller's contract.
        None => unsafe { c::PyObject_GC_Del(block.cast()) },
    }
}
