//! Foreign memory: buffers that code other than tensor operations may write, such as NumPy's arrays.
//!
//! While a function is traced, their contents are compared at every access. Memory that NumPy code rewrote in
//! between, or that belongs to the function alone, becomes a constant. Invariant: a step of a run reads what it read
//! at trace time, or the current contents of an array that did not change until the end of the trace.

use super::recorder::{Steps, bytes_copied};
use crate::array::{Storage, capture};
use crate::compile::ir::{Buffer, Id, Output, Slice, Source};
use crate::compile::passes::copy_elision::overlap;
use crate::error::{Error, Result};

/// Larger memory is compared in samples, and must not be rewritten.
const WHOLE_BYTES: usize = 16 << 20;
/// The bytes of a sample, and their number.
const SAMPLE: usize = 64;
const SAMPLES: usize = 4096;

/// The range of all bytes.
const ALL: (usize, usize) = (0, usize::MAX);

/// A foreign buffer that steps use.
pub(in crate::compile) struct ForeignMemory {
    memory: Storage,
    /// Its contents, with the index of the first step that read them.
    found: Vec<(usize, Content)>,
    /// Whether steps write to it.
    written: bool,
    /// Whether a step reads beyond this storage, into another part of the same array.
    exceeded: bool,
}

/// A copy of a buffer's contents.
struct Content {
    copy: Storage,
    /// The length of the buffer; large ones are copied in samples.
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

    /// Whether memory still holds these contents in a byte range; for large memory, only samples are compared.
    fn is_in(&self, memory: &Storage, (from, to): (usize, usize)) -> bool {
        if self.is_whole() {
            let to = to.min(self.nbytes);
            return from >= to || self.copy.bytes(from, to - from) == memory.bytes(from, to - from);
        }
        let mut places = samples(self.nbytes).enumerate();
        places.all(|(at, from)| self.copy.bytes(at * SAMPLE, SAMPLE) == memory.bytes(from, SAMPLE))
    }
}

/// The offsets of the samples.
fn samples(nbytes: usize) -> impl Iterator<Item = usize> {
    (0..SAMPLES).map(move |k| (nbytes - SAMPLE) / (SAMPLES - 1) * k)
}

/// The byte range of a slice, and whether it lies inside a storage of this length: it may extend into another part of
/// an array.
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
    /// Checks the contents of foreign memory that the next step reads.
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

    /// Notes that the next step writes to foreign memory: from now on only steps may write there.
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

    /// The storage of a buffer, if foreign code may write to it.
    fn lent_memory(&self, id: Id) -> Option<Storage> {
        let known = self.buffers[id as usize].source.outside()?;
        // The storage may have grown since: another view of the array was adopted.
        let met = capture::with_buffer(known.ptr().addr(), |buffer| buffer.storage.clone());
        met.filter(Storage::may_be_written_elsewhere)
    }

    /// Forgets the contents that steps from this one on found.
    pub(super) fn forget_lent(&mut self, (buffers, steps): (usize, usize)) {
        self.lent.retain(|&id, lent| {
            lent.found.retain(|(first, _)| *first <= steps);
            (id as usize) < buffers && !lent.found.is_empty()
        });
    }

    /// At the end of a trace: steps read copies of foreign memory that was rewritten since, or that the function
    /// alone references, because each call allocates it again.
    pub(super) fn settle_lent(&mut self, outputs: &[Output]) {
        for (id, lent) in std::mem::take(&mut self.lent) {
            let Some(memory) = self.lent_memory(id) else { continue };
            let whole = lent.found.iter().all(|(_, content)| content.is_whole());
            let own = whole && !lent.exceeded && memory.is_abandoned();
            let is_output = outputs.iter().any(|output| output.buffer == id);
            match &lent.found[..] {
                [_] if lent.written && !own => {}
                [_] if lent.written => self.make_anew(id, lent, is_output),
                [(_, content)] if !own && content.is_in(&memory, ALL) => {}
                _ => self.read_as_found(id, lent, is_output),
            }
        }
    }

    /// Replaces reads by reads of constants.
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

    /// Makes the buffer memory of each run, initialised with its contents at trace time.
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

/// The error for an array that NumPy code rewrote during the trace.
#[cold]
fn rewritten(what: &str) -> Box<Error> {
    Box::new(Error::Captured {
        op: "compile".into(),
        what: format!("{what} is rewritten by NumPy code while the function is recorded"),
        remedy: "make a new array in its place, or write to a tensor",
    })
}
