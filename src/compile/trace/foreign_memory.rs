//! Foreign memory: buffers that code other than tensor operations may write, such as NumPy's arrays.
//!
//! While a function is traced, their contents are compared at every access. Memory that NumPy code rewrote in
//! between, or that belongs to the function alone, becomes a constant. Invariant: a step of a run reads what it read
//! at trace time, or the current contents of an array that did not change until the end of the trace.

use super::buffers;
use super::tracer::{TracedSteps, copy_buffer};
use crate::array::{Storage, observer};
use crate::compile::ir::{Buffer, BufferId, BufferView, Output, Source};
use crate::compile::passes::copy_elision::overlap;
use crate::error::{Error, Result};

/// Larger memory is compared in samples, and must not be rewritten.
const FULL_COMPARE_BYTES: usize = 16 << 20;
/// The bytes of a sample, and their number.
const SAMPLE_BYTES: usize = 64;
const SAMPLE_COUNT: usize = 4096;

/// The range of all bytes.
const ALL_BYTES: (usize, usize) = (0, usize::MAX);

/// A foreign buffer that steps use.
pub(in crate::compile) struct ForeignMemory {
    memory: Storage,
    /// Its contents, with the index of the first step that read them.
    snapshots: Vec<(usize, BufferCopy)>,
    /// Whether steps write to it.
    is_written: bool,
    /// Whether a step reads beyond this storage, into another part of the same array.
    exceeds_storage: bool,
}

/// A copy of a buffer's contents.
struct BufferCopy {
    copy: Storage,
    /// The length of the buffer; large ones are copied in samples.
    nbytes: usize,
}

impl BufferCopy {
    fn of(memory: &Storage) -> Result<BufferCopy> {
        let _paused = observer::Pause::new();
        let nbytes = memory.nbytes();
        if nbytes <= FULL_COMPARE_BYTES {
            return Ok(BufferCopy { copy: memory.copy()?, nbytes });
        }
        let copy = Storage::alloc(SAMPLE_COUNT * SAMPLE_BYTES)?;
        for (to, from) in samples(nbytes).enumerate() {
            copy.write_bytes(to * SAMPLE_BYTES, memory.bytes(from, SAMPLE_BYTES));
        }
        Ok(BufferCopy { copy, nbytes })
    }

    fn is_complete(&self) -> bool {
        self.nbytes <= FULL_COMPARE_BYTES
    }

    /// Whether memory still holds these contents in a byte range; for large memory, only samples are compared.
    fn is_in(&self, memory: &Storage, (from, to): (usize, usize)) -> bool {
        if self.is_complete() {
            let to = to.min(self.nbytes);
            return from >= to || self.copy.bytes(from, to - from) == memory.bytes(from, to - from);
        }
        let mut places = samples(self.nbytes).enumerate();
        places.all(|(at, from)| {
            self.copy.bytes(at * SAMPLE_BYTES, SAMPLE_BYTES) == memory.bytes(from, SAMPLE_BYTES)
        })
    }
}

/// The offsets of the samples.
fn samples(nbytes: usize) -> impl Iterator<Item = usize> {
    (0..SAMPLE_COUNT).map(move |k| (nbytes - SAMPLE_BYTES) / (SAMPLE_COUNT - 1) * k)
}

/// The byte range of a slice, and whether it lies inside a storage of this length: it may extend into another part of
/// an array.
fn extent(slice: &BufferView, nbytes: usize) -> ((usize, usize), bool) {
    let (mut low, mut high) = (slice.offset, slice.offset);
    for (&dim, &stride) in slice.dims.iter().zip(&slice.strides) {
        let extent_of_axis = stride * dim.saturating_sub(1) as isize * slice.dtype.size() as isize;
        (low, high) = (low + extent_of_axis.min(0), high + extent_of_axis.max(0));
    }
    let end = high + slice.dtype.size() as isize;
    ((low.max(0) as usize, end.max(0) as usize), low >= 0 && end as usize <= nbytes)
}

impl TracedSteps {
    /// Checks the contents of foreign memory that the next step reads.
    pub(super) fn check_foreign_read(&mut self, slice: &BufferView) {
        let Some(memory) = self.foreign_storage(slice.buffer) else { return };
        let (bytes, inside) = extent(slice, memory.nbytes());
        if let Err(error) = self.check_contents(slice.buffer, &memory, bytes) {
            self.error.get_or_insert(error);
        }
        let Some(foreign) = self.foreign.get_mut(&slice.buffer) else { return };
        foreign.exceeds_storage |= !inside;
        let buffer = &mut self.buffers[slice.buffer as usize];
        if !foreign.is_written && buffer.nbytes < memory.nbytes() {
            let nbytes = memory.nbytes();
            *buffer = Buffer { source: Source::External(memory), nbytes };
        }
    }

    fn check_contents(
        &mut self,
        id: BufferId,
        memory: &Storage,
        extent: (usize, usize),
    ) -> Result<()> {
        let next = self.steps.len();
        let is_written =
            self.foreign.values().any(|it| it.is_written && overlap(&it.memory, memory));
        let Some(foreign) = self.foreign.get_mut(&id) else {
            let snapshots = vec![(next, BufferCopy::of(memory)?)];
            let memory = memory.data_handle();
            self.foreign.insert(
                id,
                ForeignMemory { memory, snapshots, is_written, exceeds_storage: false },
            );
            return Ok(());
        };
        if foreign.is_written {
            return Ok(());
        }
        let Some((_, last)) = foreign.snapshots.last_mut() else { return Ok(()) };
        let more = last.nbytes < memory.nbytes();
        if !last.is_in(memory, if more { ALL_BYTES } else { extent }) {
            foreign.snapshots.push((next, BufferCopy::of(memory)?));
        } else if more {
            *last = BufferCopy::of(memory)?;
        }
        foreign.memory = memory.data_handle();
        Ok(())
    }

    /// Notes that the next step writes to foreign memory: from now on only steps may write there.
    pub(super) fn note_foreign_write(&mut self, id: BufferId) {
        let Some(memory) = self.foreign_storage(id) else { return };
        if !self.foreign.contains_key(&id)
            && let Err(error) = self.check_contents(id, &memory, ALL_BYTES)
        {
            self.error.get_or_insert(error);
        }
        let touched =
            |foreign: &&mut ForeignMemory| !foreign.is_written && overlap(&foreign.memory, &memory);
        for foreign in self.foreign.values_mut().filter(touched) {
            foreign.is_written = true;
            let same = foreign.snapshots.len() == 1
                && foreign.snapshots[0].1.is_in(&foreign.memory, ALL_BYTES);
            if !same {
                let what = "an array that tensors share, and change in place,";
                self.error.get_or_insert_with(|| rewritten_error(what));
            }
        }
    }

    /// The memory of a buffer, if others may write to it.
    fn foreign_storage(&self, id: BufferId) -> Option<Storage> {
        let known = self.buffers[id as usize].source.external()?;
        // More of the memory may have been met since.
        let current = buffers::with_buffer(known.ptr().addr(), |buffer| buffer.storage.clone());
        current.filter(Storage::has_external_writer)
    }

    /// Forgets the contents that steps from this one on found.
    pub(super) fn forget_foreign(&mut self, (buffers, steps): (usize, usize)) {
        self.foreign.retain(|&id, foreign| {
            foreign.snapshots.retain(|(first, _)| *first <= steps);
            (id as usize) < buffers && !foreign.snapshots.is_empty()
        });
    }

    /// Lets steps read what they found of memory that was rewritten since, or that the function alone has: such an array
    /// is made anew by each call.
    pub(super) fn finalize_foreign(&mut self, outputs: &[Output]) {
        for (id, foreign) in std::mem::take(&mut self.foreign) {
            let Some(memory) = self.foreign_storage(id) else { continue };
            let is_complete = foreign.snapshots.iter().all(|(_, contents)| contents.is_complete());
            let is_unshared =
                is_complete && !foreign.exceeds_storage && memory.is_externally_unreachable();
            let is_output = outputs.iter().any(|output| output.buffer == id);
            match &foreign.snapshots[..] {
                [_] if foreign.is_written && !is_unshared => {}
                [_] if foreign.is_written => self.make_temporary(id, foreign, is_output),
                [(_, contents)] if !is_unshared && contents.is_in(&memory, ALL_BYTES) => {}
                _ => self.freeze_reads(id, foreign, is_output),
            }
        }
    }

    /// Replaces reads by reads of constants.
    fn freeze_reads(&mut self, id: BufferId, foreign: ForeignMemory, is_output: bool) {
        if foreign.exceeds_storage
            || foreign.snapshots.iter().any(|(_, contents)| !contents.is_complete())
        {
            let what = match foreign.exceeds_storage {
                true => "an array of which the function reads parts that overlap",
                false => "a large array that the function reads",
            };
            self.error.get_or_insert_with(|| rewritten_error(what));
            return;
        }
        let mut end = self.steps.len();
        for (first, contents) in foreign.snapshots.into_iter().rev() {
            let constant = self.constant(contents);
            let read = |slice: &mut BufferView| {
                if slice.buffer == id {
                    slice.buffer = constant;
                }
            };
            self.steps[first..end].iter_mut().for_each(|step| step.map_reads(read));
            end = first;
        }
        if !is_output {
            self.buffers[id as usize].source = Source::Unused;
        }
    }

    /// Makes the buffer memory of each run, initialised with its contents at trace time.
    fn make_temporary(&mut self, id: BufferId, foreign: ForeignMemory, is_output: bool) {
        let memory = self.buffers[id as usize].source.external().cloned();
        self.external_snapshots
            .retain(|(kept, _)| !memory.as_ref().is_some_and(|memory| memory.same(kept)));
        for (_, contents) in foreign.snapshots {
            let nbytes = contents.nbytes;
            let constant = self.constant(contents);
            let source = if is_output { Source::Output } else { Source::Temporary };
            self.buffers[id as usize] = Buffer { source, nbytes };
            self.constant_inits.push(copy_buffer(constant, id, nbytes));
        }
    }

    fn constant(&mut self, contents: BufferCopy) -> BufferId {
        let BufferCopy { copy, nbytes } = contents;
        self.buffers.push(Buffer { source: Source::Constant(copy), nbytes });
        (self.buffers.len() - 1) as BufferId
    }
}

/// The error for an array that NumPy code rewrote during the trace.
#[cold]
fn rewritten_error(what: &str) -> Box<Error> {
    Box::new(Error::NotTraceable {
        op: "compile".into(),
        what: format!("{what} is rewritten by NumPy code while the function is recorded"),
        remedy: "make a new array in its place, or write to a tensor",
    })
}
