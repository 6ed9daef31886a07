//! The shortest way into a loop: a few contiguous elements per operand.
//!
//! Owns: `Flat`, a bounds-checked contiguous run, and the call without a plan for small ones.
//! Never splits, gathers or pads; what it refuses goes through `apply`.
//! Invariant: every operand has the output's element count, or is one number.

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

/// Above this many elements the general driver's padding and splitting are worth their cost.
pub(in crate::kernels::elementwise) const FEW: usize = 256;

/// A contiguous run of elements of one dtype inside a storage.
#[derive(Clone, Copy)]
pub struct Flat<'a> {
    pub(in crate::kernels::elementwise) dtype: DType,
    pub(in crate::kernels::elementwise) ptr: *mut u8,
    pub(in crate::kernels::elementwise) n: usize,
    life: PhantomData<&'a Storage>,
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

    /// The one element that all elements of a layout are, if they are few.
    #[inline]
    pub(crate) fn repeated(
        storage: &'a Storage,
        layout: &Layout,
        dtype: DType,
    ) -> Option<Flat<'a>> {
        let one = || layout.strides().iter().all(|&stride| stride == 0);
        let n = layout.numel();
        if !(1..=FEW).contains(&n) || !one() {
            return None;
        }
        Flat::run(storage, (layout.offset(), 1), dtype).map(|flat| Flat { n, ..flat })
    }

    /// `n` elements in a run from a position on, if they are few and inside the storage.
    #[inline(always)]
    pub(crate) fn run(storage: &'a Storage, run: (isize, usize), dtype: DType) -> Option<Flat<'a>> {
        if capture::active() {
            capture::register_used(storage);
        }
        start(storage, run, dtype).map(|ptr| Flat { dtype, ptr, n: run.1, life: PhantomData })
    }

    /// The bytes of the first element.
    ///
    /// # Safety
    /// There is one, and it is no larger than a word.
    #[inline(always)]
    pub(in crate::kernels::elementwise) unsafe fn word(self) -> u64 {
        let mut bytes = [0; 8];
        // SAFETY: the element lies inside the storage; the caller's contract.
        unsafe { ptr::copy_nonoverlapping(self.ptr, bytes.as_mut_ptr(), self.dtype.size()) };
        u64::from_ne_bytes(bytes)
    }
}

/// Where `n` elements in a run from a position on begin, if they are few and inside the storage.
#[inline(always)]
pub(in crate::kernels::elementwise) fn start(
    storage: &Storage,
    (offset, n): (isize, usize),
    dtype: DType,
) -> Option<*mut u8> {
    let size = dtype.size();
    let inside = n <= FEW && offset >= 0 && (offset as usize + n) * size <= storage.nbytes();
    inside.then_some(storage.ptr().wrapping_add(offset as usize * size))
}

/// An operand of a small call.
#[derive(Clone, Copy)]
pub enum FlatIn<'a> {
    /// Elements.
    Elements(Flat<'a>),
    /// One element for all.
    Repeated(Flat<'a>),
    /// One number for all elements.
    Float(f64),
    /// The same.
    Int(i64),
}

impl FlatIn<'_> {
    #[inline(always)]
    fn dtype(&self) -> Option<DType> {
        match self {
            FlatIn::Elements(x) | FlatIn::Repeated(x) => Some(x.dtype),
            FlatIn::Float(_) | FlatIn::Int(_) => None,
        }
    }

    /// The one value that stands for `n` elements of a dtype, as a word.
    #[inline(always)]
    fn word(&self, dtype: DType, n: usize) -> Option<u64> {
        match *self {
            // Two words are needed, or a conversion.
            _ if dtype.is_complex() => None,
            FlatIn::Float(float) => Some(word(In::Float(float), dtype)),
            FlatIn::Int(int) => Some(word(In::Int(int), dtype)),
            // A recording is to read the element again.
            FlatIn::Repeated(x) if x.n == n && x.dtype == dtype && !capture::active() => {
                // SAFETY: the element was inside its storage, and no element is larger than a word.
                Some(unsafe { x.word() })
            }
            _ => None,
        }
    }
}

/// Calls the loop for the dtype that the operands share, or refuses. The output is fresh, or an operand exactly.
#[inline(always)]
pub(crate) fn apply_flat(
    table: &LoopTable,
    ins: &[FlatIn<'_>],
    out: Flat<'_>,
    params: &[f64],
) -> bool {
    let mut numbers = [0u64; MAX_OPERANDS];
    let mut repeated = false;
    let mut words = [const { MaybeUninit::uninit() }; FEW];
    let mut ptrs = [ptr::null(); MAX_OPERANDS];
    let dtype = ins.iter().find_map(FlatIn::dtype).unwrap_or(out.dtype);
    if ins.len() > MAX_OPERANDS || out.dtype != table.result(dtype) {
        return false;
    }
    if dtype.is_complex() && capture::active() {
        return false;
    }
    for (k, input) in ins.iter().enumerate() {
        ptrs[k] = match *input {
            FlatIn::Elements(x) if x.n == out.n && x.dtype == dtype => x.ptr.cast_const(),
            FlatIn::Elements(_) => return false,
            ref one => {
                let Some(word) = one.word(dtype, out.n) else { return false };
                numbers[k] = word;
                if out.n == 1 {
                    (&raw const numbers[k]).cast()
                } else if repeated || out.n > FEW {
                    return false;
                } else {
                    repeated = true;
                    repeat(word, dtype, &mut words[..(out.n * dtype.size()).div_ceil(8)]);
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
        // SAFETY: every pointer addresses `out.n` elements of the loop's dtype: in live storage, or of one number, which
        // stands in `numbers` for one element and in `words` for more.
        unsafe { f(ptrs.as_ptr(), out.ptr, out.n, params.as_ptr()) };
    }
    true
}

/// `a` where the mask holds, else `b`, for a few elements outside recordings; says whether it was done. The output is
/// fresh, and numbers are in its dtype.
pub(crate) fn select_flat(mask: Flat<'_>, ins: [FlatIn<'_>; 2], out: Flat<'_>) -> bool {
    let (n, size) = (out.n, out.dtype.size());
    if mask.dtype != DType::Bool || mask.n != n || n > FEW || capture::active() {
        return false;
    }
    let mut words = [[const { MaybeUninit::uninit() }; FEW]; 2];
    let mut ptrs = [mask.ptr.cast_const(), ptr::null(), ptr::null()];
    for ((place, input), words) in ptrs[1..].iter_mut().zip(ins).zip(&mut words) {
        *place = match input {
            FlatIn::Elements(x) if x.n == n && x.dtype == out.dtype => x.ptr.cast_const(),
            FlatIn::Elements(_) => return false,
            one => {
                let Some(word) = one.word(out.dtype, n) else { return false };
                repeat(word, out.dtype, &mut words[..(n * size).div_ceil(8)]);
                words.as_ptr().cast()
            }
        };
    }
    // SAFETY: every pointer addresses `n` elements: of the mask and of the output's dtype, in live storage or in `words`.
    unsafe { where_loop(size)(ptrs.as_ptr(), out.ptr, n, ptr::null()) };
    true
}

/// Fills words with elements that are all the first of `word`.
#[inline(always)]
pub(in crate::kernels::elementwise) fn repeat(
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
    (ins, words): (&[FlatIn<'_>], &[u64]),
    out: Flat<'_>,
    params: &[f64],
    cost: f32,
) {
    let elements = |input: &FlatIn<'_>| match input {
        FlatIn::Elements(x) => Some(Operand::from(x)),
        _ => None,
    };
    let number = |(input, &word): (&FlatIn<'_>, &u64)| match input {
        FlatIn::Elements(_) => None,
        _ => Some(word),
    };
    let numbers = ins.iter().zip(words).map(number).collect();
    let work = Work::Map { table, text, numbers, params: params.into(), cost };
    let reads = ins.iter().filter_map(elements).collect();
    drop(launch::record(Launch { name: "map", reads, writes: smallvec![(&out).into()], work }));
}
