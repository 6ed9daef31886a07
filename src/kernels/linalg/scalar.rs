//! `Field`: the number types of the factorisations, float64 and complex128.
//!
//! Reads and writes them as any inexact dtype; products and sums of them; `with_field!` for dtype
//! dispatch. Invariant: code over `Field` is one algorithm; conjugation is the identity for real
//! numbers.

use nalgebra::{ComplexField, DMatrix, DMatrixView, DMatrixViewMut};

use crate::dtype::{Complex64, Complex128, DType, no_loop};
use crate::kernels::gemm::{Mat, Size, multiply, multiply_complex};

/// A number type of the factorisations.
pub(super) trait Field: ComplexField<RealField = f64> + Copy {
    /// The interleaved real and imaginary parts.
    fn as_reals(x: &[Self]) -> &[f64];
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

impl Field for f64 {
    fn as_reals(x: &[f64]) -> &[f64] {
        x
    }

    #[inline(always)]
    unsafe fn read(dtype: DType, ptr: *const u8, at: isize) -> f64 {
        // SAFETY: the caller's contract.
        unsafe {
            match dtype {
                DType::F64 => *ptr.cast::<f64>().offset(at),
                DType::F32 => f64::from(*ptr.cast::<f32>().offset(at)),
                other => no_loop("real matrices", other),
            }
        }
    }

    #[inline(always)]
    unsafe fn write(self, dtype: DType, ptr: *mut u8, at: isize) {
        // SAFETY: the caller's contract.
        unsafe {
            match dtype {
                DType::F64 => *ptr.cast::<f64>().offset(at) = self,
                DType::F32 => *ptr.cast::<f32>().offset(at) = self as f32,
                other => Complex128::new(self, 0.0).write(other, ptr, at),
            }
        }
    }

    unsafe fn multiply(
        s: Size,
        c: Mat<*mut f64>,
        subtract: bool,
        a: Mat<*const f64>,
        b: Mat<*const f64>,
    ) {
        // SAFETY: the caller's contract.
        unsafe { multiply(s, c, subtract, a, b, if subtract { -1.0 } else { 1.0 }) }
    }
}

impl Field for Complex128 {
    fn as_reals(x: &[Complex128]) -> &[f64] {
        // SAFETY: a complex number is two real ones, without a gap.
        unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), 2 * x.len()) }
    }

    #[inline(always)]
    unsafe fn read(dtype: DType, ptr: *const u8, at: isize) -> Complex128 {
        // SAFETY: the caller's contract.
        unsafe {
            match dtype {
                DType::C128 => *ptr.cast::<Complex128>().offset(at),
                DType::C64 => {
                    let z = *ptr.cast::<Complex64>().offset(at);
                    Complex128::new(f64::from(z.re), f64::from(z.im))
                }
                other => Complex128::new(f64::read(other, ptr, at), 0.0),
            }
        }
    }

    #[inline(always)]
    unsafe fn write(self, dtype: DType, ptr: *mut u8, at: isize) {
        // SAFETY: the caller's contract.
        unsafe {
            match dtype {
                DType::C128 => *ptr.cast::<Complex128>().offset(at) = self,
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
        c: Mat<*mut Complex128>,
        subtract: bool,
        a: Mat<*const Complex128>,
        b: Mat<*const Complex128>,
    ) {
        // SAFETY: the caller's contract.
        unsafe { multiply_complex(s, c, subtract, a, b, subtract) }
    }
}

/// Runs a body with `$T` bound to the number type that computes with a dtype.
macro_rules! with_field {
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
pub(super) use with_field;

/// `c -= a b` for submatrices.
pub(super) fn subtract<T: Field>(
    c: &mut DMatrixViewMut<'_, T>,
    a: DMatrixView<'_, T>,
    b: DMatrixView<'_, T>,
) {
    multiply_views(c, true, a, b);
}

/// `c -= a b`, or `c = a b` for a zero `c`.
fn multiply_views<T: Field>(
    c: &mut DMatrixViewMut<'_, T>,
    subtract: bool,
    a: DMatrixView<'_, T>,
    b: DMatrixView<'_, T>,
) {
    let ((m, n), k) = (c.shape(), a.ncols());
    assert!(a.nrows() == m && b.shape() == (k, n), "product: the dims do not agree");
    if m == 0 || n == 0 || k == 0 {
        return;
    }
    let strides = |(rows, columns): (usize, usize)| [rows as isize, columns as isize];
    let (a, b) =
        (Mat::new(a.as_ptr(), strides(a.strides())), Mat::new(b.as_ptr(), strides(b.strides())));
    let at = strides(c.strides());
    // SAFETY: the views hold these sizes at these strides, and `c` is borrowed mutably, so it overlaps neither.
    unsafe { T::multiply(Size { m, n, k }, Mat::new(c.as_mut_ptr(), at), subtract, a, b) }
}

/// `a b`.
pub(super) fn product<T: Field>(a: &DMatrix<T>, b: &DMatrix<T>) -> DMatrix<T> {
    let mut out = zeros(a.nrows(), b.ncols());
    multiply_views(&mut out.as_view_mut(), false, a.as_view(), b.as_view());
    out
}

/// A zero matrix; nalgebra's own writes elements one by one.
pub(super) fn zeros<T: Field>(rows: usize, columns: usize) -> DMatrix<T> {
    DMatrix::from_vec(rows, columns, vec![T::zero(); rows * columns])
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
pub(super) fn max_abs(x: &[f64]) -> f64 {
    let (mut most, mut nan) = ([0.0f64; LANES], [0.0; LANES]);
    let mut chunks = x.chunks_exact(LANES);
    for part in &mut chunks {
        for l in 0..LANES {
            let size = part[l].abs();
            most[l] = if size > most[l] { size } else { most[l] };
        }
        // Zero for finite numbers, NaN for others.
        for l in 0..LANES {
            nan[l] += part[l] * 0.0;
        }
    }
    for &x in chunks.remainder() {
        most[0] = most[0].max(x.abs());
        nan[0] += x * 0.0;
    }
    most.iter().fold(0.0, |m: f64, x| m.max(*x)) + nan.iter().sum::<f64>()
}
