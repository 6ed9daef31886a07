//! Indices of non-zero elements, in C order: `nonzero`, `argwhere`, `flatnonzero`, and `where` with one argument.

use crate::array::{Layout, afford};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::index::offsets_where;
use crate::ops::core::arguments::{Condition, OneOrTuple};
use crate::ops::core::broadcast::astype;
use crate::ops::core::op_decl::Operand;
use crate::ops::elementwise::select;
use crate::ops::shape::create::try_vec_with_capacity;
use crate::tensor::Tensor;

/// The flat C-order positions of true elements.
fn flat_positions(mask: &Tensor) -> Result<Vec<i64>> {
    afford(mask.size().saturating_mul(16))?;
    let order = Layout::contiguous(mask.shape())?;
    let list = offsets_where(mask.view_of(), order.strides())?.into_list();
    Ok(list.into_iter().map(|at| at as i64).collect())
}

fn as_mask(x: &Tensor) -> Result<Tensor> {
    astype(&x.detach(), DType::Bool)
}

/// The positions of true elements of a mask, one int64 array per axis; a 0-d mask has one axis of size 1.
pub(crate) fn coordinates(mask: &Tensor) -> Result<Vec<Tensor>> {
    let flat = flat_positions(mask)?;
    if mask.ndim() <= 1 {
        return Ok(vec![Tensor::from(flat)]);
    }
    let (&last, outer) = mask.shape().split_last().unwrap_or((&1, &[]));
    let mut coordinates_by_axis = (0..mask.ndim())
        .map(|_| try_vec_with_capacity(flat.len()))
        .collect::<Result<Vec<Vec<i64>>>>()?;
    // Flat positions ascend, so the outer coordinates change only at the end of a row.
    let (mut row, mut start, mut end) = (vec![0i64; outer.len()], 0, 0);
    for at in flat {
        if at >= end {
            let mut number = at / last as i64;
            (start, end) = (number * last as i64, (number + 1) * last as i64);
            for (coordinate, &size) in row.iter_mut().zip(outer).rev() {
                *coordinate = number % size as i64;
                number /= size as i64;
            }
        }
        coordinates_by_axis
            .iter_mut()
            .zip(&row)
            .for_each(|(axis, &coordinate)| axis.push(coordinate));
        coordinates_by_axis[outer.len()].push(at - start);
    }
    Ok(coordinates_by_axis.into_iter().map(Tensor::from).collect())
}

crate::operations! { family "searching";
    /// The positions of elements that are not zero, in C order: one int64 array per axis.
    [numpy("nonzero"), constant, ignores(("as_tuple", Some(true)))]
    fn nonzero(x: Tensor) -> OneOrTuple {
        if x.ndim() == 0 {
            return Err(Box::new(Error::Shape {
                op: "nonzero".into(),
                what: "a 0-d tensor has no axis to give positions along".into(),
                remedy: "call atleast_1d first",
            }));
        }
        let found = coordinates(&as_mask(x)?)?.into_iter();
        Ok(OneOrTuple::Tuple(found.map(|coordinate| coordinate.underived([x].into_iter())).collect()))
    }
    /// The positions of elements that are not zero, one row each.
    [numpy("argwhere"), constant]
    fn argwhere(x: Tensor) -> Tensor {
        let found = flat_positions(&as_mask(x)?)?.len();
        if x.ndim() == 0 {
            return Ok(Tensor::empty(&[found, 0], DType::I64)?.underived([x].into_iter()));
        }
        let rows = crate::ops::shape::join::stack(&coordinates(&as_mask(x)?)?, 1)?;
        Ok(rows.underived([x].into_iter()))
    }
    /// The positions, in the flattened tensor, of elements that are not zero.
    [numpy("flatnonzero"), constant]
    fn flatnonzero(x: Tensor) -> Tensor {
        Ok(Tensor::from(flat_positions(&as_mask(x)?)?).underived([x].into_iter()))
    }
    /// `a` where `condition` holds, else `b`; with the condition alone, the positions where it holds. Derivatives: `g` where taken, 0 elsewhere; a NaN in the branch not taken stays out of the value but not out of the gradient of what produced it.
    [numpy("where"), memory, keywords(("x", "a"), ("y", "b"), ("input", "a"), ("other", "b"))]
    fn where_(condition: Condition, a: Option<Operand> = None, b: Option<Operand> = None) -> OneOrTuple {
        match (a, b) {
            (Some(a), Some(b)) => Ok(OneOrTuple::One(select::where_(condition, a, b)?)),
            (None, None) => nonzero(condition),
            _ => Err(Box::new(Error::Argument {
                op: "where".into(),
                what: "one of the two choices is missing".into(),
                remedy: "give both a and b, or neither for the positions".into(),
            })),
        }
    }
}
