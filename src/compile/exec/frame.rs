//! A frame: the memory of one run.
//!
//! Owns: the block of temporaries, the address of every buffer, the objects, and what a run may have to put back. Never runs a step.
//! Invariant: a frame serves one run at a time; addresses of inputs and results are those of the last run until the next
//! one sets them.

use crate::array::Storage;
use crate::compile::ir::{Buffer, Source};
use crate::compile::passes::memory_plan::Plan;
use crate::error::Result;
use crate::kernels::launch::Objects;

/// The memory of a run.
pub(in crate::compile) struct Frame {
    /// The first byte of each buffer.
    pub(in crate::compile) addresses: Vec<*mut u8>,
    /// What steps hand to one another.
    pub(in crate::compile) objects: Objects,
    _block: Storage,
}

// SAFETY: the addresses lead to the frame's own block, to counted storages, or to memory of the run that uses the frame.
unsafe impl Send for Frame {}

/// What operands without elements point at.
static NOTHING: [u64; 8] = [0; 8];

impl Frame {
    pub(in crate::compile) fn new(
        plan: &Plan,
        buffers: &[Buffer],
        objects: usize,
    ) -> Result<Frame> {
        let block = Storage::alloc(plan.nbytes.max(1024))?;
        let address = |(buffer, &offset): (&Buffer, &usize)| match &buffer.source {
            Source::Outside(storage) | Source::Constant(storage) => storage.ptr(),
            // SAFETY: the plan keeps temporaries inside the block.
            Source::Temporary if offset != usize::MAX => unsafe { block.ptr().add(offset) },
            _ => NOTHING.as_ptr().cast_mut().cast(),
        };
        let addresses = buffers.iter().zip(&plan.offsets).map(address).collect();
        Ok(Frame { addresses, objects: vec![None; objects], _block: block })
    }
}

/// What memory held before a run, which may find that it must not happen.
pub(in crate::compile) struct Held {
    at: *mut u8,
    bytes: Storage,
}

impl Held {
    /// What these bytes hold.
    ///
    /// # Safety
    /// The memory may be read, and written, as long as this lives.
    pub(in crate::compile) unsafe fn of(at: *mut u8, nbytes: usize) -> Result<Held> {
        let bytes = Storage::alloc(nbytes)?;
        // SAFETY: the copy is as long, and our own.
        unsafe { bytes.ptr().copy_from_nonoverlapping(at, nbytes) };
        Ok(Held { at, bytes })
    }

    /// Puts them back.
    pub(in crate::compile) fn give_back(&self) {
        // SAFETY: as above.
        unsafe { self.at.copy_from_nonoverlapping(self.bytes.ptr(), self.bytes.nbytes()) };
    }
}
