//! The recorded ground that all operations stand on: conversion, arrangement, broadcasting and its adjoint.
//!
//! Owns: `astype`, `reshape_dims`, `permute_axes`, `broadcast_to`, `sum_to`, `sum_over` and `choose`, with resolved arguments.
//! Never reads arguments as users write them: the families above do that.
//! Invariant: the backward of a view is the inverse view, and nothing here uses an operation's family.

use smallvec::smallvec;

use crate::array::{Layout, ShapeVec, broadcast_shapes, capture, checked_numel, normalize_axis};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result, Warning, warn};
use crate::kernels::cast::cast_watched;
use crate::kernels::float_to_int::all_fit;
use crate::kernels::launch::decide;
use crate::kernels::{self, Reduction};
use crate::ops::core::structured::{
    Chosen, Record, Save, VIEW_COST, batched, finish, finish_one, move_cost, nothing,
};
use crate::tensor::Tensor;

/// The same values in another dtype; a tensor of that dtype is returned as it is.
pub fn astype(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype {
        return Ok(x.clone());
    }
    converted(x, Tensor::empty(x.shape(), dtype)?)
}

/// Says what a conversion that the user asked for loses: imaginary parts, and floats that no integer stands for. Values
/// that a program will replace are not read.
///
/// # Errors
/// What the host makes of the warning.
pub(crate) fn warn_of_loss(x: &Tensor, to: DType) -> Result<()> {
    let from = x.dtype();
    if !from.is_inexact() || to.is_inexact() && !(from.is_complex() && to.is_float()) {
        return Ok(());
    }
    if from.is_complex() && to != DType::Bool {
        warn(Warning::Imaginary)?;
    }
    if to.is_integer() && !capture::active() && !all_fit(x.view_of(), to) {
        warn(Warning::InvalidCast)?;
    }
    Ok(())
}

/// As `astype`, for a conversion that the user asked for.
pub(crate) fn cast_aloud(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype {
        return Ok(x.clone());
    }
    converted_aloud(x, Tensor::empty(x.shape(), dtype)?)
}

/// As `converted`, with what `warn_of_loss` says. Floats that become integers of 32 and 64 bits are looked at only where the
/// conversion has lost something.
pub(crate) fn converted_aloud(x: &Tensor, out: Tensor) -> Result<Tensor> {
    let to = out.dtype();
    if !x.dtype().is_float() || !matches!(to, DType::I32 | DType::I64) || capture::active() {
        warn_of_loss(x, to)?;
        return converted(x, out);
    }
    if cast_watched(x.view_of(), out.view_mut()) {
        warn_of_loss(x, to)?;
    }
    after_cast(x, out)
}

/// The dtype in which a function of real floats is computed.
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

/// A tensor in the dtype of `real_float`.
///
/// # Errors
/// `DType` for complex numbers.
pub(crate) fn as_real_float(op: &'static str, x: &Tensor) -> Result<Tensor> {
    astype(x, real_float(op, x.dtype())?)
}

/// The values of `x` in `out`, a new tensor of any dtype.
pub(crate) fn converted(x: &Tensor, out: Tensor) -> Result<Tensor> {
    kernels::cast(x.view_of(), out.view_mut());
    after_cast(x, out)
}

/// Records a conversion.
fn after_cast(x: &Tensor, out: Tensor) -> Result<Tensor> {
    finish(out, &[x], |out| Record {
        name: "astype",
        cost: move_cost(out),
        params: x.dtype(),
        saved: nothing(),
        backward: |dtype, g, cx| cx.give_with(0, |_| astype(&g, *dtype)),
    })
}

/// The same elements, in C order, under other dimensions; a view when the strides allow it.
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
    rearranged(x, out)
}

/// The element of a value under dimensions of 1, in memory of its own: writes to it must not reach the value.
pub(crate) fn with_axes(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let copy = x.duplicate()?;
    let layout = copy.layout().reshape(dims);
    rearranged(x, if let Some(layout) = layout { copy.into_layout(layout) } else { copy })
}

/// Records that `out` has the elements of `x` under other dimensions.
fn rearranged(x: &Tensor, out: Tensor) -> Result<Tensor> {
    let record = || (VIEW_COST, ShapeVec::from_slice(x.shape()));
    finish_one(out, x, "reshape", record, |dims, g, cx| {
        cx.give_with(0, |cx| reshape_dims(&g, &batched(cx, dims)))
    })
}

/// The axes in another order; a view.
pub(crate) fn permute_axes(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let out = x.with_layout(x.layout().permute(axes));
    let record = || {
        let mut inverse: ShapeVec = smallvec![0; axes.len()];
        axes.iter().enumerate().for_each(|(i, &axis)| inverse[axis] = i);
        (VIEW_COST, inverse)
    };
    finish_one(out, x, "permute", record, |inverse, g, cx| {
        let front = g.ndim() - inverse.len();
        let order: ShapeVec = (0..front).chain(inverse.iter().map(|axis| front + axis)).collect();
        cx.give_with(0, |_| permute_axes(&g, &order))
    })
}

/// Two axes exchanged; a view.
pub(crate) fn swap_axes(x: &Tensor, a: usize, b: usize) -> Result<Tensor> {
    let mut axes: ShapeVec = (0..x.ndim()).collect();
    axes.swap(a, b);
    permute_axes(x, &axes)
}

/// Repeats along new and size-1 axes without copying; the adjoint is `sum_to`.
pub fn broadcast_to(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    if x.shape() == dims {
        return Ok(x.clone());
    }
    let out = x.with_layout(x.layout().broadcast_to(dims)?);
    finish(out, &[x], |out| Record {
        name: "broadcast_to",
        cost: move_cost(out),
        params: ShapeVec::from_slice(x.shape()),
        saved: nothing(),
        backward: |dims, g, cx| cx.give_with(0, |cx| sum_to_behind(&g, cx.batch(), dims)),
    })
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

/// `sum_to` behind the axes `front`, which stay.
pub(crate) fn sum_to_behind(x: &Tensor, front: &[usize], dims: &[usize]) -> Result<Tensor> {
    if front.is_empty() {
        return sum_to(x, dims);
    }
    let mut aligned = ShapeVec::from_slice(front);
    aligned.resize(x.ndim().saturating_sub(dims.len()), 1);
    aligned.extend_from_slice(dims);
    reshape_dims(&sum_to(x, &aligned)?, &[front, dims].concat())
}

/// `x` and an axis of it; without an axis, the flattened tensor. A 0-d tensor counts as a vector of one.
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

/// Refuses complex numbers, for an operation that has no meaning for them.
pub(crate) fn real_numbers(op: &'static str, x: &Tensor) -> Result<()> {
    if !x.dtype().is_complex() {
        return Ok(());
    }
    Err(Box::new(Error::DType {
        op: op.into(),
        got: x.dtype(),
        remedy: "compute with x.real, x.imag or abs(x)",
    }))
}

/// A tensor of one axis, or an error that shows its shape.
pub(crate) fn vector<'a>(op: &'static str, x: &'a Tensor) -> Result<&'a Tensor> {
    if x.ndim() == 1 {
        return Ok(x);
    }
    Err(Box::new(Error::Shape {
        op: op.into(),
        what: format!("a tensor of shape {} where a vector is needed", Dims::from(x.shape())),
        remedy: "give a vector, as ravel() makes one",
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
    let any = reduced(Reduction::Any, mask, &axes, DType::Bool)?;
    Ok(decide("any", &[any.view_of()], |any| any[0].to_vec::<bool>()[0].into()) == 1)
}

/// The most elements that an operation reads one by one. No memory holds more: the tensor is an expanded one, and the
/// operation would not come to an end.
const MOST_READ: usize = 1 << 40;

/// Refuses a tensor of more elements than could be read one by one.
#[inline]
pub(crate) fn readable(op: &'static str, x: &Tensor) -> Result<()> {
    if x.size() <= MOST_READ {
        return Ok(());
    }
    Err(Box::new(Error::Argument {
        op: op.into(),
        what: format!("an expanded tensor of {} elements, all of which would be read", x.size()),
        remedy: "compute with the tensor before it was expanded".into(),
    }))
}

/// Runs a reduction kernel; the result keeps the axes as size 1.
pub(crate) fn reduced(op: Reduction, x: &Tensor, axes: &[usize], dtype: DType) -> Result<Tensor> {
    readable("reduction", x)?;
    let out = Tensor::empty(&kept_dims(x.shape(), axes), dtype)?;
    kernels::reduce(op, x.view_of(), axes, out.view_mut())?;
    Ok(out)
}

/// Sum over resolved axes.
pub(crate) fn sum_over(x: &Tensor, axes: &[usize], keepdims: bool) -> Result<Tensor> {
    let dtype = x.dtype().accumulates();
    let out = reduced(Reduction::Sum, x, axes, dtype)?;
    // The result's final shape is decided before recording: one node, not two.
    let dims =
        if keepdims { ShapeVec::from_slice(out.shape()) } else { dropped_dims(x.shape(), axes) };
    let out = out.into_layout(Layout::contiguous(&dims)?);
    let record = || (move_cost(x), (ShapeVec::from_slice(x.shape()), ShapeVec::from_slice(axes)));
    finish_one(out, x, "sum", record, |(dims, axes), g, cx| {
        if g.ndim() == 0 && g.is_plain() && !cx.create_graph() {
            let layout = g.layout().broadcast_to(dims)?;
            return cx.give(0, g.into_layout(layout));
        }
        let g = reshape_dims(&g, &batched(cx, &kept_dims(dims, axes)))?;
        cx.give_with(0, |cx| broadcast_to(&g, &batched(cx, dims)))
    })
}

/// The selection itself, on operands of one dtype and shape.
pub(crate) fn choose(mask: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(mask.shape(), a.dtype())?;
    kernels::select(mask.view_of(), a.view_of(), b.view_of(), out.view_mut());
    finish(out, &[a, b], |out| Record {
        name: "where",
        cost: 2.0 * move_cost(out),
        params: Chosen,
        saved: smallvec![Save::value(mask, &[0, 1])],
        backward: |Chosen, g, cx| {
            let mask = broadcast_to(&cx.saved(0)?, g.shape())?;
            let zero = broadcast_to(&Tensor::zeros(&[], g.dtype())?, g.shape())?;
            cx.give_with(0, |_| choose(&mask, &g, &zero))?;
            cx.give_with(1, |_| choose(&mask, &zero, &g))
        },
    })
}
