//! The reorderings and turns between a line and the real line whose spectrum gives its cosine transform.
//!
//! Owns: the loops, for every level. Never transforms. Invariant: `fold` undoes `unfold`, and `turn_back` is the transpose
//! of `turn` up to the half of what stands for two.
//! Source: J. Makhoul, A fast cosine transform in one and two dimensions (1980).

use rustfft::num_complex::Complex;

use super::float::Real;
use crate::kernels::multiversion;
use crate::kernels::multiversion::leveled;

leveled! {
    /// Even positions from the front, odd ones from the back.
    pub(super) unsafe fn unfold<T: Real>(line: &[T], to: &mut [T])
        = unfold_body, multiversion::Levels::UpToAvx2
}
leveled! {
    /// The reverse of `unfold`.
    pub(super) unsafe fn fold<T: Real>(from: &[T], line: &mut [T])
        = fold_body, multiversion::Levels::UpToAvx2
}
leveled! {
    /// The real parts of a turned spectrum from the front, the negative imaginary ones from the back.
    pub(super) unsafe fn turn<T: Real>(z: &[Complex<T>], table: &[Complex<T>], out: &mut [T])
        = turn_body, multiversion::Levels::UpToAvx2
}
leveled! {
    /// The transpose of `turn`, with half the numbers behind the first.
    pub(super) unsafe fn turn_back<T: Real>(line: &[T], table: &[Complex<T>], z: &mut [Complex<T>])
        = turn_back_body, multiversion::Levels::UpToAvx2
}

/// Positions that are moved at a time, which the compiler turns into vectors.
const BLOCK: usize = 16;

/// # Safety
/// Both have as many elements.
#[inline(always)]
unsafe fn unfold_body<T: Real>(line: &[T], to: &mut [T]) {
    let n = line.len();
    let (line, to) = (line.as_ptr(), to.as_mut_ptr());
    let blocks = n / 2 / BLOCK * BLOCK;
    // SAFETY: the positions are those of the line.
    unsafe {
        for i in (0..blocks).step_by(BLOCK) {
            let pairs = line.add(2 * i).cast::<[T; 2 * BLOCK]>().read();
            let (mut even, mut odd) = ([T::zero(); BLOCK], [T::zero(); BLOCK]);
            (0..BLOCK).for_each(|j| even[j] = pairs[2 * j]);
            (0..BLOCK).for_each(|j| odd[j] = pairs[2 * (BLOCK - 1 - j) + 1]);
            to.add(i).cast::<[T; BLOCK]>().write(even);
            to.add(n - i - BLOCK).cast::<[T; BLOCK]>().write(odd);
        }
        for i in blocks..n / 2 {
            *to.add(i) = *line.add(2 * i);
            *to.add(n - 1 - i) = *line.add(2 * i + 1);
        }
        if !n.is_multiple_of(2) {
            *to.add(n / 2) = *line.add(n - 1);
        }
    }
}

/// # Safety
/// Both have as many elements.
#[inline(always)]
unsafe fn fold_body<T: Real>(from: &[T], line: &mut [T]) {
    let n = line.len();
    let (from, line) = (from.as_ptr(), line.as_mut_ptr());
    let blocks = n / 2 / BLOCK * BLOCK;
    // SAFETY: as above.
    unsafe {
        for i in (0..blocks).step_by(BLOCK) {
            let even = from.add(i).cast::<[T; BLOCK]>().read();
            let odd = from.add(n - i - BLOCK).cast::<[T; BLOCK]>().read();
            let mut pairs = [T::zero(); 2 * BLOCK];
            (0..BLOCK).for_each(|j| pairs[2 * j] = even[j]);
            (0..BLOCK).for_each(|j| pairs[2 * j + 1] = odd[BLOCK - 1 - j]);
            line.add(2 * i).cast::<[T; 2 * BLOCK]>().write(pairs);
        }
        for i in blocks..n / 2 {
            *line.add(2 * i) = *from.add(i);
            *line.add(2 * i + 1) = *from.add(n - 1 - i);
        }
        if !n.is_multiple_of(2) {
            *line.add(n - 1) = *from.add(n / 2);
        }
    }
}

/// # Safety
/// The spectrum and the table have `n / 2 + 1` numbers for `n` elements of the line.
#[inline(always)]
unsafe fn turn_body<T: Real>(z: &[Complex<T>], table: &[Complex<T>], out: &mut [T]) {
    let n = out.len();
    let (z, table, out) = (z.as_ptr(), table.as_ptr(), out.as_mut_ptr());
    let end = n.div_ceil(2).max(1);
    // The middle of an even line may be in a block; it is written once more.
    let blocks = n / 2 / BLOCK * BLOCK + 1;
    // SAFETY: the caller's contract.
    unsafe {
        *out = ((*z) * (*table)).re;
        for k in (1..blocks).step_by(BLOCK) {
            let (z, table) = (z.add(k).cast::<[Complex<T>; BLOCK]>().read(), table.add(k));
            let table = table.cast::<[Complex<T>; BLOCK]>().read();
            let (mut re, mut im) = ([T::zero(); BLOCK], [T::zero(); BLOCK]);
            (0..BLOCK).for_each(|j| re[j] = z[j].re * table[j].re - z[j].im * table[j].im);
            (0..BLOCK).for_each(|j| im[j] = z[j].re * table[j].im + z[j].im * table[j].re);
            let mut back = [T::zero(); BLOCK];
            (0..BLOCK).for_each(|j| back[j] = -im[BLOCK - 1 - j]);
            out.add(k).cast::<[T; BLOCK]>().write(re);
            out.add(n + 1 - k - BLOCK).cast::<[T; BLOCK]>().write(back);
        }
        for k in blocks..end {
            let turned = *z.add(k) * *table.add(k);
            *out.add(k) = turned.re;
            *out.add(n - k) = -turned.im;
        }
        if n.is_multiple_of(2) {
            *out.add(n / 2) = (*z.add(n / 2) * *table.add(n / 2)).re;
        }
    }
}

/// # Safety
/// As `turn_body`.
#[inline(always)]
unsafe fn turn_back_body<T: Real>(line: &[T], table: &[Complex<T>], z: &mut [Complex<T>]) {
    let (n, half) = (line.len(), T::narrow(0.5));
    let (line, table, z) = (line.as_ptr(), table.as_ptr(), z.as_mut_ptr());
    let blocks = n / 2 / BLOCK * BLOCK + 1;
    // SAFETY: the caller's contract.
    unsafe {
        *z = Complex::new(*line, T::zero()) * (*table).conj();
        for k in (1..blocks).step_by(BLOCK) {
            let front = line.add(k).cast::<[T; BLOCK]>().read();
            let back = line.add(n + 1 - k - BLOCK).cast::<[T; BLOCK]>().read();
            let table = table.add(k).cast::<[Complex<T>; BLOCK]>().read();
            let mut turned = [Complex::new(T::zero(), T::zero()); BLOCK];
            for j in 0..BLOCK {
                let (re, im) = (half * front[j], half * back[BLOCK - 1 - j]);
                turned[j].re = re * table[j].re - im * table[j].im;
                turned[j].im = -(im * table[j].re + re * table[j].im);
            }
            z.add(k).cast::<[Complex<T>; BLOCK]>().write(turned);
        }
        for k in blocks..n / 2 + 1 {
            let x = Complex::new(*line.add(k) * half, -*line.add(n - k) * half);
            *z.add(k) = x * (*table.add(k)).conj();
        }
    }
}
