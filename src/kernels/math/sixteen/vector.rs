//! Sixteen float32 in one register.
//!
//! Owns: the type and the few instructions that the functions beside it are written with. Never computes a function.
//! Invariant: only a loop that is compiled for AVX-512 has a `Sixteen`, so whoever is given one may use its instructions.

use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Sixteen numbers.
#[derive(Clone, Copy)]
pub(crate) struct Sixteen(__m512);

/// Methods of one instruction each.
macro_rules! instructions {
    ($($(#[$doc:meta])* $name:ident($self:ident $(, $arg:ident: $t:ty)*) -> $ret:ty = $body:expr;)*) => {
        impl Sixteen {
            $(
                $(#[$doc])*
                #[inline(always)]
                pub(crate) fn $name($self $(, $arg: $t)*) -> $ret {
                    // SAFETY: there is a `Sixteen`, so the CPU has AVX-512.
                    unsafe { $body }
                }
            )*
        }
    };
}

instructions! {
    /// `self * b + c`, rounded once.
    fma(self, b: Sixteen, c: Sixteen) -> Sixteen = Sixteen(_mm512_fmadd_ps(self.0, b.0, c.0));
    /// `c - self * b`, rounded once.
    taken(self, b: Sixteen, c: Sixteen) -> Sixteen = Sixteen(_mm512_fnmadd_ps(self.0, b.0, c.0));
    sqrt(self) -> Sixteen = Sixteen(_mm512_sqrt_ps(self.0));
    /// `1 / self` to 14 bits.
    rough_inverse(self) -> Sixteen = Sixteen(_mm512_rcp14_ps(self.0));
    /// The smaller; NaN where `self` is NaN.
    at_most(self, high: f32) -> Sixteen = Sixteen(_mm512_min_ps(_mm512_set1_ps(high), self.0));
    /// The larger; NaN where `self` is NaN.
    at_least(self, low: f32) -> Sixteen = Sixteen(_mm512_max_ps(_mm512_set1_ps(low), self.0));
    /// `self * 2^floor(k)`, rounded once.
    scaled(self, k: Sixteen) -> Sixteen = Sixteen(_mm512_scalef_ps(self.0, k.0));
    /// The same where the mask holds, elsewhere 0.
    scaled_where(self, mask: u16, k: Sixteen) -> Sixteen = Sixteen(_mm512_maskz_scalef_ps(mask, self.0, k.0));
    /// The `m` in `[3/4, 3/2)` with `self = 2^k m`; 1 at 0 and infinity, NaN below zero.
    mantissa(self) -> Sixteen = Sixteen(_mm512_getmant_ps::<_MM_MANT_NORM_P75_1P5, _MM_MANT_SIGN_NAN>(self.0));
    /// The `m` in `[1, 2)` with `|self| = 2^k m`; 1 at 0 and infinity.
    mantissa_from_one(self) -> Sixteen = Sixteen(_mm512_getmant_ps::<_MM_MANT_NORM_1_2, _MM_MANT_SIGN_ZERO>(self.0));
    /// The `k` in `|self| = 2^k m` with `m` in `[1, 2)`; minus infinity at 0, infinity at infinity.
    exponent(self) -> Sixteen = Sixteen(_mm512_getexp_ps(self.0));
    lt(self, o: Sixteen) -> u16 = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, o.0);
    le(self, o: Sixteen) -> u16 = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(self.0, o.0);
    eq(self, o: Sixteen) -> u16 = _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(self.0, o.0);
    /// Not below: also where one is NaN.
    nlt(self, o: Sixteen) -> u16 = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(self.0, o.0);
    /// `self` where the mask holds, else `o`.
    where_(self, mask: u16, o: Sixteen) -> Sixteen = Sixteen(_mm512_mask_blend_ps(mask, o.0, self.0));
    /// `self` where the mask holds, else 0.
    where_or_zero(self, mask: u16) -> Sixteen = Sixteen(_mm512_maskz_mov_ps(mask, self.0));
    /// Where the sign is minus.
    negative(self) -> u16 = _mm512_movepi32_mask(_mm512_castps_si512(self.0));
    abs(self) -> Sixteen = Sixteen(_mm512_abs_ps(self.0));
    /// The magnitude of `self` with the sign of `o`.
    copysign(self, o: Sixteen) -> Sixteen = {
        let sign = _mm512_castps_si512(_mm512_set1_ps(-0.0));
        Sixteen(_mm512_castsi512_ps(_mm512_ternarylogic_epi32::<0xd8>(_mm512_castps_si512(self.0), _mm512_castps_si512(o.0), sign)))
    };
    /// For each element the number of a table at its low five bits, counted from bit `SHIFT`.
    looked_up_32(self, table: &[f32; 32]) -> Sixteen = {
        let (low, high) = (_mm512_loadu_ps(table.as_ptr()), _mm512_loadu_ps(table.as_ptr().add(16)));
        Sixteen(_mm512_permutex2var_ps(low, _mm512_castps_si512(self.0), high))
    };
    /// The same of a table of sixteen and four bits.
    looked_up_16(self, table: &[f32; 16]) -> Sixteen =
        Sixteen(_mm512_permutexvar_ps(_mm512_castps_si512(self.0), _mm512_loadu_ps(table.as_ptr())));
    /// The first five bits of the mantissa, lowest.
    leading_bits(self) -> Sixteen = Sixteen(_mm512_castsi512_ps(_mm512_srli_epi32::<18>(_mm512_castps_si512(self.0))));
    floor(self) -> Sixteen = Sixteen(_mm512_roundscale_ps::<1>(self.0));
    round(self) -> Sixteen = Sixteen(_mm512_roundscale_ps::<0>(self.0));
    ceil(self) -> Sixteen = Sixteen(_mm512_roundscale_ps::<2>(self.0));
    trunc(self) -> Sixteen = Sixteen(_mm512_roundscale_ps::<3>(self.0));
}

impl Sixteen {
    /// Sixteen times the same number.
    #[inline(always)]
    pub(crate) fn lit(v: f32) -> Sixteen {
        // SAFETY: see the invariant of the module.
        Sixteen(unsafe { _mm512_set1_ps(v) })
    }

    /// The first of `count` numbers, up to sixteen, and zeros.
    ///
    /// # Safety
    /// There are so many numbers, and the CPU has AVX-512.
    #[inline(always)]
    pub(crate) unsafe fn load(from: *const f32, count: usize) -> Sixteen {
        // Not always by a mask: in stores it costs a seventh of a short function.
        // SAFETY: the caller's contract; what the mask leaves out is not read.
        Sixteen(unsafe {
            if count >= 16 {
                _mm512_loadu_ps(from)
            } else {
                _mm512_maskz_loadu_ps(mask(count), from)
            }
        })
    }

    /// Writes the first `count` numbers, up to sixteen.
    ///
    /// # Safety
    /// There is room for so many.
    #[inline(always)]
    pub(crate) unsafe fn store(self, to: *mut f32, count: usize) {
        // SAFETY: the caller's contract; what the mask leaves out is not written.
        unsafe {
            if count >= 16 {
                _mm512_storeu_ps(to, self.0);
            } else {
                _mm512_mask_storeu_ps(to, mask(count), self.0);
            }
        }
    }

    /// The larger; NaN where either is.
    #[inline(always)]
    pub(crate) fn max(self, o: Sixteen) -> Sixteen {
        self.where_(o.le(self) | !self.eq(self), o)
    }

    /// The smaller; NaN where either is.
    #[inline(always)]
    pub(crate) fn min(self, o: Sixteen) -> Sixteen {
        self.where_(self.le(o) | !self.eq(self), o)
    }

    /// A function of one number, applied to each.
    #[inline(always)]
    pub(crate) fn each(self, f: impl Fn(f32) -> f32) -> Sixteen {
        self.each2(self, |a, _| f(a))
    }

    /// A function of two numbers, applied to each pair.
    #[inline(always)]
    pub(crate) fn each2(self, o: Sixteen, f: impl Fn(f32, f32) -> f32) -> Sixteen {
        // SAFETY: a register is sixteen numbers.
        let (mut a, b): ([f32; 16], [f32; 16]) =
            unsafe { (std::mem::transmute(self.0), std::mem::transmute(o.0)) };
        let mut i = 0;
        while i < 16 {
            a[i] = f(a[i], b[i]);
            i += 1;
        }
        // SAFETY: as above.
        Sixteen(unsafe { std::mem::transmute::<[f32; 16], __m512>(a) })
    }

    /// The polynomial with these coefficients, lowest first.
    #[inline(always)]
    pub(crate) fn polynomial<const N: usize>(self, c: &[f32; N]) -> Sixteen {
        let mut sum = Sixteen::lit(c[N - 1]);
        let mut k = N - 1;
        while k > 0 {
            k -= 1;
            sum = sum.fma(self, Sixteen::lit(c[k]));
        }
        sum
    }

    /// The same as a sum of its even and its odd powers, which are found side by side.
    #[inline(always)]
    pub(crate) fn halved_polynomial<const N: usize>(self, c: &[f32; N]) -> Sixteen {
        let square = self * self;
        let (mut first, mut second) = (Sixteen::lit(c[N - 1]), Sixteen::lit(c[N - 2]));
        let mut k = N - 2;
        while k > 0 {
            k -= 1;
            (first, second) = (second, first.fma(square, Sixteen::lit(c[k])));
        }
        first.fma(self, second)
    }
}

/// The mask of the first `count` of sixteen, fewer than all.
#[inline(always)]
fn mask(count: usize) -> u16 {
    (1 << count) - 1
}

macro_rules! operators {
    ($($op:ident $f:ident $instruction:ident),*) => {$(
        impl $op for Sixteen {
            type Output = Self;
            #[inline(always)]
            fn $f(self, o: Self) -> Self {
                // SAFETY: there is a `Sixteen`, so the CPU has AVX-512.
                Sixteen(unsafe { $instruction(self.0, o.0) })
            }
        }
        impl $op<f64> for Sixteen {
            type Output = Self;
            #[inline(always)]
            fn $f(self, o: f64) -> Self {
                $op::$f(self, Sixteen::lit(o as f32))
            }
        }
        impl $op<Sixteen> for f64 {
            type Output = Sixteen;
            #[inline(always)]
            fn $f(self, o: Sixteen) -> Sixteen {
                $op::$f(Sixteen::lit(self as f32), o)
            }
        }
    )*};
}
operators!(Add add _mm512_add_ps, Sub sub _mm512_sub_ps, Mul mul _mm512_mul_ps, Div div _mm512_div_ps);

impl Neg for Sixteen {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        // SAFETY: there is a `Sixteen`, so the CPU has AVX-512.
        Sixteen(unsafe { _mm512_xor_ps(self.0, _mm512_set1_ps(-0.0)) })
    }
}
