//! Temporary elision, as in NumPy: in `a - b * c` the result is written over the temporary `b * c`.
//!
//! Invariant: the operand has one reference, and the interpreter's evaluation loop called the operator, so that the
//! reference is the evaluation stack's. An extension module could hold the only reference and read the operand again;
//! therefore the return addresses on the C stack are checked. Wherever the stack cannot be read, nothing is reused.

use pyo3::prelude::*;

use crate::bindings::object::{PyTensor, free_list};
use crate::ops::core::elementwise::Elementwise;
use crate::ops::core::reuse_temporary::fits;
use crate::tensor::Tensor;

/// Below this size, a new result is cheaper than reading the stack, since its memory is in cache.
const MIN_BYTES: usize = 256 << 10;

/// The operand whose memory the result may reuse, if any.
#[inline]
pub(super) fn reusable_operand<'a>(
    op: &Elementwise,
    a: &'a Bound<'_, PyTensor>,
    b: &'a Bound<'_, PyTensor>,
) -> Option<&'a Tensor> {
    let (x, y) = (&a.get().tensor, &b.get().tensor);
    if x.size().saturating_mul(x.dtype().size()) < MIN_BYTES {
        return None;
    }
    let is_reusable = |operand: &&'a Bound<'_, PyTensor>| {
        free_list::is_unique(operand) && fits(op, x, y, &operand.get().tensor)
    };
    let found = [b, a].into_iter().find(is_reusable)?;
    is_called_by_interpreter(a.py()).then(|| &found.get().tensor)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use stack::is_called_by_interpreter;

/// Fallback for platforms where the stack cannot be read.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn is_called_by_interpreter(_py: pyo3::Python<'_>) -> bool {
    false
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod stack {
    use std::ffi::{CStr, c_char, c_int, c_void};
    use std::ptr;
    use std::sync::OnceLock;

    use pyo3::ffi as c;
    use pyo3::prelude::*;

    use crate::bindings::object::free_list;
    use crate::threads::Mutex;

    /// Frames of this library and of the interpreter that are examined.
    const MAX_FRAMES: usize = 12;
    /// Interpreter functions between the evaluation loop and a type slot: `PyNumber_Subtract` and its helpers.
    const MAX_C_FRAMES: usize = 2;

    unsafe extern "C" {
        fn dladdr(at: *const c_void, info: *mut DlInfo) -> c_int;
        fn _Unwind_Backtrace(
            each: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
            unwind: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(frame: *mut c_void) -> usize;
    }

    /// `Dl_info` of `dladdr`.
    #[repr(C)]
    struct DlInfo {
        file: *const c_char,
        base: *mut c_void,
        name: *const c_char,
        start: *mut c_void,
    }

    /// The return addresses up to the frame that decided, and the answer.
    type CachedAnswer = (Vec<usize>, bool);

    struct Unwind<'a> {
        cached: &'a [CachedAnswer],
        frames: [usize; MAX_FRAMES],
        count: usize,
        answer: Option<bool>,
    }

    /// Adds a frame; stops when the frames so far are in the cache.
    ///
    /// # Safety
    /// Called by the unwinder.
    unsafe extern "C" fn visit_frame(frame: *mut c_void, unwind: *mut c_void) -> c_int {
        const CONTINUE: c_int = 0;
        const STOP: c_int = 5;
        // SAFETY: the frame is the unwinder's, and `unwind` is the `Unwind` of `is_called_by_interpreter` below.
        let unwind = unsafe { &mut *unwind.cast::<Unwind>() };
        if unwind.count == MAX_FRAMES {
            return STOP;
        }
        // SAFETY: as above.
        unwind.frames[unwind.count] = unsafe { _Unwind_GetIP(frame) };
        unwind.count += 1;
        let frames = &unwind.frames[..unwind.count];
        unwind.answer =
            unwind.cached.iter().find(|cached| cached.0 == frames).map(|cached| cached.1);
        if unwind.answer.is_some() { STOP } else { CONTINUE }
    }

    /// The library that contains an address, and its function if that is exported.
    fn symbol_at(at: usize) -> Option<DlInfo> {
        let mut symbol = DlInfo {
            file: ptr::null(),
            base: ptr::null_mut(),
            name: ptr::null(),
            start: ptr::null_mut(),
        };
        // SAFETY: `dladdr` takes any address.
        let found = unsafe { dladdr(ptr::without_provenance(at), &mut symbol) != 0 };
        found.then_some(symbol)
    }

    /// Whether the callers are, in this order: this library, at most `MAX_C_FRAMES` interpreter functions of which the
    /// last is a `PyNumber_*` function, the evaluation loop. Also returns how many frames were needed. Calls by other
    /// paths, such as `operator.sub(*pair)` and `(a * b).__sub__`, take operands from a tuple or a bound method that
    /// the program may keep.
    fn classify(frames: &[usize]) -> (bool, usize) {
        let whole = (false, frames.len());
        let (Some(ours), Some(theirs)) = (
            symbol_at(is_called_by_interpreter as *const () as usize),
            symbol_at(c::PyNumber_Subtract as *const () as usize),
        ) else {
            return whole;
        };
        let (mut between, mut operator) = (0, false);
        for (i, at) in frames.iter().enumerate() {
            // A return address is behind the call, which may be the last instruction of its function.
            let Some(symbol) = symbol_at(at - 1) else { return (false, i + 1) };
            if symbol.base == ours.base && between == 0 {
                continue;
            }
            if symbol.base != theirs.base || between > MAX_C_FRAMES {
                return (false, i + 1);
            }
            // SAFETY: a symbol name is a NUL-terminated string that lives as long as its library.
            let name = (!symbol.name.is_null()).then(|| unsafe { CStr::from_ptr(symbol.name) });
            if name == Some(c"_PyEval_EvalFrameDefault") {
                return (operator, i + 1);
            }
            let starts = |with: &[u8]| name.is_some_and(|name| name.to_bytes().starts_with(with));
            operator = starts(b"PyNumber_") || starts(b"_PyNumber_");
            between += 1;
        }
        whole
    }

    /// Answers by return addresses.
    static CACHE: Mutex<Vec<CachedAnswer>> = Mutex::new(Vec::new());
    /// Beyond this, the cache is emptied.
    const CACHE_ENTRIES: usize = 64;

    /// Whether the evaluation loop called the operator that is running.
    #[inline(never)]
    pub(super) fn is_called_by_interpreter(py: Python<'_>) -> bool {
        static SUPPORTED: OnceLock<bool> = OnceLock::new();
        // From 3.14 on, the evaluation stack may also hold borrowed references.
        let supported = || free_list::HAS_GIL && py.version_info() < (3, 14);
        if !*SUPPORTED.get_or_init(supported) {
            return false;
        }
        let Some(mut cached) = CACHE.try_lock() else { return false };
        let mut unwind =
            Unwind { cached: &cached, frames: [0; MAX_FRAMES], count: 0, answer: None };
        // SAFETY: the callback has the type that the unwinder expects, and `unwind` outlives the call.
        unsafe { _Unwind_Backtrace(visit_frame, (&raw mut unwind).cast()) };
        if let Some(answer) = unwind.answer {
            return answer;
        }
        let frames = unwind.frames;
        let (answer, count) = classify(&frames[..unwind.count]);
        if cached.len() == CACHE_ENTRIES {
            cached.clear();
        }
        cached.push((frames[..count].to_vec(), answer));
        answer
    }
}
