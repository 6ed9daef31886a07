//! `sort`, `argsort`, `topk`, `partition`, `searchsorted`. Sorting is stable and NaN comes last; recorded values are gathered by
//! index, so gradients flow to the selected elements.

use crate::array::{ShapeVec, afford, is_axis_of_scalar, normalize_axis};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::graph;
use crate::kernels;
use crate::ops::core::broadcast::{astype, require_vector, reshape_dims};
use crate::ops::core::op_decl::Ints;
use crate::ops::core::row_indices::as_int64;
use crate::ops::index::gather::gather_elements;
use crate::ops::reduce::reductions::TWO_RESULTS;
use crate::tensor::Tensor;

/// The indices of the first `wanted` elements in sorted order along an axis.
pub(crate) fn order_along(
    x: &Tensor,
    axis: usize,
    wanted: usize,
    descending: bool,
) -> Result<Tensor> {
    let mut dims = ShapeVec::from_slice(x.shape());
    dims[axis] = wanted;
    let index = Tensor::empty(&dims, DType::I64)?;
    if index.size() == 0 {
        return Ok(index);
    }
    kernels::sort::arg_order(descending, x.view_of(), axis, index.view_mut())?;
    Ok(index)
}

/// Scratch bytes per element of a sort: keys and positions, twice.
const SORT_BYTES_PER_ELEMENT: usize = 32;

/// The tensor and the axis to sort; without an axis, the flattened tensor and 0.
fn line(op: &'static str, x: &Tensor, axis: Option<isize>) -> Result<(Tensor, usize)> {
    afford(x.size().saturating_mul(SORT_BYTES_PER_ELEMENT))?;
    match axis {
        None => Ok((reshape_dims(x, &[x.size()])?, 0)),
        Some(axis) => Ok((x.clone(), normalize_axis(op, axis, x.ndim())?)),
    }
}

fn sort_values(
    op: &'static str,
    x: &Tensor,
    axis: Option<isize>,
    descending: bool,
) -> Result<Tensor> {
    let (x, axis) = line(op, x, axis)?;
    if !(graph::recording() && x.requires_grad()) {
        // Nothing is recorded, so the values are sorted without indices.
        let out = Tensor::empty(x.shape(), x.dtype())?;
        kernels::sort::sort(descending, x.view_of(), axis, out.view_mut())?;
        return Ok(out.unrecorded(std::iter::once(&x)));
    }
    let index = order_along(&x, axis, x.shape()[axis], descending)?;
    gather_elements(op, &x, axis, &index)
}

fn out_of_range(op: &'static str, what: String, size: usize) -> Box<Error> {
    Box::new(Error::Argument {
        op: op.into(),
        what: format!("{what} of an axis of size {size}"),
        remedy: "stay within the axis".into(),
    })
}

/// Insertion positions of the values of `v` in the sorted `a`, int64; if `a` has several axes, row by row.
pub(crate) fn search(a: &Tensor, v: &Tensor, right: bool) -> Result<Tensor> {
    let dims = a.shape();
    match dims.split_last() {
        Some((_, lead)) if dims.len() > 1 => {
            if v.ndim() != a.ndim() || !v.shape().starts_with(lead) {
                return Err(other_rows(a, v));
            }
        }
        _ => _ = require_vector("searchsorted", a)?,
    }
    let dtype = a.dtype().promote(v.dtype());
    let (a, v) = (astype(&a.detach(), dtype)?, astype(&v.detach(), dtype)?);
    for operand in [&a, &v] {
        afford(operand.size().saturating_mul(dtype.size()))?;
    }
    let out = Tensor::empty(v.shape(), DType::I64)?;
    kernels::sort::search_sorted(a.view_of(), v.view_of(), right, out.view_mut())?;
    Ok(out)
}

#[cold]
fn other_rows(a: &Tensor, v: &Tensor) -> Box<Error> {
    Box::new(Error::Shape {
        op: "searchsorted".into(),
        what: format!(
            "rows of shape {} and values of shape {}",
            Dims::from(a.shape()),
            Dims::from(v.shape())
        ),
        remedy: "give values with the same axes before the last, or one ordered vector",
    })
}

crate::operations! { family "ordering";
    /// The elements in ascending order along an axis (None: flattened), or descending; a NaN is above every number. Derivative: `g` back to where each came from.
    [numpy("sort"), no_method, ignores(("stable", None), ("kind", None)), ambiguous(&TWO_RESULTS)]
    fn sort(x: Tensor, axis: Option<isize> = Some(-1), descending: bool = false) -> Tensor {
        sort_values("sort", x, axis, descending)
    }
    /// The indices that sort along an axis (None: flattened); equal elements keep their order.
    [numpy("argsort"), constant, ignores(("stable", None), ("kind", None))]
    fn argsort(x: Tensor, axis: Option<isize> = Some(-1), descending: bool = false) -> Tensor {
        // One number is a line of one, as in NumPy.
        let axis = axis.filter(|&axis| !is_axis_of_scalar(axis, x.ndim()));
        let (line, axis) = line("argsort", &x.detach(), axis)?;
        let order = order_along(&line, axis, line.shape()[axis], descending)?;
        Ok(order.underived([x].into_iter()))
    }
    /// The elements along an axis such that those at `kth` are where sorting puts them. Derivative: `g` back to where each came from.
    [numpy("partition"), no_method]
    fn partition(x: Tensor, kth: Ints, axis: Option<isize> = Some(-1)) -> Tensor {
        let (line, at) = line("partition", x, axis)?;
        let n = line.shape()[at] as i64;
        // Where there are no elements, NumPy looks at no number.
        match kth.iter().find(|&&k| n > 0 && (k < -n || k >= n)) {
            Some(k) => Err(out_of_range("partition", format!("element {k}"), n as usize)),
            None => sort_values("partition", x, axis, false),
        }
    }
    /// The `k` largest (or smallest) elements along an axis, in order, and their indices. Derivative: `g` to the elements chosen.
    [fields("values indices")]
    fn topk(x: Tensor, k: isize, axis: isize = -1, largest: bool = true, sorted: bool = true) -> (Tensor, Tensor) {
        // They come in order even if the caller does not insist.
        let _ = sorted;
        if is_axis_of_scalar(axis, x.ndim()) && k == 1 {
            let (values, index) = topk(&reshape_dims(x, &[1])?, 1, 0, largest, true)?;
            return Ok((reshape_dims(&values, &[])?, reshape_dims(&index, &[])?));
        }
        let axis = normalize_axis("topk", axis, x.ndim())?;
        let size = x.shape()[axis];
        let Some(wanted) = usize::try_from(k).ok().filter(|&k| k <= size) else {
            return Err(out_of_range("topk", format!("{k} elements"), size));
        };
        afford(x.size().saturating_mul(SORT_BYTES_PER_ELEMENT))?;
        let index = order_along(x, axis, wanted, largest)?;
        Ok((gather_elements("topk", x, axis, &index)?, index))
    }
    /// Where to insert the values of `v` in the ordered vector `a`, before equal elements or, with `side="right"` or PyTorch's `right=True`, after them; rows of `v` in rows of `a`.
    [numpy("searchsorted"), constant, indices("sorter")]
    fn searchsorted(a: Tensor, v: Tensor, side: String = "left".to_owned(), sorter: Option<Tensor> = None, right: bool = false) -> Tensor {
        afford(v.size().saturating_mul(SORT_BYTES_PER_ELEMENT))?;
        let right = match side.as_str() {
            "left" => right,
            "right" => true,
            other => return Err(Box::new(Error::Argument {
                op: "searchsorted".into(),
                what: format!("side {other:?}"),
                remedy: "use \"left\" or \"right\"".into(),
            })),
        };
        let a = match sorter {
            Some(order) => {
                if require_vector("searchsorted", order)?.size() != a.size() {
                    return Err(Box::new(Error::Argument {
                        op: "searchsorted".into(),
                        what: format!("a sorter of {} elements for {}", order.size(), a.size()),
                        remedy: "give argsort(a)".into(),
                    }));
                }
                gather_elements("searchsorted", require_vector("searchsorted", a)?, 0, &as_int64("searchsorted", order)?)?
            }
            None => a.clone(),
        };
        Ok(search(&a, v, right)?.underived([&a, v].into_iter()))
    }
}
