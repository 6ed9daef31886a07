//! Norms of vectors and matrices.
//!
//! Owns: their orders, and roots whose derivative is 0 at 0, so that a norm has a gradient everywhere.
//! Never scales against overflow: as NumPy, it squares as it is.
//! Invariant: an order that is not computed here is refused, never approximated.

use crate::array::{ShapeVec, normalize_axes};
use crate::error::{Error, Result};
use crate::kernels::Reduction;
use crate::ops::core::arguments::Order;
use crate::ops::core::declare::{Axes, Scalar};
use crate::ops::core::elementwise::{binary_scalar, unary_with};
use crate::ops::core::layout::{astype, sum_over};
use crate::ops::elementwise::arith::POWER;
use crate::ops::elementwise::unary::abs_;
use crate::ops::fold::reduce::{
    count, extreme_over, finish_shape, need_elements, resolve, squares_over,
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
}

fn unknown(what: String) -> Box<Error> {
    Box::new(Error::Argument {
        op: "norm".into(),
        what,
        remedy: "use a number, inf or -inf for vectors, and 'fro', 'nuc', 1, -1, 2, -2, inf or -inf for matrices".into(),
    })
}

/// The largest of what is not negative, 0 of nothing; the axes stay as size 1.
fn largest(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    if count(x, axes) == 0 {
        return sum_over(x, axes, true);
    }
    extreme_over(Reduction::Max, "max", x, axes)
}

/// The smallest of what is not negative; the axes stay as size 1.
fn smallest(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    need_elements("norm", x, axes)?;
    extreme_over(Reduction::Min, "min", x, axes)
}

/// The norm of the elements over resolved axes, which stay as size 1.
fn vector(x: &Tensor, order: f64, axes: &[usize]) -> Result<Tensor> {
    if x.dtype().is_complex() && order != 2.0 {
        return vector(&abs_(x)?, order, axes);
    }
    let even = order > 0.0 && order % 2.0 == 0.0;
    match order {
        2.0 => root(&squares_over(x, axes, true)?),
        1.0 => sum_over(&abs_(x)?, axes, true),
        f64::INFINITY => largest(&abs_(x)?, axes),
        f64::NEG_INFINITY => smallest(&abs_(x)?, axes),
        0.0 => sum_over(&mark_nonzero(x)?, axes, true),
        p => {
            // A power without a kink at 0 keeps all its derivatives there.
            let powers = if even {
                binary_scalar(&POWER, x, Scalar::Float(p))?
            } else {
                power_of_magnitude(x, p)?
            };
            unary_with(&ROOT_OF_ORDER, &sum_over(&powers, axes, true)?, &[1.0 / p])
        }
    }
}

/// The norm of matrices over two resolved axes, rows then columns, which stay as size 1.
fn matrix(x: &Tensor, order: &Order, rows: usize, columns: usize) -> Result<Tensor> {
    let both = ShapeVec::from_slice(&[rows.min(columns), rows.max(columns)]);
    let sums = |axis| sum_over(&abs_(x)?, &[axis], true);
    match order {
        Order::Name(name) if matches!(name.as_str(), "fro" | "f") => vector(x, 2.0, &both),
        Order::Number(1.0) => largest(&sums(rows)?, &[columns]),
        Order::Number(-1.0) => smallest(&sums(rows)?, &[columns]),
        Order::Number(f64::INFINITY) => largest(&sums(columns)?, &[rows]),
        Order::Number(f64::NEG_INFINITY) => smallest(&sums(columns)?, &[rows]),
        #[cfg(feature = "linalg")]
        Order::Number(2.0 | -2.0) => spectral(x, order, rows, columns),
        #[cfg(feature = "linalg")]
        Order::Name(name) if name == "nuc" => spectral(x, order, rows, columns),
        Order::Number(n) => Err(unknown(format!("order {n} of a matrix"))),
        Order::Name(name) => Err(unknown(format!("order {name:?} of a matrix"))),
    }
}

/// The orders that singular values decide.
#[cfg(feature = "linalg")]
fn spectral(x: &Tensor, order: &Order, rows: usize, columns: usize) -> Result<Tensor> {
    let mut axes: ShapeVec = (0..x.ndim()).filter(|&a| a != rows && a != columns).collect();
    axes.extend([rows, columns]);
    let values =
        crate::ops::linalg::svd::svdvals(&crate::ops::core::layout::permute_axes(x, &axes)?)?;
    let last = Axes::from(-1);
    let out = match order {
        // Of what is not negative, the magnitude is the value, with the derivative 0 at 0.
        Order::Number(2.0) => abs_(&values.max(last, false)?)?,
        Order::Number(_) => abs_(&values.min(last, false)?)?,
        Order::Name(_) => abs_(&values)?.sum(last, false, None)?,
    };
    let mut dims = ShapeVec::from_slice(x.shape());
    (dims[rows], dims[columns]) = (1, 1);
    crate::ops::core::layout::reshape_dims(&out, &dims)
}

fn number(order: &Order) -> Result<f64> {
    match order {
        Order::Number(n) => Ok(*n),
        Order::Name(name) => Err(unknown(format!("order {name:?} of a vector"))),
    }
}

fn float(x: &Tensor) -> Result<Tensor> {
    astype(x, x.dtype().to_float())
}

fn sorted(mut axes: ShapeVec) -> ShapeVec {
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
            (None, _, None) | (None, 1 | 2, _) => vector(&x, 2.0, &sorted(axes.clone()))?,
            (Some(order), 1, _) => vector(&x, number(order)?, &axes)?,
            (Some(order), 2, _) => matrix(&x, order, axes[0], axes[1])?,
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
        let axes = resolve("norm", &axes, x.ndim())?;
        finish_shape(vector(&float(x)?, p, &axes)?, &axes, keepdims)
    }
    /// The norm of all elements over the axes, `sum(|x|^ord)^(1/ord)`. Derivative: 0 where the norm is 0.
    [numpy("linalg.vector_norm"), namespace("linalg"), positional(3), keywords(("p", "ord"))]
    fn vector_norm(x: Tensor, ord: f64 = 2.0, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let x = float(x)?;
        let axes = resolve("vector_norm", &axis, x.ndim())?;
        finish_shape(vector(&x, ord, &axes)?, &axes, keepdims)
    }
    /// The norm of the matrices in the last two axes, or in the two named; Frobenius by default. Derivative: 0 where the norm is 0.
    [numpy("linalg.matrix_norm"), namespace("linalg"), positional(3), keywords(("p", "ord"))]
    fn matrix_norm(x: Tensor, ord: Option<Order> = None, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let x = float(x)?;
        let axes = normalize_axes("matrix_norm", axis.named().unwrap_or(&[-2, -1]), x.ndim())?;
        match axes[..] {
            [rows, columns] => finish_shape(matrix(&x, &ord.unwrap_or(Order::Name("fro".into())), rows, columns)?, &axes, keepdims),
            _ => Err(unknown(format!("{} axes for a matrix", axes.len()))),
        }
    }
}
