//! Reductions over axes: `sum`, `mean`, `max`, `min`, `prod`, `var`, `std`, with their derivatives, and how axes are resolved.
//!
//! Invariant: a rule works with kept axes (`keepdims`); dropping them is a reshape.

use smallvec::smallvec;

use crate::array::{Layout, ShapeVec, is_axis_of_scalar, normalize_axes};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::{self, Reduction};
use crate::ops::core::broadcast::{
    any_true, astype, cast_with_warnings, dropped_dims, kept_dims, permute_axes, reduce_axes,
    require_readable, reshape_dims, sum_over,
};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Axes, Operand, Scalar};
use crate::ops::core::op_facts::Ambiguous;
use crate::ops::core::structured::{NodeSpec, Save, batched_dims, move_cost, record_output};
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::elementwise::arithmetic::{ADD, DIVIDE, MULTIPLY, SUBTRACT};
use crate::ops::elementwise::compare::{EQUAL, LOGICAL_AND, LOGICAL_OR, isnan};
use crate::ops::elementwise::complex::{imag, real};
use crate::ops::elementwise::select::where_;
use crate::ops::index::gather::gather_elements;
use crate::ops::reduce::norms::root;
use crate::ops::reduce::scan::product_of_others;
use crate::tensor::Tensor;

/// The resolved axes, ascending and distinct.
pub(crate) fn resolve_axes(op: &'static str, axis: &Axes, ndim: usize) -> Result<ShapeVec> {
    match axis.named() {
        None => {
            let mut all = ShapeVec::new();
            (0..ndim).for_each(|axis| all.push(axis));
            Ok(all)
        }
        Some(&[axis]) if is_axis_of_scalar(axis, ndim) => Ok(ShapeVec::new()),
        Some(named) => {
            let mut axes = normalize_axes(op, named, ndim)?;
            axes.sort_unstable();
            Ok(axes)
        }
    }
}

/// The number of elements reduced to one.
pub(crate) fn count(x: &Tensor, axes: &[usize]) -> usize {
    axes.iter().map(|&a| x.shape()[a]).product()
}

pub(crate) fn finish_shape(out: Tensor, axes: &[usize], keepdims: bool) -> Result<Tensor> {
    if keepdims || axes.is_empty() {
        return Ok(out);
    }
    let dims = dropped_dims(out.shape(), axes);
    reshape_dims(&out, &dims)
}

/// Sum of squared magnitudes over resolved axes; real. Derivative: `2 g x`.
pub(crate) fn squares_over(x: &Tensor, axes: &[usize], keepdims: bool) -> Result<Tensor> {
    if x.dtype().is_complex() {
        let of = |part: Tensor| squares_over(&part, axes, keepdims);
        return binary(&ADD, &of(real(x)?)?, &of(imag(x)?)?);
    }
    let out = reduce_axes(Reduction::SumSquares, x, axes, x.dtype())?;
    let dims = if keepdims { out.shape().into() } else { dropped_dims(x.shape(), axes) };
    let out = out.into_layout(Layout::contiguous(&dims)?);
    record_output(out, &[x], |_| NodeSpec {
        name: "sum_of_squares",
        cost: 2.0 * move_cost(x),
        params: ShapeVec::from_slice(axes),
        saved: smallvec![Save::input(0, &[0])],
        backward: |axes, g, cx| {
            let x = cx.saved(0)?;
            let twice = binary_scalar(&MULTIPLY, &g, Scalar::Float(2.0))?;
            let twice = reshape_dims(&twice, &batched_dims(cx, &kept_dims(x.shape(), axes)))?;
            cx.give_with(0, |_| binary(&MULTIPLY, &twice, &x))
        },
    })
}

pub(crate) fn need_elements(op: &'static str, x: &Tensor, axes: &[usize]) -> Result<()> {
    if count(x, axes) > 0 {
        return Ok(());
    }
    Err(Box::new(Error::Shape {
        op: op.into(),
        what: "zero elements have no extreme".into(),
        remedy: "reduce over axes with at least one element",
    }))
}

/// Maximum or minimum over unresolved axes.
fn extreme(
    op: Reduction,
    name: &'static str,
    x: &Tensor,
    axis: &Axes,
    keepdims: bool,
) -> Result<Tensor> {
    let axes = resolve_axes(name, axis, x.ndim())?;
    need_elements(name, x, &axes)?;
    finish_shape(extreme_over(op, name, x, &axes)?, &axes, keepdims)
}

/// Maximum or minimum over resolved axes, which are kept with size 1; the gradient is shared evenly among ties.
pub(crate) fn extreme_over(
    op: Reduction,
    name: &'static str,
    x: &Tensor,
    axes: &[usize],
) -> Result<Tensor> {
    let out = if x.dtype().is_complex() {
        extreme_of_complex(op, name, &x.detach(), axes)?
    } else {
        reduce_axes(op, x, axes, x.dtype())?
    };
    record_output(out, &[x], |_| NodeSpec {
        name,
        cost: 4.0 * move_cost(x),
        params: ShapeVec::from_slice(axes),
        saved: smallvec![Save::input(0, &[0]), Save::output(0, &[0])],
        backward: |axes, g, cx| {
            let (x, y) = (cx.saved(0)?, cx.saved(1)?);
            // The selection is locally constant, so the mask is a constant in second derivatives too.
            let mask = extreme_mask(&x.detach(), &y.detach())?;
            let ties = astype(&sum_over(&mask, axes, true)?, g.dtype())?;
            cx.give_with(0, |_| {
                let share = binary(&DIVIDE, &g, &ties)?;
                where_(&mask, &Operand::Tensor(share), &Operand::Scalar(Scalar::Float(0.0)))
            })
        },
    })
}

/// The extreme in lexicographic order of real and imaginary part; a NaN in either wins.
fn extreme_of_complex(
    op: Reduction,
    name: &'static str,
    x: &Tensor,
    axes: &[usize],
) -> Result<Tensor> {
    let lines = lines(x, axes)?;
    let last = lines.ndim() - 1;
    let index = Tensor::empty(&kept_dims(lines.shape(), &[last]), DType::I64)?;
    kernels::arg_reduce(op == Reduction::Max, lines.view_of(), last, index.view_mut())?;
    reshape_dims(&gather_elements(name, &lines, last, &index)?, &kept_dims(x.shape(), axes))
}

/// The mask of elements that are the extreme: equal to it, or NaN if it is NaN.
pub(super) fn extreme_mask(x: &Tensor, extreme: &Tensor) -> Result<Tensor> {
    let equal = binary(&EQUAL, x, extreme)?;
    let spoiled = isnan(extreme)?;
    if !any_true(&spoiled)? {
        return Ok(equal);
    }
    binary(&LOGICAL_OR, &equal, &binary(&LOGICAL_AND, &isnan(x)?, &spoiled)?)
}

/// Mean over resolved axes, as a float.
pub(crate) fn mean_over(x: &Tensor, axes: &[usize], keepdims: bool) -> Result<Tensor> {
    let x = astype(x, x.dtype().to_float())?;
    let n = count(&x, axes) as f64;
    binary_scalar(&DIVIDE, &sum_over(&x, axes, keepdims)?, Scalar::Float(n))
}

/// Variance over resolved axes: `sum((x - mean)²) / (n - ddof)`. Derivative: `2 g (x - mean) / (n - ddof)`.
pub(crate) fn var_over(x: &Tensor, axes: &[usize], ddof: f64, keepdims: bool) -> Result<Tensor> {
    let x = astype(x, x.dtype().to_float())?;
    let divisor = (count(&x, axes) as f64 - ddof).max(0.0);
    let last = x.ndim() - axes.len();
    let rows = x.is_contiguous() && axes.iter().enumerate().all(|(i, &axis)| axis == last + i);
    if x.dtype().is_complex() || !rows {
        let centred = binary(&SUBTRACT, &x, &mean_over(&x, axes, true)?)?;
        let squares = squares_over(&centred, axes, keepdims)?;
        return binary_scalar(&DIVIDE, &squares, Scalar::Float(divisor));
    }
    let kept: usize = x.shape()[..last].iter().product();
    let out = Tensor::empty(&[kept], x.dtype())?;
    let dims = Layout::contiguous(&[kept, count(&x, axes)])?.with_offset(x.layout().offset());
    let lines = x.detach().into_layout(dims);
    kernels::normalize::variance(lines.view_of(), divisor, out.view_mut());
    let dims = if keepdims { kept_dims(x.shape(), axes) } else { x.shape()[..last].into() };
    let out = out.into_layout(Layout::contiguous(&dims)?);
    record_output(out, &[&x], |_| NodeSpec {
        name: "var",
        cost: 3.0 * move_cost(&x),
        params: (ShapeVec::from_slice(axes), 2.0 / divisor),
        saved: smallvec![Save::input(0, &[0])],
        backward: |(axes, factor), g, cx| {
            let x = cx.saved(0)?;
            let g = binary_scalar(&MULTIPLY, &g, Scalar::Float(*factor))?;
            let g = reshape_dims(&g, &batched_dims(cx, &kept_dims(x.shape(), axes)))?;
            let centred = binary(&SUBTRACT, &x, &mean_over(&x, axes, true)?)?;
            cx.give_with(0, |_| binary(&MULTIPLY, &g, &centred))
        },
    })
}

/// Moves the axes to the end and merges them: one line per result.
pub(crate) fn lines(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let mut order: ShapeVec = (0..x.ndim()).filter(|a| !axes.contains(a)).collect();
    order.extend_from_slice(axes);
    let mut dims = dropped_dims(x.shape(), axes);
    dims.push(count(x, axes));
    reshape_dims(&permute_axes(x, &order)?, &dims)
}

/// The inverse of `lines` for a tensor of `dims`.
fn from_lines(x: &Tensor, dims: &[usize], axes: &[usize]) -> Result<Tensor> {
    let mut order: ShapeVec = (0..dims.len()).filter(|a| !axes.contains(a)).collect();
    order.extend_from_slice(axes);
    let spread: ShapeVec = order.iter().map(|&a| dims[a]).collect();
    let mut inverse: ShapeVec = smallvec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &a)| inverse[a] = i);
    permute_axes(&reshape_dims(x, &spread)?, &inverse)
}

/// Product over resolved axes.
fn prod_over(x: &Tensor, axes: &[usize], keepdims: bool) -> Result<Tensor> {
    let dtype = x.dtype().accumulates();
    let out = record_output(reduce_axes(Reduction::Prod, x, axes, dtype)?, &[x], |_| {
        NodeSpec {
            name: "prod",
            cost: 10.0 * move_cost(x),
            params: ShapeVec::from_slice(axes),
            saved: smallvec![Save::input(0, &[0])],
            backward: |axes, g, cx| {
                let x = conjugated(&cx.saved(0)?)?;
                let lines = lines(&x, axes)?;
                // Products of the other elements, not the product divided by the element: exact at zeros.
                let others = product_of_others(&lines, lines.ndim() - 1)?;
                cx.give_with(0, |_| binary(&MULTIPLY, &g, &from_lines(&others, x.shape(), axes)?))
            },
        }
    })?;
    finish_shape(out, axes, keepdims)
}

/// With `dim=`, PyTorch returns two results.
pub(crate) const TWO_RESULTS: Ambiguous = Ambiguous {
    keyword: "dim",
    unless: &[],
    what: "dim= returns values and indices in PyTorch, axis= only values in NumPy",
    remedy: "write {name}(x, axis=...) for the values and arg{name} for the indices",
};
/// With `dim=` the divisor is ambiguous unless one of these keywords states it.
const DIVISOR: Ambiguous = Ambiguous {
    keyword: "dim",
    unless: &["correction", "unbiased", "ddof"],
    what: "dim= divides by n - 1 in PyTorch, axis= by n in NumPy",
    remedy: "write {name}(x, axis=..., ddof=0) or {name}(x, dim=..., correction=1)",
};

/// The degrees of freedom to subtract; PyTorch's `correction=None` means one.
fn ddof_or_default(ddof: Option<f64>) -> f64 {
    ddof.unwrap_or(1.0)
}

crate::operations! { family "reduction";
    /// Sum over the axes; booleans and integers sum as int64, those without a sign as uint64. Derivative: `g` repeated.
    [numpy("sum"), positional(2), fold("add"), neutral(0)]
    fn sum(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false, dtype: Option<DType> = None) -> Tensor {
        let axes = resolve_axes("sum", &axis, x.ndim())?;
        match dtype {
            None => sum_over(x, &axes, keepdims),
            Some(d) => astype(&sum_over(&cast_with_warnings(x, d)?, &axes, keepdims)?, d),
        }
    }
    /// Product over the axes; booleans and integers in int64, those without a sign in uint64. Derivative: `g` times the product of the others, exact also where elements are zero.
    [numpy("prod"), positional(2), fold("multiply"), neutral(1)]
    fn prod(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false, dtype: Option<DType> = None) -> Tensor {
        let axes = resolve_axes("prod", &axis, x.ndim())?;
        match dtype {
            None => prod_over(x, &axes, keepdims),
            Some(d) => astype(&prod_over(&cast_with_warnings(x, d)?, &axes, keepdims)?, d),
        }
    }
    /// Mean over the axes, a float. Derivative: `g / n` repeated.
    [numpy("mean"), positional(2), float32]
    fn mean(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false, dtype: Option<DType> = None) -> Tensor {
        if let Some(got) = dtype.filter(|d| !d.is_inexact()) {
            return Err(Box::new(Error::DType { op: "mean".into(), got, remedy: "give a float dtype, and cast the mean" }));
        }
        let axes = resolve_axes("mean", &axis, x.ndim())?;
        match dtype {
            None => mean_over(x, &axes, keepdims),
            Some(d) => mean_over(&cast_with_warnings(x, d)?, &axes, keepdims),
        }
    }
    /// Largest element over the axes; NaN if there is one. Derivative: `g` to the largest, shared evenly among ties.
    [numpy("max"), positional(2), fold("maximum"), ambiguous(&TWO_RESULTS)]
    fn max(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        extreme(Reduction::Max, "max", x, &axis, keepdims)
    }
    /// Smallest element over the axes; NaN if there is one. Derivative: `g` to the smallest, shared evenly among ties.
    [numpy("min"), positional(2), fold("minimum"), ambiguous(&TWO_RESULTS)]
    fn min(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        extreme(Reduction::Min, "min", x, &axis, keepdims)
    }
    /// `max` by another name, which gives values only also for PyTorch's `dim=`.
    [numpy("amax"), positional(2), fold("maximum")]
    fn amax(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        extreme(Reduction::Max, "amax", x, &axis, keepdims)
    }
    /// `min` by another name, which gives values only also for PyTorch's `dim=`.
    [numpy("amin"), positional(2), fold("minimum")]
    fn amin(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        extreme(Reduction::Min, "amin", x, &axis, keepdims)
    }
    /// Variance over the axes, `sum((x - mean)²) / (n - ddof)`; `correction` is another name of `ddof`. Derivative: `2 g (x - mean) / (n - ddof)`.
    [numpy("var"), float32, positional(2), keywords(("correction", "ddof"), ("unbiased", "ddof")), ambiguous(&DIVISOR)]
    fn var(x: Tensor, axis: Axes = Axes::All, ddof: Option<f64> = Some(0.0), keepdims: bool = false) -> Tensor {
        var_over(x, &resolve_axes("var", &axis, x.ndim())?, ddof_or_default(ddof), keepdims)
    }
    /// Standard deviation, the square root of `var`. Derivative: that of the root, and 0 where the deviation is 0.
    [numpy("std"), float32, positional(2), keywords(("correction", "ddof"), ("unbiased", "ddof")), ambiguous(&DIVISOR)]
    fn std(x: Tensor, axis: Axes = Axes::All, ddof: Option<f64> = Some(0.0), keepdims: bool = false) -> Tensor {
        root(&var_over(x, &resolve_axes("std", &axis, x.ndim())?, ddof_or_default(ddof), keepdims)?)
    }
    /// Variance and mean over the axes; unlike `var` by `n - 1`, as PyTorch, whose name it is. Derivatives: those of both.
    [float32, positional(2), keywords(("correction", "ddof"), ("unbiased", "ddof"))]
    fn var_mean(x: Tensor, axis: Axes = Axes::All, ddof: Option<f64> = Some(1.0), keepdims: bool = false) -> (Tensor, Tensor) {
        let axes = resolve_axes("var_mean", &axis, x.ndim())?;
        Ok((var_over(x, &axes, ddof_or_default(ddof), keepdims)?, mean_over(x, &axes, keepdims)?))
    }
    /// Standard deviation and mean over the axes; unlike `std` by `n - 1`, as PyTorch, whose name it is. Derivatives: those of both.
    [float32, positional(2), keywords(("correction", "ddof"), ("unbiased", "ddof"))]
    fn std_mean(x: Tensor, axis: Axes = Axes::All, ddof: Option<f64> = Some(1.0), keepdims: bool = false) -> (Tensor, Tensor) {
        let axes = resolve_axes("std_mean", &axis, x.ndim())?;
        Ok((root(&var_over(x, &axes, ddof_or_default(ddof), keepdims)?)?, mean_over(x, &axes, keepdims)?))
    }
    /// Index of the first largest element, along an axis or over all.
    [numpy("argmax"), constant, positional(2)]
    fn argmax(x: Tensor, axis: Option<isize> = None, keepdims: bool = false) -> Tensor {
        Ok(arg_extreme(true, "argmax", x, axis, keepdims)?.underived([x].into_iter()))
    }
    /// Index of the first smallest element, along an axis or over all.
    [numpy("argmin"), constant, positional(2)]
    fn argmin(x: Tensor, axis: Option<isize> = None, keepdims: bool = false) -> Tensor {
        Ok(arg_extreme(false, "argmin", x, axis, keepdims)?.underived([x].into_iter()))
    }
    /// Whether all elements over the axes are true.
    [numpy("all"), constant, positional(2), fold("logical_and"), neutral(1)]
    fn all(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let axes = resolve_axes("all", &axis, x.ndim())?;
        let truth = reduce_axes(Reduction::All, x, &axes, DType::Bool)?;
        Ok(finish_shape(truth, &axes, keepdims)?.underived([x].into_iter()))
    }
    /// Whether any element over the axes is true.
    [numpy("any"), constant, positional(2), fold("logical_or"), neutral(0)]
    fn any(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let axes = resolve_axes("any", &axis, x.ndim())?;
        let truth = reduce_axes(Reduction::Any, x, &axes, DType::Bool)?;
        Ok(finish_shape(truth, &axes, keepdims)?.underived([x].into_iter()))
    }
    /// How many elements over the axes are not zero.
    [numpy("count_nonzero"), constant, positional(2)]
    fn count_nonzero(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let truth = astype(&x.detach(), DType::Bool)?;
        let count = sum_over(&truth, &resolve_axes("count_nonzero", &axis, x.ndim())?, keepdims)?;
        Ok(count.underived([x].into_iter()))
    }
}

fn arg_extreme(
    largest: bool,
    name: &'static str,
    x: &Tensor,
    axis: Option<isize>,
    keepdims: bool,
) -> Result<Tensor> {
    let x = x.detach();
    let (flat, axes) = match axis {
        None => (reshape_dims(&x, &[x.size()])?, smallvec![0]),
        Some(0 | -1) if x.ndim() == 0 => return Tensor::zeros(&[], DType::I64),
        Some(axis) => (x.clone(), resolve_axes(name, &Axes::from(axis), x.ndim())?),
    };
    need_elements(name, &flat, &axes)?;
    require_readable(name, &flat)?;
    let out = Tensor::empty(&kept_dims(flat.shape(), &axes), DType::I64)?;
    kernels::arg_reduce(largest, flat.view_of(), axes[0], out.view_mut())?;
    match (axis, keepdims) {
        (None, true) => reshape_dims(&out, &vec![1; x.ndim()]),
        (None, false) => reshape_dims(&out, &[]),
        _ => finish_shape(out, &axes, keepdims),
    }
}

impl Tensor {
    /// Sum of all elements.
    pub fn sum_all(&self) -> Result<Tensor> {
        self.sum(Axes::All, false, None)
    }
}
