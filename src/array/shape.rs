//! Arithmetic on shapes: broadcasting, axis normalisation, element counts.
//!
//! Checks user input; what these functions return needs no further check.

use smallvec::SmallVec;

use crate::error::{Error, Result};

/// The most axes of an array, as in NumPy.
const MAX_AXES: usize = 64;

/// A list of dimensions or axes, four of them inline.
pub type ShapeVec = SmallVec<[usize; 4]>;

/// The broadcast shape of all `shapes`, by NumPy's rules.
pub fn broadcast_shapes(op: &'static str, shapes: &[&[usize]]) -> Result<ShapeVec> {
    let mut out = ShapeVec::from_slice(shapes.first().copied().unwrap_or(&[]));
    for &shape in shapes.get(1..).unwrap_or(&[]) {
        if shape == out.as_slice() {
            continue;
        }
        let seen = out.clone();
        for _ in out.len()..shape.len() {
            out.insert(0, 1);
        }
        let leading = out.len() - shape.len();
        for (dim, &other) in out[leading..].iter_mut().zip(shape) {
            match (*dim, other) {
                (a, b) if a == b => {}
                (1, b) => *dim = b,
                (_, 1) => {}
                _ => return Err(mismatch(op, &seen, shape)),
            }
        }
    }
    Ok(out)
}

#[cold]
fn mismatch(op: &'static str, a: &[usize], b: &[usize]) -> Box<Error> {
    Box::new(Error::Broadcast { op: op.into(), a: a.into(), b: b.into() })
}

/// A non-negative axis.
#[inline]
pub fn normalize_axis(op: &'static str, axis: isize, ndim: usize) -> Result<usize> {
    let n = ndim as isize;
    if axis < -n || axis >= n {
        return Err(Box::new(Error::Axis { op: op.into(), axis, ndim }));
    }
    Ok(if axis < 0 { axis + n } else { axis } as usize)
}

/// Whether `axis` is 0 or -1 of a 0-d array, which PyTorch accepts although there is no axis.
pub fn is_axis_of_scalar(axis: isize, ndim: usize) -> bool {
    ndim == 0 && matches!(axis, 0 | -1)
}

/// Non-negative axes in the given order, without repetition.
pub fn normalize_axes(op: &'static str, axes: &[isize], ndim: usize) -> Result<ShapeVec> {
    let mut out = ShapeVec::new();
    for &axis in axes {
        let normal = normalize_axis(op, axis, ndim)?;
        if out.contains(&normal) {
            return Err(Box::new(Error::RepeatedAxis { op: op.into(), axis }));
        }
        out.push(normal);
    }
    Ok(out)
}

/// The number of elements of a shape; `TooLarge` when 8-byte elements would not be addressable.
///
/// With a dimension of 0, the product of the others must be addressable as well, so that strides never overflow.
pub fn checked_numel(op: &'static str, dims: &[usize]) -> Result<usize> {
    if dims.len() > MAX_AXES {
        return Err(too_many(op, dims.len()));
    }
    let mut numel = 1usize;
    let mut empty = false;
    for &d in dims {
        empty |= d == 0;
        match numel.checked_mul(d.max(1)) {
            Some(n) if n <= isize::MAX as usize / 8 => numel = n,
            _ => return Err(too_large(op, dims)),
        }
    }
    Ok(if empty { 0 } else { numel })
}

#[cold]
fn too_many(op: &'static str, ndim: usize) -> Box<Error> {
    Box::new(Error::Shape {
        op: op.into(),
        what: format!("{ndim} dimensions"),
        remedy: "use at most 64",
    })
}

#[cold]
fn too_large(op: &'static str, dims: &[usize]) -> Box<Error> {
    Box::new(Error::TooLarge { op: op.into(), dims: dims.into() })
}
