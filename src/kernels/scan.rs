//! Cumulative operations along one axis: sums, products, logsumexp, extremes, and linear recurrences. One
//! thread folds each line, front to back.
//!
//! Invariant: element `i` of a line depends on the elements up to `i` only.

use super::cast::{convert_through, with_computing_input, with_computing_output, with_copy};
use super::launch::launch;
use super::number::ring::Ring;
use super::view::{Axes, View, ViewMut, one_dtype, with_computing, with_float};
use crate::dtype::{Complex64, Complex128, DType, Element};
use crate::error::Result;
use crate::threads::{parallel_for, parallel_for_two_ended};

/// Elements per block of a split.
const BLOCK_ELEMENTS: usize = 1 << 15;

/// Adjacent lines that are folded together; fewer than a tenth of this do not pay.
const STRIP_LINES: usize = 256;

/// A cumulative operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scan {
    /// Sums; integers wrap.
    Sum,
    /// Products; integers wrap.
    Prod,
    /// Logarithms of sums of exponentials; floats only.
    LogSum,
}

/// The lines of one axis in `N` operands of the same dims.
pub(super) struct Lines<const N: usize> {
    others: Axes<N>,
    /// The number of elements of a line.
    pub(super) len: usize,
    /// The step of a line in each operand.
    pub(super) steps: [isize; N],
}

impl<const N: usize> Lines<N> {
    pub(super) fn new(dims: &[usize], axis: usize, strides: [&[isize]; N]) -> Lines<N> {
        let mut others = Axes::new(dims, strides);
        let (len, steps) = (others.dims.remove(axis), others.strides.remove(axis));
        Lines { others, len, steps }
    }

    /// An axis along which lines are adjacent in every operand, if there are enough of them.
    fn adjacent_lines_axis(&self) -> Option<usize> {
        let mut axes = self.others.dims.iter().zip(&self.others.strides);
        axes.position(|(&dim, strides)| dim > STRIP_LINES / 10 && strides.iter().all(|&s| s == 1))
    }

    /// Calls `body` with the start offsets of every line, possibly from several threads.
    pub(super) fn each(&self, body: &(dyn Fn([isize; N]) + Sync)) {
        self.each_inline(&body);
    }

    /// The same, monomorphised for every body: for lines that may be short.
    fn each_inline(&self, body: &(impl Fn([isize; N]) + Sync)) {
        let count = self.others.count();
        if count == 0 || self.len == 0 {
            return;
        }
        let blocks = (count.saturating_mul(self.len) / BLOCK_ELEMENTS).clamp(1, count);
        parallel_for(blocks, &|b| {
            let (start, end) = (b * count / blocks, (b + 1) * count / blocks);
            self.others.for_range(start, end, &mut |at| body(at));
        });
    }
}

/// Whether a dtype has loops of its own; the others are converted to the dtype that computes for them.
fn has_loops(dtype: DType) -> bool {
    dtype.computes() == dtype
}

/// The bytes of the temporaries that the scan of `n` elements of a dtype allocates; the caller accounts for
/// them.
pub fn working_bytes(dtype: DType, n: usize) -> usize {
    if has_loops(dtype) { 0 } else { n.saturating_mul(2 * dtype.computes().size()) }
}

/// Writes the cumulative result of `input` along `axis`, with equal dims and of one dtype.
///
/// # Panics
/// When the dims differ or the dtype has no such fold: bugs of the caller.
///
/// # Errors
/// `Memory` if there is none for copies in a dtype that has loops.
pub fn scan(op: Scan, input: View, axis: usize, out: ViewMut) -> Result<()> {
    launch!("scan", [input] => [out];; scan_elements(op, input, axis, out))
}

fn scan_elements(op: Scan, input: View, axis: usize, out: ViewMut) -> Result<()> {
    let dtype = one_dtype([input.dtype, out.dtype]);
    match op {
        Scan::Sum | Scan::Prod if !has_loops(dtype) => {
            // The low bits of a wide sum or product are those of the narrow one, and so is its truth value.
            let wide = dtype.computes();
            let elements = |input: View, out: ViewMut| scan_elements(op, input, axis, out);
            return convert_through(wide, input, wide, out, elements);
        }
        Scan::Sum => with_computing!(dtype, T => fold::<T>(input, axis, out, T::plus)),
        Scan::Prod => with_computing!(dtype, T => fold::<T>(input, axis, out, T::times)),
        Scan::LogSum if !has_loops(dtype) => {
            let wide = dtype.computes();
            let elements = |input: View, out: ViewMut| scan_elements(op, input, axis, out);
            return convert_through(wide, input, wide, out, elements);
        }
        Scan::LogSum => with_float!([input, out], T => {
            fold::<T>(input, axis, out, |a, b| T::from_f64(log_add(a.to_f64(), b.to_f64())));
        }),
    }
    Ok(())
}

/// `ln(e^a + e^b)`; equal infinities stay themselves.
fn log_add(a: f64, b: f64) -> f64 {
    if a == b && a.is_infinite() {
        return a;
    }
    (if a > b { a } else { b }) + (-(a - b).abs()).exp().ln_1p()
}

fn fold<T: Copy>(input: View, axis: usize, out: ViewMut, step: impl Fn(T, T) -> T + Sync) {
    assert!(input.dims == out.dims, "scan: dims");
    let lines = Lines::new(input.dims, axis, [input.strides, out.strides]);
    let [from_step, to_step] = lines.steps;
    if from_step != 1
        && let Some(axis) = lines.adjacent_lines_axis()
    {
        return fold_strips(lines, axis, &input, &out, step);
    }
    lines.each_inline(&|[from, to]| {
        // SAFETY: the views are valid for every position of their axes, and lines are disjoint in `out`.
        unsafe {
            let mut state = *input.at::<T>(from);
            *out.at::<T>(to) = state;
            for i in 1..lines.len as isize {
                state = step(state, *input.at::<T>(from + i * from_step));
                *out.at::<T>(to + i * to_step) = state;
            }
        }
    });
}

/// Folds adjacent lines together: row by row instead of column by column.
fn fold_strips<T: Copy>(
    lines: Lines<2>,
    axis: usize,
    input: &View,
    out: &ViewMut,
    step: impl Fn(T, T) -> T + Sync,
) {
    let Lines { mut others, len, steps: [from_step, to_step] } = lines;
    let (width, _) = (others.dims.remove(axis), others.strides.remove(axis));
    let strips = width.div_ceil(STRIP_LINES);
    let units = others.count() * strips;
    if units * len == 0 {
        return;
    }
    let blocks = (others.count().saturating_mul(width * len) / BLOCK_ELEMENTS).clamp(1, units);
    let strip = |from: isize, to: isize, n: usize| {
        // SAFETY: as in `fold`, for `n` adjacent lines.
        unsafe {
            let (mut from, mut to) = (input.at::<T>(from), out.at::<T>(to));
            std::ptr::copy_nonoverlapping(from, to, n);
            for _ in 1..len {
                let before = to;
                (from, to) = (from.offset(from_step), to.offset(to_step));
                for j in 0..n {
                    *to.add(j) = step(*before.add(j), *from.add(j));
                }
            }
        }
    };
    parallel_for_two_ended(blocks, &|b| {
        for unit in b * units / blocks..(b + 1) * units / blocks {
            let (position, at) = (unit / strips, unit % strips * STRIP_LINES);
            others.for_range(position, position + 1, &mut |[from, to]| {
                strip(from + at as isize, to + at as isize, STRIP_LINES.min(width - at));
            });
        }
    });
}

/// `s[i] = a[i] s[i - 1] + b[i]` along `axis`, with 0 before the first; inexact dtypes only.
///
/// # Panics
/// When the dims differ or the dtype is not inexact: bugs of the caller.
///
/// # Errors
/// As `scan`.
pub fn recurrence(a: View, b: View, axis: usize, out: ViewMut) -> Result<()> {
    launch!(
        "recurrence", [a, b] => [out];;
        with_computing_input(a, |a| with_computing_input(b, |b| with_computing_output(&out, false, |out| {
            match a.dtype {
                DType::C128 => linear_recurrence::<Complex128>(a, b, axis, out, |a, s, b| a * s + b),
                DType::C64 => linear_recurrence::<Complex64>(a, b, axis, out, |a, s, b| a * s + b),
                _ => with_float!([a, b, out], T => linear_recurrence::<T>(a, b, axis, out, |a, s, b| a * s + b)),
            }
            Ok(())
        })))
    )
}

fn linear_recurrence<T: Ring>(
    a: View,
    b: View,
    axis: usize,
    out: ViewMut,
    step: impl Fn(T, T, T) -> T + Sync,
) {
    assert!(a.dims == out.dims && b.dims == out.dims, "recurrence: dims");
    let lines = Lines::new(out.dims, axis, [a.strides, b.strides, out.strides]);
    lines.each(&|[at_a, at_b, to]| {
        let [a_step, b_step, to_step] = lines.steps;
        // SAFETY: as in `fold`.
        unsafe {
            let mut state = T::ZERO;
            for i in 0..lines.len as isize {
                let (a, b) = (*a.at::<T>(at_a + i * a_step), *b.at::<T>(at_b + i * b_step));
                // The first factor is unused, even if it is NaN.
                state = if i == 0 { b } else { step(a, state, b) };
                *out.at::<T>(to + i * to_step) = state;
            }
        }
    });
}

/// Writes the index (int64) of the cumulative extreme along `axis`: the last of equals; NaN propagates.
///
/// # Panics
/// When the dims differ: a bug of the caller.
///
/// # Errors
/// As `scan`.
pub fn scan_extreme(largest: bool, input: View, axis: usize, out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::I64, "scan_extreme writes indices");
    launch!("scan_extreme", [input] => [out];; extremes(largest, input, axis, out))
}

fn extremes(largest: bool, input: View, axis: usize, out: ViewMut) -> Result<()> {
    let dtype = input.dtype;
    if !has_loops(dtype) {
        return with_copy(dtype.computes(), input, |copied| extremes(largest, copied, axis, out));
    }
    with_computing!(real dtype, T => if largest {
        extreme::<T>(input, axis, out, |x, best| x < best)
    } else {
        extreme::<T>(input, axis, out, |x, best| x > best)
    });
    Ok(())
}

#[allow(clippy::eq_op)]
fn extreme<T: Copy + PartialEq>(
    input: View,
    axis: usize,
    out: ViewMut,
    misses: impl Fn(T, T) -> bool + Sync,
) {
    assert!(input.dims == out.dims, "scan_extreme: dims");
    let lines = Lines::new(input.dims, axis, [input.strides, out.strides]);
    lines.each(&|[from, to]| {
        let [from_step, to_step] = lines.steps;
        // SAFETY: as in `fold`.
        unsafe {
            let (len, x, indices) = (lines.len as isize, input.at::<T>(from), out.at::<i64>(to));
            let (mut best, mut index) = (*x, 0i64);
            for i in 0..len {
                let x = *x.offset(i * from_step);
                // One well-predicted branch: a new extreme is rare in most lines. `misses` is false for NaN.
                if !misses(x, best) && (best == best || x != x) {
                    (best, index) = (x, i as i64);
                }
                *indices.offset(i * to_step) = index;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The running sums of a row-major matrix along `axis`, by the kernel and one by one.
    fn sums(rows: usize, columns: usize, axis: usize) -> (Vec<i64>, Vec<i64>) {
        let x: Vec<i64> = (0..rows * columns).map(|i| (i * i % 97) as i64 - 40).collect();
        let (dims, strides) = ([rows, columns], [columns as isize, 1]);
        let mut got = vec![0i64; x.len()];
        // SAFETY: both vectors hold the matrix.
        let (input, out) = unsafe {
            (
                View::from_raw(DType::I64, x.as_ptr().cast(), &dims, &strides),
                ViewMut::from_raw(DType::I64, got.as_mut_ptr().cast(), &dims, &strides),
            )
        };
        scan(Scan::Sum, input, axis, out).unwrap();
        let mut want = x;
        let back = if axis == 0 { columns } else { 1 };
        for i in 0..want.len() {
            let first = if axis == 0 { i < columns } else { i % columns == 0 };
            if !first {
                want[i] += want[i - back];
            }
        }
        (got, want)
    }

    #[test]
    fn lines_side_by_side_fold_as_single_lines_do() {
        for (rows, columns) in [(1, 1), (7, 3), (5, 26), (4, 255), (3, 256), (6, 257), (40, 2000)] {
            for axis in [0, 1] {
                let (got, want) = sums(rows, columns, axis);
                assert_eq!(got, want, "{rows} x {columns} along {axis}");
            }
        }
    }

    #[test]
    fn the_last_of_equal_extremes_wins_and_a_nan_stays() {
        let x = [1.0, 3.0, 3.0, 2.0, f64::NAN, 9.0];
        let mut index = [0i64; 6];
        // SAFETY: both arrays hold six elements.
        let (input, out) = unsafe {
            (
                View::from_raw(DType::F64, x.as_ptr().cast(), &[6], &[1]),
                ViewMut::from_raw(DType::I64, index.as_mut_ptr().cast(), &[6], &[1]),
            )
        };
        scan_extreme(true, input, 0, out).unwrap();
        assert_eq!(index, [0, 1, 2, 2, 4, 4]);
    }

    #[test]
    fn a_recurrence_starts_from_nothing() {
        let (a, b, mut s) = ([f64::NAN, 2.0, 3.0], [1.0, 1.0, 1.0], [0.0; 3]);
        // SAFETY: the arrays hold three elements.
        unsafe {
            recurrence(
                View::from_raw(DType::F64, a.as_ptr().cast(), &[3], &[1]),
                View::from_raw(DType::F64, b.as_ptr().cast(), &[3], &[1]),
                0,
                ViewMut::from_raw(DType::F64, s.as_mut_ptr().cast(), &[3], &[1]),
            )
            .unwrap();
        }
        assert_eq!(s, [1.0, 3.0, 10.0]);
    }
}
