//! `x[index] = value`.
//!
//! Owns: the write through a subscript and its history. Never copies `x`: only the chosen elements change.
//! Invariant: the gradient of `x` is zero where it was overwritten, and of repeated positions only the last
//! value has one.

use crate::array::broadcast_shapes;
use crate::error::{Dims, Error, Result};
use crate::graph;
use crate::kernels;
use crate::ops::cast::astype;
use crate::ops::declare::{IndexItem, Operand};
use crate::ops::inplace::{admit_write, refuse_part_of_constant};
use crate::ops::places::{clear_rows, take_kept};
use crate::ops::shape::{broadcast_to, reshape_dims};
use crate::ops::structured::{Record, SavedList, finish, move_cost};
use crate::ops::subscript::{Chosen, subscript};
use crate::ops::view::{Step, replay, view_through};
use crate::tensor::Tensor;

/// The elements that an index expression names: a view, and places of it.
#[derive(Clone)]
struct Region {
    steps: Vec<Step>,
    chosen: Option<Chosen>,
}

impl Region {
    fn view(&self, x: &Tensor) -> Tensor {
        x.with_layout(replay(x.layout(), &self.steps))
    }

    fn dims(&self, x: &Tensor) -> crate::array::ShapeVec {
        match &self.chosen {
            None => self.view(x).shape().into(),
            Some(chosen) => chosen.result_dims(),
        }
    }

    /// Writes a value of the region's dims, of the dtype of `x`. Records nothing.
    fn write(&self, x: &Tensor, value: &Tensor) -> Result<()> {
        let view = self.view(x);
        match &self.chosen {
            None => kernels::copy(x.dtype(), value.view_of(), view.view_mut()),
            Some(chosen) => chosen.places.write(&view, &chosen.rows(&value.detach())?)?,
        }
        Ok(())
    }

    /// What the value written there gets of the gradient `g`.
    fn read_kept(&self, g: &Tensor) -> Result<Tensor> {
        let view = view_through(g, "index", self.steps.clone())?;
        match &self.chosen {
            None => Ok(view),
            Some(chosen) => chosen.arranged(&take_kept(&view, &chosen.places)?),
        }
    }

    /// `x` with zeros in the region; its own adjoint.
    fn clear(&self, x: &Tensor) -> Result<Tensor> {
        if let Some(chosen) = &self.chosen
            && self.steps.is_empty()
        {
            return clear_rows(x, &chosen.places);
        }
        let out = x.duplicate()?;
        let zero = Tensor::zeros(&[], x.dtype())?;
        self.write(&out, &broadcast_to(&zero, &self.dims(x))?)?;
        Ok(finish(out, &[x], |out| Record {
            name: "clear",
            cost: move_cost(out),
            params: self.clone(),
            saved: SavedList::new(),
            backward: |region, cx| {
                let Some(g) = cx.take_grad(0) else {
                    return Ok(());
                };
                cx.give(0, region.clear(&g)?);
                Ok(())
            },
        }))
    }
}

/// The value in the dtype and dims of the region; as in NumPy, leading axes of size 1 are dropped.
fn fitted(x: &Tensor, region: &Region, value: &Operand) -> Result<Tensor> {
    let value = match value {
        Operand::Tensor(t) => t.clone(),
        Operand::Scalar(s) => Tensor::full(&[], *s, x.dtype())?,
    };
    if graph::recording() && value.requires_grad() && !x.dtype().is_float() {
        return Err(Box::new(Error::GraphCut {
            op: "setitem".into(),
            remedy: "assign value.detach(), or assign into a floating-point tensor",
        }));
    }
    let value = astype(&value, x.dtype())?;
    let dims = region.dims(x);
    let extra = value.ndim().saturating_sub(dims.len());
    let lead = value.shape()[..extra].iter().take_while(|&&d| d == 1).count();
    let value = reshape_dims(&value, &value.shape()[lead..])?;
    if broadcast_shapes("setitem", &[&dims, value.shape()]).is_ok_and(|both| both == dims) {
        return broadcast_to(&value, &dims);
    }
    Err(Box::new(Error::Shape {
        op: "setitem".into(),
        what: format!(
            "a value of shape {} for elements of shape {}",
            Dims::from(value.shape()),
            Dims::from(&dims[..])
        ),
        remedy: "give a value that broadcasts to the elements it replaces",
    }))
}

/// `x[index] = value`.
pub fn set_index(x: &Tensor, items: &[IndexItem], value: &Operand) -> Result<()> {
    admit_write("setitem", x)?;
    let plan = subscript(x.shape(), items)?;
    let region = Region { steps: plan.steps, chosen: plan.chosen };
    let value = fitted(x, &region, value)?;
    // The source may overlap the target (x[1:] = x[:-1]): then it is copied out first.
    let source =
        if value.storage().same(x.storage()) { value.duplicate()? } else { value.detach() };
    let recorded = graph::recording() && (x.requires_grad() || value.requires_grad());
    if recorded {
        refuse_part_of_constant("setitem", x)?;
    }
    // Edges are taken before the version moves: they are the history of the values until then.
    let mut history = x.producer_edge();
    let had_history = history.is_some();
    region.write(x, &source)?;
    if recorded {
        let inputs = [x, &value];
        let changed = finish(x.detach(), &inputs, |out| Record {
            name: "setitem",
            cost: move_cost(out),
            params: region,
            saved: SavedList::new(),
            backward: |region, cx| {
                let Some(g) = cx.take_grad(0) else {
                    return Ok(());
                };
                if cx.wants(1) {
                    cx.give(1, region.read_kept(&g)?);
                }
                if cx.wants(0) {
                    cx.give(0, region.clear(&g)?);
                }
                Ok(())
            },
        });
        history = changed.grad_edge();
    }
    x.storage().bump_version("setitem");
    if recorded || had_history {
        x.rebase(history);
    }
    Ok(())
}
