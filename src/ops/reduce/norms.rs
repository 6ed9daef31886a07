//! Vector and matrix norms, with a gradient of 0 at 0.
//!
//! Rows whose powers would overflow or underflow are scaled first; other rows are summed directly.

use smallvec::smallvec;

use crate::array::{ShapeVec, normalize_axes, observer};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::Reduction;
use crate::kernels::reduce::{AccurateRange, all_within, scaled_sum_of_squares};
use crate::ops::core::arguments::Order;
use crate::ops::core::broadcast::{astype, reshape_dims, sum_over};
use crate::ops::core::complex_as_real::real_pairs;
use crate::ops::core::elementwise::{binary, binary_scalar, unary_with};
use crate::ops::core::op_decl::{Axes, Scalar};
use crate::ops::core::structured::{NodeSpec, Save, move_cost, record_output};
use crate::ops::elementwise::arithmetic::{DIVIDE, MULTIPLY, POWER};
use crate::ops::elementwise::unary::abs_;
use crate::ops::reduce::reductions::{
    count, extreme_over, finish_shape, need_elements, resolve_axes, squares_over,
};
use crate::tensor::Tensor;

elementwise_specs! {
    /// Square root whose derivative is 0 at 0. Derivative: `g / (2 y)`.
    fn root(x) = ROOT {
        forward { float: |x| x.sqrt(); cost: 1.0; }
        by x { float |g, y| {
            let zero = y.eq(R::lit(0.0));
            R::select(zero, R::lit(0.0), g * 0.5 / R::select(zero, R::lit(1.0), y))
        } }
    }
    /// `|x|^p`, whose derivative is 0 at 0. Derivative: `g p sign(x) |x|^(p - 1)`.
    fn power_of_magnitude(x; p = 1.0) = POWER_OF_MAGNITUDE {
        forward { float: |x; p| x.abs().powf(p); cost: 3.0; }
        by x { float |g, x; p| {
            let zero = x.eq(R::lit(0.0));
            let safe = R::select(zero, R::lit(1.0), x);
            R::select(zero, R::lit(0.0), g * p * safe.sign() * safe.abs().powf(p - 1.0))
        } }
    }
    /// 1 for what is not zero, a NaN included. Derivative: zero.
    fn mark_nonzero(x) = MARK_NONZERO {
        forward { float: |x| R::select(x.eq(R::lit(0.0)), R::lit(0.0), R::lit(1.0)); cost: 0.3; }
        by x { zero }
    }
    /// Power `e` of what is not negative, whose derivative is 0 at 0. Derivative: `g e x^(e - 1)`.
    fn root_of_order(x; e = 0.5) = ROOT_OF_ORDER {
        forward { float: |x; e| x.powf(e); cost: 3.0; }
        by x { float |g, x; e| {
            let zero = x.eq(R::lit(0.0));
            R::select(zero, R::lit(0.0), g * e * R::select(zero, R::lit(1.0), x).powf(e - 1.0))
        } }
    }
    /// What numbers of magnitude `x` are divided by before their powers are summed: `x`, or the least such unit, where
    /// these leave the range of floats, else 1. Derivative: zero.
    fn unit_of_order(x; low = 0.0, high = 1.0, least = 0.0) = UNIT_OF_ORDER {
        forward { float: |x; low, high, least| {
            let far = R::select(x.lt(low), R::select(x.lt(least), least, x), R::lit(1.0));
            let far = R::select(x.gt(high), x, far);
            let far = R::select(x.lt(R::lit(f64::INFINITY)), far, R::lit(1.0));
            R::select(x.eq(R::lit(0.0)), R::lit(1.0), far)
        }; cost: 0.5; }
        by x { zero }
    }
}

fn unknown(what: String) -> Box<Error> {
    Box::new(Error::Argument {
        op: "norm".into(),
        what,
        remedy: "use a number, inf or -inf for vectors, and 'fro', 'nuc', 1, -1, 2, -2, inf or -inf for matrices".into(),
    })
}

/// The largest of non-negative elements, 0 of none; the axes are kept with size 1.
fn largest(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    if count(x, axes) == 0 {
        return sum_over(x, axes, true);
    }
    extreme_over(Reduction::Max, "max", x, axes)
}

/// The smallest of non-negative elements; the axes are kept with size 1.
fn smallest(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    need_elements("norm", x, axes)?;
    extreme_over(Reduction::Min, "min", x, axes)
}

/// The vector norm over resolved axes, which are kept with size 1.
fn vector_norm_over(x: &Tensor, order: f64, axes: &[usize]) -> Result<Tensor> {
    if x.dtype().is_complex() && order != 2.0 {
        return vector_norm_over(&abs_(x)?, order, axes);
    }
    match order {
        2.0 => euclidean_norm(x, axes),
        1.0 => sum_over(&abs_(x)?, axes, true),
        f64::INFINITY => largest(&abs_(x)?, axes),
        f64::NEG_INFINITY => smallest(&abs_(x)?, axes),
        0.0 => sum_over(&mark_nonzero(x)?, axes, true),
        p => p_norm(x, p, axes),
    }
}

/// `sum(|x|^p)^(1/p)`.
fn p_norm(x: &Tensor, p: f64, axes: &[usize]) -> Result<Tensor> {
    let root = |sums: &Tensor| unary_with(&ROOT_OF_ORDER, sums, &[1.0 / p]);
    let (limit, n) = (largest_magnitude(x.dtype(), p).powf(p.abs()), count(x, axes) as f64);
    // A traced program may see other values in later runs, so it always scales.
    if !observer::is_active() || n == 0.0 {
        let sums = powers_over(x, p, axes)?;
        // In range: scales of 1.
        if n == 0.0 || all_within(sums.view_of(), (2.0 * n / limit, limit / n / 2.0)) {
            return root(&sums);
        }
    }
    let unit = row_scales(x, p, axes)?;
    let sums = powers_over(&binary(&DIVIDE, x, &unit)?, p, axes)?;
    binary(&MULTIPLY, &root(&sums)?, &unit)
}

/// `sum(|x|^p)`.
fn powers_over(x: &Tensor, p: f64, axes: &[usize]) -> Result<Tensor> {
    // An even power is smooth at 0, with all its derivatives.
    let powers = if p > 0.0 && p % 2.0 == 0.0 {
        binary_scalar(&POWER, x, Scalar::Float(p))?
    } else {
        power_of_magnitude(x, p)?
    };
    sum_over(&powers, axes, true)
}

/// The scale of each row before its powers are summed: 1, or its dominating magnitude.
fn row_scales(x: &Tensor, p: f64, axes: &[usize]) -> Result<Tensor> {
    let limit = largest_magnitude(x.dtype(), p);
    let magnitudes = abs_(&x.detach())?;
    let decisive = if p > 0.0 { largest } else { smallest }(&magnitudes, axes)?;
    unary_with(&UNIT_OF_ORDER, &decisive, &[1.0 / limit, limit, range(x.dtype()).unit])
}

/// Magnitudes between the inverse of this and this are in range for all powers in a norm and its first two derivatives, of
/// which `x^(2p - 2)` and `(x^p)^(1/p - 2)` are the most extreme.
fn largest_magnitude(dtype: DType, p: f64) -> f64 {
    range(dtype).low.powf(-1.0 / (2.0 * p.abs() + 2.0))
}

/// The range in which sums of powers lose no digits, and the smallest scale: a power of two that keeps gradients exact.
fn range(dtype: DType) -> AccurateRange {
    let (least, high, digits) = match dtype.real() {
        DType::F32 => (f32::MIN_POSITIVE.into(), f32::MAX.into(), f32::EPSILON.into()),
        _ => (f64::MIN_POSITIVE, f64::MAX, f64::EPSILON),
    };
    AccurateRange { low: least / digits, high, unit: 4.0 * least }
}

/// The Euclidean norm over axes, which are kept with size 1.
fn euclidean_norm(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let squares = squares_over(x, axes, true)?;
    let AccurateRange { low, high, .. } = range(x.dtype());
    if all_within(squares.view_of(), (low, high)) {
        return root(&squares);
    }
    let (squares, scales) = if x.dtype().is_complex() {
        // The parts become elements of the rows.
        let dims: ShapeVec = squares.shape().iter().copied().chain([1]).collect();
        let (scaled, scales) = scaled_squares(&real_pairs(x)?, &reshape_dims(&squares, &dims)?)?;
        let kept = squares.shape();
        (reshape_dims(&scaled, kept)?, reshape_dims(&scales, kept)?)
    } else {
        scaled_squares(x, &squares)?
    };
    binary(&DIVIDE, &root(&squares)?, &scales)
}

/// The sums of squares of each row times a scale, and the scales; real numbers. Derivative: `2 g scale x scale`.
fn scaled_squares(x: &Tensor, squares: &Tensor) -> Result<(Tensor, Tensor)> {
    let scaled = Tensor::empty(squares.shape(), squares.dtype())?;
    let scales = Tensor::empty(squares.shape(), squares.dtype())?;
    let range = range(x.dtype());
    scaled_sum_of_squares(
        x.view_of(),
        squares.view_of(),
        scaled.view_mut(),
        scales.view_mut(),
        &range,
    );
    let scaled = record_output(scaled, &[x], |_| NodeSpec {
        name: "sum_of_squares",
        cost: 2.0 * move_cost(x),
        params: (),
        saved: smallvec![Save::input(0, &[0]), Save::value(&scales, &[0])],
        backward: |(), g, cx| {
            let (x, scales) = (cx.saved(0)?, cx.saved(1)?);
            let twice = binary_scalar(&MULTIPLY, &g, Scalar::Float(2.0))?;
            // Multiplied in this order, nothing overflows or underflows.
            let twice = binary(&MULTIPLY, &twice, &scales)?;
            cx.give_with(0, |_| binary(&MULTIPLY, &binary(&MULTIPLY, &twice, &x)?, &scales))
        },
    })?;
    Ok((scaled, scales))
}

/// The norm of matrices over two resolved axes, rows then columns, which are kept with size 1.
fn matrix_norm_over(x: &Tensor, order: &Order, rows: usize, columns: usize) -> Result<Tensor> {
    let both = ShapeVec::from_slice(&[rows.min(columns), rows.max(columns)]);
    let sums = |axis| sum_over(&abs_(x)?, &[axis], true);
    match order {
        Order::Name(name) if matches!(name.as_str(), "fro" | "f") => {
            vector_norm_over(x, 2.0, &both)
        }
        Order::Number(1.0) => largest(&sums(rows)?, &[columns]),
        Order::Number(-1.0) => smallest(&sums(rows)?, &[columns]),
        Order::Number(f64::INFINITY) => largest(&sums(columns)?, &[rows]),
        Order::Number(f64::NEG_INFINITY) => smallest(&sums(columns)?, &[rows]),
        #[cfg(feature = "linalg")]
        Order::Number(2.0 | -2.0) => singular_value_norm(x, order, rows, columns),
        #[cfg(feature = "linalg")]
        Order::Name(name) if name == "nuc" => singular_value_norm(x, order, rows, columns),
        Order::Number(n) => Err(unknown(format!("order {n} of a matrix"))),
        Order::Name(name) => Err(unknown(format!("order {name:?} of a matrix"))),
    }
}

/// The norms defined by singular values.
#[cfg(feature = "linalg")]
fn singular_value_norm(x: &Tensor, order: &Order, rows: usize, columns: usize) -> Result<Tensor> {
    let mut axes: ShapeVec = (0..x.ndim()).filter(|&a| a != rows && a != columns).collect();
    axes.extend([rows, columns]);
    let values =
        crate::ops::linalg::svd::svdvals(&crate::ops::core::broadcast::permute_axes(x, &axes)?)?;
    let last = Axes::from(-1);
    let out = match order {
        // `abs` of non-negative values is the identity with a derivative of 0 at 0.
        Order::Number(2.0) => abs_(&values.max(last, false)?)?,
        Order::Number(_) => abs_(&values.min(last, false)?)?,
        Order::Name(_) => abs_(&values)?.sum(last, false, None)?,
    };
    let mut dims = ShapeVec::from_slice(x.shape());
    (dims[rows], dims[columns]) = (1, 1);
    reshape_dims(&out, &dims)
}

fn numeric_order(order: &Order) -> Result<f64> {
    match order {
        Order::Number(n) => Ok(*n),
        Order::Name(name) => Err(unknown(format!("order {name:?} of a vector"))),
    }
}

fn float(x: &Tensor) -> Result<Tensor> {
    astype(x, x.dtype().to_float())
}

fn sort_axes(mut axes: ShapeVec) -> ShapeVec {
    axes.sort_unstable();
    axes
}

crate::operations! { family "reduction" [float32];
    /// NumPy's norm: of the flattened tensor by default; with an order, of a vector or a matrix; along one axis, or of the matrices of two. Derivative: 0 where the norm is 0.
    [numpy("linalg.norm"), namespace("linalg"), positional(3), keywords(("p", "ord"))]
    fn norm(x: Tensor, ord: Option<Order> = None, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let x = float(x)?;
        let axes = match axis.named() {
            Some(named) => normalize_axes("norm", named, x.ndim())?,
            None => (0..x.ndim()).collect(),
        };
        let out = match (&ord, axes.len(), axis.named()) {
            (None, _, None) | (None, 1 | 2, _) => vector_norm_over(&x, 2.0, &sort_axes(axes.clone()))?,
            (Some(order), 1, _) => vector_norm_over(&x, numeric_order(order)?, &axes)?,
            (Some(order), 2, _) => matrix_norm_over(&x, order, axes[0], axes[1])?,
            (_, n, _) => return Err(unknown(format!("an order for {n} axes"))),
        };
        finish_shape(out, &axes, keepdims)
    }
    /// PyTorch's norm: of all elements, or over the axes if there are any, `sum(|x|^ord)^(1/ord)`, that of 2 for None and "fro"; "nuc" is `linalg.norm`'s, as all orders of matrices are. Derivative: 0 where the norm is 0.
    [positional(3), keywords(("p", "ord")), no_axes_are_all]
    fn norm_(x: Tensor, ord: Option<Order> = None, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let p = match &ord {
            None => 2.0,
            Some(Order::Number(p)) => *p,
            Some(Order::Name(name)) if matches!(name.as_str(), "fro" | "f") => 2.0,
            Some(Order::Name(_)) => return norm(x, ord, axis, keepdims),
        };
        let axes = if axis.named().is_some_and(<[isize]>::is_empty) { Axes::All } else { axis };
        let axes = resolve_axes("norm", &axes, x.ndim())?;
        finish_shape(vector_norm_over(&float(x)?, p, &axes)?, &axes, keepdims)
    }
    /// The norm of all elements over the axes, `sum(|x|^ord)^(1/ord)`. Derivative: 0 where the norm is 0.
    [numpy("linalg.vector_norm"), namespace("linalg"), positional(3), keywords(("p", "ord"))]
    fn vector_norm(x: Tensor, ord: f64 = 2.0, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let x = float(x)?;
        let axes = resolve_axes("vector_norm", &axis, x.ndim())?;
        finish_shape(vector_norm_over(&x, ord, &axes)?, &axes, keepdims)
    }
    /// The norm of the matrices in the last two axes, or in the two named; Frobenius by default. Derivative: 0 where the norm is 0.
    [numpy("linalg.matrix_norm"), namespace("linalg"), positional(3), keywords(("p", "ord"))]
    fn matrix_norm(x: Tensor, ord: Option<Order> = None, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let x = float(x)?;
        let axes = normalize_axes("matrix_norm", axis.named().unwrap_or(&[-2, -1]), x.ndim())?;
        match axes[..] {
            [rows, columns] => finish_shape(matrix_norm_over(&x, &ord.unwrap_or(Order::Name("fro".into())), rows, columns)?, &axes, keepdims),
            _ => Err(unknown(format!("{} axes for a matrix", axes.len()))),
        }
    }
}
