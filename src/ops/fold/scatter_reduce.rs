//! Folding values into the rows that indices name: sums, products, means and extremes.
//!
//! Owns: scatter_reduce and index_reduce (PyTorch). Never changes an argument.
//! Invariant: a fold follows its indices, also where it is recorded; rows of one target are folded by `segments`.

use smallvec::SmallVec;

use super::segments::{Extreme, Segments};
use crate::array::{ShapeVec, normalize_axis};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ops::core::declare::{Operand, Scalar};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::layout::{astype, broadcast_to, choose, permute_axes, reshape_dims};
use crate::ops::core::row_indices::{
    RowIndices, add_rows, clear_rows, scatter_rows, take_rows, value_for,
};
use crate::ops::elementwise::arith::{ADD, DIVIDE, FLOOR_DIVIDE, MULTIPLY};
use crate::ops::elementwise::select::clip;
use crate::ops::index::gather::GatherIndex;
use crate::ops::index::take::row_numbers;
use crate::tensor::Tensor;

/// Reduce values are folded.
#[derive(Clone, Copy, PartialEq)]
enum Reduce {
    Sum,
    Mean,
    Prod,
    Max,
    Min,
}

impl Reduce {
    fn named(op: &'static str, name: &str) -> Result<Reduce> {
        Ok(match name {
            "sum" => Reduce::Sum,
            "mean" => Reduce::Mean,
            "prod" => Reduce::Prod,
            "amax" => Reduce::Max,
            "amin" => Reduce::Min,
            other => {
                return Err(Box::new(Error::Argument {
                    op: op.into(),
                    what: format!("reduce={other:?}"),
                    remedy: "use sum, mean, prod, amax or amin".into(),
                }));
            }
        })
    }
}

/// `x` with the rows folded into those that `ids` (int64, a vector) number.
fn folded(
    op: &'static str,
    how: Reduce,
    x: &Tensor,
    ids: &Tensor,
    rows: &Tensor,
    include_self: bool,
) -> Result<Tensor> {
    let all = RowIndices::indexed(op, x.shape(), &[0], std::slice::from_ref(ids))?;
    if ids.size() == 0 {
        return Ok(x.clone());
    }
    if matches!(how, Reduce::Sum | Reduce::Mean) {
        let base = if include_self { x.clone() } else { clear_rows(x, &all)? };
        let sum = add_rows(op, &base, &all, rows)?;
        return if how == Reduce::Sum { Ok(sum) } else { mean(op, &sum, ids, include_self) };
    }
    let segments = Segments::of(x.shape(), ids, all)?;
    match how {
        Reduce::Max => segments.extreme(Extreme::Largest, x, rows, include_self),
        Reduce::Min => segments.extreme(Extreme::Smallest, x, rows, include_self),
        _ => {
            let product = segments.product(rows)?;
            if include_self {
                return binary(&MULTIPLY, x, &product);
            }
            choose(&segments.met_in(&product)?, &product, x)
        }
    }
}

/// A sum divided by how many values met in each row.
fn mean(op: &'static str, sum: &Tensor, ids: &Tensor, include_self: bool) -> Result<Tensor> {
    let mut dims: ShapeVec = SmallVec::from_elem(1, sum.ndim());
    dims[0] = sum.shape()[0];
    let all = RowIndices::indexed(op, &dims[..1], &[0], std::slice::from_ref(ids))?;
    let met = scatter_rows(&Tensor::ones(ids.shape(), DType::I64)?, &all)?;
    let counts = binary_scalar(&ADD, &met, Scalar::Int(include_self.into()))?;
    // A row where nothing met stays as it is.
    let counts = clip(&counts, Some(&Operand::Scalar(Scalar::Int(1))), None)?;
    let counts = reshape_dims(&astype(&counts, sum.dtype())?, &dims)?;
    let divide = if sum.dtype().is_inexact() { &DIVIDE } else { &FLOOR_DIVIDE };
    binary(divide, sum, &counts)
}

/// The numbers `0..n` under the shape of `x`.
fn numbered(x: &Tensor) -> Result<Tensor> {
    Tensor::from_vec((0..x.size() as i64).collect(), x.shape())
}

crate::operations! { family "along an axis" [float32];
    /// As `scatter_add`, folded by `reduce`: `sum`, `prod`, `mean`, `amax` or `amin`; without `include_self`, what was in a place takes no part. Derivatives: those of the fold, shared evenly among equal extremes.
    [in_place, indices("index")]
    fn scatter_reduce(x: Tensor, axis: isize, index: Tensor, src: Tensor, reduce: String, include_self: bool = true) -> Tensor {
        let how = Reduce::named("scatter_reduce", &reduce)?;
        let at = GatherIndex::new("scatter_reduce", x, axis, index)?;
        let rows = at.rows("scatter_reduce", &Operand::Tensor(src.clone()))?;
        let ids = take_rows(&numbered(&at.x)?, &at.row_indices)?;
        let flat = reshape_dims(&at.x, &[at.x.size()])?;
        reshape_dims(&folded("scatter_reduce", how, &flat, &ids, &rows, include_self)?, x.shape())
    }
    /// As `index_add`, folded by `reduce`: `sum`, `prod`, `mean`, `amax` or `amin`; without `include_self`, what was in a row takes no part. Derivatives: those of the fold, shared evenly among equal extremes.
    [in_place, indices("index")]
    fn index_reduce(x: Tensor, axis: isize, index: Tensor, source: Tensor, reduce: String, include_self: bool = true) -> Tensor {
        let how = Reduce::named("index_reduce", &reduce)?;
        let axis = normalize_axis("index_reduce", axis, x.ndim())?;
        let ids = row_numbers("index_reduce", index)?;
        let front: ShapeVec = [axis].into_iter().chain((0..x.ndim()).filter(|&a| a != axis)).collect();
        let mut back: ShapeVec = SmallVec::from_elem(0, x.ndim());
        front.iter().enumerate().for_each(|(i, &a)| back[a] = i);
        let source = value_for("index_reduce", x, &Operand::Tensor(source.clone()))?;
        let mut dims = ShapeVec::from_slice(x.shape());
        dims[axis] = ids.size();
        let rows = permute_axes(&broadcast_to(&source, &dims)?, &front)?;
        let out = folded("index_reduce", how, &permute_axes(x, &front)?, &ids, &rows, include_self)?;
        permute_axes(&out, &back)
    }
}
