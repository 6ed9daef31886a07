//! The cube root: a cubic for `m^(-1/3)` with `m` in `[1, 2)`, moved to the exponent's rest by a table and refined without a
//! division.

use super::Sixteen;
use crate::kernels::math::basic::round32::MAGIC;

/// `m^(-1/3)` to 2^-11.
const INVERSE: [f32; 4] = [1.5418855, -0.809957, 0.3177548, -0.04993637];
/// `2^i` and `2^(-i/3)` for `i` = 0, 1 and, at 15, -1.
const TWO: [f32; 16] = at(1.0, 2.0, 0.5);
const ROOT: [f32; 16] = at(1.0, 0.793_700_5, 1.259_921);

const fn at(zero: f32, one: f32, below: f32) -> [f32; 16] {
    let mut table = [0.0; 16];
    (table[0], table[1], table[15]) = (zero, one, below);
    table
}

impl Sixteen {
    #[inline(always)]
    pub(crate) fn cbrt(self) -> Sixteen {
        let (k, m) = (self.exponent(), self.mantissa_from_one());
        let magic = Sixteen::lit(MAGIC);
        let third = k.fma(Sixteen::lit(1.0 / 3.0), magic) - magic;
        let rest = third.taken(Sixteen::lit(3.0), k) + magic;
        let y = m.polynomial(&INVERSE) * rest.looked_up_16(&ROOT);
        let m = m * rest.looked_up_16(&TWO);
        let c = m * (y * y);
        let e = c.taken(y, Sixteen::lit(1.0));
        let c = (c * e).fma(e.fma(Sixteen::lit(5.0 / 9.0), Sixteen::lit(2.0 / 3.0)), c);
        let value = c.scaled(third).copysign(self);
        value.where_(k.abs().lt(Sixteen::lit(f32::INFINITY)), self)
    }
}
