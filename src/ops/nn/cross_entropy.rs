//! Cross entropy and negative log-likelihood, with class indices or probabilities as targets.
//!
//! Class weights, ignored rows, label smoothing, any number of axes. Invariant: classes are axis 1
//! (axis 0 of a vector); an ignored row contributes neither to the sum nor to its divisor.

use smallvec::SmallVec;

use super::loss::{reduce, unknown_reduction};
use crate::array::ShapeVec;
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::kernels::launch::decide;
use crate::ops::core::broadcast::{any_true, as_real_float, astype, reshape_dims, sum_over};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::elementwise::arithmetic::{ADD, DIVIDE, MULTIPLY};
use crate::ops::elementwise::compare::{EQUAL, NOT_EQUAL};
use crate::ops::elementwise::select::where_;
use crate::ops::index::gather::gather;
use crate::ops::reduce::softmax::{class_losses, log_softmax_axis};
use crate::tensor::Tensor;

/// Logits with the classes at axis 1, and the final shape of the losses.
struct ClassRows {
    x: Tensor,
    dims: ShapeVec,
}

impl ClassRows {
    fn classes(&self) -> usize {
        self.x.shape()[1]
    }

    /// Reshapes a vector of one number per class to broadcast with the logits.
    fn broadcast_per_class(&self, weight: &Tensor) -> Result<Tensor> {
        let mut dims: ShapeVec = SmallVec::from_elem(1, self.x.ndim() - 1);
        dims[0] = weight.size();
        reshape_dims(weight, &dims)
    }
}

fn class_rows(op: &'static str, x: &Tensor) -> Result<ClassRows> {
    let mut dims = ShapeVec::from_slice(x.shape());
    match dims.len() {
        0 => Err(Box::new(Error::Shape {
            op: op.into(),
            what: "an input of 0 dimensions".into(),
            remedy: "give (classes), (rows, classes) or (rows, classes, …)",
        })),
        1 => Ok(ClassRows { x: reshape_dims(x, &[1, x.size()])?, dims: ShapeVec::new() }),
        _ => {
            dims.remove(1);
            Ok(ClassRows { x: x.clone(), dims })
        }
    }
}

#[cold]
fn shape_error(op: &'static str, x: &Tensor, what: &str, target: &Tensor) -> Box<Error> {
    Box::new(Error::Shape {
        op: op.into(),
        what: format!(
            "input of shape {} and {what} of shape {}",
            Dims::from(x.shape()),
            Dims::from(target.shape())
        ),
        remedy: "classes are axis 1 of the input; class numbers have its shape without that axis, probabilities the whole, weights one element per class",
    })
}

const INTEGERS: &str = "give integers, for example target.astype(fg.int64)";
const CLASSES: &str = "give class numbers as integers, target.astype(fg.int64), or probabilities of the input's shape";

/// The error for a target with the right shape but a wrong dtype.
#[cold]
fn dtype_error(op: &'static str, what: &str, target: &Tensor, remedy: &'static str) -> Box<Error> {
    Box::new(Error::Unsupported {
        op: op.into(),
        what: format!("{what} of dtype {}", target.dtype()),
        remedy,
    })
}

/// Checks and casts the class weights.
fn class_weights(
    op: &'static str,
    x: &Tensor,
    rows: &ClassRows,
    weight: Option<&Tensor>,
) -> Result<Option<Tensor>> {
    match weight {
        None => Ok(None),
        Some(w) if w.shape() == [rows.classes()] => astype(w, rows.x.dtype()).map(Some),
        Some(w) => Err(shape_error(op, x, "weight", w)),
    }
}

/// Checks the class indices of the rows and casts them to int64.
fn class_indices(
    op: &'static str,
    x: &Tensor,
    rows: &ClassRows,
    target: &Tensor,
    ignore: i64,
) -> Result<Tensor> {
    let is_integer = target.dtype() != DType::Bool && !target.dtype().is_inexact();
    if target.shape() == x.shape() && op == "cross_entropy" {
        return Err(dtype_error(op, "probabilities", target, "give probabilities as floats"));
    }
    if target.shape() != &rows.dims[..] {
        return Err(shape_error(op, x, &format!("{} target", target.dtype()), target));
    }
    if !is_integer {
        return Err(dtype_error(op, "class numbers", target, INTEGERS));
    }
    let classes = rows.classes();
    let indices =
        reshape_dims(&astype(&target.detach(), DType::I64)?, &[target.size()])?.contiguous()?;
    let wrong = move |t: i64| t != ignore && !(0..classes as i64).contains(&t);
    let index = decide(op, &[indices.view_of()], move |indices| {
        indices[0].find(wrong).map_or(u64::MAX, |(at, _)| at as u64)
    });
    match if index == u64::MAX { None } else { indices.view_of().find(wrong) } {
        Some((_, class)) => Err(Box::new(Error::BadIndex {
            op: op.into(),
            what: format!("class {class} of {classes} classes"),
            remedy: "number the classes from 0; rows of the class ignore_index are left out",
        })),
        None => Ok(indices),
    }
}

/// Picks one element of each row along axis 1 by its class index; 0 for ignored rows.
fn pick_class(table: &Tensor, indices: &Tensor, ignore: i64) -> Result<Tensor> {
    let ignored = binary_scalar(&EQUAL, indices, Scalar::Int(ignore))?;
    if table.size() == 0 {
        return reshape_dims(&sum_over(table, &[1], false)?, indices.shape());
    }
    let safe =
        where_(&ignored, &Operand::Scalar(Scalar::Int(0)), &Operand::Tensor(indices.clone()))?;
    let mut dims = ShapeVec::from_slice(table.shape());
    dims[1] = 1;
    let taken = reshape_dims(&gather(table, 1, &reshape_dims(&safe, &dims)?)?, indices.shape())?;
    where_(&ignored, &Operand::Scalar(Scalar::Float(0.0)), &Operand::Tensor(taken))
}

/// Replaces the logits of ignored rows by zeros, so that NaN there reaches nothing.
fn zero_ignored_rows(x: &Tensor, indices: &Tensor, ignore: i64) -> Result<Tensor> {
    let ignored = binary_scalar(&EQUAL, indices, Scalar::Int(ignore))?;
    if !any_true(&ignored)? {
        return Ok(x.clone());
    }
    let mut dims = ShapeVec::from_slice(x.shape());
    dims[1] = 1;
    let zero = Operand::Scalar(Scalar::Float(0.0));
    where_(&reshape_dims(&ignored, &dims)?, &zero, &Operand::Tensor(x.clone()))
}

/// The weight of each row in a mean: its class's weight, or 0 if it is ignored.
fn row_weights(
    indices: &Tensor,
    weight: Option<&Tensor>,
    ignore: i64,
    dtype: DType,
) -> Result<Tensor> {
    match weight {
        None => astype(&binary_scalar(&NOT_EQUAL, indices, Scalar::Int(ignore))?, dtype),
        Some(w) => {
            let table = crate::ops::core::broadcast::broadcast_to(
                &reshape_dims(w, &[1, w.size()])?,
                &[indices.size(), w.size()],
            )?;
            pick_class(&table, indices, ignore)
        }
    }
}

/// Applies the reduction; the mean divides by the sum of `weights_per_row`.
fn reduce_rows(
    op: &'static str,
    losses: &Tensor,
    weights_per_row: &Tensor,
    dims: &[usize],
    reduction: &str,
) -> Result<Tensor> {
    match reduction {
        "mean" => binary(&DIVIDE, &losses.sum_all()?, &weights_per_row.sum_all()?),
        "sum" => losses.sum_all(),
        "none" => reshape_dims(losses, dims),
        other => Err(unknown_reduction(op, other)),
    }
}

/// Losses of probability targets, one per row.
fn probability_losses(
    logs: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    smoothing: f64,
) -> Result<Tensor> {
    let mut target = astype(target, logs.dtype())?;
    if smoothing > 0.0 {
        let kept = binary_scalar(&MULTIPLY, &target, Scalar::Float(1.0 - smoothing))?;
        target = binary_scalar(&ADD, &kept, Scalar::Float(smoothing / logs.shape()[1] as f64))?;
    }
    let mut parts = binary(&MULTIPLY, logs, &target)?;
    if let Some(weight) = weight {
        parts = binary(&MULTIPLY, &parts, weight)?;
    }
    sum_over(&parts, &[1], false)?.negative()
}

/// Losses of class indices with label smoothing, one per row; `each` are the losses without it.
fn smooth_losses(
    logs: &Tensor,
    each: &Tensor,
    indices: &Tensor,
    weight: Option<&Tensor>,
    ignore: i64,
    smoothing: f64,
) -> Result<Tensor> {
    let all = match weight {
        Some(weight) => binary(&MULTIPLY, logs, weight)?,
        None => logs.clone(),
    };
    let sum_of_logs = reshape_dims(&sum_over(&all, &[1], false)?, indices.shape())?;
    let counted = binary_scalar(&NOT_EQUAL, indices, Scalar::Int(ignore))?;
    let sum_of_logs =
        where_(&counted, &Operand::Tensor(sum_of_logs), &Operand::Scalar(Scalar::Float(0.0)))?;
    let share = -smoothing / logs.shape()[1] as f64;
    let kept = binary_scalar(&MULTIPLY, each, Scalar::Float(1.0 - smoothing))?;
    binary(&ADD, &kept, &binary_scalar(&MULTIPLY, &sum_of_logs, Scalar::Float(share))?)
}

/// Refuses ignore_index with probability targets, unless it is negative (as the default).
fn check_none_ignored(ignore: i64) -> Result<()> {
    if ignore < 0 {
        return Ok(());
    }
    Err(Box::new(Error::Argument {
        op: "cross_entropy".into(),
        what: format!("ignore_index={ignore} beside probabilities, of which none can be ignored"),
        remedy: "leave it out, or give class numbers".into(),
    }))
}

fn check_smoothing(smoothing: f64) -> Result<()> {
    if (0.0..=1.0).contains(&smoothing) {
        return Ok(());
    }
    Err(Box::new(Error::Argument {
        op: "cross_entropy".into(),
        what: format!("label_smoothing={smoothing}"),
        remedy: "give a number from 0 to 1".into(),
    }))
}

crate::operations! { family "losses" [float32];
    /// Cross entropy of the softmax of logits (rows, classes, …) against class numbers (rows, …) or probabilities of the logits' shape; rows with the number `ignore_index` do not count, `weight` has one element per class and the mean divides by the weights that count. Derivative: `g (softmax(x) - target)`, over that divisor for the mean.
    [namespace("", "nn.functional"), indices("target")]
    fn cross_entropy(x: Tensor, target: Tensor, weight: Option<Tensor> = None, ignore_index: isize = -100, reduction: String = "mean".to_owned(), label_smoothing: f64 = 0.0) -> Tensor {
        check_smoothing(label_smoothing)?;
        let (rows, ignore) = (class_rows("cross_entropy", &as_real_float("cross_entropy", x)?)?, ignore_index as i64);
        let weight = class_weights("cross_entropy", x, &rows, weight)?;
        if target.dtype().is_float() {
            if target.shape() != x.shape() {
                return Err(if target.shape() == &rows.dims[..] {
                    dtype_error("cross_entropy", "class numbers", target, CLASSES)
                } else {
                    shape_error("cross_entropy", x, "target", target)
                });
            }
            check_none_ignored(ignore)?;
            let target = class_rows("cross_entropy", target)?.x;
            let broadcast_per_class = weight.as_ref().map(|w| rows.broadcast_per_class(w)).transpose()?;
            let losses = probability_losses(&log_softmax_axis(&rows.x, 1)?, &target, broadcast_per_class.as_ref(), label_smoothing)?;
            return reduce("cross_entropy", &reshape_dims(&losses, &rows.dims)?, &reduction);
        }
        let indices = class_indices("cross_entropy", x, &rows, target, ignore)?;
        let weights_per_row = row_weights(&indices, weight.as_ref(), ignore, rows.x.dtype())?;
        // Contiguous rows of classes use the fused kernel; others take their log-softmax.
        let logs = (label_smoothing > 0.0 || rows.x.ndim() > 2)
            .then(|| log_softmax_axis(&zero_ignored_rows(&rows.x, &indices, ignore)?, 1))
            .transpose()?;
        let mut losses = match &logs {
            Some(logs) => pick_class(logs, &indices, ignore)?.negative()?,
            None => class_losses(&rows.x, &indices, ignore)?,
        };
        if weight.is_some() {
            losses = binary(&MULTIPLY, &losses, &weights_per_row)?;
        }
        if let Some(logs) = logs.filter(|_| label_smoothing > 0.0) {
            let broadcast_per_class = weight.as_ref().map(|w| rows.broadcast_per_class(w)).transpose()?;
            losses = smooth_losses(&logs, &losses, &indices, broadcast_per_class.as_ref(), ignore, label_smoothing)?;
        }
        reduce_rows("cross_entropy", &losses, &weights_per_row, &rows.dims, &reduction)
    }
    /// Negative log likelihood: minus the log-probability (rows, classes, …) of each class number (rows, …), with the weights and ignored rows of `cross_entropy`. Derivative: `-g` at the numbers.
    [namespace("nn.functional"), indices("target")]
    fn nll_loss(x: Tensor, target: Tensor, weight: Option<Tensor> = None, ignore_index: isize = -100, reduction: String = "mean".to_owned()) -> Tensor {
        let (rows, ignore) = (class_rows("nll_loss", &as_real_float("nll_loss", x)?)?, ignore_index as i64);
        let weight = class_weights("nll_loss", x, &rows, weight)?;
        let indices = class_indices("nll_loss", x, &rows, target, ignore)?;
        let weights_per_row = row_weights(&indices, weight.as_ref(), ignore, rows.x.dtype())?;
        let mut losses = pick_class(&rows.x, &indices, ignore)?.negative()?;
        if weight.is_some() {
            losses = binary(&MULTIPLY, &losses, &weights_per_row)?;
        }
        reduce_rows("nll_loss", &losses, &weights_per_row, &rows.dims, &reduction)
    }
}
