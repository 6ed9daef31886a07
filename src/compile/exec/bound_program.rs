//! A program bound to memory: runs read the same inputs and overwrite the same results.
//!
//! Owns: the handles that keep this memory, and the frame of these runs. Never allocates in a run.
//! Invariant: one run at a time; a second one is refused, not queued.

use super::frame::Frame;
use super::program::{Program, Results, places};
use crate::array::{Elements, Storage};
use crate::compile::ir::{Id, Output, Source};
use crate::error::Result;
use crate::threads::Mutex;

/// The memory of a program's runs.
pub struct Bound {
    program: usize,
    /// The frame, unless a run has it.
    frame: Mutex<Option<Box<Frame>>>,
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

    /// The frame for one run; none while another one has it.
    fn taken(&self) -> Option<TakenFrame<'_>> {
        let frame = self.frame.lock().take()?;
        Some(TakenFrame { frame: Some(frame), owner: &self.frame })
    }

    /// The copy of a buffer that is an input or a constant, and a result.
    pub fn copy(&self, buffer: Id) -> Option<&Storage> {
        self.copies.iter().find(|(copied, _)| *copied == buffer).map(|(_, storage)| storage)
    }
}

/// The frame of a run that goes on. No lock is held meanwhile: steps may call host code.
struct TakenFrame<'a> {
    frame: Option<Box<Frame>>,
    owner: &'a Mutex<Option<Box<Frame>>>,
}

impl Drop for TakenFrame<'_> {
    fn drop(&mut self) {
        *self.owner.lock() = self.frame.take();
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
        let (program, frame) = (self.number, Mutex::new(Some(Box::new(frame))));
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
        assert!(self.number == bound.program, "memory that another program made");
        let mut taken = bound.taken();
        let Some(frame) = taken.as_mut().and_then(|taken| taken.frame.as_mut()) else {
            return Ok(false);
        };
        // SAFETY: `bound` keeps the memory of inputs and results.
        let done = unsafe { self.run_in(frame) };
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
