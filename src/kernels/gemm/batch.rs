//! Batches of matrix products, with broadcast batch axes.
//!
//! Owns: the walk over the batch, the merging of a batch into one tall product when the strides
//! permit, and the splitting of both. Invariant: as for one product, blocks follow from the shapes.

use super::super::view::{Axes, View, ViewMut};
use super::product::{Cut, Gemm, Mat, Size, block};
use crate::dtype::DType;
use crate::threads::parallel_for;

/// Multiply-adds worth a block of a split batch.
const SPLIT: usize = 2 << 20;

/// `out[…] = a[…] · b[…]` over the leading axes of `out`, to which those of `a` and `b` broadcast;
/// every operand has at least two axes, and the last two are the matrices. `out` overlaps neither.
pub fn matmul_batch(dtype: DType, a: View, b: View, out: ViewMut) {
    match dtype {
        DType::F64 => go::<f64>(a, b, out),
        DType::F32 => go::<f32>(a, b, out),
        DType::I64 => go::<i64>(a, b, out),
        DType::I32 => go::<i32>(a, b, out),
        DType::U8 => go::<u8>(a, b, out),
        DType::Bool => go::<super::super::cast::Truth>(a, b, out),
    }
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

fn go<T: Gemm>(a: View, b: View, out: ViewMut) {
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
    run::<T>(&axes, size, [a_rs, a_cs], [b_rs, b_cs], [c_rs, c_cs], a, b, out);
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
    out: ViewMut,
) {
    let items = axes.count();
    let cut = Cut::of(size, c_strides[1].unsigned_abs() <= c_strides[0].unsigned_abs());
    let work = size.m.saturating_mul(size.n).saturating_mul(size.k).max(1);
    // Small products are grouped into blocks of items, large ones cut into blocks of their own.
    let per_block = if cut.blocks > 1 { 1 } else { (SPLIT / work).max(1) };
    let blocks = if cut.blocks > 1 { items * cut.blocks } else { (items / per_block).max(1) };
    parallel_for(blocks, &|i| {
        let (start, end, part) = match cut.blocks {
            1 => (i * items / blocks, (i + 1) * items / blocks, 0),
            many => (i / many, i / many + 1, i % many),
        };
        axes.for_range(start, end, &mut |[to, from_a, from_b]| {
            let a = Mat::new(a.at::<T>(from_a), a_strides);
            let b = Mat::new(b.at::<T>(from_b), b_strides);
            let c = Mat::new(out.at::<T>(to), c_strides);
            // SAFETY: the views are valid at every position; the caller keeps `out` apart, and the
            // blocks are disjoint.
            unsafe { block(cut, part, size, a, b, c) };
        });
    });
}
