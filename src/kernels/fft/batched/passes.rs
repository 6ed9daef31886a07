//! FFT passes over rows: a row holds the same position of as many lines as a vector has lanes.
//!
//! Real and imaginary parts have vectors of their own, so that no step shuffles, and any small
//! prime is a radix. Invariant: the result of a line does not depend on the lines beside it. Passes
//! compute the forward transform; the inverse one swaps real and imaginary parts before and after.

use std::f64::consts::PI;
use std::mem::MaybeUninit;

use rustfft::num_complex::Complex;

use crate::kernels::fft::float::{Real, Vector};

/// One position of as many lines as a vector has lanes: their real and their imaginary parts.
pub(super) type Row<V> = [V; 2];

/// Largest prime factor for which the generic radix is faster than another algorithm.
pub(super) const MAX_RADIX: usize = 61;

/// Smallest odd radix without a butterfly of its own.
const MIN_GENERIC_RADIX: usize = 7;

/// Largest prime factor with a SIMD butterfly in rustfft.
const MAX_RUSTFFT_SIMD_RADIX: usize = 11;

/// Largest cofactor of a power of five for which rustfft is slower (measured).
const MAX_COFACTOR_OF_FIVES: usize = 6;

/// Sines and cosines of 1/3 turn, and of 1/5 and 2/5 turn.
const SIN_THIRD: f64 = 0.866_025_403_784_438_6;
const COS_FIFTHS: [f64; 2] = [0.309_016_994_374_947_45, -0.809_016_994_374_947_5];
const SIN_FIFTHS: [f64; 2] = [0.951_056_516_295_153_5, 0.587_785_252_292_473_1];

/// The passes of a transform of `n` points, in order.
pub(in crate::kernels::fft) struct Passes<T> {
    pub(super) n: usize,
    pub(super) passes: Vec<RadixPass<T>>,
}

/// A pass: its radix, and the products of the radices before and after it.
pub(super) struct RadixPass<T> {
    pub(super) p: usize,
    pub(super) before: usize,
    pub(super) after: usize,
    /// Twiddles `e^(-2πi jk before/n)` for `0 < j < p` and each `k < after`.
    pub(super) twiddles: Vec<Complex<T>>,
    /// Cosine and negative sine of `2π jk/p` for `0 < j, k ≤ p/2`, for odd radices from
    /// `MIN_GENERIC_RADIX` on.
    cos_sin: Vec<[T; 2]>,
}

/// The radices of a length, if all prime factors are small.
fn radices(mut n: usize) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for p in [8, 4, 2].into_iter().chain((3..=MAX_RADIX).step_by(2)) {
        while n.is_multiple_of(p) {
            found.push(p);
            n /= p;
        }
    }
    // End with a radix whose pass can be fused with the store.
    if found.starts_with(&[8, 8]) {
        found[1..].rotate_left(1);
    }
    (n == 1).then_some(found)
}

impl<T: Real> Passes<T> {
    /// The passes of a length, if all prime factors are small.
    pub(super) fn new(n: usize) -> Option<Passes<T>> {
        let point = |k: usize, n: usize| {
            let (sin, cos) = (2.0 * PI * k as f64 / n as f64).sin_cos();
            [T::narrow(cos), T::narrow(-sin)]
        };
        let mut before = 1;
        let pass = |p: usize| {
            let after = n / before / p;
            let twiddle = |at: usize| {
                let [re, im] = point((at % (p - 1) + 1) * (at / (p - 1)) * before % n, n);
                Complex::new(re, im)
            };
            let half = if p % 2 == 1 && p >= MIN_GENERIC_RADIX { p / 2 } else { 0 };
            let weight = |at: usize| point((at / half + 1) * (at % half + 1) % p, p);
            let radix = RadixPass {
                p,
                before,
                after,
                twiddles: (0..(p - 1) * after).map(twiddle).collect(),
                cos_sin: (0..half * half).map(weight).collect(),
            };
            before *= p;
            radix
        };
        let passes = radices(n)?.into_iter().map(pass).collect();
        Some(Passes { n, passes })
    }

    /// Whether batching also pays for contiguous lines: rustfft lacks a SIMD butterfly for a
    /// factor, or is slow with several fives and a small cofactor.
    pub(super) fn prefers_batched(&self) -> bool {
        let radices = || self.passes.iter().map(|pass| pass.p);
        let power_of_five = radices().filter(|&p| p == 5).count();
        let others = radices().filter(|&p| p != 5).product::<usize>();
        radices().any(|p| p > MAX_RUSTFFT_SIMD_RADIX)
            || power_of_five >= 2 && others <= MAX_COFACTOR_OF_FIVES
    }

    /// Runs passes on the `n` rows at `from`, with `n` rows at `to` as the other buffer. The result
    /// is in `to` after an odd number of passes, else in `from`.
    ///
    /// # Safety
    /// Both are readable and writable.
    #[inline(always)]
    pub(super) unsafe fn run<V: Vector<Scalar = T>>(
        passes: &[RadixPass<T>],
        mut from: *mut Row<V>,
        mut to: *mut Row<V>,
    ) {
        // SAFETY: the caller's contract.
        unsafe {
            for pass in passes {
                match pass.p {
                    2 => radix2::<V>(pass, from, to),
                    3 => radix3::<V>(pass, from, to),
                    4 => radix4::<V>(pass, from, to),
                    5 => radix5::<V>(pass, from, to),
                    8 => radix8::<V>(pass, from, to),
                    _ => radix_odd::<V>(pass, from, to),
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

/// `a + i b` and `a - i b`.
#[inline(always)]
fn plus_minus_i<V: Vector>(a: Row<V>, b: Row<V>) -> [Row<V>; 2] {
    [[a[0].sub(b[1]), a[1].add(b[0])], [a[0].add(b[1]), a[1].sub(b[0])]]
}

/// Multiplies all lanes by one complex number.
#[inline(always)]
pub(super) fn times_twiddle<V: Vector>(a: Row<V>, by: Complex<V::Scalar>) -> Row<V> {
    let (re, im) = (V::splat(by.re), V::splat(by.im));
    [a[0].mul_sub(re, a[1].mul(im)), a[0].mul_add(im, a[1].mul(re))]
}

/// Multiplies by a real number per lane.
#[inline(always)]
pub(super) fn scale_row<V: Vector>(a: Row<V>, by: V) -> Row<V> {
    [a[0].mul(by), a[1].mul(by)]
}

/// `a by + b`.
#[inline(always)]
fn mul_add<V: Vector>(a: Row<V>, by: V, b: Row<V>) -> Row<V> {
    [a[0].mul_add(by, b[0]), a[1].mul_add(by, b[1])]
}

/// DFT of two rows.
#[inline(always)]
fn dft2<V: Vector>(x: [Row<V>; 2]) -> [Row<V>; 2] {
    [add(x[0], x[1]), subtract(x[0], x[1])]
}

/// DFT of three rows.
#[inline(always)]
fn dft3<V: Vector>(x: [Row<V>; 3]) -> [Row<V>; 3] {
    let (half, root) = (V::splat(V::Scalar::narrow(-0.5)), V::splat(V::Scalar::narrow(SIN_THIRD)));
    let sum = add(x[1], x[2]);
    let difference = scale_row(subtract(x[1], x[2]), root);
    let [y, z] = plus_minus_i(mul_add(sum, half, x[0]), difference);
    [add(x[0], sum), z, y]
}

/// DFT of four rows.
#[inline(always)]
fn dft4<V: Vector>(x: [Row<V>; 4]) -> [Row<V>; 4] {
    let (a, b) = (add(x[0], x[2]), subtract(x[0], x[2]));
    let (c, d) = (add(x[1], x[3]), subtract(x[1], x[3]));
    let [e, f] = plus_minus_i(b, d);
    [add(a, c), f, subtract(a, c), e]
}

/// DFT of five rows.
#[inline(always)]
pub(super) fn dft5<V: Vector>(x: [Row<V>; 5]) -> [Row<V>; 5] {
    let [c, d] =
        [V::splat(V::Scalar::narrow(COS_FIFTHS[0])), V::splat(V::Scalar::narrow(COS_FIFTHS[1]))];
    let [s, t] =
        [V::splat(V::Scalar::narrow(SIN_FIFTHS[0])), V::splat(V::Scalar::narrow(SIN_FIFTHS[1]))];
    let (a, b) = (add(x[1], x[4]), add(x[2], x[3]));
    let (e, f) = (subtract(x[1], x[4]), subtract(x[2], x[3]));
    let outer = mul_add(b, d, mul_add(a, c, x[0]));
    let inner = mul_add(b, c, mul_add(a, d, x[0]));
    let far = [f[0].mul_add(t, e[0].mul(s)), f[1].mul_add(t, e[1].mul(s))];
    let near = [e[0].mul_sub(t, f[0].mul(s)), e[1].mul_sub(t, f[1].mul(s))];
    let ([y4, y1], [y3, y2]) = (plus_minus_i(outer, far), plus_minus_i(inner, near));
    [add(x[0], add(a, b)), y1, y2, y3, y4]
}

/// DFT of eight rows.
#[inline(always)]
pub(super) fn dft8<V: Vector>(x: [Row<V>; 8]) -> [Row<V>; 8] {
    let e = dft4([x[0], x[2], x[4], x[6]]);
    let o = dft4([x[1], x[3], x[5], x[7]]);
    let root = V::splat(V::Scalar::narrow(std::f64::consts::FRAC_1_SQRT_2));
    let [[p, q], [r, s]] = [o[1], o[3]];
    // Rotations by 1/8 turn: `(p + iq)(1 - i)` and, negated, `(r + is)(1 + i)`, up to the factor
    // `root`.
    let first = scale_row([p.add(q), q.sub(p)], root);
    let third = scale_row([r.sub(s), r.add(s)], root);
    let [ahead, behind] = plus_minus_i(e[2], o[2]);
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

/// Passes with a butterfly. Rows are indexed by literals: LLVM keeps an array indexed by a variable
/// in memory.
macro_rules! passes {
    ($($name:ident of $p:literal: $transform:ident [$($j:literal)*];)*) => {$(
        /// # Safety
        /// Both buffers have `n` rows.
        #[inline(always)]
        unsafe fn $name<V: Vector>(pass: &RadixPass<V::Scalar>, from: *const Row<V>, to: *mut Row<V>) {
            let (before, after) = (pass.before, pass.after);
            // The longer loop is the inner one, so that rows are read and written in order.
            let long = after >= before;
            let (outer, inner) = if long { (before, after) } else { (after, before) };
            let stride = after * before;
            // SAFETY: the caller's contract.
            unsafe {
                for at in 0..outer {
                    for inside in 0..inner {
                        let (b, k) = if long { (at, inside) } else { (inside, at) };
                        let (row, to) = (from.add(k + after * $p * b), to.add(k + after * b));
                        let y = $transform([*row $(, *row.add(after * $j))*]);
                        *to = y[0];
                        if k == 0 {
                            $(*to.add(stride * $j) = y[$j];)*
                        } else {
                            let twiddles = pass.twiddles.as_ptr().add(($p - 1) * k);
                            $(*to.add(stride * $j) = times_twiddle(y[$j], *twiddles.add($j - 1));)*
                        }
                    }
                }
            }
        }
    )*};
}
passes! {
    radix2 of 2: dft2 [1];
    radix3 of 3: dft3 [1 2];
    radix4 of 4: dft4 [1 2 3];
    radix5 of 5: dft5 [1 2 3 4];
    radix8 of 8: dft8 [1 2 3 4 5 6 7];
}

/// Generic pass of an odd radix: mirrored rows are added and subtracted, the sums weighted with
/// cosines, the differences with sines.
///
/// # Safety
/// Both buffers have `n` rows.
#[inline(always)]
unsafe fn radix_odd<V: Vector>(pass: &RadixPass<V::Scalar>, from: *const Row<V>, to: *mut Row<V>) {
    let (before, after) = (pass.before, pass.after);
    // The longer loop is the inner one, so that rows are read and written in order.
    let long = after >= before;
    let (outer, inner) = if long { (before, after) } else { (after, before) };
    let (p, half) = (pass.p, pass.p / 2);
    let mut sums = [MaybeUninit::<[Row<V>; 2]>::uninit(); MAX_RADIX / 2];
    let sums = sums.as_mut_ptr().cast::<[Row<V>; 2]>();
    // SAFETY: the caller's contract; the radix is at most `MAX_RADIX`.
    unsafe {
        for at in 0..outer {
            for inside in 0..inner {
                let (b, k) = if long { (at, inside) } else { (inside, at) };
                let twiddles = pass.twiddles.as_ptr().add((p - 1) * k);
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
                    // Two frequencies at a time share the loads.
                    let next = (r + 1).min(half);
                    let cos_sin = [r, next].map(|r| pass.cos_sin.as_ptr().add((r - 1) * half));
                    let [[a, c], [d, e]] = weighted_sums(half, first, sums, cos_sin);
                    store_pair(plus_minus_i(a, c), [r, p - r], k, twiddles, to, after * before);
                    if next > r {
                        store_pair(
                            plus_minus_i(d, e),
                            [next, p - next],
                            k,
                            twiddles,
                            to,
                            after * before,
                        );
                    }
                    r += 2;
                }
            }
        }
    }
}

/// For two frequencies: `first` plus the sums weighted with cosines, and the differences weighted
/// with sines.
///
/// # Safety
/// There are `half` sums, differences and weights.
#[inline(always)]
unsafe fn weighted_sums<V: Vector>(
    half: usize,
    first: Row<V>,
    sums: *const [Row<V>; 2],
    cos_sin: [*const [V::Scalar; 2]; 2],
) -> [[Row<V>; 2]; 2] {
    let zero = [V::splat(V::Scalar::narrow(0.0)); 2];
    let (mut a, mut c, mut d, mut e) = (first, zero, first, zero);
    for j in 0..half {
        // SAFETY: the caller's contract.
        let ([s, t], [u, v]) = unsafe { (*sums.add(j), [*cos_sin[0].add(j), *cos_sin[1].add(j)]) };
        let (cos, sin) = (V::splat(u[0]), V::splat(u[1]));
        a = [cos.mul_add(s[0], a[0]), cos.mul_add(s[1], a[1])];
        c = [sin.mul_add(t[0], c[0]), sin.mul_add(t[1], c[1])];
        let (cos, sin) = (V::splat(v[0]), V::splat(v[1]));
        d = [cos.mul_add(s[0], d[0]), cos.mul_add(s[1], d[1])];
        e = [sin.mul_add(t[0], e[0]), sin.mul_add(t[1], e[1])];
    }
    [[a, c], [d, e]]
}

/// Stores two frequencies of a pass.
///
/// # Safety
/// The rows exist, and the twiddles unless `k` is 0.
#[inline(always)]
unsafe fn store_pair<V: Vector>(
    pair: [Row<V>; 2],
    at: [usize; 2],
    k: usize,
    twiddles: *const Complex<V::Scalar>,
    to: *mut Row<V>,
    stride: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        for (x, r) in [(pair[0], at[0]), (pair[1], at[1])] {
            *to.add(stride * r) = if k > 0 { times_twiddle(x, *twiddles.add(r - 1)) } else { x };
        }
    }
}
