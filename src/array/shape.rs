//! Arithmetic on shapes: broadcasting, axis normalisation, element counts.
//!
//! Owns: the checks that turn a user's axes and shapes into valid ones. Never sees strides or data.
//! Invariant: what these functions return needs no further check.

use smallvec::SmallVec;

use crate::error::{Error, Result};

/// The most axes of an array, as in NumPy.
const MOST_AXES: usize = 64;

/// A list of dimensions or axes; four fit without the heap.
pub type ShapeVec = SmallVec<[usize; 4]>;

/// The shape that all of `shapes` broadcast to, by NumPy's rules.
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
        let lead = out.len() - shape.len();
        for (have, &want) in out[lead..].iter_mut().zip(shape) {
            match (*have, want) {
                (a, b) if a == b => {}
                (1, b) => *have = b,
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

/// An axis counted from the front.
#[inline]
pub fn normalize_axis(op: &'static str, axis: isize, ndim: usize) -> Result<usize> {
    let n = ndim as isize;
    if axis < -n || axis >= n {
        return Err(Box::new(Error::Axis { op: op.into(), axis, ndim }));
    }
    Ok(if axis < 0 { axis + n } else { axis } as usize)
}

/// Whether an axis is the first one of a number, which PyTorch lets name it although there is none.
pub fn is_axis_of_number(axis: isize, ndim: usize) -> bool {
    ndim == 0 && matches!(axis, 0 | -1)
}

/// Axes counted from the front, in the order given, each at most once.
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

/// The number of elements of a shape; an error when 8-byte elements would not be addressable.
///
/// A dimension of 0 does not excuse the others: their product must be addressable, too, so that
/// strides never overflow.
pub fn checked_numel(op: &'static str, dims: &[usize]) -> Result<usize> {
    if dims.len() > MOST_AXES {
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
