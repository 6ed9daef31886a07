//! `multi_dot` (matrix chain in the cheapest order) and `matrix_power`.
//!
//! Invariant: the order follows from shapes alone.

use super::helpers::{columns, rows, square};
use super::solve::inverse;
use crate::error::{Dims, Error, Result};
use crate::ops::core::arguments::Tensors;
use crate::ops::core::broadcast::{broadcast_to, reshape_dims};
use crate::ops::product::matmul::matmul;
use crate::tensor::Tensor;

/// Optimal split positions of the product of the matrices `i..=k`, for all `i < k`, by dynamic
/// programming.
fn splits(dims: &[f64]) -> Vec<Vec<usize>> {
    let n = dims.len() - 1;
    let (mut cost, mut split) = (vec![vec![0.0f64; n]; n], vec![vec![0; n]; n]);
    for length in 1..n {
        for i in 0..n - length {
            let k = i + length;
            cost[i][k] = f64::INFINITY;
            for at in i..k {
                let total = cost[i][at] + cost[at + 1][k] + dims[i] * dims[at + 1] * dims[k + 1];
                if total < cost[i][k] {
                    (cost[i][k], split[i][k]) = (total, at);
                }
            }
        }
    }
    split
}

fn multiply(xs: &[Tensor], split: &[Vec<usize>], i: usize, k: usize) -> Result<Tensor> {
    if i == k {
        return Ok(xs[i].clone());
    }
    let at = split[i][k];
    matmul(&multiply(xs, split, i, at)?, &multiply(xs, split, at + 1, k)?)
}

/// The operands as matrices: a vector in first position is a row, in last position a column.
fn as_matrices(xs: &[Tensor]) -> Result<Vec<Tensor>> {
    let last = xs.len() - 1;
    let mut out = Vec::with_capacity(xs.len());
    for (i, x) in xs.iter().enumerate() {
        out.push(match (x.ndim(), i) {
            (2, _) => x.clone(),
            (1, 0) => reshape_dims(x, &[1, x.size()])?,
            (1, i) if i == last => reshape_dims(x, &[x.size(), 1])?,
            _ => {
                return Err(Box::new(Error::Shape {
                    op: "multi_dot".into(),
                    what: format!("operand {i} has shape {}", Dims::from(x.shape())),
                    remedy: "give matrices; the first and the last may be vectors",
                }));
            }
        });
    }
    for i in 0..last {
        if columns(&out[i]) != rows(&out[i + 1]) {
            return Err(Box::new(Error::Shape {
                op: "multi_dot".into(),
                what: format!(
                    "operand {i} has {} columns and operand {} has {} rows",
                    columns(&out[i]),
                    i + 1,
                    rows(&out[i + 1])
                ),
                remedy: "neighbours must multiply",
            }));
        }
    }
    Ok(out)
}

/// `x` to the power `n`, by squaring.
fn power(x: &Tensor, mut n: u64) -> Result<Tensor> {
    let (mut base, mut out) = (x.clone(), None);
    loop {
        if n & 1 == 1 {
            out = Some(match &out {
                Some(partial) => matmul(partial, &base)?,
                None => base.clone(),
            });
        }
        n >>= 1;
        match (n, out) {
            (0, Some(done)) => return Ok(done),
            (_, partial) => out = partial,
        }
        base = matmul(&base, &base)?;
    }
}

fn identity(like: &Tensor) -> Result<Tensor> {
    let n = columns(like);
    let eye = (0..n * n).map(|p| if p % (n + 1) == 0 { 1.0 } else { 0.0 }).collect();
    broadcast_to(
        &crate::ops::core::broadcast::astype(
            &Tensor::from_vec::<f64>(eye, &[n, n])?,
            like.dtype(),
        )?,
        like.shape(),
    )?
    .contiguous()
}

crate::operations! { family "linear algebra" [float32];
    /// The product of two or more matrices in the order of least work; the first and last may be vectors. Derivatives: those of `matmul`.
    [numpy("linalg.multi_dot"), namespace("linalg")]
    fn multi_dot(arrays: Tensors) -> Tensor {
        if arrays.len() < 2 {
            return Err(Box::new(Error::Argument {
                op: "multi_dot".into(),
                what: format!("{} operands", arrays.len()),
                remedy: "give at least two".into(),
            }));
        }
        let xs = as_matrices(arrays)?;
        let sizes: Vec<f64> = xs.iter().map(rows).chain([columns(&xs[xs.len() - 1])]).map(|d| d as f64).collect();
        let out = multiply(&xs, &splits(&sizes), 0, xs.len() - 1)?;
        let first = if arrays[0].ndim() == 1 { &[][..] } else { &[rows(&out)][..] };
        let last = if arrays[xs.len() - 1].ndim() == 1 { &[][..] } else { &[columns(&out)][..] };
        reshape_dims(&out, &[first, last].concat())
    }
    /// Square matrices to an integer power; the inverse's for a negative one, the identity for 0. Derivative: that of the product.
    [numpy("linalg.matrix_power"), namespace("linalg")]
    fn matrix_power(x: Tensor, n: isize) -> Tensor {
        let float = square("matrix_power", x)?;
        match n {
            0 => identity(x),
            1.. => power(x, n as u64),
            _ => power(&inverse("matrix_power", &float)?, n.unsigned_abs() as u64),
        }
    }
}
