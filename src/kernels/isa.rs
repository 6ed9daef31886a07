//! The instruction-set level that kernels run at, detected once per process from the CPU and `FERROGRAD_ISA`.
//!
//! Invariant: a level is never above that of the CPU, so calling the loop of `level()` is sound.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Error, Result};

/// A level of SIMD instructions; as an index it selects a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Level {
    /// The target's baseline (SSE2 on x86-64, NEON on aarch64).
    Baseline,
    /// AVX2 with FMA.
    Avx2,
    /// AVX-512 F, DQ, BW and VL, and the bit-manipulation instructions (POPCNT, BMI2) of such CPUs.
    Avx512,
}

impl Level {
    /// Every level, lowest first.
    pub const ALL: [Level; 3] = [Level::Baseline, Level::Avx2, Level::Avx512];

    /// Its name in `FERROGRAD_ISA`.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Baseline => "scalar",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}

/// The highest level of this CPU.
pub fn detected() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi2");
        if avx2 && avx512 {
            return Level::Avx512;
        }
        if avx2 {
            return Level::Avx2;
        }
    }
    Level::Baseline
}

const UNSET: u8 = u8::MAX;
static LEVEL: AtomicU8 = AtomicU8::new(UNSET);

/// The level that kernels run at: that of `FERROGRAD_ISA`, but never above the CPU's.
#[inline(always)]
pub fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        0 => Level::Baseline,
        1 => Level::Avx2,
        2 => Level::Avx512,
        _ => initialize(),
    }
}

#[cold]
fn initialize() -> Level {
    let level = requested().unwrap_or_else(|_| detected());
    LEVEL.store(level as u8, Ordering::Relaxed);
    level
}

/// The level that `FERROGRAD_ISA` asks for; by default the CPU's, which is the highest possible.
///
/// # Errors
/// `Argument` when the variable names no level.
pub fn requested() -> Result<Level> {
    let wanted = std::env::var("FERROGRAD_ISA").unwrap_or_default();
    match Level::ALL.into_iter().find(|level| level.name() == wanted.trim()) {
        Some(level) => Ok(level.min(detected())),
        None if wanted.trim().is_empty() => Ok(detected()),
        None => Err(Box::new(Error::Argument {
            op: "import".into(),
            what: format!("FERROGRAD_ISA is {wanted:?}"),
            remedy: "set it to scalar, avx2 or avx512, or leave it out".into(),
        })),
    }
}
