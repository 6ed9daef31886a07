//! Runs a body program on memory of the enclosing program; pointers are resolved once, and a run allocates nothing.
//!
//! Invariant: every result of the program has a destination of its own.

use smallvec::SmallVec;

use crate::array::Storage;
use crate::compile::exec::{Executable, HeldFrame};
use crate::compile::ir::lowered::copy_bytes;
use crate::compile::ir::{BufferId, Output, Source};
use crate::error::Result;
use crate::kernels::View;
use crate::kernels::launch::{Object, Objects};

/// A destination pointer.
pub(in crate::compile) type DstPtr = *mut u8;
/// Source pointers: inputs of a run, or outputs after it.
pub(in crate::compile) type SrcPtrs = SmallVec<[*const u8; 16]>;

/// Alignment of the values on a tape, in bytes.
const ALIGNMENT: usize = 64;

/// The layout of a tape: residuals that a forward run stores for the backward run.
#[derive(Default)]
pub(in crate::compile) struct TapeLayout {
    /// Its length in bytes.
    pub(in crate::compile) nbytes: usize,
}

impl TapeLayout {
    /// Appends a value of this many bytes; returns its offset.
    pub(in crate::compile) fn reserve(&mut self, nbytes: usize) -> usize {
        let start = self.nbytes;
        self.nbytes += nbytes.next_multiple_of(ALIGNMENT);
        start
    }
}

/// The destination of a result buffer.
#[derive(Clone, Copy)]
enum ResultTarget {
    /// The tape, at this offset.
    Tape(usize),
    /// The memory of the output with this index.
    Output(usize),
}

/// Where an output is found after a run.
enum OutputLocation {
    /// In result buffer `.0`, at byte offset `.1`.
    Result(usize, isize),
    /// In input `.0`, at byte offset `.1`.
    Input(usize, isize),
    /// In a constant of the program, or in external memory.
    Constant(Storage, isize),
    /// It has no elements.
    Empty,
}

/// The resolved destinations of a program's results, and the locations of its outputs.
pub(in crate::compile) struct ResultBinding {
    results: Vec<ResultTarget>,
    outputs: Vec<OutputLocation>,
}

impl ResultBinding {
    /// Resolves the results of `program`; the buffers in `taped` go to the tape at the given offsets.
    pub(in crate::compile) fn new(
        program: &Executable,
        taped: &[(BufferId, usize)],
    ) -> ResultBinding {
        let target = |id: &BufferId| match taped.iter().find(|(taped, _)| taped == id) {
            Some(&(_, offset)) => ResultTarget::Tape(offset),
            None => {
                let number = program.outputs().iter().position(|output| output.buffer == *id);
                ResultTarget::Output(number.expect("a result that is no output is on the tape"))
            }
        };
        let location = |output: &Output| {
            let offset = output.layout.offset() * output.dtype.size() as isize;
            let result = program.results().iter().position(|id| *id == output.buffer);
            match (result, program.source(output.buffer)) {
                (Some(number), _) => OutputLocation::Result(number, offset),
                (None, Source::Input(number)) => OutputLocation::Input(*number, offset),
                (None, Source::Constant(storage) | Source::External(storage)) => {
                    OutputLocation::Constant(storage.data_handle(), offset)
                }
                _ => OutputLocation::Empty,
            }
        };
        ResultBinding {
            results: program.results().iter().map(target).collect(),
            outputs: program.outputs().iter().map(location).collect(),
        }
    }

    /// Runs the program; results that are not on the tape go to `output_dst(output index)`. Returns pointers to the outputs,
    /// and the objects that the run left.
    ///
    /// # Safety
    /// Inputs have the dtypes and shapes of the trace and live during the run; a null input is one that no step
    /// reads. Every destination is distinct and large enough.
    pub(in crate::compile) unsafe fn run(
        &self,
        held_frame: &mut HeldFrame<'_>,
        inputs: &SrcPtrs,
        objects: &[Option<Object>],
        tape: DstPtr,
        output_dst: impl Fn(usize) -> DstPtr,
    ) -> Result<(SrcPtrs, Objects)> {
        let resolve = |target: &ResultTarget| match *target {
            ResultTarget::Tape(offset) => tape.wrapping_add(offset),
            ResultTarget::Output(number) => output_dst(number),
        };
        let dsts: SmallVec<[DstPtr; 16]> = self.results.iter().map(resolve).collect();
        // SAFETY: the caller's contract.
        let left_objects = unsafe { held_frame.run(inputs, &dsts, objects)? };
        let resolve = |location: &OutputLocation| match location {
            OutputLocation::Result(number, offset) => {
                dsts[*number].wrapping_offset(*offset).cast_const()
            }
            OutputLocation::Input(number, offset) => inputs[*number].wrapping_offset(*offset),
            OutputLocation::Constant(storage, offset) => {
                storage.ptr().wrapping_offset(*offset).cast_const()
            }
            OutputLocation::Empty => std::ptr::null(),
        };
        Ok((self.outputs.iter().map(resolve).collect(), left_objects))
    }
}

/// Copies a value to its destination unless it is there already.
///
/// # Safety
/// Both pointers are valid for `nbytes`; they are equal or the ranges are disjoint.
pub(in crate::compile) unsafe fn copy_unless_same(src: *const u8, dst: DstPtr, nbytes: usize) {
    if src != dst.cast_const() && nbytes > 0 {
        // SAFETY: the caller's contract.
        unsafe { copy_bytes(src, dst, nbytes) };
    }
}

/// The base pointers of views.
pub(in crate::compile) fn view_ptrs<'v>(
    views: &'v [View<'_>],
) -> impl Iterator<Item = *const u8> + Clone + 'v {
    views.iter().map(|view| view.ptr)
}
