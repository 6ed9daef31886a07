//! Recorded layout operations shared by all families: casts, reshapes, permutations, broadcasting and its adjoint
//! (`sum_to`). Arguments are already resolved.
//!
//! Invariant: the backward of a view is the inverse view.

use smallvec::smallvec;

use crate::array::{Layout, ShapeVec, broadcast_shapes, checked_numel, normalize_axis, observer};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result, Warning, warn};
use crate::kernels::cast::cast_checked;
use crate::kernels::float_to_int::all_fit;
use crate::kernels::launch::decide;
use crate::kernels::{self, Reduction};
use crate::ops::core::structured::{
    Backward, Cx, NodeSpec, Save, VIEW_COST, WhereParams, batched_dims, batched_output_dims,
    move_cost, record_output, record_unary, save_none,
};
use crate::tensor::Tensor;

/// The same values in another dtype; a tensor of that dtype is returned as it is.
pub fn astype(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype {
        return Ok(x.clone());
    }
    cast_into(x, Tensor::empty(x.shape(), dtype)?)
}

/// Warns when a cast that the user asked for loses information: imaginary parts, or floats that the integer dtype cannot
/// represent. While tracing, values are not inspected, because a compiled run replaces them.
///
/// # Errors
/// The warning, if the host turns it into an exception.
pub(crate) fn warn_lossy_cast(x: &Tensor, to: DType) -> Result<()> {
    let from = x.dtype();
    if !from.is_inexact() || to.is_inexact() && !(from.is_complex() && to.is_float()) {
        return Ok(());
    }
    if from.is_complex() && to != DType::Bool {
        warn(Warning::Imaginary)?;
    }
    if to.is_integer() && !observer::is_active() && !all_fit(x.view_of(), to) {
        warn(Warning::InvalidCast)?;
    }
    Ok(())
}

/// [`astype`] for a cast that the user asked for: warns about lost information.
pub(crate) fn cast_with_warnings(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype {
        return Ok(x.clone());
    }
    cast_into_with_warnings(x, Tensor::empty(x.shape(), dtype)?)
}

/// [`cast_into`] with the warnings of [`warn_lossy_cast`]. Casts from floats to int32 and int64 check for loss in the
/// kernel, so the values are read again only if some were lost.
pub(crate) fn cast_into_with_warnings(x: &Tensor, out: Tensor) -> Result<Tensor> {
    let to = out.dtype();
    if !x.dtype().is_float() || !matches!(to, DType::I32 | DType::I64) || observer::is_active() {
        warn_lossy_cast(x, to)?;
        return cast_into(x, out);
    }
    if cast_checked(x.view_of(), out.view_mut()) {
        warn_lossy_cast(x, to)?;
    }
    after_cast(x, out)
}

/// The dtype in which a function of real floats computes.
///
/// # Errors
/// `DType` for complex numbers.
pub(crate) fn real_float(op: &'static str, dtype: DType) -> Result<DType> {
    if dtype.is_complex() {
        let remedy =
            "it takes real numbers; give the parts, z.real and z.imag, one after the other";
        return Err(Box::new(Error::DType { op: op.into(), got: dtype, remedy }));
    }
    Ok(dtype.to_float())
}

/// `x` cast to the dtype of [`real_float`].
///
/// # Errors
/// `DType` for complex numbers.
pub(crate) fn as_real_float(op: &'static str, x: &Tensor) -> Result<Tensor> {
    astype(x, real_float(op, x.dtype())?)
}

/// Casts `x` into `out`, a new tensor of any dtype.
pub(crate) fn cast_into(x: &Tensor, out: Tensor) -> Result<Tensor> {
    kernels::cast(x.view_of(), out.view_mut());
    after_cast(x, out)
}

/// Records a cast.
fn after_cast(x: &Tensor, out: Tensor) -> Result<Tensor> {
    record_output(out, &[x], |out| {
        NodeSpec {
            name: "astype",
            cost: move_cost(out),
            params: x.dtype(),
            saved: save_none(),
            backward: |dtype, g, cx| cx.give_with(0, |_| astype(&g, *dtype)),
        }
        .with_jvp(|_, cx| {
            let Some(t) = cx.take_grad(0) else { return Ok(()) };
            cx.give(0, astype(&t, cx.outputs_of_call()[0].dtype())?)
        })
    })
}

/// Reshape in C order; a view when the strides allow it, else a copy.
pub(crate) fn reshape_dims(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    if x.shape() == dims {
        return Ok(x.clone());
    }
    let out = match x.layout().reshape(dims) {
        Some(layout) => x.with_layout(layout),
        None => {
            checked_numel("reshape", dims)?;
            let copy = x.detach().contiguous()?;
            let layout = copy.layout().reshape(dims);
            copy.into_layout(layout.ok_or_else(|| {
                Box::new(Error::Reshape {
                    from: x.shape().into(),
                    to: Dims::from(dims).to_string(),
                })
            })?)
        }
    };
    record_reshape(x, out)
}

/// A copy of a scalar value with axes of size 1. It has its own memory, so writes do not reach the value.
pub(crate) fn value_to_array(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let copy = x.duplicate()?;
    let layout = copy.layout().reshape(dims);
    record_reshape(x, if let Some(layout) = layout { copy.into_layout(layout) } else { copy })
}

/// Records `out` as a reshape of `x`.
fn record_reshape(x: &Tensor, out: Tensor) -> Result<Tensor> {
    let record = || (VIEW_COST, ShapeVec::from_slice(x.shape()));
    let backward: Backward<ShapeVec> =
        |dims, g, cx| cx.give_with(0, |cx| reshape_dims(&g, &batched_dims(cx, dims)));
    let jvp: Backward<ShapeVec> =
        |_, t, cx| cx.give_with(0, |cx| reshape_dims(&t, &batched_output_dims(cx)));
    record_unary(out, x, "reshape", record, (backward, jvp))
}

/// Permutes the axes; a view.
pub(crate) fn permute_axes(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let out = x.with_layout(x.layout().permute(axes));
    let record = || (VIEW_COST, inverse_order(axes));
    let backward: Backward<ShapeVec> =
        |inverse, g, cx| cx.give_with(0, |_| permute_last_axes(&g, inverse));
    let jvp: Backward<ShapeVec> =
        |inverse, t, cx| cx.give_with(0, |_| permute_last_axes(&t, &inverse_order(inverse)));
    record_unary(out, x, "permute", record, (backward, jvp))
}

/// Permutes the last axes.
fn permute_last_axes(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let front = x.ndim() - axes.len();
    let order: ShapeVec = (0..front).chain(axes.iter().map(|axis| front + axis)).collect();
    permute_axes(x, &order)
}

/// The permutation that undoes this one.
fn inverse_order(axes: &[usize]) -> ShapeVec {
    let mut inverse: ShapeVec = smallvec![0; axes.len()];
    axes.iter().enumerate().for_each(|(i, &axis)| inverse[axis] = i);
    inverse
}

/// Swaps two axes; a view.
pub(crate) fn swap_axes(x: &Tensor, a: usize, b: usize) -> Result<Tensor> {
    let mut axes: ShapeVec = (0..x.ndim()).collect();
    axes.swap(a, b);
    permute_axes(x, &axes)
}

/// Broadcasts along new and size-1 axes; a stride-0 view. The adjoint is `sum_to`.
pub fn broadcast_to(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    if x.shape() == dims {
        return Ok(x.clone());
    }
    let out = x.with_layout(x.layout().broadcast_to(dims)?);
    record_output(out, &[x], |out| {
        NodeSpec {
            name: "broadcast_to",
            cost: move_cost(out),
            params: ShapeVec::from_slice(x.shape()),
            saved: save_none(),
            backward: |dims, g, cx| cx.give_with(0, |cx| sum_to_batched(&g, cx.batch(), dims)),
        }
        .with_jvp(|_, cx| {
            let Some(t) = cx.take_grad(0) else { return Ok(()) };
            let dims = batched_output_dims(cx);
            let t = align_tangent(cx, &t, dims.len() - cx.batch().len())?;
            cx.give(0, broadcast_to(&t, &dims)?)
        })
    })
}

/// A tangent of a value of `dims` as one of a value of `ndim` axes: batch axes, new axes of size 1, the axes of the value.
pub(crate) fn align_tangent(cx: &Cx<'_>, tangent: &Tensor, ndim: usize) -> Result<Tensor> {
    let front = cx.batch().len();
    let own = &tangent.shape()[front..];
    let mut dims = ShapeVec::from_slice(cx.batch());
    dims.resize(front + ndim - own.len(), 1);
    dims.extend_from_slice(own);
    reshape_dims(tangent, &dims)
}

/// Sums a tensor to a shape that broadcasts to its own: the adjoint of `broadcast_to`.
pub(crate) fn sum_to(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    if x.shape() == dims {
        return Ok(x.clone());
    }
    if x.ndim() < dims.len()
        || broadcast_shapes("sum_to_size", &[x.shape(), dims])?[..] != *x.shape()
    {
        return Err(Box::new(Error::Shape {
            op: "sum_to_size".into(),
            what: format!(
                "shape {} cannot be summed to {}",
                Dims::from(x.shape()),
                Dims::from(dims)
            ),
            remedy: "give a shape that broadcasts to the tensor's",
        }));
    }
    let lead = x.ndim() - dims.len();
    let axes: ShapeVec = (0..x.ndim())
        .filter(|&axis| axis < lead || (dims[axis - lead] == 1 && x.shape()[axis] != 1))
        .collect();
    reshape_dims(&sum_over(x, &axes, true)?, dims)
}

/// [`sum_to`] on the axes after `front`, the batch axes, which are kept.
pub(crate) fn sum_to_batched(x: &Tensor, front: &[usize], dims: &[usize]) -> Result<Tensor> {
    if front.is_empty() {
        return sum_to(x, dims);
    }
    let mut aligned = ShapeVec::from_slice(front);
    aligned.resize(x.ndim().saturating_sub(dims.len()), 1);
    aligned.extend_from_slice(dims);
    reshape_dims(&sum_to(x, &aligned)?, &[front, dims].concat())
}

/// `x` and a normalised axis; without an axis, the flattened tensor and 0. A 0-d tensor counts as a vector of one element.
pub(crate) fn axis_or_flat(
    op: &'static str,
    x: &Tensor,
    axis: Option<isize>,
) -> Result<(Tensor, usize)> {
    let axis = axis.filter(|&axis| x.ndim() > 0 || !(-1..=0).contains(&axis));
    match axis {
        None => Ok((reshape_dims(x, &[x.size()])?, 0)),
        Some(axis) => Ok((x.clone(), normalize_axis(op, axis, x.ndim())?)),
    }
}

/// Refuses complex dtypes.
pub(crate) fn require_real(op: &'static str, x: &Tensor) -> Result<()> {
    if !x.dtype().is_complex() {
        return Ok(());
    }
    Err(Box::new(Error::DType {
        op: op.into(),
        got: x.dtype(),
        remedy: "compute with x.real, x.imag or abs(x)",
    }))
}

/// Refuses tensors that do not have exactly one axis.
pub(crate) fn require_vector<'a>(op: &'static str, x: &'a Tensor) -> Result<&'a Tensor> {
    if x.ndim() == 1 {
        return Ok(x);
    }
    Err(Box::new(Error::Shape {
        op: op.into(),
        what: format!("a tensor of shape {} where a vector is needed", Dims::from(x.shape())),
        remedy: "give a vector, as ravel() makes one",
    }))
}

/// Refuses tensors without elements.
pub(crate) fn require_elements(op: &'static str, x: &Tensor) -> Result<()> {
    if x.size() > 0 {
        return Ok(());
    }
    Err(Box::new(Error::Shape {
        op: op.into(),
        what: "an empty input".into(),
        remedy: "give at least one element",
    }))
}

pub(crate) fn kept_dims(dims: &[usize], axes: &[usize]) -> ShapeVec {
    let mut kept = ShapeVec::from_slice(dims);
    axes.iter().for_each(|&axis| kept[axis] = 1);
    kept
}

pub(crate) fn dropped_dims(dims: &[usize], axes: &[usize]) -> ShapeVec {
    let mut others = ShapeVec::new();
    for (i, &d) in dims.iter().enumerate() {
        if !axes.contains(&i) {
            others.push(d);
        }
    }
    others
}

/// Whether any element of a mask is true.
pub(crate) fn any_true(mask: &Tensor) -> Result<bool> {
    let axes: ShapeVec = (0..mask.ndim()).collect();
    let any = reduce_axes(Reduction::Any, mask, &axes, DType::Bool)?;
    Ok(decide("any", &[any.view_of()], |any| any[0].to_vec::<bool>()[0].into()) == 1)
}

/// More elements than any memory holds: a tensor of this size is an expanded (stride-0) one, and a loop over it would not
/// finish in reasonable time.
const MAX_READABLE_ELEMENTS: usize = 1 << 40;

/// Refuses expanded tensors that are too large to loop over.
#[inline]
pub(crate) fn require_readable(op: &'static str, x: &Tensor) -> Result<()> {
    if x.size() <= MAX_READABLE_ELEMENTS {
        return Ok(());
    }
    Err(Box::new(Error::Argument {
        op: op.into(),
        what: format!("an expanded tensor of {} elements, all of which would be read", x.size()),
        remedy: "compute with the tensor before it was expanded".into(),
    }))
}

/// Runs a reduction kernel over resolved axes, which are kept with size 1.
pub(crate) fn reduce_axes(
    op: Reduction,
    x: &Tensor,
    axes: &[usize],
    dtype: DType,
) -> Result<Tensor> {
    require_readable("reduction", x)?;
    let out = Tensor::empty(&kept_dims(x.shape(), axes), dtype)?;
    kernels::reduce(op, x.view_of(), axes, out.view_mut())?;
    Ok(out)
}

/// Sum over resolved axes.
pub(crate) fn sum_over(x: &Tensor, axes: &[usize], keepdims: bool) -> Result<Tensor> {
    let dtype = x.dtype().accumulates();
    let out = reduce_axes(Reduction::Sum, x, axes, dtype)?;
    // The final shape is set before recording, so that there is one node and not two.
    let dims =
        if keepdims { ShapeVec::from_slice(out.shape()) } else { dropped_dims(x.shape(), axes) };
    let out = out.into_layout(Layout::contiguous(&dims)?);
    let record = || (move_cost(x), (ShapeVec::from_slice(x.shape()), ShapeVec::from_slice(axes)));
    let backward: Backward<(ShapeVec, ShapeVec)> = |(dims, axes), g, cx| {
        if g.ndim() == 0 && g.is_plain() && !cx.create_graph() {
            let layout = g.layout().broadcast_to(dims)?;
            return cx.give(0, g.into_layout(layout));
        }
        let g = reshape_dims(&g, &batched_dims(cx, &kept_dims(dims, axes)))?;
        cx.give_with(0, |cx| broadcast_to(&g, &batched_dims(cx, dims)))
    };
    let jvp: Backward<(ShapeVec, ShapeVec)> = |(dims, axes), t, cx| {
        let front = t.ndim() - dims.len();
        let axes: ShapeVec = axes.iter().map(|axis| front + axis).collect();
        let sum = sum_over(&t, &axes, false)?;
        cx.give_with(0, |cx| reshape_dims(&sum, &batched_output_dims(cx)))
    };
    record_unary(out, x, "sum", record, (backward, jvp))
}

/// `where` on operands of one dtype and shape.
pub(crate) fn select_by_mask(mask: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(mask.shape(), a.dtype())?;
    kernels::select(mask.view_of(), a.view_of(), b.view_of(), out.view_mut());
    record_output(out, &[a, b], |out| NodeSpec {
        name: "where",
        cost: 2.0 * move_cost(out),
        params: WhereParams,
        saved: smallvec![Save::value(mask, &[0, 1])],
        backward: |WhereParams, g, cx| {
            let mask = broadcast_to(&cx.saved(0)?, g.shape())?;
            let zero = broadcast_to(&Tensor::zeros(&[], g.dtype())?, g.shape())?;
            cx.give_with(0, |_| select_by_mask(&mask, &g, &zero))?;
            cx.give_with(1, |_| select_by_mask(&mask, &zero, &g))
        },
    })
}
