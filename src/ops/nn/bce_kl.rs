//! Losses of probabilities and log-probabilities: binary cross entropies and the Kullback-Leibler
//! divergence.
//!
//! Logits stay logits: no logarithm of a sigmoid is taken. Invariant: a target of 0 or 1 gives a
//! finite loss for finite logits.

use super::loss::{reduce, same_shape_floats};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::launch::decide;
use crate::ops::core::broadcast::astype;
use crate::ops::core::elementwise::{binary, binary_scalar, scalar_binary, unary};
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::elementwise::activation::SOFTPLUS;
use crate::ops::elementwise::arithmetic::{ADD, MULTIPLY, SUBTRACT};
use crate::ops::elementwise::compare::{EQUAL, LOGICAL_AND};
use crate::ops::elementwise::select::where_;
use crate::tensor::Tensor;

elementwise_specs! {
    /// `-b ln a - (1 - b) ln(1 - a)`, logarithms limited to -100. Derivatives: `g (a - b) / (a (1 - a))`, and `g (ln(1 - a) - ln a)`.
    fn bce(a, b) = BCE {
        forward { float: |a, b| (b - 1.0) * (-a).log1p().max(R::lit(-100.0)) - b * a.ln().max(R::lit(-100.0)); cost: 2.5; }
        by a { float |g, a, b| g * (a - b) / ((1.0 - a) * a).max(R::lit(1e-12)) }
        by b { float |g, a| g * ((-a).log1p().max(R::lit(-100.0)) - a.ln().max(R::lit(-100.0))) }
    }
    /// `bce(sigmoid(a), b)` without the sigmoid. Derivatives: `g (sigmoid(a) - b)` and `-g a`.
    fn bce_with_logits(a, b) = BCE_WITH_LOGITS {
        forward { float: |a, b| {
            // A certain correct prediction has loss 0, also at an infinite logit.
            let wrong = R::select(a.gt(R::lit(0.0)), 1.0 - b, b);
            R::select(wrong.eq(R::lit(0.0)), R::lit(0.0), a.abs() * wrong) + (-a.abs()).exp().log1p()
        }; cost: 2.0; }
        by a { float |g, a, b| g * (a.sigmoid() - b) }
        by b { float |g, a| -g * a }
    }
    /// `b (ln b - a)`, 0 where `b` is 0. Derivatives: `-g b`, and `g (ln b + 1 - a)`, 0 where `b` is 0.
    fn pointwise_kl_div(a, b) = POINTWISE_KL_DIV {
        forward { float: |a, b| {
            let some = b.ne(R::lit(0.0));
            R::select(some, b * (R::select(some, b, R::lit(1.0)).ln() - a), R::lit(0.0))
        }; cost: 1.2; }
        by a { float |g, b| -g * b }
        by b { float |g, a, b| {
            let some = b.ne(R::lit(0.0));
            R::select(some, g * (R::select(some, b, R::lit(1.0)).ln() + 1.0 - a), R::lit(0.0))
        } }
    }
    /// `e^b (b - a)`. Derivatives: `-g e^b` and `g e^b (b - a + 1)`.
    fn pointwise_kl_div_log_target(a, b) = POINTWISE_KL_DIV_LOG_TARGET {
        forward { float: |a, b| b.exp() * (b - a); cost: 1.0; }
        by a { float |g, b| -g * b.exp() }
        by b { float |g, a, b| g * b.exp() * (b - a + 1.0) }
    }
}

/// Multiplies losses by broadcast weights.
fn apply_weight(losses: Tensor, weight: Option<&Tensor>) -> Result<Tensor> {
    match weight {
        Some(weight) => binary(&MULTIPLY, &losses, weight),
        None => Ok(losses),
    }
}

/// Refuses values outside 0..1; NaN passes and shows in the loss.
fn check_probabilities(x: &Tensor) -> Result<()> {
    let x = astype(&x.detach(), DType::F64)?;
    let outside = |p: f64| !(p.is_nan() || (0.0..=1.0).contains(&p));
    let index = decide("binary_cross_entropy", &[x.view_of()], move |x| {
        x[0].find(outside).map_or(u64::MAX, |(at, _)| at as u64)
    });
    match if index == u64::MAX { None } else { x.view_of().find(outside) } {
        None => Ok(()),
        Some((_, p)) => Err(Box::new(Error::Argument {
            op: "binary_cross_entropy".into(),
            what: format!("the input holds {p}, which is no probability"),
            remedy: "apply sigmoid first, or use binary_cross_entropy_with_logits".into(),
        })),
    }
}

crate::operations! { family "losses" [float32];
    /// Cross entropy of probabilities `x` against targets in 0..1; logarithms are limited to -100; an `x` outside 0..1 is refused. Derivative: `g (x - target) / (x (1 - x))`.
    [namespace("nn.functional")]
    fn binary_cross_entropy(x: Tensor, target: Tensor, weight: Option<Tensor> = None, reduction: String = "mean".to_owned()) -> Tensor {
        let (x, target) = same_shape_floats("binary_cross_entropy", x, target)?;
        check_probabilities(&x)?;
        let losses = apply_weight(binary(&BCE, &x, &target)?, weight)?;
        reduce("binary_cross_entropy", &losses, &reduction)
    }
    /// Cross entropy of the sigmoid of logits `x` against targets in 0..1; `pos_weight` multiplies the loss of positive targets. Derivative: `g (sigmoid(x) - target)`.
    [namespace("nn.functional")]
    fn binary_cross_entropy_with_logits(x: Tensor, target: Tensor, weight: Option<Tensor> = None, reduction: String = "mean".to_owned(), pos_weight: Option<Tensor> = None) -> Tensor {
        let (x, target) = same_shape_floats("binary_cross_entropy_with_logits", x, target)?;
        let mut losses = binary(&BCE_WITH_LOGITS, &x, &target)?;
        if let Some(pos_weight) = pos_weight {
            // The loss of positive targets once more, pos_weight - 1 times.
            let extra = binary(&MULTIPLY, &target, &binary_scalar(&SUBTRACT, pos_weight, Scalar::Float(1.0))?)?;
            let positive = unary(&SOFTPLUS, &x.negative()?)?;
            let more = binary(&MULTIPLY, &extra, &positive)?;
            // Only 0 times infinity is replaced by 0, so that a finite loss keeps its derivatives
            // with respect to target and weight.
            let none = binary(
                &LOGICAL_AND,
                &binary_scalar(&EQUAL, &extra.detach(), Scalar::Float(0.0))?,
                &binary_scalar(&EQUAL, &positive.detach(), Scalar::Float(f64::INFINITY))?,
            )?;
            let zero = Operand::Scalar(Scalar::Float(0.0));
            losses = binary(&ADD, &losses, &where_(&none, &zero, &Operand::Tensor(more))?)?;
        }
        reduce("binary_cross_entropy_with_logits", &apply_weight(losses, weight)?, &reduction)
    }
    /// Kullback-Leibler divergence of log-probabilities `x` from `target`, probabilities or (log_target) their logarithms; "batchmean" divides the sum by the first dimension, where there is one. Derivative: `-g target`.
    [namespace("nn.functional")]
    fn kl_div(x: Tensor, target: Tensor, reduction: String = "mean".to_owned(), log_target: bool = false) -> Tensor {
        let (x, target) = same_shape_floats("kl_div", x, target)?;
        let losses = binary(if log_target { &POINTWISE_KL_DIV_LOG_TARGET } else { &POINTWISE_KL_DIV }, &x, &target)?;
        if reduction != "batchmean" {
            return reduce("kl_div", &losses, &reduction);
        }
        let rows = losses.shape().first().copied().unwrap_or(1);
        scalar_binary(&MULTIPLY, Scalar::Float(1.0 / rows as f64), &losses.sum_all()?)
    }
}
