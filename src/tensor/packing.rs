//! The saved-tensor hooks of each thread.
//!
//! Owns: the stack of packers; only the innermost applies. Never packs by itself.
//! Invariant: the mode `PACKING` is on exactly where the block that pushed the innermost packer is running.

use std::cell::RefCell;
use std::sync::Arc;

use crate::graph::{Mode, ModeGuard, PACKING, Pack};
use crate::tensor::Tensor;

thread_local! {
    static STACK: RefCell<Vec<Arc<dyn Pack<Tensor>>>> = const { RefCell::new(Vec::new()) };
}

/// The packer that applies on this thread.
pub(crate) fn packer() -> Option<Arc<dyn Pack<Tensor>>> {
    STACK.with_borrow(|stack| stack.last().cloned())
}

/// Makes `packer` the one that applies.
pub(crate) fn push(packer: Arc<dyn Pack<Tensor>>) {
    STACK.with_borrow_mut(|stack| stack.push(packer));
    Mode::current().with(PACKING, true).set();
}

/// Goes back to the packer before.
#[cfg(feature = "python")]
pub(crate) fn pop() {
    let (gone, more) = STACK.with_borrow_mut(|stack| (stack.pop(), !stack.is_empty()));
    Mode::current().with(PACKING, more).set();
    drop(gone);
}

/// Runs `body` under a packer.
pub(crate) fn with_packer<R>(packer: Arc<dyn Pack<Tensor>>, body: impl FnOnce() -> R) -> R {
    struct Restore {
        _mode: ModeGuard,
    }
    impl Drop for Restore {
        fn drop(&mut self) {
            let gone = STACK.with_borrow_mut(Vec::pop);
            drop(gone);
        }
    }
    let _restore = Restore { _mode: ModeGuard::new(Mode::current()) };
    push(packer);
    body()
}
