//! The remaining stack of the current thread.
//!
//! The bounds of a thread's stack are queried from the platform once.

use std::cell::Cell;

/// The lowest usable address and the size of a thread's stack; `Unknown` where the platform does not tell.
#[derive(Clone, Copy)]
enum Bounds {
    NotQueried,
    Unknown,
    Known { lowest: usize, size: usize },
}

thread_local! {
    static BOUNDS: Cell<Bounds> = const { Cell::new(Bounds::NotQueried) };
}

/// The stack of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack {
    /// Bytes left.
    pub left: usize,
    /// Bytes of the whole stack.
    pub size: usize,
}

/// The stack of the current thread; `None` where it is not known.
pub fn current() -> Option<Stack> {
    let bounds = match BOUNDS.get() {
        Bounds::NotQueried => query(),
        known => known,
    };
    let Bounds::Known { lowest, size } = bounds else { return None };
    let here = 0u8;
    let here = std::ptr::from_ref(&here).addr();
    // Outside the bounds, the code runs on a stack made by other code (a fiber), of unknown size.
    let inside = (lowest..lowest + size).contains(&here);
    inside.then(|| Stack { left: here - lowest, size })
}

#[cold]
fn query() -> Bounds {
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
        let status =
            libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size);
        let guarded = libc::pthread_attr_getguardsize(attributes.as_ptr(), &raw mut guard);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        if status != 0 || guarded != 0 {
            return None;
        }
    }
    // Some C libraries count the guard pages as a part of the stack.
    Some((lowest.addr() + guard, size.checked_sub(guard)?))
}

#[cfg(target_os = "macos")]
fn platform() -> Option<(usize, usize)> {
    // SAFETY: both calls only query the current thread.
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
        let status = std::thread::Builder::new().stack_size(size).spawn(current).unwrap();
        let stack = status.join().unwrap().unwrap();
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
