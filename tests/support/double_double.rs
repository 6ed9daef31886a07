//! Double-double arithmetic: the reference with about 106 bits that kernels are held to.
#![allow(dead_code)]

/// An unevaluated sum of two float64, about 106 bits.
#[derive(Clone, Copy)]
pub(crate) struct Dd(pub(crate) f64, pub(crate) f64);

impl Dd {
    pub(crate) fn sum(a: f64, b: f64) -> Dd {
        let s = a + b;
        let t = s - a;
        Dd(s, (a - (s - t)) + (b - t))
    }
    pub(crate) fn add(self, o: Dd) -> Dd {
        let Dd(s, e) = Dd::sum(self.0, o.0);
        Dd::sum(s, e + (self.1 + o.1))
    }
    pub(crate) fn neg(self) -> Dd {
        Dd(-self.0, -self.1)
    }
    pub(crate) fn mul(self, o: Dd) -> Dd {
        let p = self.0 * o.0;
        Dd::sum(p, self.0.mul_add(o.0, -p) + (self.0 * o.1 + self.1 * o.0))
    }
    pub(crate) fn div(self, o: Dd) -> Dd {
        let q = self.0 / o.0;
        let r = self.add(o.mul(Dd(q, 0.0)).neg());
        let q2 = r.0 / o.0;
        let r = r.add(o.mul(Dd(q2, 0.0)).neg());
        Dd::sum(q, q2).add(Dd(r.0 / o.0, 0.0))
    }
    pub(crate) fn scale(self, power: i32) -> Dd {
        Dd(self.0 * 2f64.powi(power), self.1 * 2f64.powi(power))
    }
    /// `sum of x^k / k!` over k = first, first + step, …, with alternating signs if asked.
    pub(crate) fn series(self, first: i32, step: i32, alternate: bool) -> Dd {
        let mut term = (1..=first).fold(Dd(1.0, 0.0), |t, k| t.mul(self).div(Dd(k as f64, 0.0)));
        let mut total = Dd(0.0, 0.0);
        let mut k = first;
        while term.0.abs() > 1e-40 {
            total = total.add(term);
            for _ in 0..step {
                k += 1;
                term = term.mul(self).div(Dd(k as f64, 0.0));
            }
            if alternate {
                term = term.neg();
            }
        }
        total
    }
    pub(crate) fn exp(self) -> Dd {
        const LN2: Dd = Dd(std::f64::consts::LN_2, 2.3190468138462996e-17);
        let k = (self.0 / LN2.0).round();
        let power = self.add(LN2.mul(Dd(k, 0.0)).neg()).series(0, 1, false);
        power.scale(k as i32 / 2).scale(k as i32 - k as i32 / 2)
    }
    pub(crate) fn ln(self) -> Dd {
        let mut y = Dd(self.0.ln(), 0.0);
        for _ in 0..2 {
            // y + x e^-y - 1
            y = y.add(self.mul(y.neg().exp())).add(Dd(-1.0, 0.0));
        }
        y
    }
    /// Sine, moved by a number of quadrants.
    pub(crate) fn sin(self, quadrants: i64) -> Dd {
        const PIO2: Dd = Dd(std::f64::consts::FRAC_PI_2, 6.123233995736766e-17);
        let k = (self.0 / PIO2.0).round();
        let rest = self.add(Dd(PIO2.0, 0.0).mul(Dd(-k, 0.0))).add(Dd(PIO2.1, 0.0).mul(Dd(-k, 0.0)));
        let rest = rest.add(Dd(1.4973849048591833e-33 * k, 0.0));
        let q = (k as i64 + quadrants).rem_euclid(4);
        let value = rest.series(i32::from(q % 2 == 0), 2, true);
        if q < 2 { value } else { value.neg() }
    }
    pub(crate) fn tanh(self) -> Dd {
        let (up, down) = (self.exp(), self.neg().exp());
        let difference =
            if self.0.abs() < 0.5 { self.series(1, 2, false).scale(1) } else { up.add(down.neg()) };
        difference.div(up.add(down))
    }
    pub(crate) fn sigmoid(self) -> Dd {
        let one = Dd(1.0, 0.0);
        one.div(one.add(self.neg().exp()))
    }
    /// By its Taylor series, whose cancellation leaves enough digits for |x| < 3.
    pub(crate) fn erf(self) -> Dd {
        const TWO_OVER_ROOT_PI: Dd =
            Dd(std::f64::consts::FRAC_2_SQRT_PI, 1.533_545_961_316_588e-17);
        let square = self.mul(self);
        let (mut power, mut total, mut k) = (self, self, 0.0);
        while power.0.abs() > 1e-40 {
            k += 1.0;
            power = power.mul(square).div(Dd(-k, 0.0));
            total = total.add(power.div(Dd(2.0 * k + 1.0, 0.0)));
        }
        total.mul(TWO_OVER_ROOT_PI)
    }
}
