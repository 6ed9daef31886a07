//! The loops of a fold without its types: what the plans of reductions call.
//!
//! Owns: `Loops`, and which fold an operation is for a dtype. Never plans.
//! Invariant: plans are compiled once; only what touches elements is compiled for each fold.

use super::contiguous::RowLoop;
use super::fold::{Fold, Tree, add_rows, merge_rows, rows, run};
use super::inner::{Shape, piece};
use super::launch_reduce::Reduction;
use super::reductions::{All, Any, Max, Min, Prod, Sum, SumSquares};
use crate::dtype::{Complex64, Complex128, DType, Truth};
use crate::kernels::view::with_word;

/// What a fold does with elements and results at addresses. Strides and steps count elements or results. The safety
/// contracts are those of the functions of `fold` with these names.
pub(super) struct Loops {
    /// `run`: elements, their number, the result.
    pub(super) run: unsafe fn(*const u8, usize, *mut u8),
    /// `rows`: elements, length and stride of the rows, results, their step, the number of rows.
    pub(super) rows: unsafe fn(*const u8, usize, isize, *mut u8, isize, usize),
    /// `rows` of elements and results that lie one after the other: elements, length of the rows, results, their number.
    pub(super) neighbours: RowLoop,
    /// `inner::piece`: elements, number of the piece, the result.
    pub(super) piece: unsafe fn(&Shape, *const u8, usize, *mut u8),
    /// Merges neighbouring results, at least one, in a balanced tree: results, their number, the result.
    pub(super) tree: unsafe fn(*const u8, usize, *mut u8),
    /// `add_rows`: accumulators, elements, length and stride of the rows, their number.
    pub(super) add_rows: unsafe fn(*mut u8, *const u8, usize, isize, usize),
    /// `merge_rows`: accumulators, the others, their number.
    pub(super) merge_rows: unsafe fn(*mut u8, *const u8, usize),
    /// Writes the identity to so many accumulators.
    pub(super) clear: unsafe fn(*mut u8, usize),
    /// Writes the result of no elements.
    pub(super) empty: unsafe fn(*mut u8),
}

/// The loops of a reduction; `None` where elements are converted first.
pub(super) fn loops(op: Reduction, dtype: DType) -> Option<&'static Loops> {
    macro_rules! of_type {
        ($t:ty) => {
            match op {
                Reduction::Sum => of::<Sum<$t>>(),
                Reduction::SumSquares => of::<SumSquares<$t>>(),
                Reduction::Prod => of::<Prod<$t>>(),
                Reduction::Max => of::<Max<$t>>(),
                Reduction::Min => of::<Min<$t>>(),
                Reduction::Any => of::<Any<$t>>(),
                Reduction::All => of::<All<$t>>(),
                Reduction::Count => return None,
            }
        };
    }
    Some(match (op, dtype) {
        (_, DType::F64) => of_type!(f64),
        (_, DType::F32) => of_type!(f32),
        // The low bits of a sum or a product are the same with and without a sign.
        (Reduction::Sum, DType::I64 | DType::U64) => of::<Sum<i64>>(),
        (Reduction::Prod, DType::I64 | DType::U64) => of::<Prod<i64>>(),
        (Reduction::Max, DType::U64) => of::<Max<u64>>(),
        (Reduction::Min, DType::U64) => of::<Min<u64>>(),
        (Reduction::Sum, DType::C128) => of::<Sum<Complex128>>(),
        (Reduction::Prod, DType::C128) => of::<Prod<Complex128>>(),
        // Their results are complex128.
        (Reduction::Sum, DType::C64) => of::<Sum<Complex64>>(),
        (Reduction::Prod, DType::C64) => of::<Prod<Complex64>>(),
        (Reduction::Max, DType::I64) => of::<Max<i64>>(),
        (Reduction::Min, DType::I64) => of::<Min<i64>>(),
        (Reduction::Sum | Reduction::Count, DType::Bool) => of::<Sum<Truth>>(),
        (Reduction::Max | Reduction::Any, DType::Bool) => of::<Any<u8>>(),
        (Reduction::Min | Reduction::All, DType::Bool) => of::<All<u8>>(),
        _ => return None,
    })
}

/// The loops of a fold.
fn of<F: Fold>() -> &'static Loops {
    const {
        &Loops {
            // SAFETY: the contract of `Loops`, here and below.
            run: |p, n, out| unsafe { *out.cast::<F::Acc>() = run::<F>(p.cast(), n) },
            rows: |p, n, stride, out, step, count| {
                // SAFETY: as above.
                unsafe { rows::<F>(p.cast(), n, stride, out.cast(), step, count) }
            },
            // SAFETY: as above.
            neighbours: |p, n, out, count| unsafe {
                rows::<F>(p.cast(), n, n as isize, out.cast(), 1, count)
            },
            // SAFETY: as above.
            piece: |shape, p, i, out| unsafe { *out.cast() = piece::<F>(shape, p.cast(), i) },
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
    let mut tree = Tree::new();
    for i in 0..count {
        // SAFETY: the caller's contract.
        tree.push(unsafe { *parts.cast::<F::Acc>().add(i) }, F::merge);
    }
    // SAFETY: the caller's contract.
    unsafe { *out.cast() = tree.finish(F::merge).unwrap_or(F::EMPTY) };
}

/// Copies `n` elements of this size, evenly spaced on either side: addresses and steps.
///
/// # Safety
/// The elements are readable and writable, and the sides do not overlap.
pub(super) unsafe fn move_line(
    size: usize,
    from: (*const u8, isize),
    to: (*mut u8, isize),
    n: usize,
) {
    /// # Safety
    /// As `move_line`.
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
