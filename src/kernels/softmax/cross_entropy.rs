//! Cross-entropy of rows of logits with integer targets, forward and first-order backward; row weights and
//! means are the caller's.
//!
//! Invariant: a target that is neither a class nor `ignore` is an error before any work.

use std::mem::MaybeUninit;

use super::masked_rows::{RowUpdate, update_rows};
use super::row_blocks::{Float, for_row_blocks, shape, shifted_sum_body};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::launch::launch;
use crate::kernels::multiversion::leveled_fma;
use crate::kernels::view::{View, ViewMut, with_float};

/// Elements of rows whose exponentials are computed in one loop, in full vectors.
const GROUP_ELEMENTS: usize = 512;

/// Per row of `x` (rows, classes): `loss = -log_softmax(x)[target]`, 0 if the target is `ignore`. `stats`
/// (rows, 2) receives what the backward needs: the row's maximum and the logarithm of the sum of the shifted
/// exponentials. An error names a target that is no class.
pub fn cross_entropy(
    x: View,
    targets: View,
    ignore: i64,
    loss: ViewMut,
    stats: ViewMut,
) -> Result<()> {
    launch!("cross_entropy", [x, targets] => [loss, stats];; {
        let checked = check_targets(x.dims, targets, ignore);
        checked.map(|()| {
            with_float!([x, loss, stats], T => cross_entropy_rows::<T>(x, targets, ignore, loss, stats))
        })
    })
}

fn check_targets(dims: &[usize], targets: View, ignore: i64) -> Result<()> {
    assert!(dims.len() == 2 && targets.dims == &dims[..1], "cross_entropy: (rows, classes)");
    assert!(targets.dtype == DType::I64, "cross_entropy: the targets are indices");
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

fn cross_entropy_rows<T: Float>(
    x: View,
    targets: View,
    ignore: i64,
    loss: ViewMut,
    stats: ViewMut,
) {
    let (rows, n) =
        shape(x.dims, &[x.is_contiguous(), loss.is_contiguous(), stats.is_contiguous()]);
    assert!(loss.dims == [rows] && stats.dims == [rows, 2]);
    for_row_blocks(rows, n, &|first, count| {
        let group = (GROUP_ELEMENTS / n).max(1);
        let (mut tops, mut sums) = ([T::ZERO; GROUP_ELEMENTS], [T::ZERO; GROUP_ELEMENTS]);
        for start in (first..first + count).step_by(group) {
            let count = group.min(first + count - start);
            // SAFETY: the views hold these rows, the arrays as many numbers; targets were checked to be
            // classes.
            unsafe {
                let from = x.at::<T>((start * n) as isize);
                row_statistics::<T>(from, n, count, tops.as_mut_ptr(), sums.as_mut_ptr(), true);
                for i in 0..count {
                    let (row, top, log_sum) = ((start + i) as isize, tops[i], sums[i]);
                    *stats.at::<T>(2 * row) = top;
                    *stats.at::<T>(2 * row + 1) = log_sum;
                    *loss.at::<T>(row) = match *targets.at::<i64>(row * targets.strides[0]) {
                        t if t == ignore => T::ZERO,
                        t => (top - *from.add(i * n).offset(t as isize)) + log_sum,
                    };
                }
            }
        }
    });
}

leveled_fma! {
    /// The maximum of each of some rows (at most `GROUP_ELEMENTS` elements, or one row), and the sum of the
    /// exponentials shifted by it, or its logarithm.
    unsafe fn row_statistics<T: Float>(
        x: *const T, n: usize, rows: usize, tops: *mut T, sums: *mut T, logs: bool,
    ) = row_statistics_body
}

/// # Safety
/// `x` holds the rows, `tops` and `sums` have space for a number per row.
#[inline(always)]
unsafe fn row_statistics_body<T: Float, const FMA: bool>(
    x: *const T,
    n: usize,
    rows: usize,
    tops: *mut T,
    sums: *mut T,
    logs: bool,
) {
    // SAFETY: the caller's contract; the buffer is written before it is read.
    unsafe {
        T::row_max(x, n, tops, rows);
        if rows == 1 {
            *sums = shifted_sum_body::<T, FMA>(x, n, *tops);
        } else {
            let mut buffer = [MaybeUninit::<T>::uninit(); GROUP_ELEMENTS];
            let shifted = buffer.as_mut_ptr().cast::<T>();
            update_rows::<T, FMA>(RowUpdate::SubtractMax, (x, shifted), (rows, n), (tops, tops));
            for j in 0..rows * n {
                *shifted.add(j) = (*shifted.add(j)).exp::<FMA>();
            }
            T::row_sums(shifted, n, sums, rows);
        }
        for row in 0..rows {
            if logs {
                *sums.add(row) = (*sums.add(row)).log::<FMA>();
            }
        }
    }
}

/// Per row of `x` (rows, n), the parts of its logsumexp: the maximum, or 0 if that is not finite, and the sum
/// of the exponentials shifted by it.
pub fn logsumexp_parts(x: View, maxima: ViewMut, sums: ViewMut) {
    launch!(
        "levels", [x] => [maxima, sums];;
        with_float!([x, maxima, sums], T => logsumexp_parts_of::<T>(x, &maxima, &sums))
    );
}

fn logsumexp_parts_of<T: Float>(x: View, maxima: &ViewMut, sums: &ViewMut) {
    let whole = [x.is_contiguous(), maxima.is_contiguous(), sums.is_contiguous()];
    let (rows, n) = shape(x.dims, &whole);
    assert!(n > 0 && maxima.dims == [rows] && sums.dims == [rows], "levels: (rows, n)");
    for_row_blocks(rows, n, &|first, count| {
        let group = (GROUP_ELEMENTS / n).max(1);
        for start in (first..first + count).step_by(group) {
            let (at, count) = (start as isize, group.min(first + count - start));
            // SAFETY: the views hold these rows, and a number for each.
            unsafe {
                let from = x.at::<T>(at * n as isize);
                let (tops, sums) = (maxima.at::<T>(at), sums.at::<T>(at));
                row_statistics::<T>(from, n, count, tops, sums, false);
                for row in 0..count {
                    let top = *tops.add(row);
                    if !top.to_f64().is_finite() {
                        (*tops.add(row), *sums.add(row)) = (T::ZERO, T::ZERO.max_or_nan(top));
                    }
                }
            }
        }
    });
}

/// `out = (softmax(x) - onehot(target)) * g`, row by row, from the statistics of the forward; zero if the
/// target is `ignore`. `g` has one element per row (its stride may be 0).
pub fn cross_entropy_backward(
    x: View,
    targets: View,
    ignore: i64,
    stats: View,
    g: View,
    out: ViewMut,
) -> Result<()> {
    launch!("cross_entropy_backward", [x, targets, stats, g] => [out];; {
        let checked = check_targets(x.dims, targets, ignore);
        checked.map(|()| with_float!(
            [x, stats, g, out],
            T => cross_entropy_rows_backward::<T>(x, targets, ignore, stats, g, out)
        ))
    })
}

fn cross_entropy_rows_backward<T: Float>(
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
    for_row_blocks(rows, n, &|first, count| {
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
