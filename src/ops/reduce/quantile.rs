//! Order statistics: `ptp`, `median`, `quantile`, `percentile`. Values are gathered by index, so gradients flow to the selected
//! elements; few ranks are selected without a full sort. A line with a NaN gives NaN.

use crate::array::{ShapeVec, afford};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::Reduction;
use crate::kernels::sort::arg_ranks;
use crate::ops::core::broadcast::{
    any_true, astype, broadcast_to, kept_dims, permute_axes, reduce_axes, require_real,
    reshape_dims, sum_over,
};
use crate::ops::core::elementwise::{binary, binary_operands, binary_scalar};
use crate::ops::core::op_decl::{Axes, Operand, Scalar};
use crate::ops::core::op_facts::Ambiguous;
use crate::ops::elementwise::arithmetic::{ADD, DIVIDE, FLOOR_DIVIDE, MULTIPLY, SUBTRACT};
use crate::ops::elementwise::compare::{EQUAL, GREATER_EQUAL, isnan, logical_not};
use crate::ops::elementwise::select::{clip, where_};
use crate::ops::index::gather::gather_elements;
use crate::ops::reduce::quantile_method::{LinearRank, Neighbours, QuantileMethod};
use crate::ops::reduce::reductions::{
    TWO_RESULTS, extreme_over, finish_shape, lines, mean_over, need_elements, resolve_axes,
};
use crate::ops::reduce::sort::order_along;
use crate::tensor::Tensor;

/// Lines of at least one element, from which elements are taken by rank.
struct SortedLines {
    lines: Tensor,
    /// Whether a line contains a NaN; the last axis has size 1.
    has_nan: Tensor,
}

impl SortedLines {
    fn new(x: &Tensor, axes: &[usize]) -> Result<SortedLines> {
        let lines = lines(x, axes)?;
        let (plain, last) = (lines.detach(), lines.ndim() - 1);
        let has_nan = if plain.dtype().is_complex() {
            reduce_axes(Reduction::Any, &isnan(&plain)?, &[last], DType::Bool)?
        } else {
            isnan(&reduce_axes(Reduction::Max, &plain, &[last], plain.dtype())?)?
        };
        Ok(SortedLines { lines, has_nan })
    }

    fn last(&self) -> usize {
        self.lines.ndim() - 1
    }

    /// The elements at `ranks` of every line, along the last axis.
    fn at_ranks(&self, op: &'static str, ranks: &[usize]) -> Result<Tensor> {
        let mut dims = ShapeVec::from_slice(self.lines.shape());
        dims[self.last()] = ranks.len();
        let chosen = Tensor::empty(&dims, DType::I64)?;
        let lines = &self.lines;
        arg_ranks(lines.view_of(), self.last(), ranks, chosen.view_mut())?;
        gather_elements(op, lines, self.last(), &chosen)
    }

    /// `value`, but NaN for lines that contain a NaN; the gradient then goes to the NaN elements in equal shares.
    fn nan_where_nan(&self, value: &Tensor) -> Result<Tensor> {
        if !value.dtype().is_inexact() || !any_true(&self.has_nan)? {
            return Ok(value.clone());
        }
        let nan = if value.dtype().is_complex() {
            // NaN sorts last.
            self.at_ranks("median", &[self.lines.shape()[self.last()] - 1])?
        } else {
            extreme_over(Reduction::Max, "max", &self.lines, &[self.last()])?
        };
        let nan = broadcast_to(&astype(&nan, value.dtype())?, value.shape())?;
        where_(&self.has_nan, &Operand::Tensor(nan), &Operand::Tensor(value.clone()))
    }
}

/// The median; the axes are kept with size 1.
fn median_over(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let n: usize = axes.iter().map(|&a| x.shape()[a]).product();
    let dims = kept_dims(x.shape(), axes);
    if n == 0 {
        return Tensor::full(&dims, Scalar::Float(f64::NAN), x.dtype());
    }
    afford(x.size().saturating_mul(16))?;
    let ordered = SortedLines::new(x, axes)?;
    let middle = if n % 2 == 1 { vec![n / 2] } else { vec![n / 2 - 1, n / 2] };
    let mean = mean_over(&ordered.at_ranks("median", &middle)?, &[ordered.last()], true)?;
    reshape_dims(&ordered.nan_where_nan(&mean)?, &dims)
}

/// The median of the non-NaN elements; the axes are kept with size 1, and a line of NaN is NaN.
fn nanmedian_over(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let dims = kept_dims(x.shape(), axes);
    let n: usize = axes.iter().map(|&a| x.shape()[a]).product();
    if n == 0 || x.size() == 0 {
        return Tensor::full(&dims, Scalar::Float(f64::NAN), x.dtype());
    }
    let lines = lines(x, axes)?;
    let (plain, last) = (lines.detach(), lines.ndim() - 1);
    // NaN sorts after every number.
    let order = order_along(&plain, last, n, false)?;
    let counts = sum_over(&logical_not(&isnan(&plain)?)?, &[last], true)?;
    let some = clip(&counts, Some(&Operand::Scalar(Scalar::Int(1))), None)?;
    let half = |rank: &Tensor| binary_scalar(&FLOOR_DIVIDE, rank, Scalar::Int(2));
    let (low, high) = (half(&binary_scalar(&SUBTRACT, &some, Scalar::Int(1))?)?, half(&some)?);
    let gather = |x: &Tensor, ranks: &Tensor| gather_elements("nanmedian", x, last, ranks);
    let a = gather(&lines, &gather(&order, &low)?)?;
    let b = gather(&lines, &gather(&order, &high)?)?;
    let mean = binary_scalar(&MULTIPLY, &binary(&ADD, &a, &b)?, Scalar::Float(0.5))?;
    // A single middle element is taken as it is: doubling it to average could overflow.
    let value = where_(&binary(&EQUAL, &low, &high)?, &Operand::Tensor(a), &Operand::Tensor(mean))?;
    let none = binary_scalar(&EQUAL, &counts, Scalar::Int(0))?;
    let nan = Operand::Scalar(Scalar::Float(f64::NAN));
    reshape_dims(&where_(&none, &nan, &Operand::Tensor(value))?, &dims)
}

fn level_error(op: &'static str, what: String) -> Box<Error> {
    Box::new(Error::Argument {
        op: op.into(),
        what,
        remedy: "give levels from 0 to 1 (0 to 100 for percentile)".into(),
    })
}

/// The quantiles at levels `q` over the axes; the axes of `q` come first.
fn quantile_over(
    op: &'static str,
    x: &Tensor,
    q: &Operand,
    axes: &[usize],
    keepdims: bool,
    method: &str,
) -> Result<Tensor> {
    require_real(op, x)?;
    let method = QuantileMethod::named(op, method)?.for_levels(q);
    let x = &(if method.picks() { x.clone() } else { astype(x, x.dtype().to_float())? });
    need_elements(op, x, axes)?;
    afford(x.size().saturating_mul(16))?;
    let n: usize = axes.iter().map(|&a| x.shape()[a]).product();
    let levels = match q {
        Operand::Scalar(s) => Tensor::full(&[], *s, x.dtype().to_float())?,
        Operand::Tensor(t) => astype(t, t.dtype().to_float())?,
    };
    let exact = match q {
        Operand::Scalar(s) => vec![s.as_f64()],
        Operand::Tensor(_) => astype(&levels.detach(), DType::F64)?.to_vec::<f64>()?,
    };
    if let Some(q) = exact.iter().find(|q| !(0.0..=1.0).contains(*q)) {
        return Err(level_error(op, format!("level {q}")));
    }
    let mut shape = ShapeVec::from_slice(levels.shape());
    shape.extend(kept_dims(x.shape(), axes));
    let values = if shape.contains(&0) {
        let dtype = if method.picks() { x.dtype() } else { x.dtype().promote(levels.dtype()) };
        Tensor::zeros(&shape, dtype)?
    } else {
        let neighbours: Vec<Neighbours> = exact.iter().map(|&q| method.neighbours(q, n)).collect();
        let ordered = SortedLines::new(x, axes)?;
        let rows = if method.picks() {
            let ranks: Vec<usize> = neighbours.iter().map(|at| at.low).collect();
            ordered.nan_where_nan(&ordered.at_ranks(op, &ranks)?)?
        } else {
            interpolated(op, &ordered, &levels, &exact, &neighbours, method.line(n))?
        };
        let mut order: ShapeVec = [rows.ndim() - 1].into_iter().collect();
        order.extend(0..rows.ndim() - 1);
        reshape_dims(&permute_axes(&rows, &order)?, &shape)?
    };
    let shifted: ShapeVec = axes.iter().map(|a| a + levels.ndim()).collect();
    finish_shape(values, &shifted, keepdims)
}

/// Percents as levels; constant ones are divided here, while traced ones are known only at run time.
fn hundredths(percents: &Tensor) -> Result<Tensor> {
    let percents = percents.detach();
    let levels: Vec<f64> = match percents.dtype() {
        DType::F64 => percents.to_vec::<f64>()?.into_iter().map(|p| p / 100.0).collect(),
        _ => percents.to_vec::<i64>()?.into_iter().map(|p| p as f64 / 100.0).collect(),
    };
    Tensor::from_vec(levels, percents.shape())
}

/// The position of each level between its neighbours, from 0 to 1; recorded if the level requires grad.
fn fraction(
    levels: &Tensor,
    exact: &[f64],
    neighbours: &[Neighbours],
    line: Option<LinearRank>,
) -> Result<Tensor> {
    let Some(line) = line.filter(|_| levels.requires_grad()) else {
        let weights: Vec<f64> = neighbours.iter().map(|at| at.weight).collect();
        return astype(&Tensor::from(weights), levels.dtype());
    };
    let floor: Vec<f64> = neighbours.iter().map(|at| at.low as f64 - line.start).collect();
    let flat = reshape_dims(levels, &[exact.len()])?;
    let rank = binary_scalar(&MULTIPLY, &flat, Scalar::Float(line.slope))?;
    binary(&SUBTRACT, &rank, &astype(&Tensor::from(floor), levels.dtype())?)
}

/// One quantile per level, along the last axis.
fn interpolated(
    op: &'static str,
    ordered: &SortedLines,
    levels: &Tensor,
    exact: &[f64],
    neighbours: &[Neighbours],
    line: Option<LinearRank>,
) -> Result<Tensor> {
    let (low, high): (Vec<usize>, Vec<usize>) = neighbours.iter().map(|s| (s.low, s.high)).unzip();
    let (a, b) = (ordered.at_ranks(op, &low)?, ordered.at_ranks(op, &high)?);
    let weight = fraction(levels, exact, neighbours, line)?;
    // Interpolates from the nearer neighbour, as NumPy does, so that infinities appear at the same levels.
    let upper = binary_scalar(&GREATER_EQUAL, &weight.detach(), Scalar::Float(0.5))?;
    let back = binary_scalar(&SUBTRACT, &weight, Scalar::Float(1.0))?;
    let weight = where_(&upper, &Operand::Tensor(back), &Operand::Tensor(weight))?;
    let step = binary(&MULTIPLY, &binary(&SUBTRACT, &b, &a)?, &weight)?;
    let value = binary(&ADD, &where_(&upper, &Operand::Tensor(b), &Operand::Tensor(a))?, &step)?;
    ordered.nan_where_nan(&value)
}

/// PyTorch's `median` with `dim=` also returns indices.
const MEDIAN_ALONG: Ambiguous = Ambiguous {
    remedy: "write {name}(x, axis=...) for the values and argsort for the indices",
    ..TWO_RESULTS
};

crate::operations! { family "reduction" [float32];
    /// Range over the axes, `max - min`. Derivative: `g` to the largest and `-g` to the smallest, shared evenly among ties.
    [numpy("ptp"), positional(2)]
    fn ptp(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let axes = resolve_axes("ptp", &axis, x.ndim())?;
        need_elements("ptp", x, &axes)?;
        let high = extreme_over(Reduction::Max, "max", x, &axes)?;
        let low = extreme_over(Reduction::Min, "min", x, &axes)?;
        finish_shape(binary(&SUBTRACT, &high, &low)?, &axes, keepdims)
    }
    /// Median over the axes, the mean of the middle two if the count is even; NaN if there is one. Derivative: `g` to the middle element, half each to two.
    [numpy("median"), positional(2), ignores(("overwrite_input", None)), ambiguous(&MEDIAN_ALONG)]
    fn median(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let x = astype(x, x.dtype().to_float())?;
        let axes = resolve_axes("median", &axis, x.ndim())?;
        finish_shape(median_over(&x, &axes)?, &axes, keepdims)
    }
    /// Median over the axes of what is not NaN, the mean of the middle two if their count is even; NaN if all are. Derivative: `g` to the middle element, half each to two, 0 for a NaN.
    [numpy("nanmedian"), positional(2), ignores(("overwrite_input", None)), ambiguous(&MEDIAN_ALONG)]
    fn nanmedian(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let x = astype(x, x.dtype().to_float())?;
        let axes = resolve_axes("nanmedian", &axis, x.ndim())?;
        finish_shape(nanmedian_over(&x, &axes)?, &axes, keepdims)
    }
    /// Quantiles at levels `q` from 0 to 1, between neighbours by NumPy's `method`; the axes of `q` come first; a method that picks one element keeps integers. Derivatives: `g` to the two neighbours by their weight; the slope between them by `q`.
    [numpy("quantile"), positional(3), keywords(("interpolation", "method")), ignores(("overwrite_input", None))]
    fn quantile(x: Tensor, q: Operand, axis: Axes = Axes::All, keepdims: bool = false, method: String = "linear".to_owned()) -> Tensor {
        quantile_over("quantile", x, q, &resolve_axes("quantile", &axis, x.ndim())?, keepdims, &method)
    }
    /// Quantiles at levels `q` from 0 to 100, between neighbours by NumPy's `method`; the axes of `q` come first.
    [numpy("percentile"), positional(3), keywords(("interpolation", "method")), ignores(("overwrite_input", None))]
    fn percentile(x: Tensor, q: Operand, axis: Axes = Axes::All, keepdims: bool = false, method: String = "linear".to_owned()) -> Tensor {
        let hundred = Operand::Scalar(Scalar::Float(100.0));
        let level = match q {
            Operand::Scalar(s) => Operand::Scalar(Scalar::Float(s.as_f64() / 100.0)),
            Operand::Tensor(t) if !t.requires_grad() && matches!(t.dtype(), DType::F64 | DType::I64) => {
                Operand::Tensor(hundredths(t)?)
            }
            tensor => Operand::Tensor(binary_operands(&DIVIDE, tensor, &hundred)?),
        };
        quantile_over("percentile", x, &level, &resolve_axes("percentile", &axis, x.ndim())?, keepdims, &method)
    }
}
