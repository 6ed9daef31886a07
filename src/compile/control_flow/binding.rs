//! Running a program on memory that belongs to a program around it.
//!
//! Owns: where results go, found once for all runs. Never allocates. Invariant: every result of the program has a place of
//! its own.

use smallvec::SmallVec;

use crate::array::Storage;
use crate::compile::exec::{Program, Session};
use crate::compile::ir::lowered::copy_few;
use crate::compile::ir::{Id, Output, Source};
use crate::error::Result;
use crate::kernels::View;
use crate::kernels::launch::{Object, Objects};

/// The first byte of a value.
pub(in crate::compile) type Place = *mut u8;
/// Where inputs lie, or results after a run.
pub(in crate::compile) type Places = SmallVec<[*const u8; 16]>;

/// Values of a tape begin at multiples of this.
const ALIGNMENT: usize = 64;

/// What a run leaves for another one, one value after the other.
#[derive(Default)]
pub(in crate::compile) struct Tape {
    /// Bytes of it.
    pub(in crate::compile) nbytes: usize,
}

impl Tape {
    /// Where a value of this many bytes begins, after those before it.
    pub(in crate::compile) fn add(&mut self, nbytes: usize) -> usize {
        let start = self.nbytes;
        self.nbytes += nbytes.next_multiple_of(ALIGNMENT);
        start
    }
}

/// Where a result of a program goes.
#[derive(Clone, Copy)]
enum Goes {
    /// To the tape, at this byte.
    Tape(usize),
    /// To the place of the output of this number.
    Own(usize),
}

/// Where an output of a program is found.
enum Lies {
    /// In the memory of result `.0`, from byte `.1` on.
    Result(usize, isize),
    /// In an input.
    Input(usize, isize),
    /// In values of the program.
    Constant(Storage, isize),
    /// Nowhere: it has no elements.
    Nowhere,
}

/// The places of a program's results.
pub(in crate::compile) struct Placement {
    results: Vec<Goes>,
    outputs: Vec<Lies>,
}

impl Placement {
    /// The places of the results of `program`, of which those in `taped` lie on the tape.
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

    /// Runs the program; outputs that are not taped go to `own` by their number. Returns where the outputs lie, and the
    /// objects.
    ///
    /// # Safety
    /// Inputs hold what the program was recorded with, while the run goes on; null is an input that no step reads. Each
    /// result has a place of its own that is long enough.
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

/// Copies a value to its place, if it lies elsewhere.
///
/// # Safety
/// Both hold that many bytes; they are the same or apart.
pub(in crate::compile) unsafe fn settle(from: *const u8, to: Place, nbytes: usize) {
    if from != to.cast_const() && nbytes > 0 {
        // SAFETY: the caller's contract.
        unsafe { copy_few(from, to, nbytes) };
    }
}

/// Where views begin.
pub(in crate::compile) fn starts<'v>(
    views: &'v [View<'_>],
) -> impl Iterator<Item = *const u8> + Clone + 'v {
    views.iter().map(|view| view.ptr)
}
