//! `round` to decimals and `nan_to_num`; the gradient is zero where a value was replaced.

use crate::dtype::{DType, Half};
use crate::ops::core::broadcast::astype;
use crate::ops::core::elementwise::unary_with;
use crate::ops::elementwise::arithmetic::{divide, multiply};
use crate::ops::elementwise::complex::map_parts;
use crate::ops::elementwise::unary::rint;
use crate::tensor::Tensor;

elementwise_specs! {
    /// NaN and the infinities replaced by three numbers. Derivative: `g` where `x` was finite, 0 elsewhere.
    fn replace_nonfinite(x; nan = 0.0, posinf = 0.0, neginf = 0.0) = REPLACE_NONFINITE {
        forward { float: |x; nan, posinf, neginf| {
            let high = R::select(x.eq(R::lit(f64::INFINITY)), posinf, x);
            let both = R::select(x.eq(R::lit(f64::NEG_INFINITY)), neginf, high);
            R::select(x.is_nan(), nan, both)
        }; cost: 0.4; }
        by x { float |g, x; _nan, _posinf, _neginf| R::select(x.abs().lt(R::lit(f64::INFINITY)), g, R::lit(0.0)) }
    }
}

crate::operations! { family "elementwise" [in_place];
    /// Nearest number with so many decimals, ties to even; negative `decimals` round before the point. Derivative: zero.
    [numpy("round", "around"), aliases("around")]
    fn round(x: Tensor, decimals: isize = 0) -> Tensor {
        if x.dtype().is_complex() {
            return map_parts(x, |part| round(part, decimals));
        }
        if decimals == 0 || !x.dtype().is_float() && decimals > 0 {
            let rounded = x.dtype().is_float() || x.dtype() == DType::Bool;
            return if rounded { rint(x) } else { x.duplicate() };
        }
        let power = Tensor::full(&[], crate::ops::core::op_decl::Scalar::Float(10f64.powi(decimals.unsigned_abs().min(400) as i32)), x.dtype().to_float())?;
        if decimals > 0 {
            return divide(&rint(&multiply(x, &power)?)?, &power);
        }
        let rounded = multiply(&rint(&divide(x, &power)?)?, &power)?;
        if x.dtype().is_float() { Ok(rounded) } else { astype(&rounded, x.dtype()) }
    }
    /// NaN replaced by `nan`, infinities by `posinf` and `neginf` (the largest finite numbers by default). Derivative: `g` where `x` was finite, 0 elsewhere.
    [numpy("nan_to_num")]
    fn nan_to_num(x: Tensor, nan: f64 = 0.0, posinf: Option<f64> = None, neginf: Option<f64> = None) -> Tensor {
        if x.dtype().is_complex() {
            return map_parts(x, |part| nan_to_num(part, nan, posinf, neginf));
        }
        if !x.dtype().is_float() {
            return x.duplicate();
        }
        let largest = match x.dtype() {
            DType::F16 => Half::MAX.to_f64(),
            DType::F32 => f64::from(f32::MAX),
            _ => f64::MAX,
        };
        unary_with(&REPLACE_NONFINITE, x, &[nan, posinf.unwrap_or(largest), neginf.unwrap_or(-largest)])
    }
}
