//! Splits along an axis: the split functions, `chunk`, `unbind`, `narrow`. The parts are views.
//!
//! Invariant: the parts are outputs of one node, whose gradient is assembled once.

use crate::array::{ShapeVec, afford, normalize_axis};
use crate::error::{Error, Result};
use crate::ops::core::arguments::OneOrTuple;
use crate::ops::core::broadcast::{broadcast_to, reshape_dims};
use crate::ops::core::op_decl::Nested;
use crate::ops::core::op_facts::Ambiguous;
use crate::ops::core::row_indices::as_int64;
use crate::ops::core::structured::{
    NodeSpecMany, batched_dims, move_cost, record_outputs, save_none,
};
use crate::ops::core::view::{element_at, slice_axis};
use crate::ops::shape::join::join;
use crate::tensor::Tensor;

/// The most parts if there are fewer elements than parts.
const MAX_EMPTY_PARTS: usize = 1 << 16;
/// The most parts of any axis: an empty or expanded one may be longer than memory.
const MAX_PARTS: usize = 1 << 24;

/// The bounds of a split, for its rule.
struct SplitParts {
    axis: usize,
    /// `start..end` of each part.
    bounds: Vec<(usize, usize)>,
    /// Whether the axis, of size 1 in each part, is dropped.
    dropped: bool,
    dims: ShapeVec,
}

impl SplitParts {
    fn part_dims(&self, (start, end): (usize, usize)) -> ShapeVec {
        let mut dims = self.dims.clone();
        dims[self.axis] = end - start;
        dims
    }

    /// Whether the parts are adjacent and cover the axis.
    fn covers_axis(&self) -> bool {
        let mut at = 0;
        let meet = self
            .bounds
            .iter()
            .all(|&(start, end)| std::mem::replace(&mut at, end.max(start)) == start);
        meet && at == self.dims[self.axis]
    }
}

/// The parts `start..end` of an axis as views.
fn part_views(x: &Tensor, parts: SplitParts) -> Result<Vec<Tensor>> {
    let view = |&(start, end): &(usize, usize)| {
        let part = x.layout().slice(parts.axis, start, 1, end - start);
        x.with_layout(if parts.dropped { part.select(parts.axis, 0) } else { part })
    };
    let outs: Vec<Tensor> = parts.bounds.iter().map(view).collect();
    if !parts.covers_axis() {
        // Parts that overlap or leave gaps are recorded as separate slices.
        let slice =
            |&(start, end): &(usize, usize)| slice_axis(x, parts.axis, start, 1, end - start);
        return parts.bounds.iter().map(slice).collect();
    }
    record_parts(outs, x, parts)
}

/// Records the parts as outputs of one node.
fn record_parts(outs: Vec<Tensor>, x: &Tensor, parts: SplitParts) -> Result<Vec<Tensor>> {
    record_outputs(outs, &[x], |_| NodeSpecMany {
        name: if parts.dropped { "unbind" } else { "split" },
        cost: move_cost(x),
        params: parts,
        saved: save_none(),
        backward: |parts, cx| {
            let mut given = (0..parts.bounds.len()).map(|i| cx.take_grad(i)).collect::<Vec<_>>();
            let Some(dtype) = given.iter().flatten().next().map(Tensor::dtype) else {
                return Ok(());
            };
            let zero = Tensor::zeros(&[], dtype)?;
            let pieces = parts
                .bounds
                .iter()
                .zip(&mut given)
                .map(|(&bounds, g)| match g.take() {
                    Some(g) => reshape_dims(&g, &batched_dims(cx, &parts.part_dims(bounds))),
                    None => broadcast_to(&zero, &batched_dims(cx, &parts.part_dims(bounds))),
                })
                .collect::<Result<Vec<_>>>()?;
            cx.give_with(0, |cx| join(&pieces, cx.batch().len() + parts.axis))
        },
    })
}

fn split_error(op: &'static str, what: String, remedy: &'static str) -> Box<Error> {
    Box::new(Error::Argument { op: op.into(), what, remedy: remedy.into() })
}

fn split_at(x: &Tensor, axis: usize, bounds: Vec<(usize, usize)>) -> Result<Vec<Tensor>> {
    part_views(x, SplitParts { axis, bounds, dropped: false, dims: x.shape().into() })
}

/// The slices of an axis, which is dropped.
fn slices(op: &'static str, x: &Tensor, axis: isize) -> Result<SplitParts> {
    let axis = normalize_axis(op, axis, x.ndim())?;
    let n = check_part_count(op, x.shape()[axis])?;
    let bounds = (0..n).map(|i| (i, i + 1)).collect();
    Ok(SplitParts { axis, bounds, dropped: true, dims: x.shape().into() })
}

/// Refuses more parts than memory can hold tensors.
fn check_part_count(op: &'static str, n: usize) -> Result<usize> {
    if n <= MAX_PARTS {
        // An upper bound: a tensor, its object, its bounds, and its entries in the node and in the results.
        afford(n * 400)?;
        return Ok(n);
    }
    Err(split_error(op, format!("{n} parts"), "give at most 2**24 parts"))
}

/// Parts of equal length; the first ones are longer by one if the axis does not divide evenly.
fn even_bounds(size: usize, n: usize) -> Vec<(usize, usize)> {
    let start = |i: usize| i * (size / n) + i.min(size % n);
    (0..n).map(|i| (start(i), start(i + 1))).collect()
}

/// NumPy's split: a number of parts, or the indices between them.
fn divide(
    op: &'static str,
    x: &Tensor,
    sections: &Tensor,
    axis: isize,
    uneven: bool,
) -> Result<Vec<Tensor>> {
    let axis = normalize_axis(op, axis, x.ndim())?;
    let size = x.shape()[axis];
    let given = as_int64(op, sections)?;
    if given.ndim() > 0 {
        let size = size as i64;
        let clamp = |i: i64| (if i < 0 { i + size } else { i }).clamp(0, size) as usize;
        let inner = given.to_vec::<i64>()?;
        let starts = std::iter::once(0).chain(inner.iter().map(|&i| clamp(i)));
        let ends = inner.iter().map(|&i| clamp(i)).chain([size as usize]);
        return split_at(
            x,
            axis,
            starts.zip(ends).map(|(start, end)| (start, end.max(start))).collect(),
        );
    }
    let n = given.item::<i64>()?;
    if n < 1 || n as usize > size.max(MAX_EMPTY_PARTS) {
        return Err(split_error(
            op,
            format!("{n} parts of an axis of size {size}"),
            "give at least 1 part and no more than there are elements",
        ));
    }
    if !uneven && !size.is_multiple_of(n as usize) {
        return Err(split_error(
            op,
            format!("axis {axis} of size {size} does not divide into {n} equal parts"),
            "use array_split or chunk for uneven parts",
        ));
    }
    split_at(x, axis, even_bounds(size, check_part_count(op, n as usize)?))
}

/// Parts of one size, or of the given sizes, which must fill the axis.
fn sized_bounds(op: &'static str, size: usize, split_size: &Nested) -> Result<Vec<(usize, usize)>> {
    let wrong = |what: String| {
        split_error(op, what, "give a positive size, or sizes that add up to the axis")
    };
    match split_size {
        Nested::One(len) if *len < 1 => Err(wrong(format!("parts of {len} elements"))),
        Nested::One(len) => {
            let len = *len as usize;
            let count = check_part_count(op, size.div_ceil(len).max(1))?;
            Ok((0..count).map(|i| (i * len, (i * len).saturating_add(len).min(size))).collect())
        }
        Nested::Each(sizes) => {
            let mut bounds = Vec::with_capacity(sizes.len());
            let mut start = 0;
            for part in sizes {
                let len = match part[..] {
                    [len] if len >= 0 && len as usize <= size - start => len as usize,
                    _ => {
                        return Err(wrong(format!(
                            "parts of {sizes:?} for an axis of size {size}"
                        )));
                    }
                };
                bounds.push((start, start + len));
                start += len;
            }
            if start == size {
                Ok(bounds)
            } else {
                Err(wrong(format!("parts of {start} elements for an axis of size {size}")))
            }
        }
    }
}

fn need_dims(op: &'static str, x: &Tensor, min_dims: usize) -> Result<()> {
    if x.ndim() >= min_dims {
        return Ok(());
    }
    Err(Box::new(Error::Shape {
        op: op.into(),
        what: format!("a tensor of {} dimensions has no axis {}", x.ndim(), min_dims - 1),
        remedy: "give a tensor of more dimensions",
    }))
}

/// The meaning of a number is ambiguous with `dim=`.
const PARTS_OR_INDICES: Ambiguous = Ambiguous {
    keyword: "dim",
    unless: &[],
    what: "dim= makes parts of n elements in PyTorch, axis= n parts in NumPy",
    remedy: "write {name}(x, n, axis=...) for n parts, split_with_sizes(x, n, dim=...) for parts of n",
};

crate::operations! { family "splitting";
    /// `n` equal parts, or the parts between the indices given; views. Refused when `n` does not divide the axis. Derivative: the parts' gradients joined.
    [numpy("split"), no_method, ambiguous(&PARTS_OR_INDICES)]
    fn split(x: Tensor, indices_or_sections: Tensor, axis: isize = 0) -> Vec<Tensor> {
        divide("split", x, indices_or_sections, axis, false)
    }
    /// As `split`, where `n` need not divide the axis: the first parts are longer by one.
    [numpy("array_split"), aliases("tensor_split")]
    fn array_split(x: Tensor, indices_or_sections: Tensor, axis: isize = 0) -> Vec<Tensor> {
        divide("array_split", x, indices_or_sections, axis, true)
    }
    /// `split` along axis 1, or axis 0 of a vector.
    [numpy("hsplit")]
    fn hsplit(x: Tensor, indices_or_sections: Tensor) -> Vec<Tensor> {
        need_dims("hsplit", x, 1)?;
        divide("hsplit", x, indices_or_sections, if x.ndim() == 1 { 0 } else { 1 }, false)
    }
    /// `split` along axis 0 of at least two.
    [numpy("vsplit")]
    fn vsplit(x: Tensor, indices_or_sections: Tensor) -> Vec<Tensor> {
        need_dims("vsplit", x, 2)?;
        divide("vsplit", x, indices_or_sections, 0, false)
    }
    /// `split` along axis 2 of at least three.
    [numpy("dsplit")]
    fn dsplit(x: Tensor, indices_or_sections: Tensor) -> Vec<Tensor> {
        need_dims("dsplit", x, 3)?;
        divide("dsplit", x, indices_or_sections, 2, false)
    }
    /// At most `chunks` parts of equal length, the last one shorter where it must be; views.
    fn chunk(x: Tensor, chunks: isize, axis: isize = 0) -> OneOrTuple {
        let axis = normalize_axis("chunk", axis, x.ndim())?;
        if chunks < 1 {
            return Err(split_error("chunk", format!("{chunks} parts"), "give at least 1 part"));
        }
        let size = x.shape()[axis];
        let len = size.div_ceil(chunks as usize).max(1);
        // An empty axis gives as many empty parts as requested.
        let n = if size == 0 { (chunks as usize).min(MAX_EMPTY_PARTS) } else { size.div_ceil(len) };
        let n = check_part_count("chunk", n)?;
        let bounds = (0..n).map(|i| ((i * len).min(size), ((i + 1) * len).min(size))).collect();
        Ok(OneOrTuple::Tuple(split_at(x, axis, bounds)?))
    }
    /// PyTorch's split: parts of `split_size` elements of an axis, the last one shorter where it must be, or parts of the sizes given. Each part is a view of its own, which may be changed in place. Derivative: the parts' gradients joined.
    [aliases("split_with_sizes")]
    fn unsafe_split(x: Tensor, split_size: Nested, axis: isize = 0) -> OneOrTuple {
        let axis = normalize_axis("unsafe_split", axis, x.ndim())?;
        let bounds = sized_bounds("unsafe_split", x.shape()[axis], &split_size)?;
        let part = |(start, end): (usize, usize)| slice_axis(x, axis, start, 1, end - start);
        Ok(OneOrTuple::Tuple(bounds.into_iter().map(part).collect::<Result<_>>()?))
    }
    /// PyTorch's slices along an axis, which disappears; views.
    fn unbind(x: Tensor, axis: isize = 0) -> OneOrTuple {
        Ok(OneOrTuple::Tuple(part_views(x, slices("unbind", x, axis)?)?))
    }
    /// The slices along an axis, which disappears: views, or the elements of a vector, values as `x[i]` is.
    [numpy("unstack")]
    fn unstack(x: Tensor, axis: isize = 0) -> OneOrTuple {
        let slices = slices("unstack", x, axis)?;
        if x.ndim() != 1 {
            return Ok(OneOrTuple::Tuple(part_views(x, slices)?));
        }
        let read = |&(i, _): &(usize, usize)| element_at(x, &x.layout().select(0, i));
        let elements = slices.bounds.iter().map(read).collect::<Result<Vec<Tensor>>>()?;
        let elements = record_parts(elements, x, slices)?;
        Ok(OneOrTuple::Tuple(elements.into_iter().map(Tensor::into_result).collect()))
    }
    /// `length` elements of an axis from `start` on; a view.
    fn narrow(x: Tensor, axis: isize, start: isize, length: isize) -> Tensor {
        let axis = normalize_axis("narrow", axis, x.ndim())?;
        let size = x.shape()[axis] as isize;
        let first = if start < 0 { start + size } else { start };
        if first < 0 || length < 0 || length > size || first > size - length {
            return Err(Box::new(Error::Argument {
                op: "narrow".into(),
                what: format!("{length} elements from {start} on leave axis {axis} of size {size}"),
                remedy: "give a start and a length inside the axis".into(),
            }));
        }
        slice_axis(x, axis, first as usize, 1, length as usize)
    }
}
