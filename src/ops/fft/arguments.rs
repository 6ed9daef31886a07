//! The arguments that all transforms share: lengths, axes, norms, dtypes.
//!
//! Owns: their reading, with NumPy's defaults and errors. Never transforms.
//! Invariant: what leaves here is a line of at least one point along each axis that exists.

use crate::array::{ShapeVec, normalize_axes, normalize_axis};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ops::core::broadcast::astype;
use crate::ops::core::op_decl::Axes;
use crate::ops::fft::transforms::Way;
use crate::tensor::Tensor;

#[cold]
pub(super) fn wrong(op: &'static str, what: String, remedy: &str) -> Box<Error> {
    Box::new(Error::Argument { op: op.into(), what, remedy: remedy.into() })
}

/// Complex numbers of the operand's precision; integers count as float64.
pub(super) fn as_complex(x: &Tensor) -> Result<Tensor> {
    let dtype = if x.dtype().is_inexact() { x.dtype().to_complex() } else { DType::C128 };
    astype(x, dtype)
}

/// Floats of the operand's precision, float16 as float32 and integers as float64; complex numbers are refused.
pub(super) fn as_real(op: &'static str, x: &Tensor) -> Result<Tensor> {
    let dtype = match x.dtype() {
        complex if complex.is_complex() => {
            return Err(Box::new(Error::ArgumentType {
                op: op.into(),
                what: format!("{complex} values, where the transform is one of real numbers"),
                remedy: "use fft for complex values, or take their real part".into(),
            }));
        }
        float if float.is_float() => float.computes(),
        _ => DType::F64,
    };
    astype(x, dtype)
}

/// How a norm spreads the factor `1/n` over the two directions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Norm {
    Backward,
    Ortho,
    Forward,
}

impl Norm {
    pub(super) fn read(op: &'static str, norm: Option<String>) -> Result<Norm> {
        match norm.as_deref() {
            None | Some("backward") => Ok(Norm::Backward),
            Some("ortho") => Ok(Norm::Ortho),
            Some("forward") => Ok(Norm::Forward),
            Some(other) => {
                let what = format!("Invalid norm value {other}");
                Err(wrong(op, what, "it should be \"backward\", \"ortho\" or \"forward\""))
            }
        }
    }

    /// The way of a transform of so many points.
    pub(super) fn way(self, forward: bool, points: usize) -> Way {
        let n = points.max(1) as f64;
        let factor = match self {
            Norm::Ortho => 1.0 / n.sqrt(),
            Norm::Forward if forward => 1.0 / n,
            Norm::Backward if !forward => 1.0 / n,
            _ => 1.0,
        };
        Way { forward, factor }
    }
}

/// A number of points of at least one.
pub(super) fn points(op: &'static str, n: i64) -> Result<usize> {
    match usize::try_from(n) {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(wrong(
            op,
            format!("Invalid number of FFT data points ({n}) specified"),
            "give at least 1",
        )),
    }
}

/// One axis, and the number of points along it.
pub(super) fn line(
    op: &'static str,
    x: &Tensor,
    n: Option<isize>,
    axis: isize,
) -> Result<(usize, usize)> {
    let axis = normalize_axis(op, axis, x.ndim())?;
    let n = points(op, n.map_or(x.shape()[axis] as i64, |n| n as i64))?;
    Ok((axis, n))
}

/// Several axes and the length along each that was asked for, if one was. Without axes those of the lengths, which are
/// the last ones, or all; -1 stands for the length that is there.
pub(super) fn area(
    op: &'static str,
    x: &Tensor,
    s: Option<&[i64]>,
    axes: &Axes,
) -> Result<(ShapeVec, Vec<Option<i64>>)> {
    let axes = match (axes.named(), s) {
        (Some(named), _) => {
            let each = |&axis: &isize| normalize_axes(op, &[axis], x.ndim());
            named.iter().map(each).collect::<Result<Vec<_>>>()?.concat().into()
        }
        (None, None) => (0..x.ndim()).collect(),
        (None, Some(s)) => match x.ndim().checked_sub(s.len()) {
            Some(first) => (first..x.ndim()).collect::<ShapeVec>(),
            None => {
                let what = format!("{} lengths for {} axes", s.len(), x.ndim());
                return Err(wrong(op, what, "give at most one length for each axis"));
            }
        },
    };
    let Some(s) = s else {
        let none = axes.iter().map(|_| None).collect();
        return Ok((axes, none));
    };
    if s.len() != axes.len() {
        let what = format!("Shape and axes have different lengths: {} and {}", s.len(), axes.len());
        return Err(wrong(op, what, "give one length for each axis"));
    }
    Ok((axes, s.iter().map(|&n| (n != -1).then_some(n)).collect()))
}

/// The points along axes: the lengths asked for, or those of the tensor.
pub(super) fn sizes(
    op: &'static str,
    x: &Tensor,
    axes: &[usize],
    asked: &[Option<i64>],
) -> Result<ShapeVec> {
    axes.iter()
        .zip(asked)
        .map(|(&axis, asked)| points(op, asked.unwrap_or(x.shape()[axis] as i64)))
        .collect()
}

/// Refuses an axis that is named twice where lengths would not say which is meant.
pub(super) fn each_once(op: &'static str, axes: &[usize]) -> Result<()> {
    match axes.iter().enumerate().find(|(i, axis)| axes[..*i].contains(axis)) {
        None => Ok(()),
        Some((_, axis)) => {
            Err(wrong(op, format!("axis {axis} is named twice"), "name every axis once"))
        }
    }
}
