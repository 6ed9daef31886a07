//! What keeps a tensor's memory alive for an array.
//!
//! Owns: the decision whether NumPy may write to that memory, and its count in the storage. Never makes the array.
//! Invariant: an array that can be written through is counted as long as it or a view of it lives, so that operations copy
//! what they must keep; without being forced to, none is given out of memory that something keeps already.

use pyo3::prelude::*;

use crate::array::{Storage, capture};
use crate::bindings::errors::bad_value;
use crate::ops::inplace::methods::is_plain_memory;
use crate::tensor::{AtomicCause, CutCause, Tensor};

/// How memory is lent to an array.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lending {
    ReadOnly,
    /// Writable where no history and nothing that was kept depends on the elements.
    WhereFree,
    /// The caller has seen to what was kept.
    Writable,
}

/// The base of an exported array.
#[pyclass(name = "_Memory", module = "ferrograd._core", frozen)]
pub(crate) struct Memory {
    storage: Storage,
    writable: bool,
    /// Why a tensor made of the array again has no history.
    cut_cause: AtomicCause,
}

impl Memory {
    pub(super) fn of(tensor: &Tensor, lending: Lending) -> PyResult<Memory> {
        let storage = tensor.storage().data_handle();
        let writable = match lending {
            Lending::ReadOnly => false,
            Lending::WhereFree => export_unless_saved(tensor, &storage),
            Lending::Writable => {
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
        let cut_cause = tensor.cause_through(CutCause::Array);
        Ok(Memory { storage, writable, cut_cause })
    }

    pub(super) fn storage(&self) -> &Storage {
        &self.storage
    }

    pub(super) fn is_writable(&self) -> bool {
        self.writable
    }

    pub(super) fn cut_cause(&self) -> &AtomicCause {
        &self.cut_cause
    }
}

/// Counts an export if nothing keeps the elements; a function that is recorded does so without a handle.
fn export_unless_saved(tensor: &Tensor, storage: &Storage) -> bool {
    let known = 1 + u64::from(tensor.storage().is_data_handle());
    is_plain_memory(tensor) && !capture::active() && storage.export_unless_saved(known)
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.writable {
            self.storage.release_export();
        }
    }
}
