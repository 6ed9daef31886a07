//! Memory that others than operations write as well, such as NumPy's arrays, while a function is recorded.
//!
//! Owns: what steps found in it, and what they read instead where it was rewritten, or belongs to the function alone. Never
//! looks at memory that operations alone write. Invariant: a step finds what it found when it was recorded, or reads memory
//! that held the same until the end of the recording, and that others have.

use super::recorder::{Steps, bytes_copied};
use crate::array::{Storage, capture};
use crate::compile::ir::{Buffer, Id, Output, Slice, Source};
use crate::compile::passes::copy_elision::overlap;
use crate::error::{Error, Result};

/// Larger memory is compared in samples, and must not be rewritten.
const WHOLE_BYTES: usize = 16 << 20;
/// The bytes of a sample, and how many there are.
const SAMPLE: usize = 64;
const SAMPLES: usize = 4096;

/// Every byte.
const ALL: (usize, usize) = (0, usize::MAX);

/// Memory that others may write, and that steps use.
pub(in crate::compile) struct ForeignMemory {
    memory: Storage,
    /// What it held, and the number of the first step that found that.
    found: Vec<(usize, Content)>,
    /// Whether steps write to it.
    written: bool,
    /// Whether a step reads beyond it, in another part of the same array.
    exceeded: bool,
}

/// What memory held.
struct Content {
    copy: Storage,
    /// The length of the memory, of which large ones are copied in samples.
    nbytes: usize,
}

impl Content {
    fn of(memory: &Storage) -> Result<Content> {
        let _paused = capture::Pause::new();
        let nbytes = memory.nbytes();
        if nbytes <= WHOLE_BYTES {
            return Ok(Content { copy: memory.copy()?, nbytes });
        }
        let copy = Storage::alloc(SAMPLES * SAMPLE)?;
        for (to, from) in samples(nbytes).enumerate() {
            copy.write_bytes(to * SAMPLE, memory.bytes(from, SAMPLE));
        }
        Ok(Content { copy, nbytes })
    }

    fn is_whole(&self) -> bool {
        self.nbytes <= WHOLE_BYTES
    }

    /// Whether memory holds the same from one byte to another; of large memory, as far as samples show.
    fn is_in(&self, memory: &Storage, (from, to): (usize, usize)) -> bool {
        if self.is_whole() {
            let to = to.min(self.nbytes);
            return from >= to || self.copy.bytes(from, to - from) == memory.bytes(from, to - from);
        }
        let mut places = samples(self.nbytes).enumerate();
        places.all(|(at, from)| self.copy.bytes(at * SAMPLE, SAMPLE) == memory.bytes(from, SAMPLE))
    }
}

/// Where the samples of a memory begin.
fn samples(nbytes: usize) -> impl Iterator<Item = usize> {
    (0..SAMPLES).map(move |k| (nbytes - SAMPLE) / (SAMPLES - 1) * k)
}

/// The bytes among which the elements of a slice lie, and whether these are in a memory of so many bytes: it may reach into
/// another part of an array.
fn extent(slice: &Slice, nbytes: usize) -> ((usize, usize), bool) {
    let (mut low, mut high) = (slice.offset, slice.offset);
    for (&dim, &stride) in slice.dims.iter().zip(&slice.strides) {
        let reach = stride * dim.saturating_sub(1) as isize * slice.dtype.size() as isize;
        (low, high) = (low + reach.min(0), high + reach.max(0));
    }
    let end = high + slice.dtype.size() as isize;
    ((low.max(0) as usize, end.max(0) as usize), low >= 0 && end as usize <= nbytes)
}

impl Steps {
    /// Takes note of what the next step finds in memory that others may write.
    pub(super) fn look(&mut self, slice: &Slice) {
        let Some(memory) = self.lent_memory(slice.buffer) else { return };
        let (bytes, inside) = extent(slice, memory.nbytes());
        if let Err(error) = self.find(slice.buffer, &memory, bytes) {
            self.refused.get_or_insert(error);
        }
        let Some(lent) = self.lent.get_mut(&slice.buffer) else { return };
        lent.exceeded |= !inside;
        let buffer = &mut self.buffers[slice.buffer as usize];
        if !lent.written && buffer.nbytes < memory.nbytes() {
            let nbytes = memory.nbytes();
            *buffer = Buffer { source: Source::Outside(memory), nbytes };
        }
    }

    fn find(&mut self, id: Id, memory: &Storage, extent: (usize, usize)) -> Result<()> {
        let next = self.steps.len();
        let written = self.lent.values().any(|it| it.written && overlap(&it.memory, memory));
        let Some(lent) = self.lent.get_mut(&id) else {
            let found = vec![(next, Content::of(memory)?)];
            let memory = memory.data_handle();
            self.lent.insert(id, ForeignMemory { memory, found, written, exceeded: false });
            return Ok(());
        };
        if lent.written {
            return Ok(());
        }
        let Some((_, last)) = lent.found.last_mut() else { return Ok(()) };
        let more = last.nbytes < memory.nbytes();
        if !last.is_in(memory, if more { ALL } else { extent }) {
            lent.found.push((next, Content::of(memory)?));
        } else if more {
            *last = Content::of(memory)?;
        }
        lent.memory = memory.data_handle();
        Ok(())
    }

    /// Takes note that the next step writes to memory outside, where others do so no longer.
    pub(super) fn lent_is_written(&mut self, id: Id) {
        let Some(memory) = self.lent_memory(id) else { return };
        if !self.lent.contains_key(&id)
            && let Err(error) = self.find(id, &memory, ALL)
        {
            self.refused.get_or_insert(error);
        }
        let touched = |lent: &&mut ForeignMemory| !lent.written && overlap(&lent.memory, &memory);
        for lent in self.lent.values_mut().filter(touched) {
            lent.written = true;
            let same = lent.found.len() == 1 && lent.found[0].1.is_in(&lent.memory, ALL);
            if !same {
                let what = "an array that tensors share, and change in place,";
                self.refused.get_or_insert_with(|| rewritten(what));
            }
        }
    }

    /// The memory of a buffer, if others may write to it.
    fn lent_memory(&self, id: Id) -> Option<Storage> {
        let known = self.buffers[id as usize].source.outside()?;
        // More of the memory may have been met since.
        let met = capture::with_buffer(known.ptr().addr(), |buffer| buffer.storage.clone());
        met.filter(Storage::has_external_writer)
    }

    /// Forgets what steps from this one on found.
    pub(super) fn forget_lent(&mut self, (buffers, steps): (usize, usize)) {
        self.lent.retain(|&id, lent| {
            lent.found.retain(|(first, _)| *first <= steps);
            (id as usize) < buffers && !lent.found.is_empty()
        });
    }

    /// Lets steps read what they found of memory that was rewritten since, or that the function alone has: such an array
    /// is made anew by each call.
    pub(super) fn settle_lent(&mut self, outputs: &[Output]) {
        for (id, lent) in std::mem::take(&mut self.lent) {
            let Some(memory) = self.lent_memory(id) else { continue };
            let whole = lent.found.iter().all(|(_, content)| content.is_whole());
            let own = whole && !lent.exceeded && memory.is_externally_unreachable();
            let is_output = outputs.iter().any(|output| output.buffer == id);
            match &lent.found[..] {
                [_] if lent.written && !own => {}
                [_] if lent.written => self.make_anew(id, lent, is_output),
                [(_, content)] if !own && content.is_in(&memory, ALL) => {}
                _ => self.read_as_found(id, lent, is_output),
            }
        }
    }

    /// Lets steps read constants.
    fn read_as_found(&mut self, id: Id, lent: ForeignMemory, is_output: bool) {
        if lent.exceeded || lent.found.iter().any(|(_, content)| !content.is_whole()) {
            let what = match lent.exceeded {
                true => "an array of which the function reads parts that overlap",
                false => "a large array that the function reads",
            };
            self.refused.get_or_insert_with(|| rewritten(what));
            return;
        }
        let mut end = self.steps.len();
        for (first, content) in lent.found.into_iter().rev() {
            let constant = self.constant(content);
            let read = |slice: &mut Slice| {
                if slice.buffer == id {
                    slice.buffer = constant;
                }
            };
            self.steps[first..end].iter_mut().for_each(|step| step.move_reads(read));
            end = first;
        }
        if !is_output {
            self.buffers[id as usize].source = Source::Unused;
        }
    }

    /// Makes memory a part of each run, which begins with what it held.
    fn make_anew(&mut self, id: Id, lent: ForeignMemory, is_output: bool) {
        let memory = self.buffers[id as usize].source.outside().cloned();
        self.outside.retain(|(kept, _)| !memory.as_ref().is_some_and(|memory| memory.same(kept)));
        for (_, content) in lent.found {
            let nbytes = content.nbytes;
            let constant = self.constant(content);
            let source = if is_output { Source::Output } else { Source::Temporary };
            self.buffers[id as usize] = Buffer { source, nbytes };
            self.before.push(bytes_copied(constant, id, nbytes));
        }
    }

    fn constant(&mut self, content: Content) -> Id {
        let Content { copy, nbytes } = content;
        self.buffers.push(Buffer { source: Source::Constant(copy), nbytes });
        (self.buffers.len() - 1) as Id
    }
}

/// Why there is no program: NumPy code wrote where steps would find it neither before nor after.
#[cold]
fn rewritten(what: &str) -> Box<Error> {
    Box::new(Error::Captured {
        op: "compile".into(),
        what: format!("{what} is rewritten by NumPy code while the function is recorded"),
        remedy: "make a new array in its place, or write to a tensor",
    })
}
