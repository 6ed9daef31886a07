//! The shortest way into a loop: a few contiguous elements per operand.
//!
//! Owns: `Flat`, a bounds-checked contiguous run, and the call without a plan for small ones.
//! Never splits, gathers or pads; what it refuses goes through `apply`.
//! Invariant: every operand has the output's element count, or is one number for one element.

use std::marker::PhantomData;

use smallvec::smallvec;

use super::LoopTable;
use super::apply::{In, word};
use super::drive::MAX_OPERANDS;
use super::table::Loop;

use crate::array::{Layout, Storage, capture};
use crate::dtype::DType;
use crate::kernels::launch::{self, Launch, Operand, Work};

/// Above this many elements the general driver's padding and splitting are worth their cost.
const FEW: usize = 256;

/// A contiguous run of elements of one dtype inside a storage.
#[derive(Clone, Copy)]
pub struct Flat<'a> {
    dtype: DType,
    ptr: *mut u8,
    n: usize,
    life: PhantomData<&'a Storage>,
}

impl<'a> Flat<'a> {
    /// The elements of a layout, if they are contiguous, few, and inside the storage.
    #[inline(always)]
    pub(crate) fn of(storage: &'a Storage, layout: &Layout, dtype: DType) -> Option<Flat<'a>> {
        if !layout.is_contiguous() {
            return None;
        }
        let (n, offset, size) = (layout.numel(), layout.offset(), dtype.size());
        let inside = n <= FEW && offset >= 0 && (offset as usize + n) * size <= storage.nbytes();
        let ptr = storage.ptr().wrapping_add(offset as usize * size);
        if capture::active() {
            capture::seen(storage);
        }
        inside.then_some(Flat { dtype, ptr, n, life: PhantomData })
    }
}

/// An operand of a small call.
#[derive(Clone, Copy)]
pub enum FlatIn<'a> {
    /// Elements.
    Elements(Flat<'a>),
    /// One number; only for one element.
    Number(In<'a>),
}

impl FlatIn<'_> {
    #[inline(always)]
    fn dtype(&self) -> Option<DType> {
        match self {
            FlatIn::Elements(x) => Some(x.dtype),
            FlatIn::Number(_) => None,
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
    let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
    let dtype = ins.iter().find_map(FlatIn::dtype).unwrap_or(out.dtype);
    if ins.len() > MAX_OPERANDS || out.dtype != table.result(dtype) {
        return false;
    }
    for (k, input) in ins.iter().enumerate() {
        ptrs[k] = match *input {
            FlatIn::Elements(x) if x.n == out.n && x.dtype == dtype => x.ptr.cast_const(),
            FlatIn::Number(number) if out.n == 1 => {
                numbers[k] = word(number, dtype);
                (&raw const numbers[k]).cast()
            }
            _ => return false,
        };
    }
    let Some(f) = table.get(dtype) else {
        return false;
    };
    if capture::active() {
        record((f, table.text), (ins, &numbers), out, params, table.cost(dtype));
    }
    if out.n > 0 {
        // SAFETY: every pointer addresses `out.n` elements of the loop's dtype in live storage, or a number for one.
        unsafe { f(ptrs.as_ptr(), out.ptr, out.n, params.as_ptr()) };
    }
    true
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
        FlatIn::Number(_) => None,
    };
    let number = |(input, &word): (&FlatIn<'_>, &u64)| match input {
        FlatIn::Elements(_) => None,
        FlatIn::Number(_) => Some(word),
    };
    let numbers = ins.iter().zip(words).map(number).collect();
    let work = Work::Map { table, text, numbers, params: params.into(), cost };
    let reads = ins.iter().filter_map(elements).collect();
    drop(launch::record(Launch { name: "map", reads, writes: smallvec![(&out).into()], work }));
}
