//! Type-erased loops of each fold, so that the strided plans of reductions are compiled only once.

use super::contiguous::RowReduction;
use super::fold::{Fold, PairwiseTree, add_rows, fold_rows, fold_run, merge_rows};
use super::inner::{ResultShape, fold_piece};
use super::launch_reduce::Reduction;
use super::reductions::{All, Any, Max, Min, Prod, Sum, SumSquares};
use crate::dtype::{Complex64, Complex128, DType, Truth};
use crate::kernels::view::with_word;

/// The loops of a fold on addresses. Strides and steps count elements or results. The safety contracts are
/// those of the functions with these names.
pub(super) struct ReduceLoops {
    /// `fold_run`: elements, their number, the result.
    pub(super) run: unsafe fn(*const u8, usize, *mut u8),
    /// `fold_rows`: elements, length and stride of the rows, results, their step, the number of rows.
    pub(super) rows: unsafe fn(*const u8, usize, isize, *mut u8, isize, usize),
    /// `fold_rows` of consecutive rows and results: elements, row length, results, their number.
    pub(super) contiguous_rows: RowReduction,
    /// `fold_piece`: elements, number of the piece, the result.
    pub(super) piece: unsafe fn(&ResultShape, *const u8, usize, *mut u8),
    /// Merges consecutive results, at least one, in a balanced tree: results, their number, the result.
    pub(super) tree: unsafe fn(*const u8, usize, *mut u8),
    /// `add_rows`: accumulators, elements, length and stride of the rows, their number.
    pub(super) add_rows: unsafe fn(*mut u8, *const u8, usize, isize, usize),
    /// `merge_rows`: accumulators, the others, their number.
    pub(super) merge_rows: unsafe fn(*mut u8, *const u8, usize),
    /// Writes the identity element to so many accumulators.
    pub(super) clear: unsafe fn(*mut u8, usize),
    /// Writes the result for no elements.
    pub(super) empty: unsafe fn(*mut u8),
}

/// The loops of a reduction; `None` if elements must be converted first.
pub(super) fn loops(op: Reduction, dtype: DType) -> Option<&'static ReduceLoops> {
    macro_rules! of_type {
        ($t:ty) => {
            match op {
                Reduction::Sum => loops_of::<Sum<$t>>(),
                Reduction::SumSquares => loops_of::<SumSquares<$t>>(),
                Reduction::Prod => loops_of::<Prod<$t>>(),
                Reduction::Max => loops_of::<Max<$t>>(),
                Reduction::Min => loops_of::<Min<$t>>(),
                Reduction::Any => loops_of::<Any<$t>>(),
                Reduction::All => loops_of::<All<$t>>(),
                Reduction::Count => return None,
            }
        };
    }
    Some(match (op, dtype) {
        (_, DType::F64) => of_type!(f64),
        (_, DType::F32) => of_type!(f32),
        // The low bits of a sum or a product do not depend on signedness.
        (Reduction::Sum, DType::I64 | DType::U64) => loops_of::<Sum<i64>>(),
        (Reduction::Prod, DType::I64 | DType::U64) => loops_of::<Prod<i64>>(),
        (Reduction::Max, DType::U64) => loops_of::<Max<u64>>(),
        (Reduction::Min, DType::U64) => loops_of::<Min<u64>>(),
        (Reduction::Sum, DType::C128) => loops_of::<Sum<Complex128>>(),
        (Reduction::Prod, DType::C128) => loops_of::<Prod<Complex128>>(),
        // The results of complex64 folds are complex128.
        (Reduction::Sum, DType::C64) => loops_of::<Sum<Complex64>>(),
        (Reduction::Prod, DType::C64) => loops_of::<Prod<Complex64>>(),
        (Reduction::Max, DType::I64) => loops_of::<Max<i64>>(),
        (Reduction::Min, DType::I64) => loops_of::<Min<i64>>(),
        (Reduction::Sum | Reduction::Count, DType::Bool) => loops_of::<Sum<Truth>>(),
        (Reduction::Max | Reduction::Any, DType::Bool) => loops_of::<Any<u8>>(),
        (Reduction::Min | Reduction::All, DType::Bool) => loops_of::<All<u8>>(),
        _ => return None,
    })
}

/// The loops of a fold.
fn loops_of<F: Fold>() -> &'static ReduceLoops {
    const {
        &ReduceLoops {
            // SAFETY: the contract of `ReduceLoops`, here and below.
            run: |p, n, out| unsafe { *out.cast::<F::Acc>() = fold_run::<F>(p.cast(), n) },
            rows: |p, n, stride, out, step, count| {
                // SAFETY: as above.
                unsafe { fold_rows::<F>(p.cast(), n, stride, out.cast(), step, count) }
            },
            // SAFETY: as above.
            contiguous_rows: |p, n, out, count| unsafe {
                fold_rows::<F>(p.cast(), n, n as isize, out.cast(), 1, count)
            },
            // SAFETY: as above.
            piece: |shape, p, i, out| unsafe { *out.cast() = fold_piece::<F>(shape, p.cast(), i) },
            tree: tree::<F>,
            add_rows: |acc, p, n, stride, count| {
                // SAFETY: as above.
                unsafe { add_rows::<F>(acc.cast(), p.cast(), n, stride, count) }
            },
            // SAFETY: as above.
            merge_rows: |a, b, n| unsafe { merge_rows::<F>(a.cast(), b.cast(), n) },
            clear: |p, n| {
                // SAFETY: as above.
                unsafe { std::slice::from_raw_parts_mut(p.cast::<F::Acc>(), n).fill(F::IDENTITY) }
            },
            // SAFETY: as above.
            empty: |p| unsafe { *p.cast::<F::Acc>() = F::EMPTY },
        }
    }
}

/// # Safety
/// `parts` holds `count` results, and `out` is writable.
unsafe fn tree<F: Fold>(parts: *const u8, count: usize, out: *mut u8) {
    let mut tree = PairwiseTree::new();
    for i in 0..count {
        // SAFETY: the caller's contract.
        tree.push(unsafe { *parts.cast::<F::Acc>().add(i) }, F::merge);
    }
    // SAFETY: the caller's contract.
    unsafe { *out.cast() = tree.finish(F::merge).unwrap_or(F::EMPTY) };
}

/// Copies `n` elements of this size, strided on both sides: addresses and steps.
///
/// # Safety
/// The elements are readable and writable, and source and destination do not overlap.
pub(super) unsafe fn copy_strided(
    size: usize,
    from: (*const u8, isize),
    to: (*mut u8, isize),
    n: usize,
) {
    /// # Safety
    /// As `copy_strided`.
    unsafe fn words<W: Copy>(
        (from, from_step): (*const u8, isize),
        (to, to_step): (*mut u8, isize),
        n: usize,
    ) {
        let (from, to) = (from.cast::<W>(), to.cast::<W>());
        // SAFETY: the caller's contract.
        unsafe {
            if (from_step, to_step) == (1, 1) {
                return std::ptr::copy_nonoverlapping(from, to, n);
            }
            for i in 0..n as isize {
                *to.offset(i * to_step) = *from.offset(i * from_step);
            }
        }
    }
    // SAFETY: the caller's contract.
    unsafe {
        with_word!(size, W => words::<W>(from, to, n));
    }
}
