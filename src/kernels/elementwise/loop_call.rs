//! `Loop` and `LoopCall`: a function over contiguous elements, and one call of it. Eager operations, the backward pass and
//! programs of compiled functions build `LoopCall`s; there is no other way to call a loop.

/// The function of a loop: operands, output, count, parameters.
pub type LoopFn = unsafe fn(ins: *const *const u8, out: *mut u8, n: usize, params: *const f64);

/// A loop over `n` contiguous elements.
///
/// # Safety
/// Each operand and the output hold `n` aligned elements of the loop's types; the output either overlaps no
/// operand or starts where it starts; `params` holds the formula's parameters; the CPU has the loop's level.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Loop(LoopFn);

impl Loop {
    /// The loop of a function.
    pub const fn new(f: LoopFn) -> Loop {
        Loop(f)
    }

    /// The loops of the instruction-set levels.
    pub const fn levels([base, avx2, avx512]: [LoopFn; 3]) -> [Loop; 3] {
        [Loop(base), Loop(avx2), Loop(avx512)]
    }

    /// The address of its code, which tells loops apart.
    pub fn address(self) -> usize {
        self.0 as usize
    }
}

/// A loop with its operands, its output, the number of elements, and its parameters.
#[derive(Clone, Copy)]
pub struct LoopCall<'a> {
    /// The loop.
    pub f: Loop,
    /// The first element of each operand; the loop reads no more of them than it has operands. Borrowed: a copy of
    /// pointers that were just written would wait for their stores.
    pub ins: &'a [*const u8],
    /// The first element of the output.
    pub out: *mut u8,
    /// The number of elements.
    pub n: usize,
    /// The parameters of the formula.
    pub params: &'a [f64],
}

impl LoopCall<'_> {
    /// Calls the loop.
    ///
    /// # Safety
    /// As `Loop`: there are as many operands as it has, operands and output hold `n` elements of its types, and `params` all
    /// its parameters.
    #[inline(always)]
    pub unsafe fn run(&self) {
        // SAFETY: the caller's contract.
        unsafe { (self.f.0)(self.ins.as_ptr(), self.out, self.n, self.params.as_ptr()) }
    }
}
