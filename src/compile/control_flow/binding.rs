//! Runs a body program on memory of the enclosing program; pointers are resolved once, and a run allocates nothing.
//!
//! Invariant: every result of the program has a destination of its own.

use smallvec::SmallVec;

use crate::array::Storage;
use crate::compile::exec::{Program, Session};
use crate::compile::ir::lowered::copy_few;
use crate::compile::ir::{Id, Output, Source};
use crate::error::Result;
use crate::kernels::View;
use crate::kernels::launch::{Object, Objects};

/// A destination pointer.
pub(in crate::compile) type Place = *mut u8;
/// Source pointers: inputs of a run, or outputs after it.
pub(in crate::compile) type Places = SmallVec<[*const u8; 16]>;

/// Alignment of the values on a tape, in bytes.
const ALIGNMENT: usize = 64;

/// The layout of a tape: residuals that a forward run stores for the backward run.
#[derive(Default)]
pub(in crate::compile) struct Tape {
    /// Its length in bytes.
    pub(in crate::compile) nbytes: usize,
}

impl Tape {
    /// Appends a value of this many bytes; returns its offset.
    pub(in crate::compile) fn add(&mut self, nbytes: usize) -> usize {
        let start = self.nbytes;
        self.nbytes += nbytes.next_multiple_of(ALIGNMENT);
        start
    }
}

/// The destination of a result buffer.
#[derive(Clone, Copy)]
enum Goes {
    /// The tape, at this offset.
    Tape(usize),
    /// The memory of the output with this index.
    Own(usize),
}

/// Where an output is found after a run.
enum Lies {
    /// In result buffer `.0`, at byte offset `.1`.
    Result(usize, isize),
    /// In input `.0`, at byte offset `.1`.
    Input(usize, isize),
    /// In a constant of the program, or in external memory.
    Constant(Storage, isize),
    /// It has no elements.
    Nowhere,
}

/// The resolved destinations of a program's results, and the locations of its outputs.
pub(in crate::compile) struct Placement {
    results: Vec<Goes>,
    outputs: Vec<Lies>,
}

impl Placement {
    /// Resolves the results of `program`; the buffers in `taped` go to the tape at the given offsets.
    pub(in crate::compile) fn new(program: &Program, taped: &[(Id, usize)]) -> Placement {
        let goes = |id: &Id| match taped.iter().find(|(taped, _)| taped == id) {
            Some(&(_, at)) => Goes::Tape(at),
            None => {
                let number = program.outputs().iter().position(|output| output.buffer == *id);
                Goes::Own(number.expect("a result that is no output is on the tape"))
            }
        };
        let lies = |output: &Output| {
            let offset = output.layout.offset() * output.dtype.size() as isize;
            let result = program.results().iter().position(|id| *id == output.buffer);
            match (result, program.source(output.buffer)) {
                (Some(number), _) => Lies::Result(number, offset),
                (None, Source::Input(number)) => Lies::Input(*number, offset),
                (None, Source::Constant(storage) | Source::Outside(storage)) => {
                    Lies::Constant(storage.data_handle(), offset)
                }
                _ => Lies::Nowhere,
            }
        };
        Placement {
            results: program.results().iter().map(goes).collect(),
            outputs: program.outputs().iter().map(lies).collect(),
        }
    }

    /// Runs the program; results that are not on the tape go to `own(output index)`. Returns pointers to the outputs,
    /// and the objects that the run left.
    ///
    /// # Safety
    /// Inputs have the dtypes and shapes of the trace and live during the run; a null input is one that no step
    /// reads. Every destination is distinct and large enough.
    pub(in crate::compile) unsafe fn run(
        &self,
        session: &mut Session<'_>,
        inputs: &Places,
        objects: &[Option<Object>],
        tape: Place,
        own: impl Fn(usize) -> Place,
    ) -> Result<(Places, Objects)> {
        let place = |goes: &Goes| match *goes {
            Goes::Tape(at) => tape.wrapping_add(at),
            Goes::Own(number) => own(number),
        };
        let places: SmallVec<[Place; 16]> = self.results.iter().map(place).collect();
        // SAFETY: the caller's contract.
        let made = unsafe { session.run(inputs, &places, objects)? };
        let lies = |lies: &Lies| match lies {
            Lies::Result(number, offset) => places[*number].wrapping_offset(*offset).cast_const(),
            Lies::Input(number, offset) => inputs[*number].wrapping_offset(*offset),
            Lies::Constant(storage, offset) => storage.ptr().wrapping_offset(*offset).cast_const(),
            Lies::Nowhere => std::ptr::null(),
        };
        Ok((self.outputs.iter().map(lies).collect(), made))
    }
}

/// Copies a value to its destination unless it is there already.
///
/// # Safety
/// Both pointers are valid for `nbytes`; they are equal or the ranges are disjoint.
pub(in crate::compile) unsafe fn settle(from: *const u8, to: Place, nbytes: usize) {
    if from != to.cast_const() && nbytes > 0 {
        // SAFETY: the caller's contract.
        unsafe { copy_few(from, to, nbytes) };
    }
}

/// The base pointers of views.
pub(in crate::compile) fn starts<'v>(
    views: &'v [View<'_>],
) -> impl Iterator<Item = *const u8> + Clone + 'v {
    views.iter().map(|view| view.ptr)
}
