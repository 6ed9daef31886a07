//! diff, trapezoid, interp, convolve, polyval.
//!
//! All but the correlations are compositions. Invariant: each is differentiable in every float
//! operand, to any order.

use smallvec::smallvec;

use crate::array::{ShapeVec, normalize_axis};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels;
use crate::ops::core::broadcast::{
    any_true, astype, broadcast_to, require_readable, require_real, require_vector, reshape_dims,
    sum_over, swap_axes,
};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::structured::{NodeSpec, Save, move_cost, record_output};
use crate::ops::core::view::{ViewStep, embed, slice_axis, view_through};
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::elementwise::arithmetic::{ADD, DIVIDE, MULTIPLY, REMAINDER, SUBTRACT};
use crate::ops::elementwise::compare::{
    EQUAL, GREATER, LESS, LOGICAL_AND, NOT_EQUAL, isnan, logical_not,
};
use crate::ops::elementwise::rounding::nan_to_num;
use crate::ops::elementwise::select::{clip, where_};
use crate::ops::index::gather::gather_elements;
use crate::ops::product::matmul::product;
use crate::ops::reduce::scan::reverse_axis;
use crate::ops::reduce::sort::{order_along, search};
use crate::ops::shape::join::concatenate;
use crate::ops::signal::window::windows;
use crate::tensor::Tensor;

fn empty_input(op: &'static str) -> Box<Error> {
    Box::new(Error::Shape {
        op: op.into(),
        what: "an empty input".into(),
        remedy: "give at least one element",
    })
}

/// Adjacent elements: `x[1:]` and `x[:-1]` along an axis.
fn adjacent(x: &Tensor, axis: usize) -> Result<(Tensor, Tensor)> {
    let n = x.shape()[axis];
    let len = n.saturating_sub(1);
    Ok((slice_axis(x, axis, n - len, 1, len)?, slice_axis(x, axis, 0, 1, len)?))
}

/// The `prepend` or `append` of `diff`: a scalar becomes one slice.
fn as_border(x: &Tensor, value: &Operand, axis: usize) -> Result<Tensor> {
    let value = match value {
        Operand::Scalar(s) => Tensor::full(&[], *s, x.dtype().promote_weak(s.weak()))?,
        Operand::Tensor(t) => t.clone(),
    };
    if value.ndim() > 0 {
        return Ok(value);
    }
    let mut dims = ShapeVec::from_slice(x.shape());
    dims[axis] = 1;
    broadcast_to(&value, &dims)
}

/// `out[k] = sum_j a[k + j] v[j]` for all `k` where `v` is inside `a` ("valid"); vectors of one
/// dtype, `v` not longer than `a`.
fn correlate(a: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (n, m) = (a.size(), v.size());
    let windows = a.with_layout(a.layout().unfold(0, m, 1));
    let column = v.with_layout(v.layout().insert_axis(1));
    let out = Tensor::empty(&[n - m + 1, 1], a.dtype())?;
    kernels::matmul(windows.view_of(), column.view_of(), &out.view_mut())?;
    let out = out.into_layout(crate::array::Layout::contiguous(&[n - m + 1])?);
    record_output(out, &[a, v], |out| NodeSpec {
        name: "convolve",
        cost: 2.0 * move_cost(out) * m as f32,
        params: (),
        saved: smallvec![Save::input(0, &[1]), Save::input(1, &[0])],
        backward: |(), g, cx| {
            if !cx.batch().is_empty() {
                cx.give_with(0, |cx| convolve_full_rows(&g, &conjugated(&cx.saved(1)?)?))?;
                return cx.give_with(1, |cx| {
                    correlate_with_kernel_rows(&conjugated(&cx.saved(0)?)?, &g)
                });
            }
            cx.give_with(0, |cx| convolve_full(&g, &conjugated(&cx.saved(1)?)?))?;
            cx.give_with(1, |cx| correlate(&conjugated(&cx.saved(0)?)?, &g))
        },
    })
}

/// `correlate` of `a` with each row of `v`.
fn correlate_with_kernel_rows(a: &Tensor, v: &Tensor) -> Result<Tensor> {
    let windows = windows(a, 0, v.shape()[1], 1)?;
    product(v, &swap_axes(&windows, 0, 1)?)
}

/// `correlate` of each row of `a` with `v`.
fn correlate_rows(a: &Tensor, v: &Tensor) -> Result<Tensor> {
    let windows = windows(a, 1, v.size(), 1)?;
    let dims = [windows.shape()[0], windows.shape()[1]];
    reshape_dims(&product(&windows, &reshape_dims(v, &[v.size(), 1])?)?, &dims)
}

/// `convolve_full` of each row of `a` with `v`.
fn convolve_full_rows(a: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (rows, n, margin) = (a.shape()[0], a.shape()[1], v.size() - 1);
    let inner = ViewStep::Slice { axis: 1, start: margin, step: 1, len: n };
    let wide = embed(a, &[rows, n + 2 * margin], &[inner])?;
    correlate_rows(&wide, &reverse_axis(v, 0)?)
}

/// `out[k] = sum_j a[k - j] v[j]` wherever both have elements ("full").
fn convolve_full(a: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (n, m) = (a.size(), v.size());
    let (x, y) = (a.detach().contiguous()?, v.detach().contiguous()?);
    let out = Tensor::zeros(&[n + m - 1], a.dtype())?;
    kernels::convolution::convolve_full(x.view_of(), y.view_of(), out.view_mut())?;
    record_output(out, &[a, v], |out| NodeSpec {
        name: "convolve",
        cost: 2.0 * move_cost(out) * m as f32,
        params: (),
        saved: smallvec![Save::input(0, &[1]), Save::input(1, &[0])],
        backward: |(), g, cx| {
            let rows = !cx.batch().is_empty();
            let along = |v: &Tensor| if rows { correlate_rows(&g, v) } else { correlate(&g, v) };
            cx.give_with(0, |cx| along(&conjugated(&cx.saved(1)?)?))?;
            cx.give_with(1, |cx| along(&conjugated(&cx.saved(0)?)?))
        },
    })
}

/// The knots and values around each point, as pairs `(x0, x1)`, `(f0, f1)`.
fn segments(x: &Tensor, xp: &Tensor, fp: &Tensor) -> Result<[Tensor; 4]> {
    let most = xp.size() as i64 - 2;
    let right = reshape_dims(&search(xp, x, true)?, &[x.size()])?;
    let bound = |at: i64| Operand::Scalar(Scalar::Int(at));
    let left = binary_scalar(&SUBTRACT, &right, Scalar::Int(1))?;
    let left = clip(&left, Some(&bound(0)), Some(&bound(most)))?;
    let next = binary_scalar(&ADD, &left, Scalar::Int(1))?;
    let at = |t: &Tensor, i: &Tensor| reshape_dims(&gather_elements("interp", t, 0, i)?, x.shape());
    Ok([at(xp, &left)?, at(xp, &next)?, at(fp, &left)?, at(fp, &next)?])
}

/// Linear interpolation at each point. Where the result is NaN, as NumPy: the value at a knot
/// itself, the line from the right knot, or the value both knots share.
fn interpolate(x: &Tensor, xp: &Tensor, fp: &Tensor) -> Result<Tensor> {
    let [x0, x1, f0, f1] = segments(x, xp, fp)?;
    let slope = binary(&DIVIDE, &binary(&SUBTRACT, &f1, &f0)?, &binary(&SUBTRACT, &x1, &x0)?)?;
    let from = |knot: &Tensor, f: &Tensor| {
        binary(&ADD, f, &binary(&MULTIPLY, &slope, &binary(&SUBTRACT, x, knot)?)?)
    };
    let line = from(&x0, &f0)?;
    let is_nan = isnan(&line.detach())?;
    if !any_true(&is_nan)? {
        return Ok(line);
    }
    let place = x.detach();
    let right = from(&x1, &f1)?;
    let same_values = binary(&EQUAL, &f0.detach(), &f1.detach())?;
    let same_values = binary(&LOGICAL_AND, &same_values, &isnan(&right.detach())?)?;
    let same_values = binary(&LOGICAL_AND, &same_values, &logical_not(&isnan(&place)?)?)?;
    let tensor = |t: &Tensor| Operand::Tensor(t.clone());
    let mut inside = where_(&same_values, &tensor(&f0), &tensor(&right))?;
    for (knot, value) in [(&x0, &f0), (&x1, &f1)] {
        let at_knot = binary(&EQUAL, &place, &knot.detach())?;
        inside = where_(&at_knot, &tensor(value), &tensor(&inside))?;
    }
    where_(&is_nan, &tensor(&inside), &tensor(&line))
}

/// One end of a vector, 0-d.
fn element(x: &Tensor, index: usize) -> Result<Tensor> {
    view_through(x, "index", [ViewStep::Select { axis: 0, index }])
}

/// `outside` (or the nearest value) for points beyond the knots.
fn outside_knots(
    value: &Tensor,
    x: &Tensor,
    test: &'static crate::ops::core::elementwise::Elementwise,
    knot: &Tensor,
    outside: Option<&Operand>,
    nearest: &Tensor,
) -> Result<Tensor> {
    let mask = binary(test, &x.detach(), &knot.detach())?;
    let nearest = Operand::Tensor(nearest.clone());
    where_(&mask, outside.unwrap_or(&nearest), &Operand::Tensor(value.clone()))
}

/// Points and knots reduced to one period and sorted, with one more knot on either side.
fn wrap_period(
    x: &Tensor,
    xp: &Tensor,
    fp: &Tensor,
    period: f64,
) -> Result<(Tensor, Tensor, Tensor)> {
    if period == 0.0 || !period.is_finite() {
        return Err(Box::new(Error::Argument {
            op: "interp".into(),
            what: format!("a period of {period}"),
            remedy: "give a finite period other than 0".into(),
        }));
    }
    let period = period.abs();
    let inside = |x: &Tensor| binary_scalar(&REMAINDER, x, Scalar::Float(period));
    let xp = inside(xp)?;
    let order = order_along(&xp.detach(), 0, xp.size(), false)?;
    let (xp, fp) =
        (gather_elements("interp", &xp, 0, &order)?, gather_elements("interp", fp, 0, &order)?);
    let ends = |v: &Tensor, by: f64| -> Result<Tensor> {
        let one =
            |i: usize, by: f64| binary_scalar(&ADD, &slice_axis(v, 0, i, 1, 1)?, Scalar::Float(by));
        concatenate(&[one(v.size() - 1, -by)?, v.clone(), one(0, by)?], Some(0))
    };
    Ok((inside(x)?, ends(&xp, period)?, ends(&fp, 0.0)?))
}

crate::operations! { family "numerical" [float32];
    /// Differences of neighbours along an axis, `n` times; of booleans, whether they differ. Derivative: the negative differences of `g`.
    [numpy("diff")]
    fn diff(x: Tensor, n: isize = 1, axis: isize = -1, prepend: Option<Operand> = None, append: Option<Operand> = None) -> Tensor {
        if n < 0 {
            return Err(Box::new(Error::Argument { op: "diff".into(), what: format!("n is {n}"), remedy: "give 0 or more".into() }));
        }
        if n == 0 {
            return Ok(x.clone());
        }
        let axis = normalize_axis("diff", axis, x.ndim())?;
        let before = prepend.map(|value| as_border(x, value, axis)).transpose()?;
        let after = append.map(|value| as_border(x, value, axis)).transpose()?;
        let pieces: Vec<Tensor> = before.into_iter().chain([x.clone()]).chain(after).collect();
        let mut out = if pieces.len() == 1 { x.clone() } else { concatenate(&pieces, Some(axis as isize))? };
        for _ in 0..n.min(out.shape()[axis] as isize) {
            let (high, low) = adjacent(&out, axis)?;
            out = binary(if out.dtype() == DType::Bool { &NOT_EQUAL } else { &SUBTRACT }, &high, &low)?;
        }
        Ok(out)
    }
    /// Integral along an axis by the trapezoidal rule, over places `x` or steps of `dx`. Derivative: `g` times half the steps on either side.
    [numpy("trapezoid"), aliases("trapz")]
    fn trapezoid(y: Tensor, x: Option<Tensor> = None, dx: Scalar = Scalar::Float(1.0), axis: isize = -1) -> Tensor {
        let wide = x.map_or(y.dtype(), |x| y.dtype().promote(x.dtype()));
        let y = astype(y, wide.to_float())?;
        let axis = normalize_axis("trapezoid", axis, y.ndim())?;
        let (high, low) = adjacent(&y, axis)?;
        let sums = binary(&ADD, &high, &low)?;
        let steps = match x {
            None => {
                let half = match dx {
                    Scalar::Complex(re, im) => Scalar::Complex(re / 2.0, im / 2.0),
                    real => Scalar::Float(real.as_f64() / 2.0),
                };
                return binary_scalar(&MULTIPLY, &sum_over(&sums, &[axis], false)?, half);
            }
            Some(x) if x.ndim() == 1 => {
                let mut dims = ShapeVec::from_elem(1, y.ndim());
                let steps = diff(x, 1, -1, None, None)?;
                dims[axis] = steps.size();
                reshape_dims(&steps, &dims)?
            }
            Some(x) => diff(x, 1, axis as isize - y.ndim() as isize, None, None)?,
        };
        let areas = binary(&MULTIPLY, &sums, &steps)?;
        let axis = areas.ndim() + axis - y.ndim();
        binary_scalar(&DIVIDE, &sum_over(&areas, &[axis], false)?, Scalar::Float(2.0))
    }
    /// Piecewise linear interpolation at `x` of the values `fp` at ascending knots `xp`; beyond them `left` and `right`, or the values at the ends. With a `period`, the knots go round it in any order. Derivatives: the slope by `x`, the weights by `fp`.
    [numpy("interp")]
    fn interp(x: Tensor, xp: Tensor, fp: Tensor, left: Option<Operand> = None, right: Option<Operand> = None, period: Option<f64> = None) -> Tensor {
        require_real("interp", x)?;
        require_real("interp", xp)?;
        let wide = DType::F64.promote(fp.dtype());
        let (x, xp, fp) = (astype(x, DType::F64)?, astype(require_vector("interp", xp)?, DType::F64)?, astype(require_vector("interp", fp)?, wide)?);
        if xp.size() != fp.size() {
            return Err(Box::new(Error::Shape {
                op: "interp".into(),
                what: format!("{} knots and {} values", xp.size(), fp.size()),
                remedy: "give one value per knot",
            }));
        }
        if xp.size() == 0 {
            return Err(empty_input("interp"));
        }
        let (x, xp, fp) = match period {
            None => (x, xp, fp),
            Some(period) => wrap_period(&x, &xp, &fp, period)?,
        };
        let (left, right) = if period.is_some() { (None, None) } else { (left, right) };
        let (first, last) = (element(&fp, 0)?, element(&fp, fp.size() - 1)?);
        let inside = if xp.size() == 1 {
            // One knot has no slope: zero times a finite point keeps the shape, and a gradient of
            // 0.
            let place = nan_to_num(&x, 0.0, None, None)?;
            binary(&ADD, &first, &binary_scalar(&MULTIPLY, &place, Scalar::Float(0.0))?)?
        } else {
            interpolate(&x, &xp, &fp)?
        };
        let value = outside_knots(&inside, &x, &LESS, &element(&xp, 0)?, left, &first)?;
        outside_knots(&value, &x, &GREATER, &element(&xp, xp.size() - 1)?, right, &last)
    }
    /// Discrete convolution of two vectors, `sum_j a[j] v[k - j]`: `"full"`, `"same"` as the longer, or `"valid"`, where they overlap wholly. Derivatives: correlations of `g`.
    [numpy("convolve")]
    fn convolve(a: Tensor, v: Tensor, mode: String = "full".to_owned()) -> Tensor {
        let common = a.dtype().promote(v.dtype());
        let dtype = if common == DType::Bool { DType::I64 } else { common };
        let read = |x: &Tensor| if x.ndim() == 0 { reshape_dims(x, &[1]) } else { require_vector("convolve", x).cloned() };
        let (a, v) = (astype(&read(a)?, dtype)?, astype(&read(v)?, dtype)?);
        if a.size() == 0 || v.size() == 0 {
            return Err(empty_input("convolve"));
        }
        let (long, short) = if a.size() >= v.size() { (a, v) } else { (v, a) };
        let (n, m) = (long.size(), short.size());
        let out = match mode.as_str() {
            "valid" => correlate(&long, &reverse_axis(&short, 0)?)?,
            "full" => convolve_full(&long, &short)?,
            "same" => slice_axis(&convolve_full(&long, &short)?, 0, (m - 1) / 2, 1, n)?,
            other => return Err(Box::new(Error::Argument {
                op: "convolve".into(),
                what: format!("mode {other:?}"),
                remedy: "use \"full\", \"same\" or \"valid\"".into(),
            })),
        };
        if common == DType::Bool { astype(&out, DType::Bool) } else { Ok(out) }
    }
    /// The polynomial with coefficients `p`, highest first, at `x`, by Horner's rule. Derivatives: the derived polynomial by `x`, powers of `x` by `p`.
    [numpy("polyval")]
    fn polyval(p: Tensor, x: Tensor) -> Tensor {
        let p = require_vector("polyval", p)?;
        require_readable("polyval", p)?;
        let mut y = Tensor::zeros(x.shape(), x.dtype())?;
        for i in 0..p.size() {
            y = binary(&ADD, &binary(&MULTIPLY, &y, x)?, &element(p, i)?)?;
        }
        Ok(y)
    }
}
