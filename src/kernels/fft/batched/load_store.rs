//! Loads and stores adjacent lines as rows of vectors, fused with the first or last FFT pass where
//! the radix allows it.
//!
//! Invariant: the result of a line does not depend on the lines beside it. The inverse transform is
//! the forward one with results stored in reverse order, all but the first.

use std::mem::MaybeUninit;

use rustfft::num_complex::Complex;
use rustfft::num_traits::One;

use super::passes::{Passes, RadixPass, Row, dft5, dft8, scale_row, times_twiddle};
use super::transpose::{gather, scatter};
use crate::kernels::fft::float::Vector;

/// Positions to prefetch ahead: each is on another page, where the hardware prefetcher does not
/// help.
const PREFETCH_POSITIONS: isize = 8;

/// Lines transformed together: contiguous ones, at most as many as there are lanes, or adjacent
/// ones (columns).
#[derive(Clone, Copy)]
pub(in crate::kernels::fft) struct Strip<T> {
    pub(in crate::kernels::fft) from: *const Complex<T>,
    pub(in crate::kernels::fft) to: *mut Complex<T>,
    pub(in crate::kernels::fft) lines: usize,
    /// For adjacent lines, the strides of their positions in input and output.
    pub(in crate::kernels::fft) column_steps: Option<[isize; 2]>,
    /// Factor of the results, for adjacent lines only.
    pub(in crate::kernels::fft) factor: T,
    pub(in crate::kernels::fft) forward: bool,
}

/// Layout of adjacent lines in memory (as columns) and of their rows in the workspace.
#[derive(Clone, Copy)]
pub(super) struct ColumnLayout {
    /// Positions of a line, and their stride.
    pub(super) n: usize,
    pub(super) step: isize,
    pub(super) lines: usize,
    /// Rows between one group of lines and the next.
    pub(super) group_rows: usize,
    /// Whether input and output are different memory.
    pub(super) out_of_place: bool,
}

/// Prefetches `bytes` at each of some addresses, which need not be valid.
#[inline(never)]
fn prefetch_rows(at: *const i8, hop: isize, places: usize, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for place in 0..places {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = at.wrapping_offset(place as isize * hop);
        // SAFETY: a prefetch reads nothing, whatever the address is.
        (0..bytes)
            .step_by(64)
            .for_each(|byte| unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(byte)) });
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (at, hop, places, bytes);
}

/// Prefetches the lines at each of some positions.
#[inline(always)]
fn prefetch_lines<T>(at: *const Complex<T>, hop: isize, places: usize, lines: usize) {
    let size = size_of::<Complex<T>>();
    prefetch_rows(at.cast(), hop * size as isize, places, lines * size);
}

/// Loads a row: the real and the imaginary parts of one number per lane.
///
/// # Safety
/// The numbers are readable.
#[inline(always)]
unsafe fn load_row<V: Vector>(from: *const Complex<V::Scalar>) -> Row<V> {
    // SAFETY: the caller's contract.
    let [a, b] = unsafe { from.cast::<[V; 2]>().read_unaligned() };
    V::deinterleave(a, b)
}

/// Stores the numbers of a row.
///
/// # Safety
/// The positions are writable.
#[inline(always)]
unsafe fn store_row<V: Vector>(row: Row<V>, to: *mut Complex<V::Scalar>) {
    // SAFETY: the caller's contract.
    unsafe { to.cast::<[V; 2]>().write_unaligned(V::interleave(row)) };
}

/// Copies lines to rows; unused lanes are zero.
///
/// # Safety
/// The lines are readable, and the rows are writable.
#[inline(always)]
unsafe fn load_columns<V: Vector>(
    from: *const Complex<V::Scalar>,
    rows: *mut Row<V>,
    layout: ColumnLayout,
) {
    let ColumnLayout { n, step, lines, group_rows, .. } = layout;
    let (whole, left) = (lines / V::LANES, lines % V::LANES);
    // SAFETY: the caller's contract; zeros are numbers.
    unsafe {
        for i in 0..n {
            let from = from.wrapping_offset(i as isize * step);
            prefetch_lines(from.wrapping_offset(PREFETCH_POSITIONS * step), 0, 1, lines);
            for group in 0..whole {
                *rows.add(i + group * group_rows) = load_row(from.add(group * V::LANES));
            }
            if left > 0 {
                let mut last = MaybeUninit::<[V; 2]>::zeroed();
                let numbers = last.as_mut_ptr().cast::<Complex<V::Scalar>>();
                numbers.copy_from_nonoverlapping(from.add(whole * V::LANES), left);
                *rows.add(i + whole * group_rows) = load_row(numbers);
            }
        }
    }
}

/// Copies rows to lines, times a factor; unless `forward`, all but the first position in reverse
/// order.
///
/// # Safety
/// The rows are readable, and the lines are writable.
#[inline(always)]
unsafe fn store_columns<V: Vector>(
    rows: *const Row<V>,
    to: *mut Complex<V::Scalar>,
    (factor, forward): (V::Scalar, bool),
    ColumnLayout { n, step, lines, group_rows, out_of_place }: ColumnLayout,
) {
    let (whole, left) = (lines / V::LANES, lines % V::LANES);
    let factor = V::splat(factor);
    // SAFETY: the caller's contract.
    unsafe {
        for i in 0..n {
            let at = if forward || i == 0 { i } else { n - i };
            let to = to.wrapping_offset(at as isize * step);
            if out_of_place {
                let ahead = if forward { PREFETCH_POSITIONS } else { -PREFETCH_POSITIONS };
                prefetch_lines(to.wrapping_offset(ahead * step), 0, 1, lines);
            }
            for group in 0..whole {
                let row = scale_row(*rows.add(i + group * group_rows), factor);
                store_row(row, to.add(group * V::LANES));
            }
            if left > 0 {
                let last = V::interleave(scale_row(*rows.add(i + whole * group_rows), factor));
                let numbers = (&raw const last).cast::<Complex<V::Scalar>>();
                to.add(whole * V::LANES).copy_from_nonoverlapping(numbers, left);
            }
        }
    }
}

/// First passes that read whole groups of lines from memory into rows.
macro_rules! first {
    ($($p:literal $transform:ident [$($j:literal)*]: $first:ident;)*) => {$(
        /// # Safety
        /// As `load_columns`.
        #[inline(always)]
        unsafe fn $first<V: Vector>(
            pass: &RadixPass<V::Scalar>,
            from: *const Complex<V::Scalar>,
            rows: *mut Row<V>,
            ColumnLayout { step, lines, group_rows, .. }: ColumnLayout,
        ) {
            let hop = pass.after as isize * step;
            // SAFETY: the caller's contract.
            unsafe {
                for k in 0..pass.after {
                    let from = from.wrapping_offset(k as isize * step);
                    prefetch_lines(from.wrapping_offset(step), hop, $p, lines);
                    for group in 0..lines / V::LANES {
                        let from = from.add(group * V::LANES);
                        let to = rows.add(k + group * group_rows);
                        let x = [load_row(from) $(, load_row(from.wrapping_offset($j * hop)))*];
                        let y = $transform(x);
                        *to = y[0];
                        if k == 0 {
                            $(*to.add(pass.after * $j) = y[$j];)*
                        } else {
                            let twiddles = pass.twiddles.as_ptr().add(($p - 1) * k);
                            $(*to.add(pass.after * $j) = times_twiddle(y[$j], *twiddles.add($j - 1));)*
                        }
                    }
                }
            }
        }
    )*};
}
first! {
    8 dft8 [1 2 3 4 5 6 7]: load_dft8;
}

/// Last passes that write whole groups of lines from rows to memory.
macro_rules! last {
    ($($p:literal $transform:ident [$($j:literal)*]: $last:ident;)*) => {$(
        /// # Safety
        /// As `store_columns`.
        #[inline(always)]
        unsafe fn $last<V: Vector>(
            pass: &RadixPass<V::Scalar>,
            rows: *const Row<V>,
            to: *mut Complex<V::Scalar>,
            (factor, forward): (V::Scalar, bool),
            ColumnLayout { n, step, lines, group_rows, out_of_place }: ColumnLayout,
        ) {
            let step = if forward { step } else { -step };
            let hop = pass.before as isize * step;
            // In reverse order, positions before the first are at the end of the line.
            let end = to.wrapping_offset(if forward { 0 } else { -step * n as isize });
            let scaled = factor != V::Scalar::one();
            let factor = V::splat(factor);
            // SAFETY: the caller's contract.
            unsafe {
                for b in 0..pass.before {
                    let others = end.wrapping_offset(b as isize * step);
                    let first = if b == 0 { to } else { others };
                    if out_of_place {
                        prefetch_lines(others.wrapping_offset(step), hop, $p, lines);
                    }
                    for group in 0..lines / V::LANES {
                        let from = rows.add($p * b + group * group_rows);
                        let mut y = $transform([*from $(, *from.add($j))*]);
                        if scaled {
                            y[0] = scale_row(y[0], factor);
                            $(y[$j] = scale_row(y[$j], factor);)*
                        }
                        let at = group * V::LANES;
                        store_row(y[0], first.add(at));
                        $(store_row(y[$j], others.wrapping_offset($j * hop).add(at));)*
                    }
                }
            }
        }
    )*};
}
last! {
    8 dft8 [1 2 3 4 5 6 7]: dft8_store;
    5 dft5 [1 2 3 4]: dft5_store;
}

/// Transforms a strip. Adjacent lines: first the full groups of as many as a vector has lanes, then
/// the rest.
///
/// # Safety
/// The input and output lines are valid, and the workspace has `group_rows` rows for every group and one
/// more.
#[inline(always)]
pub(super) unsafe fn transform<V: Vector>(
    passes: &Passes<V::Scalar>,
    strip: Strip<V::Scalar>,
    rows: *mut Row<V>,
    group_rows: usize,
) {
    let (n, Strip { from, to, lines, column_steps, factor, forward }) = (passes.n, strip);
    let whole = if column_steps.is_some() { lines - lines % V::LANES } else { 0 };
    let (all, last) = (&passes.passes[..], passes.passes.len() - 1);
    for (start, lines) in [(0, whole), (whole, lines - whole)] {
        if lines == 0 {
            continue;
        }
        let fused_load = start < whole && all[0].p == 8;
        let fused_store = start < whole && last > 0 && matches!(all[last].p, 5 | 8);
        let middle = &all[usize::from(fused_load)..all.len() - usize::from(fused_store)];
        let (from, to) = (from.wrapping_add(start), to.wrapping_add(start));
        let out_of_place = from != to.cast_const();
        let layout = |step| ColumnLayout { n, step, lines, group_rows, out_of_place };
        // SAFETY: the caller's contract. The group before the rows of a group is free: for the
        // first one, and once the group before has moved down.
        unsafe {
            let own = rows.add(group_rows);
            match column_steps {
                Some([step, _]) if fused_load => load_dft8::<V>(&all[0], from, own, layout(step)),
                Some([step, _]) => load_columns::<V>(from, own, layout(step)),
                None => gather::<V>(n, from, lines, own, forward),
            }
            let odd = !middle.len().is_multiple_of(2);
            for group in 0..lines.div_ceil(V::LANES) {
                let own = own.add(group_rows * group);
                Passes::run::<V>(middle, own, if odd { own.sub(group_rows) } else { rows });
            }
            let (out, scaled) = (if odd { rows } else { own }, (factor, forward));
            match (column_steps, &all[last]) {
                (Some([_, step]), pass) if fused_store && pass.p == 8 => {
                    dft8_store::<V>(pass, out, to, scaled, layout(step));
                }
                (Some([_, step]), pass) if fused_store => {
                    dft5_store::<V>(pass, out, to, scaled, layout(step));
                }
                (Some([_, step]), _) => store_columns::<V>(out, to, scaled, layout(step)),
                (None, _) => scatter::<V>(n, out, to, lines, forward),
            }
        }
    }
}
