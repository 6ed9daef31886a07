//! Fused softmax, log-softmax and cross-entropy along the last axis of contiguous rows.
//!
//! Owns: their forward and first-order backward loops. Never reduces over another axis, weights or
//! averages: that is the caller's.
//! Invariant: every row is shifted by its maximum, so nothing overflows that has a finite result.

use std::mem::MaybeUninit;

use super::lane::Lane;
use super::leveled::leveled_fma;
use super::real::Real;
use super::reduce::{LEAF, Max, Sum, Tree, fold_run};
use super::view::{View, ViewMut};
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::threads::parallel_for;

/// Elements per block of a split.
const BLOCK: usize = 1 << 15;

trait Float: Element + std::ops::Sub<Output = Self> + std::ops::Mul<Output = Self>
    + std::ops::Add<Output = Self> + std::ops::Div<Output = Self>
{
    const ZERO: Self;
    fn exp<const FMA: bool>(self) -> Self;
    fn ln(self) -> Self;
    /// # Safety
    /// `n` elements are readable.
    unsafe fn largest(p: *const Self, n: usize) -> Self;
    /// # Safety
    /// `n` elements are readable.
    unsafe fn total(p: *const Self, n: usize) -> Self;
}

macro_rules! float {
    ($($t:ident),*) => {$(
        impl Float for $t {
            const ZERO: $t = 0.0;
            #[inline(always)]
            fn exp<const FMA: bool>(self) -> $t {
                Lane::<$t, FMA>(self).exp().0
            }
            #[inline(always)]
            fn ln(self) -> $t {
                $t::ln(self)
            }
            #[inline(always)]
            unsafe fn largest(p: *const $t, n: usize) -> $t {
                // SAFETY: the caller's contract.
                unsafe { fold_run::<Max<$t>>(p, n) }
            }
            #[inline(always)]
            unsafe fn total(p: *const $t, n: usize) -> $t {
                // SAFETY: the caller's contract.
                unsafe { fold_run::<Sum<$t>>(p, n) }
            }
        }
    )*};
}
float!(f64, f32);

/// Calls `$f::<T>` for the float type of a dtype; other dtypes never get here.
macro_rules! float_dtype {
    ($dtype:expr, $f:ident($($arg:expr),*)) => {
        match $dtype {
            DType::F64 => $f::<f64>($($arg),*),
            DType::F32 => $f::<f32>($($arg),*),
            other => panic!("softmax of {other}"),
        }
    };
}

/// Rows and columns of contiguous operands of equal dims.
fn shape(dims: &[usize], contiguous: &[bool]) -> (usize, usize) {
    assert!(contiguous.iter().all(|&c| c), "softmax takes contiguous rows");
    let columns = dims.last().copied().unwrap_or(1);
    (dims.iter().rev().skip(1).product(), columns)
}

/// Runs `body(first row, row count)` over all rows, split when there is much to do.
fn by_rows(rows: usize, columns: usize, body: &(dyn Fn(usize, usize) + Sync)) {
    if rows == 0 || columns == 0 {
        return;
    }
    let blocks = (rows * columns / BLOCK).clamp(1, rows);
    parallel_for(blocks, &|i| {
        let (start, end) = (i * rows / blocks, (i + 1) * rows / blocks);
        body(start, end - start);
    });
}

/// `out = softmax(x)` along the last axis.
pub fn softmax(dtype: DType, x: View, out: ViewMut) {
    float_dtype!(dtype, soft(x, out, false));
}

/// `out = log(softmax(x))` along the last axis.
pub fn log_softmax(dtype: DType, x: View, out: ViewMut) {
    float_dtype!(dtype, soft(x, out, true));
}

fn soft<T: Float>(x: View, out: ViewMut, log: bool) {
    assert_eq!(x.dims, out.dims);
    let (rows, n) = shape(x.dims, &[x.is_contiguous(), out.is_contiguous()]);
    by_rows(rows, n, &|first, count| {
        let skip = (first * n) as isize;
        // SAFETY: the views are contiguous and hold these rows.
        unsafe {
            if log {
                log_rows::<T>(x.at(skip), out.at(skip), n, count);
            } else {
                soft_rows::<T>(x.at(skip), out.at(skip), n, count);
            }
        }
    });
}

/// The gradient of `softmax` from its result `y`: `y * (g - sum(g * y))`.
pub fn softmax_backward(dtype: DType, y: View, g: View, out: ViewMut) {
    float_dtype!(dtype, soft_backward(y, g, out, false));
}

/// The gradient of `log_softmax` from its result `y`: `g - exp(y) * sum(g)`.
pub fn log_softmax_backward(dtype: DType, y: View, g: View, out: ViewMut) {
    float_dtype!(dtype, soft_backward(y, g, out, true));
}

fn soft_backward<T: Float>(y: View, g: View, out: ViewMut, log: bool) {
    assert!(y.dims == out.dims && g.dims == out.dims);
    let whole = [y.is_contiguous(), g.is_contiguous(), out.is_contiguous()];
    let (rows, n) = shape(y.dims, &whole);
    by_rows(rows, n, &|first, count| {
        let skip = (first * n) as isize;
        // SAFETY: the views are contiguous and hold these rows.
        unsafe {
            if log {
                log_back_rows::<T>(y.at(skip), g.at(skip), out.at(skip), n, count);
            } else {
                soft_back_rows::<T>(y.at(skip), g.at(skip), out.at(skip), n, count);
            }
        }
    });
}

/// Per row of `x` (rows, classes): `loss = -log_softmax(x)[target]`, 0 where the target is `ignore`.
/// `stats` (rows, 2) receives what the backward needs: the row's maximum and the logarithm of the sum
/// of the shifted exponentials. An error names a target that is no class.
pub fn cross_entropy(
    dtype: DType,
    x: View,
    targets: View,
    ignore: i64,
    loss: ViewMut,
    stats: ViewMut,
) -> Result<()> {
    check_targets(x.dims, targets, ignore)?;
    float_dtype!(dtype, entropy(x, targets, ignore, loss, stats));
    Ok(())
}

fn check_targets(dims: &[usize], targets: View, ignore: i64) -> Result<()> {
    assert!(dims.len() == 2 && targets.dims == &dims[..1], "cross_entropy: (rows, classes)");
    for i in 0..dims[0] as isize {
        // SAFETY: the view holds one int64 per row.
        let target = unsafe { *targets.at::<i64>(i * targets.strides[0]) };
        if target != ignore && !(0..dims[1] as i64).contains(&target) {
            return Err(Box::new(Error::IndexRange {
                op: "cross_entropy".into(),
                index: target,
                axis: 1,
                size: dims[1],
            }));
        }
    }
    Ok(())
}

fn entropy<T: Float>(x: View, targets: View, ignore: i64, loss: ViewMut, stats: ViewMut) {
    let (rows, n) = shape(x.dims, &[x.is_contiguous(), loss.is_contiguous(), stats.is_contiguous()]);
    assert!(loss.dims == [rows] && stats.dims == [rows, 2]);
    by_rows(rows, n, &|first, count| {
        for row in first as isize..(first + count) as isize {
            // SAFETY: the views hold these rows; targets were checked to be classes.
            unsafe {
                let p = x.at::<T>(row * n as isize);
                let target = *targets.at::<i64>(row * targets.strides[0]);
                let top = T::largest(p, n);
                let log_sum = shifted_sum::<T>(p, n, top).ln();
                *stats.at::<T>(2 * row) = top;
                *stats.at::<T>(2 * row + 1) = log_sum;
                *loss.at::<T>(row) = match target {
                    t if t == ignore => T::ZERO,
                    t => (top - *p.offset(t as isize)) + log_sum,
                };
            }
        }
    });
}

/// `out = (softmax(x) - onehot(target)) * g`, row by row, from the statistics of the forward; zero
/// where the target is `ignore`. `g` has one element per row (its stride may be 0).
pub fn cross_entropy_backward(
    dtype: DType,
    x: View,
    targets: View,
    ignore: i64,
    stats: View,
    g: View,
    out: ViewMut,
) -> Result<()> {
    check_targets(x.dims, targets, ignore)?;
    float_dtype!(dtype, entropy_backward(x, targets, ignore, stats, g, out));
    Ok(())
}

fn entropy_backward<T: Float>(
    x: View,
    targets: View,
    ignore: i64,
    stats: View,
    g: View,
    out: ViewMut,
) {
    let whole = [x.is_contiguous(), stats.is_contiguous(), out.is_contiguous()];
    let (rows, n) = shape(x.dims, &whole);
    assert!(g.dims == [rows] && stats.dims == [rows, 2] && out.dims == x.dims);
    by_rows(rows, n, &|first, count| {
        for row in first as isize..(first + count) as isize {
            // SAFETY: the views hold these rows; targets were checked to be classes.
            unsafe {
                let (p, to) = (x.at::<T>(row * n as isize), out.at::<T>(row * n as isize));
                let target = *targets.at::<i64>(row * targets.strides[0]);
                if target == ignore {
                    std::slice::from_raw_parts_mut(to, n).fill(T::ZERO);
                    continue;
                }
                let (top, log_sum) = (*stats.at::<T>(2 * row), *stats.at::<T>(2 * row + 1));
                let grad = *g.at::<T>(row * g.strides[0]);
                scaled_exp::<T>(p, to, n, (top, log_sum), grad);
                let slot = to.offset(target as isize);
                *slot = *slot - grad;
            }
        }
    });
}

leveled_fma! {
    /// `out = exp((x - shift.0) - shift.1) * scale`.
    unsafe fn scaled_exp<T: Float>(
        x: *const T, out: *mut T, n: usize, shift: (T, T), scale: T,
    ) = scaled_exp_body
}

/// # Safety
/// `x` and `out` hold `n` elements.
#[inline(always)]
unsafe fn scaled_exp_body<T: Float, const FMA: bool>(
    x: *const T,
    out: *mut T,
    n: usize,
    shift: (T, T),
    scale: T,
) {
    for j in 0..n {
        // SAFETY: the caller's contract.
        unsafe { *out.add(j) = ((*x.add(j) - shift.0) - shift.1).exp::<FMA>() * scale };
    }
}

leveled_fma! {
    /// The pairwise sum of `exp(x - top)`.
    unsafe fn shifted_sum<T: Float>(x: *const T, n: usize, top: T) -> T = shifted_sum_body
}

/// # Safety
/// `x` holds `n` elements.
#[inline(always)]
unsafe fn shifted_sum_body<T: Float, const FMA: bool>(x: *const T, n: usize, top: T) -> T {
    let mut buffer = [MaybeUninit::<T>::uninit(); LEAF];
    let mut tree = Tree::new();
    for start in (0..n).step_by(LEAF) {
        let len = LEAF.min(n - start);
        for (j, slot) in buffer[..len].iter_mut().enumerate() {
            // SAFETY: the caller's contract.
            slot.write((unsafe { *x.add(start + j) } - top).exp::<FMA>());
        }
        // SAFETY: the first `len` elements of the buffer were just written.
        tree.push(unsafe { T::total(buffer.as_ptr().cast(), len) }, |a, b| a + b);
    }
    tree.finish(|a, b| a + b).unwrap_or(T::ZERO)
}

leveled_fma! {
    /// Softmax of `rows` rows of `n`.
    unsafe fn soft_rows<T: Float>(x: *const T, out: *mut T, n: usize, rows: usize) = soft_rows_body
}

/// # Safety
/// `x` and `out` hold `rows` rows of `n` elements.
#[inline(always)]
unsafe fn soft_rows_body<T: Float, const FMA: bool>(
    x: *const T,
    out: *mut T,
    n: usize,
    rows: usize,
) {
    // Narrow rows share the loop of exponentials, so that it runs in full vectors.
    let group = (LEAF / n.max(1)).max(1);
    for first in (0..rows).step_by(group) {
        let count = group.min(rows - first);
        // SAFETY: the caller's contract.
        unsafe {
            let (x, out) = (x.add(first * n), out.add(first * n));
            for row in 0..count {
                let (x, out) = (x.add(row * n), out.add(row * n));
                let top = T::largest(x, n);
                for j in 0..n {
                    let shifted = *x.add(j) - top;
                    *out.add(j) = if group == 1 { shifted.exp::<FMA>() } else { shifted };
                }
            }
            for j in 0..if group == 1 { 0 } else { count * n } {
                *out.add(j) = (*out.add(j)).exp::<FMA>();
            }
            for row in 0..count {
                let out = out.add(row * n);
                let sum = T::total(out, n);
                for j in 0..n {
                    *out.add(j) = *out.add(j) / sum;
                }
            }
        }
    }
}

leveled_fma! {
    /// Log-softmax of `rows` rows of `n`.
    unsafe fn log_rows<T: Float>(x: *const T, out: *mut T, n: usize, rows: usize) = log_rows_body
}

/// # Safety
/// `x` and `out` hold `rows` rows of `n` elements.
#[inline(always)]
unsafe fn log_rows_body<T: Float, const FMA: bool>(
    x: *const T,
    out: *mut T,
    n: usize,
    rows: usize,
) {
    for row in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (x, out) = (x.add(row * n), out.add(row * n));
            let top = T::largest(x, n);
            let log_sum = shifted_sum_body::<T, FMA>(x, n, top).ln();
            for j in 0..n {
                *out.add(j) = (*x.add(j) - top) - log_sum;
            }
        }
    }
}

leveled_fma! {
    /// Backward of softmax for `rows` rows of `n`.
    unsafe fn soft_back_rows<T: Float>(
        y: *const T, g: *const T, out: *mut T, n: usize, rows: usize,
    ) = soft_back_body
}

/// # Safety
/// `y`, `g` and `out` hold `rows` rows of `n` elements.
#[inline(always)]
unsafe fn soft_back_body<T: Float, const FMA: bool>(
    y: *const T,
    g: *const T,
    out: *mut T,
    n: usize,
    rows: usize,
) {
    for row in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (y, g, out) = (y.add(row * n), g.add(row * n), out.add(row * n));
            for j in 0..n {
                *out.add(j) = *g.add(j) * *y.add(j);
            }
            let dot = T::total(out, n);
            for j in 0..n {
                *out.add(j) = *y.add(j) * (*g.add(j) - dot);
            }
        }
    }
}

leveled_fma! {
    /// Backward of log-softmax for `rows` rows of `n`.
    unsafe fn log_back_rows<T: Float>(
        y: *const T, g: *const T, out: *mut T, n: usize, rows: usize,
    ) = log_back_body
}

/// # Safety
/// `y`, `g` and `out` hold `rows` rows of `n` elements.
#[inline(always)]
unsafe fn log_back_body<T: Float, const FMA: bool>(
    y: *const T,
    g: *const T,
    out: *mut T,
    n: usize,
    rows: usize,
) {
    for row in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (y, g, out) = (y.add(row * n), g.add(row * n), out.add(row * n));
            let sum = T::total(g, n);
            for j in 0..n {
                *out.add(j) = *g.add(j) - (*y.add(j)).exp::<FMA>() * sum;
            }
        }
    }
}
