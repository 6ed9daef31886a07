//! Gathering and scattering along one axis, an index for every element.
//!
//! Owns: take_along_axis and put_along_axis (NumPy), gather and scatter_add (PyTorch).
//! Never changes an argument. Invariant: repeated targets accumulate when added, and the last wins when put.

use smallvec::smallvec;

use crate::array::{ShapeVec, broadcast_shapes, normalize_axis};
use crate::error::{Dims, Error, Result};
use crate::kernels;
use crate::kernels::index::WriteMode;
use crate::ops::core::broadcast::{axis_or_flat, broadcast_to, permute_axes, reshape_dims};
use crate::ops::core::op_decl::Operand;
use crate::ops::core::row_indices::{
    RowIndices, add_rows, integers, put_rows, scatter_rows, value_for,
};
use crate::ops::core::structured::{Record, Save, edges_of, finish, move_cost};
use crate::ops::core::view::slice_axis;
use crate::ops::shape::repeat::take_along;
use crate::tensor::Tensor;

fn shapes(
    op: &'static str,
    what: &str,
    a: &[usize],
    b: &[usize],
    remedy: &'static str,
) -> Box<Error> {
    let what = format!("{what} of shape {} for a tensor of shape {}", Dims::from(a), Dims::from(b));
    Box::new(Error::Shape { op: op.into(), what, remedy })
}

/// Both with at least one axis.
fn raised(x: &Tensor) -> Result<Tensor> {
    if x.ndim() == 0 { reshape_dims(x, &[1]) } else { Ok(x.clone()) }
}

/// A tensor, an axis of it, and an index that has as many axes, no longer than it but along that one.
pub(crate) fn beside(
    op: &'static str,
    x: &Tensor,
    axis: isize,
    index: &Tensor,
) -> Result<(Tensor, usize, Tensor)> {
    let (x, index) = (raised(x)?, raised(&integers(op, index)?)?);
    let axis = normalize_axis(op, axis, x.ndim())?;
    let fits = index.ndim() == x.ndim()
        && (0..x.ndim()).all(|a| a == axis || index.shape()[a] <= x.shape()[a]);
    if !fits {
        let remedy = "give as many axes, and no more elements along the other axes";
        return Err(shapes(op, "an index", index.shape(), x.shape(), remedy));
    }
    Ok((x, axis, index))
}

/// The numbers that an index repeats along all other axes, which it has in full: it then names rows.
pub(crate) fn rows_of(x: &Tensor, axis: usize, index: &Tensor) -> Option<Tensor> {
    let (dims, strides) = (index.shape(), index.layout().strides());
    let others = || (0..dims.len()).filter(|&a| a != axis);
    let whole = others().all(|a| dims[a] == x.shape()[a] && (strides[a] == 0 || dims[a] == 1));
    if !whole || others().all(|a| dims[a] == 1) || index.size() == 0 {
        return None;
    }
    let one = others().rev().fold(index.layout().clone(), |layout, a| layout.select(a, 0));
    Some(index.with_layout(one))
}

/// The source cut to the index.
pub(crate) fn cut(op: &'static str, x: &Tensor, index: &Tensor, src: &Operand) -> Result<Tensor> {
    let (mut cut, dims) = (value_for(op, x, src)?, index.shape());
    if cut.ndim() == 0 {
        return broadcast_to(&cut, dims);
    }
    if cut.ndim() != dims.len() || cut.shape().iter().zip(dims).any(|(have, want)| have < want) {
        let remedy = "give a source at least as large as the index";
        return Err(shapes(op, "an index", dims, cut.shape(), remedy));
    }
    for (axis, &len) in dims.iter().enumerate() {
        if len != cut.shape()[axis] {
            cut = slice_axis(&cut, axis, 0, 1, len)?;
        }
    }
    Ok(cut)
}

/// The order of axes that begins with one of them.
pub(crate) fn in_front(axis: usize, ndim: usize) -> ShapeVec {
    [axis].into_iter().chain((0..ndim).filter(|&a| a != axis)).collect()
}

/// A copy of `x` in which the elements at the places of an index, which has as many axes, are replaced or added to by the
/// source, which has the dims of the index.
pub(crate) fn scattered(
    op: &'static str,
    x: &Tensor,
    axis: usize,
    index: &Tensor,
    src: &Tensor,
    way: WriteMode,
) -> Result<Tensor> {
    let write = if way == WriteMode::Put { put_rows } else { add_rows };
    if let Some(rows) = rows_of(x, axis, index) {
        let places = RowIndices::indexed(op, x.shape(), &[axis], &[rows])?;
        return write(op, x, &places, &permute_axes(src, &in_front(axis, x.ndim()))?);
    }
    let direct = kernels::index::supports_write_checked(way, x.dtype());
    if !direct || edges_of(&[x, src]).is_some() {
        let places = RowIndices::along(op, x.shape(), axis, index)?;
        let rows = reshape_dims(src, &[places.len()])?;
        return write(op, x, &places, &rows);
    }
    // Nobody asks for the offsets later.
    let out = x.duplicate()?;
    let (index, rows) = (index.view_of(), src.view_of());
    kernels::index::write_checked(op, way, out.view_mut(), axis, index, rows)?;
    Ok(out.unrecorded([x, src].into_iter()))
}

/// PyTorch's scatter and scatter_add.
pub(crate) fn scatter_along(
    op: &'static str,
    x: &Tensor,
    axis: isize,
    index: &Tensor,
    src: &Operand,
    way: WriteMode,
) -> Result<Tensor> {
    let (flat, axis, index) = beside(op, x, axis, index)?;
    let src = cut(op, &flat, &index, src)?;
    reshape_dims(&scattered(op, &flat, axis, &index, &src, way)?, x.shape())
}

/// NumPy's indices: broadcast with `x` along the other axes.
fn spread(op: &'static str, x: &Tensor, indices: &Tensor, axis: usize) -> Result<(Tensor, Tensor)> {
    if indices.ndim() != x.ndim() {
        return Err(shapes(op, "indices", indices.shape(), x.shape(), "give as many axes"));
    }
    let (mut a, mut b) = (ShapeVec::from_slice(x.shape()), ShapeVec::from_slice(indices.shape()));
    (a[axis], b[axis]) = (1, 1);
    let both = broadcast_shapes(op, &[&a, &b])?;
    let with = |own: usize| {
        let mut dims = both.clone();
        dims[axis] = own;
        dims
    };
    Ok((
        broadcast_to(x, &with(x.shape()[axis]))?,
        broadcast_to(indices, &with(indices.shape()[axis]))?,
    ))
}

/// The elements at the places of an index that has as many axes as `x`, no longer than it but along `axis`.
pub(crate) fn gathered(
    op: &'static str,
    x: &Tensor,
    axis: usize,
    index: &Tensor,
) -> Result<Tensor> {
    if let Some(rows) = rows_of(x, axis, index) {
        return take_along(op, x, axis, &rows);
    }
    let out = Tensor::empty(index.shape(), x.dtype())?;
    kernels::index::take_checked(op, x.view_of(), axis, index.view_of(), out.view_mut())?;
    finish(out, &[x], |out| Record {
        name: "take",
        cost: 2.0 * move_cost(out),
        params: (op, axis, ShapeVec::from_slice(x.shape())),
        // An index that is changed later, also by its owner, is kept as it was.
        saved: smallvec![Save::value(index, &[0])],
        backward: |(op, axis, dims), g, cx| {
            let index = cx.saved(0)?;
            let recorded = cx.create_graph() || g.ndim() > index.ndim();
            cx.give_with(0, |_| ungathered(op, dims, *axis, &index, &g, recorded))
        },
    })
}

/// Zeros to which the elements of `g`, or of each of a stack, are added at the places of an index.
fn ungathered(
    op: &'static str,
    dims: &[usize],
    axis: usize,
    index: &Tensor,
    g: &Tensor,
    recorded: bool,
) -> Result<Tensor> {
    if !recorded && kernels::index::supports_write_checked(WriteMode::Add, g.dtype()) {
        let out = Tensor::zeros(dims, g.dtype())?;
        let (index, rows) = (index.view_of(), g.view_of());
        kernels::index::write_checked(op, WriteMode::Add, out.view_mut(), axis, index, rows)?;
        return Ok(out);
    }
    let places = RowIndices::along(op, dims, axis, index)?;
    let front = g.ndim() - index.ndim();
    let rows: ShapeVec = g.shape()[..front].iter().copied().chain([places.len()]).collect();
    scatter_rows(&reshape_dims(g, &rows)?, &places)
}

/// The elements at the indices along an axis, or of the flattened tensor.
fn taken(op: &'static str, x: &Tensor, indices: &Tensor, axis: Option<isize>) -> Result<Tensor> {
    let (x, axis) = axis_or_flat(op, x, axis)?;
    let (x, indices) = spread(op, &x, &integers(op, indices)?, axis)?;
    gathered(op, &x, axis, &indices)
}

crate::operations! { family "along an axis";
    /// The elements at the indices along an axis, which broadcast with the other axes; `axis=None` means the flattened tensor. Derivative: `g`, accumulated where an index repeats.
    [numpy("take_along_axis"), indices("indices")]
    fn take_along_axis(x: Tensor, indices: Tensor, axis: Option<isize> = Some(-1)) -> Tensor {
        taken("take_along_axis", x, indices, axis)
    }
    /// PyTorch's name of `take_along_axis`; without an axis both are flattened.
    [indices("indices")]
    fn take_along_dim(x: Tensor, indices: Tensor, axis: Option<isize> = None) -> Tensor {
        match axis {
            Some(_) => taken("take_along_dim", x, indices, axis),
            None => taken("take_along_dim", x, &reshape_dims(indices, &[indices.size()])?, None),
        }
    }
    /// A copy with `values` at the indices along an axis; the last of a repeated index stays. Derivatives: of `x`, `g` elsewhere; of `values`, `g` where they stayed.
    [indices("indices")]
    fn put_along_axis(x: Tensor, indices: Tensor, values: Operand, axis: Option<isize> = Some(-1)) -> Tensor {
        let (flat, axis) = axis_or_flat("put_along_axis", x, axis)?;
        let (wide, indices) = spread("put_along_axis", &flat, &integers("put_along_axis", indices)?, axis)?;
        if wide.shape() != flat.shape() {
            return Err(shapes("put_along_axis", "indices", indices.shape(), flat.shape(), "give no more elements along the other axes"));
        }
        let values = broadcast_to(&value_for("put_along_axis", x, values)?, indices.shape())?;
        reshape_dims(&scattered("put_along_axis", &flat, axis, &indices, &values, WriteMode::Put)?, x.shape())
    }
    /// PyTorch's gather: `out[i, j, …] = x[index[i, j, …], j, …]` for axis 0. Derivative: `g`, accumulated where an index repeats.
    [indices("index")]
    fn gather(x: Tensor, axis: isize, index: Tensor) -> Tensor {
        let (x, axis, at) = beside("gather", x, axis, index)?;
        reshape_dims(&gathered("gather", &x, axis, &at)?, index.shape())
    }
    /// As `scatter`, but added to what is there; repeated indices accumulate. Derivatives: of `x`, `g`; of `src`, `g` gathered.
    [in_place, keywords(("value", "src")), indices("index")]
    fn scatter_add(x: Tensor, axis: isize, index: Tensor, src: Operand) -> Tensor {
        scatter_along("scatter_add", x, axis, index, src, WriteMode::Add)
    }
}
