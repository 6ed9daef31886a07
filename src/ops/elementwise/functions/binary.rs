//! Functions of two numbers: `heaviside`, logarithms of sums of exponentials, and `xlogy`.

elementwise! { family "extremes" [in_place];
    /// 0 below zero, `b` at zero, 1 above; NaN for NaN. Derivatives: zero by `a`; `g` by `b` where `a` is 0.
    [numpy("heaviside")]
    fn heaviside(a, b) = HEAVISIDE {
        forward { float: |a, b| R::select(a.eq(R::lit(0.0)), b, R::select(a.gt(R::lit(0.0)), R::lit(1.0), R::select(a.is_nan(), a, R::lit(0.0)))); cost: 0.3; }
        by a { zero }
        by b { float |g, a| R::select(a.eq(R::lit(0.0)), g, R::lit(0.0)) }
    }
    /// `ln(e^a + e^b)` without overflow. Derivatives: `g sigmoid(a - b)` and `g sigmoid(b - a)`.
    [numpy("logaddexp")]
    fn logaddexp(a, b) = LOGADDEXP {
        forward { float: |a, b| a.logaddexp(b); cost: 2.0; }
        by a { float |g, a, b| g * a.gap(b).sigmoid() }
        by b { float |g, a, b| g * b.gap(a).sigmoid() }
    }
    /// `log2(2^a + 2^b)` without overflow. Derivatives: `g 2^(a - y)` and `g 2^(b - y)`.
    [numpy("logaddexp2")]
    fn logaddexp2(a, b) = LOGADDEXP2 {
        forward { float: |a, b| a.max(b) + (-a.gap(b).abs()).exp2().log1p() * std::f64::consts::LOG2_E; cost: 2.0; }
        by a { float |g, a, b| g * (a.gap(b) * std::f64::consts::LN_2).sigmoid() }
        by b { float |g, a, b| g * (b.gap(a) * std::f64::consts::LN_2).sigmoid() }
    }
    /// `a ln b`, and 0 where `a` is 0 unless `b` is NaN. Derivatives: `g ln b` and `g a / b`, zero where `a` is 0 and `b` leaves the domain.
    [numpy("scipy.special.xlogy")]
    fn xlogy(a, b) = XLOGY {
        forward { float: |a, b| R::select(R::mask_and(a.eq(R::lit(0.0)), b.eq(b)), R::lit(0.0), a * b.ln()); cost: 1.2; }
        by a { float |g, a, b| {
            let none = R::mask_and(a.eq(R::lit(0.0)), b.le(R::lit(0.0)));
            R::select(none, R::lit(0.0), g * R::select(none, R::lit(1.0), b).ln())
        } }
        by b { float |g, a, b| {
            let none = R::mask_and(a.eq(R::lit(0.0)), b.le(R::lit(0.0)));
            R::select(none, R::lit(0.0), g * (a / R::select(none, R::lit(1.0), b)))
        } }
    }
}
