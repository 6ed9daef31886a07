//! Memory of `Tensor` objects that is used again.
//!
//! Owns: a short list of freed blocks, the making of an object in one, and the end of objects that hold nothing but data.
//! Never keeps a value: what lay in a block was dropped, and the collector does not know of the block. Subclasses, and
//! interpreters without a GIL, take CPython's way.
//! Invariant: a block on the list was an exact `Tensor`, and only the thread that holds the GIL touches the list.

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

/// A loop frees about as many objects as it makes; more blocks than this would only be kept.
const MOST: usize = 64;

/// In an interpreter without a GIL the head of an object is larger.
pub(crate) const HAS_GIL: bool = size_of::<c::PyObject>() == 2 * size_of::<usize>();

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

/// The object whose memory another one shows, if there is one.
pub(super) type Base = Option<Py<PyTensor>>;

/// A block that was used before, which neither the list nor the collector knows. It goes back when nothing was made of it.
struct Block(NonNull<Object>);

impl Block {
    /// The block that was freed last.
    #[inline]
    fn take() -> Option<Block> {
        let kept = BLOCKS.kept.get().checked_sub(1)?;
        BLOCKS.kept.set(kept);
        NonNull::new(BLOCKS.blocks[kept].get()).map(Block)
    }

    #[inline]
    fn value(&self) -> *mut PyTensor {
        // SAFETY: the place of a field of an object; nothing is read.
        unsafe { (&raw mut (*self.0.as_ptr()).value).cast() }
    }

    #[inline]
    fn tensor(&self) -> *mut Tensor {
        // SAFETY: as above.
        unsafe { &raw mut (*self.value()).tensor }
    }

    /// Makes the object. The collector is told of it when all of it is written.
    ///
    /// # Safety
    /// The tensor stands in its place.
    #[inline]
    unsafe fn finish<'py>(self, py: Python<'py>, base: Base) -> Bound<'py, PyTensor> {
        let (value, block) = (self.value(), ManuallyDrop::new(self).0.as_ptr());
        // SAFETY: the block has the size and layout of an object of the class, and nobody else has it.
        unsafe {
            c::PyObject_Init(block.cast(), BLOCKS.class.get());
            (&raw mut (*value).base).write(base);
            (&raw mut (*value).node).write(Default::default());
            (&raw mut (*block).weak).write(ptr::null_mut());
            c::PyObject_GC_Track(block.cast());
            Bound::from_owned_ptr(py, block.cast()).cast_into_unchecked()
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: nobody else has the block, and the head of an object is still there.
        unsafe { put_back(self.0.as_ptr()) }
    }
}

/// The Python object of a tensor, in a block that was used before if there is one.
#[inline]
pub(crate) fn object<'py>(
    py: Python<'py>,
    tensor: Tensor,
    base: Option<Py<PyTensor>>,
) -> PyResult<Bound<'py, PyTensor>> {
    let Some(block) = Block::take() else {
        return fresh(py, tensor, base);
    };
    // SAFETY: nobody else has the block.
    unsafe {
        block.tensor().write(tensor);
        Ok(block.finish(py, base))
    }
}

/// The Python object of a tensor that is computed into its place: each move of one costs as much as a small operation's
/// bookkeeping. `base` says whose memory it shows, or nothing of a tensor that becomes an object by `otherwise`.
#[inline]
pub(super) fn computed<'py>(
    py: Python<'py>,
    compute: impl FnOnce() -> Result<Tensor>,
    base: impl FnOnce(&Tensor) -> Option<Base>,
    otherwise: impl FnOnce(Tensor) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    const { assert!(size_of::<Result<Tensor>>() == size_of::<Tensor>()) };
    let Some(block) = Block::take() else {
        return otherwise(compute()?);
    };
    let place = block.tensor().cast::<Result<Tensor>>();
    // SAFETY: nobody else has the block, which has room for the result; it is moved out at most once.
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

/// The Python object of a plain tensor that `compute` may put where it stays; none if it put nothing there, or if there is
/// no block.
#[inline(always)]
pub(crate) fn object_at<'py>(
    py: Python<'py>,
    compute: impl FnOnce(&mut Option<Tensor>) -> Result<()>,
) -> Result<Option<Bound<'py, PyTensor>>> {
    const { assert!(size_of::<Option<Tensor>>() == size_of::<Tensor>()) };
    let Some(block) = Block::take() else {
        return Ok(None);
    };
    let place = block.tensor().cast::<Option<Tensor>>();
    // SAFETY: nobody else has the block, which has room for the tensor.
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

/// The tensor of an object that is exactly of the class, once blocks are used again.
///
/// # Safety
/// `ob` is a live object, and the thread is attached; the object lives for `'a`.
#[inline(always)]
pub(crate) unsafe fn exact<'a>(ob: *mut c::PyObject) -> Option<&'a Tensor> {
    // SAFETY: the caller's contract; an object of the class lies as `Object` says, and the class is frozen.
    unsafe {
        let object = ob.cast::<Object>();
        (c::Py_TYPE(ob) == BLOCKS.class.get())
            .then(|| &(*(&raw const (*object).value).cast::<PyTensor>()).tensor)
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
    // SAFETY: the class lives for ever, and nobody else changes it while the module is being made.
    let class = unsafe { &mut *class };
    let sizes =
        [class.tp_basicsize, class.tp_weaklistoffset, class.tp_itemsize, class.tp_dictoffset];
    let expected = [size_of::<Object>(), offset_of!(Object, weak), 0, 0];
    let free = class.tp_free.map(|free| free as usize);
    if HAS_GIL
        && value == offset_of!(Object, value)
        && sizes.iter().zip(expected).all(|(&have, want)| have as usize == want)
        && free == Some(c::PyObject_GC_Del as *const () as usize)
    {
        class.tp_free = Some(give);
        BLOCKS.class.set(class);
        if let Some(before) = class.tp_dealloc
            && DEALLOC.set(before).is_ok()
        {
            class.tp_dealloc = Some(dealloc);
        }
    }
    Ok(())
}

/// How pyo3 ends an object.
static DEALLOC: OnceLock<c::destructor> = OnceLock::new();

/// Ends an object. One that holds data, its own or those of a base, needs none of pyo3's preparations for code of the host.
///
/// # Safety
/// As `tp_dealloc` of the class.
unsafe extern "C" fn dealloc(ob: *mut c::PyObject) {
    assert_no_lock_held();
    let object = ob.cast::<Object>();
    // SAFETY: the caller's contract: nobody refers to the object any more, and it is whole; what is dropped is not used again.
    unsafe {
        let value = (&raw mut (*object).value).cast::<PyTensor>();
        let exact = c::Py_TYPE(ob) == BLOCKS.class.get() && (*object).weak.is_null();
        if exact && (*value).node.get().is_none() && (*value).tensor.is_bare() {
            c::PyObject_GC_UnTrack(ob.cast());
            let base = (&raw mut (*value).base).read();
            (&raw mut (*value).tensor).drop_in_place();
            put_back(object);
            c::Py_DECREF(BLOCKS.class.get().cast());
            // Last, as this may be the end of the base, and its end may run code of the host.
            if let Some(base) = base {
                c::Py_DECREF(base.into_ptr());
            }
        } else if let Some(before) = DEALLOC.get() {
            before(ob);
        }
    }
}

/// Takes the block of an object whose contents are gone.
///
/// # Safety
/// As `tp_free` of a class with the collector's flag.
unsafe extern "C" fn give(block: *mut c_void) {
    // SAFETY: the caller's contract; the head of the object is still there.
    unsafe {
        if BLOCKS.kept.get() == MOST || c::Py_TYPE(block.cast()) != BLOCKS.class.get() {
            c::PyObject_GC_Del(block);
            return;
        }
        c::PyObject_GC_UnTrack(block);
        put_back(block.cast());
    }
}

/// Puts a block on the list, if there is room.
///
/// # Safety
/// Nobody else has the block, and the collector does not know of it.
#[inline]
unsafe fn put_back(block: *mut Object) {
    let kept = BLOCKS.kept.get();
    match BLOCKS.blocks.get(kept) {
        Some(place) => {
            place.set(block);
            BLOCKS.kept.set(kept + 1);
        }
        // SAFETY: the caller's contract.
        None => unsafe { c::PyObject_GC_Del(block.cast()) },
    }
}
