//! Folding values into the rows that indices name: sums, products, means and extremes.
//!
//! Owns: scatter_reduce and index_reduce (PyTorch). Never changes an argument.
//! Invariant: a fold follows its indices, also where it is recorded; rows of one target are folded by `segments`.

use smallvec::SmallVec;

use super::segments::{extreme, met_in, product};
use crate::array::{ShapeVec, normalize_axis};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::index::ScatterReduction;
use crate::ops::core::broadcast::{astype, choose, permute_axes, reshape_dims};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::row_indices::{RowIndices, add_rows, clear_rows, scatter_rows};
use crate::ops::elementwise::arithmetic::{ADD, DIVIDE, FLOOR_DIVIDE, MULTIPLY};
use crate::ops::elementwise::select::clip;
use crate::ops::index::gather::{beside, cut, in_front, rows_of};
use crate::ops::index::take::{for_rows, row_numbers};
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

/// Where rows go: the targets in the array, and in a vector of their numbers.
struct Places {
    targets: RowIndices,
    numbers: RowIndices,
}

/// `x` with the rows folded into those that the places name along the first axis.
fn folded(
    op: &'static str,
    how: Reduce,
    x: &Tensor,
    Places { targets, numbers }: &Places,
    rows: &Tensor,
    include_self: bool,
) -> Result<Tensor> {
    if numbers.len() == 0 {
        return x.copied(op);
    }
    match how {
        Reduce::Sum | Reduce::Mean => {
            let base = if include_self { x.clone() } else { clear_rows(x, targets)? };
            let sum = add_rows(op, &base, targets, rows)?;
            if how == Reduce::Sum { Ok(sum) } else { mean(&sum, numbers, include_self) }
        }
        Reduce::Max => {
            extreme(ScatterReduction::Largest, x, (targets, numbers), rows, include_self)
        }
        Reduce::Min => {
            extreme(ScatterReduction::Smallest, x, (targets, numbers), rows, include_self)
        }
        Reduce::Prod => {
            let product = product(rows, (targets, numbers), x.dtype())?;
            if include_self {
                return binary(&MULTIPLY, x, &product);
            }
            choose(&met_in(numbers, &product)?, &product, x)
        }
    }
}

/// A sum divided by how many values met in each row.
fn mean(sum: &Tensor, numbers: &RowIndices, include_self: bool) -> Result<Tensor> {
    let mut dims: ShapeVec = SmallVec::from_elem(1, sum.ndim());
    dims[0] = sum.shape()[0];
    let met = scatter_rows(&Tensor::ones(&[numbers.len()], DType::I64)?, numbers)?;
    let counts = binary_scalar(&ADD, &met, Scalar::Int(include_self.into()))?;
    // A row where nothing met stays as it is.
    let counts = clip(&counts, Some(&Operand::Scalar(Scalar::Int(1))), None)?;
    let counts = reshape_dims(&astype(&counts, sum.dtype())?, &dims)?;
    let divide = if sum.dtype().is_inexact() { &DIVIDE } else { &FLOOR_DIVIDE };
    binary(divide, sum, &counts)
}

/// `x` with slices of the source folded into those of its axis that the numbers name.
fn by_rows(
    op: &'static str,
    how: Reduce,
    x: &Tensor,
    axis: usize,
    ids: &Tensor,
    source: &Tensor,
    include_self: bool,
) -> Result<Tensor> {
    let front = in_front(axis, x.ndim());
    let mut back: ShapeVec = SmallVec::from_elem(0, x.ndim());
    front.iter().enumerate().for_each(|(i, &a)| back[a] = i);
    let (rows, x) = (permute_axes(source, &front)?, permute_axes(x, &front)?);
    let along = |dims: &[usize]| RowIndices::indexed(op, dims, &[0], std::slice::from_ref(ids));
    let places = Places { targets: along(x.shape())?, numbers: along(&x.shape()[..1])? };
    permute_axes(&folded(op, how, &x, &places, &rows, include_self)?, &back)
}

/// `x` with values folded into the elements at the places of an index.
fn along(
    op: &'static str,
    how: Reduce,
    x: &Tensor,
    axis: isize,
    index: &Tensor,
    src: &Operand,
    include_self: bool,
) -> Result<Tensor> {
    let (own, axis, index) = beside(op, x, axis, index)?;
    let src = cut(op, &own, &index, src)?;
    if let Some(ids) = rows_of(&own, axis, &index) {
        return by_rows(op, how, &own, axis, &ids, &src, include_self);
    }
    let rows = reshape_dims(&src, &[src.size()])?;
    let numbers = RowIndices::along(op, own.shape(), axis, &index)?.flattened();
    let places = Places { targets: numbers.clone(), numbers };
    let flat = reshape_dims(&own, &[own.size()])?;
    reshape_dims(&folded(op, how, &flat, &places, &rows, include_self)?, x.shape())
}

/// `x` with the elements at the places of an index multiplied by values.
pub(crate) fn multiplied(
    op: &'static str,
    x: &Tensor,
    axis: isize,
    index: &Tensor,
    src: &Operand,
) -> Result<Tensor> {
    along(op, Reduce::Prod, x, axis, index, src, true)
}

crate::operations! { family "along an axis" [float32];
    /// As `scatter_add`, folded by `reduce`: `sum`, `prod`, `mean`, `amax` or `amin`; without `include_self`, what was in a place takes no part. Derivatives: those of the fold, shared evenly among equal extremes.
    [in_place, indices("index")]
    fn scatter_reduce(x: Tensor, axis: isize, index: Tensor, src: Tensor, reduce: String, include_self: bool = true) -> Tensor {
        let how = Reduce::named("scatter_reduce", &reduce)?;
        along("scatter_reduce", how, x, axis, index, &Operand::Tensor(src.clone()), include_self)
    }
    /// As `index_add`, folded by `reduce`: `sum`, `prod`, `mean`, `amax` or `amin`; without `include_self`, what was in a row takes no part. Derivatives: those of the fold, shared evenly among equal extremes.
    [in_place, indices("index")]
    fn index_reduce(x: Tensor, axis: isize, index: Tensor, source: Tensor, reduce: String, include_self: bool = true) -> Tensor {
        let how = Reduce::named("index_reduce", &reduce)?;
        let axis = normalize_axis("index_reduce", axis, x.ndim())?;
        let ids = row_numbers("index_reduce", index)?;
        let source = for_rows("index_reduce", x, (axis, ids.size()), &Operand::Tensor(source.clone()))?;
        by_rows("index_reduce", how, x, axis, &ids, &source, include_self)
    }
}
