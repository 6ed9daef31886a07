//! Regression losses (squared, absolute, Huber, smooth L1), cosine similarity, and `reduce`, which
//! all losses use.
//!
//! Losses do not broadcast: unequal shapes are nearly always a mistake. Invariant: "none" keeps the
//! shape; "sum" and "mean" give a scalar.

use crate::array::normalize_axis;
use crate::error::{Dims, Error, Result};
use crate::ops::core::broadcast::{astype, sum_over};
use crate::ops::core::elementwise::{binary, binary_scalar, unary_with};
use crate::ops::core::op_decl::{Axes, Scalar};
use crate::ops::elementwise::arithmetic::{DIVIDE, MAXIMUM, MULTIPLY, SUBTRACT};
use crate::ops::reduce::norms::root;
use crate::tensor::Tensor;

elementwise_specs! {
    /// `(a - b)²`. Derivatives: `2 g (a - b)` and its negative.
    fn squared_error(a, b) = SQUARED_ERROR {
        forward { float: |a, b| (a - b) * (a - b); cost: 0.3; }
        by a { float |g, a, b| g * (a - b) * 2.0 }
        by b { float |g, a, b| g * (b - a) * 2.0 }
    }
    /// `|a - b|`. Derivatives: `g sign(a - b)` and its negative, 0 where they are equal.
    fn absolute_error(a, b) = ABSOLUTE_ERROR {
        forward { float: |a, b| (a - b).abs(); cost: 0.3; }
        by a { float |g, a, b| g * (a - b).sign() }
        by b { float |g, a, b| g * (b - a).sign() }
    }
    /// `x² / 2` up to `delta`, `delta (|x| - delta / 2)` beyond. Derivative: `g` times `x` limited to ±delta.
    fn huber(x; delta = 1.0) = HUBER {
        forward { float: |x; delta| {
            let d = x.abs();
            R::select(d.le(delta), x * x * 0.5, delta * (d - delta * 0.5))
        }; cost: 0.4; }
        by x { float |g, x; delta| g * R::select(x.abs().le(delta), x, delta * x.sign()) }
    }
    /// `x² / (2 beta)` below `beta`, `|x| - beta / 2` from there. Derivative: `g x / beta`, `g sign(x)`.
    fn smooth_l1(x; beta = 1.0) = SMOOTH_L1 {
        forward { float: |x; beta| {
            let d = x.abs();
            R::select(d.lt(beta), x * x * 0.5 / beta, d - beta * 0.5)
        }; cost: 0.5; }
        by x { float |g, x; beta| g * R::select(x.abs().lt(beta), x / beta, x.sign()) }
    }
}

/// Applies a loss's `reduction` argument.
pub(crate) fn reduce(op: &'static str, losses: &Tensor, reduction: &str) -> Result<Tensor> {
    match reduction {
        "mean" => losses.mean(Axes::All, false, None),
        "sum" => losses.sum_all(),
        "none" => Ok(losses.clone()),
        other => Err(unknown_reduction(op, other)),
    }
}

#[cold]
pub(crate) fn unknown_reduction(op: &'static str, reduction: &str) -> Box<Error> {
    Box::new(Error::Argument {
        op: op.into(),
        what: format!("reduction={reduction:?}"),
        remedy: "use \"mean\", \"sum\" or \"none\"".into(),
    })
}

/// Checks that two operands have one shape and casts them to their common float dtype.
pub(super) fn same_shape_floats(
    op: &'static str,
    x: &Tensor,
    target: &Tensor,
) -> Result<(Tensor, Tensor)> {
    if x.shape() != target.shape() {
        return Err(Box::new(Error::Shape {
            op: op.into(),
            what: format!(
                "input of shape {} and target of shape {}",
                Dims::from(x.shape()),
                Dims::from(target.shape())
            ),
            remedy: "give equal shapes; reshape or broadcast one of them first",
        }));
    }
    let dtype = x.dtype().promote(target.dtype()).to_float();
    Ok((astype(x, dtype)?, astype(target, dtype)?))
}

/// Refuses a parameter below a bound (or equal to it, if `strict`).
fn check_at_least(
    op: &'static str,
    name: &str,
    value: f64,
    bound: f64,
    strict: bool,
) -> Result<()> {
    if value > bound || (!strict && value == bound) {
        return Ok(());
    }
    Err(Box::new(Error::Argument {
        op: op.into(),
        what: format!("{name}={value}"),
        remedy: format!("give a number {} {bound}", if strict { "above" } else { "of at least" }),
    }))
}

/// The norm of vectors along an axis, at least `eps`.
fn clamped_norm(x: &Tensor, axis: usize, eps: f64) -> Result<Tensor> {
    let squares = sum_over(&binary(&MULTIPLY, x, x)?, &[axis], false)?;
    binary_scalar(&MAXIMUM, &root(&squares)?, Scalar::Float(eps))
}

crate::operations! { family "losses" [float32];
    /// Squared differences: their mean, their sum, or all of them. Derivative: `2 g (x - target)`, over n for the mean.
    [namespace("nn.functional"), core_function("_mse_loss")]
    fn mse_loss(x: Tensor, target: Tensor, reduction: String = "mean".to_owned()) -> Tensor {
        let (x, target) = same_shape_floats("mse_loss", x, target)?;
        reduce("mse_loss", &binary(&SQUARED_ERROR, &x, &target)?, &reduction)
    }
    /// Absolute differences: their mean, their sum, or all of them. Derivative: `g sign(x - target)`, 0 where they are equal, over n for the mean.
    [namespace("nn.functional"), core_function("_l1_loss")]
    fn l1_loss(x: Tensor, target: Tensor, reduction: String = "mean".to_owned()) -> Tensor {
        let (x, target) = same_shape_floats("l1_loss", x, target)?;
        reduce("l1_loss", &binary(&ABSOLUTE_ERROR, &x, &target)?, &reduction)
    }
    /// `d² / 2` up to `delta` and `delta (|d| - delta / 2)` beyond, `d = x - target`. Derivative: `g` times `d` limited to ±delta.
    [namespace("nn.functional"), core_function("_huber_loss")]
    fn huber_loss(x: Tensor, target: Tensor, reduction: String = "mean".to_owned(), delta: f64 = 1.0) -> Tensor {
        check_at_least("huber_loss", "delta", delta, 0.0, true)?;
        let (x, target) = same_shape_floats("huber_loss", x, target)?;
        reduce("huber_loss", &unary_with(&HUBER, &binary(&SUBTRACT, &x, &target)?, &[delta])?, &reduction)
    }
    /// `d² / (2 beta)` below `beta` and `|d| - beta / 2` from there, `d = x - target`. Derivative: `g d / beta`, and `g sign(d)`.
    [namespace("nn.functional")]
    fn smooth_l1_loss(x: Tensor, target: Tensor, reduction: String = "mean".to_owned(), beta: f64 = 1.0) -> Tensor {
        check_at_least("smooth_l1_loss", "beta", beta, 0.0, false)?;
        if beta == 0.0 {
            return l1_loss(x, target, reduction);
        }
        let (x, target) = same_shape_floats("smooth_l1_loss", x, target)?;
        reduce("smooth_l1_loss", &unary_with(&SMOOTH_L1, &binary(&SUBTRACT, &x, &target)?, &[beta])?, &reduction)
    }
    /// The cosine of the angle between vectors along an axis; lengths count as at least `eps`. Derivative: that of `x1·x2 / (|x1| |x2|)`, finite at zero.
    [namespace("nn.functional")]
    fn cosine_similarity(x1: Tensor, x2: Tensor, axis: isize = 1, eps: f64 = 1e-8) -> Tensor {
        let dtype = x1.dtype().promote(x2.dtype()).to_float();
        let (a, b) = (astype(x1, dtype)?, astype(x2, dtype)?);
        let product = binary(&MULTIPLY, &a, &b)?;
        let axis = normalize_axis("cosine_similarity", axis, product.ndim())?;
        let expand = |x: &Tensor| crate::ops::core::broadcast::broadcast_to(x, product.shape());
        let lengths = binary(&MULTIPLY, &clamped_norm(&expand(&a)?, axis, eps)?, &clamped_norm(&expand(&b)?, axis, eps)?)?;
        binary(&DIVIDE, &sum_over(&product, &[axis], false)?, &lengths)
    }
}
