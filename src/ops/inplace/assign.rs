//! `x[index] = value`: the write through a subscript and its history.
//!
//! Invariant: the gradient of `x` is zero at overwritten elements; of a repeated index only the last value has a gradient.

use crate::array::{broadcast_shapes, observer};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::graph;
use crate::kernels;
use crate::ops::core::broadcast::{broadcast_to, cast_with_warnings, reshape_dims};
use crate::ops::core::op_decl::{IndexItem, Operand};
use crate::ops::core::row_indices::{clear_rows, take_last_written};
use crate::ops::core::structured::{NodeSpec, move_cost, record_output, save_none};
use crate::ops::core::view::{replay, view_through};
use crate::ops::elementwise::select::where_;
use crate::ops::index::subscript::{AdvancedIndex, subscript};
use crate::ops::inplace::methods::{
    NewHistory, Overwrite, admit_write, finish_write, overwrite, recorded,
};
use crate::ops::inplace::write_access::write_guard;
use crate::tensor::{Tensor, ViewOrigin, same_elements};

/// The value in the dtype and dims of the target; as in NumPy, leading axes of size 1 are dropped.
fn cast_and_fit(x: &Tensor, dims: &[usize], value: &Operand) -> Result<Tensor> {
    let value = match value {
        Operand::Tensor(t) => t.clone(),
        Operand::Scalar(s) => Tensor::full(&[], *s, x.dtype())?,
    };
    if graph::recording() && value.requires_grad() && !x.dtype().is_inexact() {
        return Err(Box::new(Error::GraphCut {
            op: "setitem".into(),
            remedy: "assign value.detach(), or assign into a floating-point tensor",
        }));
    }
    let value = cast_with_warnings(&value, x.dtype())?;
    if value.shape() == dims {
        return Ok(value);
    }
    let extra = value.ndim().saturating_sub(dims.len());
    let lead = value.shape()[..extra].iter().take_while(|&&d| d == 1).count();
    let value = reshape_dims(&value, &value.shape()[lead..])?;
    if broadcast_shapes("setitem", &[dims, value.shape()]).is_ok_and(|both| both[..] == *dims) {
        return broadcast_to(&value, dims);
    }
    Err(Box::new(Error::Shape {
        op: "setitem".into(),
        what: format!(
            "a value of shape {} for elements of shape {}",
            Dims::from(value.shape()),
            Dims::from(dims)
        ),
        remedy: "give a value that broadcasts to the elements it replaces",
    }))
}

/// The history of `shown` after `value` was written to the elements at advanced indices.
fn record_scatter(shown: &Tensor, advanced: &AdvancedIndex, value: &Tensor) -> Result<NewHistory> {
    let changed = record_output(shown.detach(), &[shown, value], |out| NodeSpec {
        name: "setitem",
        cost: move_cost(out),
        params: advanced.clone(),
        saved: save_none(),
        backward: |advanced, g, cx| {
            cx.give_with(1, |_| {
                advanced.rows_to_result(&take_last_written(&g, &advanced.row_indices)?)
            })?;
            cx.give_with(0, |cx| {
                let plain = !cx.create_graph() && cx.batch().is_empty();
                let exclusive = plain && g.is_overwritable();
                if exclusive {
                    zero_assigned(g, advanced)
                } else {
                    clear_rows(&g, &advanced.row_indices)
                }
            })
        },
    })?;
    Ok(NewHistory { edge: changed.grad_edge(), own_node: true })
}

/// Sets the assigned elements of an unshared gradient to zero in place: the backward of an assignment to a few elements costs
/// as little as its forward.
fn zero_assigned(g: Tensor, advanced: &AdvancedIndex) -> Result<Tensor> {
    let zero = Tensor::zeros(&[], g.dtype())?;
    advanced.row_indices.write(&g, &broadcast_to(&zero, &advanced.row_indices.row_dims())?)?;
    Ok(g)
}

/// Whether the value is the assigned view itself: the second half of `x[i] += y`.
fn is_same_view(x: &Tensor, target: &Tensor, value: &Tensor) -> bool {
    value.storage().same(x.storage())
        && value.storage().is_data_handle() == x.storage().is_data_handle()
        && same_elements(value, target)
        && value.requires_grad() == x.requires_grad()
        && value.view_origin() == ViewOrigin::Plain
}

/// Whether the index is computed by the function being traced, so that each run may find other positions.
fn is_traced_index(items: &[IndexItem]) -> bool {
    observer::is_active()
        && items.iter().any(|item| match item {
            IndexItem::Array(index) => observer::varies(index.storage().ptr().addr()),
            _ => false,
        })
}

/// The index, if it is a mask over all of `x` that the traced function computes: the number of selected elements is then
/// unknown.
fn traced_mask<'a>(x: &Tensor, items: &'a [IndexItem]) -> Option<&'a Tensor> {
    match items {
        [IndexItem::Array(mask)] if observer::is_active() => {
            let fits = mask.dtype() == DType::Bool && mask.shape() == x.shape();
            (fits && observer::varies(mask.storage().ptr().addr())).then_some(mask)
        }
        _ => None,
    }
}

/// The number of axes of `x[index]`.
///
/// # Errors
/// As [`set_index`].
#[cfg(feature = "python")]
pub(crate) fn indexed_axes(x: &Tensor, items: &[IndexItem]) -> Result<usize> {
    let plan = subscript(x.shape(), items)?;
    let view = || replay(x.layout(), &plan.steps).ndim();
    Ok(plan.advanced.as_ref().map_or_else(view, |advanced| advanced.result_dims().len()))
}

/// `x[index] = value`.
pub fn set_index(x: &Tensor, items: &[IndexItem], value: &Operand) -> Result<()> {
    let needs = matches!(value, Operand::Tensor(t) if t.requires_grad());
    let recorded = recorded(x, needs && x.dtype().is_inexact());
    admit_write("setitem", x, recorded)?;
    if let Some(mask) = traced_mask(x, items)
        && !needs
        && let Ok(value) = cast_and_fit(x, &[], value)
    {
        let all = where_(mask, &Operand::Tensor(value), &Operand::Tensor(x.clone()))?;
        return overwrite("setitem", x, &all, Overwrite::ComputedHere);
    }
    let plan = subscript(x.shape(), items)?;
    let view = x.detach().into_layout(replay(x.layout(), &plan.steps));
    let dims =
        plan.advanced.as_ref().map_or_else(|| view.shape().into(), AdvancedIndex::result_dims);
    let value = cast_and_fit(x, &dims, value)?;
    if plan.advanced.is_none() && is_same_view(x, &view, &value) {
        return Ok(());
    }
    let varies = needs || value.is_cut();
    // The source may overlap the target (x[1:] = x[:-1]): then it is copied first.
    let source =
        if value.storage().same(x.storage()) { value.duplicate()? } else { value.detach() };
    // Edges are taken before the version is bumped: they are the history of the old values.
    let history = match &plan.advanced {
        _ if !recorded => None,
        None => Some(NewHistory { edge: value.grad_edge(), own_node: false }),
        Some(advanced) if plan.steps.is_empty() => Some(record_scatter(x, advanced, &value)?),
        Some(advanced) => {
            Some(record_scatter(&view_through(x, "index", plan.steps.clone())?, advanced, &value)?)
        }
    };
    let guard = write_guard("setitem", view.storage())?;
    match &plan.advanced {
        None => {
            view.keep_saved()?;
            kernels::copy(source.view_of(), view.shared_view_mut());
        }
        Some(advanced) => {
            advanced.row_indices.keep_saved(&view, is_traced_index(items))?;
            advanced.row_indices.write(&view, &advanced.result_to_rows(&source)?)?;
        }
    }
    drop(guard);
    finish_write("setitem", x, &view, history, varies);
    Ok(())
}
