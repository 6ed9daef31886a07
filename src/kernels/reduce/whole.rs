//! Reductions of all elements of contiguous memory, leaf by leaf: for who has the elements piece by piece.
//!
//! Owns: the choice of the loops. Never splits work. Invariant: the merged leaves have the bits that `reduce` gives.

use super::fold::{Fold, LEAF, Tree, run};
use super::inner::PIECE;
use super::kinds::{Max, Min, Prod, Sum, SumSquares};
use super::run::Reduction;
use crate::dtype::DType;

/// Elements of a leaf; the last one may have fewer.
pub const WHOLE_LEAF: usize = LEAF;

/// The loops of one reduction of one dtype, whose result has the same dtype.
#[derive(Clone, Copy)]
pub struct Whole {
    /// Reduces at most a leaf of neighbours: elements, their number, the result.
    ///
    /// # Safety
    /// As many elements are readable, at least one, and the result is writable.
    pub leaf: unsafe fn(*const u8, usize, *mut u8),
    /// Merges the results of neighbouring leaves.
    ///
    /// # Safety
    /// As for `leaf`.
    pub merge: unsafe fn(*const u8, usize, *mut u8),
}

/// The loops of a reduction; `None` where elements are converted first.
pub fn whole(op: Reduction, dtype: DType) -> Option<Whole> {
    macro_rules! of {
        ($fold:ident) => {
            match dtype {
                DType::F64 => Some(loops::<$fold<f64>>()),
                DType::F32 => Some(loops::<$fold<f32>>()),
                _ => None,
            }
        };
    }
    match op {
        Reduction::Sum => of!(Sum),
        Reduction::SumSquares => of!(SumSquares),
        Reduction::Prod => of!(Prod),
        Reduction::Max => of!(Max),
        Reduction::Min => of!(Min),
        Reduction::Any | Reduction::All | Reduction::Count => None,
    }
}

fn loops<F: Fold>() -> Whole {
    Whole { leaf: leaf::<F>, merge: merge::<F> }
}

/// # Safety
/// As `Whole::leaf`.
unsafe fn leaf<F: Fold>(elements: *const u8, n: usize, out: *mut u8) {
    // SAFETY: the caller's contract.
    unsafe { *out.cast::<F::Acc>() = run::<F>(elements.cast(), n) }
}

/// # Safety
/// As `Whole::merge`.
unsafe fn merge<F: Fold>(leaves: *const u8, count: usize, out: *mut u8) {
    let leaves = leaves.cast::<F::Acc>();
    let mut pieces = Tree::new();
    for start in (0..count).step_by(PIECE / LEAF) {
        let mut piece = Tree::new();
        for i in start..count.min(start + PIECE / LEAF) {
            // SAFETY: the caller's contract.
            piece.push(unsafe { *leaves.add(i) }, F::merge);
        }
        pieces.push(piece.finish(F::merge).unwrap_or(F::EMPTY), F::merge);
    }
    // SAFETY: the caller's contract.
    unsafe { *out.cast::<F::Acc>() = pieces.finish(F::merge).unwrap_or(F::EMPTY) };
}
