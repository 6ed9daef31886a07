//! Element types of FFT lines: `Real` (the two float types with their vectors) and `Number`.
//!
//! Invariant: every bit pattern is a valid number.

use std::ops::Mul;

use rustfft::FftNum;
use rustfft::num_complex::Complex;

use crate::kernels::simd::ComplexLanes;
#[cfg(target_arch = "x86_64")]
use crate::kernels::simd::ComplexPairs;
use crate::kernels::workspace::Bits;

/// Elements of lines: floats and complex numbers.
pub(super) trait Number: Bits + Send + Sync + 'static {
    /// The float type of its parts.
    type Part: Real;
    fn scaled(self, by: Self::Part) -> Self;
}

/// A float type with transforms, and its vectors.
pub(super) trait Real: FftNum + Number<Part = Self> + Mul<Output = Self> {
    #[cfg(target_arch = "x86_64")]
    type Avx512: ComplexLanes<Scalar = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx2: ComplexPairs<Scalar = Self>;
    fn narrow(v: f64) -> Self;
}

/// A vector of one of the float types.
pub(super) trait Vector: ComplexLanes<Scalar: Real> {}
impl<V: ComplexLanes<Scalar: Real>> Vector for V {}

macro_rules! floats {
    ($($t:ident: $avx512:ident $avx2:ident;)*) => {$(
        impl Number for $t {
            type Part = $t;
            #[inline(always)]
            fn scaled(self, by: $t) -> $t {
                self * by
            }
        }
        impl Real for $t {
            #[cfg(target_arch = "x86_64")]
            type Avx512 = std::arch::x86_64::$avx512;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = std::arch::x86_64::$avx2;
            fn narrow(v: f64) -> $t {
                v as $t
            }
        }
    )*};
}
floats! {
    f64: __m512d __m256d;
    f32: __m512 __m256;
}

impl<T: Real> Number for Complex<T> {
    type Part = T;
    #[inline(always)]
    fn scaled(self, by: T) -> Self {
        Complex::new(self.re * by, self.im * by)
    }
}

/// Multiplies every element by a number.
pub(super) fn scale<A: Number>(line: &mut [A], by: A::Part) {
    line.iter_mut().for_each(|x| *x = x.scaled(by));
}
