//! Activation functions: formula and derivative side by side.
elementwise! { family "activation" [in_place];
    /// Rectified linear unit, `max(x, 0)`. Derivative: `g` where `x > 0`, 0 elsewhere and at 0.
    fn relu(x) = RELU {
        forward { float: |x| R::select(x.lt(R::lit(0.0)), R::lit(0.0), x); cost: 0.3; }
        by x { float |g, y| R::select(y.gt(R::lit(0.0)), g, R::lit(0.0)) }
    }
    /// `min(max(x, 0), 6)`. Derivative: `g` between 0 and 6, 0 elsewhere and at both ends.
    fn relu6(x) = RELU6 {
        forward { float [memory_bound]: |x| {
            let raised = R::select(x.lt(R::lit(0.0)), R::lit(0.0), x);
            R::select(raised.gt(R::lit(6.0)), R::lit(6.0), raised)
        }; cost: 0.3; }
        by x { float [memory_bound] |g, x| R::select(R::mask_and(x.gt(R::lit(0.0)), x.lt(R::lit(6.0))), g, R::lit(0.0)) }
    }
    /// `x` above zero, `slope x` below. Derivative: `g` above zero, `slope g` elsewhere.
    fn leaky_relu(x; negative_slope = 0.01) = LEAKY_RELU {
        forward { float [memory_bound]: |x; slope| R::select(x.gt(R::lit(0.0)), x, x * slope); cost: 0.3; }
        by x { float [memory_bound] |g, x; slope| R::select(x.gt(R::lit(0.0)), g, g * slope) }
    }
    /// `x` above zero, `alpha (e^x - 1)` below. Derivative: `g`, and `g alpha e^x` below.
    fn elu(x; alpha = 1.0) = ELU {
        forward { float: |x; alpha| R::select(x.gt(R::lit(0.0)), x, alpha * x.min(R::lit(0.0)).expm1()); cost: 1.0; }
        by x { float |g, x; alpha| R::select(x.gt(R::lit(0.0)), g, g * alpha * x.min(R::lit(0.0)).exp()) }
    }
    /// Logistic function, `1 / (1 + e^-x)`. Derivative: `g y (1 - y)`.
    [numpy("scipy.special.expit"), aliases("expit")]
    fn sigmoid(x) = SIGMOID {
        forward { complex [exponential]: |x| x.sigmoid(); cost: 0.9; }
        by x { complex [ring] |g, y| g * (y * (1.0 - y)) }
    }
    /// Logarithm of the logistic function. Derivative: `g sigmoid(-x)`.
    [numpy("scipy.special.log_expit")]
    fn logsigmoid(x) = LOGSIGMOID {
        forward { float: |x| -((-x.abs()).exp().log1p() - x.min(R::lit(0.0))); cost: 1.6; }
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
    /// Scaled elu, self-normalising: `scale elu(x, alpha)` with its two fixed constants. Derivative: `g scale`, and `g scale alpha e^x` below zero.
    fn selu(x) = SELU {
        forward { float: |x| R::select(x.gt(R::lit(0.0)), x * 1.0507009873554805, x.min(R::lit(0.0)).expm1() * 1.7580993408473766); cost: 1.0; }
        by x { float |g, x| R::select(x.gt(R::lit(0.0)), g * 1.0507009873554805, g * x.min(R::lit(0.0)).exp() * 1.7580993408473766) }
    }
    /// Elu with a continuous slope: `alpha (e^(x / alpha) - 1)` below zero. Derivative: `g`, and `g e^(x / alpha)` below.
    fn celu(x; alpha = 1.0) = CELU {
        forward { float: |x; alpha| R::select(x.gt(R::lit(0.0)), x, alpha * (x.min(R::lit(0.0)) / alpha).expm1()); cost: 1.1; }
        by x { float |g, x; alpha| R::select(x.gt(R::lit(0.0)), g, g * (x.min(R::lit(0.0)) / alpha).exp()) }
    }
    /// `x tanh(softplus(x))`. Derivative: `g (t + x s (1 - t²))` with `s = sigmoid(x)` and `t = tanh(softplus(x))`.
    fn mish(x) = MISH {
        forward { float: |x| { let q = (-x).sigmoid(); x * (x.sigmoid() * (1.0 + q) / (1.0 + q * q)) }; cost: 2.2; }
        by x { float |g, x| {
            // tanh(softplus(x)) as a rational function of sigmoids, smooth at 0 for derivatives of every order.
            let (s, q) = (x.sigmoid(), (-x).sigmoid());
            let norm = 1.0 + q * q;
            g * (s * (1.0 + q) / norm + x * s * (q * q * 4.0 / (norm * norm)))
        } }
    }
    /// The inverse of `sigmoid`, `ln(x / (1 - x))`; NaN outside 0..1. Derivative: `g / (x (1 - x))`.
    [numpy("scipy.special.logit"), core_function("_logit"), no_method]
    fn logit(x) = LOGIT {
        forward { float: |x| x.logit(); cost: 1.7; }
        by x { float |g, x| g / (x * (1.0 - x)) }
    }
    /// Limited to the range `min_val..max_val`. Derivative: `g` strictly inside, 0 elsewhere.
    fn hardtanh(x; min_val = -1.0, max_val = 1.0) = HARDTANH {
        operand_check crate::ops::elementwise::functions::thresholds::in_order;
        forward { float [memory_bound]: |x; low, high| {
            let raised = R::select(x.lt(low), low, x);
            R::select(raised.gt(high), high, raised)
        }; cost: 0.3; }
        by x { float [memory_bound] |g, x; low, high| R::select(R::mask_and(x.gt(low), x.lt(high)), g, R::lit(0.0)) }
    }
    /// The straight line `x / 6 + 1/2`, limited to 0..1. Derivative: `g / 6` strictly inside, 0 elsewhere.
    fn hardsigmoid(x) = HARDSIGMOID {
        forward { float [memory_bound]: |x| ((x + 3.0).max(R::lit(0.0)).min(R::lit(6.0))) / 6.0; cost: 0.5; }
        by x { float [memory_bound] |g, x| R::select(R::mask_and(x.gt(R::lit(-3.0)), x.lt(R::lit(3.0))), g / 6.0, R::lit(0.0)) }
    }
    /// `x hardsigmoid(x)`. Derivative: `g (x / 3 + 1/2)` between -3 and 3, `g` above, 0 below.
    fn hardswish(x) = HARDSWISH {
        forward { float [memory_bound]: |x| R::select(x.le(R::lit(-3.0)), R::lit(0.0), x * (x + 3.0).min(R::lit(6.0)) / 6.0); cost: 0.6; }
        by x { float [memory_bound] |g, x| R::select(x.ge(R::lit(3.0)), g, R::select(x.le(R::lit(-3.0)), R::lit(0.0), g * (x / 3.0 + 0.5))) }
    }
}
