//! Parses index expressions by NumPy's rules into view steps and index arrays (`Subscript`).
//!
//! Invariant: index arrays apply to ascending axes of the view; integers next to arrays count as arrays.

use crate::array::{ShapeVec, broadcast_shapes, checked_numel};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::ops::core::broadcast::broadcast_to;
use crate::ops::core::op_decl::IndexItem;
use crate::ops::core::row_indices::{RowIndices, as_int64};
use crate::ops::core::view::{ViewStep, ViewStepList};
use crate::ops::index::nonzero::coordinates;
use crate::tensor::Tensor;

/// An index expression resolved against a shape.
pub(crate) struct Subscript {
    /// The basic part, as view steps.
    pub(crate) steps: ViewStepList,
    /// The index arrays, applied to that view.
    pub(crate) advanced: Option<AdvancedIndex>,
}

/// The indexed rows of a view, and the position of the index axes in the result.
#[derive(Clone)]
pub(crate) struct AdvancedIndex {
    pub(crate) row_indices: RowIndices,
    /// The broadcast shape of the index arrays.
    pub(crate) dims: ShapeVec,
    /// The number of other axes before the index axes in the result.
    pub(crate) before: usize,
}

fn index_error(what: String, remedy: &'static str) -> Box<Error> {
    Box::new(Error::BadIndex { op: "index".into(), what, remedy })
}

/// `start`, `len` of a Python slice over an axis.
fn slice_bounds(start: Option<i64>, stop: Option<i64>, step: i64, size: usize) -> (usize, usize) {
    let n = size as i64;
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let clamp = |v: i64| (if v < 0 { v.saturating_add(n) } else { v }).clamp(low, high);
    let first = start.map_or(if step > 0 { 0 } else { n - 1 }, clamp);
    let last = stop.map_or(if step > 0 { n } else { -1 }, clamp);
    let span = if step > 0 { last - first } else { first - last };
    if span <= 0 {
        return (0, 0);
    }
    (first as usize, (span - 1) as usize / step.unsigned_abs() as usize + 1)
}

/// The number of axes of the tensor that an item consumes.
fn consumed(item: &IndexItem) -> usize {
    match item {
        IndexItem::NewAxis | IndexItem::Ellipsis => 0,
        IndexItem::Array(t) if t.dtype() == DType::Bool => t.ndim(),
        _ => 1,
    }
}

/// A normalised index into an axis.
#[inline]
pub(super) fn normalize_index(index: i64, axis: usize, size: usize) -> Result<usize> {
    let resolved = if index < 0 { index + size as i64 } else { index };
    if resolved < 0 || resolved >= size as i64 {
        return Err(Box::new(Error::IndexRange { op: "index".into(), index, axis, size }));
    }
    Ok(resolved as usize)
}

/// The view step of a slice; `None` if it covers the axis.
#[inline]
fn slice_step(
    [start, stop, step]: [Option<i64>; 3],
    axis: usize,
    size: usize,
) -> Result<Option<ViewStep>> {
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(Box::new(Error::Argument {
            op: "index".into(),
            what: "a slice step of 0".into(),
            remedy: "use a step other than 0".into(),
        }));
    }
    let (start, len) = slice_bounds(start, stop, step, size);
    let whole = start == 0 && len == size && step == 1;
    Ok((!whole).then_some(ViewStep::Slice { axis, start, step: step as isize, len }))
}

/// Whether an expression has only integers and slices, at most one per axis.
#[inline]
pub(super) fn is_plain(dims: &[usize], items: &[IndexItem]) -> bool {
    let plain = |item: &IndexItem| matches!(item, IndexItem::Int(_) | IndexItem::Slice(..));
    items.len() <= dims.len() && items.iter().all(plain)
}

/// The view steps of a plain expression, and the number of its slices.
#[inline]
pub(super) fn plain_steps(dims: &[usize], items: &[IndexItem]) -> Result<(ViewStepList, usize)> {
    let (mut steps, mut target) = (ViewStepList::new(), 0);
    for (source, (item, &size)) in items.iter().zip(dims).enumerate() {
        match *item {
            IndexItem::Int(index) => {
                let index = normalize_index(index, source, size)?;
                steps.push(ViewStep::Select { axis: target, index });
            }
            IndexItem::Slice(start, stop, step) => {
                if let Some(step) = slice_step([start, stop, step], target, size)? {
                    steps.push(step);
                }
                target += 1;
            }
            IndexItem::NewAxis | IndexItem::Ellipsis | IndexItem::Array(_) => {
                unreachable!("a plain expression")
            }
        }
    }
    Ok((steps, target))
}

struct SubscriptParser<'a> {
    dims: &'a [usize],
    /// The next axis of the tensor and of the view.
    source: usize,
    target: usize,
    steps: ViewStepList,
    /// The dims of the view so far.
    view: ShapeVec,
    /// The indexed axes of the view and their arrays (int64, or a mask over several axes).
    arrays: Vec<(usize, Tensor)>,
    positions: Vec<usize>,
}

impl SubscriptParser<'_> {
    /// Keeps an axis of the tensor in the view.
    fn keep(&mut self, size: usize) {
        self.view.push(size);
        self.source += 1;
        self.target += 1;
    }

    /// A normalised index into the next axis.
    fn normalize_index(&self, index: i64) -> Result<usize> {
        normalize_index(index, self.source, self.dims[self.source])
    }

    fn int(&mut self, index: i64) -> Result<()> {
        let index = self.normalize_index(index)?;
        self.steps.push(ViewStep::Select { axis: self.target, index });
        self.source += 1;
        Ok(())
    }

    fn slice(&mut self, start: Option<i64>, stop: Option<i64>, step: Option<i64>) -> Result<()> {
        let slice = slice_step([start, stop, step], self.target, self.dims[self.source])?;
        let len = match slice {
            Some(ViewStep::Slice { len, .. }) => len,
            _ => self.dims[self.source],
        };
        self.steps.extend(slice);
        self.keep(len);
        Ok(())
    }

    fn new_axis(&mut self) {
        self.steps.push(ViewStep::Insert { axis: self.target });
        self.view.push(1);
        self.target += 1;
    }

    fn array(&mut self, position: usize, index: &Tensor) -> Result<()> {
        self.positions.push(position);
        if index.dtype() != DType::Bool {
            if index.dtype().is_inexact() {
                let what = format!("an index array of dtype {}", index.dtype());
                return Err(index_error(what, "index with integers or booleans"));
            }
            self.arrays.push((self.target, as_int64("index", index)?));
            self.keep(self.dims[self.source]);
            return Ok(());
        }
        let covered = &self.dims[self.source..self.source + index.ndim()];
        if index.shape() != covered {
            return Err(index_error(
                format!(
                    "a boolean index of shape {} over axes of shape {}",
                    Dims::from(index.shape()),
                    Dims::from(covered)
                ),
                "give a mask of the shape it covers",
            ));
        }
        self.arrays.push((self.target, index.detach()));
        if index.ndim() == 0 {
            // A 0-d mask is a mask over a new axis of size 1.
            self.new_axis();
        }
        covered.iter().for_each(|&size| self.keep(size));
        Ok(())
    }
}

/// Resolves an index expression against a shape.
pub(crate) fn subscript(dims: &[usize], items: &[IndexItem]) -> Result<Subscript> {
    let used: usize = items.iter().map(consumed).sum();
    if items.iter().filter(|i| matches!(i, IndexItem::Ellipsis)).count() > 1 {
        return Err(index_error("more than one ellipsis".into(), "use ... once"));
    }
    if used > dims.len() {
        let what = format!("{used} indices for {} dimensions", dims.len());
        return Err(index_error(what, "give at most one index per dimension"));
    }
    let arrays = items.iter().any(|i| matches!(i, IndexItem::Array(_)));
    let mut parser = SubscriptParser {
        dims,
        source: 0,
        target: 0,
        steps: ViewStepList::new(),
        view: ShapeVec::new(),
        arrays: vec![],
        positions: vec![],
    };
    for (position, item) in items.iter().enumerate() {
        match item {
            IndexItem::Int(i) if arrays => {
                let index = parser.normalize_index(*i)? as i64;
                parser.array(position, &Tensor::from(index))?;
            }
            IndexItem::Int(i) => parser.int(*i)?,
            IndexItem::Slice(a, b, c) => parser.slice(*a, *b, *c)?,
            IndexItem::NewAxis => parser.new_axis(),
            IndexItem::Ellipsis => {
                (used..dims.len()).for_each(|_| parser.keep(dims[parser.source]))
            }
            IndexItem::Array(t) => parser.array(position, t)?,
        }
    }
    (parser.source..dims.len()).for_each(|axis| parser.view.push(dims[axis]));
    checked_numel("index", &parser.view)?;
    let advanced = if arrays { Some(advanced(&parser)?) } else { None };
    Ok(Subscript { steps: parser.steps, advanced })
}

/// The indexed rows, and where NumPy puts the axes of the index arrays.
fn advanced(parser: &SubscriptParser<'_>) -> Result<AdvancedIndex> {
    let adjacent = parser.positions.windows(2).all(|w| w[1] == w[0] + 1);
    // Adjacent index arrays keep their position in the result; otherwise their axes come first.
    let before = if adjacent { parser.arrays[0].0 } else { 0 };
    if let [(first, mask)] = &parser.arrays[..]
        && mask.dtype() == DType::Bool
    {
        let mask = if mask.ndim() == 0 {
            mask.with_layout(mask.layout().insert_axis(0))
        } else {
            mask.clone()
        };
        let row_indices = RowIndices::from_mask(&parser.view, *first, &mask)?;
        let dims = ShapeVec::from_slice(&[row_indices.len()]);
        return Ok(AdvancedIndex { row_indices, dims, before });
    }
    let mut axes = ShapeVec::new();
    let mut arrays = Vec::new();
    for (first, array) in &parser.arrays {
        if array.dtype() != DType::Bool {
            axes.push(*first);
            arrays.push(array.clone());
            continue;
        }
        let found = coordinates(array)?;
        axes.extend(*first..*first + found.len());
        arrays.extend(found);
    }
    let shapes: Vec<&[usize]> = arrays.iter().map(Tensor::shape).collect();
    let dims = broadcast_shapes("index", &shapes)?;
    let spread = arrays.iter().map(|t| broadcast_to(t, &dims)).collect::<Result<Vec<_>>>()?;
    let row_indices = RowIndices::from_arrays("index", &parser.view, &axes, &spread)?;
    Ok(AdvancedIndex { row_indices, dims, before })
}
