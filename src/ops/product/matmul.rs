//! `matmul` with NumPy's rules for vectors and batches, and its derivative.
//!
//! Transposes are strides, never copies. Invariant: the recorded product sees at least two axes per
//! operand; vectors are reshaped around it.

use smallvec::smallvec;

use crate::array::{ShapeVec, broadcast_shapes};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels;
use crate::ops::core::broadcast::{
    align_tangent, astype, require_readable, reshape_dims, sum_to, sum_to_batched, swap_axes,
};
use crate::ops::core::elementwise::binary;
use crate::ops::core::structured::{Cx, NodeSpec, Save, record_output};
use crate::ops::elementwise::arithmetic::MULTIPLY;
use crate::ops::elementwise::arithmetic::conjugated;
use crate::tensor::Tensor;

/// Estimated multiply-adds per nanosecond of one core in float64.
const FLOPS_PER_NS: f32 = 40.0;

fn shape_mismatch(a: &Tensor, b: &Tensor) -> Box<Error> {
    Box::new(Error::MatmulShapes { a: a.shape().into(), b: b.shape().into() })
}

/// The dims of a product, and its estimated nanoseconds.
fn product_dims(a: &Tensor, b: &Tensor) -> Result<(ShapeVec, f32)> {
    let (m, k) = (a.shape()[a.ndim() - 2], a.shape()[a.ndim() - 1]);
    let (k2, n) = (b.shape()[b.ndim() - 2], b.shape()[b.ndim() - 1]);
    if k != k2 {
        return Err(shape_mismatch(a, b));
    }
    let lead = [&a.shape()[..a.ndim() - 2], &b.shape()[..b.ndim() - 2]];
    let mut dims = broadcast_shapes("matmul", &lead).map_err(|_| shape_mismatch(a, b))?;
    let batch: usize = dims.iter().product();
    dims.push(m);
    dims.push(n);
    require_readable("matmul", a)?;
    require_readable("matmul", b)?;
    let products = batch as f32 * m as f32 * k as f32 * n as f32;
    Ok((dims, 100.0 + products / FLOPS_PER_NS))
}

fn transposed(x: &Tensor) -> Result<Tensor> {
    swap_axes(x, x.ndim() - 2, x.ndim() - 1)
}

/// The adjoints.
fn adjoint(x: &Tensor) -> Result<Tensor> {
    transposed(&conjugated(x)?)
}

/// `g bᴴ` and `aᴴ g`, not recorded, on two threads where it pays.
fn both_gradients(a: &Tensor, b: &Tensor, g: &Tensor) -> Result<[Tensor; 2]> {
    let (a, b) = (adjoint(a)?, adjoint(b)?);
    let (ga, gb) = (product_dims(g, &b)?.0, product_dims(&a, g)?.0);
    let outs = [Tensor::empty(&ga, g.dtype())?, Tensor::empty(&gb, g.dtype())?];
    let [ga, gb] = outs.each_ref().map(Tensor::view_mut);
    let (a, b, g_view) = (a.view_of(), b.view_of(), g.view_of());
    kernels::matmul_pair([(g_view, b, ga), (a, g_view, gb)])?;
    Ok(outs)
}

/// The gradients from a batch of gradients: one tall product if the other operand is a single
/// matrix.
fn batched_gradients(
    cx: &mut Cx<'_>,
    g: &Tensor,
    a_dims: &[usize],
    b_dims: &[usize],
) -> Result<()> {
    let rows = cx.batch()[0];
    if cx.wants(0) {
        let bt = adjoint(&cx.saved(1)?)?;
        let ga = if bt.ndim() == 2 {
            let mut dims = ShapeVec::from_slice(g.shape());
            let k = dims.pop().unwrap_or(1);
            let tall = reshape_dims(g, &[dims.iter().product(), k])?;
            dims.push(bt.shape()[1]);
            reshape_dims(&product(&tall, &bt)?, &dims)?
        } else {
            product(g, &bt)?
        };
        cx.give(0, sum_to_batched(&ga, cx.batch(), a_dims)?)?;
    }
    if cx.wants(1) {
        let a = conjugated(&cx.saved(0)?)?;
        let (m, n) = (g.shape()[g.ndim() - 2], g.shape()[g.ndim() - 1]);
        let gb = if a.ndim() == 2 && g.ndim() == 3 && n == 1 {
            let gb = product(&reshape_dims(g, &[rows, m])?, &a)?;
            reshape_dims(&gb, &[rows, a.shape()[1], 1])?
        } else {
            product(&transposed(&a)?, g)?
        };
        cx.give(1, sum_to_batched(&gb, cx.batch(), b_dims)?)?;
    }
    Ok(())
}

/// The recorded product of operands of one dtype with at least two axes each.
pub(crate) fn product(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (dims, cost) = product_dims(a, b)?;
    // Outer products: nothing is summed.
    if dims.len() > 2 && a.shape()[a.ndim() - 1] == 1 {
        return binary(&MULTIPLY, a, b);
    }
    let out = Tensor::empty(&dims, a.dtype())?;
    if a.ndim() == 2 && b.ndim() == 2 {
        kernels::matmul(a.view_of(), b.view_of(), &out.view_mut())?;
    } else {
        kernels::matmul_batch(a.view_of(), b.view_of(), &out.view_mut())?;
    }
    record_output(out, &[a, b], |_| {
        NodeSpec {
            name: "matmul",
            cost: 2.0 * cost,
            params: (ShapeVec::from_slice(a.shape()), ShapeVec::from_slice(b.shape())),
            saved: smallvec![Save::input(0, &[1]), Save::input(1, &[0])],
            backward: |(a_dims, b_dims), g, cx| {
                if !cx.batch().is_empty() {
                    return batched_gradients(cx, &g, a_dims, b_dims);
                }
                let [m, n] = [2, 1].map(|i| g.shape()[g.ndim() - i]);
                let outer = g.ndim() > 2 && (m == 1 || n == 1);
                if cx.wants(0) && cx.wants(1) && !cx.create_graph() && !outer {
                    let [ga, gb] = both_gradients(&cx.saved(0)?, &cx.saved(1)?, &g)?;
                    cx.give(0, sum_to(&ga, a_dims)?)?;
                    cx.give(1, sum_to(&gb, b_dims)?)?;
                    return Ok(());
                }
                cx.give_with(0, |cx| sum_to(&product(&g, &adjoint(&cx.saved(1)?)?)?, a_dims))?;
                cx.give_with(1, |cx| sum_to(&product(&adjoint(&cx.saved(0)?)?, &g)?, b_dims))
            },
        }
        .with_jvp(|_, cx| {
            let ndim = cx.outputs_of_call()[0].ndim();
            if let Some(t) = cx.take_grad(0) {
                cx.give(0, product(&align_tangent(cx, &t, ndim)?, &cx.saved(1)?)?)?;
            }
            if let Some(t) = cx.take_grad(1) {
                cx.give(0, product(&cx.saved(0)?, &align_tangent(cx, &t, ndim)?)?)?;
            }
            Ok(())
        })
    })
}

crate::operations! { family "matmul" [float32];
    /// Matrix product: vectors are rows or columns, leading axes are batches that broadcast. Derivatives: `g bᴴ` and `aᴴ g`, with the conjugates of complex operands.
    [numpy("matmul"), aliases("mm", "bmm"), ufunc]
    fn matmul(a: Tensor, b: Tensor) -> Tensor {
        if a.ndim() == 0 || b.ndim() == 0 {
            return Err(Box::new(Error::Shape {
                op: "matmul".into(),
                what: format!("operands of {} and {} dimensions", a.ndim(), b.ndim()),
                remedy: "both need at least one dimension; use * for scalars",
            }));
        }
        let common = a.dtype().promote(b.dtype());
        // Booleans are multiplied as int64 and cast back.
        let dtype = if common == DType::Bool { DType::I64 } else { common };
        let (mut x, mut y) = (astype(a, dtype)?, astype(b, dtype)?);
        if x.shape()[x.ndim() - 1] != y.shape()[y.ndim().saturating_sub(2)] {
            return Err(shape_mismatch(a, b));
        }
        if a.ndim() == 1 {
            x = reshape_dims(&x, &[1, x.size()])?;
        }
        if b.ndim() == 1 {
            y = reshape_dims(&y, &[y.size(), 1])?;
        }
        // One matrix for a whole batch: a single tall product, whose weight gradient is one too.
        let mut dims = product_dims(&x, &y)?.0;
        if y.ndim() == 2 && x.ndim() > 2 && x.is_contiguous() {
            let rows = x.shape()[..x.ndim() - 1].iter().product();
            x = reshape_dims(&x, &[rows, y.shape()[0]])?;
        }
        let mut out = product(&x, &y)?;
        if b.ndim() == 1 {
            dims.pop();
        }
        if a.ndim() == 1 {
            dims.remove(dims.len() - if b.ndim() == 1 { 1 } else { 2 });
        }
        out = reshape_dims(&out, &dims)?;
        if common == DType::Bool { astype(&out, DType::Bool) } else { Ok(out) }
    }
}
