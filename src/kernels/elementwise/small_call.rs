//! Loops over a few contiguous elements and scalars, without a strided plan: `FlatLoop` calls one loop, `SmallCall` several
//! loops over the same operands.
//!
//! They return false for operands that they do not support; the caller then uses `launch_loop::apply`. Invariant: every
//! operand has the call's dtype and element count, or is a scalar; the bits are those of `launch_loop::apply`.

use std::marker::PhantomData;
use std::ptr;

use super::dispatch::MAX_OPERANDS;
use super::launch_loop::LoopOperand;
use super::loop_call::{Loop, LoopCall};
use super::loop_table::LoopTable;
use super::scalar_operand::{SMALL_CALL_ELEMENTS, SmallBuffer, word};
use super::where_loops::where_loop;
use crate::array::{Layout, Storage, observer};
use crate::dtype::DType;

/// The most parameters of a formula of a small call.
const MAX_PARAMS: usize = 4;
/// Most scalars among the operands of a loop of a `SmallCall`: each has a buffer on the stack.
const MAX_SCALARS: usize = 2;

/// Contiguous elements of one dtype inside a storage.
#[derive(Clone, Copy)]
pub struct Flat<'a> {
    dtype: DType,
    ptr: *mut u8,
    n: usize,
    lifetime: PhantomData<&'a Storage>,
}

impl<'a> Flat<'a> {
    /// The elements of a layout, if they are contiguous, few, and inside the storage.
    #[inline(always)]
    pub(crate) fn of(storage: &'a Storage, layout: &Layout, dtype: DType) -> Option<Flat<'a>> {
        if !layout.is_contiguous() {
            return None;
        }
        Flat::run(storage, (layout.offset(), layout.numel()), dtype)
    }

    /// The single element of a stride-0 layout of few elements.
    #[inline]
    pub(crate) fn repeated(
        storage: &'a Storage,
        layout: &Layout,
        dtype: DType,
    ) -> Option<Flat<'a>> {
        let is_scalar = || layout.strides().iter().all(|&stride| stride == 0);
        let n = layout.numel();
        if !(1..=SMALL_CALL_ELEMENTS).contains(&n) || !is_scalar() {
            return None;
        }
        Flat::run(storage, (layout.offset(), 1), dtype).map(|flat| Flat { n, ..flat })
    }

    /// `n` elements from `offset` on, if they are few and inside the storage.
    #[inline(always)]
    pub(crate) fn run(
        storage: &'a Storage,
        (offset, n): (isize, usize),
        dtype: DType,
    ) -> Option<Flat<'a>> {
        let size = dtype.size();
        let fits = n <= SMALL_CALL_ELEMENTS
            && offset >= 0
            && (offset as usize + n) * size <= storage.nbytes();
        let ptr = storage.ptr().wrapping_add(offset as usize * size);
        fits.then_some(Flat { dtype, ptr, n, lifetime: PhantomData })
    }

    /// The number of elements.
    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.n
    }

    /// The bytes of the first element.
    ///
    /// # Safety
    /// There is at least one element, of at most 8 bytes.
    #[inline(always)]
    unsafe fn word(self) -> u64 {
        let mut bytes = [0; 8];
        // SAFETY: the element is inside the storage; the caller's contract.
        unsafe { ptr::copy_nonoverlapping(self.ptr, bytes.as_mut_ptr(), self.dtype.size()) };
        u64::from_ne_bytes(bytes)
    }
}

/// An operand of a small call.
#[derive(Clone, Copy)]
pub enum FlatOperand<'a> {
    /// Contiguous elements.
    Elements(Flat<'a>),
    /// One element in memory that is broadcast: all strides are 0.
    Repeated(Flat<'a>),
    /// A float, converted to the dtype of the loop.
    Float(f64),
    /// An integer, converted likewise.
    Int(i64),
}

/// A checked operand of a loop over `n` elements of one dtype.
#[derive(Clone, Copy)]
enum Argument {
    Absent,
    /// The `n` elements.
    Elements(*const u8),
    /// The bytes of one element that is broadcast.
    Scalar(u64),
}

impl Argument {
    /// The argument of an operand, or of none; None if it has another dtype or count.
    #[inline(always)]
    fn of_optional(operand: Option<FlatOperand<'_>>, dtype: DType, n: usize) -> Option<Argument> {
        match operand {
            Some(operand) => Argument::of(operand, dtype, n),
            None => Some(Argument::Absent),
        }
    }

    /// The argument of an operand; None if it has another dtype or count.
    #[inline(always)]
    fn of(operand: FlatOperand<'_>, dtype: DType, n: usize) -> Option<Argument> {
        let matches = |x: Flat<'_>| x.n == n && x.dtype == dtype;
        match operand {
            FlatOperand::Elements(x) if matches(x) => Some(Argument::Elements(x.ptr)),
            FlatOperand::Elements(_) => None,
            // A complex scalar may not fit one word.
            _ if dtype.is_complex() => None,
            // SAFETY: there is an element inside its storage, and only complex ones are larger than a word.
            FlatOperand::Repeated(x) if matches(x) => Some(Argument::Scalar(unsafe { x.word() })),
            FlatOperand::Repeated(_) => None,
            FlatOperand::Float(float) => {
                Some(Argument::Scalar(word(LoopOperand::Float(float), dtype)))
            }
            FlatOperand::Int(int) => Some(Argument::Scalar(word(LoopOperand::Int(int), dtype))),
        }
    }

    /// The address of `n` elements of `size` bytes; a scalar is repeated in `buffer`. Null if absent.
    #[inline(always)]
    fn address(&self, size: usize, n: usize, buffer: &mut SmallBuffer) -> *const u8 {
        match self {
            Argument::Absent => ptr::null(),
            Argument::Elements(elements) => *elements,
            Argument::Scalar(word) if n == 1 => ptr::from_ref(word).cast(),
            Argument::Scalar(word) => buffer.repeat(*word, size, n),
        }
    }
}

/// A loop with the dtypes of its operands and its result.
#[derive(Clone, Copy)]
pub(crate) struct FlatLoop {
    f: Loop,
    dtype: DType,
    /// The dtype of the result.
    pub(crate) result: DType,
}

impl LoopTable {
    /// The loop for operands of this dtype.
    #[inline(always)]
    pub(crate) fn flat_loop(&self, dtype: DType) -> Option<FlatLoop> {
        Some(FlatLoop { f: self.get(dtype)?, dtype, result: self.result(dtype) })
    }
}

impl FlatLoop {
    /// Applies the loop to up to three operands; false if one has another dtype or count, or a trace is active.
    /// `out` is fresh memory or one of the operands; `params` are the loop's parameters.
    ///
    /// It is inlined into callers that know the variants of the operands, so that at run time only the addresses of the
    /// operands are computed.
    #[inline(always)]
    pub(crate) fn apply(
        self,
        [a, b, c]: [Option<FlatOperand<'_>>; 3],
        out: Flat<'_>,
        params: &[f64],
    ) -> bool {
        let FlatLoop { f, dtype, result } = self;
        let (n, size) = (out.n, dtype.size());
        if out.dtype != result || observer::is_active() {
            return false;
        }
        // Checked one after the other, so that the first mismatch returns.
        let Some(a) = Argument::of_optional(a, dtype, n) else { return false };
        let Some(b) = Argument::of_optional(b, dtype, n) else { return false };
        let Some(c) = Argument::of_optional(c, dtype, n) else { return false };
        let (mut x, mut y, mut z) = (SmallBuffer::new(), SmallBuffer::new(), SmallBuffer::new());
        let ins =
            [a.address(size, n, &mut x), b.address(size, n, &mut y), c.address(size, n, &mut z)];
        // SAFETY: every operand is `n` elements of the loop's dtype: in live storage, one scalar, or in a buffer; the
        // caller may write to the output.
        unsafe { LoopCall { f, ins: &ins, out: out.ptr, n, params }.run() };
        true
    }
}

/// Operands, which loops refer to by index, and parameters of several loops over `n` elements of one dtype, such as the
/// derivatives of a node.
pub(crate) struct SmallCall<'a> {
    dtype: DType,
    n: usize,
    arguments: [Argument; MAX_OPERANDS],
    params: [f64; MAX_PARAMS],
    lifetime: PhantomData<&'a Storage>,
}

impl<'a> SmallCall<'a> {
    /// A call without operands. None for many elements, and during a trace.
    #[inline(always)]
    pub(crate) fn new(dtype: DType, n: usize) -> Option<SmallCall<'a>> {
        if n > SMALL_CALL_ELEMENTS || observer::is_active() {
            return None;
        }
        let (arguments, params) = ([Argument::Absent; MAX_OPERANDS], [0.0; MAX_PARAMS]);
        Some(SmallCall { dtype, n, arguments, params, lifetime: PhantomData })
    }

    /// Sets operand `k`; false, and it stays absent, if it has another dtype or count.
    #[inline(always)]
    pub(crate) fn set(&mut self, k: usize, operand: FlatOperand<'a>) -> bool {
        match (self.arguments.get_mut(k), Argument::of(operand, self.dtype, self.n)) {
            (Some(place), Some(argument)) => *place = argument,
            _ => return false,
        }
        true
    }

    /// Sets parameter `k` of the formulas; false if there are too many.
    #[inline(always)]
    pub(crate) fn set_param(&mut self, k: usize, number: f64) -> bool {
        self.params.get_mut(k).map(|place| *place = number).is_some()
    }

    /// Whether these operands are scalars, so that all elements of the result are equal.
    #[inline(always)]
    pub(crate) fn all_scalars(&self, mut operands: impl Iterator<Item = usize>) -> bool {
        operands.all(|k| matches!(self.arguments.get(k), Some(Argument::Scalar(_))))
    }

    /// Applies the loop of the table to these operands; false if the table has none for the dtype, or an operand is absent.
    /// `out` is fresh memory or one of the operands; it may have a single element if all operands are scalars.
    #[inline(always)]
    pub(crate) fn write(
        &self,
        table: &LoopTable,
        operands: impl Iterator<Item = usize> + Clone,
        out: Flat<'_>,
    ) -> bool {
        let fits = out.n == self.n || out.n == 1 && self.all_scalars(operands.clone());
        let Some(f) = table.get(self.dtype) else { return false };
        // SAFETY: the output holds elements of the loop's result, and the caller may write to it.
        fits && out.dtype == table.result(self.dtype) && unsafe { self.call(f, operands, out) }
    }

    /// Applies the loop and writes the result over the first operand; false if that is a scalar.
    #[inline(always)]
    pub(crate) fn overwrite(
        &self,
        table: &LoopTable,
        operands: impl Iterator<Item = usize> + Clone,
    ) -> bool {
        self.first().is_some_and(|first| self.write(table, operands, first))
    }

    /// Adds the loop's result to `sum`, which is none of the operands; `plus` has the loops of the addition.
    pub(crate) fn add(
        &self,
        table: &LoopTable,
        operands: impl Iterator<Item = usize> + Clone,
        sum: Flat<'_>,
        plus: &LoopTable,
    ) -> bool {
        let mut buffer = SmallBuffer::new();
        let result = Flat { ptr: buffer.as_mut_ptr(), ..sum };
        // The buffer has a word for each element.
        sum.dtype.size() <= size_of::<u64>()
            && self.write(table, operands, result)
            && self.add_run(result, sum, plus)
    }

    /// Adds the first operand to `sum`, which is none of the operands; false if it is a scalar.
    pub(crate) fn add_first(&self, sum: Flat<'_>, plus: &LoopTable) -> bool {
        self.first().is_some_and(|first| self.add_run(first, sum, plus))
    }

    /// The first operand, if it is elements.
    #[inline(always)]
    fn first(&self) -> Option<Flat<'a>> {
        match self.arguments[0] {
            Argument::Elements(ptr) => {
                let (dtype, n, ptr) = (self.dtype, self.n, ptr.cast_mut());
                Some(Flat { dtype, ptr, n, lifetime: PhantomData })
            }
            _ => None,
        }
    }

    /// `sum += run`; false unless both have the call's dtype and element count.
    #[inline(always)]
    fn add_run(&self, run: Flat<'_>, sum: Flat<'_>, plus: &LoopTable) -> bool {
        let (Some(f), true) = (plus.get(self.dtype), (sum.n, sum.dtype) == (self.n, self.dtype))
        else {
            return false;
        };
        let ins = [sum.ptr.cast_const(), run.ptr.cast_const()];
        // SAFETY: both hold `n` elements of the loop's dtype, and the caller may write to the sum, the first operand.
        unsafe { LoopCall { f, ins: &ins, out: sum.ptr, n: sum.n, params: &[] }.run() };
        true
    }

    /// Calls a loop; false if an operand is absent or there are too many scalars.
    ///
    /// # Safety
    /// The loop is for the call's dtype, and `out` holds elements of its result: as many as the call, or one if all
    /// operands are scalars.
    #[inline(never)]
    unsafe fn call(&self, f: Loop, operands: impl Iterator<Item = usize>, out: Flat<'_>) -> bool {
        let mut buffers = [const { SmallBuffer::new() }; MAX_SCALARS];
        let mut free = buffers.iter_mut();
        let mut ins = [ptr::null(); MAX_OPERANDS];
        for (place, k) in ins.iter_mut().zip(operands) {
            *place = match self.arguments.get(k) {
                Some(&Argument::Elements(elements)) => elements,
                Some(Argument::Scalar(word)) if out.n == 1 => ptr::from_ref(word).cast(),
                Some(&Argument::Scalar(word)) => {
                    let Some(buffer) = free.next() else { return false };
                    buffer.repeat(word, self.dtype.size(), out.n)
                }
                Some(Argument::Absent) | None => return false,
            };
        }
        // SAFETY: every pointer addresses `n` elements of the loop's dtype: in live storage, in `self`, or in a buffer.
        unsafe { LoopCall { f, ins: &ins, out: out.ptr, n: out.n, params: &self.params }.run() };
        true
    }
}

/// `where` on a few elements; false if an operand has another dtype or count. The output is fresh, and scalars are converted
/// to its dtype.
pub(crate) fn select_flat(mask: Flat<'_>, [a, b]: [FlatOperand<'_>; 2], out: Flat<'_>) -> bool {
    let (n, size) = (out.n, out.dtype.size());
    if mask.dtype != DType::Bool || mask.n != n || n > SMALL_CALL_ELEMENTS || observer::is_active()
    {
        return false;
    }
    let Some(a) = Argument::of(a, out.dtype, n) else { return false };
    let Some(b) = Argument::of(b, out.dtype, n) else { return false };
    let (mut x, mut y) = (SmallBuffer::new(), SmallBuffer::new());
    let ins = [mask.ptr.cast_const(), a.address(size, n, &mut x), b.address(size, n, &mut y)];
    // SAFETY: the operands are a mask and elements of the output's dtype, as many as it has.
    unsafe { LoopCall { f: where_loop(size), ins: &ins, out: out.ptr, n, params: &[] }.run() };
    true
}
