//! A session: one frame for many runs of a program, as a loop makes them.
//!
//! Owns: the frame while it lasts. Never runs twice at once. Invariant: the frame goes back to the program, without objects.

use super::frame::Frame;
use super::program::Program;
use crate::error::Result;
use crate::kernels::launch::{Object, Objects};

/// A program with the memory of its runs.
pub(in crate::compile) struct Session<'p> {
    program: &'p Program,
    frame: Option<Frame>,
}

impl<'p> Session<'p> {
    /// Takes a frame.
    ///
    /// # Errors
    /// `Memory` when there is none.
    pub(in crate::compile) fn begin(program: &'p Program) -> Result<Session<'p>> {
        Ok(Session { program, frame: Some(program.frame()?) })
    }

    /// Runs the program with its inputs and results at these places, and with the objects of a run before it; gives those
    /// that it leaves, if steps hand objects to one another.
    ///
    /// # Safety
    /// The places hold what the program was recorded with; what is null is not read.
    ///
    /// # Errors
    /// What a step raises.
    pub(in crate::compile) unsafe fn run(
        &mut self,
        inputs: &[*const u8],
        results: &[*mut u8],
        objects: &[Option<Object>],
    ) -> Result<Objects> {
        let frame = self.frame.as_mut().expect("a session has a frame until it ends");
        self.program.bind_places(frame, |number| inputs[number].cast_mut(), results);
        for (own, object) in frame.objects.iter_mut().zip(objects) {
            own.clone_from(object);
        }
        // SAFETY: the caller's contract.
        let done = unsafe { self.program.run_in(frame) };
        let has_objects = self.program.has_objects();
        let made = if has_objects { frame.objects.clone() } else { Objects::new() };
        done.map(|()| made)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if let Some(frame) = self.frame.take() {
            self.program.give_back(frame);
        }
    }
}
