//! Transforms of as many lines at once as a vector has lanes.
//!
//! Owns: the choice of lengths for it, and the plan. Never passes: `rows` does, and `ends` around it. Factors such as
//! 13 or 31, for which rustfft computes with single numbers, find vectors this way, and fives with little beside them, such as
//! 500; other lengths have faster ways.
//! Invariant: how a line is transformed follows from the shapes, not from the threads.

use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Direction, Fft, FftDirection, Length};

use super::load_store;
use super::passes::{Passes, Row};
use super::simd::Vector;
use crate::kernels::fft::float::Real;
use crate::kernels::isa::{Level, level};

/// The longest lines: their rows take 2 MB.
const LONGEST: usize = 8192;
/// Rows between both places, so that what is read and written at a time differs in the lower bits of its address.
const APART: usize = 16;
/// Bytes of a row of the widest vectors, and of their alignment.
const ROW: usize = 128;
const ALIGNED: usize = 64;

/// Lines that are transformed together: one after the other in memory, at most as many as there are lanes, or side by side.
#[derive(Clone, Copy)]
pub(in crate::kernels::fft) struct Strip<T> {
    pub(in crate::kernels::fft) from: *const Complex<T>,
    pub(in crate::kernels::fft) to: *mut Complex<T>,
    pub(in crate::kernels::fft) lines: usize,
    /// Of lines side by side, how far their positions are apart.
    pub(in crate::kernels::fft) beside: Option<[isize; 2]>,
    /// What lines side by side are multiplied with.
    pub(in crate::kernels::fft) factor: T,
    pub(in crate::kernels::fft) forward: bool,
}

/// A float type with vectors.
pub(in crate::kernels::fft) trait Lanes: Sized {
    /// The lanes of a vector on this CPU, 0 where there are none.
    fn lanes() -> usize;
    /// Transforms a strip. The places may be the same.
    ///
    /// # Safety
    /// The lines of both places are valid, there are lanes, and the room has `room_of` numbers.
    unsafe fn strip(passes: &Passes<Self>, strip: Strip<Self>, room: *mut Complex<Self>);
}

macro_rules! lanes {
    ($($t:ty: $avx512:ident $avx2:ident;)*) => {$(
        impl Lanes for $t {
            fn lanes() -> usize {
                match level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => ALIGNED / size_of::<$t>(),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => ALIGNED / 2 / size_of::<$t>(),
                    _ => 0,
                }
            }

            unsafe fn strip(passes: &Passes<$t>, strip: Strip<$t>, room: *mut Complex<$t>) {
                #[cfg(target_arch = "x86_64")]
                {
                    use std::arch::x86_64::{$avx2, $avx512};
                    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
                    unsafe fn avx512(p: &Passes<$t>, s: Strip<$t>, room: *mut Complex<$t>) {
                        // SAFETY: the caller's contract.
                        unsafe { transform::<$avx512>(p, s, room) }
                    }
                    #[target_feature(enable = "avx2,fma")]
                    unsafe fn avx2(p: &Passes<$t>, s: Strip<$t>, room: *mut Complex<$t>) {
                        // SAFETY: the caller's contract.
                        unsafe { transform::<$avx2>(p, s, room) }
                    }
                    // SAFETY: the CPU has the instructions of its level; the rest is the caller's contract.
                    unsafe {
                        match level() {
                            Level::Avx512 => avx512(passes, strip, room),
                            _ => avx2(passes, strip, room),
                        }
                    }
                }
                #[cfg(not(target_arch = "x86_64"))]
                unreachable!("fft: no vectors for {} lines of {}", strip.lines, passes.n)
            }
        }
    )*};
}
lanes! {
    f64: __m512d __m256d;
    f32: __m512 __m256;
}

/// The passes of lines of `n` points, kept for the process, where there are vectors for them.
pub(in crate::kernels::fft) fn passes<T: Real>(n: usize) -> Arc<Option<Passes<T>>> {
    if T::lanes() == 0 || n > LONGEST {
        return Arc::new(None);
    }
    T::passes().get((n, 0), || Arc::new(Passes::new(n)))
}

/// Whether lines of `n` points that follow on each other are transformed together too.
pub(in crate::kernels::fft) fn unusual<T: Real>(n: usize) -> bool {
    passes::<T>(n).as_ref().as_ref().is_some_and(Passes::unusual)
}

/// How many lines that follow on each other are transformed together.
pub(in crate::kernels::fft) fn group<T: Real>(n: usize) -> usize {
    if unusual::<T>(n) { T::lanes() } else { 1 }
}

/// The bytes of working memory for groups of lines of `n` points.
pub(in crate::kernels::fft) fn room_bytes(n: usize, groups: usize) -> usize {
    if n > LONGEST { 0 } else { (groups + 1) * (n + APART) * ROW + ALIGNED }
}

/// The same in complex numbers.
pub(in crate::kernels::fft) fn room_of<T>(n: usize, groups: usize) -> usize {
    room_bytes(n, groups) / size_of::<Complex<T>>() + 1
}

/// # Safety
/// As `Lanes::strip`, on a CPU with the instructions of the vector.
#[inline(always)]
unsafe fn transform<V: Vector>(
    passes: &Passes<V::Part>,
    strip: Strip<V::Part>,
    room: *mut Complex<V::Part>,
) {
    let room = room.cast::<u8>();
    let rows = room.wrapping_add(room.align_offset(ALIGNED)).cast::<Row<V>>();
    // SAFETY: the caller's contract: the room holds the rows of the groups, as many, the distances and the alignment.
    unsafe { load_store::transform(passes, strip, rows, passes.n + APART) };
}

/// A plan for lines that follow on each other and whose length has factors for which rustfft has no vectors.
pub(in crate::kernels::fft) struct Together<T: Real> {
    pub(in crate::kernels::fft) passes: Arc<Option<Passes<T>>>,
    /// For lines that are too few.
    pub(in crate::kernels::fft) few: Arc<dyn Fft<T>>,
}

impl<T: Real> Together<T> {
    /// Transforms lines at `from` to `to`, as many as fit at a time; `few` has those that fill no half of the lanes.
    fn run(
        &self,
        from: *const Complex<T>,
        to: *mut Complex<T>,
        len: usize,
        scratch: &mut [Complex<T>],
        few: impl Fn(usize, usize, &mut [Complex<T>]),
    ) {
        let (n, lanes) = (self.few.len(), T::lanes());
        assert!(scratch.len() >= room_of::<T>(n, 1), "fft: scratch");
        let Some(passes) = self.passes.as_ref() else {
            return few(0, len, scratch);
        };
        for start in (0..len / n).step_by(lanes) {
            let lines = lanes.min(len / n - start);
            if 2 * lines < lanes {
                few(start * n, lines * n, scratch);
                continue;
            }
            let (from, to) = (from.wrapping_add(start * n), to.wrapping_add(start * n));
            let forward = self.few.fft_direction() == FftDirection::Forward;
            let strip = Strip { from, to, lines, beside: None, factor: T::one(), forward };
            // SAFETY: the lines lie in slices that the callers borrow, and the scratch was asserted.
            unsafe { T::strip(passes, strip, scratch.as_mut_ptr()) };
        }
    }

    fn scratch(&self, few: usize) -> usize {
        few.max(room_of::<T>(self.few.len(), 1))
    }
}

impl<T: Real> Length for Together<T> {
    fn len(&self) -> usize {
        self.few.len()
    }
}

impl<T: Real> Direction for Together<T> {
    fn fft_direction(&self) -> FftDirection {
        self.few.fft_direction()
    }
}

impl<T: Real> Fft<T> for Together<T> {
    fn process_with_scratch(&self, buffer: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        let (at, len) = (buffer.as_mut_ptr(), buffer.len());
        self.run(at, at, len, scratch, |start, len, scratch| {
            // SAFETY: the buffer is borrowed alone, and this is a part of it.
            let lines = unsafe { std::slice::from_raw_parts_mut(at.add(start), len) };
            self.few.process_with_scratch(lines, scratch);
        });
    }

    fn process_outofplace_with_scratch(
        &self,
        input: &mut [Complex<T>],
        output: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        self.process_immutable_with_scratch(input, output, scratch);
    }

    fn process_immutable_with_scratch(
        &self,
        input: &[Complex<T>],
        output: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        assert!(input.len() == output.len(), "fft: lengths");
        let (to, len) = (output.as_mut_ptr(), output.len());
        self.run(input.as_ptr(), to, len, scratch, |start, len, scratch| {
            // SAFETY: the output is borrowed alone, and this is a part of it.
            let lines = unsafe { std::slice::from_raw_parts_mut(to.add(start), len) };
            self.few.process_immutable_with_scratch(&input[start..][..len], lines, scratch);
        });
    }

    fn get_inplace_scratch_len(&self) -> usize {
        self.scratch(self.few.get_inplace_scratch_len())
    }

    fn get_outofplace_scratch_len(&self) -> usize {
        self.get_immutable_scratch_len()
    }

    fn get_immutable_scratch_len(&self) -> usize {
        self.scratch(self.few.get_immutable_scratch_len())
    }
}
