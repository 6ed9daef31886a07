//! Operands of mixed dtypes: cast tile by tile inside the loop if nothing is saved of them, else as whole tensors.
//!
//! Invariant: both paths compute the same elements.

use std::borrow::Cow;

use crate::array::{Layout, broadcast_shapes, observer};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Mode;
use crate::kernels::elementwise::apply_converted;
use crate::ops::core::broadcast::{astype, broadcast_to};
use crate::ops::core::elementwise::{Elementwise, OperandRef};
use crate::tensor::Tensor;

/// From this size on, whole casts would leave the L1 cache, so tiles are cast instead.
const MIN_TILED_CAST_ELEMENTS: usize = 2048;

impl Elementwise {
    /// [`run`](Self::run) with operands of one shape that are cast to `dtype` first.
    pub(super) fn run_converted<const N: usize>(
        &'static self,
        operands: [OperandRef<'_>; N],
        layout: &Layout,
        dtype: DType,
        params: &[f64],
    ) -> Result<Tensor> {
        if self.converts_in_tiles(&operands, layout, dtype) {
            let mut out = Tensor::empty(layout.dims(), self.forward.result(dtype))?;
            let ins = operands.map(OperandRef::input);
            apply_converted(self.forward, dtype, &ins, out.view_mut(), params);
            let edge = self.record_or_note(&operands, &mut out, params, Mode::current())?;
            return Ok(match edge {
                Some(edge) => out.recorded(edge),
                None => out,
            });
        }
        let mut converted = [const { None }; N];
        for (operand, cast) in operands.iter().zip(&mut converted) {
            if let Some(t) = operand.tensor().filter(|t| t.dtype() != dtype) {
                *cast = Some(astype(t, dtype)?);
            }
        }
        let operand = |i: usize| converted[i].as_ref().map_or(operands[i], OperandRef::Tensor);
        self.run::<N>(std::array::from_fn(operand), layout, dtype, params)
    }

    /// Whether the tiled cast applies: no derivative reads a cast operand, and the call is not traced.
    fn converts_in_tiles<const N: usize>(
        &self,
        operands: &[OperandRef<'_>; N],
        layout: &Layout,
        dtype: DType,
    ) -> bool {
        let tensors = || operands.iter().filter_map(|operand| operand.tensor());
        layout.numel() >= MIN_TILED_CAST_ELEMENTS
            && self.operand_check.is_none()
            && self.forward.get(dtype).is_some()
            && tensors().any(|t| t.dtype() != dtype)
            && tensors().all(|t| !t.requires_grad() || self.saves.is_empty() && t.dtype() == dtype)
            && !observer::is_active()
    }

    /// Promotes and broadcasts the operands, and computes.
    pub(super) fn run_promoted<const N: usize>(
        &'static self,
        xs: [&Tensor; N],
        dtype: DType,
    ) -> Result<Tensor> {
        let dims = broadcast_shapes(self.name, &xs.map(Tensor::shape))?;
        let numel: usize = dims.iter().product();
        let mut tensors = xs.map(Cow::Borrowed);
        for x in &mut tensors {
            if x.dtype() != dtype && x.size() != numel {
                *x = Cow::Owned(astype(x, dtype)?);
            }
            if x.shape() != dims.as_slice() {
                *x = Cow::Owned(broadcast_to(x, &dims)?);
            }
        }
        let operand = |i: usize| OperandRef::Tensor(&tensors[i]);
        self.run_converted::<N>(std::array::from_fn(operand), tensors[0].layout(), dtype, &[])
    }
}
