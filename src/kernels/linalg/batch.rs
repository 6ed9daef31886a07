//! Stacks of matrices, and running a function over them.
//!
//! Owns: reading a matrix of any strides into the form the factorisations take, writing it back, and the
//! splitting of a stack over threads. Never factorises.
//! Invariant: everything is computed in float64 and complex128; the items are independent, so any split gives one result.

use std::array::from_fn;
use std::sync::atomic::{AtomicUsize, Ordering};

use nalgebra::DMatrix;

use super::batched_small::{Block, EMPTY, LANES, Lane, Mask, SIDE};
use super::scalar::Field;
use crate::dtype::{DType, Element};
use crate::kernels::view::{View, ViewMut};
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

    /// The same with rows for columns.
    pub(super) fn transposed(self) -> Stack<'a> {
        let [rs, cs] = self.strides;
        Stack { rows: self.columns, columns: self.rows, strides: [cs, rs], ..self }
    }

    pub(super) fn is_complex(&self) -> bool {
        self.dtype.is_complex()
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

    /// Writes item `index`.
    pub(super) fn put<T: Field>(&self, index: usize, x: &DMatrix<T>) {
        self.store(index, |i, k| x[(i, k)]);
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

    /// Whether matrices fit into lanes.
    fn small(&self) -> bool {
        [self.rows, self.columns].iter().all(|n| (1..=SIDE).contains(n))
    }

    /// Real items of a small stack, side by side; the last again in lanes without one.
    pub(super) fn gather(&self, at: Group) -> Block {
        self.gathered(at, [self.rows, self.columns], self.strides)
    }

    /// The same, transposed.
    pub(super) fn gather_transposed(&self, at: Group) -> Block {
        let [rs, cs] = self.strides;
        self.gathered(at, [self.columns, self.rows], [cs, rs])
    }

    fn gathered(&self, at: Group, dims: [usize; 2], strides: [isize; 2]) -> Block {
        let first = from_fn(|l| self.offset(at.first + l.min(at.count - 1)));
        // SAFETY: the view holds every element of these items, at these strides.
        unsafe {
            match self.dtype {
                DType::F32 => read::<f32>(self.ptr.cast(), first, dims, strides),
                _ => read::<f64>(self.ptr.cast(), first, dims, strides),
            }
        }
    }

    /// Writes the items of the lanes that are done.
    pub(super) fn scatter(&self, at: Group, done: Mask, value: impl Fn(usize, usize) -> Lane) {
        let [rs, cs] = self.strides;
        let lanes = (0..at.count).filter(|&l| done.has(l));
        let mut first = [None; LANES];
        lanes.for_each(|l| first[l] = Some(self.offset(at.first + l)));
        for i in 0..self.rows {
            for k in 0..self.columns {
                let values = value(i, k);
                for (first, value) in first.iter().zip(values.0) {
                    let Some(first) = first else { continue };
                    let at = first + i as isize * rs + k as isize * cs;
                    // SAFETY: the view holds every element of this item, and only this thread writes it.
                    unsafe { value.write(self.dtype, self.ptr, at) }
                }
            }
        }
    }
}

/// Items of a stack that are computed side by side.
#[derive(Clone, Copy)]
pub(super) struct Group {
    first: usize,
    count: usize,
}

/// # Safety
/// The elements are readable.
unsafe fn read<E: Copy + Into<f64>>(
    ptr: *const E,
    first: [isize; LANES],
    [rows, columns]: [usize; 2],
    [rs, cs]: [isize; 2],
) -> Block {
    let mut out = EMPTY;
    for (i, row) in out.iter_mut().enumerate().take(rows) {
        for (k, x) in row.iter_mut().enumerate().take(columns) {
            let at = i as isize * rs + k as isize * cs;
            // SAFETY: the caller's contract.
            *x = Lane(first.map(|first| unsafe { *ptr.offset(first + at) }.into()));
        }
    }
    out
}

/// A list of whole numbers for each item, to be written.
pub(super) struct Lists<T> {
    ptr: *mut T,
    len: usize,
    all: usize,
}

// SAFETY: made from a view, which is Send + Sync; lists are disjoint and each is written by one thread.
unsafe impl<T> Send for Lists<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Lists<T> {}

impl<T: Element> Lists<T> {
    /// The last axis is a list.
    pub(super) fn new(view: ViewMut) -> Lists<T> {
        assert!(view.is_contiguous(), "lists lie behind one another");
        let len = view.as_view().dims().last().copied().unwrap_or(0);
        Lists { ptr: view.at::<T>(0), len, all: view.numel() }
    }

    /// Writes numbers of item `index`, each at its place.
    pub(super) fn store(&self, index: usize, values: impl Iterator<Item = (usize, T)>) {
        for (place, value) in values {
            let at = index * self.len + place;
            assert!(place < self.len && at < self.all, "a list is too short");
            // SAFETY: the view holds this element, and only this thread writes the item.
            unsafe { self.ptr.add(at).write(value) }
        }
    }
}

/// Runs `body` for every item of a stack; the first item for which it says false is the error.
pub(super) fn each(
    count: usize,
    work: usize,
    body: impl Fn(usize) -> bool + Sync,
) -> Result<(), usize> {
    spread(count, count.saturating_mul(work), |index| if body(index) { usize::MAX } else { index })
}

/// The same where matrices of these stacks may be small and real: those are taken side by side by `four`, which says which it has done,
/// the others by `body`.
pub(super) fn each_of<T: Field>(
    stacks: &[&Stack<'_>],
    work: usize,
    four: impl Fn(Group) -> Mask + Sync,
    body: impl Fn(usize) -> bool + Sync,
) -> Result<(), usize> {
    let count = stacks[0].count();
    if size_of::<T>() != size_of::<f64>() || !stacks.iter().all(|stack| stack.small()) {
        return each(count, work, body);
    }
    spread(count.div_ceil(LANES), count.saturating_mul(work), |group| {
        let first = group * LANES;
        let at = Group { first, count: LANES.min(count - first) };
        let done = four(at);
        let mut left = (0..at.count).filter(|&l| !done.has(l)).map(|l| first + l);
        left.find(|&index| !body(index)).unwrap_or(usize::MAX)
    })
}

/// Runs `body` for every unit of some work; the least number that it returns is the error, if it is one.
fn spread(count: usize, work: usize, body: impl Fn(usize) -> usize + Sync) -> Result<(), usize> {
    if count == 0 {
        return Ok(());
    }
    let failed = AtomicUsize::new(usize::MAX);
    let blocks = (work / SPLIT).clamp(1, count);
    parallel_for(blocks, &|block| {
        for index in block * count / blocks..(block + 1) * count / blocks {
            failed.fetch_min(body(index), Ordering::Relaxed);
        }
    });
    match failed.into_inner() {
        usize::MAX => Ok(()),
        index => Err(index),
    }
}
