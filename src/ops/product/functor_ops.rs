//! The functors of document 001: scaled sum, general contraction, and fibers along one axis.
//!
//! Shapes must match: nothing broadcasts. Batch axes are the last ones, as in the document.
//! Invariant: one call is one node, and each derivative is written with these functors and views.

use std::borrow::Cow;

use smallvec::{SmallVec, smallvec};

use crate::array::ShapeVec;
use crate::dtype::DType;
use crate::error::{Dims, Result};
use crate::kernels::elementwise::{LoopOperand, LoopTable, apply};
use crate::ops::core::broadcast::{astype, permute_axes, sum_over};
use crate::ops::core::complex_as_real::unrecorded_pairs;
use crate::ops::core::elementwise::binary_scalar;
use crate::ops::core::op_decl::Scalar;
use crate::ops::core::structured::{
    Cx, NodeSpec, Save, batched_dims, move_cost, record_output, save_none,
};
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::elementwise::arithmetic::{ADD, MULTIPLY};
use crate::ops::product::contract::{contract, scale_in_place};
pub use crate::ops::product::fibers::Fiber;
use crate::ops::product::fibers::shape_error;
use crate::tensor::Tensor;

static AXPBY: LoopTable =
    crate::loop_table!(float: |a, b; alpha, beta| alpha * a + beta * b; cost: 0.25;);
static SCALED: LoopTable = crate::loop_table!(float: |a; alpha| alpha * a; cost: 0.22;);

/// The attributes of a functor's node, for introspection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Attributes {
    /// `z = alpha x + beta y`.
    Add {
        /// The factor of `x`.
        alpha: f64,
        /// The factor of `y`.
        beta: f64,
    },
    /// A contraction.
    Gemm(Gemm),
    /// `out = alpha fiber + beta tensor`.
    AddFiber {
        /// The factor of the fiber.
        alpha: f64,
        /// The factor of the tensor.
        beta: f64,
        /// The axis of the fiber.
        fiber: Fiber,
    },
    /// `y = alpha Σ x`.
    SumFiber {
        /// The factor of the sum.
        alpha: f64,
        /// The axis of the fiber.
        fiber: Fiber,
    },
}

/// How `gemm` contracts: `C[M…, N…, B…] = alpha Σ_K A[M…, K…, B…] B[K…, N…, B…]`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gemm {
    /// The factor of the product.
    pub alpha: f64,
    /// Whether `a` is stored as `[K…, M…, B…]`.
    pub trans_a: bool,
    /// Whether `b` is stored as `[N…, K…, B…]`.
    pub trans_b: bool,
    /// How many axes are contracted.
    pub ndim: usize,
    /// How many trailing axes are batch axes.
    pub batch_ndim: usize,
}

/// The parameters of a functor's node: its attributes, and a shape that its derivative needs.
pub(crate) struct Params {
    pub(crate) attributes: Attributes,
    dims: ShapeVec,
}

/// The attribute record of the node of a functor; `None` for any other node.
///
/// ```
/// # use ferrograd::{Result, Tensor};
/// use ferrograd::ops::product::functor_ops::{Attributes, attributes, axpby};
///
/// # fn main() -> Result<()> {
/// let x = Tensor::from(vec![1.0, 2.0]).with_grad();
/// let z = axpby(2.0, &x, 3.0, &x)?;
/// let node = z.grad_fn().expect("recorded");
/// assert_eq!(attributes(&node), Some(Attributes::Add { alpha: 2.0, beta: 3.0 }));
/// # Ok(())
/// # }
/// ```
pub fn attributes(node: &crate::tensor::Node) -> Option<Attributes> {
    Some(node.rule().as_any()?.downcast_ref::<Params>()?.attributes)
}

/// The operands in their common float dtype.
#[inline]
fn promote_to_float<'a>(
    a: &'a Tensor,
    b: &'a Tensor,
) -> Result<(Cow<'a, Tensor>, Cow<'a, Tensor>)> {
    let dtype = a.dtype().promote(b.dtype()).to_float();
    Ok((float(a, dtype)?, float(b, dtype)?))
}

#[inline]
fn float(x: &Tensor, dtype: DType) -> Result<Cow<'_, Tensor>> {
    if x.dtype() == dtype { Ok(Cow::Borrowed(x)) } else { astype(x, dtype).map(Cow::Owned) }
}

/// `alpha g`, recorded.
fn scale_recorded(g: &Tensor, alpha: f64) -> Result<Tensor> {
    if alpha == 1.0 { Ok(g.clone()) } else { binary_scalar(&MULTIPLY, g, Scalar::Float(alpha)) }
}

/// `alpha x + beta y` of equal shapes. Derivatives: `alpha g` and `beta g`.
///
/// ```
/// # use ferrograd::{Result, Tensor};
/// use ferrograd::ops::product::functor_ops::axpby;
///
/// # fn main() -> Result<()> {
/// let (x, y) = (Tensor::from(1.0).with_grad(), Tensor::from(10.0).with_grad());
/// let z = axpby(2.0, &x, 3.0, &y)?;
/// assert_eq!(z.item::<f64>()?, 32.0);
/// z.backward()?;
/// assert_eq!(y.grad().expect("reached").item::<f64>()?, 3.0);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `Shape` when the shapes differ.
pub fn axpby(alpha: f64, x: &Tensor, beta: f64, y: &Tensor) -> Result<Tensor> {
    if x.shape() != y.shape() {
        let (a, b) = (Dims::from(x.shape()), Dims::from(y.shape()));
        let remedy = "give equal shapes, or use x + y, which broadcasts";
        return Err(shape_error("add", format!("x has shape {a} and y has shape {b}"), remedy));
    }
    let (x, y) = promote_to_float(x, y)?;
    let out = Tensor::empty(x.shape(), x.dtype())?;
    add_scaled(alpha, &x, beta, &y, &out);
    record_output(out, &[&x, &y], |out| NodeSpec {
        name: "add",
        cost: 2.0 * move_cost(out),
        params: Params { attributes: Attributes::Add { alpha, beta }, dims: ShapeVec::new() },
        saved: save_none(),
        backward: |params, g, cx| {
            let Attributes::Add { alpha, beta } = params.attributes else {
                return Ok(());
            };
            cx.give_with(0, |_| scale_recorded(&g, alpha))?;
            cx.give_with(1, |_| scale_recorded(&g, beta))
        },
    })
}

/// The contraction that `rule` describes. Derivatives: contractions of `g` with the other operand.
///
/// ```
/// # use ferrograd::{Result, Tensor};
/// use ferrograd::ops::product::functor_ops::{Gemm, gemm};
///
/// # fn main() -> Result<()> {
/// let rule = Gemm { alpha: 0.5, trans_a: false, trans_b: true, ndim: 1, batch_ndim: 0 };
/// let (a, b) = (Tensor::from(vec![1.0, 2.0]).with_grad(), Tensor::from(vec![3.0, 4.0]));
/// let y = gemm(&a, &b, rule)?; // one contracted axis, no M and no N axes
/// assert_eq!(y.item::<f64>()?, 5.5);
/// y.backward()?;
/// assert_eq!(a.grad().expect("reached").to_vec::<f64>()?, [1.5, 2.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `Shape` when an operand has too few axes, or the contracted or the batch axes differ.
pub fn gemm(a: &Tensor, b: &Tensor, rule: Gemm) -> Result<Tensor> {
    let (a, b) = promote_to_float(a, b)?;
    let (a, b) = (&*a, &*b);
    let (out, cost) = contract(a, b, &rule)?;
    record_output(out, &[a, b], |_| NodeSpec {
        name: "gemm",
        cost: 2.0 * cost,
        params: Params {
            attributes: Attributes::Gemm(rule),
            dims: smallvec![
                a.ndim() - rule.ndim - rule.batch_ndim,
                b.ndim() - rule.ndim - rule.batch_ndim
            ],
        },
        saved: smallvec![Save::input(0, &[1]), Save::input(1, &[0])],
        backward: gemm_backward,
    })
}

fn gemm_backward(params: &Params, g: Tensor, cx: &mut Cx<'_>) -> Result<()> {
    let Attributes::Gemm(rule) = params.attributes else {
        return Ok(());
    };
    let (m_ndim, n_ndim) = (params.dims[0], params.dims[1]);
    // A leading batch axis of gradients is treated as one of the M or N axes: moved among them,
    // then back to the front.
    let front = cx.batch().len();
    let move_batch_axis = |x: &Tensor, from: usize, to: usize| {
        if front == 0 { Ok(x.clone()) } else { move_axis(x, from, to) }
    };
    cx.give_with(0, |cx| {
        let b = conjugated(&cx.saved(1)?)?;
        let over = |trans_a, trans_b| Gemm { trans_a, trans_b, ndim: n_ndim, ..rule };
        if rule.trans_a {
            move_batch_axis(&gemm(&b, &g, over(rule.trans_b, true))?, rule.ndim, 0)
        } else {
            gemm(&g, &b, over(false, !rule.trans_b))
        }
    })?;
    cx.give_with(1, |cx| {
        let (a, g) = (conjugated(&cx.saved(0)?)?, move_batch_axis(&g, 0, m_ndim)?);
        let over = |trans_a, trans_b| Gemm { trans_a, trans_b, ndim: m_ndim, ..rule };
        if rule.trans_b {
            gemm(&g, &a, over(true, rule.trans_a))
        } else {
            move_batch_axis(&gemm(&a, &g, over(!rule.trans_a, false))?, rule.ndim, 0)
        }
    })
}

/// One axis moved to another place; a view.
fn move_axis(x: &Tensor, from: usize, to: usize) -> Result<Tensor> {
    let mut order: SmallVec<[usize; 8]> = (0..x.ndim()).filter(|&axis| axis != from).collect();
    order.insert(to, from);
    permute_axes(x, &order)
}

/// `alpha fiber[i_axis, i_batch…] + beta tensor[i]`; with `beta` 0 the tensor's values are not read.
/// Derivatives: `sum_fiber` of `alpha g`, and `beta g`.
///
/// ```
/// # use ferrograd::{Result, Tensor};
/// use ferrograd::ops::product::functor_ops::{Fiber, add_fiber, sum_fiber};
///
/// # fn main() -> Result<()> {
/// let place = Fiber { axis: 1, batch_ndim: 0 };
/// let bias = Tensor::from(vec![1.0, 2.0]).with_grad();
/// let rows = Tensor::from(ndarray::array![[0.0, 0.0], [5.0, 5.0], [7.0, 7.0]]);
/// let out = add_fiber(1.0, &bias, 1.0, &rows, place)?;
/// assert_eq!(sum_fiber(&out, place, 1.0)?.to_vec::<f64>()?, [15.0, 18.0]);
/// out.sum_all()?.backward()?;
/// assert_eq!(bias.grad().expect("reached").to_vec::<f64>()?, [3.0, 3.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `Shape` when the axis is not before the batch axes, or the fiber's shape is not the axis and the batch axes.
pub fn add_fiber(
    alpha: f64,
    fiber: &Tensor,
    beta: f64,
    tensor: &Tensor,
    place: Fiber,
) -> Result<Tensor> {
    place.check("add_fiber", tensor.shape())?;
    place.check_fiber(fiber, tensor.shape())?;
    let (fiber, tensor) = promote_to_float(fiber, tensor)?;
    let out = Tensor::empty(tensor.shape(), tensor.dtype())?;
    let expanded = place.broadcast(&fiber.detach(), tensor.shape())?;
    if beta == 0.0 {
        let (expanded, out) = (unrecorded_pairs(expanded), unrecorded_pairs(out.detach()));
        apply(&SCALED, &[LoopOperand::View(expanded.view_of())], out.view_mut(), &[alpha]);
    } else {
        add_scaled(alpha, &expanded, beta, &tensor, &out);
    }
    record_output(out, &[&fiber, &tensor], |out| NodeSpec {
        name: "add_fiber",
        cost: 2.0 * move_cost(out),
        params: Params {
            attributes: Attributes::AddFiber { alpha, beta, fiber: place },
            dims: ShapeVec::new(),
        },
        saved: save_none(),
        backward: |params, g, cx| {
            let Attributes::AddFiber { alpha, beta, fiber } = params.attributes else {
                return Ok(());
            };
            cx.give_with(0, |cx| sum_fiber_batched(&g, fiber, alpha, cx.batch().len()))?;
            cx.give_with(1, |_| scale_recorded(&g, beta))
        },
    })
}

/// `sum_fiber` of a batch with `front` leading axes.
fn sum_fiber_batched(x: &Tensor, place: Fiber, alpha: f64, front: usize) -> Result<Tensor> {
    if front == 0 {
        return sum_fiber(x, place, alpha);
    }
    let axes: SmallVec<[usize; 4]> =
        (front..x.ndim() - place.batch_ndim).filter(|&axis| axis != front + place.axis).collect();
    scale_recorded(&sum_over(x, &axes, false)?, alpha)
}

/// Fills `out` with `alpha x + beta y`; operands and `out` agree in shape and dtype. Real factors scale each part of
/// complex numbers alone.
#[inline]
fn add_scaled(alpha: f64, x: &Tensor, beta: f64, y: &Tensor, out: &Tensor) {
    if out.dtype().is_complex() {
        let [x, y, out] = [x, y, out].map(|t| unrecorded_pairs(t.detach()));
        return add_scaled(alpha, &x, beta, &y, &out);
    }
    let ins = [LoopOperand::View(x.view_of()), LoopOperand::View(y.view_of())];
    if alpha == 1.0 && beta == 1.0 {
        // The same bits as with the factors, at the cost of the plain sum.
        apply(ADD.forward, &ins, out.view_mut(), &[]);
    } else {
        apply(&AXPBY, &ins, out.view_mut(), &[alpha, beta]);
    }
}

/// `alpha` times the sum over every axis but one and the trailing batch axes: `y[k, b…]`.
/// Derivative: `alpha g` repeated along the summed axes.
///
/// ```
/// # use ferrograd::{Result, Tensor};
/// use ferrograd::ops::product::functor_ops::{Fiber, sum_fiber};
///
/// # fn main() -> Result<()> {
/// let x = Tensor::from(ndarray::array![[1.0, 2.0], [3.0, 4.0]]).with_grad();
/// let columns = sum_fiber(&x, Fiber { axis: 1, batch_ndim: 0 }, 0.5)?;
/// assert_eq!(columns.to_vec::<f64>()?, [2.0, 3.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `Shape` when the axis is not before the batch axes.
pub fn sum_fiber(x: &Tensor, place: Fiber, alpha: f64) -> Result<Tensor> {
    place.check("sum_fiber", x.shape())?;
    let x = float(x, x.dtype().to_float())?;
    let axes: SmallVec<[usize; 4]> =
        (0..x.ndim() - place.batch_ndim).filter(|&axis| axis != place.axis).collect();
    let out = sum_over(&x.detach(), &axes, false)?;
    scale_in_place(&out, alpha);
    record_output(out, &[&x], |_| NodeSpec {
        name: "sum_fiber",
        cost: move_cost(&x),
        params: Params {
            attributes: Attributes::SumFiber { alpha, fiber: place },
            dims: ShapeVec::from_slice(x.shape()),
        },
        saved: save_none(),
        backward: |params, g, cx| {
            let Attributes::SumFiber { alpha, fiber } = params.attributes else {
                return Ok(());
            };
            let front = cx.batch().len();
            let fiber = Fiber { axis: front + fiber.axis, ..fiber };
            cx.give_with(0, |cx| {
                fiber.broadcast_batched(
                    &scale_recorded(&g, alpha)?,
                    &batched_dims(cx, &params.dims),
                    front,
                )
            })
        },
    })
}
