//! The backward fast path: one node's loops over a few elements, with operands set up once for all of them.
//!
//! A loop that does not fit is refused, and the caller uses `apply`. Invariant: every operand has the dtype
//! and element count of the first, or is a scalar.

use std::mem::MaybeUninit;
use std::ptr;

use super::flat::{Flat, SMALL_CALL_ELEMENTS, fill_words};
use crate::kernels::elementwise::LoopTable;
use crate::kernels::elementwise::dispatch::MAX_OPERANDS;
use crate::kernels::elementwise::launch_loop::{In, word};

use crate::array::{Storage, capture};
use crate::dtype::DType;

/// The most operands, the first included.
const OPERANDS: usize = MAX_OPERANDS;

/// The numbered operands of one node's loops; operand 0 is the incoming gradient.
pub(crate) struct BackwardCall<'a> {
    first: Option<Flat<'a>>,
    /// Null for scalars and absent operands.
    elements: [*const u8; OPERANDS],
    words: [u64; OPERANDS],
    /// Bit `k`: operand `k` is a scalar in `words`.
    numbers: u32,
    params: [f64; 4],
}

impl<'a> BackwardCall<'a> {
    /// A call with the first operand. Without one, or while a capture records launches, every loop is
    /// refused.
    #[inline(always)]
    pub(crate) fn new(first: Option<Flat<'a>>) -> BackwardCall<'a> {
        let first = first.filter(|_| !capture::active());
        let mut call = BackwardCall {
            first,
            elements: [ptr::null(); OPERANDS],
            words: [0; OPERANDS],
            numbers: 0,
            params: [0.0; 4],
        };
        call.elements[0] = first.map_or(ptr::null(), |first| first.ptr.cast_const());
        call
    }

    /// Whether loops can be called.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.first.is_some()
    }

    /// As `new`, for a stride-0 operand: one element that stands for all.
    #[inline(always)]
    pub(crate) fn repeated(first: Option<Flat<'a>>) -> BackwardCall<'a> {
        let mut call =
            BackwardCall::new(first.filter(|first| !first.dtype.is_complex() && first.n > 0));
        if let Some(first) = call.first {
            call.elements[0] = ptr::null();
            // SAFETY: there is an element, and only complex ones are larger than a word.
            call.words[0] = unsafe { first.word() };
            call.numbers = 1;
        }
        call
    }

    /// Whether the first operand is one element for all.
    #[inline(always)]
    fn is_repeated(&self) -> bool {
        self.numbers & 1 != 0
    }

    /// Whether a loop over these operands yields one element for all.
    #[inline(always)]
    pub(crate) fn is_one(&self, mut operands: impl Iterator<Item = usize>) -> bool {
        self.is_repeated() && operands.all(|k| self.numbers >> k & 1 != 0)
    }

    /// Writes that element to `out`, fresh memory.
    #[inline(always)]
    pub(crate) fn write_one(
        &self,
        table: &LoopTable,
        operands: impl Iterator<Item = usize>,
        out: Flat<'_>,
    ) -> bool {
        let fits = self.first.is_some_and(|first| (out.n, out.dtype) == (1, first.dtype));
        // SAFETY: the output holds an element, and the caller may write to it.
        fits && unsafe { self.call(table, operands, out.ptr, 1) }
    }

    /// Sets operand `k` to a contiguous run of elements. It stays absent unless dtype and count are those of
    /// the first.
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

    /// Sets operand `k` to a scalar. It stays absent if the dtype needs two words.
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

    /// Sets parameter `k` of the formulas; with too many parameters, every loop is refused.
    #[inline(always)]
    pub(crate) fn param(&mut self, k: usize, number: Option<f64>) {
        match (self.params.get_mut(k), number) {
            (Some(place), Some(number)) => *place = number,
            _ => self.first = None,
        }
    }

    /// Writes the loop's result to `out`: fresh memory, or one of the operands.
    #[inline(always)]
    pub(crate) fn write(
        &self,
        table: &LoopTable,
        operands: impl Iterator<Item = usize>,
        out: Flat<'_>,
    ) -> bool {
        // SAFETY: the output holds the elements, and the caller may write to it.
        self.is_like(out) && unsafe { self.call(table, operands, out.ptr, out.n) }
    }

    /// The same over the first operand, unless that is stride-0.
    #[inline(always)]
    pub(crate) fn rewrite(&self, table: &LoopTable, operands: impl Iterator<Item = usize>) -> bool {
        let first = self.first.filter(|_| !self.is_repeated());
        first.is_some_and(|first| self.write(table, operands, first))
    }

    /// Adds the loop's result to `sum`, which is none of the operands.
    pub(crate) fn add(
        &self,
        table: &LoopTable,
        operands: impl Iterator<Item = usize>,
        sum: Flat<'_>,
        plus: &LoopTable,
    ) -> bool {
        let mut buffer = [const { MaybeUninit::<u64>::uninit() }; SMALL_CALL_ELEMENTS];
        let result = buffer.as_mut_ptr().cast::<u8>();
        let fits = sum.n * sum.dtype.size() <= size_of_val(&buffer);
        // SAFETY: the buffer holds as many elements.
        if !self.is_like(sum) || !fits || !unsafe { self.call(table, operands, result, sum.n) } {
            return false;
        }
        // SAFETY: both hold the same number of elements of one dtype, and the caller may write to the sum.
        unsafe { self.add_into(plus, result, sum) }
    }

    /// Adds the first operand to `sum`, which is none of the operands.
    pub(crate) fn add_first(&self, sum: Flat<'_>, plus: &LoopTable) -> bool {
        // SAFETY: both hold the same number of elements of one dtype, and the caller may write to the sum.
        self.is_like(sum)
            && !self.is_repeated()
            && unsafe { self.add_into(plus, self.elements[0], sum) }
    }

    #[inline(always)]
    fn is_like(&self, other: Flat<'_>) -> bool {
        self.first.is_some_and(|first| (other.n, other.dtype) == (first.n, first.dtype))
    }

    /// # Safety
    /// `new` and `sum` hold as many elements of the first operand's dtype as that has.
    #[inline(always)]
    unsafe fn add_into(&self, plus: &LoopTable, new: *const u8, sum: Flat<'_>) -> bool {
        let Some(f) = plus.get(sum.dtype) else { return false };
        if sum.n > 0 {
            let ptrs = [sum.ptr.cast_const(), new];
            // SAFETY: the caller's contract; the output is the first operand.
            unsafe { f(ptrs.as_ptr(), sum.ptr, sum.n, self.params.as_ptr()) };
        }
        true
    }

    /// # Safety
    /// `out` holds `n` elements: 1 if every operand is one element, otherwise the count of the first. It
    /// overlaps no operand unless it is one exactly.
    #[inline(never)]
    unsafe fn call(
        &self,
        table: &LoopTable,
        operands: impl Iterator<Item = usize>,
        out: *mut u8,
        n: usize,
    ) -> bool {
        let Some(Flat { dtype, .. }) = self.first else { return false };
        let mut ptrs = [ptr::null(); MAX_OPERANDS];
        let mut words = [[const { MaybeUninit::uninit() }; SMALL_CALL_ELEMENTS]; 2];
        let mut free = words.iter_mut();
        for (place, k) in ptrs.iter_mut().zip(operands) {
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
                let Some(words) = free.next() else { return false };
                fill_words(self.words[k], dtype, &mut words[..(n * dtype.size()).div_ceil(8)]);
                *place = words.as_ptr().cast();
            }
        }
        let Some(f) = table.get(dtype).filter(|_| !table.mask) else { return false };
        if n > 0 {
            // SAFETY: every pointer addresses `n` elements of the loop's dtype: in live storage, or a scalar
            // in `self.words` (`n` of 1) or repeated in `words`.
            unsafe { f(ptrs.as_ptr(), out, n, self.params.as_ptr()) };
        }
        true
    }
}
