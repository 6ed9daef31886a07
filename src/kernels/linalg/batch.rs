//! Stacks of matrices: load and store one item, map a function over all of them, in parallel, and
//! say which one had no answer.
//!
//! Invariant: items are independent, so any split over threads gives the same result.

use std::array::from_fn;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::batched_small::{F64x4, LANES, LaneMatrix, MAX_SIDE, Mask, ZERO_MATRIX};
use super::matrix::Matrix;
use super::scalar::Field;
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::kernels::launch::Outcome;
use crate::kernels::view::{View, ViewMut};
use crate::threads::parallel_for;

/// Floating-point operations per parallel block.
const WORK_PER_BLOCK: usize = 1 << 20;

/// A stack of matrices (or of columns, or scalars) over its leading axes.
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
    /// `ptr` is the pointer of the view, writable if it came from a `ViewMut`.
    fn new(ptr: *mut u8, view: View<'a>, own: usize) -> Stack<'a> {
        let View { dtype, dims, strides, .. } = view;
        assert!(
            dtype.is_inexact() && dims.len() >= own,
            "linalg takes matrices of inexact numbers"
        );
        let (lead, own_dims) = dims.split_at(dims.len() - own);
        let (lead_strides, own_strides) = strides.split_at(lead.len());
        let dim = |i: usize, none: usize| own_dims.get(i).copied().unwrap_or(none);
        let step = |i: usize| own_strides.get(i).copied().unwrap_or(0);
        Stack {
            ptr,
            dtype,
            lead,
            lead_strides,
            rows: dim(0, 1),
            columns: dim(1, 1),
            strides: [step(0), step(1)],
        }
    }

    /// A stack over the last two axes.
    pub(super) fn matrices(view: View<'a>) -> Stack<'a> {
        Stack::new(view.ptr.cast_mut(), view, 2)
    }

    /// A writable stack over the last two axes.
    pub(super) fn matrices_mut(view: ViewMut<'a>) -> Stack<'a> {
        Stack::new(view.ptr, view.into_view(), 2)
    }

    /// A writable stack of columns over the last axis.
    pub(super) fn columns_mut(view: ViewMut<'a>) -> Stack<'a> {
        Stack::new(view.ptr, view.into_view(), 1)
    }

    /// A writable stack in which every element is an item.
    pub(super) fn scalars_mut(view: ViewMut<'a>) -> Stack<'a> {
        Stack::new(view.ptr, view.into_view(), 0)
    }

    /// The stack of transposes.
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

    /// Element offset of item `index`, in C order over the leading axes.
    fn offset(&self, mut index: usize) -> isize {
        let mut offset = 0;
        for (&d, &s) in self.lead.iter().zip(self.lead_strides).rev() {
            offset += (index % d) as isize * s;
            index /= d;
        }
        offset
    }

    /// Loads item `index`.
    pub(super) fn load<T: Field>(&self, index: usize) -> Matrix<T> {
        let (first, [rs, cs]) = (self.offset(index), self.strides);
        let mut out = Matrix::zeros(self.rows, self.columns);
        for (k, column) in out.column_iter_mut().enumerate() {
            let first = first + k as isize * cs;
            // SAFETY: the view holds every element of this item, of its dtype.
            unsafe {
                if self.dtype == T::DTYPE {
                    let from = self.ptr.cast::<T>().offset(first);
                    for (i, x) in column.iter_mut().enumerate() {
                        *x = *from.offset(i as isize * rs);
                    }
                } else {
                    for (i, x) in column.iter_mut().enumerate() {
                        *x = T::read(self.dtype, self.ptr, first + i as isize * rs);
                    }
                }
            }
        }
        out
    }

    /// Stores item `index`.
    pub(super) fn store_matrix<T: Field>(&self, index: usize, x: &Matrix<T>) {
        self.store(index, |i, k| x[(i, k)]);
    }

    /// Stores item `index` from `value(row, column)`.
    pub(super) fn store<T: Field>(&self, index: usize, value: impl Fn(usize, usize) -> T) {
        let (first, [rs, cs]) = (self.offset(index), self.strides);
        for i in 0..self.rows {
            let first = first + i as isize * rs;
            // SAFETY: the view holds every element of this item, of its dtype, and only this thread
            // writes it.
            unsafe {
                if self.dtype == T::DTYPE {
                    let to = self.ptr.cast::<T>().wrapping_offset(first);
                    for k in 0..self.columns {
                        *to.offset(k as isize * cs) = value(i, k);
                    }
                } else {
                    for k in 0..self.columns {
                        value(i, k).write(self.dtype, self.ptr, first + k as isize * cs);
                    }
                }
            }
        }
    }

    /// Whether the matrices are small enough for `batched_small`.
    fn fits_lanes(&self) -> bool {
        [self.rows, self.columns].iter().all(|n| (1..=MAX_SIDE).contains(n))
    }

    /// Gathers real items into lanes. Unused lanes repeat the last item.
    pub(super) fn gather(&self, at: LaneGroup) -> LaneMatrix {
        self.gather_lanes(at, [self.rows, self.columns], self.strides)
    }

    /// `gather` of the transposed items.
    pub(super) fn gather_transposed(&self, at: LaneGroup) -> LaneMatrix {
        let [rs, cs] = self.strides;
        self.gather_lanes(at, [self.columns, self.rows], [cs, rs])
    }

    fn gather_lanes(&self, at: LaneGroup, dims: [usize; 2], strides: [isize; 2]) -> LaneMatrix {
        let first = from_fn(|l| self.offset(at.first + l.min(at.count - 1)));
        // SAFETY: the view holds every element of these items, at these strides.
        unsafe {
            match self.dtype {
                DType::F32 => load_lanes::<f32>(self.ptr.cast(), first, dims, strides),
                _ => load_lanes::<f64>(self.ptr.cast(), first, dims, strides),
            }
        }
    }

    /// Stores the items of the lanes in `done`.
    pub(super) fn scatter(&self, at: LaneGroup, done: Mask, value: impl Fn(usize, usize) -> F64x4) {
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

/// Consecutive items that are computed together, one in each lane.
#[derive(Clone, Copy)]
pub(super) struct LaneGroup {
    first: usize,
    count: usize,
}

/// # Safety
/// The elements are readable.
unsafe fn load_lanes<E: Copy + Into<f64>>(
    ptr: *const E,
    first: [isize; LANES],
    [rows, columns]: [usize; 2],
    [rs, cs]: [isize; 2],
) -> LaneMatrix {
    let mut out = ZERO_MATRIX;
    for (i, row) in out.iter_mut().enumerate().take(rows) {
        for (k, x) in row.iter_mut().enumerate().take(columns) {
            let at = i as isize * rs + k as isize * cs;
            // SAFETY: the caller's contract.
            *x = F64x4(first.map(|first| unsafe { *ptr.offset(first + at) }.into()));
        }
    }
    out
}

/// A writable array of integers (such as pivots) for each item.
pub(super) struct IntRows<T> {
    ptr: *mut T,
    len: usize,
    all: usize,
}

// SAFETY: made from a view, which is Send + Sync; lists are disjoint and each is written by one thread.
unsafe impl<T> Send for IntRows<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for IntRows<T> {}

impl<T: Element> IntRows<T> {
    /// One row of integers per item: the last axis.
    pub(super) fn new(view: ViewMut) -> IntRows<T> {
        assert!(view.is_contiguous(), "lists lie behind one another");
        let len = view.as_view().dims().last().copied().unwrap_or(0);
        IntRows { ptr: view.at::<T>(0), len, all: view.numel() }
    }

    /// Stores integers of item `index` at the given positions.
    pub(super) fn store(&self, index: usize, values: impl Iterator<Item = (usize, T)>) {
        for (place, value) in values {
            let at = index * self.len + place;
            assert!(place < self.len && at < self.all, "a list is too short");
            // SAFETY: the view holds this element, and only this thread writes the item.
            unsafe { self.ptr.add(at).write(value) }
        }
    }
}

/// Runs `body` for every item. Returns the first index for which it is false as the error.
pub(super) fn for_each_item(
    count: usize,
    work: usize,
    body: impl Fn(usize) -> bool + Sync,
) -> Result<(), usize> {
    run_in_blocks(
        count,
        count.saturating_mul(work),
        |index| if body(index) { usize::MAX } else { index },
    )
}

/// As `for_each_item`; if the matrices of all these stacks are small and real, `batched` first
/// computes a group of items and returns which are done, and `body` only computes the others.
pub(super) fn for_each_grouped<T: Field>(
    stacks: &[&Stack<'_>],
    work: usize,
    batched: impl Fn(LaneGroup) -> Mask + Sync,
    body: impl Fn(usize) -> bool + Sync,
) -> Result<(), usize> {
    let count = stacks[0].count();
    if T::COMPLEX || !stacks.iter().all(|stack| stack.fits_lanes()) {
        return for_each_item(count, work, body);
    }
    run_in_blocks(count.div_ceil(LANES), count.saturating_mul(work), |group| {
        let first = group * LANES;
        let at = LaneGroup { first, count: LANES.min(count - first) };
        let done = batched(at);
        let mut left = (0..at.count).filter(|&l| !done.has(l)).map(|l| first + l);
        left.find(|&index| !body(index)).unwrap_or(usize::MAX)
    })
}

/// Runs `body` for every index in parallel; `usize::MAX` means success. The smallest other number
/// returned is the error.
fn run_in_blocks(
    count: usize,
    work: usize,
    body: impl Fn(usize) -> usize + Sync,
) -> Result<(), usize> {
    if count == 0 {
        return Ok(());
    }
    let failed = AtomicUsize::new(usize::MAX);
    let blocks = (work / WORK_PER_BLOCK).clamp(1, count);
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

/// A kernel whose error is the index of the matrix of a stack for which it failed.
impl Outcome for Result<(), usize> {
    fn outcome(self, name: &'static str, reads: &[View<'_>]) -> Result<()> {
        self.map_err(|index| {
            let singular = ("is singular", "use pinv or lstsq, or add a multiple of the identity");
            let (op, (is, remedy)) = match name {
                "inverse" => ("inv", singular),
                "solve" => (name, singular),
                "cholesky" => (
                    name,
                    (
                        "is not positive definite",
                        "check its symmetry, or add a multiple of the identity",
                    ),
                ),
                _ => (
                    name,
                    (
                        "has no answer: it holds NaN or infinity, or an iteration did not converge",
                        "check where the values come from",
                    ),
                ),
            };
            let one = reads.first().is_none_or(|read| read.dims.len() <= 2);
            let which =
                if one { "the matrix".into() } else { format!("matrix {index} of the stack") };
            Box::new(Error::Matrix { op: op.into(), what: format!("{which} {is}"), remedy })
        })
    }
}
