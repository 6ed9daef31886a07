//! The shortest way of a derivative: loops over a few elements, whose operands are put together once for all of them.
//!
//! Owns: `Small`, the operands of one node's loops. Never splits, gathers, converts or records; what it refuses goes through
//! `apply`.
//! Invariant: every operand has the dtype and the count of the first, or is one number.

use std::mem::MaybeUninit;
use std::ptr;

use super::flat::{FEW, Flat, repeat};
use crate::kernels::elementwise::LoopTable;
use crate::kernels::elementwise::dispatch::MAX_OPERANDS;
use crate::kernels::elementwise::launch_loop::{In, word};

use crate::array::{Storage, capture};
use crate::dtype::DType;

/// Operands at most, the first included.
const MOST: usize = MAX_OPERANDS;

/// Operands by number: a gradient comes first.
pub(crate) struct Small<'a> {
    first: Option<Flat<'a>>,
    /// Null where there are no elements.
    elements: [*const u8; MOST],
    words: [u64; MOST],
    /// Which operands are words, bit by bit.
    numbers: u32,
    params: [f64; 4],
}

impl<'a> Small<'a> {
    /// The first operand alone. Without one, or while launches are recorded, every loop is refused.
    #[inline(always)]
    pub(crate) fn new(first: Option<Flat<'a>>) -> Small<'a> {
        let first = first.filter(|_| !capture::active());
        let mut small = Small {
            first,
            elements: [ptr::null(); MOST],
            words: [0; MOST],
            numbers: 0,
            params: [0.0; 4],
        };
        small.elements[0] = first.map_or(ptr::null(), |first| first.ptr.cast_const());
        small
    }

    /// Whether there is a loop to be put together.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.first.is_some()
    }

    /// The first operand alone: one element that stands for as many as the operands beside it have.
    #[inline(always)]
    pub(crate) fn repeated(first: Option<Flat<'a>>) -> Small<'a> {
        let mut small = Small::new(first.filter(|first| !first.dtype.is_complex() && first.n > 0));
        if let Some(first) = small.first {
            small.elements[0] = ptr::null();
            // SAFETY: there is an element, and only complex ones may be larger than a word.
            small.words[0] = unsafe { first.word() };
            small.numbers = 1;
        }
        small
    }

    /// Whether the first operand is one element for all.
    #[inline(always)]
    fn is_repeated(&self) -> bool {
        self.numbers & 1 != 0
    }

    /// Whether what a loop makes of the operands with these numbers is one element for all.
    #[inline(always)]
    pub(crate) fn is_one(&self, mut at: impl Iterator<Item = usize>) -> bool {
        self.is_repeated() && at.all(|k| self.numbers >> k & 1 != 0)
    }

    /// Writes that one element to `out`: fresh memory.
    #[inline(always)]
    pub(crate) fn write_one(
        &self,
        table: &LoopTable,
        at: impl Iterator<Item = usize>,
        out: Flat<'_>,
    ) -> bool {
        let fits = self.first.is_some_and(|first| (out.n, out.dtype) == (1, first.dtype));
        // SAFETY: the output has room for an element, and the caller may write to it.
        fits && unsafe { self.call(table, at, out.ptr, 1) }
    }

    /// Operand `k`: a run of elements. It stays absent if it is not like the first.
    #[inline(always)]
    pub(crate) fn elements(
        &mut self,
        k: usize,
        storage: &'a Storage,
        run: (isize, usize),
        dtype: DType,
    ) {
        if let Some(first) = self.first
            && (run.1, dtype) == (first.n, first.dtype)
            && let Some(place) = self.elements.get_mut(k)
            && let Some(run) = Flat::run(storage, run, dtype)
        {
            *place = run.ptr;
        }
    }

    /// Operand `k`: one number for all elements. It stays absent where it takes two words.
    #[inline(always)]
    pub(crate) fn number(&mut self, k: usize, number: f64) {
        if let Some(first) = self.first
            && !first.dtype.is_complex()
            && let Some(place) = self.words.get_mut(k)
        {
            *place = word(In::Float(number), first.dtype);
            self.numbers |= 1 << k;
        }
    }

    /// Parameter `k` of the texts; if there are too many, every loop is refused.
    #[inline(always)]
    pub(crate) fn param(&mut self, k: usize, number: Option<f64>) {
        match (self.params.get_mut(k), number) {
            (Some(place), Some(number)) => *place = number,
            _ => self.first = None,
        }
    }

    /// Writes what the loop makes of the operands with these numbers to `out`: fresh memory, or one of them.
    #[inline(always)]
    pub(crate) fn write(
        &self,
        table: &LoopTable,
        at: impl Iterator<Item = usize>,
        out: Flat<'_>,
    ) -> bool {
        // SAFETY: the output has room for the elements, and the caller may write to it.
        self.is_like(out) && unsafe { self.call(table, at, out.ptr, out.n) }
    }

    /// The same over the first operand, if that has all elements.
    #[inline(always)]
    pub(crate) fn rewrite(&self, table: &LoopTable, at: impl Iterator<Item = usize>) -> bool {
        let first = self.first.filter(|_| !self.is_repeated());
        first.is_some_and(|first| self.write(table, at, first))
    }

    /// Adds what the loop makes of the operands with these numbers to `sum`, which is none of them.
    pub(crate) fn add(
        &self,
        table: &LoopTable,
        at: impl Iterator<Item = usize>,
        sum: Flat<'_>,
        plus: &LoopTable,
    ) -> bool {
        let mut room = [const { MaybeUninit::<u64>::uninit() }; FEW];
        let made = room.as_mut_ptr().cast::<u8>();
        let fits = sum.n * sum.dtype.size() <= size_of_val(&room);
        // SAFETY: the room holds so many elements.
        if !self.is_like(sum) || !fits || !unsafe { self.call(table, at, made, sum.n) } {
            return false;
        }
        // SAFETY: both hold the same number of elements of one dtype, and the caller may write to the sum.
        unsafe { self.plus(plus, made, sum) }
    }

    /// Adds the first operand to `sum`, which is none of the operands.
    pub(crate) fn add_first(&self, sum: Flat<'_>, plus: &LoopTable) -> bool {
        // SAFETY: both hold the same number of elements of one dtype, and the caller may write to the sum.
        self.is_like(sum)
            && !self.is_repeated()
            && unsafe { self.plus(plus, self.elements[0], sum) }
    }

    #[inline(always)]
    fn is_like(&self, other: Flat<'_>) -> bool {
        self.first.is_some_and(|first| (other.n, other.dtype) == (first.n, first.dtype))
    }

    /// # Safety
    /// `new` and `sum` hold as many elements of the first operand's dtype as that has.
    #[inline(always)]
    unsafe fn plus(&self, plus: &LoopTable, new: *const u8, sum: Flat<'_>) -> bool {
        let Some(f) = plus.get(sum.dtype) else { return false };
        if sum.n > 0 {
            let ptrs = [sum.ptr.cast_const(), new];
            // SAFETY: the caller's contract; the output is the first operand.
            unsafe { f(ptrs.as_ptr(), sum.ptr, sum.n, self.params.as_ptr()) };
        }
        true
    }

    /// # Safety
    /// `out` has room for `n` elements, which is one if no operand has more and otherwise as many as the first operand has;
    /// it overlaps no operand unless it is one exactly.
    #[inline(never)]
    unsafe fn call(
        &self,
        table: &LoopTable,
        at: impl Iterator<Item = usize>,
        out: *mut u8,
        n: usize,
    ) -> bool {
        let Some(Flat { dtype, .. }) = self.first else { return false };
        let mut ptrs = [ptr::null(); MAX_OPERANDS];
        let mut words = [[const { MaybeUninit::uninit() }; FEW]; 2];
        let mut room = words.iter_mut();
        for (place, k) in ptrs.iter_mut().zip(at) {
            let Some(&elements) = self.elements.get(k) else { return false };
            *place = elements;
            if !elements.is_null() {
                continue;
            }
            if self.numbers >> k & 1 == 0 {
                return false;
            }
            if n == 1 {
                *place = (&raw const self.words[k]).cast();
            } else {
                let Some(words) = room.next() else { return false };
                repeat(self.words[k], dtype, &mut words[..(n * dtype.size()).div_ceil(8)]);
                *place = words.as_ptr().cast();
            }
        }
        let Some(f) = table.get(dtype).filter(|_| !table.mask) else { return false };
        if n > 0 {
            // SAFETY: every pointer addresses `n` elements of the loop's dtype: in live storage, or of one number, which
            // stands in `self.words` for one element and in `words` for more.
            unsafe { f(ptrs.as_ptr(), out, n, self.params.as_ptr()) };
        }
        true
    }
}
