//! The inverse of the error function: `x` times a polynomial in `w = -ln(1 - x²)`, or, towards the ends of
//! the domain, in `sqrt(w)`. Error: below 4 ulp.

/// Defines the inverse error function for one float width.
macro_rules! erf_inverse {
    (
        $module:ident, $t:ident, $round:ident,
        edge: $edge:literal, middle: $middle:expr, beyond: ($cut:literal, $center:literal, $outer:expr),
        end: ($last_cut:literal, $last_center:literal, $last:expr),
    ) => {
        /// The inverse error function for one float width.
        #[allow(missing_docs)]
        pub(in crate::kernels::math) mod $module {
            use crate::kernels::math::basic::$round::{fma, horner};
            use crate::kernels::math::log::$module::ln;

            const MIDDLE: [$t; $middle.len()] = $middle;
            const HALF: usize = MIDDLE.len().div_ceil(2);
            const OUTER: [$t; $outer.len()] = $outer;
            const LAST: [$t; $last.len()] = $last;

            /// Every other coefficient of the middle polynomial.
            const fn every_other(from: usize) -> [$t; HALF] {
                let (mut half, mut k) = ([0.0; HALF], 0);
                while 2 * k + from < MIDDLE.len() {
                    half[k] = MIDDLE[2 * k + from];
                    k += 1;
                }
                half
            }

            /// Whether only a `FULL_RANGE` lane has the result: few numbers are that close to an end.
            #[inline(always)]
            pub fn is_near_domain_end(x: $t) -> bool {
                x.abs() > $edge
            }

            #[inline(always)]
            pub fn erfinv<const FMA: bool, const FULL_RANGE: bool>(x: $t) -> $t {
                let w =
                    -ln::<FMA>(if FMA { fma::<FMA>(-x, x, 1.0) } else { (1.0 - x) * (1.0 + x) });
                // Two interleaved chains of products take half the time of one.
                let (v, even, odd) =
                    (w - 0.5 * $cut, &const { every_other(0) }, &const { every_other(1) });
                let q = v * v;
                let middle =
                    fma::<FMA>(horner::<FMA, HALF>(odd, q), v, horner::<FMA, HALF>(even, q));
                if !FULL_RANGE {
                    return x * middle;
                }
                let s = w.sqrt();
                let outer = horner::<FMA, _>(&OUTER, s - $center);
                let factor = if w < $cut { middle } else { outer };
                let last = horner::<FMA, _>(&LAST, s - $last_center);
                let factor = if s > $last_cut { last } else { factor };
                if x.abs() == 1.0 { x * <$t>::INFINITY } else { x * factor }
            }
        }
    };
}

erf_inverse! {
    w64, f64, round64,
    edge: 0.99903, middle: [
        1.6536545626831027, 0.2401581824255897, -0.006033670871427011, -0.0007407025341669402,
        0.0001867342080212427, -1.3882523361276876e-05, -1.3654691796592068e-06,
        4.2347877672780653e-07, -2.907038666019143e-08, -4.112633104297614e-09,
        1.0512202440121784e-09, -5.4154417754696635e-11, -1.2977505202014966e-11,
        2.6335724924608484e-12, -8.106594456438496e-14, -4.0554139746886e-14,
        6.581955305929239e-15, 2.166994626283574e-17, -1.290702354613073e-16,
        1.1125794759379464e-17, 1.1027771591500033e-18, -1.6787330615256773e-19,
        -2.362369698566107e-22,
    ],
    beyond: (6.25, 3.25, [
        3.0838856104922208, 1.0052589676941592, 0.0053709145535581985, -0.0037512085075638536,
        0.0024914420976198813, -0.0016882755561681802, 0.0009532893521118177,
        -0.00035503751863069763, 2.4031363245440546e-05, 6.828484052292924e-05,
        -4.731952918337189e-05, 1.2475343474376931e-05, 2.9273722115986924e-06,
        -4.013946398190292e-06, 1.4958263152984917e-06, 1.832399988132858e-08,
        -2.6860975725571463e-07, 9.071950571029922e-08, -3.831039946072411e-10,
    ]),
    end: (4.0, 5.0, [
        4.849906401408585, 1.010300464864534, -0.00013871931846279347, -0.00021503011928692775,
        7.599527970149839e-05, -1.9681778211470945e-05, 4.526041176109241e-06,
        -9.929824362731265e-07, 2.2908899336184043e-07, -6.771217033066743e-08,
        2.896863203807144e-08, -1.496052609384343e-08, 7.827098893355556e-09,
        -3.788651325903228e-09, 1.3779954356215018e-09, -2.5590674310304177e-10,
        5.1805705472647786e-12,
    ]),
}
erf_inverse! {
    w32, f32, round32,
    edge: 0.9966, middle: [
        1.5014094, 0.24664028, -0.004177393, -0.0012527264, 0.00021834939, -4.97242e-06,
        -3.4639852e-06, 4.6813136e-07, 2.3335968e-08, -8.931926e-09,
    ],
    beyond: (5.0, 3.0, [
        2.8329768, 1.0016749, 0.009444992, -0.00763649, 0.0056892163, -0.0036009003,
        0.0014797039, -5.0458853e-05, -0.00030552506, 0.00011153858,
    ]),
    end: (5.0, 5.0, [0.0]),
}
