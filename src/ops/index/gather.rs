//! Gather and scatter along one axis, with an index per element: `take_along_axis` and `put_along_axis` (NumPy), `gather` and
//! `scatter_add` (PyTorch). Repeated indices accumulate in an add; the last one wins in a put.

use smallvec::smallvec;

use crate::array::{ShapeVec, broadcast_shapes, normalize_axis};
use crate::error::{Dims, Error, Result};
use crate::kernels;
use crate::kernels::index::WriteMode;
use crate::ops::core::broadcast::{
    axis_or_flat, broadcast_to, permute_axes, require_readable, reshape_dims,
};
use crate::ops::core::op_decl::Operand;
use crate::ops::core::row_indices::{
    RowIndices, add_rows, as_int64, cast_value_to, put_rows, scatter_rows,
};
use crate::ops::core::structured::{NodeSpec, Save, edges_of, move_cost, record_output};
use crate::ops::core::view::slice_axis;
use crate::ops::shape::repeat::take_along;
use crate::tensor::Tensor;

fn shape_error(
    op: &'static str,
    what: &str,
    a: &[usize],
    b: &[usize],
    remedy: &'static str,
) -> Box<Error> {
    let what = format!("{what} of shape {} for a tensor of shape {}", Dims::from(a), Dims::from(b));
    Box::new(Error::Shape { op: op.into(), what, remedy })
}

/// Both tensors with at least one axis.
fn at_least_vector(x: &Tensor) -> Result<Tensor> {
    if x.ndim() == 0 { reshape_dims(x, &[1]) } else { Ok(x.clone()) }
}

/// Resolves the axis and checks that the index has as many axes as `x` and is no longer, except along that axis.
pub(crate) fn resolve_axis_index(
    op: &'static str,
    x: &Tensor,
    axis: isize,
    index: &Tensor,
) -> Result<(Tensor, usize, Tensor)> {
    let (x, index) = (at_least_vector(x)?, at_least_vector(&as_int64(op, index)?)?);
    let axis = normalize_axis(op, axis, x.ndim())?;
    let fits = index.ndim() == x.ndim()
        && (0..x.ndim()).all(|a| a == axis || index.shape()[a] <= x.shape()[a]);
    if !fits {
        let remedy = "give as many axes, and no more elements along the other axes";
        return Err(shape_error(op, "an index", index.shape(), x.shape(), remedy));
    }
    Ok((x, axis, index))
}

/// The row numbers, if the index is constant along all other axes and covers them fully: it then selects whole rows.
pub(crate) fn whole_rows(x: &Tensor, axis: usize, index: &Tensor) -> Option<Tensor> {
    let (dims, strides) = (index.shape(), index.layout().strides());
    let others = || (0..dims.len()).filter(|&a| a != axis);
    let whole = others().all(|a| dims[a] == x.shape()[a] && (strides[a] == 0 || dims[a] == 1));
    if !whole || others().all(|a| dims[a] == 1) || index.size() == 0 {
        return None;
    }
    let one = others().rev().fold(index.layout().clone(), |layout, a| layout.select(a, 0));
    Some(index.with_layout(one))
}

/// The source cropped to the shape of the index.
pub(crate) fn crop_source(
    op: &'static str,
    x: &Tensor,
    index: &Tensor,
    src: &Operand,
) -> Result<Tensor> {
    let (mut source, dims) = (cast_value_to(op, x, src)?, index.shape());
    if source.ndim() == 0 {
        return broadcast_to(&source, dims);
    }
    if source.ndim() != dims.len()
        || source.shape().iter().zip(dims).any(|(have, want)| have < want)
    {
        let remedy = "give a source at least as large as the index";
        return Err(shape_error(op, "an index", dims, source.shape(), remedy));
    }
    for (axis, &len) in dims.iter().enumerate() {
        if len != source.shape()[axis] {
            source = slice_axis(&source, axis, 0, 1, len)?;
        }
    }
    Ok(source)
}

/// The axis order that moves `axis` to the front.
pub(crate) fn axis_first(axis: usize, ndim: usize) -> ShapeVec {
    [axis].into_iter().chain((0..ndim).filter(|&a| a != axis)).collect()
}

/// A copy of `x` with the source written or added at the indices; the index has the axes of `x` and the source the dims of
/// the index.
pub(crate) fn scatter_copy(
    op: &'static str,
    x: &Tensor,
    axis: usize,
    index: &Tensor,
    src: &Tensor,
    way: WriteMode,
) -> Result<Tensor> {
    let write = if way == WriteMode::Put { put_rows } else { add_rows };
    if let Some(rows) = whole_rows(x, axis, index) {
        let row_indices = RowIndices::from_arrays(op, x.shape(), &[axis], &[rows])?;
        return write(op, x, &row_indices, &permute_axes(src, &axis_first(axis, x.ndim()))?);
    }
    let direct = kernels::index::supports_write_checked(way, x.dtype());
    if !direct || edges_of(&[x, src]).is_some() {
        let row_indices = RowIndices::from_axis_index(op, x.shape(), axis, index)?;
        let rows = reshape_dims(src, &[row_indices.len()])?;
        return write(op, x, &row_indices, &rows);
    }
    // Nothing is recorded, so the offsets are not kept.
    require_readable(op, index)?;
    let out = x.duplicate()?;
    let (index, rows) = (index.view_of(), src.view_of());
    kernels::index::write_checked(op, way, out.view_mut(), axis, index, rows)?;
    Ok(out.unrecorded([x, src].into_iter()))
}

/// PyTorch's `scatter` and `scatter_add`.
pub(crate) fn scatter_along(
    op: &'static str,
    x: &Tensor,
    axis: isize,
    index: &Tensor,
    src: &Operand,
    way: WriteMode,
) -> Result<Tensor> {
    let (flat, axis, index) = resolve_axis_index(op, x, axis, index)?;
    let src = crop_source(op, &flat, &index, src)?;
    reshape_dims(&scatter_copy(op, &flat, axis, &index, &src, way)?, x.shape())
}

/// Broadcasts `x` and NumPy's indices against each other along the other axes.
fn broadcast_index(
    op: &'static str,
    x: &Tensor,
    indices: &Tensor,
    axis: usize,
) -> Result<(Tensor, Tensor)> {
    if indices.ndim() != x.ndim() {
        return Err(shape_error(op, "indices", indices.shape(), x.shape(), "give as many axes"));
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

/// The elements at an index that has as many axes as `x` and is no longer than it, except along `axis`.
pub(crate) fn gather_elements(
    op: &'static str,
    x: &Tensor,
    axis: usize,
    index: &Tensor,
) -> Result<Tensor> {
    if let Some(rows) = whole_rows(x, axis, index) {
        return take_along(op, x, axis, &rows);
    }
    let out = Tensor::empty(index.shape(), x.dtype())?;
    kernels::index::take_checked(op, x.view_of(), axis, index.view_of(), out.view_mut())?;
    record_output(out, &[x], |out| NodeSpec {
        name: "take",
        cost: 2.0 * move_cost(out),
        params: (op, axis, ShapeVec::from_slice(x.shape())),
        // The index is copied on write, so a later change of it does not matter.
        saved: smallvec![Save::value(index, &[0])],
        backward: |(op, axis, dims), g, cx| {
            let index = cx.saved(0)?;
            let recorded = cx.create_graph() || g.ndim() > index.ndim();
            cx.give_with(0, |_| gather_adjoint(op, dims, *axis, &index, &g, recorded))
        },
    })
}

/// Zeros with `g` (or each gradient of a batch) added at the indices: the adjoint of [`gather_elements`].
fn gather_adjoint(
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
    let row_indices = RowIndices::from_axis_index(op, dims, axis, index)?;
    let front = g.ndim() - index.ndim();
    let rows: ShapeVec = g.shape()[..front].iter().copied().chain([row_indices.len()]).collect();
    scatter_rows(&reshape_dims(g, &rows)?, &row_indices)
}

/// `take_along_axis`: the elements at the indices along an axis, or of the flattened tensor.
fn take_along_or_flat(
    op: &'static str,
    x: &Tensor,
    indices: &Tensor,
    axis: Option<isize>,
) -> Result<Tensor> {
    let (x, axis) = axis_or_flat(op, x, axis)?;
    let (x, indices) = broadcast_index(op, &x, &as_int64(op, indices)?, axis)?;
    gather_elements(op, &x, axis, &indices)
}

crate::operations! { family "along an axis";
    /// The elements at the indices along an axis, which broadcast with the other axes; `axis=None` means the flattened tensor. Derivative: `g`, accumulated where an index repeats.
    [numpy("take_along_axis"), indices("indices")]
    fn take_along_axis(x: Tensor, indices: Tensor, axis: Option<isize> = Some(-1)) -> Tensor {
        take_along_or_flat("take_along_axis", x, indices, axis)
    }
    /// PyTorch's name of `take_along_axis`; without an axis both are flattened.
    [indices("indices")]
    fn take_along_dim(x: Tensor, indices: Tensor, axis: Option<isize> = None) -> Tensor {
        match axis {
            Some(_) => take_along_or_flat("take_along_dim", x, indices, axis),
            None => take_along_or_flat("take_along_dim", x, &reshape_dims(indices, &[indices.size()])?, None),
        }
    }
    /// A copy with `values` at the indices along an axis; the last of a repeated index stays. Derivatives: of `x`, `g` elsewhere; of `values`, `g` where they stayed.
    [indices("indices")]
    fn put_along_axis(x: Tensor, indices: Tensor, values: Operand, axis: Option<isize> = Some(-1)) -> Tensor {
        let (flat, axis) = axis_or_flat("put_along_axis", x, axis)?;
        let (wide, indices) = broadcast_index("put_along_axis", &flat, &as_int64("put_along_axis", indices)?, axis)?;
        if wide.shape() != flat.shape() {
            return Err(shape_error("put_along_axis", "indices", indices.shape(), flat.shape(), "give no more elements along the other axes"));
        }
        let values = broadcast_to(&cast_value_to("put_along_axis", x, values)?, indices.shape())?;
        reshape_dims(&scatter_copy("put_along_axis", &flat, axis, &indices, &values, WriteMode::Put)?, x.shape())
    }
    /// PyTorch's gather: `out[i, j, …] = x[index[i, j, …], j, …]` for axis 0. Derivative: `g`, accumulated where an index repeats.
    [indices("index")]
    fn gather(x: Tensor, axis: isize, index: Tensor) -> Tensor {
        let (x, axis, at) = resolve_axis_index("gather", x, axis, index)?;
        reshape_dims(&gather_elements("gather", &x, axis, &at)?, index.shape())
    }
    /// As `scatter`, but added to what is there; repeated indices accumulate. Derivatives: of `x`, `g`; of `src`, `g` gathered.
    [in_place, keywords(("value", "src")), indices("index")]
    fn scatter_add(x: Tensor, axis: isize, index: Tensor, src: Operand) -> Tensor {
        scatter_along("scatter_add", x, axis, index, src, WriteMode::Add)
    }
}
