//! Hyperbolic functions: `x = k ln(2) + r`, and sums of those of `k ln(2)`, which are powers of two, times those of `r`,
//! which are short polynomials; nothing is divided.

use super::Sixteen;

/// `(cosh(r) - 1) / r²` and `(sinh(r) - r) / r³` in `r²`.
const COSH: [f32; 3] = [0.5, 0.04166646, 0.0013935426];
const SINH: [f32; 3] = [0.16666667, 0.008333175, 0.00019974104];

/// Half of `sinh` and `cosh` of `k ln(2)`, and `sinh(r)` and `cosh(r) - 1` of the rest.
struct Parts {
    sinh: Sixteen,
    bend: Sixteen,
    half_sinh: Sixteen,
    half_cosh: Sixteen,
}

impl Sixteen {
    #[inline(always)]
    fn parts(self) -> Parts {
        // Beyond the limits the results are infinite, and nothing before is.
        let (k, r) = self.at_most(89.5).at_least(-89.5).without_twos();
        let z = r * r;
        let quarter = Sixteen::lit(0.25);
        let (up, down) = (quarter.scaled(k), quarter.scaled(-k));
        Parts {
            sinh: (r * z).fma(z.polynomial(&SINH), r),
            bend: z * z.polynomial(&COSH),
            half_sinh: up - down,
            half_cosh: up + down,
        }
    }

    #[inline(always)]
    pub(crate) fn sinh(self) -> Sixteen {
        let Parts { sinh, bend, half_sinh, half_cosh } = self.parts();
        let half = half_sinh + half_cosh.fma(sinh, half_sinh * bend);
        // Half of a small number may be none.
        self.where_(self.abs().lt(Sixteen::lit(1.0 / 4096.0)), half + half)
    }

    #[inline(always)]
    pub(crate) fn cosh(self) -> Sixteen {
        let Parts { sinh, bend, half_sinh, half_cosh } = self.parts();
        let half = half_cosh + half_sinh.fma(sinh, half_cosh * bend);
        half + half
    }
}
