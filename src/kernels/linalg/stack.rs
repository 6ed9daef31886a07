//! Stacks of matrices, and running a function over them.
//!
//! Owns: reading a matrix of any strides into the form the factorisations take, writing it back, and the
//! splitting of a stack over threads. Never factorises.
//! Invariant: everything is computed in float64 and complex128; the items are independent, so any split gives one result.

use std::sync::atomic::{AtomicUsize, Ordering};

use nalgebra::DMatrix;

use super::super::view::{View, ViewMut};
use super::field::Field;
use crate::dtype::DType;
use crate::threads::parallel_for;

/// Arithmetic worth a block of a split stack.
const SPLIT: usize = 1 << 20;

/// Matrices (or columns) behind leading axes, read or written one at a time.
pub(super) struct Stack<'a> {
    ptr: *mut u8,
    dtype: DType,
    lead: &'a [usize],
    lead_strides: &'a [isize],
    pub(super) rows: usize,
    pub(super) columns: usize,
    strides: [isize; 2],
}

// SAFETY: made from views, which are Send + Sync; items are disjoint and each is touched by one thread.
unsafe impl Send for Stack<'_> {}
// SAFETY: as above.
unsafe impl Sync for Stack<'_> {}

impl<'a> Stack<'a> {
    /// `ptr` is the view's, and may be written if the view came from one that may.
    fn new(ptr: *mut u8, view: View<'a>, own: usize) -> Stack<'a> {
        let View { dtype, dims, strides, .. } = view;
        assert!(
            dtype.is_inexact() && dims.len() >= own,
            "linalg takes matrices of inexact numbers"
        );
        let (lead, own_dims) = dims.split_at(dims.len() - own);
        let (lead_strides, own_strides) = strides.split_at(lead.len());
        let part = |i: usize, none: usize| own_dims.get(i).copied().unwrap_or(none);
        let step = |i: usize| own_strides.get(i).copied().unwrap_or(0);
        Stack {
            ptr,
            dtype,
            lead,
            lead_strides,
            rows: part(0, 1),
            columns: part(1, 1),
            strides: [step(0), step(1)],
        }
    }

    /// The last two axes are matrices.
    pub(super) fn matrices(view: View<'a>) -> Stack<'a> {
        Stack::new(view.ptr.cast_mut(), view, 2)
    }

    /// The last two axes are matrices, to be written.
    pub(super) fn matrices_mut(view: ViewMut<'a>) -> Stack<'a> {
        Stack::new(view.ptr, view.into_view(), 2)
    }

    /// The last axis is a column, to be written.
    pub(super) fn columns_mut(view: ViewMut<'a>) -> Stack<'a> {
        Stack::new(view.ptr, view.into_view(), 1)
    }

    /// Every element is an item, to be written.
    pub(super) fn numbers_mut(view: ViewMut<'a>) -> Stack<'a> {
        Stack::new(view.ptr, view.into_view(), 0)
    }

    pub(super) fn count(&self) -> usize {
        self.lead.iter().product()
    }

    /// The offset of item `index`, counted in C order over the leading axes.
    fn offset(&self, mut index: usize) -> isize {
        let mut offset = 0;
        for (&d, &s) in self.lead.iter().zip(self.lead_strides).rev() {
            offset += (index % d) as isize * s;
            index /= d;
        }
        offset
    }

    /// Item `index`.
    pub(super) fn load<T: Field>(&self, index: usize) -> DMatrix<T> {
        let first = self.offset(index);
        let [rs, cs] = self.strides;
        DMatrix::from_fn(self.rows, self.columns, |i, k| {
            let at = first + i as isize * rs + k as isize * cs;
            // SAFETY: the view holds every element of this item.
            unsafe { T::read(self.dtype, self.ptr, at) }
        })
    }

    /// Writes item `index`, `value(row, column)` at each place.
    pub(super) fn store<T: Field>(&self, index: usize, value: impl Fn(usize, usize) -> T) {
        let first = self.offset(index);
        let [rs, cs] = self.strides;
        for i in 0..self.rows {
            for k in 0..self.columns {
                let at = first + i as isize * rs + k as isize * cs;
                // SAFETY: the view holds every element of this item, and only this thread writes it.
                unsafe { value(i, k).write(self.dtype, self.ptr, at) }
            }
        }
    }
}

/// Runs `body` for every item of a stack; the first item for which it says false is the error.
pub(super) fn each(
    count: usize,
    work: usize,
    body: impl Fn(usize) -> bool + Sync,
) -> Result<(), usize> {
    if count == 0 {
        return Ok(());
    }
    let failed = AtomicUsize::new(usize::MAX);
    let blocks = (count.saturating_mul(work) / SPLIT).clamp(1, count);
    parallel_for(blocks, &|block| {
        for index in block * count / blocks..(block + 1) * count / blocks {
            if !body(index) {
                failed.fetch_min(index, Ordering::Relaxed);
            }
        }
    });
    match failed.into_inner() {
        usize::MAX => Ok(()),
        index => Err(index),
    }
}
