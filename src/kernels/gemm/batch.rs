//! Batches of matrix products, with broadcast batch axes.
//!
//! Owns: the walk over the batch, the merging of a batch into one tall product when the strides
//! permit, and the splitting of both. Invariant: as for one product, no element depends on its block.

use super::super::cast::{with_computing_input, with_computing_output};
use super::super::launch::launch;
use super::super::view::{Axes, View, ViewMut, with_elements};
use super::matrix_vector::Task;
use super::product::{Gemm, Mat, OperandOrder, Partition, Size, block, multiply, room};
use crate::array::capture;
use crate::dtype::DType;
use crate::error::Result;
use crate::threads::{Mutex, parallel_for, spare_threads};

/// Multiply-adds worth a block of a batch, about 6 µs of float32 (`benches/run.py --only batch`).
const SPLIT: usize = 1 << 19;

/// Multiply-adds that make a product worth another thread while the caller computes a second one.
const PAIR: usize = 1 << 19;

/// `out[…] = a[…] · b[…]` over the leading axes of `out`, to which those of `a` and `b` broadcast;
/// every operand has at least two axes, and the last two are the matrices. `out` overlaps neither.
///
/// # Errors
/// As `matmul`.
pub fn matmul_batch(a: View, b: View, out: &ViewMut) -> Result<()> {
    room(&a, &b)?;
    multiply_batch(a, b, out)
}

fn multiply_batch(a: View, b: View, out: &ViewMut) -> Result<()> {
    launch!(
        "matmul_batch", [a, b] => [out];;
        with_computing_input(a, |a| with_computing_input(b, |b| with_computing_output(&out, false, |out| {
            with_elements!([a, b, out], T => go::<T>(a, b, &out));
            Ok(())
        })))
    )
}

/// Two products that have nothing to do with each other, the second on another thread if one is to
/// spare and they are worth it: cheaper than cutting both.
///
/// # Errors
/// As `matmul`.
pub fn matmul_both([first, second]: [(View, View, ViewMut); 2]) -> Result<()> {
    room(&first.0, &first.1)?;
    room(&second.0, &second.1)?;
    let run = |(a, b, out): &(View, View, ViewMut)| match out.dims.len() {
        2 => multiply(*a, *b, out),
        _ => multiply_batch(*a, *b, out),
    };
    let depth = first.0.dims.last().copied().unwrap_or(0);
    if !capture::active() && spare_threads() > 0 && first.2.numel().saturating_mul(depth) >= PAIR {
        let failed = Mutex::new(None);
        parallel_for(2, &|i| {
            if let Err(error) = run(if i == 0 { &first } else { &second }) {
                *failed.lock() = Some(error);
            }
        });
        return failed.into_inner().map_or(Ok(()), Err);
    }
    run(&first)?;
    run(&second)
}

/// One operand: its matrix and its batch strides, with 0 where it is repeated.
fn operand(
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

fn go<T: Gemm>(a: View, b: View, out: &ViewMut) {
    assert!(out.dims.len() >= 2, "matmul_batch takes matrices");
    let batch = &out.dims[..out.dims.len() - 2];
    let (a_batch, [m, k], [a_rs, a_cs]) = operand(a.dims, a.strides, batch);
    let (b_batch, [k2, n], [b_rs, b_cs]) = operand(b.dims, b.strides, batch);
    let (c_batch, c_dims, [c_rs, c_cs]) = operand(out.dims, out.strides, batch);
    assert!(k == k2 && c_dims == [m, n], "matmul_batch: the dims do not agree");
    if out.numel() == 0 {
        return;
    }
    let mut axes = Axes::new(batch, [&c_batch, &a_batch, &b_batch]).collapse(true);
    let mut size = Size { m, n, k };
    // One matrix `b` for a batch of `a` whose rows run on: a single tall product.
    if let (Some(&dim), Some(&[c_step, a_step, 0])) = (axes.dims.last(), axes.strides.last())
        && (m == 1 || (c_step == c_rs * m as isize && a_step == a_rs * m as isize))
    {
        axes.dims.pop();
        axes.strides.pop();
        size.m *= dim;
        let (c_rs, a_rs) = if m == 1 { (c_step, a_step) } else { (c_rs, a_rs) };
        return run::<T>(&axes, size, [a_rs, a_cs], [b_rs, b_cs], [c_rs, c_cs], a, b, out);
    }
    if m == 1 && n == 1 && rows::<T>(&axes, k, [a_cs, b_rs], a, b, out) {
        return;
    }
    run::<T>(&axes, size, [a_rs, a_cs], [b_rs, b_cs], [c_rs, c_cs], a, b, out);
}

/// Whether products of rows with rows have a loop of their own in this process.
pub fn multiplies_rows(dtype: DType) -> bool {
    fn none<T: Gemm>() -> bool {
        let rows = Mat::new(std::ptr::null(), [1, 1]);
        // SAFETY: no row is read or written.
        unsafe {
            T::by_rows(Task { rows: 0, terms: 1, matrix: rows, x: rows, y: std::ptr::null_mut() })
        }
    }
    match dtype {
        DType::F32 => none::<f32>(),
        DType::F64 => none::<f64>(),
        _ => false,
    }
}

/// Products of rows with rows, where they lie evenly apart and there is a loop for them.
fn rows<T: Gemm>(
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
    let some = |first: usize, end: usize| {
        let [to, from_a, from_b] = [step, a_row, b_row].map(|step| first as isize * step);
        let task = Task {
            rows: end - first,
            terms,
            matrix: Mat::new(a.at::<T>(from_a), [a_row, a_step]),
            x: Mat::new(b.at::<T>(from_b), [b_row, b_step]),
            y: out.at::<T>(to),
        };
        // SAFETY: the views are valid at every position; the caller keeps `out` apart, and blocks are disjoint.
        unsafe { T::by_rows(task) }
    };
    if step != 1 || terms == 0 || !some(0, 0) {
        return false;
    }
    let blocks = (count.saturating_mul(terms) / SPLIT).clamp(1, count.max(1));
    parallel_for(blocks, &|i| {
        some(i * count / blocks, (i + 1) * count / blocks);
    });
    true
}

#[allow(clippy::too_many_arguments)]
fn run<T: Gemm>(
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
    let per_block = if cut.shared { 1 } else { (SPLIT / work).max(1) };
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
            mine.clone().for_each(|part| unsafe { block(cut, part, size, a, b, c) });
        });
    });
}
