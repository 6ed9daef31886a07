//! Concatenation and stacking; pieces are copied straight into the result.

use smallvec::SmallVec;

use crate::array::{ShapeVec, normalize_axis};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::kernels::{self, ViewMut};
use crate::ops::core::arguments::Tensors;
use crate::ops::core::broadcast::{astype, reshape_dims};
use crate::ops::core::structured::{
    Cx, NodeSpec, batched_output_dims, from_end, move_cost, record_output, save_none,
};
use crate::ops::core::view::{ViewStep, slice_axis, view_through};
use crate::ops::shape::broadcast_arrays::{at_least_1d, at_least_2d, at_least_3d};
use crate::tensor::Tensor;

fn common_dtype(op: &'static str, pieces: &[Tensor]) -> Result<DType> {
    let first = pieces.first().ok_or_else(|| {
        Box::new(Error::Argument {
            op: op.into(),
            what: "no tensors were given".into(),
            remedy: "give at least one".into(),
        })
    })?;
    Ok(pieces.iter().fold(first.dtype(), |d, x| d.promote(x.dtype())))
}

/// The length of a concatenation along the joined axis.
///
/// # Errors
/// `Shape` for pieces that differ in another axis.
fn joined_length(pieces: &[Tensor], axis: usize) -> Result<usize> {
    let first = pieces[0].shape();
    let mut length = first[axis];
    for (i, piece) in pieces.iter().enumerate().skip(1) {
        let shape = piece.shape();
        let fits = shape.len() == first.len()
            && shape.iter().zip(first).enumerate().all(|(a, (own, dim))| a == axis || own == dim);
        if !fits {
            return Err(Box::new(Error::Shape {
                op: "concatenate".into(),
                what: format!(
                    "tensor {i} has shape {} and tensor 0 has {}",
                    Dims::from(piece.shape()),
                    Dims::from(pieces[0].shape())
                ),
                remedy: "the shapes must agree except along the joined axis",
            }));
        }
        length += shape[axis];
    }
    Ok(length)
}

/// Concatenates pieces of one dtype along a valid axis.
pub(crate) fn join(pieces: &[Tensor], axis: usize) -> Result<Tensor> {
    let mut dims = ShapeVec::from_slice(pieces[0].shape());
    dims[axis] = joined_length(pieces, axis)?;
    let out = Tensor::empty(&dims, pieces[0].dtype())?;
    let (mut whole, mut start) = (out.view_mut(), 0);
    let (mut inputs, mut lengths) = (SmallVec::<[&Tensor; 8]>::new(), ShapeVec::new());
    for piece in pieces {
        kernels::copy(piece.view_of(), whole.part(axis, start, piece.shape()));
        start += piece.shape()[axis];
        inputs.push(piece);
        lengths.push(piece.shape()[axis]);
    }
    record_output(out, &inputs, |out| {
        NodeSpec {
            name: "concatenate",
            cost: move_cost(out),
            params: (from_end(out, axis), lengths),
            saved: save_none(),
            backward: |(axis, lengths), g, cx| {
                let (axis, mut start) = (from_end(&g, *axis), 0);
                for (i, &len) in lengths.iter().enumerate() {
                    if cx.wants(i) {
                        cx.give(i, slice_axis(&g, axis, start, 1, len)?)?;
                    }
                    start += len;
                }
                Ok(())
            },
        }
        .with_jvp(join_tangents)
    })
}

/// The tangent of a concatenation from those of its pieces.
fn join_tangents((axis, lengths): &(usize, ShapeVec), cx: &mut Cx<'_>) -> Result<()> {
    let (mut dims, dtype) = (batched_output_dims(cx), cx.outputs_of_call()[0].dtype());
    let axis = dims.len() - axis;
    let mut pieces = Vec::with_capacity(lengths.len());
    for (i, &len) in lengths.iter().enumerate() {
        dims[axis] = len;
        pieces.push(cx.take_grad(i).map_or_else(|| Tensor::zeros(&dims, dtype), Ok)?);
    }
    cx.give(0, join(&pieces, axis)?)
}

/// Stacks pieces of one dtype and shape along a new axis.
fn stack_promoted(pieces: &[Tensor], axis: usize) -> Result<Tensor> {
    let mut dims = ShapeVec::from_slice(pieces[0].shape());
    dims.insert(axis, pieces.len());
    let out = Tensor::empty(&dims, pieces[0].dtype())?;
    let mut inputs = SmallVec::<[&Tensor; 8]>::new();
    for (i, piece) in pieces.iter().enumerate() {
        let target = out.layout().select(axis, i);
        kernels::copy(piece.view_of(), ViewMut::of(out.storage(), &target, out.dtype()));
        inputs.push(piece);
    }
    record_output(out, &inputs, |out| {
        NodeSpec {
            name: "stack",
            cost: move_cost(out),
            params: from_end(out, axis),
            saved: save_none(),
            backward: |axis, g, cx| {
                let axis = from_end(&g, *axis);
                for index in 0..cx.inputs() {
                    if cx.wants(index) {
                        cx.give(
                            index,
                            view_through(&g, "select", [ViewStep::Select { axis, index }])?,
                        )?;
                    }
                }
                Ok(())
            },
        }
        .with_jvp(|axis, cx| {
            let (mut dims, dtype) = (batched_output_dims(cx), cx.outputs_of_call()[0].dtype());
            let axis = dims.len() - axis;
            dims.remove(axis);
            let count = cx.outputs();
            let piece = |i| cx.take_grad(i).map_or_else(|| Tensor::zeros(&dims, dtype), Ok);
            let pieces: Vec<Tensor> = (0..count).map(piece).collect::<Result<_>>()?;
            cx.give(0, stack_promoted(&pieces, axis)?)
        })
    })
}

/// The tensors with at least so many axes, as NumPy's stacking functions treat them.
fn with_min_axes(tensors: &[Tensor], to: fn(&Tensor) -> Result<Tensor>) -> Result<Vec<Tensor>> {
    tensors.iter().map(to).collect()
}

/// A vector as a column; other tensors unchanged.
fn column(x: &Tensor) -> Result<Tensor> {
    if x.ndim() < 2 { reshape_dims(x, &[x.size(), 1]) } else { Ok(x.clone()) }
}

/// Concatenates the tensors in their common dtype along an axis, or flattened.
fn concatenate_promoted(
    op: &'static str,
    tensors: &[Tensor],
    axis: Option<isize>,
) -> Result<Tensor> {
    let dtype = common_dtype(op, tensors)?;
    if let Some(axis) = axis
        && tensors.iter().all(|x| x.dtype() == dtype)
    {
        return join(tensors, normalize_axis(op, axis, tensors[0].ndim())?);
    }
    let mut pieces = Vec::with_capacity(tensors.len());
    for x in tensors {
        let x = astype(x, dtype)?;
        pieces.push(if axis.is_none() { reshape_dims(&x, &[x.size()])? } else { x });
    }
    let axis = normalize_axis(op, axis.unwrap_or(0), pieces[0].ndim())?;
    join(&pieces, axis)
}

crate::operations! { family "joining";
    /// Joined along an existing axis; None joins the flattened tensors. Derivative: the slices of `g`.
    [numpy("concatenate", "concat"), aliases("concat")]
    fn concatenate(tensors: Tensors, axis: Option<isize> = Some(0)) -> Tensor {
        concatenate_promoted("concatenate", tensors, axis)
    }
    /// PyTorch's name of `concatenate`: empty tensors of one axis are passed over beside others. Derivative: the slices of `g`.
    fn cat(tensors: Tensors, axis: Option<isize> = Some(0)) -> Tensor {
        let is_nothing = |x: &&Tensor| x.shape() == [0];
        let passed = tensors.iter().filter(is_nothing).count();
        let has_others = tensors.iter().any(|x| x.ndim() != 1);
        if passed == 0 || !has_others {
            return concatenate_promoted("cat", tensors, axis);
        }
        let dtype = common_dtype("cat", tensors)?;
        let kept = tensors.iter().filter(|x| !is_nothing(x));
        let kept = kept.map(|x| astype(x, dtype)).collect::<Result<Vec<_>>>()?;
        concatenate_promoted("cat", &kept, axis)
    }
    /// Joined along a new axis; all shapes agree. Derivative: the slices of `g`.
    [numpy("stack")]
    fn stack(tensors: Tensors, axis: isize = 0) -> Tensor {
        let dtype = common_dtype("stack", tensors)?;
        let first = &tensors[0];
        if let Some(i) = tensors.iter().position(|t| t.shape() != first.shape()) {
            return Err(Box::new(Error::Shape {
                op: "stack".into(),
                what: format!("tensor {i} has shape {} and tensor 0 has {}", Dims::from(tensors[i].shape()), Dims::from(first.shape())),
                remedy: "all shapes must agree",
            }));
        }
        let axis = normalize_axis("stack", axis, first.ndim() + 1)?;
        if tensors.iter().all(|x| x.dtype() == dtype) {
            return stack_promoted(tensors, axis);
        }
        let pieces = tensors.iter().map(|x| astype(x, dtype)).collect::<Result<Vec<_>>>()?;
        stack_promoted(&pieces, axis)
    }
    /// Joined along axis 0, vectors as rows.
    [numpy("vstack"), aliases("row_stack")]
    fn vstack(tensors: Tensors) -> Tensor {
        concatenate(&with_min_axes(tensors, at_least_2d)?, Some(0))
    }
    /// Joined along axis 1, vectors along axis 0.
    [numpy("hstack")]
    fn hstack(tensors: Tensors) -> Tensor {
        let tensors = with_min_axes(tensors, at_least_1d)?;
        let axis = if tensors.first().is_some_and(|x| x.ndim() == 1) { 0 } else { 1 };
        concatenate(&tensors, Some(axis))
    }
    /// Joined along axis 2, after vectors became `(1, n, 1)` and matrices `(m, n, 1)`.
    [numpy("dstack")]
    fn dstack(tensors: Tensors) -> Tensor {
        concatenate(&with_min_axes(tensors, at_least_3d)?, Some(2))
    }
    /// Joined along axis 1, vectors as columns.
    [numpy("column_stack")]
    fn column_stack(tensors: Tensors) -> Tensor {
        concatenate(&with_min_axes(tensors, column)?, Some(1))
    }
}
