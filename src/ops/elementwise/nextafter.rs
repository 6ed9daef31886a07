//! `nextafter`; it has no derivative.

use crate::array::broadcast_shapes;
use crate::dtype::{DType, Half};
use crate::error::Error;
use crate::graph;
use crate::kernels::elementwise::{LoopOperand, NEXT_AFTER, apply};
use crate::ops::core::broadcast::{broadcast_to, require_real};
use crate::ops::core::op_decl::Operand;
use crate::ops::elementwise::select::{dtype_of, operand_tensor};
use crate::tensor::Tensor;

/// `nextafter` for float16, whose ulp differs from that of the equal float32.
fn nextafter_f16(a: Half, b: Half) -> Half {
    const SIGN: u16 = 1 << 15;
    match a.partial_cmp(&b) {
        None => Half::NAN,
        Some(std::cmp::Ordering::Equal) => b,
        Some(order) => {
            let up = order == std::cmp::Ordering::Less;
            let bits = a.to_bits();
            Half::from_bits(match bits & !SIGN {
                0 if up => 1,
                0 => SIGN | 1,
                _ if up == (bits & SIGN == 0) => bits + 1,
                _ => bits - 1,
            })
        }
    }
}

crate::operations! { family "elementwise";
    /// The float next to `a` on the way to `b`. It has no derivative, so an operand that requires grad is refused while recording.
    [numpy("nextafter"), constant, ufunc]
    fn nextafter(a: Operand, b: Operand) -> Tensor {
        let dtype = match (a, b) {
            (Operand::Tensor(a), Operand::Tensor(b)) => a.dtype().to_ufunc_float().promote(b.dtype().to_ufunc_float()),
            _ => dtype_of(a, b).to_ufunc_float(),
        };
        let (a, b) = (operand_tensor(a, dtype)?, operand_tensor(b, dtype)?);
        require_real("nextafter", &a)?;
        if graph::recording() && (a.requires_grad() || b.requires_grad()) {
            return Err(Box::new(Error::NotDifferentiable {
                op: "nextafter".into(),
                what: "the result is a step in the bits of an operand that requires grad".into(),
                remedy: "pass a.detach()".into(),
            }));
        }
        let dims = broadcast_shapes("nextafter", &[a.shape(), b.shape()])?;
        let (from, to) = (broadcast_to(&a.detach(), &dims)?, broadcast_to(&b.detach(), &dims)?);
        let out = if dtype == DType::F16 {
            let (mut values, ends) = (from.to_vec::<Half>()?, to.to_vec::<Half>()?);
            values.iter_mut().zip(ends).for_each(|(value, end)| *value = nextafter_f16(*value, end));
            Tensor::from_vec(values, &dims)?
        } else {
            let out = Tensor::empty(&dims, dtype)?;
            apply(&NEXT_AFTER, &[LoopOperand::View(from.view_of()), LoopOperand::View(to.view_of())], out.view_mut(), &[]);
            out
        };
        Ok(out.underived([&*a, &*b].into_iter()))
    }
}
