//! Batched matrix products with broadcast batch axes.
//!
//! A batch is merged into one tall product where the strides permit. Invariant: as for a single
//! product, no element depends on the block that computes it.

use super::super::cast::{with_computing_input, with_computing_output};
use super::super::launch::launch;
use super::super::view::{Axes, View, ViewMut, with_elements};
use super::kernel_selection::Gemm;
use super::matrix::{Mat, MatVec, Size};
use super::product::{OperandOrder, Partition, check_pack_memory, multiply, multiply_block};
use crate::array::observer;
use crate::dtype::DType;
use crate::error::Result;
use crate::threads::{Mutex, parallel_for, parallel_ranges, spare_threads};

/// Multiply-adds per block of a batch, about 6 µs of float32 (`benches/run.py --only batch`).
const MULADDS_PER_BLOCK: usize = 1 << 19;

/// Minimum multiply-adds to run the second of two products on another thread.
const MIN_MULADDS_FOR_THREAD: usize = 1 << 19;

/// `out[…] = a[…] · b[…]` over the leading axes of `out`, to which those of `a` and `b` broadcast.
/// Every operand has at least two axes; the last two are the matrices. `out` must not alias the
/// operands.
///
/// # Errors
/// As `matmul`.
pub fn matmul_batch(a: View, b: View, out: &ViewMut) -> Result<()> {
    check_pack_memory(&a, &b)?;
    multiply_batch(a, b, out)
}

fn multiply_batch(a: View, b: View, out: &ViewMut) -> Result<()> {
    launch!(
        "matmul_batch", [a, b] => [out];;
        with_computing_input(a, |a| with_computing_input(b, |b| with_computing_output(&out, false, |out| {
            with_elements!([a, b, out], T => multiply_batch_typed::<T>(a, b, &out));
            Ok(())
        })))
    )
}

/// Computes two independent products, the second on another thread if one is idle and the work is
/// worth it: cheaper than splitting both.
///
/// # Errors
/// As `matmul`.
pub fn matmul_pair([first, second]: [(View, View, ViewMut); 2]) -> Result<()> {
    check_pack_memory(&first.0, &first.1)?;
    check_pack_memory(&second.0, &second.1)?;
    let compute = |(a, b, out): &(View, View, ViewMut)| match out.dims.len() {
        2 => multiply(*a, *b, out),
        _ => multiply_batch(*a, *b, out),
    };
    let depth = first.0.dims.last().copied().unwrap_or(0);
    if !observer::is_active()
        && spare_threads() > 0
        && first.2.numel().saturating_mul(depth) >= MIN_MULADDS_FOR_THREAD
    {
        let failed = Mutex::new(None);
        parallel_for(2, &|i| {
            if let Err(error) = compute(if i == 0 { &first } else { &second }) {
                *failed.lock() = Some(error);
            }
        });
        return failed.into_inner().map_or(Ok(()), Err);
    }
    compute(&first)?;
    compute(&second)
}

/// Batch strides (0 where broadcast), matrix dims and matrix strides of an operand.
fn batch_operand(
    dims: &[usize],
    strides: &[isize],
    batch: &[usize],
) -> (Vec<isize>, [usize; 2], [isize; 2]) {
    let own = dims.len().checked_sub(2).filter(|&own| own <= batch.len());
    let own = own.unwrap_or_else(|| panic!("matmul_batch: {dims:?} in a batch of {batch:?}"));
    let lead = batch.len() - own;
    let stride = |i: usize| match i.checked_sub(lead) {
        Some(i) if dims[i] == batch[lead + i] => strides[i],
        Some(i) => {
            assert_eq!(dims[i], 1, "matmul_batch: {dims:?} in a batch of {batch:?}");
            0
        }
        None => 0,
    };
    let batch_strides = (0..batch.len()).map(stride).collect();
    (batch_strides, [dims[own], dims[own + 1]], [strides[own], strides[own + 1]])
}

fn multiply_batch_typed<T: Gemm>(a: View, b: View, out: &ViewMut) {
    assert!(out.dims.len() >= 2, "matmul_batch takes matrices");
    let batch = &out.dims[..out.dims.len() - 2];
    let (a_batch, [m, k], [a_rs, a_cs]) = batch_operand(a.dims, a.strides, batch);
    let (b_batch, [k2, n], [b_rs, b_cs]) = batch_operand(b.dims, b.strides, batch);
    let (c_batch, c_dims, [c_rs, c_cs]) = batch_operand(out.dims, out.strides, batch);
    assert!(k == k2 && c_dims == [m, n], "matmul_batch: the dims do not agree");
    if out.numel() == 0 {
        return;
    }
    let mut axes = Axes::new(batch, [&c_batch, &a_batch, &b_batch]).collapse(true);
    let mut size = Size { m, n, k };
    // `b` is shared and the rows of `a` and `c` are evenly spaced across the batch: one tall
    // product.
    if let (Some(&dim), Some(&[c_step, a_step, 0])) = (axes.dims.last(), axes.strides.last())
        && (m == 1 || (c_step == c_rs * m as isize && a_step == a_rs * m as isize))
    {
        axes.dims.pop();
        axes.strides.pop();
        size.m *= dim;
        let (c_rs, a_rs) = if m == 1 { (c_step, a_step) } else { (c_rs, a_rs) };
        return run_batch::<T>(&axes, size, [a_rs, a_cs], [b_rs, b_cs], [c_rs, c_cs], a, b, out);
    }
    if m == 1 && n == 1 && batch_row_dots::<T>(&axes, k, [a_cs, b_rs], a, b, out) {
        return;
    }
    run_batch::<T>(&axes, size, [a_rs, a_cs], [b_rs, b_cs], [c_rs, c_cs], a, b, out);
}

/// Whether this CPU has a kernel for dot products of pairs of rows.
pub fn has_row_dots(dtype: DType) -> bool {
    fn has_kernel<T: Gemm>() -> bool {
        let empty = Mat::new(std::ptr::null(), [1, 1]);
        // SAFETY: no row is read or written.
        unsafe {
            T::row_dots(MatVec {
                rows: 0,
                terms: 1,
                matrix: empty,
                x: empty,
                y: std::ptr::null_mut(),
            })
        }
    }
    match dtype {
        DType::F32 => has_kernel::<f32>(),
        DType::F64 => has_kernel::<f64>(),
        _ => false,
    }
}

/// Batched dot products, if the rows are evenly spaced and this CPU has a kernel for them.
fn batch_row_dots<T: Gemm>(
    axes: &Axes<3>,
    terms: usize,
    [a_step, b_step]: [isize; 2],
    a: View,
    b: View,
    out: &ViewMut,
) -> bool {
    let (&[count], &[[step, a_row, b_row]]) = (&axes.dims[..], &axes.strides[..]) else {
        return false;
    };
    let dot_rows = |first: usize, end: usize| {
        let [to, from_a, from_b] = [step, a_row, b_row].map(|step| first as isize * step);
        let task = MatVec {
            rows: end - first,
            terms,
            matrix: Mat::new(a.at::<T>(from_a), [a_row, a_step]),
            x: Mat::new(b.at::<T>(from_b), [b_row, b_step]),
            y: out.at::<T>(to),
        };
        // SAFETY: the views are valid at every position; the caller keeps `out` apart, and blocks are disjoint.
        unsafe { T::row_dots(task) }
    };
    if step != 1 || terms == 0 || !dot_rows(0, 0) {
        return false;
    }
    let blocks = (count.saturating_mul(terms) / MULADDS_PER_BLOCK).clamp(1, count.max(1));
    parallel_ranges(count, blocks, &|first, end| _ = dot_rows(first, end));
    true
}

#[allow(clippy::too_many_arguments)]
fn run_batch<T: Gemm>(
    axes: &Axes<3>,
    size: Size,
    a_strides: [isize; 2],
    b_strides: [isize; 2],
    c_strides: [isize; 2],
    a: View,
    b: View,
    out: &ViewMut,
) {
    let items = axes.count();
    // Each product is cut only where there are fewer of them than threads.
    let threads = (1 + spare_threads()).div_ceil(items.max(1));
    let cut = Partition::of(size, OperandOrder::of(a_strides, b_strides, c_strides), threads);
    let work = size.m.saturating_mul(size.n).saturating_mul(size.k).max(1);
    let per_block = if cut.shared { 1 } else { (MULADDS_PER_BLOCK / work).max(1) };
    let parts = if cut.shared { cut.blocks } else { 1 };
    let blocks = if cut.shared { items * parts } else { (items / per_block).max(1) };
    parallel_for(blocks, &|i| {
        let (start, end) = if cut.shared {
            (i / parts, i / parts + 1)
        } else {
            (i * items / blocks, (i + 1) * items / blocks)
        };
        let mine = if cut.shared { i % parts..i % parts + 1 } else { 0..cut.blocks };
        axes.for_range(start, end, &mut |[to, from_a, from_b]| {
            let a = Mat::new(a.at::<T>(from_a), a_strides);
            let b = Mat::new(b.at::<T>(from_b), b_strides);
            let c = Mat::new(out.at::<T>(to), c_strides);
            // SAFETY: the views are valid at every position; the caller keeps `out` apart, and the
            // blocks are disjoint.
            mine.clone().for_each(|part| unsafe { multiply_block(cut, part, size, a, b, c) });
        });
    });
}
