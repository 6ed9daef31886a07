//! Softmax, log-softmax and the cross-entropy of rows of logits, computed relative to the row's maximum. A row that is all
//! -inf gives NaN, as in SciPy.

use smallvec::smallvec;

use crate::array::{ShapeVec, normalize_axis};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::{self, View, ViewMut};
use crate::ops::core::broadcast::{
    astype, broadcast_to, require_real, reshape_dims, sum_over, swap_axes,
};
use crate::ops::core::elementwise::binary;
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::structured::{NodeSpec, Save, from_end, move_cost, record_output};
use crate::ops::elementwise::arithmetic::{MULTIPLY, SUBTRACT};
use crate::ops::elementwise::compare::{equal, not_equal};
use crate::ops::elementwise::select::where_;
use crate::tensor::Tensor;

/// The axis swapped with the last one.
fn axis_to_last(x: &Tensor, axis: usize) -> Result<Tensor> {
    let last = x.ndim() - 1;
    if axis == last { Ok(x.clone()) } else { swap_axes(x, axis, last) }
}

type Kernel = fn(View<'_>, usize, ViewMut<'_>);

/// Runs a kernel for contiguous rows along an axis.
fn run_rows(x: &Tensor, axis: usize, kernel: Kernel) -> Result<Tensor> {
    if x.is_contiguous() {
        let out = Tensor::empty_as(x.layout(), x.dtype())?;
        kernel(x.view_of(), axis, out.view_mut());
        return Ok(out);
    }
    // Rows along the axis may be contiguous after the swap.
    let rows = axis_to_last(&x.detach(), axis)?;
    if axis + 1 != x.ndim() && rows.is_contiguous() {
        return axis_to_last(&run_rows(&rows, x.ndim() - 1, kernel)?, axis);
    }
    run_rows(&x.detach().contiguous()?, axis, kernel)
}

type Gradient = fn(View<'_>, View<'_>, usize, ViewMut<'_>);

/// The fused derivative from the output `y`, along any axis.
fn along_backward(y: &Tensor, g: &Tensor, axis: usize, kernel: Gradient) -> Result<Tensor> {
    let y = broadcast_to(&y.detach(), g.shape())?;
    let rows = axis_to_last(&y, axis)?;
    if axis + 1 != y.ndim() && !y.is_contiguous() && rows.is_contiguous() {
        let g = axis_to_last(&g.detach(), axis)?;
        return axis_to_last(&along_backward(&rows, &g, y.ndim() - 1, kernel)?, axis);
    }
    let (y, g) = (y.contiguous()?, g.detach().contiguous()?);
    let out = Tensor::empty(g.shape(), y.dtype())?;
    kernel(y.view_of(), g.view_of(), axis, out.view_mut());
    Ok(out)
}

pub(crate) fn softmax_axis(x: &Tensor, axis: usize) -> Result<Tensor> {
    record_output(run_rows(x, axis, kernels::softmax::softmax)?, &[x], |out| NodeSpec {
        name: "softmax",
        cost: 6.0 * move_cost(out),
        params: from_end(out, axis),
        saved: smallvec![Save::output(0, &[0])],
        backward: |&axis, g, cx| {
            let (y, axis) = (cx.saved(0)?, from_end(&g, axis));
            let gradient = if cx.create_graph() {
                let mean = sum_over(&binary(&MULTIPLY, &g, &y)?, &[axis], true)?;
                binary(&MULTIPLY, &y, &binary(&SUBTRACT, &g, &mean)?)?
            } else {
                along_backward(&y, &g, axis, kernels::softmax::softmax_backward)?
            };
            cx.give_with(0, |_| Ok(gradient))
        },
    })
}

pub(crate) fn log_softmax_axis(x: &Tensor, axis: usize) -> Result<Tensor> {
    record_output(run_rows(x, axis, kernels::softmax::log_softmax)?, &[x], |out| NodeSpec {
        name: "log_softmax",
        cost: 6.0 * move_cost(out),
        params: from_end(out, axis),
        saved: smallvec![Save::output(0, &[0])],
        backward: |&axis, g, cx| {
            let (y, axis) = (cx.saved(0)?, from_end(&g, axis));
            let gradient = if cx.create_graph() {
                let total = sum_over(&g, &[axis], true)?;
                binary(&SUBTRACT, &g, &binary(&MULTIPLY, &y.exp()?, &total)?)?
            } else {
                along_backward(&y, &g, axis, kernels::softmax::log_softmax_backward)?
            };
            cx.give_with(0, |_| Ok(gradient))
        },
    })
}

/// The cross-entropy of each row for int64 class indices; the fused derivative saves two numbers per row.
pub(crate) fn class_losses(x: &Tensor, target: &Tensor, ignore: i64) -> Result<Tensor> {
    let rows = x.detach().contiguous()?;
    let losses = Tensor::empty(target.shape(), x.dtype())?;
    let stats = Tensor::empty(&[target.size(), 2], x.dtype())?;
    let (view, classes) = (rows.view_of(), target.view_of());
    kernels::softmax::cross_entropy(view, classes, ignore, losses.view_mut(), stats.view_mut())?;
    record_output(losses, &[x], |_| NodeSpec {
        name: "cross_entropy",
        cost: 4.0 * move_cost(x),
        params: ignore,
        saved: smallvec![
            Save::input(0, &[0]),
            Save::value(target, &[0]),
            Save::value(&stats, &[0])
        ],
        backward: |&ignore, g, cx| {
            let (x, target, stats) = (cx.saved(0)?, cx.saved(1)?, cx.saved(2)?);
            let gradient = if cx.create_graph() || !cx.batch().is_empty() {
                recorded_gradient(&x, &target, ignore, &g)?
            } else {
                let (x, g) = (x.contiguous()?, g.contiguous()?);
                let out = Tensor::empty(x.shape(), x.dtype())?;
                kernels::softmax::cross_entropy_backward(
                    x.view_of(),
                    target.view_of(),
                    ignore,
                    stats.view_of(),
                    g.view_of(),
                    out.view_mut(),
                )?;
                out
            };
            cx.give_with(0, |_| Ok(gradient))
        },
    })
}

/// `(softmax(x) - onehot(target)) g` with recorded tensor operations; ignored rows are zero.
fn recorded_gradient(x: &Tensor, target: &Tensor, ignore: i64, g: &Tensor) -> Result<Tensor> {
    let classes: Vec<i64> = (0..x.shape()[1] as i64).collect();
    let column = reshape_dims(target, &[target.size(), 1])?;
    let chosen = astype(&equal(&column, &Tensor::from(classes))?, x.dtype())?;
    let counted = not_equal(&column, &Tensor::from(ignore))?;
    let mut column = ShapeVec::from_slice(g.shape());
    column.push(1);
    // The gradient of a mean over no rows is infinite; ignored rows must still get 0.
    let weight = Operand::Tensor(reshape_dims(g, &column)?);
    let weight = where_(&counted, &weight, &Operand::Scalar(Scalar::Float(0.0)))?;
    binary(&MULTIPLY, &binary(&SUBTRACT, &softmax_axis(x, 1)?, &chosen)?, &weight)
}

/// Applies `function` along an axis of `x`, as a float; a 0-d tensor has an axis 0, as in SciPy.
fn on_axis(
    op: &'static str,
    x: &Tensor,
    axis: isize,
    dtype: Option<DType>,
    function: fn(&Tensor, usize) -> Result<Tensor>,
) -> Result<Tensor> {
    if let Some(got) = dtype.filter(|d| !d.is_float()) {
        let remedy = "give fg.float32 or fg.float64";
        return Err(Box::new(Error::DType { op: op.into(), got, remedy }));
    }
    require_real(op, x)?;
    let x = astype(x, dtype.unwrap_or(x.dtype().to_float()))?;
    if x.ndim() == 0 && matches!(axis, 0 | -1) {
        return reshape_dims(&function(&reshape_dims(&x, &[1])?, 0)?, &[]);
    }
    function(&x, normalize_axis(op, axis, x.ndim())?)
}

crate::operations! { family "softmax" [float32];
    /// `e^x / sum(e^x)` along an axis, computed in `dtype` if it is given. Derivative: `y (g - sum(g y))`.
    [numpy("scipy.special.softmax")]
    fn softmax(x: Tensor, axis: isize, dtype: Option<DType> = None) -> Tensor {
        on_axis("softmax", x, axis, dtype, softmax_axis)
    }
    /// Logarithm of the softmax along an axis, computed in `dtype` if it is given. Derivative: `g - softmax(x) sum(g)`.
    [numpy("scipy.special.log_softmax")]
    fn log_softmax(x: Tensor, axis: isize, dtype: Option<DType> = None) -> Tensor {
        on_axis("log_softmax", x, axis, dtype, log_softmax_axis)
    }
}
