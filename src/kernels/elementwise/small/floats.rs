//! A few floats in a row, straight into a loop: what `flat` does where nothing is left to find out.
//!
//! Owns: the operands of such a call, and the call. Never records: in a recording, elements go through `flat`.
//! Invariant: a run has the result's count and the loop's dtype, and lies inside its storage.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

use super::flat::{FEW, repeat, start};
use crate::array::Storage;
use crate::dtype::DType;
use crate::kernels::elementwise::LoopTable;
use crate::kernels::elementwise::launch_loop::{In, word};
use crate::kernels::elementwise::loop_table::Loop;
use crate::kernels::isa;

/// Room for one number as often as a call has elements.
pub(crate) type Room = [MaybeUninit<u64>; FEW];

/// An operand of a call.
pub(crate) trait Few {
    /// Where `n` elements of the dtype begin; `room` is for a number, of which a call has at most one.
    fn begin(self, dtype: DType, n: usize, room: &mut Room) -> *const u8;
}

/// Elements of the dtype of the call, as many as its result has.
pub(crate) struct Run<'a> {
    ptr: *const u8,
    n: usize,
    dtype: DType,
    life: PhantomData<&'a Storage>,
}

impl<'a> Run<'a> {
    /// `n` elements from a position on, if they are inside the storage.
    #[inline(always)]
    pub(crate) fn of(storage: &'a Storage, run: (isize, usize), dtype: DType) -> Option<Run<'a>> {
        start(storage, run, dtype).map(|ptr| Run { ptr, n: run.1, dtype, life: PhantomData })
    }
}

impl Few for Run<'_> {
    #[inline(always)]
    fn begin(self, dtype: DType, n: usize, _: &mut Room) -> *const u8 {
        assert!(self.dtype == dtype && self.n == n, "operands of one dtype and count");
        self.ptr
    }
}

/// One number for all elements.
pub(crate) struct Number(pub(crate) In<'static>);

impl Few for Number {
    #[inline(always)]
    fn begin(self, dtype: DType, n: usize, room: &mut Room) -> *const u8 {
        repeat(word(self.0, dtype), dtype, &mut room[..(n * dtype.size()).div_ceil(8)]);
        room.as_ptr().cast()
    }
}

/// No operand, where there is only one.
impl Few for () {
    #[inline(always)]
    fn begin(self, _: DType, _: usize, _: &mut Room) -> *const u8 {
        ptr::null()
    }
}

/// The loop of a call with floats, their dtype and that of the result.
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
    pub(crate) fn of_floats(&self, dtype: DType) -> Option<FloatLoop> {
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

/// Calls the loop on `n` elements. There are as many parameters as it reads, and nobody else has the output.
#[inline(always)]
pub(crate) fn apply_few<A: Few, B: Few>(
    FloatLoop { f, dtype, result }: FloatLoop,
    (a, b): (A, B),
    (out, n): (&Storage, usize),
    params: &[f64],
) {
    let mut room = [const { MaybeUninit::uninit() }; FEW];
    assert!(n <= FEW && n * result.size() <= out.nbytes(), "room for the result");
    let ins = [a.begin(dtype, n, &mut room), b.begin(dtype, n, &mut room)];
    if n > 0 {
        // SAFETY: runs and numbers are `n` elements of the loop's dtype, in live storage or in `room`; the output has room
        // for as many of the loop's results.
        unsafe { f(ins.as_ptr(), out.ptr(), n, params.as_ptr()) };
    }
}
