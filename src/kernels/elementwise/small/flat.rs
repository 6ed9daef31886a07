//! The small-array fast path: one loop call on a few contiguous elements per operand, without a plan.
//!
//! A call that does not fit is refused, and the caller uses `apply`. Invariant: every operand has the
//! output's element count, or is a scalar.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

use smallvec::smallvec;

use crate::kernels::elementwise::LoopTable;
use crate::kernels::elementwise::dispatch::MAX_OPERANDS;
use crate::kernels::elementwise::launch_loop::{In, word};
use crate::kernels::elementwise::loop_table::Loop;
use crate::kernels::elementwise::where_loops::where_loop;

use crate::array::{Layout, Storage, capture};
use crate::dtype::DType;
use crate::kernels::launch::{self, Launch, Operand, Work};

/// The most elements of a small call: above, padding and splitting of the general path pay.
pub(in crate::kernels::elementwise) const SMALL_CALL_ELEMENTS: usize = 256;

/// A contiguous run of elements of one dtype inside a storage.
#[derive(Clone, Copy)]
pub struct Flat<'a> {
    pub(in crate::kernels::elementwise) dtype: DType,
    pub(in crate::kernels::elementwise) ptr: *mut u8,
    pub(in crate::kernels::elementwise) n: usize,
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

    /// `n` elements from `offset` on (`run`), if they are few and inside the storage.
    #[inline(always)]
    pub(crate) fn run(storage: &'a Storage, run: (isize, usize), dtype: DType) -> Option<Flat<'a>> {
        if capture::active() {
            capture::note_used(storage);
        }
        run_address(storage, run, dtype).map(|ptr| Flat {
            dtype,
            ptr,
            n: run.1,
            lifetime: PhantomData,
        })
    }

    /// The bytes of the first element.
    ///
    /// # Safety
    /// There is one, and it fits a word.
    #[inline(always)]
    pub(in crate::kernels::elementwise) unsafe fn word(self) -> u64 {
        let mut bytes = [0; 8];
        // SAFETY: the element is inside the storage; the caller's contract.
        unsafe { ptr::copy_nonoverlapping(self.ptr, bytes.as_mut_ptr(), self.dtype.size()) };
        u64::from_ne_bytes(bytes)
    }
}

/// The address of `n` elements from `offset` on, if they are few and inside the storage.
#[inline(always)]
pub(in crate::kernels::elementwise) fn run_address(
    storage: &Storage,
    (offset, n): (isize, usize),
    dtype: DType,
) -> Option<*mut u8> {
    let size = dtype.size();
    let fits =
        n <= SMALL_CALL_ELEMENTS && offset >= 0 && (offset as usize + n) * size <= storage.nbytes();
    fits.then_some(storage.ptr().wrapping_add(offset as usize * size))
}

/// An operand of a small call.
#[derive(Clone, Copy)]
pub enum FlatOperand<'a> {
    /// Elements.
    Elements(Flat<'a>),
    /// A stride-0 run: one element for all.
    Repeated(Flat<'a>),
    /// A scalar.
    Float(f64),
    /// A scalar.
    Int(i64),
}

impl FlatOperand<'_> {
    #[inline(always)]
    fn dtype(&self) -> Option<DType> {
        match self {
            FlatOperand::Elements(x) | FlatOperand::Repeated(x) => Some(x.dtype),
            FlatOperand::Float(_) | FlatOperand::Int(_) => None,
        }
    }

    /// The scalar or stride-0 operand, as one element of `dtype` for `n` elements.
    #[inline(always)]
    fn word(&self, dtype: DType, n: usize) -> Option<u64> {
        match *self {
            // Two words are needed, or a conversion.
            _ if dtype.is_complex() => None,
            FlatOperand::Float(float) => Some(word(In::Float(float), dtype)),
            FlatOperand::Int(int) => Some(word(In::Int(int), dtype)),
            // In a capture the program must read the element again.
            FlatOperand::Repeated(x) if x.n == n && x.dtype == dtype && !capture::active() => {
                // SAFETY: the element was inside its storage, and no element is larger than a word.
                Some(unsafe { x.word() })
            }
            _ => None,
        }
    }
}

/// Calls the loop for the dtype of the operands; returns false if it does not fit. The output is fresh, or an
/// operand exactly.
#[inline(always)]
pub(crate) fn apply_flat(
    table: &LoopTable,
    ins: &[FlatOperand<'_>],
    out: Flat<'_>,
    params: &[f64],
) -> bool {
    let mut numbers = [0u64; MAX_OPERANDS];
    let mut repeated = false;
    let mut words = [const { MaybeUninit::uninit() }; SMALL_CALL_ELEMENTS];
    let mut ptrs = [ptr::null(); MAX_OPERANDS];
    let dtype = ins.iter().find_map(FlatOperand::dtype).unwrap_or(out.dtype);
    if ins.len() > MAX_OPERANDS || out.dtype != table.result(dtype) {
        return false;
    }
    if dtype.is_complex() && capture::active() {
        return false;
    }
    for (k, input) in ins.iter().enumerate() {
        ptrs[k] = match *input {
            FlatOperand::Elements(x) if x.n == out.n && x.dtype == dtype => x.ptr.cast_const(),
            FlatOperand::Elements(_) => return false,
            ref scalar => {
                let Some(word) = scalar.word(dtype, out.n) else { return false };
                numbers[k] = word;
                if out.n == 1 {
                    (&raw const numbers[k]).cast()
                } else if repeated || out.n > SMALL_CALL_ELEMENTS {
                    return false;
                } else {
                    repeated = true;
                    fill_words(word, dtype, &mut words[..(out.n * dtype.size()).div_ceil(8)]);
                    words.as_ptr().cast()
                }
            }
        };
    }
    let Some(f) = table.get(dtype) else {
        return false;
    };
    if capture::active() {
        record((f, table.text), (ins, &numbers), out, params, table.cost(dtype));
    }
    if out.n > 0 {
        // SAFETY: every pointer addresses `out.n` elements of the loop's dtype: in live storage, or a scalar,
        // in `numbers` for one element and in `words` for more.
        unsafe { f(ptrs.as_ptr(), out.ptr, out.n, params.as_ptr()) };
    }
    true
}

/// `where` on a few elements, outside captures; returns false if it does not fit. The output is fresh, and
/// scalars are converted to its dtype.
pub(crate) fn select_flat(mask: Flat<'_>, ins: [FlatOperand<'_>; 2], out: Flat<'_>) -> bool {
    let (n, size) = (out.n, out.dtype.size());
    if mask.dtype != DType::Bool || mask.n != n || n > SMALL_CALL_ELEMENTS || capture::active() {
        return false;
    }
    let mut words = [[const { MaybeUninit::uninit() }; SMALL_CALL_ELEMENTS]; 2];
    let mut ptrs = [mask.ptr.cast_const(), ptr::null(), ptr::null()];
    for ((place, input), words) in ptrs[1..].iter_mut().zip(ins).zip(&mut words) {
        *place = match input {
            FlatOperand::Elements(x) if x.n == n && x.dtype == out.dtype => x.ptr.cast_const(),
            FlatOperand::Elements(_) => return false,
            scalar => {
                let Some(word) = scalar.word(out.dtype, n) else { return false };
                fill_words(word, out.dtype, &mut words[..(n * size).div_ceil(8)]);
                words.as_ptr().cast()
            }
        };
    }
    // SAFETY: every pointer addresses `n` elements: of the mask and of the output's dtype, in live storage or in `words`.
    unsafe { where_loop(size)(ptrs.as_ptr(), out.ptr, n, ptr::null()) };
    true
}

/// Fills `words` with copies of the first element in `word`.
#[inline(always)]
pub(in crate::kernels::elementwise) fn fill_words(
    word: u64,
    dtype: DType,
    words: &mut [MaybeUninit<u64>],
) {
    let bytes = word.to_ne_bytes();
    let pattern = match dtype.size() {
        8 => bytes,
        size => std::array::from_fn(|i| bytes[i % size]),
    };
    for place in words {
        place.write(u64::from_ne_bytes(pattern));
    }
}

impl From<&Flat<'_>> for Operand {
    fn from(flat: &Flat<'_>) -> Operand {
        Operand::of(flat.dtype, flat.ptr, &[flat.n], &[1])
    }
}

#[cold]
#[inline(never)]
fn record(
    (table, text): (Loop, &'static str),
    (ins, words): (&[FlatOperand<'_>], &[u64]),
    out: Flat<'_>,
    params: &[f64],
    cost: f32,
) {
    let elements = |input: &FlatOperand<'_>| match input {
        FlatOperand::Elements(x) => Some(Operand::from(x)),
        _ => None,
    };
    let number = |(input, &word): (&FlatOperand<'_>, &u64)| match input {
        FlatOperand::Elements(_) => None,
        _ => Some(word),
    };
    let numbers = ins.iter().zip(words).map(number).collect();
    let work = Work::Map { table, text, numbers, params: params.into(), cost };
    let reads = ins.iter().filter_map(elements).collect();
    drop(launch::trace_launch(Launch {
        name: "map",
        reads,
        writes: smallvec![(&out).into()],
        work,
    }));
}
