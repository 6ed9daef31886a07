//! The vectorised functions against references with more digits, at every level the CPU has.
//!
//! float64 is held to a double-double evaluation, float32 to float64; the edges to NumPy's values.

use crate::double_double::Dd;
use ferrograd::kernels::elementwise::{LoopCall, LoopTable};
use ferrograd::kernels::isa::{Level, detected};
use ferrograd::loop_table;

/// Distance of a float64 from the reference in units of its last place.
fn ulps64(got: f64, want: Dd) -> f64 {
    let exponent = want.0.abs().log2().floor().max(-1022.0) as i32;
    let unit = 2f64.powi((exponent - 52).max(-1022)) * if exponent < -970 { 0.0 } else { 1.0 };
    let unit = if unit == 0.0 { f64::from_bits(1) * 2f64.powi(exponent + 1022) } else { unit };
    (((got - want.0) - want.1) / unit).abs()
}

fn ulps32(got: f32, want: f64) -> f64 {
    let exponent = (want.abs().log2().floor() as i32).max(-126);
    ((got as f64 - want) / 2f64.powi(exponent - 23)).abs()
}

/// The levels that can run here.
fn levels() -> impl Iterator<Item = usize> {
    Level::ALL.into_iter().filter(|&l| l <= detected()).map(|l| l as usize)
}

fn run64(table: &LoopTable, level: usize, x: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.len()];
    let ins = [x.as_ptr().cast::<u8>()];
    let (f, n, to) = (table.f64[level], x.len(), out.as_mut_ptr().cast());
    // SAFETY: one operand and an output of equal length; the CPU has the level.
    unsafe { LoopCall { f, ins: &ins, out: to, n, params: &[] }.run() };
    out
}

fn run32(table: &LoopTable, level: usize, x: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; x.len()];
    let ins = [x.as_ptr().cast::<u8>()];
    let (f, n, to) = (table.f32[level], x.len(), out.as_mut_ptr().cast());
    // SAFETY: one operand and an output of equal length; the CPU has the level.
    unsafe { LoopCall { f, ins: &ins, out: to, n, params: &[] }.run() };
    out
}

/// Evenly spread numbers of a fixed sequence, in `low..high`.
fn spread(low: f64, high: f64) -> Vec<f64> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        low + (high - low) * (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..3001).map(|_| next()).collect()
}

/// Holds a function to `bound` ulp over ranges, at every level, in both widths.
fn hold(name: &str, table: &LoopTable, bound: f64, ranges: &[(f64, f64)], exact: fn(Dd) -> Dd) {
    for &(low, high) in ranges {
        let x = spread(low, high);
        let narrow: Vec<f32> = x.iter().map(|&v| v as f32).collect();
        for level in levels() {
            for (&v, got) in x.iter().zip(run64(table, level, &x)) {
                let off = ulps64(got, exact(Dd(v, 0.0)));
                assert!(off <= bound, "{name} f64 level {level} at {v:e}: {got:e}, {off} ulp");
            }
            for (&v, got) in narrow.iter().zip(run32(table, level, &narrow)) {
                let want = exact(Dd(v as f64, 0.0)).0;
                if want.abs() < f32::MAX as f64 {
                    let off = ulps32(got, want);
                    assert!(off <= bound, "{name} f32 level {level} at {v:e}: {got:e}, {off} ulp");
                } else {
                    assert!(got.is_infinite(), "{name} f32 level {level} at {v:e}: {got:e}");
                }
            }
        }
    }
}

static EXP: LoopTable = loop_table! { float: |x| x.exp(); };
static LN: LoopTable = loop_table! { float: |x| x.ln(); };
static SIN: LoopTable = loop_table! { float [angles]: |x| x.sin(); };
static COS: LoopTable = loop_table! { float [angles]: |x| x.cos(); };
static TANH: LoopTable = loop_table! { float: |x| x.tanh(); };
static SIGMOID: LoopTable = loop_table! { float: |x| x.sigmoid(); };
static ERF: LoopTable = loop_table! { float: |x| x.erf(); };
static ERFC: LoopTable = loop_table! { float: |x| x.erfc(); };
static EXPM1: LoopTable = loop_table! { float: |x| x.expm1(); };
static LOG1P: LoopTable = loop_table! { float: |x| x.log1p(); };

#[test]
fn exponentials_stay_below_one_ulp() {
    hold("exp", &EXP, 1.0, &[(-1.0, 1.0), (-50.0, 50.0), (-690.0, 709.0)], Dd::exp);
}

#[test]
fn logarithms_stay_below_one_ulp() {
    hold("ln", &LN, 1.0, &[(0.5, 2.0), (0.99, 1.01), (1e-30, 1e30), (1e-300, 1e-290)], Dd::ln);
}

#[test]
fn expm1_and_log1p_keep_their_digits_near_zero() {
    let expm1 = |x: Dd| {
        if x.0.abs() < 0.5 { x.series(1, 1, false) } else { x.exp().add(Dd(-1.0, 0.0)) }
    };
    hold("expm1", &EXPM1, 3.0, &[(-1e-9, 1e-9), (-0.5, 0.5), (-30.0, 30.0)], expm1);
    hold("log1p", &LOG1P, 2.0, &[(-0.9, 1.0), (0.0, 1e6)], |x| Dd::sum(1.0, x.0).ln());
}

#[test]
fn sine_and_cosine_stay_below_one_ulp() {
    let ranges = [(-0.8, 0.8), (-10.0, 10.0), (-6e4, 6e4), (3.125, 3.15), (1e5, 1e6)];
    hold("sin", &SIN, 1.0, &ranges, |x| x.sin(0));
    hold("cos", &COS, 1.0, &ranges, |x| x.sin(1));
}

#[test]
fn saturating_functions_stay_below_two_ulp() {
    hold("tanh", &TANH, 2.0, &[(-1e-8, 1e-8), (-1.0, 1.0), (-20.0, 20.0)], Dd::tanh);
    hold("sigmoid", &SIGMOID, 2.0, &[(-1.0, 1.0), (-80.0, 80.0), (-600.0, -90.0)], Dd::sigmoid);
}

#[test]
fn error_functions_stay_within_their_bounds() {
    hold("erf", &ERF, 2.0, &[(-1e-5, 1e-5), (-1.1, 1.1), (-3.0, 3.0)], Dd::erf);
    hold("erfc", &ERFC, 6.0, &[(-3.0, 1.0)], |x| Dd(1.0, 0.0).add(x.erf().neg()));
}

/// The same value, sign of zero and NaN included.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn edges_are_those_of_numpy() {
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    type Row = (&'static str, &'static LoopTable, &'static [(f64, f64)]);
    let rows: [Row; 7] = [
        (
            "exp",
            &EXP,
            &[(INF, INF), (-INF, 0.0), (NAN, NAN), (800.0, INF), (-0.0, 1.0), (-800.0, 0.0)],
        ),
        (
            "ln",
            &LN,
            &[
                (INF, INF),
                (-INF, NAN),
                (NAN, NAN),
                (0.0, -INF),
                (-0.0, -INF),
                (-1.0, NAN),
                (1.0, 0.0),
            ],
        ),
        ("sin", &SIN, &[(INF, NAN), (-INF, NAN), (NAN, NAN), (0.0, 0.0), (-0.0, -0.0)]),
        ("cos", &COS, &[(INF, NAN), (-INF, NAN), (NAN, NAN), (0.0, 1.0), (-0.0, 1.0)]),
        ("tanh", &TANH, &[(INF, 1.0), (-INF, -1.0), (NAN, NAN), (0.0, 0.0), (-0.0, -0.0)]),
        ("sigmoid", &SIGMOID, &[(INF, 1.0), (-INF, 0.0), (NAN, NAN), (0.0, 0.5), (-0.0, 0.5)]),
        ("erf", &ERF, &[(INF, 1.0), (-INF, -1.0), (NAN, NAN), (0.0, 0.0), (-0.0, -0.0)]),
    ];
    for (name, table, pairs) in rows {
        let x: Vec<f64> = pairs.iter().map(|p| p.0).collect();
        let narrow: Vec<f32> = x.iter().map(|&v| v as f32).collect();
        for level in levels() {
            let (wide, narrow) = (run64(table, level, &x), run32(table, level, &narrow));
            for (i, &(v, want)) in pairs.iter().enumerate() {
                assert!(same(wide[i], want), "{name} f64 level {level} at {v}: {}", wide[i]);
                assert!(
                    same(narrow[i] as f64, want),
                    "{name} f32 level {level} at {v}: {}",
                    narrow[i]
                );
            }
        }
    }
}

#[test]
fn subnormal_results_and_arguments_are_kept() {
    for level in levels() {
        let got = run64(&EXP, level, &[-744.0, -710.0])[0];
        assert!((got / (-744f64).exp() - 1.0).abs() < 0.5 && got > 0.0, "{got:e}");
        let got = run64(&LN, level, &[5e-324])[0];
        assert!((got - -744.4400719213812).abs() < 1e-12, "{got}");
        let got = run64(&SIGMOID, level, &[-744.0])[0];
        assert!(got > 0.0);
        assert!(same(run64(&ERF, level, &[-5e-324])[0], -5e-324));
    }
}

#[test]
fn a_value_does_not_depend_on_where_it_stands() {
    let x = spread(-8.0, 8.0);
    for table in [&EXP, &SIN, &TANH, &ERF] {
        for level in levels() {
            let whole = run64(table, level, &x);
            for start in [1, 5, 17] {
                let part = run64(table, level, &x[start..start + 23]);
                assert!(part.iter().zip(&whole[start..]).all(|(a, b)| same(*a, *b)));
            }
        }
    }
}
