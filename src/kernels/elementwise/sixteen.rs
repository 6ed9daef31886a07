//! The loops of AVX-512 for texts whose functions have instructions there that no compiler finds.
//!
//! Owns: that of float32, and the exponential of float64. Never chooses texts: `sixteen;` and `eight` in a declaration do.
//! Invariant: a tail is computed as what precedes it.

use super::loop_call::Loop;
use super::loops::{Kernel, operands};
use crate::kernels::math::sixteen::{Sixteen, exp_of_eight};
use crate::kernels::nontemporal;
use crate::kernels::number::real::Real;

/// How far ahead of its use memory is called for, in elements.
const AHEAD: usize = 512;

/// # Safety
/// As `Loop`, for float32, on a CPU of this level.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
unsafe fn map<K: Kernel<N, P>, const N: usize, const P: usize>(
    ins: *const *const u8,
    out: *mut u8,
    n: usize,
    params: *const f64,
) {
    // SAFETY: the caller keeps the contract of `Loop`, which is what these calls ask for.
    unsafe {
        let x: [*const f32; N] = operands(ins);
        let out = out.cast::<f32>();
        let params = if P == 0 { [0.0; P] } else { *params.cast::<[f64; P]>() };
        // Loops, because a closure is a function of another level, which is not inlined here.
        let mut p = [<Sixteen as Real>::lit(0.0); P];
        let mut k = 0;
        while k < P {
            p[k] = <Sixteen as Real>::lit(params[k]);
            k += 1;
        }
        let mut lanes = [<Sixteen as Real>::lit(0.0); N];
        let mut i = 0;
        while i < n {
            let mut k = 0;
            while k < N {
                lanes[k] = Sixteen::load(x[k].add(i), n - i);
                nontemporal::prefetch(x[k].wrapping_add(i + AHEAD).cast(), 1);
                k += 1;
            }
            nontemporal::prefetch(out.wrapping_add(i + AHEAD).cast(), 1);
            K::eval(lanes, p).store(out.add(i), n - i);
            i += 16;
        }
    }
}

/// The loop of a text.
pub const fn sixteen<K: Kernel<N, P>, const N: usize, const P: usize>() -> Loop {
    Loop::new(map::<K, N, P>)
}

/// The exponential of float64, eight numbers at a time.
///
/// # Safety
/// As `Loop`, for one operand of float64, on a CPU of this level.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
pub unsafe fn exp(ins: *const *const u8, out: *mut u8, n: usize, _: *const f64) {
    // SAFETY: the caller keeps the contract of `Loop`.
    unsafe {
        let [x] = operands::<f64, 1>(ins);
        let out = out.cast::<f64>();
        let mut i = 0;
        while i < n {
            nontemporal::prefetch(x.wrapping_add(i + AHEAD / 2).cast(), 1);
            nontemporal::prefetch(out.wrapping_add(i + AHEAD / 2).cast(), 1);
            exp_of_eight(x.add(i), out.add(i), n - i);
            i += 8;
        }
    }
}
