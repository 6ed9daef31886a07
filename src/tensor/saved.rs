//! What a node keeps of a tensor: the data, without handle state.
//!
//! Owns: storage, layout, dtype and the version at the time of saving. Never owns a `Meta`.
//! Invariant: what is restored are the elements as they were when they were saved: a write copies them first, and where it said
//! that nothing is to be kept, restoring is refused.

use std::borrow::Cow;

use crate::array::{BriefLayout, Earlier, ElementLayout, Storage};
use crate::dtype::DType;
use crate::error::{CalledAt, Error, Result};
#[cfg(feature = "python")]
use crate::tensor::same_elements;
use crate::tensor::{Accumulate, Edge, Marks, Tensor};

// Every node has room for two; more would be another line of the cache.
const _: () = assert!(size_of::<SavedTensor>() <= 32);

/// A saved tensor.
pub struct SavedTensor {
    storage: Storage,
    layout: BriefLayout,
    dtype: DType,
    version: u32,
    /// Whether the snapshots of the storage count this.
    counted: bool,
    /// Whether it was made in inference mode, so that it must not be saved.
    inference: bool,
}

impl Clone for SavedTensor {
    fn clone(&self) -> SavedTensor {
        self.storage.save_again(self.version, self.counted);
        SavedTensor {
            storage: self.storage.clone(),
            layout: self.layout.clone(),
            dtype: self.dtype,
            version: self.version,
            counted: self.counted,
            inference: self.inference,
        }
    }
}

impl Drop for SavedTensor {
    #[inline]
    fn drop(&mut self) {
        self.storage.forget_saved(self.version, self.counted);
    }
}

impl SavedTensor {
    /// Keeps the data of `tensor` as it is now: by sharing it, or by a copy where somebody outside the
    /// engine could write to it without moving the version.
    #[inline(always)]
    pub(crate) fn new(tensor: &Tensor) -> SavedTensor {
        // The handle comes first: an array that is asked for meanwhile is read-only, or seen here.
        let storage = tensor.storage().data_handle();
        let copy = if storage.may_be_written_elsewhere() { copied(tensor) } else { None };
        let (source, storage) = match &copy {
            Some(copy) => (copy, copy.storage().data_handle()),
            None => (tensor, storage),
        };
        let layout = BriefLayout::of(source.layout());
        let counted = if source.marks().has(Marks::VIEW) {
            storage.save(ElementLayout::of(source.layout(), source.dtype()), layout.run())
        } else {
            storage.save_whole()
        };
        SavedTensor {
            version: storage.version(),
            storage,
            layout,
            dtype: source.dtype(),
            counted,
            inference: tensor.is_inference(),
        }
    }

    /// Refuses a tensor made in inference mode, whose changes are not counted, so that a derivative could not know
    /// whether its values are still those that were saved.
    #[inline]
    pub(crate) fn admit(&self, op: impl FnOnce() -> Cow<'static, str>) -> Result<()> {
        if self.inference { Err(saves_inference(op())) } else { Ok(()) }
    }

    /// The tensor again, with the edge it had.
    #[inline]
    pub(crate) fn restore(self, edge: Option<Edge>, saved_by: &str) -> Result<Tensor> {
        let now = self.storage.version();
        if now != self.version {
            return self.earlier(saved_by, now).map(|restored| restored.reattached(edge));
        }
        let restored =
            Tensor::assemble(self.storage.clone(), self.layout.layout(), self.dtype, None);
        Ok(restored.reattached(edge))
    }

    /// The data from before the memory was changed.
    #[cold]
    fn earlier(&self, saved_by: &str, now: u32) -> Result<Tensor> {
        let layout = self.layout.layout();
        let same = |layout| Tensor::assemble(self.storage.clone(), layout, self.dtype, None);
        match self.storage.earlier(ElementLayout::of(&layout, self.dtype), self.version) {
            Earlier::Lost => Err(self.modified(saved_by, now)),
            Earlier::Unchanged => Ok(same(layout)),
            Earlier::Changed(copies, unit) => Tensor::with_snapshots(&same(layout), &copies, unit),
        }
    }

    #[cold]
    fn modified(&self, saved_by: &str, now: u32) -> Box<Error> {
        Box::new(Error::Modified {
            saved_by: saved_by.to_owned().into(),
            saved_at: CalledAt::default(),
            changed_by: self.storage.changed_by().into(),
            changed_at: CalledAt(self.storage.changed_at().map(str::to_owned)),
            saved: self.version,
            now,
        })
    }

    /// The data in place if it is a run and nothing changed it since it was saved: the first position and the number of
    /// elements.
    #[inline]
    pub(crate) fn run(&self) -> Option<(&Storage, (isize, usize), DType)> {
        let run = self.layout.run()?;
        (self.storage.version() == self.version).then_some((&self.storage, run, self.dtype))
    }

    /// Whether a tensor shows the elements that this keeps, as they are now.
    #[cfg(feature = "python")]
    pub(crate) fn shows(&self, tensor: &Tensor) -> bool {
        let same = |layout| Tensor::assemble(self.storage.clone(), layout, self.dtype, None);
        self.storage.same(tensor.storage()) && same_elements(&same(self.layout.layout()), tensor)
    }

    /// Whether a memory that this kept whole holds the same now: by the version, or where it is kept as a copy, since others can
    /// write to the memory, by the bytes.
    pub(crate) fn is_in(&self, memory: &Storage) -> bool {
        match self.storage.same(memory) {
            true => self.storage.version() == self.version,
            false => same_bytes(&self.storage, 0, memory),
        }
    }

    /// An address that identifies its storage while it lives.
    pub fn address(&self) -> usize {
        self.storage.ptr().addr()
    }

    /// The bytes its storage holds.
    pub fn nbytes(&self) -> usize {
        self.storage.nbytes()
    }
}

/// Whether a storage has, from this byte on, all that a memory holds.
fn same_bytes(storage: &Storage, from: usize, memory: &Storage) -> bool {
    let nbytes = memory.nbytes();
    from + nbytes <= storage.nbytes() && storage.bytes(from, nbytes) == memory.bytes(0, nbytes)
}

/// A copy, or none where there is no memory for it: the shared data is still what was computed with until then.
#[cold]
#[inline(never)]
fn copied(tensor: &Tensor) -> Option<Tensor> {
    tensor.duplicate().ok()
}

#[cold]
fn saves_inference(op: Cow<'static, str>) -> Box<Error> {
    Box::new(Error::Inference {
        op,
        what: "a tensor made in inference mode cannot be saved for backward",
        remedy: "clone() it, or make it under no_grad() instead of inference_mode()",
    })
}

impl Tensor {
    /// Whether these elements, which lie in C order, are what a memory holds.
    pub(crate) fn is_in(&self, memory: &Storage) -> bool {
        let from = self.layout().offset() * self.dtype().size() as isize;
        same_bytes(self.storage(), from.max(0) as usize, memory)
    }

    /// A restored value with the edge that it had; a leaf finds its own state again. A copy of a leaf's elements has the
    /// leaf's edge alone, for the state leads to the leaf and its memory.
    #[inline]
    pub(crate) fn reattached(self, edge: Option<Edge>) -> Tensor {
        let Some(edge) = edge else {
            return self;
        };
        let leaf = Accumulate::leaf_of(&edge, self.storage());
        let attached = self.attach(edge);
        if let Some(state) = leaf {
            let _ = attached.meta.set(state);
        }
        attached
    }
}
