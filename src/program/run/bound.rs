//! A program bound to memory: runs read the same inputs and overwrite the same results.
//!
//! Owns: the handles that keep this memory, and the frame of these runs. Never allocates in a run.
//! Invariant: one run at a time; a second one is refused, not queued.

use std::sync::{Mutex, TryLockError};

use super::frame::Frame;
use super::program::{Program, Results, places};
use crate::array::{Elements, Storage};
use crate::error::Result;
use crate::program::steps::{Id, Output, Source};

/// The memory of a program's runs.
pub struct Bound {
    program: usize,
    frame: Mutex<Frame>,
    _inputs: Vec<(Storage, usize)>,
    results: Results,
    /// Results that are inputs or constants, and their copies.
    copies: Vec<(Id, Storage)>,
}

impl Bound {
    /// The memory of the buffers that are results.
    pub fn results(&self) -> &[Storage] {
        &self.results
    }

    /// The copy of a buffer that is an input or a constant, and a result.
    pub fn copy(&self, buffer: Id) -> Option<&Storage> {
        self.copies.iter().find(|(copied, _)| *copied == buffer).map(|(_, storage)| storage)
    }
}

impl Program {
    /// Memory for runs on these inputs: where each lies, and its first byte there.
    ///
    /// # Errors
    /// `Memory` when the system refuses it.
    ///
    /// # Panics
    /// When the number of inputs is not the program's: a bug of the caller.
    pub fn bound(&self, inputs: Vec<(Storage, usize)>) -> Result<Bound> {
        let results = self.allocate()?;
        let mut frame = self.new_frame()?;
        let elements: Vec<Elements<'_>> =
            inputs.iter().map(|(storage, offset)| Elements::of(storage, *offset)).collect();
        self.bind(&mut frame, &elements, &mut places(&results));
        let mut copies: Vec<(Id, Storage)> = Vec::new();
        for &Output { buffer, .. } in self.outputs() {
            let copied = matches!(self.source(buffer), Source::Input(_) | Source::Constant(_));
            if copied && !copies.iter().any(|(known, _)| *known == buffer) {
                copies.push((buffer, Storage::alloc(self.nbytes(buffer))?));
            }
        }
        let (program, frame) = (self.number, Mutex::new(frame));
        Ok(Bound { program, frame, _inputs: inputs, results, copies })
    }

    /// Runs the program on the memory that it is bound to, and `after` when it is done. `false` while another run goes on.
    ///
    /// # Errors
    /// What a step raises.
    ///
    /// # Panics
    /// When another program made the memory: a bug of the caller.
    pub fn run_bound(&self, bound: &Bound, after: impl FnOnce() -> Result<()>) -> Result<bool> {
        let mut frame = match bound.frame.try_lock() {
            Ok(frame) => frame,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(false),
        };
        assert!(self.number == bound.program, "memory that another program made");
        // SAFETY: `bound` keeps the memory of inputs and results.
        let done = unsafe { self.run_in(&mut frame) };
        frame.objects.fill(None);
        done?;
        for (buffer, copy) in &bound.copies {
            let from = frame.addresses[*buffer as usize];
            // SAFETY: the buffer has as many bytes as its copy, which is our own.
            unsafe { copy.ptr().copy_from_nonoverlapping(from, copy.nbytes()) };
        }
        after()?;
        Ok(true)
    }
}
