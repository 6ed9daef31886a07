//! `linear` and `dropout_mask`.
//!
//! Dropout masks come from the caller, so the core draws no random numbers. Invariant: weights are
//! [in, out]; `linear` is composed of the functors `gemm` and `add_fiber`, so its nodes in the graph are theirs.

use crate::error::{Dims, Error};
use crate::ops::core::broadcast::astype;
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::Scalar;
use crate::ops::elementwise::arithmetic::MULTIPLY;
use crate::ops::product::functor_ops::{Fiber, Gemm, add_fiber, gemm};
use crate::tensor::Tensor;

crate::operations! { family "dense layers" [float32];
    /// `x weight + bias` over the last axis of `x`; the weight is (in, out), the bias (out). Derivatives: `g weightᵀ`, `xᵀ g` and `g` summed over the rows.
    [namespace("nn.functional")]
    fn linear(x: Tensor, weight: Tensor, bias: Option<Tensor> = None) -> Tensor {
        let fits = weight.ndim() >= 2 && x.ndim() > 0 && x.shape()[x.ndim() - 1] == weight.shape()[0];
        if !fits || bias.is_some_and(|b| b.shape() != &weight.shape()[weight.ndim() - 1..]) {
            let bias = bias.map_or(String::new(), |b| format!(" and bias {}", Dims::from(b.shape())));
            return Err(Box::new(Error::Shape {
                op: "linear".into(),
                what: format!("input of shape {}, weight {}{bias}", Dims::from(x.shape()), Dims::from(weight.shape())),
                remedy: "the weight is (in, out), in the input's last dimension, and the bias (out)",
            }));
        }
        let out = gemm(x, weight, Gemm { alpha: 1.0, trans_a: false, trans_b: false, ndim: 1, batch_ndim: 0 })?;
        match bias {
            Some(bias) => add_fiber(1.0, bias, 1.0, &out, Fiber { axis: out.ndim() - 1, batch_ndim: 0 }),
            None => Ok(out),
        }
    }
    /// `x` where the mask holds, divided by the share `1 - p` that is kept, 0 elsewhere. Derivative: the same of `g`.
    [namespace("nn.functional")]
    fn dropout_mask(x: Tensor, mask: Tensor, p: f64 = 0.5) -> Tensor {
        if !(0.0..=1.0).contains(&p) {
            return Err(Box::new(Error::Argument {
                op: "dropout".into(),
                what: format!("p={p}"),
                remedy: "give a probability from 0 to 1".into(),
            }));
        }
        let x = astype(x, x.dtype().to_float())?;
        let kept = if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) };
        let factors = binary_scalar(&MULTIPLY, &astype(&mask.detach(), x.dtype())?, Scalar::Float(kept))?;
        binary(&MULTIPLY, &x, &factors)
    }
}
