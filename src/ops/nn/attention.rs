//! Scaled dot-product attention and rotary position embeddings.
//!
//! Masks are constants without gradient. Invariant: a query whose keys are all masked gives NaN, as
//! the softmax of an empty set does.

use crate::array::{afford, checked_numel};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::ops::core::broadcast::{
    as_real_float, astype, broadcast_to, real_float, reshape_dims, swap_axes,
};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::view::slice_axis;
use crate::ops::elementwise::arithmetic::{ADD, MULTIPLY, SUBTRACT};
use crate::ops::elementwise::select::where_;
use crate::ops::product::matmul::matmul;
use crate::ops::reduce::softmax::softmax_axis;
use crate::ops::shape::join::{concatenate, stack};
use crate::tensor::Tensor;

#[cold]
fn shape_error(op: &'static str, what: String, remedy: &'static str) -> Box<Error> {
    Box::new(Error::Shape { op: op.into(), what, remedy })
}

/// The causal mask: a query sees the keys up to its own position.
fn causal_mask(queries: usize, keys: usize) -> Result<Tensor> {
    checked_numel("scaled_dot_product_attention", &[queries, keys])?;
    let visible = (0..queries * keys).map(|i| i % keys.max(1) <= i / keys.max(1)).collect();
    Tensor::from_vec::<bool>(visible, &[queries, keys])
}

fn check(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<()> {
    let fits = q.ndim() >= 2
        && k.ndim() >= 2
        && v.ndim() >= 2
        && q.shape()[q.ndim() - 1] == k.shape()[k.ndim() - 1]
        && k.shape()[k.ndim() - 2] == v.shape()[v.ndim() - 2];
    if fits {
        return Ok(());
    }
    let dims = |x: &Tensor| Dims::from(x.shape());
    Err(shape_error(
        "scaled_dot_product_attention",
        format!("query {}, key {} and value {}", dims(q), dims(k), dims(v)),
        "give query (…, L, E), key (…, S, E) and value (…, S, V)",
    ))
}

/// Applies a mask to scores: booleans say which keys are visible, floats are added.
fn apply_mask(scores: &Tensor, mask: &Tensor) -> Result<Tensor> {
    if mask.dtype() != DType::Bool {
        if !mask.dtype().is_float() {
            // Adding ones and zeros would mask nothing.
            return Err(Box::new(Error::Unsupported {
                op: "scaled_dot_product_attention".into(),
                what: format!("attn_mask of dtype {}", mask.dtype()),
                remedy: "give booleans, true for the keys that are seen, or floats, which are added",
            }));
        }
        return binary(&ADD, scores, &astype(mask, scores.dtype())?);
    }
    where_(
        mask,
        &Operand::Tensor(scores.clone()),
        &Operand::Scalar(Scalar::Float(f64::NEG_INFINITY)),
    )
}

/// Cosines and sines of the angles of every position, (positions, pairs).
fn rotary_angles(
    positions: &Tensor,
    pairs: usize,
    base: f64,
    dtype: DType,
) -> Result<(Tensor, Tensor)> {
    let rates: Vec<f64> = (0..pairs).map(|i| base.powf(-(i as f64) / pairs as f64)).collect();
    let positions = astype(&positions.detach(), DType::F64)?;
    let column = reshape_dims(&positions, &[positions.size(), 1])?;
    let angle = binary(&MULTIPLY, &column, &Tensor::from(rates))?;
    Ok((astype(&angle.cos()?, dtype)?, astype(&angle.sin()?, dtype)?))
}

/// Every other element of the last axis.
fn every_other(x: &Tensor, start: usize, pairs: usize) -> Result<Tensor> {
    slice_axis(x, x.ndim() - 1, start, 2, pairs)
}

crate::operations! { family "attention" [float32];
    /// `softmax(q kᵀ scale + mask) v` for queries (…, L, E), keys (…, S, E) and values (…, S, V); `scale` is 1/sqrt(E) unless given; a boolean mask says which keys are seen, is_causal those up to the query's position. Derivatives: those of its parts.
    [namespace("nn.functional"), core_function("_scaled_dot_product_attention")]
    fn scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Option<Tensor> = None, is_causal: bool = false, scale: Option<f64> = None) -> Tensor {
        check(query, key, value)?;
        let dtype = query.dtype().promote(key.dtype()).promote(value.dtype());
        let dtype = real_float("scaled_dot_product_attention", dtype)?;
        let (q, k, v) = (astype(query, dtype)?, astype(key, dtype)?, astype(value, dtype)?);
        let scale = scale.unwrap_or_else(|| 1.0 / (q.shape()[q.ndim() - 1] as f64).sqrt());
        let q = binary_scalar(&MULTIPLY, &q, Scalar::Float(scale))?;
        let mut scores = matmul(&q, &swap_axes(&k, k.ndim() - 2, k.ndim() - 1)?)?;
        if is_causal {
            scores = apply_mask(&scores, &causal_mask(q.shape()[q.ndim() - 2], k.shape()[k.ndim() - 2])?)?;
        }
        if let Some(mask) = attn_mask {
            scores = apply_mask(&scores, mask)?;
        }
        matmul(&softmax_axis(&scores, scores.ndim() - 1)?, &v)
    }
    /// Rotary positions on (…, L, E): pair `i` of the last axis turns by `position / base^(2i/E)`; pairs are the two halves, or neighbours with interleaved=True; positions count from 0 unless given. Derivative: `g` turned back.
    [namespace("nn.functional")]
    fn rope(x: Tensor, positions: Option<Tensor> = None, base: f64 = 10000.0, interleaved: bool = false) -> Tensor {
        let x = as_real_float("rope", x)?;
        if x.ndim() < 2 || x.shape()[x.ndim() - 1] % 2 == 1 {
            return Err(shape_error("rope", format!("an input of shape {}", Dims::from(x.shape())), "give (…, positions, elements) with an even number of elements"));
        }
        let (length, pairs, last) = (x.shape()[x.ndim() - 2], x.shape()[x.ndim() - 1] / 2, x.ndim() - 1);
        let positions = match positions {
            Some(given) if given.size() == length => given.clone(),
            Some(given) => return Err(shape_error("rope", format!("positions of shape {} for {length} rows", Dims::from(given.shape())), "give one position per row")),
            None => {
                afford(length.saturating_mul(8))?;
                Tensor::from((0..length as i64).collect::<Vec<_>>())
            }
        };
        let (cos, sin) = rotary_angles(&positions, pairs, base, x.dtype())?;
        let (a, b) = if interleaved {
            (every_other(&x, 0, pairs)?, every_other(&x, 1, pairs)?)
        } else {
            (slice_axis(&x, last, 0, 1, pairs)?, slice_axis(&x, last, pairs, 1, pairs)?)
        };
        let mul = |x: &Tensor, y: &Tensor| binary(&MULTIPLY, x, &broadcast_to(y, x.shape())?);
        let first = binary(&SUBTRACT, &mul(&a, &cos)?, &mul(&b, &sin)?)?;
        let second = binary(&ADD, &mul(&b, &cos)?, &mul(&a, &sin)?)?;
        if !interleaved {
            return concatenate(&[first, second], Some(-1));
        }
        reshape_dims(&stack(&[first, second], -1)?, x.shape())
    }
}
