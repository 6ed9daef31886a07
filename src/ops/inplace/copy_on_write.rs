//! Copy on write for saved values: a write copies the elements that operations saved; restoring a saved value overlays the
//! copies on the current memory.

use crate::array::{ElementLayout, Layout, Snapshot, Storage, StridedSet, VersionContents};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{DISALLOW_SAVED_MUTATION, Mode};
use crate::kernels;
use crate::tensor::Tensor;

/// The elements of `storage` at `positions`, whose positions count elements of `unit` bytes.
fn elements(storage: &Storage, positions: Layout, unit: usize) -> Tensor {
    Tensor::assemble(storage.data_handle(), positions, DType::of_bytes(unit), None)
}

/// The elements of a snapshot as they were when it was taken.
fn snapshot_elements(copy: &Snapshot, unit: usize) -> Result<Storage> {
    let data = &copy.data;
    if data.version() == 0 {
        return Ok(data.clone());
    }
    let whole = Layout::contiguous(&[copy.positions.len()])?;
    match data.contents_at(ElementLayout::of(&whole, DType::of_bytes(unit)), 0) {
        VersionContents::Changed(copies, unit) => {
            let now = elements(data, whole, unit);
            Tensor::with_snapshots(&now, &copies, unit).map(|x| x.storage().clone())
        }
        VersionContents::Lost | VersionContents::Unchanged => Ok(data.clone()),
    }
}

impl Tensor {
    /// A tensor of all elements of this memory.
    #[cfg(feature = "python")]
    pub(crate) fn whole_memory(&self) -> Tensor {
        let n = self.storage().nbytes() / self.dtype().size();
        let layout = Layout::contiguous(&[n]).unwrap_or_else(|_| self.layout().clone());
        self.detach().into_layout(layout)
    }

    /// Copies the elements that saved values need before they are overwritten, except those of a leaf that requires grad.
    ///
    /// # Errors
    /// `Memory` when there is none for a copy; then nothing has changed.
    #[inline]
    pub(crate) fn keep_saved(&self) -> Result<()> {
        if self.storage().may_be_saved() { self.copy_saved() } else { Ok(()) }
    }

    #[cold]
    pub(crate) fn copy_saved(&self) -> Result<()> {
        if self.storage().user_bit()
            || self.shows_requiring_leaf()
            || Mode::current().has(DISALLOW_SAVED_MUTATION)
        {
            self.storage().invalidate_saved();
            return Ok(());
        }
        let written = ElementLayout::of(self.layout(), self.dtype());
        self.storage().before_write(written, &mut |positions, unit| {
            let copy = elements(self.storage(), positions.layout(), unit).duplicate()?;
            // A value restored from the copy may be written, which must not change what is restored next.
            copy.storage().save_all();
            Ok(copy.storage().data_handle())
        })
    }

    /// The elements of `now` with the snapshots overlaid, the last one on top.
    pub(crate) fn with_snapshots(now: &Tensor, copies: &[Snapshot], unit: usize) -> Result<Tensor> {
        let units = now.dtype().size() / unit;
        if let Some(last) = copies.last()
            && let Some(layout) = last.positions.layout_in_copy(now.layout(), units)
        {
            let data = snapshot_elements(last, unit)?;
            return Ok(Tensor::assemble(data, layout, now.dtype(), None));
        }
        let all = StridedSet::of(now.layout(), units);
        let out = elements(now.storage(), all.layout(), unit).duplicate()?;
        for copy in copies {
            let data = snapshot_elements(copy, unit)?;
            for (from, to) in copy.positions.intersection(&all) {
                let from = elements(&data, from.layout(), unit);
                let to = elements(out.storage(), to.layout(), unit);
                kernels::copy(from.view_of(), to.shared_view_mut());
            }
        }
        let layout = all.layout_in_copy(now.layout(), units);
        let layout = layout.expect("elements are among their own positions");
        Ok(Tensor::assemble(out.storage().clone(), layout, now.dtype(), None))
    }
}
