//! Transforms of lines that stand side by side: a vector holds the same place of as many lines.
//!
//! Owns: the passes of every radix. Never looks at strides. Parts stand in vectors of their own, so that no step moves
//! numbers within a vector, and any small prime is a radix.
//! Invariant: what a line becomes does not depend on the lines beside it. Passes are those of the forward transform: the
//! other one is the same with real and imaginary parts changed for each other, before and after.

use std::f64::consts::PI;
use std::mem::MaybeUninit;

use rustfft::num_complex::Complex;

use super::simd::Vector;
use crate::kernels::fft::float::Real;

/// The same place of as many lines as a vector has lanes: their real and their imaginary parts.
pub(super) type Row<V> = [V; 2];

/// The largest prime factor for which the sums of a radix are faster than a transform of another length.
pub(super) const LARGEST: usize = 61;

/// The first odd radix that has no transform of its own.
const LOOPED: usize = 7;

/// The largest prime factor for which rustfft has a transform in vectors.
const USUAL: usize = 11;

/// The largest factor beside fives with which rustfft is slower, as measured.
const BESIDE_FIVES: usize = 6;

/// Sines and cosines of a third of a turn, and of one and two fifths.
const SIN_THIRD: f64 = 0.866_025_403_784_438_6;
const COS_FIFTHS: [f64; 2] = [0.309_016_994_374_947_45, -0.809_016_994_374_947_5];
const SIN_FIFTHS: [f64; 2] = [0.951_056_516_295_153_5, 0.587_785_252_292_473_1];

/// The passes of a length, from the first to the last.
pub(in crate::kernels::fft) struct Passes<T> {
    pub(super) n: usize,
    pub(super) passes: Vec<Radix<T>>,
}

/// A pass: its radix, the number of transforms that precede it, and those that follow.
pub(super) struct Radix<T> {
    pub(super) p: usize,
    pub(super) before: usize,
    pub(super) after: usize,
    /// `e^(-2πi jk before/n)` for `0 < j < p` and each `k < after`.
    pub(super) turns: Vec<Complex<T>>,
    /// Cosine and negative sine of `2π jk/p` for `0 < j, k ≤ p/2`, of odd radices from `LOOPED` on.
    waves: Vec<[T; 2]>,
}

/// The radices of a length, if it has only small prime factors.
fn radices(mut n: usize) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for p in [8, 4, 2].into_iter().chain((3..=LARGEST).step_by(2)) {
        while n.is_multiple_of(p) {
            found.push(p);
            n /= p;
        }
    }
    // The last pass is one that writes to where the lines stand.
    if found.starts_with(&[8, 8]) {
        found[1..].rotate_left(1);
    }
    (n == 1).then_some(found)
}

impl<T: Real> Passes<T> {
    /// The passes of a length, if all its prime factors are small.
    pub(super) fn new(n: usize) -> Option<Passes<T>> {
        let point = |k: usize, n: usize| {
            let (sin, cos) = (2.0 * PI * k as f64 / n as f64).sin_cos();
            [T::narrow(cos), T::narrow(-sin)]
        };
        let mut before = 1;
        let pass = |p: usize| {
            let after = n / before / p;
            let turn = |at: usize| {
                let [re, im] = point((at % (p - 1) + 1) * (at / (p - 1)) * before % n, n);
                Complex::new(re, im)
            };
            let half = if p % 2 == 1 && p >= LOOPED { p / 2 } else { 0 };
            let wave = |at: usize| point((at / half + 1) * (at % half + 1) % p, p);
            let radix = Radix {
                p,
                before,
                after,
                turns: (0..(p - 1) * after).map(turn).collect(),
                waves: (0..half * half).map(wave).collect(),
            };
            before *= p;
            radix
        };
        let passes = radices(n)?.into_iter().map(pass).collect();
        Some(Passes { n, passes })
    }

    /// Whether there is a radix for which rustfft has no vectors, or little beside several fives, with which it is slow.
    pub(super) fn unusual(&self) -> bool {
        let radices = || self.passes.iter().map(|pass| pass.p);
        let fives = radices().filter(|&p| p == 5).count();
        let others = radices().filter(|&p| p != 5).product::<usize>();
        radices().any(|p| p > USUAL) || fives >= 2 && others <= BESIDE_FIVES
    }

    /// Does some of the passes with the `n` rows at `from`, using as many at `to`. The result is there if their number is odd,
    /// else where they were.
    ///
    /// # Safety
    /// Both are readable and writable.
    #[inline(always)]
    pub(super) unsafe fn run<V: Vector<Part = T>>(
        passes: &[Radix<T>],
        mut from: *mut Row<V>,
        mut to: *mut Row<V>,
    ) {
        // SAFETY: the caller's contract.
        unsafe {
            for pass in passes {
                match pass.p {
                    2 => twos::<V>(pass, from, to),
                    3 => threes::<V>(pass, from, to),
                    4 => fours::<V>(pass, from, to),
                    5 => fives::<V>(pass, from, to),
                    8 => eights::<V>(pass, from, to),
                    _ => odd::<V>(pass, from, to),
                }
                (from, to) = (to, from);
            }
        }
    }
}

#[inline(always)]
fn add<V: Vector>(a: Row<V>, b: Row<V>) -> Row<V> {
    [a[0].add(b[0]), a[1].add(b[1])]
}

#[inline(always)]
fn subtract<V: Vector>(a: Row<V>, b: Row<V>) -> Row<V> {
    [a[0].sub(b[0]), a[1].sub(b[1])]
}

/// The sum with `i` times the other, and the difference.
#[inline(always)]
fn beside<V: Vector>(a: Row<V>, b: Row<V>) -> [Row<V>; 2] {
    [[a[0].sub(b[1]), a[1].add(b[0])], [a[0].add(b[1]), a[1].sub(b[0])]]
}

/// Times the same number in each line.
#[inline(always)]
pub(super) fn turned<V: Vector>(a: Row<V>, by: Complex<V::Part>) -> Row<V> {
    let (re, im) = (V::all(by.re), V::all(by.im));
    [a[0].fused_sub(re, a[1].mul(im)), a[0].fused(im, a[1].mul(re))]
}

/// Times a number for every lane.
#[inline(always)]
pub(super) fn times<V: Vector>(a: Row<V>, by: V) -> Row<V> {
    [a[0].mul(by), a[1].mul(by)]
}

/// `a by + b` for the same number in every lane.
#[inline(always)]
fn fused<V: Vector>(a: Row<V>, by: V, b: Row<V>) -> Row<V> {
    [a[0].fused(by, b[0]), a[1].fused(by, b[1])]
}

/// A transform of two rows.
#[inline(always)]
fn two<V: Vector>(x: [Row<V>; 2]) -> [Row<V>; 2] {
    [add(x[0], x[1]), subtract(x[0], x[1])]
}

/// A transform of three rows.
#[inline(always)]
fn three<V: Vector>(x: [Row<V>; 3]) -> [Row<V>; 3] {
    let (half, root) = (V::all(V::Part::narrow(-0.5)), V::all(V::Part::narrow(SIN_THIRD)));
    let sum = add(x[1], x[2]);
    let difference = times(subtract(x[1], x[2]), root);
    let [y, z] = beside(fused(sum, half, x[0]), difference);
    [add(x[0], sum), z, y]
}

/// A transform of four rows.
#[inline(always)]
fn four<V: Vector>(x: [Row<V>; 4]) -> [Row<V>; 4] {
    let (a, b) = (add(x[0], x[2]), subtract(x[0], x[2]));
    let (c, d) = (add(x[1], x[3]), subtract(x[1], x[3]));
    let [e, f] = beside(b, d);
    [add(a, c), f, subtract(a, c), e]
}

/// A transform of five rows.
#[inline(always)]
pub(super) fn five<V: Vector>(x: [Row<V>; 5]) -> [Row<V>; 5] {
    let [c, d] = [V::all(V::Part::narrow(COS_FIFTHS[0])), V::all(V::Part::narrow(COS_FIFTHS[1]))];
    let [s, t] = [V::all(V::Part::narrow(SIN_FIFTHS[0])), V::all(V::Part::narrow(SIN_FIFTHS[1]))];
    let (a, b) = (add(x[1], x[4]), add(x[2], x[3]));
    let (e, f) = (subtract(x[1], x[4]), subtract(x[2], x[3]));
    let outer = fused(b, d, fused(a, c, x[0]));
    let inner = fused(b, c, fused(a, d, x[0]));
    let far = [f[0].fused(t, e[0].mul(s)), f[1].fused(t, e[1].mul(s))];
    let near = [e[0].fused_sub(t, f[0].mul(s)), e[1].fused_sub(t, f[1].mul(s))];
    let ([y4, y1], [y3, y2]) = (beside(outer, far), beside(inner, near));
    [add(x[0], add(a, b)), y1, y2, y3, y4]
}

/// A transform of eight rows.
#[inline(always)]
pub(super) fn eight<V: Vector>(x: [Row<V>; 8]) -> [Row<V>; 8] {
    let e = four([x[0], x[2], x[4], x[6]]);
    let o = four([x[1], x[3], x[5], x[7]]);
    let root = V::all(V::Part::narrow(std::f64::consts::FRAC_1_SQRT_2));
    let [[p, q], [r, s]] = [o[1], o[3]];
    // By eighths of a turn: `(p + iq)(1 - i)` and `(r + is)(1 + i)`, the latter negative, up to the root.
    let first = times([p.add(q), q.sub(p)], root);
    let third = times([r.sub(s), r.add(s)], root);
    let [ahead, behind] = beside(e[2], o[2]);
    [
        add(e[0], o[0]),
        add(e[1], first),
        behind,
        subtract(e[3], third),
        subtract(e[0], o[0]),
        subtract(e[1], first),
        ahead,
        add(e[3], third),
    ]
}

/// Passes of radices whose transform stands as a whole. The places of the rows are written out: what is chosen by a
/// variable goes through memory.
macro_rules! passes {
    ($($name:ident of $p:literal: $transform:ident [$($j:literal)*];)*) => {$(
        /// # Safety
        /// The places have rows for the whole length.
        #[inline(always)]
        unsafe fn $name<V: Vector>(pass: &Radix<V::Part>, from: *const Row<V>, to: *mut Row<V>) {
            let (before, after) = (pass.before, pass.after);
            // The longer of both loops is inside: rows that follow on each other are read and written one after the other.
            let long = after >= before;
            let (outer, inner) = if long { (before, after) } else { (after, before) };
            let apart = after * before;
            // SAFETY: the caller's contract.
            unsafe {
                for at in 0..outer {
                    for inside in 0..inner {
                        let (b, k) = if long { (at, inside) } else { (inside, at) };
                        let (row, to) = (from.add(k + after * $p * b), to.add(k + after * b));
                        let y = $transform([*row $(, *row.add(after * $j))*]);
                        *to = y[0];
                        if k == 0 {
                            $(*to.add(apart * $j) = y[$j];)*
                        } else {
                            let turns = pass.turns.as_ptr().add(($p - 1) * k);
                            $(*to.add(apart * $j) = turned(y[$j], *turns.add($j - 1));)*
                        }
                    }
                }
            }
        }
    )*};
}
passes! {
    twos of 2: two [1];
    threes of 3: three [1 2];
    fours of 4: four [1 2 3];
    fives of 5: five [1 2 3 4];
    eights of 8: eight [1 2 3 4 5 6 7];
}

/// A pass of an odd radix: mirror images are added and subtracted, the sums weighed with cosines and the
/// differences with sines.
///
/// # Safety
/// The places have rows for the whole length.
#[inline(always)]
unsafe fn odd<V: Vector>(pass: &Radix<V::Part>, from: *const Row<V>, to: *mut Row<V>) {
    let (before, after) = (pass.before, pass.after);
    // The longer of both loops is inside: rows that follow on each other are read and written one after the other.
    let long = after >= before;
    let (outer, inner) = if long { (before, after) } else { (after, before) };
    let (p, half) = (pass.p, pass.p / 2);
    let mut sums = [MaybeUninit::<[Row<V>; 2]>::uninit(); LARGEST / 2];
    let sums = sums.as_mut_ptr().cast::<[Row<V>; 2]>();
    // SAFETY: the caller's contract; the radix is at most `LARGEST`.
    unsafe {
        for at in 0..outer {
            for inside in 0..inner {
                let (b, k) = if long { (at, inside) } else { (inside, at) };
                let turns = pass.turns.as_ptr().add((p - 1) * k);
                let row = from.add(k + after * p * b);
                let first = *row;
                let mut total = first;
                for j in 0..half {
                    let (x, y) = (*row.add(after * (j + 1)), *row.add(after * (p - 1 - j)));
                    let sum = add(x, y);
                    total = add(total, sum);
                    *sums.add(j) = [sum, subtract(x, y)];
                }
                let to = to.add(k + after * b);
                *to = total;
                let mut r = 1;
                while r <= half {
                    // Two frequencies at a time, which share what is read.
                    let next = (r + 1).min(half);
                    let waves = [r, next].map(|r| pass.waves.as_ptr().add((r - 1) * half));
                    let [[a, c], [d, e]] = weighed(half, first, sums, waves);
                    put(beside(a, c), [r, p - r], k, turns, to, after * before);
                    if next > r {
                        put(beside(d, e), [next, p - next], k, turns, to, after * before);
                    }
                    r += 2;
                }
            }
        }
    }
}

/// The sums weighed with cosines, to which `first` is added, and the differences weighed with sines, for two frequencies.
///
/// # Safety
/// There are `half` sums and differences, and as many waves.
#[inline(always)]
unsafe fn weighed<V: Vector>(
    half: usize,
    first: Row<V>,
    sums: *const [Row<V>; 2],
    waves: [*const [V::Part; 2]; 2],
) -> [[Row<V>; 2]; 2] {
    let zero = [V::all(V::Part::narrow(0.0)); 2];
    let (mut a, mut c, mut d, mut e) = (first, zero, first, zero);
    for j in 0..half {
        // SAFETY: the caller's contract.
        let ([s, t], [u, v]) = unsafe { (*sums.add(j), [*waves[0].add(j), *waves[1].add(j)]) };
        let (cos, sin) = (V::all(u[0]), V::all(u[1]));
        a = [cos.fused(s[0], a[0]), cos.fused(s[1], a[1])];
        c = [sin.fused(t[0], c[0]), sin.fused(t[1], c[1])];
        let (cos, sin) = (V::all(v[0]), V::all(v[1]));
        d = [cos.fused(s[0], d[0]), cos.fused(s[1], d[1])];
        e = [sin.fused(t[0], e[0]), sin.fused(t[1], e[1])];
    }
    [[a, c], [d, e]]
}

/// Writes two frequencies of a pass.
///
/// # Safety
/// They have places, and turns where `k` is not 0.
#[inline(always)]
unsafe fn put<V: Vector>(
    pair: [Row<V>; 2],
    at: [usize; 2],
    k: usize,
    turns: *const Complex<V::Part>,
    to: *mut Row<V>,
    apart: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        for (x, r) in [(pair[0], at[0]), (pair[1], at[1])] {
            *to.add(apart * r) = if k > 0 { turned(x, *turns.add(r - 1)) } else { x };
        }
    }
}
