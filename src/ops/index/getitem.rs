//! Reading `x[...]` with NumPy's indexing; a basic index gives a view. `Tensor.select` is PyTorch's basic index along an axis.

use crate::array::{ShapeVec, normalize_axis};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ops::core::arguments::Key;
use crate::ops::core::broadcast::{permute_axes, reshape_dims};
use crate::ops::core::op_decl::IndexItem;
use crate::ops::core::row_indices::take_rows;
use crate::ops::core::structured::edges_of;
use crate::ops::core::view::{
    ViewStep, ViewStepList, ViewSteps, element, view_through, view_through_batched,
};
use crate::ops::index::subscript::{
    AdvancedIndex, is_plain, normalize_index, plain_steps, subscript,
};
use crate::ops::shape::repeat::take_along;
use crate::tensor::Tensor;

impl AdvancedIndex {
    /// Takes the indexed rows from `view`, with the axes of the index arrays where NumPy puts them.
    pub(crate) fn read(&self, view: &Tensor) -> Result<Tensor> {
        let rows = take_rows(view, &self.row_indices)?;
        self.rows_to_result(&rows)
    }

    /// Arranges rows (or a batch of them) as the result of the index expression.
    pub(crate) fn rows_to_result(&self, rows: &Tensor) -> Result<Tensor> {
        let stacked = rows.ndim() - self.row_indices.row_dims().len();
        let (front, behind) = rows.shape().split_at(stacked);
        let dims: ShapeVec = [front, &self.dims, &behind[1..]].concat().into();
        let out = reshape_dims(rows, &dims)?;
        if self.before == 0 {
            return Ok(out);
        }
        let (chosen, before) = (stacked + self.dims.len(), stacked + self.dims.len() + self.before);
        let order: ShapeVec = (0..stacked)
            .chain(chosen..before)
            .chain(stacked..chosen)
            .chain(before..out.ndim())
            .collect();
        permute_axes(&out, &order)
    }

    /// The dims of the result.
    pub(crate) fn result_dims(&self) -> ShapeVec {
        let rows = self.row_indices.row_dims();
        let (before, after) = rows[1..].split_at(self.before);
        [before, &self.dims, after].concat().into()
    }

    /// The inverse of [`rows_to_result`](Self::rows_to_result): a value of the result's dims as rows.
    pub(crate) fn result_to_rows(&self, value: &Tensor) -> Result<Tensor> {
        let lead = self.dims.len();
        let order: ShapeVec = (self.before..self.before + lead)
            .chain(0..self.before)
            .chain(self.before + lead..value.ndim())
            .collect();
        let value = if self.before == 0 { value.clone() } else { permute_axes(value, &order)? };
        reshape_dims(&value, &self.row_indices.row_dims())
    }
}

/// Whether the index is one integer per axis, so that it reads an element (a value) and not a view.
#[inline]
pub(crate) fn is_element(x: &Tensor, key: &[IndexItem]) -> bool {
    let integer = |item: &IndexItem| match item {
        IndexItem::Int(_) => true,
        IndexItem::Array(index) => index.ndim() == 0 && index.dtype().is_integer(),
        _ => false,
    };
    key.len() == x.ndim() && key.iter().all(integer)
}

/// Fast path: elements of a vector at an integer array, if nothing is recorded.
fn take_unrecorded(x: &Tensor, key: &[IndexItem]) -> Result<Option<Tensor>> {
    match key {
        [IndexItem::Array(numbers)]
            if x.ndim() == 1 && numbers.dtype() == DType::I64 && edges_of(&[x]).is_none() =>
        {
            let taken = take_along("index", x, 0, numbers)?;
            reshape_dims(&taken, numbers.shape()).map(Some)
        }
        _ => Ok(None),
    }
}

crate::operations! { family "indexing";
    /// NumPy's `x[index]`: an integer for each axis gives the element, a value; fewer integers, slices, None and ... give a view; integer and boolean arrays give a copy. Derivative: `g` at the chosen elements, accumulated where an index repeats.
    fn index(x: Tensor, key: Key) -> Tensor {
        if let (&[size], &[IndexItem::Int(number)]) = (x.shape(), key) {
            let index = normalize_index(number, 0, size)?;
            return element(x, ViewStepList::from_slice(&[ViewStep::Select { axis: 0, index }]));
        }
        if x.is_value() && !is_element(x, key) {
            // As NumPy makes an array of a scalar.
            return index(&x.copied("index")?.into_memory(), key);
        }
        if is_plain(x.shape(), key) {
            let (steps, sliced) = plain_steps(x.shape(), key)?;
            if sliced == 0 && key.len() == x.ndim() {
                return element(x, steps);
            }
            return view_through_batched(x, "index", ViewSteps::new(x.ndim(), steps));
        }
        let read = match take_unrecorded(x, key)? {
            Some(read) => read,
            None => {
                let plan = subscript(x.shape(), key)?;
                match plan.advanced {
                    None => return view_through(x, "index", plan.steps),
                    Some(advanced) if plan.steps.is_empty() => advanced.read(x),
                    Some(advanced) => advanced.read(&view_through(x, "index", plan.steps)?),
                }?
            }
        };
        let read = if is_element(x, key) { read.read_as_element() } else { read };
        if !read.requires_grad() && read.cut_cause_and_site().is_none() {
            let arrays = key.iter().filter_map(|item| match item {
                IndexItem::Array(index) => Some(index),
                _ => None,
            });
            return Ok(read.underived(arrays));
        }
        Ok(read)
    }
    /// The slice at one index of an axis, which disappears; a view. Derivative: `g` at the slice.
    [namespace("Tensor")]
    fn select(x: Tensor, axis: isize, index: isize) -> Tensor {
        let axis = normalize_axis("select", axis, x.ndim())?;
        let size = x.shape()[axis];
        let at = if index < 0 { index + size as isize } else { index };
        match usize::try_from(at) {
            Ok(at) if at < size => view_through(x, "select", [ViewStep::Select { axis, index: at }]),
            _ => Err(Box::new(Error::IndexRange { op: "select".into(), index: index as i64, axis, size })),
        }
    }
}
