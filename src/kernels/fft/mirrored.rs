//! Numbers and their mirror images, combined.
//!
//! Owns: the loop that makes half a spectrum of what pairs of real points became, and the one back. Never transforms.
//! Invariant: how a number is computed follows from its place and the CPU.

use rustfft::num_complex::Complex;
use rustfft::num_traits::One;

use super::batched::Pairs;
use super::float::Real;

/// A combination of the numbers at `k` and `last - k` of each line: with `s` the one plus the conjugate of the other and `d` the
/// difference, `half s + turn d` goes to `k`, and the conjugate of `half s - turn d` to `last - k`.
#[derive(Clone, Copy)]
pub(super) struct Mirror<T> {
    pub(super) from: *const Complex<T>,
    pub(super) to: *mut Complex<T>,
    pub(super) last: usize,
    /// How many lines there are, and how far they are apart where they are read and written.
    pub(super) lines: usize,
    pub(super) apart: [usize; 2],
    pub(super) half: T,
    /// The factor of imaginary parts that are read.
    pub(super) read: T,
    /// The factors of the parts that are written.
    pub(super) written: [T; 2],
}

/// A float type whose numbers can be combined.
pub(super) trait Combine: Sized {
    /// Combines as many numbers of each line as there are turns with their mirror images, from place 1 on.
    ///
    /// # Safety
    /// The places from 1 to `last - 1` of every line are readable and writable, and there are at most half as many turns.
    unsafe fn combine(mirror: Mirror<Self>, turns: &[Complex<Self>]);
}

macro_rules! combine {
    ($($t:ty: $avx2:ident;)*) => {$(
        impl Combine for $t {
            unsafe fn combine(mirror: Mirror<$t>, turns: &[Complex<$t>]) {
                #[cfg(target_arch = "x86_64")]
                {
                    // Vectors of AVX-512 would all lie across two cache lines, as place 1 does not begin one.
                    #[target_feature(enable = "avx2,fma")]
                    unsafe fn avx2(mirror: Mirror<$t>, turns: &[Complex<$t>]) {
                        // SAFETY: the caller's contract.
                        unsafe { by_vectors::<std::arch::x86_64::$avx2>(mirror, turns) }
                    }
                    use crate::kernels::isa::{Level, level};
                    if level() != Level::Baseline {
                        // SAFETY: the CPU has the instructions; the rest is the caller's contract.
                        return unsafe { avx2(mirror, turns) };
                    }
                }
                // SAFETY: the caller's contract.
                unsafe { one_by_one(mirror, turns, 0) }
            }
        }
    )*};
}
combine! {
    f64: __m256d;
    f32: __m256;
}

/// Combines whole vectors of numbers, which stay pairs of parts: mirrored vectors are turned round.
///
/// # Safety
/// As `Combine::combine`, on a CPU with the instructions of the vector.
#[inline(always)]
unsafe fn by_vectors<V: Pairs>(mirror: Mirror<V::Part>, turns: &[Complex<V::Part>]) {
    let factors = Factors::<V>::of(mirror);
    let (last, width) = (mirror.last, V::LANES / 2);
    let whole = turns.len() / width;
    for line in 0..mirror.lines {
        let Mirror { from, to, .. } = mirror.line(line);
        // SAFETY: the caller's contract.
        unsafe {
            for k in (1..).step_by(width).take(whole) {
                let (a, b) = (from.add(k), from.add(last + 1 - k - width));
                let (a, b) = (V::read(a.cast()), V::read(b.cast()).reversed());
                let [a, b] = factors.pair(V::read(turns.as_ptr().add(k - 1).cast()), a, b);
                a.write(to.add(k).cast());
                b.write(to.add(last + 1 - k - width).cast());
            }
        }
    }
    if whole * width < turns.len() {
        // SAFETY: the caller's contract.
        unsafe { one_by_one(mirror, turns, whole * width) }
    }
}

/// The factors of a combination in vectors of pairs of parts.
struct Factors<V> {
    halves: V,
    read: V,
    written: V,
    mirrored: V,
    /// Of a number for its conjugate, and of one for its negative conjugate.
    conjugate: V,
    opposite: V,
}

impl<V: Pairs> Factors<V> {
    #[inline(always)]
    fn of(mirror: Mirror<V::Part>) -> Factors<V> {
        let (one, Mirror { half, read, written: [re, im], .. }) = (V::Part::one(), mirror);
        Factors {
            halves: V::both(half, half * read),
            read: V::both(one, read),
            written: V::both(re, im),
            mirrored: V::both(re, -im),
            conjugate: V::both(one, -one),
            opposite: V::both(-one, one),
        }
    }

    /// As `Mirror::pair`, with `b` and what goes to its place turned round.
    #[inline(always)]
    fn pair(&self, turn: V, a: V, b: V) -> [V; 2] {
        let (s, d) = (b.fused(self.conjugate, a), b.fused(self.opposite, a).mul(self.read));
        let t = d.fused_apart(turn.reals(), d.swapped().mul(turn.imags()));
        let far = s.fused_sub(self.halves, t).mul(self.mirrored);
        [s.fused(self.halves, t).mul(self.written), far.reversed()]
    }
}

/// Combines the numbers of the turns from `done` on.
///
/// # Safety
/// As `Combine::combine`.
#[inline(always)]
unsafe fn one_by_one<T: Real>(mirror: Mirror<T>, turns: &[Complex<T>], done: usize) {
    for line in 0..mirror.lines {
        let Mirror { from, to, last, .. } = mirror.line(line);
        for (k, &turn) in (1..).zip(turns).skip(done) {
            // SAFETY: the caller's contract.
            unsafe {
                let [a, b] = mirror.pair(*from.add(k), *from.add(last - k), turn);
                (*to.add(k), *to.add(last - k)) = (a, b);
            }
        }
    }
}

impl<T: Real> Mirror<T> {
    /// From a line on.
    #[inline(always)]
    fn line(self, at: usize) -> Mirror<T> {
        let [from, to] = self.apart.map(|apart| at * apart);
        Mirror { from: self.from.wrapping_add(from), to: self.to.wrapping_add(to), ..self }
    }

    /// What goes to the place of `a` and to that of its mirror image `b`.
    #[inline(always)]
    fn pair(self, a: Complex<T>, b: Complex<T>, turn: Complex<T>) -> [Complex<T>; 2] {
        let Mirror { half, read, written: [re, im], .. } = self;
        let (s_re, s_im) = (half * (a.re + b.re), half * (read * (a.im - b.im)));
        let (d_re, d_im) = (a.re - b.re, read * (a.im + b.im));
        let (t_re, t_im) = (turn.re * d_re - turn.im * d_im, turn.re * d_im + turn.im * d_re);
        [
            Complex::new(re * (s_re + t_re), im * (s_im + t_im)),
            Complex::new(re * (s_re - t_re), im * (t_im - s_im)),
        ]
    }
}
