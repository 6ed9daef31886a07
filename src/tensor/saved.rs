//! `SavedTensor`: the data of a tensor saved by a node, without handle state.
//!
//! Invariant: `restore` returns the elements as they were when saved. Writes copy them first; after a write that kept no
//! copies, restoring fails.

use std::borrow::Cow;

use crate::array::{CompactLayout, ElementLayout, Storage, VersionContents};
use crate::dtype::DType;
use crate::error::{CalledAt, Error, Result};
#[cfg(feature = "python")]
use crate::tensor::same_elements;
use crate::tensor::{Accumulate, Edge, Tensor, TensorFlags};

// Every node has room for two inline; larger ones would take another cache line.
const _: () = assert!(size_of::<SavedTensor>() <= 32);

/// A saved tensor.
pub struct SavedTensor {
    storage: Storage,
    layout: CompactLayout,
    dtype: DType,
    version: u32,
    /// Whether the storage's snapshots count this value.
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
    /// Saves the current data of `tensor`: shared, or copied if external code could write to it without changing the version.
    #[inline(always)]
    pub(crate) fn new(tensor: &Tensor) -> SavedTensor {
        // Take the data handle first: an array exported meanwhile is read-only, or seen here.
        let storage = tensor.storage().data_handle();
        let copy = if storage.has_external_writer() { copy_if_possible(tensor) } else { None };
        let (source, storage) = match &copy {
            Some(copy) => (copy, copy.storage().data_handle()),
            None => (tensor, storage),
        };
        let layout = CompactLayout::of(source.layout());
        let counted = if source.flags().has(TensorFlags::VIEW) {
            storage
                .save(ElementLayout::of(source.layout(), source.dtype()), layout.contiguous_range())
        } else {
            storage.save_all()
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

    /// Fails for a tensor made in inference mode: its writes are not counted, so a derivative could not detect them.
    #[inline]
    pub(crate) fn admit(&self, op: impl FnOnce() -> Cow<'static, str>) -> Result<()> {
        if self.inference { Err(inference_error(op())) } else { Ok(()) }
    }

    /// Restores the tensor with its edge.
    #[inline]
    pub(crate) fn restore(self, edge: Option<Edge>, saved_by: &str) -> Result<Tensor> {
        let now = self.storage.version();
        if now != self.version {
            return self
                .restore_version(saved_by, now)
                .map(|restored| restored.with_saved_edge(edge));
        }
        let restored =
            Tensor::assemble(self.storage.clone(), self.layout.layout(), self.dtype, None);
        Ok(restored.with_saved_edge(edge))
    }

    /// The data as it was before later writes.
    #[cold]
    fn restore_version(&self, saved_by: &str, now: u32) -> Result<Tensor> {
        let layout = self.layout.layout();
        let same = |layout| Tensor::assemble(self.storage.clone(), layout, self.dtype, None);
        match self.storage.contents_at(ElementLayout::of(&layout, self.dtype), self.version) {
            VersionContents::Lost => Err(self.modified(saved_by, now)),
            VersionContents::Unchanged => Ok(same(layout)),
            VersionContents::Changed(copies, unit) => {
                Tensor::with_snapshots(&same(layout), &copies, unit)
            }
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

    /// The data in place (offset and number of elements), if it is contiguous and was not written since.
    #[inline]
    pub(crate) fn run(&self) -> Option<(&Storage, (isize, usize), DType)> {
        let run = self.layout.contiguous_range()?;
        (self.storage.version() == self.version).then_some((&self.storage, run, self.dtype))
    }

    /// Whether a tensor has exactly the elements saved here, as they are now.
    #[cfg(feature = "python")]
    pub(crate) fn has_elements_of(&self, tensor: &Tensor) -> bool {
        let same = |layout| Tensor::assemble(self.storage.clone(), layout, self.dtype, None);
        self.storage.same(tensor.storage()) && same_elements(&same(self.layout.layout()), tensor)
    }

    /// Whether a memory that was saved whole is unchanged: by the version, or, for a saved copy, by the bytes.
    pub(crate) fn equals_memory(&self, memory: &Storage) -> bool {
        match self.storage.same(memory) {
            true => self.storage.version() == self.version,
            false => same_bytes(&self.storage, 0, memory),
        }
    }

    /// The address of the storage.
    pub fn address(&self) -> usize {
        self.storage.ptr().addr()
    }

    /// The bytes of the storage.
    pub fn nbytes(&self) -> usize {
        self.storage.nbytes()
    }
}

/// Whether `storage`, from byte `from` on, equals all of `memory`.
fn same_bytes(storage: &Storage, from: usize, memory: &Storage) -> bool {
    let nbytes = memory.nbytes();
    from + nbytes <= storage.nbytes() && storage.bytes(from, nbytes) == memory.bytes(0, nbytes)
}

/// A copy; `None` when out of memory: the shared data is still correct at this moment.
#[cold]
#[inline(never)]
fn copy_if_possible(tensor: &Tensor) -> Option<Tensor> {
    tensor.duplicate().ok()
}

#[cold]
fn inference_error(op: Cow<'static, str>) -> Box<Error> {
    Box::new(Error::Inference {
        op,
        what: "a tensor made in inference mode cannot be saved for backward",
        remedy: "clone() it, or make it under no_grad() instead of inference_mode()",
    })
}

impl Tensor {
    /// Whether these (contiguous) elements equal the contents of a memory.
    pub(crate) fn equals_memory(&self, memory: &Storage) -> bool {
        let from = self.layout().offset() * self.dtype().size() as isize;
        same_bytes(self.storage(), from.max(0) as usize, memory)
    }

    /// A restored value with its edge; a leaf gets its own meta again. A copy of a leaf's elements gets only the edge, because
    /// the meta belongs to the leaf's memory.
    #[inline]
    pub(crate) fn with_saved_edge(self, edge: Option<Edge>) -> Tensor {
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
