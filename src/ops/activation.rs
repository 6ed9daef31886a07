//! Activation functions: declarations, formula and derivative side by side.
elementwise! { family "activation";
    /// Rectified linear unit, `max(x, 0)`. Derivative: `g` where `x > 0`, 0 elsewhere and at 0.
    fn relu(x) = RELU {
        forward { float: |x| R::select(x.lt(R::lit(0.0)), R::lit(0.0), x); cost: 0.3; }
        by x { float |g, y| R::select(y.gt(R::lit(0.0)), g, R::lit(0.0)) }
    }
    /// `min(max(x, 0), 6)`. Derivative: `g` between 0 and 6, 0 elsewhere and at both ends.
    fn relu6(x) = RELU6 {
        forward { float: |x| x.max(R::lit(0.0)).min(R::lit(6.0)); cost: 0.3; }
        by x { float |g, x| R::select(R::mask_and(x.gt(R::lit(0.0)), x.lt(R::lit(6.0))), g, R::lit(0.0)) }
    }
    /// `x` above zero, `slope x` below. Derivative: `g` above zero, `slope g` elsewhere.
    fn leaky_relu(x; negative_slope = 0.01) = LEAKY_RELU {
        forward { float: |x; slope| R::select(x.gt(R::lit(0.0)), x, x * slope); cost: 0.3; }
        by x { float |g, x; slope| R::select(x.gt(R::lit(0.0)), g, g * slope) }
    }
    /// `x` above zero, `alpha (e^x - 1)` below. Derivative: `g`, and `g alpha e^x` below.
    fn elu(x; alpha = 1.0) = ELU {
        forward { float: |x; alpha| R::select(x.gt(R::lit(0.0)), x, alpha * x.min(R::lit(0.0)).expm1()); cost: 1.0; }
        by x { float |g, x; alpha| R::select(x.gt(R::lit(0.0)), g, g * alpha * x.min(R::lit(0.0)).exp()) }
    }
    /// Logistic function, `1 / (1 + e^-x)`. Derivative: `g y (1 - y)`.
    [numpy("scipy.special.expit"), aliases("expit")]
    fn sigmoid(x) = SIGMOID {
        forward { float: |x| x.sigmoid(); cost: 0.9; }
        by x { float |g, y| g * (y * (1.0 - y)) }
    }
    /// Logarithm of the logistic function. Derivative: `g sigmoid(-x)`.
    [numpy("scipy.special.log_expit")]
    fn logsigmoid(x) = LOGSIGMOID {
        forward { float: |x| x.min(R::lit(0.0)) - (-x.abs()).exp().log1p(); cost: 1.6; }
        by x { float |g, x| g * (-x).sigmoid() }
    }
    /// `ln(1 + e^x)`. Derivative: `g sigmoid(x)`.
    fn softplus(x) = SOFTPLUS {
        forward { float: |x| x.max(R::lit(0.0)) + (-x.abs()).exp().log1p(); cost: 1.6; }
        by x { float |g, x| g * x.sigmoid() }
    }
    /// `x / (1 + |x|)`. Derivative: `g / (1 + |x|)²`.
    fn softsign(x) = SOFTSIGN {
        forward { float: |x| x / (1.0 + x.abs()); cost: 0.6; }
        by x { float |g, x| g / (1.0 + x.abs()).square() }
    }
    /// `x sigmoid(x)`. Derivative: `g s (1 + x (1 - s))` with `s = sigmoid(x)`.
    [aliases("swish")]
    fn silu(x) = SILU {
        forward { float: |x| x * x.sigmoid(); cost: 1.0; }
        by x { float |g, x| { let s = x.sigmoid(); g * (s * (1.0 + x * (1.0 - s))) } }
    }
}
