//! Segmented reductions: products and extremes of rows with equal row numbers, with derivatives.
//!
//! The derivative of a recorded product sorts rows by number and runs a segmented scan by doubling: it multiplies with the
//! row 1, 2, 4, … positions ahead if that has the same number. Shapes never depend on values, so a traced reduction follows
//! its indices. Invariant: zeros and ties have the derivatives of a reduction along an axis.

use smallvec::smallvec;

use super::reductions::extreme_mask;
use super::scan::reverse_axis;
use crate::array::ShapeVec;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::index::ScatterReduction;
use crate::ops::core::broadcast::{astype, broadcast_to, reshape_dims, select_by_mask};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::row_indices::{RowIndices, scatter_rows, take_rows};
use crate::ops::core::structured::{NodeSpec, Save, move_cost, record_output};
use crate::ops::core::view::slice_axis;
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::elementwise::arithmetic::{ADD, DIVIDE, MULTIPLY};
use crate::ops::elementwise::compare::EQUAL;
use crate::ops::elementwise::select::where_;
use crate::ops::reduce::sort::order_along;
use crate::ops::shape::join::join;
use crate::tensor::Tensor;

/// The name of the nodes.
const NAME: &str = "scatter_reduce";

/// The targets of rows: indices into the array, and the same as indices into a vector of row numbers.
type RowTargets<'a> = (&'a RowIndices, &'a RowIndices);

/// Rows sorted by target.
struct Segments {
    order: RowIndices,
    sorted: Tensor,
}

/// The row numbers broadcast to the elements of the rows.
fn broadcast_numbers(numbers: &Tensor, like: &[usize]) -> Result<Tensor> {
    let mut dims: ShapeVec = smallvec![1; like.len()];
    dims[0] = numbers.size();
    broadcast_to(&reshape_dims(numbers, &dims)?, like)
}

fn row_range(x: &Tensor, start: usize, len: usize) -> Result<Tensor> {
    slice_axis(x, 0, start, 1, len)
}

impl Segments {
    /// Sorts rows by target; there is at least one.
    fn of((targets, numbers): RowTargets<'_>) -> Result<Segments> {
        let (n, m) = (numbers.dims()[0], numbers.len());
        let row_index = |dims: &[usize], index: &Tensor| {
            RowIndices::from_arrays(NAME, dims, &[0], std::slice::from_ref(index))
        };
        let all = Tensor::from_vec((0..n as i64).collect(), &[n])?;
        let ids = take_rows(&all, numbers)?;
        let index = order_along(&ids, 0, m, false)?;
        let sorted = take_rows(&ids, &row_index(&[m], &index)?)?;
        Ok(Segments { order: row_index(&targets.row_dims(), &index)?, sorted })
    }

    /// Inclusive segmented products: of each row and those before it with its number.
    fn products(x: Tensor, sorted: &Tensor) -> Result<Tensor> {
        let m = sorted.size();
        let (mut x, mut ahead) = (x, 1);
        while ahead < m {
            let rest = m - ahead;
            let same =
                binary(&EQUAL, &row_range(sorted, 0, rest)?, &row_range(sorted, ahead, rest)?)?;
            let (before, own) = (row_range(&x, 0, rest)?, row_range(&x, ahead, rest)?);
            let one = broadcast_to(&Tensor::ones(&[], own.dtype())?, own.shape())?;
            let before = select_by_mask(&broadcast_numbers(&same, own.shape())?, &before, &one)?;
            x = join(&[row_range(&x, 0, ahead)?, binary(&MULTIPLY, &before, &own)?], 0)?;
            ahead *= 2;
        }
        Ok(x)
    }

    /// For each row, the product of the others with its number; exact at zeros.
    fn products_of_others(&self, rows: &Tensor) -> Result<Tensor> {
        let rows = take_rows(rows, &self.order)?;
        let ahead = Segments::exclusive_products(rows.clone(), &self.sorted)?;
        let behind =
            Segments::exclusive_products(reverse_axis(&rows, 0)?, &reverse_axis(&self.sorted, 0)?)?;
        let others = binary(&MULTIPLY, &ahead, &reverse_axis(&behind, 0)?)?;
        scatter_rows(&others, &self.order)
    }

    /// Exclusive segmented products: of the rows before each row with its number.
    fn exclusive_products(rows: Tensor, sorted: &Tensor) -> Result<Tensor> {
        let m = sorted.size();
        let one = Tensor::ones(&[], rows.dtype())?;
        let upto = row_range(&Segments::products(rows, sorted)?, 0, m - 1)?;
        let same = binary(&EQUAL, &row_range(sorted, 0, m - 1)?, &row_range(sorted, 1, m - 1)?)?;
        let same = broadcast_numbers(&same, upto.shape())?;
        let inner = select_by_mask(&same, &upto, &broadcast_to(&one, upto.shape())?)?;
        let mut first = ShapeVec::from_slice(upto.shape());
        first[0] = 1;
        join(&[broadcast_to(&one, &first)?, inner], 0)
    }
}

/// The product of the rows of each target; 1 if there is none.
pub(super) fn product(
    rows: &Tensor,
    (targets, numbers): RowTargets<'_>,
    dtype: DType,
) -> Result<Tensor> {
    let out = Tensor::ones(targets.dims(), dtype.computes())?;
    targets.fold_into(&out, &astype(&rows.detach(), out.dtype())?, ScatterReduction::Product)?;
    record_output(astype(&out, dtype)?, &[rows], |_| NodeSpec {
        name: NAME,
        cost: 40.0 * move_cost(rows),
        params: (targets.clone(), numbers.clone()),
        saved: smallvec![Save::input(0, &[0])],
        backward: |(targets, numbers), g, cx| {
            let rows = cx.saved(0)?;
            let others = if cx.create_graph() || rows.dtype().is_complex() {
                Segments::of((targets, numbers))?.products_of_others(&rows)?
            } else {
                targets.product_of_others(&rows)?
            };
            let g = take_rows(&g, targets)?;
            cx.give_with(0, |_| binary(&MULTIPLY, &g, &conjugated(&others)?))
        },
    })
}

/// The identity element of an extreme.
fn identity_element(how: ScatterReduction, dtype: DType) -> Result<Tensor> {
    let largest = how == ScatterReduction::Largest;
    match dtype {
        DType::I64 => Tensor::from_vec(vec![if largest { i64::MIN } else { i64::MAX }], &[]),
        DType::U64 => Tensor::from_vec(vec![if largest { u64::MIN } else { u64::MAX }], &[]),
        _ => {
            let end = if largest { f64::NEG_INFINITY } else { f64::INFINITY };
            let whole =
                if dtype.is_complex() { Scalar::Complex(end, end) } else { Scalar::Float(end) };
            Tensor::full(&[], whole, dtype)
        }
    }
}

/// `x` with the rows of each target reduced into it, or replaced by them.
pub(super) fn extreme(
    how: ScatterReduction,
    x: &Tensor,
    (targets, numbers): RowTargets<'_>,
    rows: &Tensor,
    include_self: bool,
) -> Result<Tensor> {
    let dtype = x.dtype().computes();
    let out = astype(&x.detach(), dtype)?;
    let out = if out.dtype() == x.dtype() { out.duplicate()? } else { out };
    if !include_self {
        let start = broadcast_to(&identity_element(how, dtype)?, &targets.row_dims())?;
        targets.write(&out, &start)?;
    }
    targets.fold_into(&out, &astype(&rows.detach(), dtype)?, how)?;
    let met = if include_self { None } else { Some(has_rows(numbers)?) };
    record_output(astype(&out, x.dtype())?, &[x, rows], |_| NodeSpec {
        name: NAME,
        cost: 10.0 * (move_cost(x) + move_cost(rows)),
        params: (targets.clone(), met),
        saved: smallvec![
            Save::input(0, &[0, 1]),
            Save::input(1, &[0, 1]),
            Save::output(0, &[0, 1])
        ],
        backward: |(targets, met), g, cx| {
            // The selection is locally constant, so masks are constants in second derivatives too.
            let (x, rows, y) =
                (cx.saved(0)?.detach(), cx.saved(1)?.detach(), cx.saved(2)?.detach());
            let own = match met {
                Some(met) => lacks_rows(met, x.shape())?,
                None => extreme_mask(&x, &y)?,
            };
            let (kept, own) = (own.clone(), astype(&own, g.dtype())?);
            let given = astype(&extreme_mask(&rows, &take_rows(&y, targets)?)?, g.dtype())?;
            let count = binary(&ADD, &own, &scatter_rows(&given, targets)?)?;
            let share = binary(&DIVIDE, &given, &take_rows(&count, targets)?)?;
            cx.give_with(1, |_| binary(&MULTIPLY, &take_rows(&g, targets)?, &share))?;
            cx.give_with(0, |_| {
                let gradient = binary(&MULTIPLY, &g, &binary(&DIVIDE, &own, &count)?)?;
                // Excluded elements have a gradient of exactly 0, whatever their target's gradient is.
                if met.is_some() {
                    where_(&kept, &Operand::Tensor(gradient), &Operand::from(0.0))
                } else {
                    Ok(gradient)
                }
            })
        },
    })
}

/// The mask of elements whose target has no rows, from the mask per row number.
fn lacks_rows(met: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let none = binary_scalar(&EQUAL, &astype(met, DType::I64)?, Scalar::Int(0));
    broadcast_numbers(&none?, dims)
}

/// For each row number, whether there are rows with it.
fn has_rows(numbers: &RowIndices) -> Result<Tensor> {
    let out = Tensor::zeros(numbers.dims(), DType::Bool)?;
    let yes = broadcast_to(&Tensor::ones(&[], DType::Bool)?, &[numbers.len()])?;
    numbers.write(&out, &yes)?;
    Ok(out)
}

/// For each element, whether its target has rows.
pub(super) fn target_has_rows(numbers: &RowIndices, like: &Tensor) -> Result<Tensor> {
    broadcast_numbers(&has_rows(numbers)?, like.shape())
}
