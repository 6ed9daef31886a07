//! A frame held for many runs of one executable, as in a loop.

use super::executable::Executable;
use super::frame::Frame;
use crate::error::Result;
use crate::kernels::launch::{Object, Objects};

/// An executable with a frame.
pub(in crate::compile) struct HeldFrame<'p> {
    program: &'p Executable,
    frame: Option<Frame>,
}

impl<'p> HeldFrame<'p> {
    /// Takes a frame.
    ///
    /// # Errors
    /// `Memory` if there is none.
    pub(in crate::compile) fn begin(program: &'p Executable) -> Result<HeldFrame<'p>> {
        Ok(HeldFrame { program, frame: Some(program.acquire_frame()?) })
    }

    /// Runs the program on these inputs and results and with the objects of an earlier run; returns the objects that
    /// this run leaves.
    ///
    /// # Safety
    /// The pointers have the dtypes and shapes of the trace; a null input is never read.
    ///
    /// # Errors
    /// What a step raises.
    pub(in crate::compile) unsafe fn run(
        &mut self,
        inputs: &[*const u8],
        results: &[*mut u8],
        objects: &[Option<Object>],
    ) -> Result<Objects> {
        let frame = self.frame.as_mut().expect("a held_frame has a frame until it ends");
        self.program.bind_places(frame, |number| inputs[number].cast_mut(), results);
        for (slot, object) in frame.objects.iter_mut().zip(objects) {
            slot.clone_from(object);
        }
        // SAFETY: the caller's contract.
        let outcome = unsafe { self.program.run_in(frame) };
        let has_objects = self.program.has_objects();
        let left_objects = if has_objects { frame.objects.clone() } else { Objects::new() };
        outcome.map(|()| left_objects)
    }
}

impl Drop for HeldFrame<'_> {
    fn drop(&mut self) {
        if let Some(frame) = self.frame.take() {
            self.program.release_frame(frame);
        }
    }
}
