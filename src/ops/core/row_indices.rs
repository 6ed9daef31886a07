//! Gather and scatter of rows: resolved indices (`RowIndices`) and the recorded take, add, put and clear.
//!
//! Invariant: offsets refer to the C order of the dims they were made for, so they serve every array of those dims,
//! forward and backward; repeated indices accumulate in an add, and the last one wins in a put.

use std::sync::Arc;

use smallvec::smallvec;

use crate::array::{Layout, ShapeVec};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::kernels;
use crate::kernels::index::{Indexed, Offsets, ScatterReduction};
use crate::ops::core::broadcast::{astype, broadcast_to, swap_axes};
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::structured::{NodeSpec, move_cost, record_output, save_none};
use crate::ops::core::view::{MAX_PADDED_ELEMENTS, PartialGradient};
use crate::tensor::Tensor;

/// Indices along some axes of an array; each selects a row (the other axes).
#[derive(Clone)]
pub(crate) struct RowIndices {
    /// The indexed axes, ascending.
    axes: ShapeVec,
    /// The dims of the array.
    dims: ShapeVec,
    offsets: Arc<Offsets>,
}

impl RowIndices {
    /// Indices `(arrays[0][p], arrays[1][p], …)` from int64 arrays of one shape; `axes` ascend.
    pub(crate) fn from_arrays(
        op: &'static str,
        dims: &[usize],
        axes: &[usize],
        arrays: &[Tensor],
    ) -> Result<RowIndices> {
        let layout = Layout::contiguous(dims)?;
        let indexed: Vec<Indexed> = axes
            .iter()
            .map(|&axis| Indexed { axis, size: dims[axis], stride: layout.strides()[axis] })
            .collect();
        let views: Vec<_> = arrays.iter().map(Tensor::view_of).collect();
        let offsets = kernels::index::offsets(op, &views, &indexed)?;
        Ok(RowIndices { axes: axes.into(), dims: dims.into(), offsets: Arc::new(offsets) })
    }

    /// The true elements of a boolean mask over consecutive axes from `first` on.
    pub(crate) fn from_mask(dims: &[usize], first: usize, mask: &Tensor) -> Result<RowIndices> {
        let layout = Layout::contiguous(dims)?;
        let axes: ShapeVec = (first..first + mask.ndim()).collect();
        let strides = &layout.strides()[first..first + mask.ndim()];
        let offsets = kernels::index::offsets_where(mask.view_of(), strides)?;
        Ok(RowIndices { axes, dims: dims.into(), offsets: Arc::new(offsets) })
    }

    /// One index per element of `index` (int64): its own coordinates, except along `axis`, where its value is used.
    /// Along the other axes `index` is no longer than the array.
    pub(crate) fn from_axis_index(
        op: &'static str,
        dims: &[usize],
        axis: usize,
        index: &Tensor,
    ) -> Result<RowIndices> {
        let layout = Layout::contiguous(dims)?;
        let offsets =
            kernels::index::offsets_along(op, index.view_of(), axis, dims, layout.strides())?;
        Ok(RowIndices {
            axes: (0..dims.len()).collect(),
            dims: dims.into(),
            offsets: Arc::new(offsets),
        })
    }

    /// The same indices for each of `n` arrays stacked along a new first axis.
    fn stacked(&self, n: usize) -> RowIndices {
        let axes = self.axes.iter().map(|axis| axis + 1).collect();
        let dims = std::iter::once(n).chain(self.dims.iter().copied()).collect();
        RowIndices { axes, dims, offsets: self.offsets.clone() }
    }

    /// Refuses arrays of other dims, for which the offsets could be out of bounds.
    fn check(&self, x: &Tensor) -> Result<()> {
        if x.shape() == &self.dims[..] {
            return Ok(());
        }
        Err(Box::new(Error::Internal {
            op: "index".into(),
            what: format!("indices of {} in {}", Dims::from(&self.dims[..]), Dims::from(x.shape())),
        }))
    }

    /// The number of indices.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len()
    }

    /// The number of axes of the rows.
    fn row_ndim(&self) -> usize {
        1 + self.dims.len() - self.axes.len()
    }

    /// The dims of the rows, one row per position.
    pub(crate) fn row_dims(&self) -> ShapeVec {
        let mut dims: ShapeVec = smallvec![self.len()];
        dims.extend((0..self.dims.len()).filter(|a| !self.axes.contains(a)).map(|a| self.dims[a]));
        dims
    }

    /// The offsets under the strides of an array of these dims.
    fn offsets_in(&self, layout: &Layout) -> Arc<Offsets> {
        if layout.is_contiguous() || self.len() == 0 {
            return self.offsets.clone();
        }
        let old = Layout::contiguous(&self.dims).unwrap_or_else(|_| layout.clone());
        let pairs: Vec<(isize, isize)> =
            self.axes.iter().map(|&a| (old.strides()[a], layout.strides()[a])).collect();
        Arc::new(self.offsets.restrided(&pairs))
    }

    /// The row at index 0 of a non-empty array.
    fn row(&self, x: &Tensor) -> Tensor {
        let select = |layout: Layout, &axis: &usize| layout.select(axis, 0);
        x.with_layout(self.axes.iter().rev().fold(x.layout().clone(), select))
    }

    /// Writes rows into `x`; the last of a repeated index wins. Records nothing.
    pub(crate) fn write(&self, x: &Tensor, rows: &Tensor) -> Result<()> {
        self.check(x)?;
        if rows.size() > 0 {
            let offsets = self.offsets_in(x.layout());
            kernels::index::put(self.row(x).shared_view_mut(), &offsets, rows.view_of());
        }
        Ok(())
    }

    /// Copies the rows of `x` that saved values need, before they are overwritten; all of `x` if `all` is set or if the rows
    /// are most of it.
    ///
    /// # Errors
    /// `Memory` when the copy cannot be allocated.
    pub(crate) fn keep_saved(&self, x: &Tensor, all: bool) -> Result<()> {
        if !x.storage().may_be_saved() {
            return Ok(());
        }
        if self.len() == 0 || x.size() == 0 {
            // Nothing is written, but the version is bumped.
            return x.with_layout(Layout::contiguous(&[0])?).keep_saved();
        }
        let row = self.row(x);
        if all || self.len() * row.size() * 2 > x.size() {
            return x.keep_saved();
        }
        for offset in self.offsets_in(x.layout()).iter() {
            let layout = row.layout().with_offset(row.layout().offset() + offset);
            row.with_layout(layout).keep_saved()?;
        }
        Ok(())
    }

    /// Whether the indices are distinct and select a small part of a large array.
    fn is_sparse(&self) -> bool {
        let size: usize = self.dims.iter().product();
        let shown: usize = self.row_dims().iter().product();
        if size <= MAX_PADDED_ELEMENTS || shown * 8 > size {
            return false;
        }
        let mut indices: Vec<isize> = self.offsets.iter().collect();
        indices.sort_unstable();
        indices.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// The same indices into the flattened array.
    pub(crate) fn flattened(&self) -> RowIndices {
        let size = self.dims.iter().product();
        RowIndices { axes: smallvec![0], dims: smallvec![size], offsets: self.offsets.clone() }
    }

    /// The dims of the array.
    pub(crate) fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Whether all indices address the same element, because the indexed axes have stride 0.
    fn is_single_element(&self, layout: &Layout) -> bool {
        self.axes.iter().all(|&axis| layout.strides()[axis] == 0)
    }

    /// Reduces rows into new memory, in index order. Records nothing.
    pub(crate) fn fold_into(
        &self,
        out: &Tensor,
        rows: &Tensor,
        how: ScatterReduction,
    ) -> Result<()> {
        self.check(out)?;
        if rows.size() > 0 {
            let offsets = self.offsets_in(out.layout());
            kernels::index::reduce_at(how, self.row(out).view_mut(), &offsets, rows.view_of());
        }
        Ok(())
    }

    /// For each row, the product of the other rows with the same index along the first axis. Records nothing.
    pub(crate) fn product_of_others(&self, rows: &Tensor) -> Result<Tensor> {
        let rows = rows.detach().contiguous()?;
        let out = Tensor::empty(rows.shape(), rows.dtype())?;
        kernels::index::products_of_others(rows.view_of(), &self.offsets, out.view_mut());
        Ok(out)
    }
}

/// The rows of `x` (or of each array of a batch) at the indices; the adjoint is [`scatter_rows`].
pub(crate) fn take_rows(x: &Tensor, indices: &RowIndices) -> Result<Tensor> {
    if x.ndim() == indices.dims.len() + 1 {
        return swap_axes(&take_rows(x, &indices.stacked(x.shape()[0]))?, 0, 1);
    }
    indices.check(x)?;
    let out = Tensor::empty(&indices.row_dims(), x.dtype())?;
    if out.size() > 0 && indices.is_single_element(x.layout()) {
        let all = indices.row(x).layout().broadcast_to(out.shape())?;
        kernels::copy(x.with_layout(all).view_of(), out.view_mut());
    } else if out.size() > 0 {
        let offsets = indices.offsets_in(x.layout());
        kernels::index::take(indices.row(x).view_of(), &offsets, out.view_mut());
    }
    record_output(out, &[x], |out| NodeSpec {
        name: "take",
        cost: 2.0 * move_cost(out),
        params: indices.clone(),
        saved: save_none(),
        backward: |indices, g, cx| {
            if !cx.create_graph() && cx.batch().is_empty() && indices.is_sparse() {
                return cx.give_slice(0, PartialGradient::rows(g, indices.clone()));
            }
            cx.give_with(0, |_| scatter_rows(&g, indices))
        },
    })
}

/// Adds rows into new memory at the indices, in index order.
fn accumulate(out: &Tensor, indices: &RowIndices, rows: &Tensor) -> Result<()> {
    indices.check(out)?;
    if rows.size() > 0 {
        let offsets = indices.offsets_in(out.layout());
        kernels::index::add_at(indices.row(out).view_mut(), &offsets, rows.view_of());
    }
    Ok(())
}

/// Zeros to which rows (or those of each array of a batch) are added at the indices; the adjoint is [`take_rows`].
pub(crate) fn scatter_rows(rows: &Tensor, indices: &RowIndices) -> Result<Tensor> {
    if rows.ndim() == indices.row_ndim() + 1 {
        return scatter_rows(&swap_axes(rows, 0, 1)?, &indices.stacked(rows.shape()[0]));
    }
    let out = Tensor::zeros(&indices.dims, rows.dtype())?;
    accumulate(&out, indices, rows)?;
    record_output(out, &[rows], |_| NodeSpec {
        name: "index_add",
        cost: 2.0 * move_cost(rows),
        params: indices.clone(),
        saved: save_none(),
        backward: |indices, g, cx| cx.give_with(0, |_| take_rows(&g, indices)),
    })
}

/// A copy of `x` with rows added at the indices.
pub(crate) fn add_rows(
    name: &'static str,
    x: &Tensor,
    indices: &RowIndices,
    rows: &Tensor,
) -> Result<Tensor> {
    let out = x.duplicate()?;
    accumulate(&out, indices, rows)?;
    record_output(out, &[x, rows], |out| NodeSpec {
        name,
        cost: move_cost(out) + 2.0 * move_cost(rows),
        params: indices.clone(),
        saved: save_none(),
        backward: |indices, g, cx| {
            cx.give_with(1, |_| take_rows(&g, indices))?;
            cx.give_with(0, |_| Ok(g))
        },
    })
}

/// A copy of `x` with rows written at the indices; the last of a repeated index wins.
pub(crate) fn put_rows(
    name: &'static str,
    x: &Tensor,
    indices: &RowIndices,
    rows: &Tensor,
) -> Result<Tensor> {
    let out = x.duplicate()?;
    indices.write(&out, rows)?;
    record_output(out, &[x, rows], |out| NodeSpec {
        name,
        cost: move_cost(out) + 2.0 * move_cost(rows),
        params: indices.clone(),
        saved: save_none(),
        backward: |indices, g, cx| {
            cx.give_with(1, |_| take_last_written(&g, indices))?;
            cx.give_with(0, |_| clear_rows(&g, indices))
        },
    })
}

/// The rows at the indices, zero for those that a later repetition overwrote; the adjoint is [`put_in_zeros`].
pub(crate) fn take_last_written(g: &Tensor, indices: &RowIndices) -> Result<Tensor> {
    if g.ndim() == indices.dims.len() + 1 {
        return swap_axes(&take_last_written(g, &indices.stacked(g.shape()[0]))?, 0, 1);
    }
    indices.check(g)?;
    // Aliased elements (stride 0) would count as repeated indices.
    let g = if g.layout().is_injective() { g.clone() } else { g.contiguous()? };
    let out = Tensor::empty(&indices.row_dims(), g.dtype())?;
    if out.size() > 0 {
        let offsets = indices.offsets_in(g.layout());
        kernels::index::take_last(indices.row(&g).view_of(), &offsets, out.view_mut());
    }
    record_output(out, &[&g], |out| NodeSpec {
        name: "take",
        cost: 3.0 * move_cost(out),
        params: indices.clone(),
        saved: save_none(),
        backward: |indices, g, cx| cx.give_with(0, |_| put_in_zeros(&g, indices)),
    })
}

/// Zeros with rows (or those of each array of a batch) written at the indices; the last of a repeated index wins.
fn put_in_zeros(rows: &Tensor, indices: &RowIndices) -> Result<Tensor> {
    if rows.ndim() == indices.row_ndim() + 1 {
        return put_in_zeros(&swap_axes(rows, 0, 1)?, &indices.stacked(rows.shape()[0]));
    }
    let out = Tensor::zeros(&indices.dims, rows.dtype())?;
    indices.write(&out, rows)?;
    record_output(out, &[rows], |_| NodeSpec {
        name: "put",
        cost: 2.0 * move_cost(rows),
        params: indices.clone(),
        saved: save_none(),
        backward: |indices, g, cx| cx.give_with(0, |_| take_last_written(&g, indices)),
    })
}

/// `x` (or each array of a batch) with zeros at the indices; self-adjoint.
pub(crate) fn clear_rows(x: &Tensor, indices: &RowIndices) -> Result<Tensor> {
    if x.ndim() == indices.dims.len() + 1 {
        return clear_rows(x, &indices.stacked(x.shape()[0]));
    }
    let out = x.duplicate()?;
    let zero = Tensor::zeros(&[], x.dtype())?;
    indices.write(&out, &broadcast_to(&zero, &indices.row_dims())?)?;
    record_output(out, &[x], |out| NodeSpec {
        name: "clear",
        cost: move_cost(out),
        params: indices.clone(),
        saved: save_none(),
        backward: |indices, g, cx| cx.give_with(0, |_| clear_rows(&g, indices)),
    })
}

/// Indices as int64, not recorded; floats and complex numbers are refused.
pub(crate) fn as_int64(op: &'static str, indices: &Tensor) -> Result<Tensor> {
    if indices.dtype().is_inexact() {
        // An empty sequence has no dtype of its own and arrives as floats.
        if indices.size() > 0 {
            return Err(Box::new(Error::DType {
                op: op.into(),
                got: indices.dtype(),
                remedy: "give integers",
            }));
        }
    }
    astype(&indices.detach(), DType::I64)
}

/// An assigned value as a tensor of the target's dtype.
pub(crate) fn cast_value_to(op: &'static str, x: &Tensor, value: &Operand) -> Result<Tensor> {
    match value {
        Operand::Tensor(t) if x.dtype().takes(t.dtype()) => astype(t, x.dtype()),
        Operand::Scalar(s) if x.dtype().promote_weak(s.weak()) == x.dtype() => {
            Tensor::full(&[], *s, x.dtype())
        }
        other => {
            let got = match other {
                Operand::Tensor(t) => t.dtype().name(),
                Operand::Scalar(Scalar::Float(_)) => "float",
                Operand::Scalar(Scalar::Complex(..)) => "complex",
                Operand::Scalar(_) => "integer",
            };
            Err(Box::new(Error::Unsupported {
                op: op.into(),
                what: format!("the value is {got} and the tensor it goes into {}", x.dtype()),
                remedy: "convert one of them with astype first",
            }))
        }
    }
}
