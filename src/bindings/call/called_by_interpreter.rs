//! Who called an operator: the interpreter's own loop, or an extension module.
//!
//! Owns: the look at the return addresses on the stack, as NumPy takes it before it writes over a temporary. Never looks at
//! objects. Invariant: where the addresses cannot be read, or a reference need not be the stack's own, nobody is the loop.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) use stack::is_interpreter;

/// Where the stack cannot be read.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn is_interpreter(_py: pyo3::Python<'_>) -> bool {
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

    /// Frames of this library and of the interpreter that are looked at.
    const FRAMES: usize = 12;
    /// Functions of the interpreter between its loop and a slot: `PyNumber_Subtract` and what it is made of.
    const BETWEEN: usize = 2;

    unsafe extern "C" {
        fn dladdr(at: *const c_void, info: *mut Symbol) -> c_int;
        fn _Unwind_Backtrace(
            each: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
            seen: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(frame: *mut c_void) -> usize;
    }

    /// What the loader knows of an address.
    #[repr(C)]
    struct Symbol {
        file: *const c_char,
        base: *mut c_void,
        name: *const c_char,
        start: *mut c_void,
    }

    /// The return addresses from here to the frame that decides, and whether that is the interpreter's loop.
    type Known = (Vec<usize>, bool);

    struct Seen<'a> {
        known: &'a [Known],
        frames: [usize; FRAMES],
        count: usize,
        answer: Option<bool>,
    }

    /// Adds a frame; the end of those that were seen before is the end.
    ///
    /// # Safety
    /// The unwinder calls it.
    unsafe extern "C" fn note(frame: *mut c_void, seen: *mut c_void) -> c_int {
        const GO_ON: c_int = 0;
        const END: c_int = 5;
        // SAFETY: the frame is the unwinder's, `seen` that of the caller below.
        let seen = unsafe { &mut *seen.cast::<Seen>() };
        if seen.count == FRAMES {
            return END;
        }
        // SAFETY: as above.
        seen.frames[seen.count] = unsafe { _Unwind_GetIP(frame) };
        seen.count += 1;
        let frames = &seen.frames[..seen.count];
        seen.answer = seen.known.iter().find(|known| known.0 == frames).map(|known| known.1);
        if seen.answer.is_some() { END } else { GO_ON }
    }

    /// The library of an address, and the function if it has a public name.
    fn place(at: usize) -> Option<Symbol> {
        let mut symbol = Symbol {
            file: ptr::null(),
            base: ptr::null_mut(),
            name: ptr::null(),
            start: ptr::null_mut(),
        };
        // SAFETY: any address may be asked for.
        let known = unsafe { dladdr(ptr::without_provenance(at), &mut symbol) != 0 };
        known.then_some(symbol)
    }

    /// Whether the callers are this library, then at most some functions of the interpreter, the last of them one of the
    /// operators of numbers, then its loop; and how many of them say so. What the loop calls in another way, as
    /// `operator.sub(*pair)` and `(a * b).__sub__`, has its operands from a tuple or a method that the program may keep.
    fn decided(frames: &[usize]) -> (bool, usize) {
        let whole = (false, frames.len());
        let (Some(ours), Some(theirs)) = (
            place(is_interpreter as *const () as usize),
            place(c::PyNumber_Subtract as *const () as usize),
        ) else {
            return whole;
        };
        let (mut between, mut operator) = (0, false);
        for (i, at) in frames.iter().enumerate() {
            // A return address stands behind the call, which may be the last instruction of a function.
            let Some(symbol) = place(at - 1) else { return (false, i + 1) };
            if symbol.base == ours.base && between == 0 {
                continue;
            }
            if symbol.base != theirs.base || between > BETWEEN {
                return (false, i + 1);
            }
            // SAFETY: the name of a symbol is a string that lives with its library.
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

    /// The callers that were seen before.
    static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());
    /// More than this, and they are forgotten.
    const MOST: usize = 64;

    /// Whether the interpreter's loop called the operator that is running.
    #[inline(never)]
    pub(crate) fn is_interpreter(py: Python<'_>) -> bool {
        static CAN: OnceLock<bool> = OnceLock::new();
        // From 3.14 on the stack of the interpreter also has objects to which it holds no reference.
        let can = || free_list::HAS_GIL && py.version_info() < (3, 14);
        if !*CAN.get_or_init(can) {
            return false;
        }
        let Some(mut known) = KNOWN.try_lock() else { return false };
        let mut seen = Seen { known: &known, frames: [0; FRAMES], count: 0, answer: None };
        // SAFETY: the callback is of the unwinder's type.
        unsafe { _Unwind_Backtrace(note, (&raw mut seen).cast()) };
        if let Some(answer) = seen.answer {
            return answer;
        }
        let frames = seen.frames;
        let (answer, count) = decided(&frames[..seen.count]);
        if known.len() == MOST {
            known.clear();
        }
        known.push((frames[..count].to_vec(), answer));
        answer
    }
}
