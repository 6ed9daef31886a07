//! The base object of arrays that share a tensor's memory: keeps the storage alive and decides whether NumPy may write.
//!
//! Invariant: a writable array is counted in the storage while it or a view of it lives, so that operations copy what
//! they must keep.

use pyo3::prelude::*;

use crate::array::{Storage, observer};
use crate::bindings::errors::bad_value;
use crate::ops::inplace::methods::is_plain_memory;
use crate::tensor::{AtomicDetachReason, DetachReason, Tensor};

/// Whether an exported array is writable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExportMode {
    ReadOnly,
    /// Writable if no history or saved value depends on the elements.
    WritableIfFree,
    /// Writable; the caller has copied saved values.
    Writable,
}

/// The base of an exported array.
#[pyclass(name = "_Memory", module = "ferrograd._core", frozen)]
pub(crate) struct ExportedMemory {
    storage: Storage,
    writable: bool,
    /// Why a tensor made of the array again has no history.
    detach_reason: AtomicDetachReason,
}

impl ExportedMemory {
    pub(super) fn of(tensor: &Tensor, mode: ExportMode) -> PyResult<ExportedMemory> {
        let storage = tensor.storage().data_handle();
        let writable = match mode {
            ExportMode::ReadOnly => false,
            ExportMode::WritableIfFree => export_unless_saved(tensor, &storage),
            ExportMode::Writable => {
                if !storage.is_writable() {
                    return Err(bad_value(
                        "numpy",
                        "the memory is a read-only array's",
                        "use t.clone().numpy(writable=True)",
                    ));
                }
                storage.export_writable();
                true
            }
        };
        let detach_reason = tensor.cause_through(DetachReason::Array);
        Ok(ExportedMemory { storage, writable, detach_reason })
    }

    pub(super) fn storage(&self) -> &Storage {
        &self.storage
    }

    pub(super) fn is_writable(&self) -> bool {
        self.writable
    }

    pub(super) fn detach_reason(&self) -> &AtomicDetachReason {
        &self.detach_reason
    }
}

/// Counts an export if nothing keeps the elements; a function that is recorded does so without a handle.
fn export_unless_saved(tensor: &Tensor, storage: &Storage) -> bool {
    let known = 1 + u64::from(tensor.storage().is_data_handle());
    is_plain_memory(tensor) && !observer::is_active() && storage.export_unless_saved(known)
}

impl Drop for ExportedMemory {
    fn drop(&mut self) {
        if self.writable {
            self.storage.release_export();
        }
    }
}
