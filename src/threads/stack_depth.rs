//! How much of the current thread's stack is left.
//!
//! Owns: the bounds of each thread's stack, asked of the platform once. Never grows a stack and never refuses anything.
//! Invariant: what it says is left can be used, or it says nothing.

use std::cell::Cell;

/// The lowest usable address of a thread's stack and its size; unknown until asked, and where no platform call tells.
#[derive(Clone, Copy)]
enum Bounds {
    Unasked,
    Unknown,
    Known { lowest: usize, size: usize },
}

thread_local! {
    static BOUNDS: Cell<Bounds> = const { Cell::new(Bounds::Unasked) };
}

/// What a thread has for its calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack {
    /// Bytes that are left.
    pub left: usize,
    /// Bytes of the whole stack.
    pub size: usize,
}

/// The stack of the current thread; `None` where it is not known.
pub fn current() -> Option<Stack> {
    let bounds = match BOUNDS.get() {
        Bounds::Unasked => ask(),
        known => known,
    };
    let Bounds::Known { lowest, size } = bounds else { return None };
    let here = 0u8;
    let here = std::ptr::from_ref(&here).addr();
    // Outside the bounds, code runs on a stack that somebody else made, whose size is not known.
    let inside = (lowest..lowest + size).contains(&here);
    inside.then(|| Stack { left: here - lowest, size })
}

#[cold]
fn ask() -> Bounds {
    let bounds = match platform() {
        Some((lowest, size)) if lowest.checked_add(size).is_some() => {
            Bounds::Known { lowest, size }
        }
        _ => Bounds::Unknown,
    };
    BOUNDS.set(bounds);
    bounds
}

#[cfg(target_os = "linux")]
fn platform() -> Option<(usize, usize)> {
    use std::mem::MaybeUninit;
    use std::ptr;

    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut lowest, mut size, mut guard) = (ptr::null_mut(), 0, 0);
    // SAFETY: the attributes are filled by the first call, read by the next two and destroyed by the last.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let told = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size);
        let guarded = libc::pthread_attr_getguardsize(attributes.as_ptr(), &raw mut guard);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        if told != 0 || guarded != 0 {
            return None;
        }
    }
    // Some C libraries count the guard pages as a part of the stack.
    Some((lowest.addr() + guard, size.checked_sub(guard)?))
}

#[cfg(target_os = "macos")]
fn platform() -> Option<(usize, usize)> {
    // SAFETY: both calls only read what the system knows of this thread.
    let (highest, size) = unsafe {
        let me = libc::pthread_self();
        (libc::pthread_get_stackaddr_np(me).addr(), libc::pthread_get_stacksize_np(me))
    };
    Some((highest.checked_sub(size)?, size))
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn platform() -> Option<(usize, usize)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_knows_its_stack() {
        let size = 1 << 20;
        let told = std::thread::Builder::new().stack_size(size).spawn(current).unwrap();
        let stack = told.join().unwrap().unwrap();
        assert!(stack.left < stack.size && stack.left > size / 2, "{stack:?}");
    }

    #[test]
    fn deeper_calls_leave_less() {
        fn deeper() -> usize {
            std::hint::black_box([0u8; 4096]);
            current().unwrap().left
        }
        assert!(current().unwrap().left >= deeper() + 4096);
    }
}
