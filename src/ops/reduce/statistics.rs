//! `average`, `cov`, `corrcoef`, composed of recorded operations. Rows are variables unless `rowvar` is false.

use crate::array::{ShapeVec, normalize_axes};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::kernels::launch::decide;
use crate::kernels::sort::argsort_by;
use crate::ops::core::arguments::OneOrTuple;
use crate::ops::core::broadcast::{
    any_true, astype, broadcast_to, permute_axes, require_readable, reshape_dims, sum_over,
    swap_axes,
};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Axes, Operand, Scalar};
use crate::ops::core::view::{ViewStep, view_through};
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::elementwise::arithmetic::{DIVIDE, MULTIPLY, SUBTRACT};
use crate::ops::elementwise::compare::EQUAL;
use crate::ops::elementwise::complex::{complex, imag, real};
use crate::ops::elementwise::select::clip;
use crate::ops::elementwise::unary::sqrt;
use crate::ops::product::matmul::matmul;
use crate::ops::reduce::reductions::{count, finish_shape, mean_over, resolve_axes};
use crate::ops::shape::join::concatenate;
use crate::ops::shape::reshape::squeeze;
use crate::tensor::Tensor;

/// Weights broadcast against `x`: of its shape, or of the shape of the given axes.
fn broadcast_weights(x: &Tensor, weights: &Tensor, axis: &Axes) -> Result<Tensor> {
    if weights.shape() == x.shape() {
        return Ok(weights.clone());
    }
    let named = normalize_axes("average", axis.named().unwrap_or(&[]), x.ndim())?;
    let want: ShapeVec = named.iter().map(|&a| x.shape()[a]).collect();
    if named.is_empty() || weights.shape() != &want[..] {
        return Err(Box::new(Error::Shape {
            op: "average".into(),
            what: format!(
                "weights of shape {} for a tensor of shape {}",
                Dims::from(weights.shape()),
                Dims::from(x.shape())
            ),
            remedy: "give weights of the tensor's shape, or of the size of the axis named",
        }));
    }
    let order = argsort_by(named.len(), &|i, k| named[i].cmp(&named[k]));
    let mut dims = ShapeVec::from_elem(1, x.ndim());
    named.iter().for_each(|&a| dims[a] = x.shape()[a]);
    reshape_dims(&permute_axes(weights, &order)?, &dims)
}

/// `sum(x w) / sum(w)` over resolved axes, and `sum(w)`; the axes are kept with size 1.
fn weighted_mean(x: &Tensor, weights: &Tensor, axes: &[usize]) -> Result<(Tensor, Tensor)> {
    let total = sum_over(weights, axes, true)?;
    let zero = binary_scalar(&EQUAL, &total.detach(), Scalar::Int(0))?;
    if any_true(&zero)? {
        return Err(Box::new(Error::Argument {
            op: "average".into(),
            what: "the weights sum to 0".into(),
            remedy: "give weights with a sum other than 0".into(),
        }));
    }
    let sum = sum_over(&binary(&MULTIPLY, x, weights)?, axes, true)?;
    Ok((binary(&DIVIDE, &sum, &total)?, total))
}

/// Observations as a float64 or complex128 matrix, one variable per row.
fn observations(op: &'static str, x: &Tensor, rowvar: bool) -> Result<Tensor> {
    let x = astype(x, DType::F64.promote(x.dtype()))?;
    match x.ndim() {
        0 | 1 => reshape_dims(&x, &[1, x.size()]),
        2 if rowvar => Ok(x),
        2 => swap_axes(&x, 0, 1),
        n => Err(Box::new(Error::Shape {
            op: op.into(),
            what: format!("{n} dimensions"),
            remedy: "give a vector or a matrix",
        })),
    }
}

fn sample_weights(op: &'static str, weights: &Tensor, samples: usize) -> Result<Tensor> {
    if weights.shape() == [samples] {
        let weights = astype(weights, DType::F64)?;
        require_readable(op, &weights)?;
        // Returns the bits of a negative weight, which are never 0, or 0 if there is none.
        let negative = decide(op, &[weights.view_of()], |weights| {
            let negative = weights[0].find(|w: f64| w < 0.0);
            negative.map_or(0, |(_, weight)| weight.to_bits())
        });
        if negative != 0 {
            return Err(Box::new(Error::Argument {
                op: op.into(),
                what: format!("a weight of {}", f64::from_bits(negative)),
                remedy: "give weights of 0 or more".into(),
            }));
        }
        return Ok(weights);
    }
    Err(Box::new(Error::Shape {
        op: op.into(),
        what: format!(
            "weights of shape {} for {samples} observations",
            Dims::from(weights.shape())
        ),
        remedy: "give one weight per observation",
    }))
}

/// The weights of observations: repetitions (`fweights`) and importance (`aweights`).
struct Weights<'a> {
    frequency: Option<&'a Tensor>,
    importance: Option<&'a Tensor>,
}

/// The covariance of the rows of `x`, two-dimensional.
fn covariance(x: &Tensor, weights: &Weights<'_>, ddof: f64) -> Result<Tensor> {
    let samples = x.shape()[1];
    let read = |w: Option<&Tensor>| w.map(|w| sample_weights("cov", w, samples)).transpose();
    let (frequency, importance) = (read(weights.frequency)?, read(weights.importance)?);
    let all = match (&frequency, &importance) {
        (Some(f), Some(a)) => Some(binary(&MULTIPLY, f, a)?),
        (one, other) => one.clone().or(other.clone()),
    };
    let Some(all) = all else {
        let gap = binary(&SUBTRACT, x, &mean_over(x, &[1], true)?)?;
        let divisor = (samples as f64 - ddof).max(0.0);
        return binary_scalar(
            &DIVIDE,
            &matmul(&gap, &swap_axes(&conjugated(&gap)?, 0, 1)?)?,
            Scalar::Float(divisor),
        );
    };
    let row = reshape_dims(&all, &[1, samples])?;
    let (mean, total) = weighted_mean(x, &row, &[1])?;
    let total = reshape_dims(&total, &[])?;
    let lost = match &importance {
        Some(a) if ddof != 0.0 => {
            let squares = sum_over(&binary(&MULTIPLY, &all, a)?, &[0], false)?;
            binary_scalar(&MULTIPLY, &binary(&DIVIDE, &squares, &total)?, Scalar::Float(ddof))?
        }
        _ => Tensor::from(ddof),
    };
    let divisor = binary(&SUBTRACT, &total, &lost)?;
    let divisor = clip(&divisor, Some(&Operand::from(0.0)), None)?;
    let gap = binary(&SUBTRACT, x, &mean)?;
    let product = matmul(&binary(&MULTIPLY, &gap, &row)?, &swap_axes(&conjugated(&gap)?, 0, 1)?)?;
    binary(&DIVIDE, &product, &divisor)
}

/// Each part clipped to [-1, 1].
fn within_one(c: &Tensor) -> Result<Tensor> {
    if c.dtype().is_complex() {
        let part = |x: Tensor| Ok::<_, Box<Error>>(Operand::Tensor(within_one(&x)?));
        return complex(&part(real(c)?)?, &part(imag(c)?)?);
    }
    clip(c, Some(&Operand::from(-1.0)), Some(&Operand::from(1.0)))
}

/// The rows of `x` followed by those of `y`.
fn stack_variables(
    op: &'static str,
    x: &Tensor,
    y: Option<&Tensor>,
    rowvar: bool,
) -> Result<Tensor> {
    let rows = observations(op, x, rowvar)?;
    match y {
        None => Ok(rows),
        // As in NumPy, a second operand of one row stays a row whatever `rowvar` says.
        Some(y) => {
            let row = y.ndim() == 2 && y.shape()[0] == 1;
            concatenate(&[rows, observations(op, y, rowvar || row)?], Some(0))
        }
    }
}

crate::operations! { family "statistics" [float32];
    /// Weighted mean over the axes, `sum(x w) / sum(w)`; the plain mean without weights. Weights have the tensor's shape or that of the axes named. With `returned`, also the sums of the weights.
    [numpy("average")]
    fn average(x: Tensor, axis: Axes = Axes::All, weights: Option<Tensor> = None, keepdims: bool = false, returned: bool = false) -> OneOrTuple {
        let x = astype(x, x.dtype().to_float())?;
        let axes = resolve_axes("average", &axis, x.ndim())?;
        let (mean, total) = match weights {
            None => (mean_over(&x, &axes, true)?, Tensor::full(&[], Scalar::Float(count(&x, &axes) as f64), x.dtype())?),
            Some(weights) => {
                let weights = astype(weights, x.dtype().promote(weights.dtype()))?;
                weighted_mean(&x, &broadcast_weights(&x, &weights, &axis)?, &axes)?
            }
        };
        let dims = ShapeVec::from_slice(mean.shape());
        let mean = finish_shape(mean, &axes, keepdims)?;
        if !returned {
            return Ok(OneOrTuple::One(mean));
        }
        let total = finish_shape(broadcast_to(&astype(&total, mean.dtype())?, &dims)?.contiguous()?, &axes, keepdims)?;
        Ok(OneOrTuple::Tuple(vec![mean, total]))
    }
    /// Covariance matrix of variables (rows, or columns with `rowvar=False`) in float64, divided by `n - ddof` with `ddof` 1, or 0 with `bias`.
    [numpy("cov"), keywords(("correction", "ddof"), ("unbiased", "ddof"))]
    fn cov(x: Tensor, y: Option<Tensor> = None, rowvar: bool = true, bias: bool = false, ddof: Option<isize> = None, fweights: Option<Tensor> = None, aweights: Option<Tensor> = None) -> Tensor {
        let rows = stack_variables("cov", x, y, rowvar)?;
        let ddof = ddof.map_or(if bias { 0.0 } else { 1.0 }, |d| d as f64);
        squeeze(&covariance(&rows, &Weights { frequency: fweights, importance: aweights }, ddof)?, Axes::All)
    }
    /// Correlation coefficients of variables (rows, or columns with `rowvar=False`) in float64, from -1 to 1.
    [numpy("corrcoef")]
    fn corrcoef(x: Tensor, y: Option<Tensor> = None, rowvar: bool = true) -> Tensor {
        let rows = stack_variables("corrcoef", x, y, rowvar)?;
        let c = covariance(&rows, &Weights { frequency: None, importance: None }, 1.0)?;
        let n = c.shape()[0];
        let spread = sqrt(&view_through(&real(&c)?, "diagonal", [ViewStep::Diagonal { offset: 0, axis1: 0, axis2: 1 }])?)?;
        let c = binary(&DIVIDE, &c, &reshape_dims(&spread, &[n, 1])?)?;
        let c = binary(&DIVIDE, &c, &reshape_dims(&spread, &[1, n])?)?;
        // Rounding may push a perfect correlation beyond 1.
        let c = within_one(&c)?;
        if n == 1 { reshape_dims(&c, &[]) } else { Ok(c) }
    }
}
