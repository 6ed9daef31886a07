//! `Field`: the number types of the factorisations, real and complex, single and double precision.
//!
//! Reads and writes them as any inexact dtype; products and sums of them; `with_field!` and
//! `with_double!` for dtype dispatch. Invariant: code over `Field` is one algorithm; conjugation is
//! the identity for real numbers.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::batched_small::MAX_SIDE;
use super::matrix::{Matrix, MatrixMut, MatrixRef};
use crate::dtype::{Complex64, Complex128, DType, no_loop};
use crate::kernels::gemm::{Mat, Size, multiply, multiply_complex};
use crate::kernels::view::View;

/// A number type of the factorisations.
pub(super) trait Field:
    Copy
    + PartialEq
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// The type of real and imaginary parts.
    type Real: Real;
    /// The same numbers in double precision.
    type Double: Double;
    const COMPLEX: bool;
    /// The dtype of these numbers.
    const DTYPE: DType;

    fn from_real(x: Self::Real) -> Self;
    fn to_double(self) -> Self::Double;
    fn real(self) -> Self::Real;
    fn imaginary(self) -> Self::Real;
    fn conjugate(self) -> Self;
    /// The absolute value.
    fn modulus(self) -> Self::Real;
    /// The sum of the absolute values of both parts.
    fn norm1(self) -> Self::Real;
    /// Times a real number.
    fn scale(self, by: Self::Real) -> Self;
    /// Over a real number, part by part.
    fn unscale(self, by: Self::Real) -> Self;
    fn is_finite(self) -> bool;

    #[inline(always)]
    fn zero() -> Self {
        Self::from_real(Self::Real::ZERO)
    }

    #[inline(always)]
    fn one() -> Self {
        Self::from_real(Self::Real::ONE)
    }

    /// The sign, or the phase: `x / |x|`.
    fn signum(self) -> Self;

    /// The interleaved real and imaginary parts.
    fn as_reals(x: &[Self]) -> &[Self::Real];
    /// Loads an element of any inexact dtype.
    ///
    /// # Safety
    /// `at` is a readable element of the dtype, counted from `ptr`.
    unsafe fn read(dtype: DType, ptr: *const u8, at: isize) -> Self;
    /// Stores the number as an element of any inexact dtype.
    ///
    /// # Safety
    /// As `read`, for writing.
    unsafe fn write(self, dtype: DType, ptr: *mut u8, at: isize);
    /// `c -= a b`, or `c = a b`.
    ///
    /// # Safety
    /// The operands are valid for the sizes, and `c` overlaps neither.
    unsafe fn multiply(
        s: Size,
        c: Mat<*mut Self>,
        subtract: bool,
        a: Mat<*const Self>,
        b: Mat<*const Self>,
    );
}

/// A number type in double precision.
pub(super) trait Double: Field<Real = f64, Double = Self> {}
impl Double for f64 {}
impl Double for Complex128 {}

/// A real number type, with the limits that the algorithms need.
pub(super) trait Real: Field<Real = Self> + PartialOrd {
    const ZERO: Self;
    const ONE: Self;
    /// Largest exponent of a power of two that scales matrices.
    const MAX_SCALE_EXPONENT: f64;
    /// Magnitude below which squares may underflow.
    const MIN_SAFE_MAGNITUDE: Self;
    /// The power of two that lifts smaller numbers above it, if need be in several steps.
    const LIFT: Self;

    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    fn sqrt(self) -> Self;
    fn hypot(self, other: Self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn abs(self) -> Self;
    fn is_nan(self) -> bool;
}

macro_rules! real_field {
    ($t:ty, $dtype:path, $max_exponent:literal, $safe:literal, $lift:expr) => {
        impl Field for $t {
            type Real = $t;
            type Double = f64;
            const COMPLEX: bool = false;
            const DTYPE: DType = $dtype;

            #[inline(always)]
            fn from_real(x: $t) -> $t {
                x
            }
            #[inline(always)]
            fn to_double(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn real(self) -> $t {
                self
            }
            #[inline(always)]
            fn imaginary(self) -> $t {
                0.0
            }
            #[inline(always)]
            fn conjugate(self) -> $t {
                self
            }
            #[inline(always)]
            fn modulus(self) -> $t {
                <$t>::abs(self)
            }
            #[inline(always)]
            fn norm1(self) -> $t {
                <$t>::abs(self)
            }
            #[inline(always)]
            fn scale(self, by: $t) -> $t {
                self * by
            }
            #[inline(always)]
            fn unscale(self, by: $t) -> $t {
                self / by
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                <$t>::is_finite(self)
            }
            #[inline(always)]
            fn signum(self) -> $t {
                <$t>::signum(self)
            }

            fn as_reals(x: &[$t]) -> &[$t] {
                x
            }

            #[inline(always)]
            unsafe fn read(dtype: DType, ptr: *const u8, at: isize) -> $t {
                // SAFETY: the caller's contract.
                unsafe {
                    match dtype {
                        DType::F64 => *ptr.cast::<f64>().offset(at) as $t,
                        DType::F32 => <$t>::from(*ptr.cast::<f32>().offset(at)),
                        other => no_loop("real matrices", other),
                    }
                }
            }

            #[inline(always)]
            unsafe fn write(self, dtype: DType, ptr: *mut u8, at: isize) {
                // SAFETY: the caller's contract.
                unsafe {
                    match dtype {
                        DType::F64 => *ptr.cast::<f64>().offset(at) = self.into(),
                        DType::F32 => *ptr.cast::<f32>().offset(at) = self as f32,
                        other => Complex128::new(self.into(), 0.0).write(other, ptr, at),
                    }
                }
            }

            unsafe fn multiply(
                s: Size,
                c: Mat<*mut $t>,
                subtract: bool,
                a: Mat<*const $t>,
                b: Mat<*const $t>,
            ) {
                // SAFETY: the caller's contract.
                unsafe { multiply(s, c, subtract, a, b, if subtract { -1.0 } else { 1.0 }) }
            }
        }

        impl Real for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            const MAX_SCALE_EXPONENT: f64 = $max_exponent;
            const MIN_SAFE_MAGNITUDE: $t = $safe;
            const LIFT: $t = $lift;

            #[inline(always)]
            fn from_f64(x: f64) -> $t {
                x as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn sqrt(self) -> $t {
                <$t>::sqrt(self)
            }
            #[inline(always)]
            fn hypot(self, other: $t) -> $t {
                <$t>::hypot(self, other)
            }
            #[inline(always)]
            fn copysign(self, sign: $t) -> $t {
                <$t>::copysign(self, sign)
            }
            #[inline(always)]
            fn max(self, other: $t) -> $t {
                <$t>::max(self, other)
            }
            #[inline(always)]
            fn abs(self) -> $t {
                <$t>::abs(self)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                <$t>::is_nan(self)
            }
        }
    };
}
real_field!(f64, DType::F64, 1000.0, 1e-130, f64::from_bits((1023 + 500) << 52));
real_field!(f32, DType::F32, 120.0, 1e-16, f32::from_bits((127 + 60) << 23));

macro_rules! complex_field {
    ($t:ident of $real:ty, $dtype:path) => {
        impl Field for $t {
            type Real = $real;
            type Double = Complex128;
            const COMPLEX: bool = true;
            const DTYPE: DType = $dtype;

            #[inline(always)]
            fn from_real(x: $real) -> $t {
                $t::new(x, 0.0)
            }
            #[inline(always)]
            fn to_double(self) -> Complex128 {
                Complex128::new(self.re.into(), self.im.into())
            }
            #[inline(always)]
            fn real(self) -> $real {
                self.re
            }
            #[inline(always)]
            fn imaginary(self) -> $real {
                self.im
            }
            #[inline(always)]
            fn conjugate(self) -> $t {
                self.conj()
            }
            #[inline(always)]
            fn modulus(self) -> $real {
                self.norm()
            }
            #[inline(always)]
            fn norm1(self) -> $real {
                self.re.abs() + self.im.abs()
            }
            #[inline(always)]
            fn scale(self, by: $real) -> $t {
                $t::new(self.re * by, self.im * by)
            }
            #[inline(always)]
            fn unscale(self, by: $real) -> $t {
                $t::new(self.re / by, self.im / by)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                self.re.is_finite() && self.im.is_finite()
            }
            fn signum(self) -> $t {
                let size = self.norm();
                if size == 0.0 { $t::new(1.0, 0.0) } else { self.unscale(size) }
            }

            fn as_reals(x: &[$t]) -> &[$real] {
                // SAFETY: a complex number is two real ones, without a gap.
                unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), 2 * x.len()) }
            }

            #[inline(always)]
            unsafe fn read(dtype: DType, ptr: *const u8, at: isize) -> $t {
                // SAFETY: the caller's contract.
                unsafe {
                    match dtype {
                        DType::C128 => {
                            let z = *ptr.cast::<Complex128>().offset(at);
                            $t::new(z.re as $real, z.im as $real)
                        }
                        DType::C64 => {
                            let z = *ptr.cast::<Complex64>().offset(at);
                            $t::new(z.re.into(), z.im.into())
                        }
                        other => $t::new(<$real>::read(other, ptr, at), 0.0),
                    }
                }
            }

            #[inline(always)]
            unsafe fn write(self, dtype: DType, ptr: *mut u8, at: isize) {
                // SAFETY: the caller's contract.
                unsafe {
                    match dtype {
                        DType::C128 => *ptr.cast::<Complex128>().offset(at) = self.to_double(),
                        DType::C64 => {
                            *ptr.cast::<Complex64>().offset(at) =
                                Complex64::new(self.re as f32, self.im as f32);
                        }
                        other => no_loop("complex matrices", other),
                    }
                }
            }

            unsafe fn multiply(
                s: Size,
                c: Mat<*mut $t>,
                subtract: bool,
                a: Mat<*const $t>,
                b: Mat<*const $t>,
            ) {
                // SAFETY: the caller's contract.
                unsafe { multiply_complex(s, c, subtract, a, b, subtract) }
            }
        }
    };
}
complex_field!(Complex128 of f64, DType::C128);
complex_field!(Complex64 of f32, DType::C64);

/// The dtype that factorisations of these matrices compute in: the smallest ones use double
/// precision, as `batched_small` does.
pub(super) fn computing_dtype(a: &View) -> DType {
    let small = a.dims.iter().rev().take(2).all(|&side| side <= MAX_SIDE);
    match a.dtype {
        DType::F32 if small => DType::F64,
        DType::C64 if small => DType::C128,
        dtype => dtype,
    }
}

/// Runs a body with `$T` bound to the number type that computes with the matrices of a view.
macro_rules! with_field {
    ($view:expr, $T:ident => $body:expr) => {
        match $crate::kernels::linalg::scalar::computing_dtype(&$view) {
            $crate::dtype::DType::F32 => {
                type $T = f32;
                $body
            }
            $crate::dtype::DType::C64 => {
                type $T = $crate::dtype::Complex64;
                $body
            }
            dtype => $crate::kernels::linalg::scalar::with_double!(dtype, $T => $body),
        }
    };
}

/// Runs a body with `$T` bound to the double precision number type that computes with a dtype.
macro_rules! with_double {
    ($dtype:expr, $T:ident => $body:expr) => {
        if $dtype.is_complex() {
            type $T = $crate::dtype::Complex128;
            $body
        } else {
            type $T = f64;
            $body
        }
    };
}
pub(super) use {with_double, with_field};

/// `c -= a b` for submatrices.
pub(super) fn subtract<T: Field>(
    c: &mut MatrixMut<'_, T>,
    a: MatrixRef<'_, T>,
    b: MatrixRef<'_, T>,
) {
    multiply_views(c, true, a, b);
}

/// `c -= a b`, or `c = a b` for a zero `c`.
fn multiply_views<T: Field>(
    c: &mut MatrixMut<'_, T>,
    subtract: bool,
    a: MatrixRef<'_, T>,
    b: MatrixRef<'_, T>,
) {
    let ((m, n), k) = (c.shape(), a.ncols());
    assert!(a.nrows() == m && b.shape() == (k, n), "product: the dims do not agree");
    if m == 0 || n == 0 || k == 0 {
        return;
    }
    let strides = |stride: usize| [1, stride as isize];
    let (a, b) =
        (Mat::new(a.as_ptr(), strides(a.stride())), Mat::new(b.as_ptr(), strides(b.stride())));
    let at = strides(c.stride());
    // SAFETY: the views hold these sizes at these strides, and `c` is borrowed mutably, so it overlaps neither.
    unsafe { T::multiply(Size { m, n, k }, Mat::new(c.as_mut_ptr(), at), subtract, a, b) }
}

/// `a b`.
pub(super) fn product<T: Field>(a: &Matrix<T>, b: &Matrix<T>) -> Matrix<T> {
    let mut out = Matrix::zeros(a.nrows(), b.ncols());
    multiply_views(&mut out.as_view_mut(), false, a.as_view(), b.as_view());
    out
}

/// Independent accumulators of a sum.
pub(super) const LANES: usize = 8;

/// Pairwise sum of the accumulators.
#[inline(always)]
pub(super) fn sum_lanes<T: Field>(s: &[T; LANES]) -> T {
    ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}

/// `xᴴ y`.
pub(super) fn dot<T: Field>(x: &[T], y: &[T]) -> T {
    let mut sums = [T::zero(); LANES];
    for (x, y) in x.chunks(LANES).zip(y.chunks(LANES)) {
        sums.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (x, y))| *sum += x.conjugate() * *y);
    }
    sum_lanes(&sums)
}

/// The largest magnitude; NaN if any element is NaN or infinite.
pub(super) fn max_abs<R: Real>(x: &[R]) -> R {
    let (mut most, mut nan) = ([R::ZERO; LANES], [R::ZERO; LANES]);
    let mut chunks = x.chunks_exact(LANES);
    for part in &mut chunks {
        for l in 0..LANES {
            let size = part[l].abs();
            most[l] = if size > most[l] { size } else { most[l] };
        }
        // Zero for finite numbers, NaN for others.
        for l in 0..LANES {
            nan[l] += part[l] * R::ZERO;
        }
    }
    for &x in chunks.remainder() {
        most[0] = most[0].max(x.abs());
        nan[0] += x * R::ZERO;
    }
    let nan = nan.iter().fold(-R::ZERO, |sum, &x| sum + x);
    most.iter().fold(R::ZERO, |m, &x| m.max(x)) + nan
}
