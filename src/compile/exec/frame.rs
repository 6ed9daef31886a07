//! The memory of one run: the block of temporaries and the address of every buffer.
//!
//! Invariant: a frame serves one run at a time; the addresses of inputs and results stay those of the last run until
//! the next run sets them.

use crate::array::Storage;
use crate::compile::ir::{Buffer, Source};
use crate::compile::passes::memory_plan::MemoryPlan;
use crate::error::Result;
use crate::kernels::launch::Objects;

/// The memory of a run.
pub(in crate::compile) struct Frame {
    /// The base pointer of each buffer.
    pub(in crate::compile) addresses: Vec<*mut u8>,
    /// The objects that steps pass to later steps.
    pub(in crate::compile) objects: Objects,
    _block: Storage,
}

// SAFETY: the pointers lead into the frame's own block, to reference-counted storages, or to memory of the run that
// uses the frame.
unsafe impl Send for Frame {}

/// The address of operands without elements.
static EMPTY_OPERAND: [u64; 8] = [0; 8];

impl Frame {
    pub(in crate::compile) fn new(
        plan: &MemoryPlan,
        buffers: &[Buffer],
        objects: usize,
    ) -> Result<Frame> {
        let block = Storage::alloc(plan.nbytes.max(1024))?;
        let base_of = |(buffer, &offset): (&Buffer, &usize)| match &buffer.source {
            Source::External(storage) | Source::Constant(storage) => storage.ptr(),
            // SAFETY: the plan keeps every temporary inside the block.
            Source::Temporary if offset != usize::MAX => unsafe { block.ptr().add(offset) },
            _ => EMPTY_OPERAND.as_ptr().cast_mut().cast(),
        };
        let addresses = buffers.iter().zip(&plan.offsets).map(base_of).collect();
        Ok(Frame { addresses, objects: vec![None; objects], _block: block })
    }
}

/// A copy of memory that a run may have to restore, if a later decision diverges.
pub(in crate::compile) struct MemorySnapshot {
    address: *mut u8,
    bytes: Storage,
}

impl MemorySnapshot {
    /// Copies these bytes.
    ///
    /// # Safety
    /// The memory is valid for reads and writes as long as this lives.
    pub(in crate::compile) unsafe fn take(
        address: *mut u8,
        nbytes: usize,
    ) -> Result<MemorySnapshot> {
        let bytes = Storage::alloc(nbytes)?;
        // SAFETY: the copy is as long, and our own.
        unsafe { bytes.ptr().copy_from_nonoverlapping(address, nbytes) };
        Ok(MemorySnapshot { address, bytes })
    }

    /// Restores the bytes.
    pub(in crate::compile) fn restore(&self) {
        // SAFETY: by the contract of `take`.
        unsafe { self.address.copy_from_nonoverlapping(self.bytes.ptr(), self.bytes.nbytes()) };
    }
}
