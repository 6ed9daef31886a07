//! The ways of lines side by side to rows and back, which are the first and the last pass where a radix allows it.
//!
//! Owns: reading and writing vectors as they stand in memory. Never cuts lines into strips.
//! Invariant: what a line becomes does not depend on the lines beside it. The inverse transform is the forward one whose
//! results are written in the reverse order, all but the first.

use std::mem::MaybeUninit;

use rustfft::num_complex::Complex;
use rustfft::num_traits::One;

use super::passes::{Passes, Radix, Row, eight, five, times, turned};
use super::simd::Vector;
use super::transform::Strip;
use super::transpose::{gather, scatter};

/// How many positions ahead memory is called for: each is on a page of its own, where the processor predicts nothing.
const AHEAD: isize = 8;

/// Lines side by side, and their rows.
#[derive(Clone, Copy)]
pub(super) struct Beside {
    /// The positions of a line, and how far they are apart.
    pub(super) n: usize,
    pub(super) step: isize,
    pub(super) lines: usize,
    /// How many rows a group of lines is behind the group before it.
    pub(super) apart: usize,
    /// Whether they are written to another place than they were read from.
    pub(super) elsewhere: bool,
}

/// Calls for `bytes` at each of some places, which need not be some.
#[inline(never)]
fn call_for(at: *const i8, hop: isize, places: usize, bytes: usize) {
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

/// Calls for the lines at each of some places.
#[inline(always)]
fn call<T>(at: *const Complex<T>, hop: isize, places: usize, lines: usize) {
    let size = size_of::<Complex<T>>();
    call_for(at.cast(), hop * size as isize, places, lines * size);
}

/// The parts of as many numbers as there are lanes.
///
/// # Safety
/// The numbers are readable.
#[inline(always)]
unsafe fn row<V: Vector>(from: *const Complex<V::Part>) -> Row<V> {
    // SAFETY: the caller's contract.
    let [a, b] = unsafe { from.cast::<[V; 2]>().read_unaligned() };
    V::split(a, b)
}

/// Writes the numbers of a row.
///
/// # Safety
/// The places are writable.
#[inline(always)]
unsafe fn write<V: Vector>(row: Row<V>, to: *mut Complex<V::Part>) {
    // SAFETY: the caller's contract.
    unsafe { to.cast::<[V; 2]>().write_unaligned(V::join(row)) };
}

/// Copies lines to rows; lanes without a line are zero.
///
/// # Safety
/// The lines are readable, and there are rows.
#[inline(always)]
unsafe fn take<V: Vector>(from: *const Complex<V::Part>, rows: *mut Row<V>, beside: Beside) {
    let Beside { n, step, lines, apart, .. } = beside;
    let (whole, left) = (lines / V::LANES, lines % V::LANES);
    // SAFETY: the caller's contract; zeros are numbers.
    unsafe {
        for i in 0..n {
            let from = from.wrapping_offset(i as isize * step);
            call(from.wrapping_offset(AHEAD * step), 0, 1, lines);
            for group in 0..whole {
                *rows.add(i + group * apart) = row(from.add(group * V::LANES));
            }
            if left > 0 {
                let mut last = MaybeUninit::<[V; 2]>::zeroed();
                let numbers = last.as_mut_ptr().cast::<Complex<V::Part>>();
                numbers.copy_from_nonoverlapping(from.add(whole * V::LANES), left);
                *rows.add(i + whole * apart) = row(numbers);
            }
        }
    }
}

/// The reverse of `take`, times a factor; all but the first position in the reverse order where it is not `forward`.
///
/// # Safety
/// There are rows, and the lines are writable.
#[inline(always)]
unsafe fn put<V: Vector>(
    rows: *const Row<V>,
    to: *mut Complex<V::Part>,
    (factor, forward): (V::Part, bool),
    Beside { n, step, lines, apart, elsewhere }: Beside,
) {
    let (whole, left) = (lines / V::LANES, lines % V::LANES);
    let factor = V::all(factor);
    // SAFETY: the caller's contract.
    unsafe {
        for i in 0..n {
            let at = if forward || i == 0 { i } else { n - i };
            let to = to.wrapping_offset(at as isize * step);
            if elsewhere {
                let ahead = if forward { AHEAD } else { -AHEAD };
                call(to.wrapping_offset(ahead * step), 0, 1, lines);
            }
            for group in 0..whole {
                let row = times(*rows.add(i + group * apart), factor);
                write(row, to.add(group * V::LANES));
            }
            if left > 0 {
                let last = V::join(times(*rows.add(i + whole * apart), factor));
                let numbers = (&raw const last).cast::<Complex<V::Part>>();
                to.add(whole * V::LANES).copy_from_nonoverlapping(numbers, left);
            }
        }
    }
}

/// First passes, from memory to rows, of whole groups of lines.
macro_rules! first {
    ($($p:literal $transform:ident [$($j:literal)*]: $first:ident;)*) => {$(
        /// # Safety
        /// As `take`.
        #[inline(always)]
        unsafe fn $first<V: Vector>(
            pass: &Radix<V::Part>,
            from: *const Complex<V::Part>,
            rows: *mut Row<V>,
            Beside { step, lines, apart, .. }: Beside,
        ) {
            let hop = pass.after as isize * step;
            // SAFETY: the caller's contract.
            unsafe {
                for k in 0..pass.after {
                    let from = from.wrapping_offset(k as isize * step);
                    call(from.wrapping_offset(step), hop, $p, lines);
                    for group in 0..lines / V::LANES {
                        let from = from.add(group * V::LANES);
                        let to = rows.add(k + group * apart);
                        let x = [row(from) $(, row(from.wrapping_offset($j * hop)))*];
                        let y = $transform(x);
                        *to = y[0];
                        if k == 0 {
                            $(*to.add(pass.after * $j) = y[$j];)*
                        } else {
                            let turns = pass.turns.as_ptr().add(($p - 1) * k);
                            $(*to.add(pass.after * $j) = turned(y[$j], *turns.add($j - 1));)*
                        }
                    }
                }
            }
        }
    )*};
}
first! {
    8 eight [1 2 3 4 5 6 7]: first_eight;
}

/// Last passes, from rows to memory, of whole groups of lines.
macro_rules! last {
    ($($p:literal $transform:ident [$($j:literal)*]: $last:ident;)*) => {$(
        /// # Safety
        /// As `put`.
        #[inline(always)]
        unsafe fn $last<V: Vector>(
            pass: &Radix<V::Part>,
            rows: *const Row<V>,
            to: *mut Complex<V::Part>,
            (factor, forward): (V::Part, bool),
            Beside { n, step, lines, apart, elsewhere }: Beside,
        ) {
            let step = if forward { step } else { -step };
            let hop = pass.before as isize * step;
            // What precedes the first position is the end of the line.
            let end = to.wrapping_offset(if forward { 0 } else { -step * n as isize });
            let scaled = factor != V::Part::one();
            let factor = V::all(factor);
            // SAFETY: the caller's contract.
            unsafe {
                for b in 0..pass.before {
                    let others = end.wrapping_offset(b as isize * step);
                    let first = if b == 0 { to } else { others };
                    if elsewhere {
                        call(others.wrapping_offset(step), hop, $p, lines);
                    }
                    for group in 0..lines / V::LANES {
                        let from = rows.add($p * b + group * apart);
                        let mut y = $transform([*from $(, *from.add($j))*]);
                        if scaled {
                            y[0] = times(y[0], factor);
                            $(y[$j] = times(y[$j], factor);)*
                        }
                        let at = group * V::LANES;
                        write(y[0], first.add(at));
                        $(write(y[$j], others.wrapping_offset($j * hop).add(at));)*
                    }
                }
            }
        }
    )*};
}
last! {
    8 eight [1 2 3 4 5 6 7]: last_eight;
    5 five [1 2 3 4]: last_five;
}

/// Transforms a strip. Of lines side by side, whole groups of as many as a vector has lanes come before those that are left.
///
/// # Safety
/// The lines of both places are valid, and there are places `apart` for the rows of every group and one more.
#[inline(always)]
pub(super) unsafe fn transform<V: Vector>(
    passes: &Passes<V::Part>,
    strip: Strip<V::Part>,
    rows: *mut Row<V>,
    apart: usize,
) {
    let (n, Strip { from, to, lines, beside, factor, forward }) = (passes.n, strip);
    let whole = if beside.is_some() { lines - lines % V::LANES } else { 0 };
    let (all, last) = (&passes.passes[..], passes.passes.len() - 1);
    for (start, lines) in [(0, whole), (whole, lines - whole)] {
        if lines == 0 {
            continue;
        }
        let begun = start < whole && all[0].p == 8;
        let ended = start < whole && last > 0 && matches!(all[last].p, 5 | 8);
        let middle = &all[usize::from(begun)..all.len() - usize::from(ended)];
        let (from, to) = (from.wrapping_add(start), to.wrapping_add(start));
        let elsewhere = from != to.cast_const();
        let place = |step| Beside { n, step, lines, apart, elsewhere };
        // SAFETY: the caller's contract. The rows of a group stand behind a place that is free: for the first one, and once
        // the group before it has moved down.
        unsafe {
            let own = rows.add(apart);
            match beside {
                Some([step, _]) if begun => first_eight::<V>(&all[0], from, own, place(step)),
                Some([step, _]) => take::<V>(from, own, place(step)),
                None => gather::<V>(n, from, lines, own, forward),
            }
            let odd = !middle.len().is_multiple_of(2);
            for group in 0..lines.div_ceil(V::LANES) {
                let own = own.add(apart * group);
                Passes::run::<V>(middle, own, if odd { own.sub(apart) } else { rows });
            }
            let (out, scaled) = (if odd { rows } else { own }, (factor, forward));
            match (beside, &all[last]) {
                (Some([_, step]), pass) if ended && pass.p == 8 => {
                    last_eight::<V>(pass, out, to, scaled, place(step));
                }
                (Some([_, step]), pass) if ended => {
                    last_five::<V>(pass, out, to, scaled, place(step));
                }
                (Some([_, step]), _) => put::<V>(out, to, scaled, place(step)),
                (None, _) => scatter::<V>(n, out, to, lines, forward),
            }
        }
    }
}
