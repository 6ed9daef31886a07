//! PyTorch's `scatter`, `scatter_reduce` and `index_reduce`: sums, products, means and extremes of values with equal
//! indices.
//!
//! Invariant: a traced reduction follows its indices at run time.

use smallvec::SmallVec;

use super::segments::{extreme, product, target_has_rows};
use crate::array::{ShapeVec, normalize_axis};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::index::{ScatterReduction, WriteMode};
use crate::ops::core::broadcast::{astype, permute_axes, reshape_dims, select_by_mask};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::f16::widen;
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::row_indices::{RowIndices, add_rows, clear_rows, scatter_rows};
use crate::ops::elementwise::arithmetic::{ADD, DIVIDE, FLOOR_DIVIDE, MULTIPLY};
use crate::ops::elementwise::select::clip;
use crate::ops::index::gather::{
    axis_first, crop_source, resolve_axis_index, scatter_along, whole_rows,
};
use crate::ops::index::take::{broadcast_source, row_numbers};
use crate::tensor::Tensor;

/// The reduction applied to values with equal indices.
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

/// The targets of rows: indices into the array, and the same as indices into a vector of row numbers.
struct RowTargets {
    targets: RowIndices,
    numbers: RowIndices,
}

/// `x` with rows reduced into the target rows along the first axis.
fn reduce_into_rows(
    op: &'static str,
    how: Reduce,
    x: &Tensor,
    RowTargets { targets, numbers }: &RowTargets,
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
            select_by_mask(&target_has_rows(numbers, &product)?, &product, x)
        }
    }
}

/// A sum divided by the number of values in each row.
fn mean(sum: &Tensor, numbers: &RowIndices, include_self: bool) -> Result<Tensor> {
    let mut dims: ShapeVec = SmallVec::from_elem(1, sum.ndim());
    dims[0] = sum.shape()[0];
    let met = scatter_rows(&Tensor::ones(&[numbers.len()], DType::I64)?, numbers)?;
    let counts = binary_scalar(&ADD, &met, Scalar::Int(include_self.into()))?;
    // A row without values stays unchanged.
    let counts = clip(&counts, Some(&Operand::Scalar(Scalar::Int(1))), None)?;
    let counts = reshape_dims(&astype(&counts, sum.dtype())?, &dims)?;
    let divide = if sum.dtype().is_inexact() { &DIVIDE } else { &FLOOR_DIVIDE };
    binary(divide, sum, &counts)
}

/// `x` with slices of the source reduced into the slices of its axis that `ids` select.
fn reduce_slices(
    op: &'static str,
    how: Reduce,
    x: &Tensor,
    axis: usize,
    ids: &Tensor,
    source: &Tensor,
    include_self: bool,
) -> Result<Tensor> {
    let front = axis_first(axis, x.ndim());
    let mut back: ShapeVec = SmallVec::from_elem(0, x.ndim());
    front.iter().enumerate().for_each(|(i, &a)| back[a] = i);
    let (rows, x) = (permute_axes(source, &front)?, permute_axes(x, &front)?);
    let row_indices =
        |dims: &[usize]| RowIndices::from_arrays(op, dims, &[0], std::slice::from_ref(ids));
    let row_targets =
        RowTargets { targets: row_indices(x.shape())?, numbers: row_indices(&x.shape()[..1])? };
    permute_axes(&reduce_into_rows(op, how, &x, &row_targets, &rows, include_self)?, &back)
}

/// `x` with values reduced into the elements at the indices.
fn reduce_elements(
    op: &'static str,
    how: Reduce,
    x: &Tensor,
    axis: isize,
    index: &Tensor,
    src: &Operand,
    include_self: bool,
) -> Result<Tensor> {
    let (own, axis, index) = resolve_axis_index(op, x, axis, index)?;
    let src = crop_source(op, &own, &index, src)?;
    if let Some(ids) = whole_rows(&own, axis, &index) {
        return reduce_slices(op, how, &own, axis, &ids, &src, include_self);
    }
    let rows = reshape_dims(&src, &[src.size()])?;
    let numbers = RowIndices::from_axis_index(op, own.shape(), axis, &index)?.flattened();
    let row_targets = RowTargets { targets: numbers.clone(), numbers };
    let flat = reshape_dims(&own, &[own.size()])?;
    reshape_dims(&reduce_into_rows(op, how, &flat, &row_targets, &rows, include_self)?, x.shape())
}

/// `x` with the elements at the indices multiplied by values; float16 is computed in float32.
fn multiply_elements(
    op: &'static str,
    x: &Tensor,
    axis: isize,
    index: &Tensor,
    src: &Operand,
) -> Result<Tensor> {
    let product = reduce_elements(op, Reduce::Prod, &widen(x)?, axis, index, src, true)?;
    astype(&product, x.dtype())
}

crate::operations! { family "along an axis";
    /// PyTorch's scatter: a copy with `out[index[i, j, …], j, …] = src[i, j, …]` for axis 0; the last of a repeated index stays. `reduce="add"` or `"multiply"` folds into what is there instead. Derivatives: of `x`, `g` elsewhere; of `src`, `g` where it stayed; those of the fold with `reduce`.
    [in_place, positional(4), keywords(("value", "src")), indices("index")]
    fn scatter(x: Tensor, axis: isize, index: Tensor, src: Operand, reduce: Option<String> = None) -> Tensor {
        match reduce.as_deref() {
            None => scatter_along("scatter", x, axis, index, src, WriteMode::Put),
            Some("add") => scatter_along("scatter", x, axis, index, src, WriteMode::Add),
            Some("multiply") => multiply_elements("scatter", x, axis, index, src),
            Some(other) => Err(Box::new(Error::Argument {
                op: "scatter".into(),
                what: format!("reduce={other:?}"),
                remedy: "use \"add\" or \"multiply\", or scatter_reduce for other folds".into(),
            })),
        }
    }
    /// As `scatter_add`, folded by `reduce`: `sum`, `prod`, `mean`, `amax` or `amin`; without `include_self`, what was in a place takes no part. Derivatives: those of the fold, shared evenly among equal extremes.
    [in_place, float32, indices("index")]
    fn scatter_reduce(x: Tensor, axis: isize, index: Tensor, src: Tensor, reduce: String, include_self: bool = true) -> Tensor {
        let how = Reduce::named("scatter_reduce", &reduce)?;
        reduce_elements("scatter_reduce", how, x, axis, index, &Operand::Tensor(src.clone()), include_self)
    }
    /// As `index_add`, folded by `reduce`: `sum`, `prod`, `mean`, `amax` or `amin`; without `include_self`, what was in a row takes no part. Derivatives: those of the fold, shared evenly among equal extremes.
    [in_place, float32, indices("index")]
    fn index_reduce(x: Tensor, axis: isize, index: Tensor, source: Tensor, reduce: String, include_self: bool = true) -> Tensor {
        let how = Reduce::named("index_reduce", &reduce)?;
        let axis = normalize_axis("index_reduce", axis, x.ndim())?;
        let ids = row_numbers("index_reduce", index)?;
        let source = broadcast_source("index_reduce", x, (axis, ids.size()), &Operand::Tensor(source.clone()))?;
        reduce_slices("index_reduce", how, x, axis, &ids, &source, include_self)
    }
}
