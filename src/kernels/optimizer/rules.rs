//! The update rules of optimisers, one row of a table each: the numbers of a step from options and counts,
//! and the update of one element.
//!
//! Invariant: an element update has no branch, only selections, and no product is contracted into a sum, so
//! that a SIMD lane computes the bits of a single element.

use crate::kernels::number::real::Real;

/// The most states per element of a rule.
pub(super) const MAX_STATES: usize = 3;
/// The most counts that parameters share.
pub(super) const MAX_COUNTS: usize = 3;
/// The most options of a rule, and the most numbers of a step.
pub const MAX_NUMBERS: usize = 8;

/// The numbers of a step, zero-padded.
fn padded<const N: usize>(given: [f64; N]) -> [f64; MAX_NUMBERS] {
    let mut all = [0.0; MAX_NUMBERS];
    all[..N].copy_from_slice(&given);
    all
}

/// `a` moved towards `b`: linear interpolation.
#[inline(always)]
fn lerp<R: Real>(a: R, b: R, weight: R) -> R {
    a + weight * (b - a)
}

/// The element update of a rule.
pub(super) trait ElementUpdate {
    /// The number of states per element.
    const STATES: usize;
    /// Updates an element of a parameter and its states by the gradient.
    fn step<R: Real>(numbers: &[R; MAX_NUMBERS], p: &mut R, g: R, states: &mut [R; MAX_STATES]);
}

/// Declares `UpdateRule` and an `ElementUpdate` for each: states, counts and options; the numbers of a step, which
/// may advance the counts; and the update, which changes `*p` and the states.
macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident $name:literal [$($s:ident),*] [$($c:ident),*] ($($o:ident),*)
        $numbers:block as ($($n:ident),*) |$R:ident, $p:ident, $g:ident| $text:block)*) => {
        /// An update rule.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum UpdateRule { $($(#[$doc])* $rule),* }

        impl UpdateRule {
            /// The rule of a name.
            pub fn named(name: &str) -> Option<UpdateRule> {
                match name { $($name => Some(UpdateRule::$rule),)* _ => None }
            }

            /// The number of states per element.
            pub fn states(self) -> usize {
                match self { $(UpdateRule::$rule => $rule::STATES),* }
            }

            /// The number of counts that the parameters share.
            pub fn counts(self) -> usize {
                match self { $(UpdateRule::$rule => { const NAMES: &[&str] = &[$(stringify!($c)),*]; NAMES.len() }),* }
            }

            /// The number of options.
            pub fn options(self) -> usize {
                match self { $(UpdateRule::$rule => { const NAMES: &[&str] = &[$(stringify!($o)),*]; NAMES.len() }),* }
            }

            /// The numbers of a step; advances the counts.
            pub(super) fn numbers(
                self,
                options: &[f64; MAX_NUMBERS],
                counts: &mut [f64; MAX_COUNTS],
            ) -> [f64; MAX_NUMBERS] {
                match self { $(UpdateRule::$rule => {
                    let [$($o,)* ..] = *options;
                    let [$($c,)* ..] = counts;
                    padded($numbers)
                }),* }
            }
        }

        $(pub(super) struct $rule;

        impl ElementUpdate for $rule {
            const STATES: usize = { const NAMES: &[&str] = &[$(stringify!($s)),*]; NAMES.len() };

            #[inline(always)]
            fn step<$R: Real>(
                numbers: &[$R; MAX_NUMBERS],
                $p: &mut $R,
                $g: $R,
                states: &mut [$R; MAX_STATES],
            ) {
                let [$($n,)* ..] = *numbers;
                let [$($s,)* ..] = states;
                $text
            }
        })*

        /// Runs `$body` with `$Update` bound to the element update of a rule.
        macro_rules! with_rule {
            ($chosen:expr, $Update:ident => $body:expr) => {
                match $chosen {
                    $(UpdateRule::$rule => { type $Update = $crate::kernels::optimizer::rules::$rule; $body })*
                }
            };
        }
        pub(super) use with_rule;
    };
}

/// Advances the step; the bias-corrected rate of Adam, and the scale of √v.
fn bias_correction(lr: f64, beta1: f64, beta2: f64, step: &mut f64) -> (f64, f64) {
    *step += 1.0;
    (lr / (1.0 - beta1.powf(*step)), 1.0 / (1.0 - beta2.powf(*step)).sqrt())
}

/// The rectification of RAdam: the paper's if the variance is tractable, else -1.
fn rectification(beta2: f64, step: f64) -> f64 {
    let correction = 1.0 - beta2.powf(step);
    let limit = 2.0 / (1.0 - beta2) - 1.0;
    let rho = limit - 2.0 * step * beta2.powf(step) / correction;
    if rho <= 5.0 {
        return -1.0;
    }
    let squared = (rho - 4.0) * (rho - 2.0) * limit / ((limit - 4.0) * (limit - 2.0) * rho);
    squared.sqrt() * correction.sqrt()
}

rules! {
    /// Gradient descent.
    Plain "plain" [] [] (lr) { [lr] } as (lr) |R, p, g| {
        *p = *p - lr * g;
    }
    /// With momentum.
    Sgd "sgd" [v] [] (lr, momentum, keep) { [lr, momentum, keep] } as (lr, momentum, keep) |R, p, g| {
        *v = momentum * *v + keep * g;
        *p = *p - lr * *v;
    }
    /// With Nesterov's momentum.
    Nesterov "nesterov" [v] [] (lr, momentum, keep) { [lr, momentum, keep] } as (lr, momentum, keep) |R, p, g| {
        *v = momentum * *v + keep * g;
        *p = *p - lr * (g + momentum * *v);
    }
    /// Adam and AdamW; `decay` is the decoupled weight decay.
    Adam "adam" [m, v] [step] (lr, beta1, beta2, eps, decay) {
        let (rate, scale) = bias_correction(lr, beta1, beta2, step);
        [1.0 - lr * decay, 1.0 - beta1, beta2, 1.0 - beta2, rate, scale, eps]
    } as (shrink, share1, beta2, share2, rate, scale, eps) |R, p, g| {
        *m = lerp(*m, g, share1);
        *v = beta2 * *v + share2 * g * g;
        *p = *p * shrink - rate * *m / (v.sqrt() * scale + eps);
    }
    /// The same with the largest v so far.
    Amsgrad "amsgrad" [m, v, most] [step] (lr, beta1, beta2, eps, decay) {
        let (rate, scale) = bias_correction(lr, beta1, beta2, step);
        [1.0 - lr * decay, 1.0 - beta1, beta2, 1.0 - beta2, rate, scale, eps]
    } as (shrink, share1, beta2, share2, rate, scale, eps) |R, p, g| {
        *m = lerp(*m, g, share1);
        *v = beta2 * *v + share2 * g * g;
        *most = most.max(*v);
        *p = *p * shrink - rate * *m / (most.sqrt() * scale + eps);
    }
    /// Adam with Nesterov's momentum.
    Nadam "nadam" [m, v] [step, product] (lr, beta1, beta2, eps, decay, momentum_decay) {
        *step += 1.0;
        let mu = |step: f64| beta1 * (1.0 - 0.5 * 0.96_f64.powf(step * momentum_decay));
        let (mu, following) = (mu(*step), mu(*step + 1.0));
        *product *= mu;
        let now = lr * (1.0 - mu) / (1.0 - *product);
        let after = lr * following / (1.0 - *product * following);
        let correction = 1.0 - beta2.powf(*step);
        [1.0 - lr * decay, 1.0 - beta1, beta2, 1.0 - beta2, now, after, correction, eps]
    } as (shrink, share1, beta2, share2, now, after, correction, eps) |R, p, g| {
        *m = lerp(*m, g, share1);
        *v = beta2 * *v + share2 * g * g;
        let below = (*v / correction).sqrt() + eps;
        *p = *p * shrink - now * g / below - after * *m / below;
    }
    /// Adam with a rectified rate, or without v if that is negative.
    Radam "radam" [m, v] [step] (lr, beta1, beta2, eps, decay) {
        *step += 1.0;
        let rate = lr / (1.0 - beta1.powf(*step));
        [1.0 - lr * decay, 1.0 - beta1, beta2, 1.0 - beta2, rate, rectification(beta2, *step), eps]
    } as (shrink, share1, beta2, share2, rate, rectified, eps) |R, p, g| {
        *m = lerp(*m, g, share1);
        *v = beta2 * *v + share2 * g * g;
        let adapted = rectified / (v.sqrt() + eps);
        let factor = R::select(rectified.ge(R::lit(0.0)), adapted, R::lit(1.0));
        *p = *p * shrink - rate * *m * factor;
    }
    /// Adam with the infinity norm.
    Adamax "adamax" [m, u] [step] (lr, beta1, beta2, eps) {
        *step += 1.0;
        [1.0 - beta1, beta2, lr / (1.0 - beta1.powf(*step)), eps]
    } as (share1, beta2, rate, eps) |R, p, g| {
        *m = lerp(*m, g, share1);
        *u = (beta2 * *u).max(g.abs() + eps);
        *p = *p - rate * *m / *u;
    }
    /// Adagrad.
    Adagrad "adagrad" [total] [step] (lr, lr_decay, eps) {
        let rate = lr / (1.0 + *step * lr_decay);
        *step += 1.0;
        [rate, eps]
    } as (rate, eps) |R, p, g| {
        *total = *total + g * g;
        *p = *p - rate * g / (total.sqrt() + eps);
    }
    /// Adadelta.
    Adadelta "adadelta" [v, moved] [step] (lr, rho, eps) {
        *step += 1.0;
        [lr, rho, 1.0 - rho, eps]
    } as (lr, rho, share, eps) |R, p, g| {
        *v = rho * *v + share * g * g;
        let d = (*moved + eps).sqrt() / (*v + eps).sqrt() * g;
        *moved = rho * *moved + share * d * d;
        *p = *p - lr * d;
    }
    /// RMSprop.
    Rmsprop "rmsprop" [v] [step] (lr, alpha, eps, momentum) {
        *step += 1.0;
        let _ = momentum;
        [lr, alpha, 1.0 - alpha, eps]
    } as (lr, alpha, share, eps) |R, p, g| {
        *v = alpha * *v + share * g * g;
        *p = *p - lr * (g / (v.sqrt() + eps));
    }
    /// With momentum.
    RmspropMomentum "rmsprop_momentum" [v, b] [step] (lr, alpha, eps, momentum) {
        *step += 1.0;
        [lr, alpha, 1.0 - alpha, eps, momentum]
    } as (lr, alpha, share, eps, momentum) |R, p, g| {
        *v = alpha * *v + share * g * g;
        *b = momentum * *b + g / (v.sqrt() + eps);
        *p = *p - lr * *b;
    }
    /// Centered.
    RmspropCentered "rmsprop_centered" [v, c] [step] (lr, alpha, eps, momentum) {
        *step += 1.0;
        let _ = momentum;
        [lr, alpha, 1.0 - alpha, eps]
    } as (lr, alpha, share, eps) |R, p, g| {
        *v = alpha * *v + share * g * g;
        *c = lerp(*c, g, share);
        *p = *p - lr * (g / ((*v - *c * *c).sqrt() + eps));
    }
    /// Centered, with momentum.
    RmspropBoth "rmsprop_centered_momentum" [v, b, c] [step] (lr, alpha, eps, momentum) {
        *step += 1.0;
        [lr, alpha, 1.0 - alpha, eps, momentum]
    } as (lr, alpha, share, eps, momentum) |R, p, g| {
        *v = alpha * *v + share * g * g;
        *c = lerp(*c, g, share);
        *b = momentum * *b + g / ((*v - *c * *c).sqrt() + eps);
        *p = *p - lr * *b;
    }
    /// Averaged gradient descent; with a weight of 1 the mean is the parameter.
    Asgd "asgd" [mean] [step, eta, mu] (lr, lambd, alpha, t0) {
        if *step == 0.0 {
            *eta = lr;
        }
        let numbers = [*eta, 1.0 - lambd * *eta, *mu];
        *step += 1.0;
        *eta = lr / (1.0 + lambd * lr * *step).powf(alpha);
        *mu = 1.0 / (*step - t0).max(1.0);
        numbers
    } as (eta, shrink, weight) |R, p, g| {
        *p = *p * shrink - eta * g;
        *mean = R::select(weight.eq(R::lit(1.0)), *p, lerp(*mean, *p, weight));
    }
    /// Resilient backpropagation, from gradient signs only.
    Rprop "rprop" [before, size] [step] (down, up, least, most) {
        *step += 1.0;
        [down, up, least, most]
    } as (down, up, least, most) |R, p, g| {
        let zero = R::lit(0.0);
        let agree = g * *before;
        let (same, changed) = (agree.gt(zero), agree.lt(zero));
        let factor = R::select(same, up, R::select(changed, down, R::lit(1.0)));
        *size = (*size * factor).max(least).min(most);
        *before = R::select(changed, zero, g);
        *p = *p - before.sign() * *size;
    }
}
