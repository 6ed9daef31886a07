//! `impl Value for Tensor`: the arena of the tensor graph and the accumulation of gradients.
//!
//! Invariant: a gradient's buffer is written in place only if it is not shared.

use std::borrow::Cow;
use std::sync::Arc;

use crate::array::{Layout, ShapeVec, observer};
use crate::dtype::{DType, Half};
use crate::error::{Dims, Result};
use crate::graph::{self, Arena, FusedNodes, Pack, Value};
use crate::kernels::elementwise::{LoopOperand, apply};
use crate::ops::core::broadcast::reshape_dims;
use crate::ops::core::elementwise::{OperandRef, binary, binary_scalar};
use crate::ops::core::fused_backward::run_fused;
use crate::ops::core::op_decl::Scalar;
use crate::ops::core::view::{PartialGradient, ViewStep, view_through};
use crate::ops::elementwise::arithmetic::ADD;
use crate::ops::shape::join::join;
use crate::tensor::{Edge, SavedTensor, Tensor, TensorFlags, saved_tensor_hooks};

static ARENA: Arena<Tensor> = Arena::new();

impl Value for Tensor {
    type Payload = SavedTensor;
    type Slice = PartialGradient;

    fn arena() -> &'static Arena<Tensor> {
        &ARENA
    }

    #[inline(always)]
    fn pack(&self) -> SavedTensor {
        SavedTensor::new(self)
    }

    #[inline]
    fn admit(payload: &SavedTensor, op: impl FnOnce() -> Cow<'static, str>) -> Result<()> {
        payload.admit(op)
    }

    #[inline]
    fn unpack(payload: SavedTensor, edge: Option<Edge>, op: &str) -> Result<Tensor> {
        payload.restore(edge, op)
    }

    #[inline]
    fn edge(&self) -> Option<Edge> {
        self.grad_edge()
    }

    fn bytes(payload: &SavedTensor) -> usize {
        payload.nbytes()
    }

    fn packer() -> Option<Arc<dyn Pack<Tensor>>> {
        saved_tensor_hooks::packer()
    }

    fn zero_leaf(&self) -> Result<Option<Tensor>> {
        if !self.dtype().is_inexact() {
            return Ok(None);
        }
        Ok(Some(Tensor::zeros(self.shape(), self.dtype())?.with_grad()))
    }

    fn describe(&self) -> String {
        format!("tensor of shape {}", Dims::from(self.shape()))
    }

    fn holds_nan(&self) -> bool {
        match self.dtype() {
            DType::F64 => self.view::<f64>().is_ok_and(|v| v.array().iter().any(|x| x.is_nan())),
            DType::F32 => self.view::<f32>().is_ok_and(|v| v.array().iter().any(|x| x.is_nan())),
            DType::F16 => self.view::<Half>().is_ok_and(|v| v.array().iter().any(|x| x.is_nan())),
            _ => false,
        }
    }

    fn row(&self, k: usize) -> Result<Tensor> {
        view_through(self, "row", [ViewStep::Select { axis: 0, index: k }])
    }

    fn batched(rows: Vec<Option<Tensor>>) -> Result<Option<Tensor>> {
        let Some(first) = rows.iter().flatten().next() else {
            return Ok(None);
        };
        let mut dims = ShapeVec::from_slice(&[1]);
        dims.extend_from_slice(first.shape());
        let zero =
            Tensor::zeros(&[], first.dtype())?.with_layout(Layout::scalar().broadcast_to(&dims)?);
        let pieces: Result<Vec<Tensor>> = rows
            .iter()
            .map(|row| {
                row.as_ref().map_or_else(|| Ok(zero.clone()), |row| reshape_dims(row, &dims))
            })
            .collect();
        join(&pieces?, 0).map(Some)
    }

    fn backward_fused(nodes: &mut FusedNodes<'_, Tensor>) -> Result<bool> {
        run_fused(nodes)
    }

    fn accumulate(acc: Tensor, new: &Tensor) -> Result<Tensor> {
        let plain = !graph::recording() || !(acc.requires_grad() || new.requires_grad());
        let reusable = plain
            && acc.is_overwritable()
            && acc.shape() == new.shape()
            && acc.dtype() == new.dtype();
        if reusable {
            acc.add_into(new);
            return Ok(acc.unmarked(TensorFlags::ZERO_PADDED));
        }
        binary(&ADD, &acc, new)
    }

    fn pad(part: &PartialGradient) -> Result<Tensor> {
        part.padded()
    }

    fn accumulate_slice(
        acc: Tensor,
        last: Option<&PartialGradient>,
        part: &PartialGradient,
    ) -> Result<Tensor> {
        // Traced programs always add whole gradients, so the trace does too, to give the same bits.
        if !part.matches_base(&acc) || observer::is_active() {
            return Tensor::accumulate(acc, &part.padded()?);
        }
        let acc = if acc.is_overwritable() { acc } else { acc.duplicate()? };
        if accumulate_block(&acc, last, part) {
            return Ok(acc.marked(TensorFlags::ZERO_PADDED));
        }
        let zeros_added = |x: Tensor| binary_scalar(&ADD, &x, Scalar::Int(0));
        let before = part.read(&acc)?;
        let before = if part.padding_adds() { zeros_added(before)? } else { before };
        let sum = binary(&ADD, &before, part.gradient())?;
        // Adding zeros outside the new part only turns negative zeros into positive ones. There are none outside the part
        // that came last, because everything before it has had zeros added. A whole gradient has them added once.
        match last {
            Some(last) => last.write(&acc, &zeros_added(last.read(&acc)?)?)?,
            None if acc.flags().has(TensorFlags::ZERO_PADDED) => {}
            None => add_to_view(&acc, LoopOperand::Int(0)),
        }
        part.write(&acc, &sum)?;
        Ok(acc.marked(TensorFlags::ZERO_PADDED))
    }
}

/// Adds to a view in its own memory.
fn add_to_view(view: &Tensor, term: LoopOperand<'_>) {
    apply(ADD.forward, &[LoopOperand::View(view.view_of()), term], view.shared_view_mut(), &[]);
}

/// [`Value::accumulate_slice`] in the memory of `acc`, for parts that are blocks of it: adds the new part, and adds zeros to
/// what only `last` covers. Returns false, without writing, if they are not blocks.
fn accumulate_block(acc: &Tensor, last: Option<&PartialGradient>, part: &PartialGradient) -> bool {
    let whole = acc.layout();
    let Some(block) = part.layout_in(acc) else { return false };
    let before = match last {
        Some(last) => last.layout_in(acc),
        None => Some(whole.clone()),
    };
    let is_padded = last.is_none() && acc.flags().has(TensorFlags::ZERO_PADDED);
    let Some(outside) = before.and_then(|before| before.difference(&block, whole)) else {
        return false;
    };
    add_to_view(&acc.with_layout(block), LoopOperand::View(part.gradient().view_of()));
    if !is_padded {
        outside
            .into_iter()
            .for_each(|rest| add_to_view(&acc.with_layout(rest), LoopOperand::Int(0)));
    }
    true
}

impl Tensor {
    /// Adds `new` in place; shapes and dtypes agree.
    pub(crate) fn add_into(&self, new: &Tensor) {
        let small =
            |out| ADD.run_flat(&[self, new].map(OperandRef::Tensor), self.dtype(), out, &[]);
        if !self.flat().is_some_and(small) {
            add_to_view(self, LoopOperand::View(new.view_of()));
        }
    }

    /// Adds a finished gradient to a stored one in place; both have the leaf's shape and dtype.
    pub(crate) fn accumulate_in_place(&self, new: &Tensor) -> Result<()> {
        let writing = self.before_write("backward")?;
        self.add_into(new);
        drop(writing);
        self.storage().bump_version("backward");
        Ok(())
    }
}
