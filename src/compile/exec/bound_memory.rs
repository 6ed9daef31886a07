//! An executable bound to memory: runs read the same inputs and overwrite the same results, and allocate nothing.
//!
//! Invariant: one run at a time; a concurrent one is refused.

use super::executable::{Executable, ResultMemory, elements_mut};
use super::frame::Frame;
use crate::array::{Elements, Storage};
use crate::compile::ir::{BufferId, Output, Source};
use crate::error::Result;
use crate::threads::Mutex;

/// The memory of inputs and results of an executable.
pub struct BoundMemory {
    program: usize,
    /// The frame, unless a run is using it.
    frame: Mutex<Option<Box<Frame>>>,
    _inputs: Vec<(Storage, usize)>,
    results: ResultMemory,
    /// Outputs that are inputs or constants, and their copies.
    copies: Vec<(BufferId, Storage)>,
}

impl BoundMemory {
    /// The memory of the result buffers.
    pub fn results(&self) -> &[Storage] {
        &self.results
    }

    /// Takes the frame for a run; `None` while another run uses it.
    fn take_frame(&self) -> Option<FrameGuard<'_>> {
        let frame = self.frame.lock().take()?;
        Some(FrameGuard { frame: Some(frame), owner: &self.frame })
    }

    /// The copy of an input or constant that is also an output.
    pub fn copy(&self, buffer: BufferId) -> Option<&Storage> {
        self.copies.iter().find(|(copied, _)| *copied == buffer).map(|(_, storage)| storage)
    }
}

/// The frame of the current run; returned on drop. No lock is held during the run: steps may call Python.
struct FrameGuard<'a> {
    frame: Option<Box<Frame>>,
    owner: &'a Mutex<Option<Box<Frame>>>,
}

impl Drop for FrameGuard<'_> {
    fn drop(&mut self) {
        *self.owner.lock() = self.frame.take();
    }
}

impl Executable {
    /// Allocates the memory of results and a frame for runs on these inputs, given as storages with byte offsets.
    ///
    /// # Errors
    /// `Memory` if the system refuses it.
    ///
    /// # Panics
    /// If the number of inputs is wrong: a bug of the caller.
    pub fn bind_memory(&self, inputs: Vec<(Storage, usize)>) -> Result<BoundMemory> {
        let results = self.allocate()?;
        let mut frame = self.new_frame()?;
        let elements: Vec<Elements<'_>> =
            inputs.iter().map(|(storage, offset)| Elements::of(storage, *offset)).collect();
        self.bind(&mut frame, &elements, &mut elements_mut(&results));
        let mut copies: Vec<(BufferId, Storage)> = Vec::new();
        for &Output { buffer, .. } in self.outputs() {
            let copied = matches!(self.source(buffer), Source::Input(_) | Source::Constant(_));
            if copied && !copies.iter().any(|(known, _)| *known == buffer) {
                copies.push((buffer, Storage::alloc(self.nbytes(buffer))?));
            }
        }
        let (program, frame) = (self.number, Mutex::new(Some(Box::new(frame))));
        Ok(BoundMemory { program, frame, _inputs: inputs, results, copies })
    }

    /// Runs the executable on its bound memory, then calls `after`. `false` if another run is in progress.
    ///
    /// # Errors
    /// What a step raises.
    ///
    /// # Panics
    /// If the memory belongs to another executable: a bug of the caller.
    pub fn run_bound(
        &self,
        bound: &BoundMemory,
        after: impl FnOnce() -> Result<()>,
    ) -> Result<bool> {
        assert!(self.number == bound.program, "memory that another program made");
        let mut guard = bound.take_frame();
        let Some(frame) = guard.as_mut().and_then(|guard| guard.frame.as_mut()) else {
            return Ok(false);
        };
        // SAFETY: `bound` owns the memory of inputs and results.
        let outcome = unsafe { self.run_in(frame) };
        frame.objects.fill(None);
        outcome?;
        for (buffer, copy) in &bound.copies {
            let from = frame.addresses[*buffer as usize];
            // SAFETY: the copy was allocated with the length of the buffer.
            unsafe { copy.ptr().copy_from_nonoverlapping(from, copy.nbytes()) };
        }
        after()?;
        Ok(true)
    }
}
