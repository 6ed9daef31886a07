//! Cumulative sums, products, log-sum-exps and extremes, and the linear recurrence in their derivatives.
//!
//! Invariant: derivatives are made of scans and products, without division by elements: exact at zeros and to any order.

use smallvec::smallvec;

use crate::array::{afford, normalize_axis};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::{self, scan::Scan};
use crate::ops::core::broadcast::{
    astype, broadcast_to, cast_with_warnings, require_real, reshape_dims,
};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::structured::{NodeSpec, Save, from_end, move_cost, record_output, save_none};
use crate::ops::core::view::{ViewStep, embed, slice_axis};
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::elementwise::arithmetic::{DIVIDE, MULTIPLY, SUBTRACT};
use crate::ops::elementwise::compare::{EQUAL, equal, isfinite, not_equal};
use crate::ops::elementwise::select::where_;
use crate::ops::elementwise::unary::exp;
use crate::ops::index::gather::gather_elements;
use crate::ops::shape::join::concatenate;
use crate::tensor::Tensor;

/// The tensor and the axis to scan; without an axis, the flattened tensor and 0.
fn line(op: &'static str, x: &Tensor, axis: Option<isize>) -> Result<(Tensor, usize)> {
    match axis {
        None => Ok((reshape_dims(x, &[x.size()])?, 0)),
        Some(axis) => Ok((x.clone(), normalize_axis(op, axis, x.ndim())?)),
    }
}

/// NumPy's cumulative functions treat a 0-d tensor as a vector of one element.
fn at_least_1d(x: &Tensor) -> Result<Tensor> {
    if x.ndim() == 0 { reshape_dims(x, &[1]) } else { Ok(x.clone()) }
}

/// Applies an operation to a 0-d tensor as a vector of one element; the result is 0-d again if an axis was given.
fn on_scalar<R>(
    x: &Tensor,
    axis: Option<isize>,
    f: impl FnOnce(&Tensor) -> Result<R>,
    back: impl Fn(R) -> Result<R>,
) -> Result<R> {
    if x.ndim() > 0 {
        return f(x);
    }
    let found = f(&at_least_1d(x)?)?;
    if axis.is_none() { Ok(found) } else { back(found) }
}

/// `x` in the dtype of its cumulative sum or product: as in NumPy, small integers widen to int64.
fn widened(x: &Tensor, dtype: Option<DType>) -> Result<Tensor> {
    cast_with_warnings(x, dtype.unwrap_or(x.dtype().accumulates()))
}

/// An axis reversed; a view.
pub(crate) fn reverse_axis(x: &Tensor, axis: usize) -> Result<Tensor> {
    match x.shape()[axis] {
        0 => Ok(x.clone()),
        n => slice_axis(x, axis, n - 1, -1, n),
    }
}

/// Shifts forward by one along an axis; the first element becomes 0.
fn shift_forward(x: &Tensor, axis: usize) -> Result<Tensor> {
    let len = x.shape()[axis].saturating_sub(1);
    let kept = slice_axis(x, axis, 0, 1, len)?;
    embed(&kept, x.shape(), &[ViewStep::Slice { axis, start: 1, step: 1, len }])
}

/// Shifts back by one along an axis; the last element becomes 0.
fn shift_back(x: &Tensor, axis: usize) -> Result<Tensor> {
    let len = x.shape()[axis].saturating_sub(1);
    let kept = slice_axis(x, axis, 1.min(x.shape()[axis]), 1, len)?;
    embed(&kept, x.shape(), &[ViewStep::Slice { axis, start: 0, step: 1, len }])
}

fn run_scan(op: Scan, x: &Tensor, axis: usize) -> Result<Tensor> {
    afford(kernels::scan::working_bytes(x.dtype(), x.size()))?;
    let out = Tensor::empty(x.shape(), x.dtype())?;
    kernels::scan::scan(op, x.view_of(), axis, out.view_mut())?;
    Ok(out)
}

/// `s[i] = a[i] s[i - 1] + b[i]` along an axis of `b`, with `s[-1] = 0`; `a` broadcasts to `b`.
fn recurrence(a: &Tensor, b: &Tensor, axis: usize) -> Result<Tensor> {
    let a = &broadcast_to(a, b.shape())?;
    let out = Tensor::empty(b.shape(), b.dtype())?;
    kernels::scan::recurrence(a.view_of(), b.view_of(), axis, out.view_mut())?;
    record_output(out, &[a, b], |out| NodeSpec {
        name: "recurrence",
        cost: 6.0 * move_cost(out),
        params: from_end(out, axis),
        saved: smallvec![Save::input(0, &[0, 1]), Save::output(0, &[0])],
        backward: |&axis, g, cx| {
            let h = recurrence_from_end(&conjugated(&cx.saved(0)?)?, &g, axis)?;
            cx.give_with(0, |cx| {
                let sums = conjugated(&cx.saved(1)?)?;
                binary(&MULTIPLY, &h, &shift_forward(&sums, from_end(&sums, axis))?)
            })?;
            cx.give_with(1, |_| Ok(h))
        },
    })
}

/// The reverse recurrence `h[i] = a[i + 1] h[i + 1] + b[i]` along an axis counted from the end.
fn recurrence_from_end(a: &Tensor, b: &Tensor, axis: usize) -> Result<Tensor> {
    let (own, axis) = (from_end(a, axis), from_end(b, axis));
    let a = reverse_axis(&shift_back(a, own)?, own)?;
    reverse_axis(&recurrence(&a, &reverse_axis(b, axis)?, axis)?, axis)
}

pub(crate) fn cumulative_sum(x: &Tensor, axis: usize) -> Result<Tensor> {
    record_output(run_scan(Scan::Sum, x, axis)?, &[x], |out| NodeSpec {
        name: "cumsum",
        cost: 2.0 * move_cost(out),
        params: from_end(out, axis),
        saved: save_none(),
        backward: |&axis, g, cx| {
            let axis = from_end(&g, axis);
            let from_end = cumulative_sum(&reverse_axis(&g, axis)?, axis)?;
            cx.give_with(0, |_| reverse_axis(&from_end, axis))
        },
    })
}

pub(crate) fn cumulative_product(x: &Tensor, axis: usize) -> Result<Tensor> {
    record_output(run_scan(Scan::Prod, x, axis)?, &[x], |out| NodeSpec {
        name: "cumprod",
        cost: 8.0 * move_cost(out),
        params: from_end(out, axis),
        saved: smallvec![Save::input(0, &[0]), Save::output(0, &[0])],
        backward: |&axis, g, cx| {
            let (x, y) = (conjugated(&cx.saved(0)?)?, conjugated(&cx.saved(1)?)?);
            let after = recurrence_from_end(&x, &g, axis)?;
            cx.give_with(0, |_| {
                binary(&MULTIPLY, &exclusive_product(&y, from_end(&y, axis))?, &after)
            })
        },
    })
}

/// The exclusive cumulative product, from the inclusive one.
fn exclusive_product(y: &Tensor, axis: usize) -> Result<Tensor> {
    let n = y.shape()[axis];
    if n == 0 {
        return Ok(y.clone());
    }
    let mut dims = y.shape().to_vec();
    dims[axis] = 1;
    let first = Tensor::ones(&dims, y.dtype())?;
    concatenate(&[first, slice_axis(y, axis, 0, 1, n - 1)?], Some(axis as isize))
}

/// For each element, the product of the others in its line; exact at zeros.
pub(crate) fn product_of_others(x: &Tensor, axis: usize) -> Result<Tensor> {
    let ahead = exclusive_product(&cumulative_product(x, axis)?, axis)?;
    let behind = exclusive_product(&cumulative_product(&reverse_axis(x, axis)?, axis)?, axis)?;
    binary(&MULTIPLY, &ahead, &reverse_axis(&behind, axis)?)
}

/// The running maximum of each line (0 where it is not finite), and the factor that rescales a running sum of
/// `e^(x - maximum)` from the previous element. Both are constants: the result does not depend on them.
fn running_max(x: &Tensor, axis: usize) -> Result<[Tensor; 2]> {
    let number = |v: f64| Operand::Scalar(Scalar::Float(v));
    let (top, _) = cumulative_extreme("logcumsumexp", true, &x.detach(), Some(axis as isize))?;
    let finite = isfinite(&top)?;
    let level = where_(&finite, &Operand::Tensor(top), &number(0.0))?;
    let fall = exp(&binary(&SUBTRACT, &shift_forward(&level, axis)?, &level)?)?;
    // Relative to an infinite maximum, finite terms are 0; an empty sum has nothing to rescale.
    let before =
        not_equal(&shift_forward(&astype(&finite, x.dtype())?, axis)?, &Tensor::from(0.0))?;
    let alike = equal(&finite, &before)?;
    Ok([level, where_(&alike, &Operand::Tensor(fall), &number(0.0))?])
}

fn cumulative_logsumexp(x: &Tensor, axis: usize) -> Result<Tensor> {
    record_output(run_scan(Scan::LogSum, x, axis)?, &[x], |out| NodeSpec {
        name: "logcumsumexp",
        cost: 12.0 * move_cost(out),
        params: from_end(out, axis),
        saved: smallvec![Save::input(0, &[0])],
        backward: |&axis, g, cx| {
            let x = cx.saved(0)?;
            let own = from_end(&x, axis);
            // Relative to the running maximum nothing overflows, and large values do not round away the shares.
            let [level, fall] = running_max(&x, own)?;
            let terms = exp(&binary(&SUBTRACT, &x, &level)?)?;
            let sums = recurrence(&fall, &terms, own)?;
            let none = binary_scalar(&EQUAL, &sums.detach(), Scalar::Float(0.0))?;
            let one = Operand::Scalar(Scalar::Float(1.0));
            let sums = where_(&none, &one, &Operand::Tensor(sums))?;
            let growth = binary(&DIVIDE, &shift_forward(&sums, own)?, &sums)?;
            let after = recurrence_from_end(&binary(&MULTIPLY, &fall, &growth)?, &g, axis)?;
            cx.give_with(0, |_| binary(&MULTIPLY, &binary(&DIVIDE, &terms, &sums)?, &after))
        },
    })
}

/// Running extremes and the index of each: the last of equal ones; a NaN persists.
fn cumulative_extreme(
    op: &'static str,
    largest: bool,
    x: &Tensor,
    axis: Option<isize>,
) -> Result<(Tensor, Tensor)> {
    require_real(op, x)?;
    let extreme = |x: &Tensor| {
        let (x, axis) = line(op, x, axis)?;
        let index = Tensor::empty(x.shape(), DType::I64)?;
        if x.size() > 0 {
            afford(kernels::scan::working_bytes(x.dtype(), x.size()))?;
            kernels::scan::scan_extreme(largest, x.view_of(), axis, index.view_mut())?;
        }
        Ok((gather_elements(op, &x, axis, &index)?, index))
    };
    on_scalar(x, axis, extreme, |(values, indices)| {
        Ok((reshape_dims(&values, &[])?, reshape_dims(&indices, &[])?))
    })
}

crate::operations! { family "cumulative";
    /// Running sum along an axis (or of the flattened tensor). Derivative: the running sum of `g` from the end.
    [numpy("cumsum", "cumulative_sum"), in_place, scan("add")]
    fn cumsum(x: Tensor, axis: Option<isize> = None, dtype: Option<DType> = None) -> Tensor {
        let (x, axis) = line("cumsum", &widened(&at_least_1d(x)?, dtype)?, axis)?;
        cumulative_sum(&x, axis)
    }
    /// Running product along an axis (or of the flattened tensor). Derivative: exact also where elements are zero.
    [numpy("cumprod", "cumulative_prod"), in_place, scan("multiply")]
    fn cumprod(x: Tensor, axis: Option<isize> = None, dtype: Option<DType> = None) -> Tensor {
        let (x, axis) = line("cumprod", &widened(&at_least_1d(x)?, dtype)?, axis)?;
        cumulative_product(&x, axis)
    }
    /// Running `ln(sum(e^x))` along an axis (or of the flattened tensor), without overflow. Derivative: the share of each element in all later sums.
    [scan("logaddexp")]
    fn logcumsumexp(x: Tensor, axis: Option<isize> = None) -> Tensor {
        require_real("logcumsumexp", x)?;
        let sums = |x: &Tensor| {
            let (x, axis) = line("logcumsumexp", &astype(x, x.dtype().to_float())?, axis)?;
            cumulative_logsumexp(&x, axis)
        };
        on_scalar(x, axis, sums, |sums| reshape_dims(&sums, &[]))
    }
    /// Running maximum along an axis (or of the flattened tensor) and its index, the last of equals. Derivative: `g` to the element chosen.
    [scan("maximum"), fields("values indices")]
    fn cummax(x: Tensor, axis: Option<isize> = None) -> (Tensor, Tensor) {
        cumulative_extreme("cummax", true, x, axis)
    }
    /// Running minimum along an axis (or of the flattened tensor) and its index, the last of equals. Derivative: `g` to the element chosen.
    [scan("minimum"), fields("values indices")]
    fn cummin(x: Tensor, axis: Option<isize> = None) -> (Tensor, Tensor) {
        cumulative_extreme("cummin", false, x, axis)
    }
}
