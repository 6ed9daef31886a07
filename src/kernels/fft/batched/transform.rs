//! Batched FFT plans: which lengths use them, their CPU dispatch, and an adapter to rustfft's `Fft`
//! trait.
//!
//! Batching pays for prime factors without a SIMD butterfly in rustfft, such as 13 or 31, and for
//! fives with a small cofactor, such as 500; rustfft is faster for other contiguous lines.
//! Invariant: how a line is transformed follows from the shapes, not from the threads.

use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Direction, Fft, FftDirection, Length};

use super::load_store::{self, Strip};
use super::passes::{Passes, Row};
use crate::kernels::fft::float::{Real, Vector};
use crate::kernels::fft::plan_cache::PlanCache;
use crate::kernels::isa::{Level, level};

/// Most points of a line: the rows then take 2 MB.
const MAX_POINTS: usize = 8192;
/// Rows of padding between the two buffers, so that simultaneous reads and writes differ in the low
/// bits of the address.
const ROW_PADDING: usize = 16;
/// Bytes of a row of the widest vectors, and the alignment of rows.
const MAX_ROW_BYTES: usize = 128;
const ROW_ALIGNMENT: usize = 64;

/// Lanes of a vector on this CPU, 0 without SIMD support.
pub(in crate::kernels::fft) fn lanes<T: Real>() -> usize {
    match level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => ROW_ALIGNMENT / size_of::<T>(),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => ROW_ALIGNMENT / 2 / size_of::<T>(),
        _ => 0,
    }
}

/// Transforms a strip, possibly in place.
///
/// # Safety
/// The input and output lines are valid, `lanes` is not 0, and the workspace has `workspace_len`
/// numbers.
pub(in crate::kernels::fft) unsafe fn transform_strip<T: Real>(
    passes: &Passes<T>,
    strip: Strip<T>,
    workspace: *mut Complex<T>,
) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
        unsafe fn avx512<T: Real>(p: &Passes<T>, s: Strip<T>, workspace: *mut Complex<T>) {
            // SAFETY: the caller's contract.
            unsafe { transform::<T::Avx512>(p, s, workspace) }
        }
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2<T: Real>(p: &Passes<T>, s: Strip<T>, workspace: *mut Complex<T>) {
            // SAFETY: the caller's contract.
            unsafe { transform::<T::Avx2>(p, s, workspace) }
        }
        // SAFETY: the CPU has the instructions of its level; the rest is the caller's contract.
        unsafe {
            match level() {
                Level::Avx512 => avx512(passes, strip, workspace),
                _ => avx2(passes, strip, workspace),
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    unreachable!("fft: no vectors for {} lines of {}", strip.lines, passes.n)
}

/// The cached passes for lines of `n` points, if this CPU and length support them.
pub(in crate::kernels::fft) fn passes<T: Real>(n: usize) -> Arc<Option<Passes<T>>> {
    if lanes::<T>() == 0 || n > MAX_POINTS {
        return Arc::new(None);
    }
    static PASSES: PlanCache = PlanCache::new();
    PASSES.get((n, 0), || Arc::new(Passes::new(n)))
}

/// Whether contiguous lines of `n` points are batched too.
pub(in crate::kernels::fft) fn prefers_batched<T: Real>(n: usize) -> bool {
    passes::<T>(n).as_ref().as_ref().is_some_and(Passes::prefers_batched)
}

/// How many contiguous lines are transformed together.
pub(in crate::kernels::fft) fn lines_per_call<T: Real>(n: usize) -> usize {
    if prefers_batched::<T>(n) { lanes::<T>() } else { 1 }
}

/// Bytes of workspace for groups of lines of `n` points.
pub(in crate::kernels::fft) fn workspace_bytes(n: usize, groups: usize) -> usize {
    if n > MAX_POINTS {
        0
    } else {
        (groups + 1) * (n + ROW_PADDING) * MAX_ROW_BYTES + ROW_ALIGNMENT
    }
}

/// `workspace_bytes` in complex numbers.
pub(in crate::kernels::fft) fn workspace_len<T>(n: usize, groups: usize) -> usize {
    workspace_bytes(n, groups) / size_of::<Complex<T>>() + 1
}

/// # Safety
/// As `transform_strip`, on a CPU with the instructions of the vector.
#[inline(always)]
unsafe fn transform<V: Vector>(
    passes: &Passes<V::Scalar>,
    strip: Strip<V::Scalar>,
    workspace: *mut Complex<V::Scalar>,
) {
    let workspace = workspace.cast::<u8>();
    let rows = workspace.wrapping_add(workspace.align_offset(ROW_ALIGNMENT)).cast::<Row<V>>();
    // SAFETY: the caller's contract: the workspace holds the rows of the groups, one group more,
    // the padding and the alignment.
    unsafe { load_store::transform(passes, strip, rows, passes.n + ROW_PADDING) };
}

/// A rustfft-compatible plan that transforms contiguous lines in batches.
pub(in crate::kernels::fft) struct BatchedPlan<T: Real> {
    pub(in crate::kernels::fft) passes: Arc<Option<Passes<T>>>,
    /// For fewer lines than half the lanes.
    pub(in crate::kernels::fft) single: Arc<dyn Fft<T>>,
}

impl<T: Real> BatchedPlan<T> {
    /// Transforms lines in batches; `few` transforms remainders of less than half the lanes.
    fn run(
        &self,
        from: *const Complex<T>,
        to: *mut Complex<T>,
        len: usize,
        scratch: &mut [Complex<T>],
        few: impl Fn(usize, usize, &mut [Complex<T>]),
    ) {
        let (n, lanes) = (self.single.len(), lanes::<T>());
        assert!(scratch.len() >= workspace_len::<T>(n, 1), "fft: scratch");
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
            let forward = self.single.fft_direction() == FftDirection::Forward;
            let strip = Strip { from, to, lines, column_steps: None, factor: T::one(), forward };
            // SAFETY: the lines are in slices that the callers borrow, and the scratch was checked.
            unsafe { transform_strip(passes, strip, scratch.as_mut_ptr()) };
        }
    }

    fn scratch(&self, few: usize) -> usize {
        few.max(workspace_len::<T>(self.single.len(), 1))
    }
}

impl<T: Real> Length for BatchedPlan<T> {
    fn len(&self) -> usize {
        self.single.len()
    }
}

impl<T: Real> Direction for BatchedPlan<T> {
    fn fft_direction(&self) -> FftDirection {
        self.single.fft_direction()
    }
}

impl<T: Real> Fft<T> for BatchedPlan<T> {
    fn process_with_scratch(&self, buffer: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        let (at, len) = (buffer.as_mut_ptr(), buffer.len());
        self.run(at, at, len, scratch, |start, len, scratch| {
            // SAFETY: the buffer is borrowed mutably, and this is a part of it.
            let lines = unsafe { std::slice::from_raw_parts_mut(at.add(start), len) };
            self.single.process_with_scratch(lines, scratch);
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
            // SAFETY: the output is borrowed mutably, and this is a part of it.
            let lines = unsafe { std::slice::from_raw_parts_mut(to.add(start), len) };
            self.single.process_immutable_with_scratch(&input[start..][..len], lines, scratch);
        });
    }

    fn get_inplace_scratch_len(&self) -> usize {
        self.scratch(self.single.get_inplace_scratch_len())
    }

    fn get_outofplace_scratch_len(&self) -> usize {
        self.get_immutable_scratch_len()
    }

    fn get_immutable_scratch_len(&self) -> usize {
        self.scratch(self.single.get_immutable_scratch_len())
    }
}
