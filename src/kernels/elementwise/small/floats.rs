//! The fastest path: a loop over a few contiguous floats whose dtype and layout are already known to match.
//! In captures, calls go through `flat` instead.
//!
//! Invariant: a run has the result's count and the loop's dtype, and is inside its storage.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

use super::flat::{SMALL_CALL_ELEMENTS, fill_words, run_address};
use crate::array::Storage;
use crate::dtype::DType;
use crate::kernels::elementwise::LoopTable;
use crate::kernels::elementwise::launch_loop::{In, word};
use crate::kernels::elementwise::loop_table::Loop;
use crate::kernels::isa;

/// A buffer for a scalar that is repeated for every element.
pub(crate) type ScalarBuffer = [MaybeUninit<u64>; SMALL_CALL_ELEMENTS];

/// An operand of a call: a run of floats, a scalar, or none.
pub(crate) trait FloatOperand {
    /// The address of `n` elements of the dtype; a call has at most one scalar, which is repeated in
    /// `buffer`.
    fn address(self, dtype: DType, n: usize, buffer: &mut ScalarBuffer) -> *const u8;
}

/// Contiguous elements of the call's dtype and count.
pub(crate) struct FloatRun<'a> {
    ptr: *const u8,
    n: usize,
    dtype: DType,
    lifetime: PhantomData<&'a Storage>,
}

impl<'a> FloatRun<'a> {
    /// `n` elements from `offset` on (`run`), if they are inside the storage.
    #[inline(always)]
    pub(crate) fn of(
        storage: &'a Storage,
        run: (isize, usize),
        dtype: DType,
    ) -> Option<FloatRun<'a>> {
        run_address(storage, run, dtype).map(|ptr| FloatRun {
            ptr,
            n: run.1,
            dtype,
            lifetime: PhantomData,
        })
    }
}

impl FloatOperand for FloatRun<'_> {
    #[inline(always)]
    fn address(self, dtype: DType, n: usize, _: &mut ScalarBuffer) -> *const u8 {
        assert!(self.dtype == dtype && self.n == n, "operands of one dtype and count");
        self.ptr
    }
}

/// A scalar operand.
pub(crate) struct ScalarOperand(pub(crate) In<'static>);

impl FloatOperand for ScalarOperand {
    #[inline(always)]
    fn address(self, dtype: DType, n: usize, buffer: &mut ScalarBuffer) -> *const u8 {
        fill_words(word(self.0, dtype), dtype, &mut buffer[..(n * dtype.size()).div_ceil(8)]);
        buffer.as_ptr().cast()
    }
}

/// The absent second operand of a unary loop.
impl FloatOperand for () {
    #[inline(always)]
    fn address(self, _: DType, _: usize, _: &mut ScalarBuffer) -> *const u8 {
        ptr::null()
    }
}

/// The loop of a call on floats, its dtype and that of the result.
#[derive(Clone, Copy)]
pub(crate) struct FloatLoop {
    f: Loop,
    dtype: DType,
    /// The dtype of the result.
    pub(crate) result: DType,
}

impl LoopTable {
    /// The loop for operands of this dtype, if it is float64 or float32.
    #[inline(always)]
    pub(crate) fn float_loop(&self, dtype: DType) -> Option<FloatLoop> {
        let levels = match dtype {
            DType::F64 => &self.f64,
            DType::F32 => &self.f32,
            _ => return None,
        };
        self.float.then(|| FloatLoop {
            f: levels[isa::level() as usize],
            dtype,
            result: self.result(dtype),
        })
    }
}

/// Calls the loop on `n` elements. `params` holds the loop's parameters, and the output is not shared.
#[inline(always)]
pub(crate) fn apply_floats<A: FloatOperand, B: FloatOperand>(
    FloatLoop { f, dtype, result }: FloatLoop,
    (a, b): (A, B),
    (out, n): (&Storage, usize),
    params: &[f64],
) {
    let mut buffer = [const { MaybeUninit::uninit() }; SMALL_CALL_ELEMENTS];
    assert!(n <= SMALL_CALL_ELEMENTS && n * result.size() <= out.nbytes(), "room for the result");
    let ins = [a.address(dtype, n, &mut buffer), b.address(dtype, n, &mut buffer)];
    if n > 0 {
        // SAFETY: runs and scalars are `n` elements of the loop's dtype, in live storage or in `buffer`; the
        // output has space for as many results of the loop.
        unsafe { f(ins.as_ptr(), out.ptr(), n, params.as_ptr()) };
    }
}
