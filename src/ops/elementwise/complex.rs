//! Complex functions that are not holomorphic: parts, absolute value, angle, and construction from parts. All are composed
//! of operations on the real and imaginary parts, so they have no rules of their own.

use smallvec::smallvec;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::real_imag::Part;
use crate::ops::core::broadcast::astype;
use crate::ops::core::complex_as_real::{complex_from_parts, copy_part, part_view};
use crate::ops::core::elementwise::{Elementwise, binary, binary_scalar, scalar_binary};
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::structured::{NodeSpec, Save, move_cost, record_output};
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::elementwise::arithmetic::{ARCTAN2, DIVIDE, HYPOT, MULTIPLY, SUBTRACT};
use crate::ops::elementwise::compare::{EQUAL, LOGICAL_OR, NOT_EQUAL, isnan};
use crate::ops::elementwise::select::where_;
use crate::ops::elementwise::unary::{cos, rint, sin};
use crate::tensor::Tensor;

/// Two tensors of one shape and one float dtype, from which complex numbers can be made.
fn promote_parts(re: &Tensor, im: &Tensor) -> Result<[Tensor; 2]> {
    let common = re.dtype().promote(im.dtype());
    if common.is_complex() {
        return Err(Box::new(Error::DType {
            op: "complex".into(),
            got: common,
            remedy: "give two tensors of real numbers",
        }));
    }
    let dtype = common.to_complex().real();
    let dims = crate::array::broadcast_shapes("complex", &[re.shape(), im.shape()])?;
    let fit = |x: &Tensor| crate::ops::core::broadcast::broadcast_to(&astype(x, dtype)?, &dims);
    Ok([fit(re)?, fit(im)?])
}

/// Applies a function of real numbers to each part.
pub(crate) fn map_parts(x: &Tensor, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    complex_from_parts(&f(&copy_part(x, Part::Real)?)?, &f(&copy_part(x, Part::Imag)?)?)
}

/// Rounds each part to the nearest integer.
pub(crate) fn round_parts(x: &Tensor) -> Result<Tensor> {
    map_parts(x, rint)
}

/// The absolute value of complex numbers.
pub(crate) fn complex_abs(x: &Tensor) -> Result<Tensor> {
    binary(&HYPOT, &copy_part(x, Part::Real)?, &copy_part(x, Part::Imag)?)
}

elementwise_specs! {
    /// `a / |a + ib|`: 0 for 0, and beside one infinite part it alone counts.
    fn unit_part(a, b) = UNIT_PART {
        forward { float [calls]: |a, b| {
            let (size, one) = (a.hypot(b), R::lit(1.0));
            let sign = R::select(b.is_infinite(), a / b, one.copysign(a));
            let infinite = R::select(a.is_infinite(), sign, R::lit(0.0));
            let none = size.eq(R::lit(0.0));
            let finite = R::select(none, R::lit(0.0), a / R::select(none, one, size));
            // |z| of finite parts may overflow.
            let half = a * 0.5;
            let far = half / half.hypot(b * 0.5);
            let endless = R::mask_or(a.is_infinite(), b.is_infinite());
            R::select(size.is_infinite(), R::select(endless, infinite, far), finite)
        }; cost: 3.0; }
        by a { zero }
        by b { zero }
    }
}

/// Complex sign, `x / |x|`, as in NumPy. Derivative: `(g - y Re(conj(y) g)) / |x|`, 0 at 0.
pub(crate) fn complex_sign(x: &Tensor) -> Result<Tensor> {
    let known = x.detach();
    let (re, im) = (copy_part(&known, Part::Real)?, copy_part(&known, Part::Imag)?);
    let out = complex_from_parts(&binary(&UNIT_PART, &re, &im)?, &binary(&UNIT_PART, &im, &re)?)?;
    record_output(out, &[x], |_| NodeSpec {
        name: "sign",
        cost: 6.0 * move_cost(x),
        params: (),
        saved: smallvec![Save::input(0, &[0]), Save::output(0, &[0])],
        backward: |(), g, cx| {
            let (x, y) = (cx.saved(0)?, cx.saved(1)?);
            cx.give_with(0, |_| {
                let size = complex_abs(&x)?;
                let none = binary_scalar(&EQUAL, &size.detach(), Scalar::Int(0))?;
                let infinity = Operand::Scalar(Scalar::Float(f64::INFINITY));
                let size = where_(&none, &infinity, &Operand::Tensor(size))?;
                let radial = copy_part(&binary(&MULTIPLY, &conjugated(&y)?, &g)?, Part::Real)?;
                let tangential = binary(&SUBTRACT, &g, &binary(&MULTIPLY, &y, &radial)?)?;
                binary(&DIVIDE, &tangential, &size)
            })
        },
    })
}

/// NumPy's extremes of complex numbers: the first operand if it wins, or if operand `nan` is NaN, else the second. The
/// gradient goes to the selected one.
pub(crate) fn complex_extreme(
    wins: &'static Elementwise,
    z: &[&Tensor],
    nan: usize,
) -> Result<Tensor> {
    let first = binary(wins, &z[0].detach(), &z[1].detach())?;
    let first = binary(&LOGICAL_OR, &first, &isnan(&z[nan].detach())?)?;
    where_(&first, &Operand::from(z[0]), &Operand::from(z[1]))
}

crate::operations! { family "complex" [ufunc];
    /// Real part; real numbers are their own. A view: writing to it changes `x`. Derivative: `g` as a complex number.
    [numpy("real"), attribute]
    fn real(x: Tensor) -> Tensor {
        if x.dtype().is_complex() { part_view(x, Part::Real) } else { Ok(x.clone()) }
    }
    /// Imaginary part; a view of complex numbers, new zeros for real ones. Derivative: `i g`.
    [numpy("imag"), attribute]
    fn imag(x: Tensor) -> Tensor {
        if x.dtype().is_complex() {
            return part_view(x, Part::Imag);
        }
        Ok(Tensor::zeros(x.shape(), x.dtype())?.underived([x].into_iter()))
    }
    /// Angle of complex numbers in the plane, from -π to π (in degrees with `deg`); 0 and π for real numbers. Derivative: `i g x / |x|²`.
    [numpy("angle")]
    fn angle(x: Tensor, deg: bool = false) -> Tensor {
        let angle = if x.dtype().is_complex() {
            binary(&ARCTAN2, &copy_part(x, Part::Imag)?, &copy_part(x, Part::Real)?)?
        } else {
            scalar_binary(&ARCTAN2, Scalar::Int(0), x)?
        };
        if deg { binary_scalar(&MULTIPLY, &angle, Scalar::Float(57.29577951308232)) } else { Ok(angle) }
    }
    /// Complex numbers of a real and an imaginary part, broadcast. Derivatives: the parts of `g`.
    fn complex(real: Operand, imag: Operand) -> Tensor {
        let tensor = |x: &Operand, other: &Operand| match (x, other) {
            (Operand::Tensor(x), _) => Ok(x.clone()),
            (Operand::Scalar(s), Operand::Tensor(other)) => Tensor::full(&[], *s, other.dtype().promote_weak(s.weak())),
            (Operand::Scalar(s), _) => Ok(Tensor::scalar(*s)),
        };
        let [re, im] = promote_parts(&tensor(real, imag)?, &tensor(imag, real)?)?;
        complex_from_parts(&re, &im)
    }
    /// Complex numbers of an absolute value and an angle, `abs (cos angle + i sin angle)`. Derivatives: those of the parts.
    fn polar(abs: Tensor, angle: Tensor) -> Tensor {
        let [size, angle] = promote_parts(abs, angle)?;
        complex_from_parts(&binary(&MULTIPLY, &size, &cos(&angle)?)?, &binary(&MULTIPLY, &size, &sin(&angle)?)?)
    }
    /// Whether the imaginary part of each element is zero.
    [numpy("isreal"), constant]
    fn isreal(x: Tensor) -> Tensor {
        if x.dtype().is_complex() {
            return Ok(binary_scalar(&EQUAL, &imag(&x.detach())?, Scalar::Int(0))?.underived([x].into_iter()));
        }
        Ok(Tensor::full(x.shape(), Scalar::Bool(true), DType::Bool)?.underived([x].into_iter()))
    }
    /// Whether the imaginary part of each element is not zero.
    [numpy("iscomplex"), constant]
    fn iscomplex(x: Tensor) -> Tensor {
        if x.dtype().is_complex() {
            return Ok(binary_scalar(&NOT_EQUAL, &imag(&x.detach())?, Scalar::Int(0))?.underived([x].into_iter()));
        }
        Ok(Tensor::full(x.shape(), Scalar::Bool(false), DType::Bool)?.underived([x].into_iter()))
    }
    /// Whether the dtype is complex.
    [constant]
    fn is_complex(x: Tensor) -> bool {
        Ok(x.dtype().is_complex())
    }
}
