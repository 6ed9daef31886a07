//! Exponentials: as `math::exp`, with the power of two in one instruction that rounds once. The bits are the same.

use super::Sixteen;
use crate::kernels::math::basic::round32::MAGIC;
use crate::kernels::math::exp::w32::{LN2, POLY};
use crate::kernels::math::{basic::round64, exp::w64};
use std::arch::x86_64::*;
use std::f32::consts::LOG2_E;

/// Below, `e^x` rounds to zero, which is not computed: underflow is a hundred times slower.
const VANISHED: f32 = -103.98;

impl Sixteen {
    /// The integer `k` and the rest `r` with `self = k ln(2) + r`.
    #[inline(always)]
    pub(super) fn without_twos(self) -> (Sixteen, Sixteen) {
        let k = self.fma(Sixteen::lit(LOG2_E), Sixteen::lit(MAGIC)) - Sixteen::lit(MAGIC);
        let r = k.taken(Sixteen::lit(LN2.0), self);
        (k, k.taken(Sixteen::lit(LN2.1), r))
    }

    /// `e^self` for a reduced argument.
    #[inline(always)]
    pub(super) fn reduced_exp(self) -> Sixteen {
        let one = Sixteen::lit(1.0);
        self.polynomial(&POLY).fma(self, one).fma(self, one)
    }

    #[inline(always)]
    pub(crate) fn exp(self) -> Sixteen {
        let (k, r) = self.at_most(91.0).without_twos();
        r.reduced_exp().scaled_where(self.nlt(Sixteen::lit(VANISHED)), k)
    }

    #[inline(always)]
    pub(crate) fn sigmoid(self) -> Sixteen {
        let (one, e) = (Sixteen::lit(1.0), (-self.abs()).exp());
        one.where_(Sixteen::lit(0.0).le(self), e) / (one + e)
    }
}

/// `e^x` of the first eight of `n` float64, or of all: the bits of `math::exp`.
///
/// # Safety
/// `n > 0` numbers are readable, and so many are writable at `out`; the CPU has AVX-512.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
#[inline]
pub(crate) unsafe fn exp_of_eight(x: *const f64, out: *mut f64, n: usize) {
    let mask = if n < 8 { (1u8 << n) - 1 } else { u8::MAX };
    let (one, magic) = (_mm512_set1_pd(1.0), _mm512_set1_pd(round64::MAGIC));
    // SAFETY: the caller's contract; what the mask leaves out is not touched.
    let x = unsafe { _mm512_maskz_loadu_pd(mask, x) };
    // The second operand is the result where one is NaN.
    let x = _mm512_max_pd(_mm512_set1_pd(-746.0), _mm512_min_pd(_mm512_set1_pd(712.0), x));
    let k = _mm512_fmadd_pd(x, _mm512_set1_pd(std::f64::consts::LOG2_E), magic);
    let k = _mm512_sub_pd(k, magic);
    let r = _mm512_fnmadd_pd(k, _mm512_set1_pd(w64::LN2.0), x);
    let r = _mm512_fnmadd_pd(k, _mm512_set1_pd(w64::LN2.1), r);
    let mut at = w64::POLY.len() - 1;
    let mut sum = _mm512_set1_pd(w64::POLY[at]);
    while at > 0 {
        at -= 1;
        sum = _mm512_fmadd_pd(sum, r, _mm512_set1_pd(w64::POLY[at]));
    }
    let power = _mm512_add_pd(one, _mm512_fmadd_pd(_mm512_mul_pd(r, r), sum, r));
    let lives = _mm512_cmp_pd_mask::<_CMP_NLE_UQ>(k, _mm512_set1_pd(-1076.0));
    // SAFETY: as above.
    unsafe { _mm512_mask_storeu_pd(out, mask, _mm512_maskz_scalef_pd(lives, power, k)) };
}
