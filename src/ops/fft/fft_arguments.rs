//! Arguments shared by all transforms: lengths, axes, norms, dtypes, with NumPy's defaults and
//! errors.
//!
//! Invariant: every resolved axis exists and has at least one point.

use crate::array::{ShapeVec, normalize_axes, normalize_axis};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ops::core::broadcast::astype;
use crate::ops::core::op_decl::Axes;
use crate::ops::fft::transforms::TransformSpec;
use crate::tensor::Tensor;

#[cold]
pub(super) fn argument_error(op: &'static str, what: String, remedy: &str) -> Box<Error> {
    Box::new(Error::Argument { op: op.into(), what, remedy: remedy.into() })
}

/// Casts to the complex dtype of the operand's precision; integers to complex128.
pub(super) fn as_complex(x: &Tensor) -> Result<Tensor> {
    let dtype = if x.dtype().is_inexact() { x.dtype().to_complex() } else { DType::C128 };
    astype(x, dtype)
}

/// Casts to the float dtype of the operand's precision: float16 to float32, integers to float64.
/// Complex numbers are refused.
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

/// Which direction carries the factor `1/n`.
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
                Err(argument_error(op, what, "it should be \"backward\", \"ortho\" or \"forward\""))
            }
        }
    }

    /// Direction and factor of a transform with this many points.
    pub(super) fn spec(self, forward: bool, num_points: usize) -> TransformSpec {
        let n = num_points.max(1) as f64;
        let factor = match self {
            Norm::Ortho => 1.0 / n.sqrt(),
            Norm::Forward if forward => 1.0 / n,
            Norm::Backward if !forward => 1.0 / n,
            _ => 1.0,
        };
        TransformSpec { forward, factor }
    }
}

/// Checks that a number of points is at least 1.
pub(super) fn check_points(op: &'static str, n: i64) -> Result<usize> {
    match usize::try_from(n) {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(argument_error(
            op,
            format!("Invalid number of FFT data points ({n}) specified"),
            "give at least 1",
        )),
    }
}

/// Resolves one axis and the number of points along it.
pub(super) fn resolve_axis(
    op: &'static str,
    x: &Tensor,
    n: Option<isize>,
    axis: isize,
) -> Result<(usize, usize)> {
    let axis = normalize_axis(op, axis, x.ndim())?;
    let n = check_points(op, n.map_or(x.shape()[axis] as i64, |n| n as i64))?;
    Ok((axis, n))
}

/// Resolves several axes and the requested length of each. Without `axes`: the last `s.len()` axes,
/// or all. A length of -1 keeps the axis as it is.
pub(super) fn resolve_axes(
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
                return Err(argument_error(op, what, "give at most one length for each axis"));
            }
        },
    };
    let Some(s) = s else {
        let none = axes.iter().map(|_| None).collect();
        return Ok((axes, none));
    };
    if s.len() != axes.len() {
        let what = format!("Shape and axes have different lengths: {} and {}", s.len(), axes.len());
        return Err(argument_error(op, what, "give one length for each axis"));
    }
    Ok((axes, s.iter().map(|&n| (n != -1).then_some(n)).collect()))
}

/// The number of points along each axis: the requested length, or that of the tensor.
pub(super) fn resolve_lengths(
    op: &'static str,
    x: &Tensor,
    axes: &[usize],
    requested: &[Option<i64>],
) -> Result<ShapeVec> {
    axes.iter()
        .zip(requested)
        .map(|(&axis, requested)| check_points(op, requested.unwrap_or(x.shape()[axis] as i64)))
        .collect()
}

/// Refuses repeated axes, for which lengths would be ambiguous.
pub(super) fn refuse_repeated_axes(op: &'static str, axes: &[usize]) -> Result<()> {
    match axes.iter().enumerate().find(|(i, axis)| axes[..*i].contains(axis)) {
        None => Ok(()),
        Some((_, axis)) => {
            Err(argument_error(op, format!("axis {axis} is named twice"), "name every axis once"))
        }
    }
}
