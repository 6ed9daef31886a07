//! Folding values into the rows that indices name: sums, products, means and extremes.
//!
//! Owns: scatter_reduce and index_reduce (PyTorch). Never changes an argument.
//! Invariant: what meets in one place is brought into one row and folded by the recorded fold of rows, so that
//! ties and zeros have the derivatives they have there.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::array::{ShapeVec, capture, normalize_axis};
use crate::dtype::{DType, Kind};
use crate::error::{Error, Result};
use crate::kernels::Reduction;
use crate::ops::core::declare::{Axes, Operand, Scalar};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::layout::{astype, broadcast_to, permute_axes, reshape_dims};
use crate::ops::core::row_indices::{
    RowIndices, add_rows, clear_rows, put_rows, scatter_rows, take_rows, value_for,
};
use crate::ops::elementwise::arith::{ADD, DIVIDE, FLOOR_DIVIDE};
use crate::ops::elementwise::select::clip;
use crate::ops::fold::reduce::{extreme_over, finish_shape, prod};
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

    /// What changes nothing when folded in.
    fn neutral(self, dtype: DType) -> Scalar {
        match (self, dtype.is_float()) {
            (Reduce::Sum | Reduce::Mean, _) => Scalar::Int(0),
            (Reduce::Prod, _) => Scalar::Int(1),
            (Reduce::Max, true) => Scalar::Float(f64::NEG_INFINITY),
            (Reduce::Min, true) => Scalar::Float(f64::INFINITY),
            (Reduce::Max, false) => Scalar::Int(bounds(dtype).0),
            (Reduce::Min, false) => Scalar::Int(bounds(dtype).1),
        }
    }
}

/// The smallest and the largest value of an integer dtype.
fn bounds(dtype: DType) -> (i64, i64) {
    let bits = 8 * dtype.size() as u32;
    match dtype.row().kind {
        Kind::Bool => (0, 1),
        // The largest uint64 is written as the integer of the same bits.
        Kind::Unsigned => (0, (u64::MAX >> (64 - bits)) as i64),
        _ => (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)),
    }
}

/// Where values meet: the distinct targets, and for each value its target and how many came before it there.
struct Segments {
    targets: Vec<i64>,
    at: Vec<(usize, usize)>,
    counts: Vec<usize>,
}

impl Segments {
    fn of(ids: &[i64]) -> Segments {
        let mut known: HashMap<i64, usize> = HashMap::new();
        let mut found = Segments { targets: Vec::new(), at: Vec::new(), counts: Vec::new() };
        for &id in ids {
            let target = *known.entry(id).or_insert_with(|| {
                found.targets.push(id);
                found.counts.push(0);
                found.targets.len() - 1
            });
            found.at.push((target, found.counts[target]));
            found.counts[target] += 1;
        }
        found
    }

    fn row_indices(&self, op: &'static str, dims: &[usize]) -> Result<RowIndices> {
        RowIndices::indexed(op, dims, &[0], &[Tensor::from(self.targets.clone())])
    }
}

/// The numbers of rows among `n`, counted from the front.
fn numbers(ids: &Tensor, index: &Tensor, n: i64) -> Result<Vec<i64>> {
    // What leaves for the program is the index, from which `ids` were found.
    index.to_vec::<i64>()?;
    let _paused = capture::Pause::new();
    let from_front = |i: i64| if i < 0 { i + n } else { i };
    Ok(ids.to_vec::<i64>()?.into_iter().map(from_front).collect())
}

/// `x` with the rows folded into those that `ids` (int64, a vector) number, which were found from `index`.
fn folded(
    op: &'static str,
    how: Reduce,
    x: &Tensor,
    (ids, index): (&Tensor, &Tensor),
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
    let segments = Segments::of(&numbers(ids, index, x.shape()[0] as i64)?);
    let targets = segments.row_indices(op, x.shape())?;
    // One row of a table for each target, one column for each value that meets there.
    let own = usize::from(include_self);
    let width = segments.counts.iter().max().copied().unwrap_or(0) + own;
    let mut dims: ShapeVec = SmallVec::from_slice(&[segments.targets.len() * width]);
    dims.extend_from_slice(&x.shape()[1..]);
    let mut table = Tensor::full(&dims, how.neutral(x.dtype()), x.dtype())?;
    let put = |table: &Tensor, cells: Vec<i64>, rows: &Tensor| {
        let row_indices = RowIndices::indexed(op, table.shape(), &[0], &[Tensor::from(cells)])?;
        put_rows(op, table, &row_indices, rows)
    };
    let cells = segments.at.iter().map(|&(t, k)| (t * width + k + own) as i64).collect();
    table = put(&table, cells, rows)?;
    if include_self {
        let cells = (0..segments.targets.len()).map(|t| (t * width) as i64).collect();
        table = put(&table, cells, &take_rows(x, &targets)?)?;
    }
    let mut dims: ShapeVec = SmallVec::from_slice(&[segments.targets.len(), width]);
    dims.extend_from_slice(&x.shape()[1..]);
    let table = reshape_dims(&table, &dims)?;
    let values = match how {
        Reduce::Prod => prod(&table, Axes::from(1), false, Some(x.dtype()))?,
        Reduce::Max => finish_shape(extreme_over(Reduction::Max, op, &table, &[1])?, &[1], false)?,
        _ => finish_shape(extreme_over(Reduction::Min, op, &table, &[1])?, &[1], false)?,
    };
    put_rows(op, x, &targets, &values)
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
    let divide = if sum.dtype().is_float() { &DIVIDE } else { &FLOOR_DIVIDE };
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
        reshape_dims(&folded("scatter_reduce", how, &flat, (&ids, &at.index), &rows, include_self)?, x.shape())
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
        let out = folded("index_reduce", how, &permute_axes(x, &front)?, (&ids, &ids), &rows, include_self)?;
        permute_axes(&out, &back)
    }
}
