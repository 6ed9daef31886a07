//! Conversions of neighbouring elements whose way is found once for many pieces.
//!
//! Owns: `Run`. Never finds the way: `cast` does. Invariant: a piece has the bits that `cast` gives it.

use super::cast::{Route, convert, route};
use crate::dtype::DType;

/// A conversion of neighbouring elements.
pub(in crate::kernels) struct Run {
    route: Route,
    size: usize,
}

impl Run {
    /// That between two dtypes.
    pub(in crate::kernels) fn new(from: DType, to: DType) -> Run {
        let route = if from == to { Route::new() } else { route(from, to) };
        Run { route, size: from.size() }
    }

    /// Converts `n` elements.
    ///
    /// # Safety
    /// `n` elements of the dtypes are readable and writable, and do not overlap.
    pub(in crate::kernels) unsafe fn convert(&self, from: *const u8, to: *mut u8, n: usize) {
        // SAFETY: the caller's contract.
        unsafe {
            if self.route.is_empty() {
                std::ptr::copy_nonoverlapping(from, to, n * self.size);
            } else {
                convert(&self.route, (from, 1), self.size, (to, 1), n);
            }
        }
    }
}
