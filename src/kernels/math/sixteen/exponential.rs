//! Exponentials: as `math::exp`, with the power of two in one instruction that rounds once. The bits are the same.

use super::Sixteen;
use crate::kernels::math::basic::round32::MAGIC;
use crate::kernels::math::exp::w32::{LN2, POLY};
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
