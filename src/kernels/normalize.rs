//! Normalisation of rows, forward and first-order backward.
//!
//! Owns: both loops. Never scales or shifts by parameters: those are element-wise operations.
//! Invariant: sums run over fixed blocks in float64, so a result depends on the row alone.

use std::ops::{Add, Mul, Sub};

use super::leveled::leveled;
use super::view::{View, ViewMut};
use crate::dtype::{DType, Element};
use crate::threads::parallel_for;

/// Running sums that a block has side by side.
const LANES: usize = 16;
/// Elements per block of a sum.
const BLOCK: usize = 1024;
/// Elements per block of a split.
const SPLIT: usize = 1 << 15;

trait Number: Element + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    const ZERO: Self;
}
impl Number for f64 {
    const ZERO: f64 = 0.0;
}
impl Number for f32 {
    const ZERO: f32 = 0.0;
}

/// The sum of `term(0..n)`.
#[inline(always)]
fn sum<T: Number>(n: usize, term: impl Fn(usize) -> T) -> f64 {
    let mut total = 0.0;
    for start in (0..n).step_by(BLOCK) {
        let len = BLOCK.min(n - start);
        let mut lanes = [T::ZERO; LANES];
        for at in (0..len / LANES * LANES).step_by(LANES) {
            for (k, lane) in lanes.iter_mut().enumerate() {
                *lane = *lane + term(start + at + k);
            }
        }
        for (lane, at) in lanes.iter_mut().zip(len / LANES * LANES..len) {
            *lane = *lane + term(start + at);
        }
        total += lanes.iter().map(|lane| lane.to_f64()).sum::<f64>();
    }
    total
}

/// Runs `body(first row, rows)` over all rows, split when there is much to do.
fn by_rows(rows: usize, n: usize, body: &(dyn Fn(usize, usize) + Sync)) {
    let blocks = (rows * n / SPLIT).clamp(1, rows.max(1));
    parallel_for(blocks, &|i| {
        let (start, end) = (i * rows / blocks, (i + 1) * rows / blocks);
        body(start, end - start);
    });
}

fn shape(x: &View, others: &[bool]) -> (usize, usize) {
    assert!(x.dims.len() == 2 && others.iter().all(|&c| c), "normalize takes contiguous (rows, n)");
    (x.dims[0], x.dims[1])
}

/// `y = (x - mean) r` with `r = 1 / sqrt(mean((x - mean)²) + eps)` for each row; without `centred` the mean counts as 0.
pub fn forward(dtype: DType, x: View, eps: f64, centred: bool, y: ViewMut, r: ViewMut) {
    let (rows, n) = shape(&x, &[x.is_contiguous(), y.is_contiguous(), r.is_contiguous()]);
    assert!(y.dims == x.dims && r.dims == [rows]);
    by_rows(rows, n, &|first, count| {
        let (row, skip) = (first as isize, (first * n) as isize);
        // SAFETY: the views are contiguous and hold these rows.
        unsafe {
            match dtype {
                DType::F64 => {
                    forward_rows::<f64>(x.at(skip), y.at(skip), r.at(row), n, count, eps, centred)
                }
                _ => forward_rows::<f32>(x.at(skip), y.at(skip), r.at(row), n, count, eps, centred),
            }
        }
    });
}

leveled! {
    /// `rows` rows of `n`.
    unsafe fn forward_rows<T: Number>(
        x: *const T, y: *mut T, r: *mut T, n: usize, rows: usize, eps: f64, centred: bool,
    ) = forward_rows_body
}

/// # Safety
/// `x` and `y` hold `rows` rows of `n` elements, `r` one element per row.
#[inline(always)]
unsafe fn forward_rows_body<T: Number>(
    x: *const T,
    y: *mut T,
    r: *mut T,
    n: usize,
    rows: usize,
    eps: f64,
    centred: bool,
) {
    for row in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (x, y) = (x.add(row * n), y.add(row * n));
            let mean = if centred { sum(n, |i| *x.add(i)) / n as f64 } else { 0.0 };
            let mean = T::from_f64(mean);
            let square = |i: usize| {
                let d = *x.add(i) - mean;
                d * d
            };
            let scale = T::from_f64((sum(n, square) / n as f64 + eps).sqrt().recip());
            *r.add(row) = scale;
            for i in 0..n {
                *y.add(i) = (*x.add(i) - mean) * scale;
            }
        }
    }
}

/// The gradient of `forward` from its results: `r (g - mean(g) - y mean(g y))`, without `mean(g)` unless `centred`.
pub fn backward(dtype: DType, y: View, r: View, g: View, centred: bool, out: ViewMut) {
    let whole = [y.is_contiguous(), r.is_contiguous(), g.is_contiguous(), out.is_contiguous()];
    let (rows, n) = shape(&y, &whole);
    assert!(g.dims == y.dims && out.dims == y.dims && r.dims == [rows]);
    by_rows(rows, n, &|first, count| {
        let (row, skip) = (first as isize, (first * n) as isize);
        // SAFETY: the views are contiguous and hold these rows.
        unsafe {
            match dtype {
                DType::F64 => {
                    backward_rows::<f64>(
                        y.at(skip),
                        r.at(row),
                        g.at(skip),
                        out.at(skip),
                        n,
                        count,
                        centred,
                    );
                }
                _ => backward_rows::<f32>(
                    y.at(skip),
                    r.at(row),
                    g.at(skip),
                    out.at(skip),
                    n,
                    count,
                    centred,
                ),
            }
        }
    });
}

leveled! {
    /// `rows` rows of `n`.
    unsafe fn backward_rows<T: Number>(
        y: *const T, r: *const T, g: *const T, out: *mut T, n: usize, rows: usize, centred: bool,
    ) = backward_rows_body
}

/// # Safety
/// `y`, `g` and `out` hold `rows` rows of `n` elements, `r` one element per row.
#[inline(always)]
unsafe fn backward_rows_body<T: Number>(
    y: *const T,
    r: *const T,
    g: *const T,
    out: *mut T,
    n: usize,
    rows: usize,
    centred: bool,
) {
    for row in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (y, g, out) = (y.add(row * n), g.add(row * n), out.add(row * n));
            let mean = if centred { sum(n, |i| *g.add(i)) / n as f64 } else { 0.0 };
            let slope = sum(n, |i| *g.add(i) * *y.add(i)) / n as f64;
            let (mean, slope, scale) = (T::from_f64(mean), T::from_f64(slope), *r.add(row));
            for i in 0..n {
                *out.add(i) = ((*g.add(i) - mean) - *y.add(i) * slope) * scale;
            }
        }
    }
}
