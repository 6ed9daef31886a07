//! Euclidean distances of all pairs of rows.
//!
//! No difference is stored, and squares are not expanded (which would cancel). Invariant: equal
//! rows have distance 0 and no derivative.

use smallvec::smallvec;

use crate::array::{afford, broadcast_shapes};
use crate::error::{Dims, Error, Result};
use crate::kernels::reduce::{
    projected_differences, squared_distances, squared_distances_within, weighted_differences,
};
use crate::ops::core::broadcast::{
    as_real_float, astype, broadcast_to, reshape_dims, sum_over, swap_axes,
};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::Scalar;
use crate::ops::core::row_indices::{RowIndices, scatter_rows};
use crate::ops::core::structured::{NodeSpec, Save, move_cost, record_output};
use crate::ops::elementwise::arithmetic::{ADD, MULTIPLY, negative};
use crate::ops::product::matmul::matmul;
use crate::ops::reduce::norms::root;
use crate::ops::shape::create::try_vec_with_capacity;
use crate::tensor::Tensor;

crate::operations! { family "distances" [float32];
    /// Distances of all pairs of rows, `√Σ_k (x1_ik - x2_jk)²`: (…, n, d) and (…, m, d) to (…, n, m); of one matrix (n, d), each row with the later ones. Derivatives: with `w = g / distance`, and 0 where that is 0, `Σ_j w_ij (x1_i - x2_j)` and `Σ_i w_ij (x2_j - x1_i)`.
    [namespace("nn.functional")]
    fn euclidean_distances(x1: Tensor, x2: Option<Tensor> = None) -> Tensor {
        let op = "euclidean_distances";
        let x1 = as_real_float(op, x1)?;
        let x2 = match x2 {
            Some(x2) => as_real_float(op, x2)?,
            None if x1.ndim() == 2 => return root(&squared_distance_within_op(&x1.contiguous()?)?),
            None => {
                let what = format!("rows of shape {}", Dims::from(x1.shape()));
                return Err(Box::new(Error::Shape { op: op.into(), what, remedy: "give a matrix (n, d)" }));
            }
        };
        let dtype = x1.dtype().promote(x2.dtype());
        let (first, second) = (x1.shape(), x2.shape());
        let fits = first.len() >= 2 && second.len() >= 2 && first.last() == second.last();
        if !fits {
            return Err(Box::new(Error::Shape {
                op: op.into(),
                what: format!("{} and {}", Dims::from(first), Dims::from(second)),
                remedy: "give (…, n, d) and (…, m, d)",
            }));
        }
        let (n, m) = (first[first.len() - 2], second[second.len() - 2]);
        let batch = broadcast_shapes(op, &[&first[..first.len() - 2], &second[..second.len() - 2]])?;
        let mut dims = batch.clone();
        dims.extend([n, m]);
        afford(dims.iter().fold(dtype.size(), |size, &dim| size.saturating_mul(dim)))?;
        let (a, b) = (merge(&astype(&x1, dtype)?, &batch)?, merge(&astype(&x2, dtype)?, &batch)?);
        reshape_dims(&root(&squared_distance_op(&a, &b)?)?, &dims)
    }
}

/// Broadcasts to these batch dims, merged into one axis.
fn merge(x: &Tensor, batch: &[usize]) -> Result<Tensor> {
    let own = &x.shape()[x.ndim() - 2..];
    let (own, count) = ([own[0], own[1]], batch.iter().product::<usize>());
    let whole = broadcast_to(x, &[batch, &own].concat())?;
    reshape_dims(&whole, &[count, own[0], own[1]])?.contiguous()
}

/// Squared distances of (b, n, d) from (b, m, d). Derivatives: twice the weighted sums of
/// differences.
fn squared_distance_op(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(&[a.shape()[0], a.shape()[1], b.shape()[1]], a.dtype())?;
    squared_distances(a.view_of(), b.view_of(), out.view_mut());
    record_output(out, &[a, b], |_| NodeSpec {
        name: "squared_distances",
        cost: 2.0 * (move_cost(a) + move_cost(b)),
        params: (),
        saved: smallvec![Save::input(0, &[0, 1]), Save::input(1, &[0, 1])],
        backward: |(), g, cx| {
            let (a, b) = (cx.saved(0)?, cx.saved(1)?);
            let g = binary_scalar(&MULTIPLY, &g, Scalar::Float(2.0))?;
            cx.give_with(0, |_| weighted_sum(&g, &a, &b))?;
            cx.give_with(1, |_| weighted_sum(&transpose(&g)?, &b, &a))
        },
    })
}

/// Squared distances of the rows of (n, d) from later rows. Derivative: as that of `squared_distance_op`.
fn squared_distance_within_op(x: &Tensor) -> Result<Tensor> {
    let n = x.shape()[0];
    let pairs = n.saturating_mul(n.saturating_sub(1)) / 2;
    afford(pairs.saturating_mul(x.dtype().size()))?;
    let out = Tensor::empty(&[pairs], x.dtype())?;
    squared_distances_within(x.view_of(), out.view_mut());
    record_output(out, &[x], |_| NodeSpec {
        name: "squared_distances",
        cost: 4.0 * move_cost(x),
        params: n,
        saved: smallvec![Save::input(0, &[0])],
        backward: |&n, g, cx| {
            let x = cx.saved(0)?;
            let g = binary_scalar(&MULTIPLY, &g, Scalar::Float(2.0))?;
            let mut above = try_vec_with_capacity(g.shape()[g.ndim() - 1])?;
            (0..n).for_each(|i| above.extend((i * n + i + 1) as i64..((i + 1) * n) as i64));
            let positions =
                RowIndices::from_arrays("pdist", &[n * n], &[0], &[Tensor::from(above)])?;
            let batch = &g.shape()[..g.ndim() - 1];
            let g = reshape_dims(&scatter_rows(&g, &positions)?, &[batch, &[n, n]].concat())?;
            let g = binary(&ADD, &g, &transpose(&g)?)?;
            cx.give_with(0, |_| weighted_sum(&g, &x, &x))
        },
    })
}

/// The transposes.
fn transpose(x: &Tensor) -> Result<Tensor> {
    swap_axes(x, x.ndim() - 2, x.ndim() - 1)
}

/// Which sum of the differences `a_i - b_j` of rows.
#[derive(Clone, Copy)]
enum DifferenceSum {
    /// `Σ_j f_ij (a_i - b_j)`, weighted per pair.
    Weighted,
    /// `Σ_k f_ik (a_ik - b_jk)`, projected on a vector per row.
    Projected,
}

fn weighted_sum(w: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    difference_sum(DifferenceSum::Weighted, w, a, b)
}

/// Sums of differences of rows, with factors: linear in each operand, each kind the derivative of
/// the other.
fn difference_sum(sums: DifferenceSum, factors: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let batch = [factors, a, b].map(|x| &x.shape()[..x.ndim() - 2]);
    let batch = broadcast_shapes("euclidean_distances", &batch)?;
    let (f, a, b) = (merge(factors, &batch)?, merge(a, &batch)?, merge(b, &batch)?);
    let (rows, columns, others) = (a.shape()[1], a.shape()[2], b.shape()[1]);
    let last = match sums {
        DifferenceSum::Weighted => columns,
        DifferenceSum::Projected => others,
    };
    let out = Tensor::empty(&[f.shape()[0], rows, last], f.dtype())?;
    let run = match sums {
        DifferenceSum::Weighted => weighted_differences,
        DifferenceSum::Projected => projected_differences,
    };
    // The kernel reads the other rows as columns, several at a time.
    let columns_of = transpose(&b.detach())?.contiguous()?;
    run(f.view_of(), a.view_of(), columns_of.view_of(), out.view_mut());
    let out = record_output(out, &[&f, &a, &b], |_| NodeSpec {
        name: "differences",
        cost: 2.0 * (move_cost(&f) + move_cost(&a) + move_cost(&b)),
        params: sums,
        saved: smallvec![Save::input(0, &[1, 2]), Save::input(1, &[0]), Save::input(2, &[0])],
        backward: |&sums, g, cx| {
            if cx.wants(0) {
                let (a, b) = (cx.saved(1)?, cx.saved(2)?);
                let other = match sums {
                    DifferenceSum::Weighted => DifferenceSum::Projected,
                    DifferenceSum::Projected => DifferenceSum::Weighted,
                };
                cx.give_with(0, |_| difference_sum(other, &g, &a, &b))?;
            }
            if !cx.wants(1) && !cx.wants(2) {
                return Ok(());
            }
            let f = cx.saved(0)?;
            let (weights, directions) = match sums {
                DifferenceSum::Weighted => (&f, &g),
                DifferenceSum::Projected => (&g, &f),
            };
            cx.give_with(1, |_| {
                binary(&MULTIPLY, directions, &sum_over(weights, &[weights.ndim() - 1], true)?)
            })?;
            cx.give_with(2, |_| negative(&matmul(&transpose(weights)?, directions)?))
        },
    })?;
    reshape_dims(&out, &[&batch[..], &[rows, last]].concat())
}
