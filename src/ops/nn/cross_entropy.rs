//! Cross entropy and negative log likelihood of classes.
//!
//! Owns: class numbers and probabilities as targets, weights, ignored rows, label smoothing, any number of axes.
//! Never exponentiates anything above a row's maximum: the fused rows of `softmax` and log_softmax do the work.
//! Invariant: classes are axis 1 (axis 0 of a vector); an ignored row adds to neither the sum nor its divisor.

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

/// Logits with the classes at axis 1, and the shape the losses have in the end.
struct Rows {
    x: Tensor,
    dims: ShapeVec,
}

impl Rows {
    fn classes(&self) -> usize {
        self.x.shape()[1]
    }

    /// A vector of one number for each class, beside the logits.
    fn beside(&self, weight: &Tensor) -> Result<Tensor> {
        let mut dims: ShapeVec = SmallVec::from_elem(1, self.x.ndim() - 1);
        dims[0] = weight.size();
        reshape_dims(weight, &dims)
    }
}

fn rows_of(op: &'static str, x: &Tensor) -> Result<Rows> {
    let mut dims = ShapeVec::from_slice(x.shape());
    match dims.len() {
        0 => Err(Box::new(Error::Shape {
            op: op.into(),
            what: "an input of 0 dimensions".into(),
            remedy: "give (classes), (rows, classes) or (rows, classes, …)",
        })),
        1 => Ok(Rows { x: reshape_dims(x, &[1, x.size()])?, dims: ShapeVec::new() }),
        _ => {
            dims.remove(1);
            Ok(Rows { x: x.clone(), dims })
        }
    }
}

#[cold]
fn unfit(op: &'static str, x: &Tensor, what: &str, target: &Tensor) -> Box<Error> {
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

/// A target of the right shape whose elements mean nothing.
#[cold]
fn uncounted(op: &'static str, what: &str, target: &Tensor, remedy: &'static str) -> Box<Error> {
    Box::new(Error::Unsupported {
        op: op.into(),
        what: format!("{what} of dtype {}", target.dtype()),
        remedy,
    })
}

/// Weights of the classes, if they fit.
fn class_weights(
    op: &'static str,
    x: &Tensor,
    rows: &Rows,
    weight: Option<&Tensor>,
) -> Result<Option<Tensor>> {
    match weight {
        None => Ok(None),
        Some(w) if w.shape() == [rows.classes()] => astype(w, rows.x.dtype()).map(Some),
        Some(w) => Err(unfit(op, x, "weight", w)),
    }
}

/// Class numbers of the rows, as int64.
fn class_numbers(
    op: &'static str,
    x: &Tensor,
    rows: &Rows,
    target: &Tensor,
    ignore: i64,
) -> Result<Tensor> {
    let countable = target.dtype() != DType::Bool && !target.dtype().is_inexact();
    if target.shape() == x.shape() && op == "cross_entropy" {
        return Err(uncounted(op, "probabilities", target, "give probabilities as floats"));
    }
    if target.shape() != &rows.dims[..] {
        return Err(unfit(op, x, &format!("{} target", target.dtype()), target));
    }
    if !countable {
        return Err(uncounted(op, "class numbers", target, INTEGERS));
    }
    let classes = rows.classes();
    let numbers =
        reshape_dims(&astype(&target.detach(), DType::I64)?, &[target.size()])?.contiguous()?;
    let wrong = move |t: i64| t != ignore && !(0..classes as i64).contains(&t);
    let index = decide(op, &[numbers.view_of()], move |numbers| {
        numbers[0].find(wrong).map_or(u64::MAX, |(at, _)| at as u64)
    });
    match if index == u64::MAX { None } else { numbers.view_of().find(wrong) } {
        Some((_, class)) => Err(Box::new(Error::BadIndex {
            op: op.into(),
            what: format!("class {class} of {classes} classes"),
            remedy: "number the classes from 0; rows of the class ignore_index are left out",
        })),
        None => Ok(numbers),
    }
}

/// One element of each row, along axis 1 of a table, by its number; 0 where the row is ignored.
fn chosen(table: &Tensor, numbers: &Tensor, ignore: i64) -> Result<Tensor> {
    let ignored = binary_scalar(&EQUAL, numbers, Scalar::Int(ignore))?;
    if table.size() == 0 {
        return reshape_dims(&sum_over(table, &[1], false)?, numbers.shape());
    }
    let safe =
        where_(&ignored, &Operand::Scalar(Scalar::Int(0)), &Operand::Tensor(numbers.clone()))?;
    let mut dims = ShapeVec::from_slice(table.shape());
    dims[1] = 1;
    let taken = reshape_dims(&gather(table, 1, &reshape_dims(&safe, &dims)?)?, numbers.shape())?;
    where_(&ignored, &Operand::Scalar(Scalar::Float(0.0)), &Operand::Tensor(taken))
}

/// Logits in which rows that do not count are zeros: what is no number there reaches nothing.
fn counted_only(x: &Tensor, numbers: &Tensor, ignore: i64) -> Result<Tensor> {
    let ignored = binary_scalar(&EQUAL, numbers, Scalar::Int(ignore))?;
    if !any_true(&ignored)? {
        return Ok(x.clone());
    }
    let mut dims = ShapeVec::from_slice(x.shape());
    dims[1] = 1;
    let zero = Operand::Scalar(Scalar::Float(0.0));
    where_(&reshape_dims(&ignored, &dims)?, &zero, &Operand::Tensor(x.clone()))
}

/// What each row counts in a mean: its class's weight, 0 where it is ignored.
fn row_weights(
    numbers: &Tensor,
    weight: Option<&Tensor>,
    ignore: i64,
    dtype: DType,
) -> Result<Tensor> {
    match weight {
        None => astype(&binary_scalar(&NOT_EQUAL, numbers, Scalar::Int(ignore))?, dtype),
        Some(w) => {
            let table = crate::ops::core::broadcast::broadcast_to(
                &reshape_dims(w, &[1, w.size()])?,
                &[numbers.size(), w.size()],
            )?;
            chosen(&table, numbers, ignore)
        }
    }
}

/// Reduces rows of losses; the mean divides by the sum of `counts`.
fn finish_rows(
    op: &'static str,
    losses: &Tensor,
    counts: &Tensor,
    dims: &[usize],
    reduction: &str,
) -> Result<Tensor> {
    match reduction {
        "mean" => binary(&DIVIDE, &losses.sum_all()?, &counts.sum_all()?),
        "sum" => losses.sum_all(),
        "none" => reshape_dims(losses, dims),
        other => Err(unknown_reduction(op, other)),
    }
}

/// Losses of probabilities, one per row.
fn soft_losses(
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

/// Losses of class numbers with smoothing, one per row; `each` are the losses without it.
fn smoothed(
    logs: &Tensor,
    each: &Tensor,
    numbers: &Tensor,
    weight: Option<&Tensor>,
    ignore: i64,
    smoothing: f64,
) -> Result<Tensor> {
    let all = match weight {
        Some(weight) => binary(&MULTIPLY, logs, weight)?,
        None => logs.clone(),
    };
    let spread = reshape_dims(&sum_over(&all, &[1], false)?, numbers.shape())?;
    let counted = binary_scalar(&NOT_EQUAL, numbers, Scalar::Int(ignore))?;
    let spread = where_(&counted, &Operand::Tensor(spread), &Operand::Scalar(Scalar::Float(0.0)))?;
    let share = -smoothing / logs.shape()[1] as f64;
    let kept = binary_scalar(&MULTIPLY, each, Scalar::Float(1.0 - smoothing))?;
    binary(&ADD, &kept, &binary_scalar(&MULTIPLY, &spread, Scalar::Float(share))?)
}

/// Refuses a class that is not to count where targets are no classes. The default is no class.
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
        let (rows, ignore) = (rows_of("cross_entropy", &as_real_float("cross_entropy", x)?)?, ignore_index as i64);
        let weight = class_weights("cross_entropy", x, &rows, weight)?;
        if target.dtype().is_float() {
            if target.shape() != x.shape() {
                return Err(if target.shape() == &rows.dims[..] {
                    uncounted("cross_entropy", "class numbers", target, CLASSES)
                } else {
                    unfit("cross_entropy", x, "target", target)
                });
            }
            check_none_ignored(ignore)?;
            let target = rows_of("cross_entropy", target)?.x;
            let beside = weight.as_ref().map(|w| rows.beside(w)).transpose()?;
            let losses = soft_losses(&log_softmax_axis(&rows.x, 1)?, &target, beside.as_ref(), label_smoothing)?;
            return reduce("cross_entropy", &reshape_dims(&losses, &rows.dims)?, &reduction);
        }
        let numbers = class_numbers("cross_entropy", x, &rows, target, ignore)?;
        let counts = row_weights(&numbers, weight.as_ref(), ignore, rows.x.dtype())?;
        // Rows that lie in line need two numbers each; others are left where they are.
        let logs = (label_smoothing > 0.0 || rows.x.ndim() > 2)
            .then(|| log_softmax_axis(&counted_only(&rows.x, &numbers, ignore)?, 1))
            .transpose()?;
        let mut losses = match &logs {
            Some(logs) => chosen(logs, &numbers, ignore)?.negative()?,
            None => class_losses(&rows.x, &numbers, ignore)?,
        };
        if weight.is_some() {
            losses = binary(&MULTIPLY, &losses, &counts)?;
        }
        if let Some(logs) = logs.filter(|_| label_smoothing > 0.0) {
            let beside = weight.as_ref().map(|w| rows.beside(w)).transpose()?;
            losses = smoothed(&logs, &losses, &numbers, beside.as_ref(), ignore, label_smoothing)?;
        }
        finish_rows("cross_entropy", &losses, &counts, &rows.dims, &reduction)
    }
    /// Negative log likelihood: minus the log-probability (rows, classes, …) of each class number (rows, …), with the weights and ignored rows of `cross_entropy`. Derivative: `-g` at the numbers.
    [namespace("nn.functional"), indices("target")]
    fn nll_loss(x: Tensor, target: Tensor, weight: Option<Tensor> = None, ignore_index: isize = -100, reduction: String = "mean".to_owned()) -> Tensor {
        let (rows, ignore) = (rows_of("nll_loss", &as_real_float("nll_loss", x)?)?, ignore_index as i64);
        let weight = class_weights("nll_loss", x, &rows, weight)?;
        let numbers = class_numbers("nll_loss", x, &rows, target, ignore)?;
        let counts = row_weights(&numbers, weight.as_ref(), ignore, rows.x.dtype())?;
        let mut losses = chosen(&rows.x, &numbers, ignore)?.negative()?;
        if weight.is_some() {
            losses = binary(&MULTIPLY, &losses, &counts)?;
        }
        finish_rows("nll_loss", &losses, &counts, &rows.dims, &reduction)
    }
}
