//! `isclose`, `allclose`, `array_equal`. As in NumPy, the tolerance is relative to the second operand.

use crate::array::broadcast_shapes;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::elementwise::{LoopOperand, LoopTable, apply};
use crate::ops::core::broadcast::{astype, broadcast_to};
use crate::ops::core::elementwise::binary_scalar;
use crate::ops::core::op_decl::{Axes, Scalar};
use crate::ops::elementwise::arithmetic::{ADD, MULTIPLY, subtract};
use crate::ops::elementwise::compare::{
    equal, isfinite, isnan, less_equal, logical_and, logical_or,
};
use crate::ops::elementwise::unary::abs_;
use crate::tensor::Tensor;

/// `|a - b| <= atol + rtol |b|` where `b` is finite, or equality.
static CLOSE: LoopTable = crate::loop_table!(float [memory_bound] -> mask: |a, b, rtol, atol| R::mask_or(
    R::mask_and((a - b).abs().le(b.abs() * rtol + atol), b.is_finite()),
    a.eq(b)
); cost: 0.6;);

/// `isclose` of floats of one dtype, in one pass.
fn isclose_floats(a: &Tensor, b: &Tensor, [rtol, atol]: [f64; 2]) -> Result<Tensor> {
    let dims = broadcast_shapes("isclose", &[a.shape(), b.shape()])?;
    let (a, b) = (broadcast_to(a, &dims)?, broadcast_to(b, &dims)?);
    let out = Tensor::empty(&dims, DType::Bool)?;
    let ins = [
        LoopOperand::View(a.view_of()),
        LoopOperand::View(b.view_of()),
        LoopOperand::Float(rtol),
        LoopOperand::Float(atol),
    ];
    apply(&CLOSE, &ins, out.view_mut(), &[]);
    Ok(out)
}

/// Whether every element is true.
fn all_true(mask: &Tensor) -> Result<bool> {
    mask.all(Axes::All, false)?.item::<bool>()
}

crate::operations! { family "comparison";
    /// Element-wise `|a - b| <= atol + rtol |b|`; infinities are close to themselves, NaN to NaN with `equal_nan`.
    [numpy("isclose"), constant]
    fn isclose(a: Tensor, b: Tensor, rtol: f64 = 1e-05, atol: f64 = 1e-08, equal_nan: bool = false) -> Tensor {
        let given = [a, b];
        let (a, b) = (a.detach(), b.detach());
        // The second operand as floats, so that differences of unsigned integers do not wrap.
        let b = astype(&b, b.dtype().to_float())?;
        if !equal_nan && a.dtype() == b.dtype() && matches!(a.dtype(), DType::F64 | DType::F32) {
            return Ok(isclose_floats(&a, &b, [rtol, atol])?.underived(given.into_iter()));
        }
        let gap = abs_(&subtract(&a, &b)?)?;
        let scaled = binary_scalar(&MULTIPLY, &abs_(&b)?, Scalar::Float(rtol))?;
        let near = less_equal(&gap, &binary_scalar(&ADD, &scaled, Scalar::Float(atol))?)?;
        let close = logical_or(&logical_and(&near, &isfinite(&b)?)?, &equal(&a, &b)?)?;
        let close = if equal_nan { logical_or(&close, &logical_and(&isnan(&a)?, &isnan(&b)?)?)? } else { close };
        Ok(close.underived(given.into_iter()))
    }
    /// Whether all elements are close, as `isclose` has it.
    [numpy("allclose"), constant]
    fn allclose(a: Tensor, b: Tensor, rtol: f64 = 1e-05, atol: f64 = 1e-08, equal_nan: bool = false) -> bool {
        all_true(&isclose(a, b, rtol, atol, equal_nan)?)
    }
    /// Whether shapes and all elements are equal; NaN equals NaN with `equal_nan`.
    [numpy("array_equal"), constant]
    fn array_equal(a: Tensor, b: Tensor, equal_nan: bool = false) -> bool {
        if a.shape() != b.shape() {
            return Ok(false);
        }
        let same = equal(&a.detach(), &b.detach())?;
        if !equal_nan {
            return all_true(&same);
        }
        all_true(&logical_or(&same, &logical_and(&isnan(a)?, &isnan(b)?)?)?)
    }
}
