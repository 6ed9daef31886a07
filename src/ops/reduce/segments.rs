//! Folding rows that meet: products and extremes of the rows that have one number.
//!
//! Owns: the folds and their derivatives. The derivative of a product that is recorded itself brings rows into the order of
//! their numbers and multiplies with the row 1, 2, 4, … places ahead where that has the same number. Never reads a value to choose a
//! shape: a recorded fold follows its numbers. Invariant: zeros and ties have the derivatives that they have in a fold along
//! an axis.

use smallvec::smallvec;

use super::reductions::chosen;
use super::scan::reversed;
use crate::array::ShapeVec;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::index::ScatterReduction;
use crate::ops::core::broadcast::{astype, broadcast_to, choose, reshape_dims};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::row_indices::{RowIndices, scatter_rows, take_rows};
use crate::ops::core::structured::{Record, Save, finish, move_cost};
use crate::ops::core::view::slice_axis;
use crate::ops::elementwise::arithmetic::{ADD, DIVIDE, MULTIPLY};
use crate::ops::elementwise::compare::EQUAL;
use crate::ops::elementwise::conjugate::conjugated;
use crate::ops::elementwise::select::where_;
use crate::ops::reduce::sort::order_along;
use crate::ops::shape::join::join;
use crate::tensor::Tensor;

/// The name of the nodes.
const NAME: &str = "scatter_reduce";

/// Where rows go: the targets in the array, and in a vector of their numbers.
type Places<'a> = (&'a RowIndices, &'a RowIndices);

/// Rows in the order of their targets.
struct Segments {
    order: RowIndices,
    sorted: Tensor,
}

/// The same numbers for each element of a row.
fn beside(numbers: &Tensor, like: &[usize]) -> Result<Tensor> {
    let mut dims: ShapeVec = smallvec![1; like.len()];
    dims[0] = numbers.size();
    broadcast_to(&reshape_dims(numbers, &dims)?, like)
}

fn part(x: &Tensor, start: usize, len: usize) -> Result<Tensor> {
    slice_axis(x, 0, start, 1, len)
}

impl Segments {
    /// Of rows that go to these targets, at least one.
    fn of((targets, numbers): Places<'_>) -> Result<Segments> {
        let (n, m) = (numbers.dims()[0], numbers.len());
        let chosen = |dims: &[usize], index: &Tensor| {
            RowIndices::indexed(NAME, dims, &[0], std::slice::from_ref(index))
        };
        let all = Tensor::from_vec((0..n as i64).collect(), &[n])?;
        let ids = take_rows(&all, numbers)?;
        let index = order_along(&ids, 0, m, false)?;
        let sorted = take_rows(&ids, &chosen(&[m], &index)?)?;
        Ok(Segments { order: chosen(&targets.row_dims(), &index)?, sorted })
    }

    /// The products of each row and those before it that have its number.
    fn products(x: Tensor, sorted: &Tensor) -> Result<Tensor> {
        let m = sorted.size();
        let (mut x, mut ahead) = (x, 1);
        while ahead < m {
            let rest = m - ahead;
            let same = binary(&EQUAL, &part(sorted, 0, rest)?, &part(sorted, ahead, rest)?)?;
            let (before, own) = (part(&x, 0, rest)?, part(&x, ahead, rest)?);
            let one = broadcast_to(&Tensor::ones(&[], own.dtype())?, own.shape())?;
            let before = choose(&beside(&same, own.shape())?, &before, &one)?;
            x = join(&[part(&x, 0, ahead)?, binary(&MULTIPLY, &before, &own)?], 0)?;
            ahead *= 2;
        }
        Ok(x)
    }

    /// For each row, the product of the others that have its number, exact whatever is zero.
    fn others(&self, rows: &Tensor) -> Result<Tensor> {
        let rows = take_rows(rows, &self.order)?;
        let ahead = Segments::before(rows.clone(), &self.sorted)?;
        let behind = Segments::before(reversed(&rows, 0)?, &reversed(&self.sorted, 0)?)?;
        let others = binary(&MULTIPLY, &ahead, &reversed(&behind, 0)?)?;
        scatter_rows(&others, &self.order)
    }

    /// For each row, the product of those before it that have its number.
    fn before(rows: Tensor, sorted: &Tensor) -> Result<Tensor> {
        let m = sorted.size();
        let one = Tensor::ones(&[], rows.dtype())?;
        let upto = part(&Segments::products(rows, sorted)?, 0, m - 1)?;
        let same = binary(&EQUAL, &part(sorted, 0, m - 1)?, &part(sorted, 1, m - 1)?)?;
        let same = beside(&same, upto.shape())?;
        let inner = choose(&same, &upto, &broadcast_to(&one, upto.shape())?)?;
        let mut first = ShapeVec::from_slice(upto.shape());
        first[0] = 1;
        join(&[broadcast_to(&one, &first)?, inner], 0)
    }
}

/// The product of the rows that meet in each target, in this dtype; 1 where none does.
pub(super) fn product(
    rows: &Tensor,
    (targets, numbers): Places<'_>,
    dtype: DType,
) -> Result<Tensor> {
    let out = Tensor::ones(targets.dims(), dtype.computes())?;
    targets.fold_into(&out, &astype(&rows.detach(), out.dtype())?, ScatterReduction::Product)?;
    finish(astype(&out, dtype)?, &[rows], |_| Record {
        name: NAME,
        cost: 40.0 * move_cost(rows),
        params: (targets.clone(), numbers.clone()),
        saved: smallvec![Save::input(0, &[0])],
        backward: |(targets, numbers), g, cx| {
            let rows = cx.saved(0)?;
            let others = if cx.create_graph() || rows.dtype().is_complex() {
                Segments::of((targets, numbers))?.others(&rows)?
            } else {
                targets.others(&rows)?
            };
            let g = take_rows(&g, targets)?;
            cx.give_with(0, |_| binary(&MULTIPLY, &g, &conjugated(&others)?))
        },
    })
}

/// What takes no part in an extreme.
fn neutral(how: ScatterReduction, dtype: DType) -> Result<Tensor> {
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

/// `x` with the rows that meet in each target folded into it, or in its place.
pub(super) fn extreme(
    how: ScatterReduction,
    x: &Tensor,
    (targets, numbers): Places<'_>,
    rows: &Tensor,
    include_self: bool,
) -> Result<Tensor> {
    let dtype = x.dtype().computes();
    let out = astype(&x.detach(), dtype)?;
    let out = if out.dtype() == x.dtype() { out.duplicate()? } else { out };
    if !include_self {
        let start = broadcast_to(&neutral(how, dtype)?, &targets.row_dims())?;
        targets.write(&out, &start)?;
    }
    targets.fold_into(&out, &astype(&rows.detach(), dtype)?, how)?;
    let met = if include_self { None } else { Some(met(numbers)?) };
    finish(astype(&out, x.dtype())?, &[x, rows], |_| Record {
        name: NAME,
        cost: 10.0 * (move_cost(x) + move_cost(rows)),
        params: (targets.clone(), met),
        saved: smallvec![
            Save::input(0, &[0, 1]),
            Save::input(1, &[0, 1]),
            Save::output(0, &[0, 1])
        ],
        backward: |(targets, met), g, cx| {
            // The choice is locally constant: masks are constants also at second order.
            let (x, rows, y) =
                (cx.saved(0)?.detach(), cx.saved(1)?.detach(), cx.saved(2)?.detach());
            let own = match met {
                Some(met) => unmet(met, x.shape())?,
                None => chosen(&x, &y)?,
            };
            let (kept, own) = (own.clone(), astype(&own, g.dtype())?);
            let given = astype(&chosen(&rows, &take_rows(&y, targets)?)?, g.dtype())?;
            let count = binary(&ADD, &own, &scatter_rows(&given, targets)?)?;
            let share = binary(&DIVIDE, &given, &take_rows(&count, targets)?)?;
            cx.give_with(1, |_| binary(&MULTIPLY, &take_rows(&g, targets)?, &share))?;
            cx.give_with(0, |_| {
                let part = binary(&MULTIPLY, &g, &binary(&DIVIDE, &own, &count)?)?;
                // What took no part has no gradient, whatever that of its place is.
                if met.is_some() {
                    where_(&kept, &Operand::Tensor(part), &Operand::from(0.0))
                } else {
                    Ok(part)
                }
            })
        },
    })
}

/// Whether no rows meet in the target of each element, by whether they do for each number.
fn unmet(met: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let none = binary_scalar(&EQUAL, &astype(met, DType::I64)?, Scalar::Int(0));
    beside(&none?, dims)
}

/// For each number, whether rows meet there.
fn met(numbers: &RowIndices) -> Result<Tensor> {
    let out = Tensor::zeros(numbers.dims(), DType::Bool)?;
    let yes = broadcast_to(&Tensor::ones(&[], DType::Bool)?, &[numbers.len()])?;
    numbers.write(&out, &yes)?;
    Ok(out)
}

/// Whether rows meet in the target of each element.
pub(super) fn met_in(numbers: &RowIndices, like: &Tensor) -> Result<Tensor> {
    beside(&met(numbers)?, like.shape())
}
