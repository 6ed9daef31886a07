//! Folding rows that meet: products and extremes of the rows that have one number.
//!
//! Owns: the folds and their derivatives. Rows are brought into the order of their numbers, then folded with the row
//! 1, 2, 4, … places ahead where that has the same number. Never reads a value to choose a shape: a recorded fold
//! follows its numbers. Invariant: zeros and ties have the derivatives that they have in a fold along an axis.

use smallvec::smallvec;

use super::reduce::chosen;
use super::scan::{cumulative_sum, reversed};
use crate::array::ShapeVec;
use crate::dtype::DType;
use crate::error::Result;
use crate::ops::core::declare::{Operand, Scalar};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::layout::{astype, broadcast_to, choose, reshape_dims};
use crate::ops::core::row_indices::{RowIndices, scatter_rows, take_rows};
use crate::ops::core::structured::{Record, Save, finish, move_cost};
use crate::ops::core::view::slice_axis;
use crate::ops::elementwise::arith::{ADD, DIVIDE, MULTIPLY};
use crate::ops::elementwise::compare::{EQUAL, GREATER, LESS, LOGICAL_AND, LOGICAL_OR, isnan};
use crate::ops::elementwise::conjugated::conjugated;
use crate::ops::elementwise::select::clip;
use crate::ops::fold::sort::order_along;
use crate::ops::shape::join::join;
use crate::tensor::Tensor;

/// The name of the nodes.
const NAME: &str = "scatter_reduce";

/// Which of two rows an extreme keeps, element by element.
#[derive(Clone, Copy)]
pub(super) enum Extreme {
    Largest,
    Smallest,
}

/// Where rows meet.
#[derive(Clone)]
pub(super) struct Segments {
    /// The target of each row.
    targets: RowIndices,
    /// The rows in the order of their targets, and those in that order.
    order: RowIndices,
    sorted: Tensor,
    /// The last row of each target in that order; any row where none meets.
    ends: RowIndices,
    /// Whether rows meet in each target.
    met: Tensor,
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
    /// Rows that go to the targets `ids` (int64, at least one) of an array of these dims.
    pub(super) fn of(dims: &[usize], ids: &Tensor, targets: RowIndices) -> Result<Segments> {
        let (n, m) = (dims[0], ids.size());
        let chosen = |dims: &[usize], index: &Tensor| {
            RowIndices::indexed(NAME, dims, &[0], std::slice::from_ref(index))
        };
        // Numbers from the back become those from the front.
        let all = Tensor::from_vec((0..n as i64).collect(), &[n])?;
        let flat = chosen(&[n], ids)?;
        let ids = take_rows(&all, &flat)?;
        let index = order_along(&ids, 0, m, false)?;
        let sorted = take_rows(&ids, &chosen(&[m], &index)?)?;
        let counts = scatter_rows(&Tensor::ones(&[m], DType::I64)?, &flat)?;
        let met = binary_scalar(&GREATER, &counts, Scalar::Int(0))?;
        let last = binary_scalar(&ADD, &cumulative_sum(&counts, 0)?, Scalar::Int(-1))?;
        let last = clip(&last, Some(&Operand::Scalar(Scalar::Int(0))), None)?;
        let mut rows = ShapeVec::from_slice(dims);
        rows[0] = m;
        let (order, ends) = (chosen(&rows, &index)?, chosen(&rows, &last)?);
        Ok(Segments { targets, order, sorted, ends, met })
    }

    /// Each row folded with those before it that have its number.
    fn running(
        x: Tensor,
        sorted: &Tensor,
        fold: impl Fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let m = sorted.size();
        let (mut x, mut ahead) = (x, 1);
        while ahead < m {
            let rest = m - ahead;
            let same = binary(&EQUAL, &part(sorted, 0, rest)?, &part(sorted, ahead, rest)?)?;
            let (before, own) = (part(&x, 0, rest)?, part(&x, ahead, rest)?);
            let folded = fold(&beside(&same, own.shape())?, &before, &own)?;
            x = join(&[part(&x, 0, ahead)?, folded], 0)?;
            ahead *= 2;
        }
        Ok(x)
    }

    fn products(x: Tensor, sorted: &Tensor) -> Result<Tensor> {
        Segments::running(x, sorted, |same, before, own| {
            let one = broadcast_to(&Tensor::ones(&[], own.dtype())?, own.shape())?;
            binary(&MULTIPLY, &choose(same, before, &one)?, own)
        })
    }

    /// The product of the rows that meet in each target; 1 where none does.
    pub(super) fn product(&self, rows: &Tensor) -> Result<Tensor> {
        let sorted = take_rows(&rows.detach(), &self.order)?;
        let ends = take_rows(&Segments::products(sorted, &self.sorted)?, &self.ends)?;
        let one = broadcast_to(&Tensor::ones(&[], ends.dtype())?, ends.shape())?;
        let out = choose(&self.met_in(&ends)?, &ends, &one)?;
        finish(out, &[rows], |_| Record {
            name: NAME,
            cost: 40.0 * move_cost(rows),
            params: self.clone(),
            saved: smallvec![Save::input(0, &[0])],
            backward: |segments, g, cx| {
                let others = segments.others(&cx.saved(0)?)?;
                let g = take_rows(&g, &segments.targets)?;
                cx.give_with(0, |_| binary(&MULTIPLY, &g, &conjugated(&others)?))
            },
        })
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

    /// `x` with the rows that meet in each target folded into it, or in its place.
    pub(super) fn extreme(
        &self,
        which: Extreme,
        x: &Tensor,
        rows: &Tensor,
        include_self: bool,
    ) -> Result<Tensor> {
        let sorted = take_rows(&rows.detach(), &self.order)?;
        let kept = Segments::running(sorted, &self.sorted, |same, before, own| {
            choose(&binary(&LOGICAL_AND, same, &which.wins(before, own)?)?, before, own)
        })?;
        let (old, ends) = (x.detach(), take_rows(&kept, &self.ends)?);
        let both =
            if include_self { choose(&which.wins(&old, &ends)?, &old, &ends)? } else { ends };
        let out = choose(&self.met_in(&both)?, &both, &old)?;
        finish(out, &[x, rows], |_| Record {
            name: NAME,
            cost: 10.0 * (move_cost(x) + move_cost(rows)),
            params: (self.targets.clone(), (!include_self).then(|| self.met.clone())),
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
                    Some(met) => {
                        let none = binary_scalar(&EQUAL, &astype(met, DType::I64)?, Scalar::Int(0));
                        beside(&none?, x.shape())?
                    }
                    None => chosen(&x, &y)?,
                };
                let own = astype(&own, g.dtype())?;
                let given = astype(&chosen(&rows, &take_rows(&y, targets)?)?, g.dtype())?;
                let count = binary(&ADD, &own, &scatter_rows(&given, targets)?)?;
                let share = binary(&DIVIDE, &given, &take_rows(&count, targets)?)?;
                cx.give_with(1, |_| binary(&MULTIPLY, &take_rows(&g, targets)?, &share))?;
                cx.give_with(0, |_| binary(&MULTIPLY, &g, &binary(&DIVIDE, &own, &count)?))
            },
        })
    }

    /// Whether rows meet in the target of each element.
    pub(super) fn met_in(&self, like: &Tensor) -> Result<Tensor> {
        beside(&self.met, like.shape())
    }
}

impl Extreme {
    /// Whether `a` is kept beside `b`: it is the extreme, or no number.
    fn wins(self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let beyond = match self {
            Extreme::Largest => binary(&GREATER, a, b)?,
            Extreme::Smallest => binary(&LESS, a, b)?,
        };
        if !a.dtype().is_inexact() {
            return Ok(beyond);
        }
        binary(&LOGICAL_OR, &beyond, &isnan(a)?)
    }
}
