//! Indexing with everything NumPy's `t[...]` takes.
//!
//! Owns: the reading of an index expression, views for its basic part, gathering for integer and boolean
//! arrays, and their adjoints. Never makes a copy for a basic index.
//! Invariant: arrays index the leading axes of a permuted view; repeated indices accumulate in the gradient.

use crate::array::{Layout, ShapeVec, broadcast_shapes};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::kernels::{self, index::{Indexed, Offsets}};
use crate::ops::arith::MULTIPLY;
use crate::ops::cast::astype;
use crate::ops::arguments::Key;
use crate::ops::declare::IndexItem;
use crate::ops::elementwise::binary;
use crate::ops::shape::{broadcast_to, permute_axes, reshape_dims};
use crate::ops::structured::{Record, SavedList, finish, move_cost};
use crate::ops::view::{Step, view_through};
use crate::tensor::Tensor;
use std::sync::Arc;

/// An index expression resolved against a shape.
pub(crate) struct Plan {
    /// The basic part, as steps of a view.
    pub(crate) steps: Vec<Step>,
    /// The axes of that view which arrays index, with the arrays (int64).
    pub(crate) arrays: Vec<(usize, Tensor)>,
    /// Whether the arrays stand side by side, so that their axes stay in place.
    pub(crate) adjacent: bool,
}

fn bad(what: String, remedy: &'static str) -> Box<Error> {
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
    let len = if span <= 0 { 0 } else { (span + step.abs() - 1) / step.abs() };
    (if len == 0 { 0 } else { first as usize }, len as usize)
}

/// How many axes of the tensor an item consumes.
fn consumed(item: &IndexItem) -> usize {
    match item {
        IndexItem::NewAxis | IndexItem::Ellipsis => 0,
        IndexItem::Array(t) if t.dtype() == DType::Bool => t.ndim(),
        _ => 1,
    }
}

struct Reader<'a> {
    dims: &'a [usize],
    /// The axis of the tensor and the axis of the view that come next.
    source: usize,
    target: usize,
    steps: Vec<Step>,
    arrays: Vec<(usize, Tensor)>,
    positions: Vec<usize>,
}

impl Reader<'_> {
    fn int(&mut self, index: i64) -> Result<()> {
        let size = self.dims[self.source];
        let resolved = if index < 0 { index + size as i64 } else { index };
        if resolved < 0 || resolved >= size as i64 {
            let axis = self.source;
            return Err(Box::new(Error::IndexRange { op: "index".into(), index, axis, size }));
        }
        self.steps.push(Step::Select { axis: self.target, index: resolved as usize });
        self.source += 1;
        Ok(())
    }

    fn slice(&mut self, start: Option<i64>, stop: Option<i64>, step: Option<i64>) -> Result<()> {
        let step = step.unwrap_or(1);
        if step == 0 {
            return Err(bad("a slice step of 0".into(), "use a step other than 0"));
        }
        let size = self.dims[self.source];
        let (first, len) = slice_bounds(start, stop, step, size);
        if !(first == 0 && len == size && step == 1) {
            self.steps.push(Step::Slice { axis: self.target, start: first, step: step as isize, len });
        }
        self.source += 1;
        self.target += 1;
        Ok(())
    }

    fn array(&mut self, position: usize, index: &Tensor) -> Result<()> {
        if index.dtype().is_float() {
            return Err(bad(
                format!("an index array of dtype {}", index.dtype()),
                "index with integers or booleans",
            ));
        }
        self.positions.push(position);
        if index.dtype() != DType::Bool {
            self.arrays.push((self.target, astype(&index.detach(), DType::I64)?));
            self.source += 1;
            self.target += 1;
            return Ok(());
        }
        let covered = &self.dims[self.source..self.source + index.ndim()];
        if index.shape() != covered {
            return Err(bad(
                format!("a boolean index of shape {} over axes of shape {}", Dims::from(index.shape()), Dims::from(covered)),
                "give a mask of the shape it covers",
            ));
        }
        for rows in nonzero(index)? {
            self.arrays.push((self.target, rows));
            self.source += 1;
            self.target += 1;
        }
        Ok(())
    }
}

/// The positions of true elements, one int64 array per axis.
pub(crate) fn nonzero(mask: &Tensor) -> Result<Vec<Tensor>> {
    let truth = astype(&mask.detach(), DType::Bool)?.to_vec::<bool>()?;
    let dims = mask.shape();
    let mut rows: Vec<Vec<i64>> = vec![Vec::new(); dims.len()];
    for (flat, _) in truth.iter().enumerate().filter(|(_, t)| **t) {
        let mut rest = flat;
        for axis in (0..dims.len()).rev() {
            rows[axis].push((rest % dims[axis]) as i64);
            rest /= dims[axis];
        }
    }
    Ok(rows.into_iter().map(Tensor::from).collect())
}

/// Resolves an index expression against a shape.
pub(crate) fn plan(dims: &[usize], items: &[IndexItem]) -> Result<Plan> {
    let used: usize = items.iter().map(consumed).sum();
    let ellipses = items.iter().filter(|i| matches!(i, IndexItem::Ellipsis)).count();
    if ellipses > 1 {
        return Err(bad("more than one ellipsis".into(), "use ... once"));
    }
    if used > dims.len() {
        return Err(bad(
            format!("{used} indices for {} dimensions", dims.len()),
            "give at most one index per dimension",
        ));
    }
    let mut reader = Reader { dims, source: 0, target: 0, steps: vec![], arrays: vec![], positions: vec![] };
    for (position, item) in items.iter().enumerate() {
        match item {
            IndexItem::Int(i) => reader.int(*i)?,
            IndexItem::Slice(a, b, c) => reader.slice(*a, *b, *c)?,
            IndexItem::NewAxis => {
                reader.steps.push(Step::Insert { axis: reader.target });
                reader.target += 1;
            }
            IndexItem::Ellipsis => {
                reader.source += dims.len() - used;
                reader.target += dims.len() - used;
            }
            IndexItem::Array(t) => reader.array(position, t)?,
        }
    }
    let positions = reader.positions;
    let adjacent = positions.windows(2).all(|w| w[1] == w[0] + 1);
    Ok(Plan { steps: reader.steps, arrays: reader.arrays, adjacent })
}

/// Integers beside arrays take part in their broadcasting, as in NumPy.
fn promote_ints(items: &[IndexItem]) -> Vec<IndexItem> {
    let arrays = items.iter().any(|i| matches!(i, IndexItem::Array(_)));
    let convert = |item: &IndexItem| match item {
        IndexItem::Int(i) if arrays => IndexItem::Array(Tensor::from(*i)),
        other => other.clone(),
    };
    items.iter().map(convert).collect()
}

/// Integer arrays of one shape and the axes they index.
#[derive(Clone)]
pub(crate) struct At {
    axes: ShapeVec,
    arrays: Arc<[Tensor]>,
}

impl At {
    /// Broadcasts the arrays of a plan to one shape.
    fn new(arrays: &[(usize, Tensor)]) -> Result<At> {
        let shapes: Vec<&[usize]> = arrays.iter().map(|(_, t)| t.shape()).collect();
        let dims = broadcast_shapes("index", &shapes)?;
        let spread = arrays.iter().map(|(_, t)| broadcast_to(t, &dims)).collect::<Result<_>>()?;
        Ok(At { axes: arrays.iter().map(|(axis, _)| *axis).collect(), arrays: spread })
    }

    /// The shape of the arrays.
    fn dims(&self) -> &[usize] {
        self.arrays[0].shape()
    }

    /// Where the chosen elements lie in `x`; indices out of range are refused.
    fn locate(&self, x: &Tensor) -> Result<Offsets> {
        let indexed: Vec<Indexed> = self
            .axes
            .iter()
            .map(|&axis| Indexed { axis, size: x.shape()[axis], stride: x.layout().strides()[axis] })
            .collect();
        let views: Vec<_> = self.arrays.iter().map(Tensor::view_of).collect();
        kernels::index::offsets("index", &views, &indexed)
    }

    /// What one combination of indices selects of `x`, which has elements.
    fn each(&self, x: &Tensor) -> Tensor {
        let select = |layout: Layout, &axis: &usize| layout.select(axis, 0);
        x.with_layout(self.axes.iter().rev().fold(x.layout().clone(), select))
    }

    fn result_dims(&self, x_dims: &[usize]) -> ShapeVec {
        let mut dims = ShapeVec::from_slice(&[self.dims().iter().product()]);
        dims.extend((0..x_dims.len()).filter(|a| !self.axes.contains(a)).map(|a| x_dims[a]));
        dims
    }
}

/// The chosen elements, one row per combination of indices; the adjoint is `add_at`.
pub(crate) fn take_at(x: &Tensor, at: &At) -> Result<Tensor> {
    let out = Tensor::empty(&at.result_dims(x.shape()), x.dtype())?;
    let offsets = at.locate(x)?;
    if out.size() > 0 {
        kernels::index::take(x.dtype(), at.each(x).view_of(), &offsets, out.view_mut());
    }
    Ok(finish(out, &[x], |out| Record {
        name: "take",
        cost: 2.0 * move_cost(out),
        params: (at.clone(), ShapeVec::from_slice(x.shape())),
        saved: SavedList::new(),
        backward: |(at, dims), cx| {
            let Some(g) = cx.take_grad(0) else { return Ok(()) };
            cx.give(0, add_at(&g, at, dims)?);
            Ok(())
        },
    }))
}

/// Zeros of shape `dims` into which the rows of `g` are added, in order; the adjoint is `take_at`.
pub(crate) fn add_at(g: &Tensor, at: &At, dims: &[usize]) -> Result<Tensor> {
    let out = Tensor::zeros(dims, g.dtype())?;
    let offsets = at.locate(&out)?;
    if g.size() > 0 {
        kernels::index::add_at(g.dtype(), at.each(&out).view_mut(), &offsets, g.view_of());
    }
    Ok(finish(out, &[g], |_| Record {
        name: "index_add",
        cost: 2.0 * move_cost(g),
        params: at.clone(),
        saved: SavedList::new(),
        backward: |at, cx| {
            let Some(g) = cx.take_grad(0) else { return Ok(()) };
            cx.give(0, take_at(&g, at)?);
            Ok(())
        },
    }))
}

/// Gathers through arrays, and puts the axes of the arrays where NumPy has them.
fn gather(x: &Tensor, plan: &Plan) -> Result<Tensor> {
    let at = At::new(&plan.arrays)?;
    let taken = take_at(x, &at)?;
    let mut dims = ShapeVec::from_slice(at.dims());
    dims.extend_from_slice(&taken.shape()[1..]);
    let out = reshape_dims(&taken, &dims)?;
    if !plan.adjacent {
        return Ok(out);
    }
    // Side by side: the arrays' axes replace the indexed ones where those stood.
    let before = (0..at.axes[0]).filter(|a| !at.axes.contains(a)).count();
    let lead = at.dims().len();
    let order: ShapeVec = (lead..lead + before).chain(0..lead).chain(lead + before..out.ndim()).collect();
    permute_axes(&out, &order)
}

/// `x` with the elements at flat positions `chosen` replaced by `values`; the last of a repeated position wins.
pub(crate) fn replace_at(x: &Tensor, chosen: &Tensor, values: &Tensor) -> Result<Tensor> {
    let at = At { axes: ShapeVec::from_slice(&[0]), arrays: [chosen.clone()].into() };
    let out = x.duplicate()?;
    let flat = out.with_layout(Layout::contiguous(&[x.size()])?);
    let offsets = at.locate(&flat)?;
    if chosen.size() > 0 {
        let source = reshape_dims(&values.detach(), &[values.size()])?;
        kernels::index::put(x.dtype(), at.each(&flat).view_mut(), &offsets, source.view_of());
    }
    drop(flat);
    Ok(finish(out, &[x, values], |_| Record {
        name: "setitem",
        cost: 2.0 * move_cost(x),
        params: (at.clone(), ShapeVec::from_slice(values.shape())),
        saved: SavedList::new(),
        backward: |(at, dims), cx| {
            let Some(g) = cx.take_grad(0) else { return Ok(()) };
            let flat = reshape_dims(&g, &[g.size()])?;
            let (winners, kept) = last_writers(&at.arrays[0].to_vec::<i64>()?, g.size());
            if cx.wants(1) {
                let won = binary(&MULTIPLY, &take_at(&flat, at)?, &astype(&winners, g.dtype())?)?;
                cx.give(1, reshape_dims(&won, dims)?);
            }
            if cx.wants(0) {
                let masked = binary(&MULTIPLY, &flat, &astype(&kept, g.dtype())?)?;
                cx.give(0, reshape_dims(&masked, g.shape())?);
            }
            Ok(())
        },
    }))
}

/// For each write, whether it was the last to its position; for each position, whether it kept its value.
fn last_writers(rows: &[i64], size: usize) -> (Tensor, Tensor) {
    let mut last = vec![usize::MAX; size];
    rows.iter().enumerate().for_each(|(i, &row)| last[row as usize] = i);
    let winners: Vec<bool> = rows.iter().enumerate().map(|(i, &row)| last[row as usize] == i).collect();
    let kept: Vec<bool> = last.iter().map(|&i| i == usize::MAX).collect();
    (Tensor::from(winners), Tensor::from(kept))
}

crate::operations! { family "indexing";
    /// NumPy's `x[index]`: integers, slices, None and ... give a view; integer and boolean arrays give a copy. Derivative: `g` at the chosen elements, accumulated where an index repeats.
    fn index(x: Tensor, key: Key) -> Tensor {
        let plan = plan(x.shape(), &promote_ints(key))?;
        let view = view_through(x, "index", plan.steps.clone())?;
        if plan.arrays.is_empty() { Ok(view) } else { gather(&view, &plan) }
    }
    /// The elements at integer positions along an axis (or of the flattened tensor). Derivative: `g`, accumulated where an index repeats.
    [numpy("take")]
    fn take(x: Tensor, indices: Tensor, axis: Option<isize> = None) -> Tensor {
        let (x, axis) = match axis {
            None => (reshape_dims(x, &[x.size()])?, 0),
            Some(axis) => (x.clone(), crate::array::normalize_axis("take", axis, x.ndim())?),
        };
        let mut items: Vec<IndexItem> = (0..axis).map(|_| IndexItem::Slice(None, None, None)).collect();
        items.push(IndexItem::Array(indices.clone()));
        self::index(&x, &items)
    }
}
