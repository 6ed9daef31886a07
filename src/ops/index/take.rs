//! Selecting elements or rows by index or mask: `take`, `compress`, `select`, PyTorch's index and mask functions, `one_hot`,
//! `embedding`. An index out of range is refused.

use crate::array::{ShapeVec, broadcast_shapes, is_axis_of_scalar, normalize_axis};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::kernels::{self, index::WriteMode};
use crate::ops::core::arguments::{Condition, Tensors};
use crate::ops::core::broadcast::{astype, axis_or_flat, broadcast_to, permute_axes, reshape_dims};
use crate::ops::core::elementwise::binary_scalar;
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::row_indices::{RowIndices, add_rows, as_int64, cast_value_to, take_rows};
use crate::ops::elementwise::arithmetic::MULTIPLY;
use crate::ops::elementwise::compare::NOT_EQUAL;
use crate::ops::elementwise::select::where_;
use crate::ops::index::gather::{axis_first, scatter_copy};
use crate::ops::index::nonzero::coordinates;
use crate::ops::shape::repeat::take_along;
use crate::tensor::Tensor;

fn argument_error(op: &'static str, what: String, remedy: &str) -> Box<Error> {
    Box::new(Error::Argument { op: op.into(), what, remedy: remedy.into() })
}

/// Brings indices into `0..size` as the mode says.
fn wrap_or_clip(indices: Tensor, mode: &str, size: usize) -> Result<Tensor> {
    let n = size as i64;
    let inside: fn(i64, i64) -> i64 = match mode {
        "raise" => return Ok(indices),
        "wrap" => i64::rem_euclid,
        "clip" => |i, n| i.clamp(0, n - 1),
        other => {
            return Err(argument_error(
                "take",
                format!("mode {other:?}"),
                "use raise, wrap or clip",
            ));
        }
    };
    if n == 0 {
        return Ok(indices);
    }
    let moved = indices.to_vec::<i64>()?.into_iter().map(|i| inside(i, n)).collect();
    Tensor::from_vec::<i64>(moved, indices.shape())
}

/// Takes along one axis, which the axes of the index replace.
fn take_axis(op: &'static str, x: &Tensor, axis: usize, indices: &Tensor) -> Result<Tensor> {
    let taken = take_along(op, x, axis, indices)?;
    let mut dims = ShapeVec::from_slice(&x.shape()[..axis]);
    dims.extend_from_slice(indices.shape());
    dims.extend_from_slice(&x.shape()[axis + 1..]);
    reshape_dims(&taken, &dims)
}

/// PyTorch's row index: a vector, or 0-d for a single row.
pub(crate) fn row_numbers(op: &'static str, index: &Tensor) -> Result<Tensor> {
    if index.ndim() > 1 {
        return Err(argument_error(
            op,
            format!("an index of {} dimensions", index.ndim()),
            "give one of 1 dimension",
        ));
    }
    let index = as_int64(op, index)?;
    reshape_dims(&index, &[index.size()])
}

/// The source broadcast to the shape of the rows, if it fits; a number is repeated.
pub(crate) fn broadcast_source(
    op: &'static str,
    x: &Tensor,
    (axis, count): (usize, usize),
    source: &Operand,
) -> Result<Tensor> {
    let mut dims = ShapeVec::from_slice(x.shape());
    dims[axis] = count;
    match source {
        Operand::Tensor(t) if t.shape() != &dims[..] => {
            let (got, want) = (Dims::from(t.shape()), Dims::from(&dims[..]));
            let what = format!("a source of shape {got} for rows of shape {want}");
            let remedy = "give that shape, as broadcast_to does";
            Err(Box::new(Error::Shape { op: op.into(), what, remedy }))
        }
        _ => broadcast_to(&cast_value_to(op, x, source)?, &dims),
    }
}

fn require_masks(op: &'static str, conditions: &[Tensor]) -> Result<()> {
    match conditions.iter().find(|c| c.dtype() != DType::Bool) {
        None => Ok(()),
        Some(other) => Err(Box::new(Error::DType {
            op: op.into(),
            got: other.dtype(),
            remedy: "give boolean conditions",
        })),
    }
}

crate::operations! { family "choosing";
    /// The elements at integer positions along an axis (or of the flattened tensor); `mode` says what an index outside does: raise, wrap or clip. Derivative: `g`, accumulated where an index repeats.
    [numpy("take"), indices("indices")]
    fn take(x: Tensor, indices: Tensor, axis: Option<isize> = None, mode: String = "raise".to_owned()) -> Tensor {
        let (x, axis) = axis_or_flat("take", x, axis)?;
        let indices = wrap_or_clip(as_int64("take", indices)?, &mode, x.shape()[axis])?;
        take_axis("take", &x, axis, &indices)
    }
    /// The rows of an axis (or the elements of the flattened tensor) for which the condition, one value each, holds.
    [numpy("compress")]
    fn compress(condition: Condition, x: Tensor, axis: Option<isize> = None) -> Tensor {
        if condition.ndim() != 1 {
            return Err(argument_error("compress", format!("a condition of {} dimensions", condition.ndim()), "give one of 1 dimension"));
        }
        let (x, axis) = axis_or_flat("compress", x, axis)?;
        let rows = coordinates(&astype(&condition.detach(), DType::Bool)?)?;
        take_along("compress", &x, axis, &rows[0])
    }
    /// The rows of an axis by their numbers. Derivative: `g`, accumulated where a number repeats.
    [indices("index")]
    fn index_select(x: Tensor, axis: isize, index: Tensor) -> Tensor {
        if is_axis_of_scalar(axis, x.ndim()) {
            return reshape_dims(&index_select(&reshape_dims(x, &[1])?, 0, index)?, &[]);
        }
        let axis = normalize_axis("index_select", axis, x.ndim())?;
        take_along("index_select", x, axis, &row_numbers("index_select", index)?)
    }
    /// A copy with `alpha * source` added to the rows of an axis, by their numbers; repeated numbers accumulate. Derivatives: of `x`, `g`; of `source`, `alpha` times the rows of `g`.
    [in_place, indices("index")]
    fn index_add(x: Tensor, axis: isize, index: Tensor, source: Operand, alpha: Scalar = Scalar::Int(1)) -> Tensor {
        if is_axis_of_scalar(axis, x.ndim()) {
            let source = match source {
                Operand::Tensor(t) if t.ndim() == 0 => Operand::Tensor(reshape_dims(t, &[1])?),
                other => other.clone(),
            };
            let line = index_add(&reshape_dims(x, &[1])?, 0, index, &source, alpha)?;
            return reshape_dims(&line, &[]);
        }
        let axis = normalize_axis("index_add", axis, x.ndim())?;
        let index = row_numbers("index_add", index)?;
        let mut source = broadcast_source("index_add", x, (axis, index.size()), source)?;
        if alpha != Scalar::Int(1) {
            source = cast_value_to("index_add", x, &Operand::Tensor(binary_scalar(&MULTIPLY, &source, alpha)?))?;
        }
        if x.ndim() == 1 {
            return scatter_copy("index_add", x, 0, &index, &source, WriteMode::Add);
        }
        let row_indices = RowIndices::from_arrays("index_add", x.shape(), &[axis], &[index])?;
        add_rows("index_add", x, &row_indices, &permute_axes(&source, &axis_first(axis, x.ndim()))?)
    }
    /// The elements where the mask holds, in C order; both broadcast. Derivative: `g` where they stood.
    fn masked_select(x: Tensor, mask: Tensor) -> Tensor {
        require_masks("masked_select", std::slice::from_ref(mask))?;
        let dims = broadcast_shapes("masked_select", &[x.shape(), mask.shape()])?;
        let mask = broadcast_to(&astype(&mask.detach(), DType::Bool)?, &dims)?;
        take_rows(&broadcast_to(x, &dims)?, &RowIndices::from_mask(&dims, 0, &mask)?)
    }
    /// `value` where the mask holds, else `x`. Derivatives: of `x`, `g` where the mask does not hold; of `value`, `g` summed where it does.
    [in_place]
    fn masked_fill(x: Tensor, mask: Tensor, value: Operand) -> Tensor {
        require_masks("masked_fill", std::slice::from_ref(mask))?;
        if let Operand::Tensor(t) = value && t.ndim() > 0 {
            return Err(argument_error("masked_fill", format!("a value of shape {}", Dims::from(t.shape())), "give one number, or write where(mask, value, x)"));
        }
        where_(mask, &Operand::Tensor(cast_value_to("masked_fill", x, value)?), &Operand::Tensor(x.clone()))
    }
    /// For each element the choice of the first condition that holds there, else `default`; all broadcast.
    [numpy("select"), memory]
    fn select(condlist: Tensors, choicelist: Tensors, default: Option<Operand> = None) -> Tensor {
        if condlist.is_empty() || condlist.len() != choicelist.len() {
            return Err(argument_error("select", format!("{} conditions for {} choices", condlist.len(), choicelist.len()), "give as many choices as conditions, at least one"));
        }
        require_masks("select", condlist)?;
        let zero = Operand::Scalar(Scalar::Int(0));
        let default = default.unwrap_or(&zero);
        let dtype = choicelist.iter().fold(choicelist[0].dtype(), |d, choice| d.promote(choice.dtype()));
        let (dtype, mut out) = match default {
            Operand::Scalar(s) => (dtype.promote_weak(s.weak()), Tensor::full(&[], *s, dtype.promote_weak(s.weak()))?),
            Operand::Tensor(t) => (dtype.promote(t.dtype()), astype(t, dtype.promote(t.dtype()))?),
        };
        for (condition, choice) in condlist.iter().zip(choicelist).rev() {
            out = where_(condition, &Operand::Tensor(astype(choice, dtype)?), &Operand::Tensor(out))?;
        }
        Ok(out)
    }
    /// A new last axis with 1 at the index and 0 elsewhere, int64; as many classes as the largest index needs by default.
    [constant, indices("x")]
    fn one_hot(x: Tensor, num_classes: isize = -1) -> Tensor {
        let index = as_int64("one_hot", x)?;
        let numbers = index.to_vec::<i64>()?;
        let largest = numbers.iter().copied().max();
        let classes = match (num_classes, largest) {
            (-1, None) => return Err(argument_error("one_hot", "an empty tensor says nothing of the number of classes".into(), "give num_classes")),
            (-1, Some(largest)) => largest.max(0) as usize + 1,
            (n, _) if n >= 1 => n as usize,
            (n, _) => return Err(argument_error("one_hot", format!("{n} classes"), "give at least 1")),
        };
        if let Some(class) = numbers.iter().find(|i| !(0..classes as i64).contains(i)) {
            return Err(Box::new(Error::BadIndex { op: "one_hot".into(), what: format!("class {class} of {classes} classes"), remedy: "number the classes from 0" }));
        }
        let mut dims = ShapeVec::from_slice(&[index.size(), 1]);
        let (column, ones) = (reshape_dims(&index, &dims)?, broadcast_to(&Tensor::ones(&[], DType::I64)?, &dims)?);
        dims[1] = classes;
        let table = Tensor::zeros(&dims, DType::I64)?;
        kernels::index::write_checked("one_hot", WriteMode::Put, table.view_mut(), 1, column.view_of(), ones.view_of())?;
        dims = ShapeVec::from_slice(x.shape());
        dims.push(classes);
        Ok(reshape_dims(&table, &dims)?.underived([x].into_iter()))
    }
    /// Rows of `weight` by their numbers `x`, of any shape; the row `padding_idx` gets no gradient. Derivative: `g`, accumulated where a number repeats.
    [indices("x")]
    fn embedding(x: Tensor, weight: Tensor, padding_idx: Option<isize> = None) -> Tensor {
        if weight.ndim() != 2 {
            return Err(argument_error("embedding", format!("a weight of {} dimensions", weight.ndim()), "give a matrix, one row per number"));
        }
        let index = as_int64("embedding", x)?;
        let rows = take_axis("embedding", weight, 0, &index)?;
        let Some(padding) = padding_idx else { return Ok(rows) };
        let size = weight.shape()[0] as isize;
        if padding < -size || padding >= size {
            return Err(Box::new(Error::IndexRange { op: "embedding".into(), index: padding as i64, axis: 0, size: size as usize }));
        }
        let kept = binary_scalar(&NOT_EQUAL, &index, Scalar::Int(padding.rem_euclid(size) as i64))?;
        let mut dims = ShapeVec::from_slice(kept.shape());
        dims.push(1);
        where_(&reshape_dims(&kept, &dims)?, &Operand::Tensor(rows.clone()), &Operand::Tensor(rows.detach()))
    }
}
