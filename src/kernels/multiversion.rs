//! One body, compiled once per instruction-set level, chosen at run time.
//!
//! Owns: the `leveled!` macro for loops that the compiler vectorises by itself, and `Levels`, which says for which levels
//! a loop is compiled. Never decides the level of the process; `isa::level` does. Invariant: every copy computes the same
//! bits, because nothing in a body depends on the vector width and the compiler contracts no product into a sum.
//! No copy is inlined where it is called, or every caller would hold the baseline's. Debug builds have
//! the baseline only, which makes them several times faster to compile; `make sanitize ARGS=--wide` has the others under a
//! sanitizer.
//! On x86-64, a copy that is named `baseline` or `base` runs on machines without AVX2 alone: the profile of release builds says
//! that it never ran (`tools/pgo.py`), so that it is compiled for size.
//!
//! What is compiled for which levels:
//! * element-wise texts with `sixteen;`, for float32: the baseline and AVX2, and a loop of AVX-512 with functions of its own;
//! * element-wise texts with `float:` and the folds, products and rows in which programs spend their time: every level;
//! * what AVX-512 does not make faster: products, sums of squares and folds of integers (`Fold::LEVELS`), the orders of cosine
//!   transforms, conversions of int32 and uint8 (`Convert::LEVELS`), texts with `ints_wide:` for int64 (`ints_widest:` all three), quotients of integers, searches of
//!   extremes, and complex texts, which would be large: the baseline and AVX2;
//! * element-wise texts with `cheap:`, which wait for memory: the baseline and AVX2; complex128 products (`widest;`): every level;
//! * element-wise texts with `ints:`, `bool:` or `float_calls:`, strided conversions, scans, indexing, sorts (`order/vectors.rs` has those by AVX-512): the baseline.
//!
//! What is rarer has no loop of its own: it goes through a copy in a dtype that has one (`cast::through`).

/// For which levels a loop is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Levels {
    /// Every level.
    All,
    /// The baseline and AVX2; AVX-512 runs the latter.
    UpToAvx2,
    /// The baseline, which all run.
    Baseline,
}

/// Declares `unsafe fn $name`, which runs the `#[inline(always)]` function `$body` compiled for the
/// level of this process. The safety contract is the body's. `= body, levels` limits the levels.
macro_rules! leveled {
    ($(#[$doc:meta])* $vis:vis unsafe fn $name:ident
        $(<$($g:ident : $bound:path),*>)? ($($arg:ident : $t:ty),* $(,)?) $(-> $ret:ty)? = $body:ident
        $(, $levels:expr)?) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As the body of the loop.
        #[inline]
        $vis unsafe fn $name $(<$($g: $bound),*>)? ($($arg: $t),*) $(-> $ret)? {
            #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
            {
                #[target_feature(enable = "avx2,fma")]
                unsafe fn avx2 $(<$($g: $bound),*>)? ($($arg: $t),*) $(-> $ret)? {
                    // SAFETY: the caller's contract.
                    unsafe { $body $(::<$($g),*>)? ($($arg),*) }
                }
                #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")]
                unsafe fn avx512 $(<$($g: $bound),*>)? ($($arg: $t),*) $(-> $ret)? {
                    // SAFETY: the caller's contract.
                    unsafe { $body $(::<$($g),*>)? ($($arg),*) }
                }
                #[inline(never)]
                unsafe fn every $(<$($g: $bound),*>)? ($($arg: $t),*) $(-> $ret)? {
                    // SAFETY: the caller's contract.
                    unsafe { $body $(::<$($g),*>)? ($($arg),*) }
                }
                #[inline(never)]
                unsafe fn baseline $(<$($g: $bound),*>)? ($($arg: $t),*) $(-> $ret)? {
                    // SAFETY: the caller's contract.
                    unsafe { $body $(::<$($g),*>)? ($($arg),*) }
                }
                use $crate::kernels::isa::{Level, level};
                use $crate::kernels::multiversion::Levels;
                // Constant, so that a copy beyond the limit is never compiled.
                let (wide, some) = const {
                    #[allow(unused_mut, unused_assignments)]
                    let mut levels = Levels::All;
                    $(levels = $levels;)?
                    (matches!(levels, Levels::All), !matches!(levels, Levels::Baseline))
                };
                if !some {
                    // SAFETY: the caller's contract.
                    return unsafe { every $(::<$($g),*>)? ($($arg),*) };
                }
                // SAFETY: the CPU has the features of its level; the rest is the caller's contract.
                match level() {
                    Level::Avx512 if wide => unsafe { avx512 $(::<$($g),*>)? ($($arg),*) },
                    // SAFETY: as above.
                    Level::Avx512 | Level::Avx2 => unsafe {
                        avx2 $(::<$($g),*>)? ($($arg),*)
                    },
                    // SAFETY: as above.
                    Level::Baseline => unsafe { baseline $(::<$($g),*>)? ($($arg),*) },
                }
            }
            #[cfg(any(not(target_arch = "x86_64"), debug_assertions))]
            {
                $({
                    use $crate::kernels::multiversion::Levels;
                    let _: Levels = $levels;
                })?
                // SAFETY: the caller's contract.
                unsafe { $body $(::<$($g),*>)? ($($arg),*) }
            }
        }
    };
}

/// As `leveled!`, for a body with a last generic parameter `const FMA: bool`: whether the level has
/// fused multiply-add, which the body may then use and must not otherwise.
macro_rules! leveled_fma {
    ($(#[$doc:meta])* $vis:vis unsafe fn $name:ident
        <$g:ident : $bound:path>($($arg:ident : $t:ty),* $(,)?) $(-> $ret:ty)? = $body:ident) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As the body of the loop.
        #[inline]
        $vis unsafe fn $name<$g: $bound>($($arg: $t),*) $(-> $ret)? {
            #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
            {
                #[target_feature(enable = "avx2,fma")]
                unsafe fn avx2<$g: $bound>($($arg: $t),*) $(-> $ret)? {
                    // SAFETY: the caller's contract.
                    unsafe { $body::<$g, true>($($arg),*) }
                }
                #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")]
                unsafe fn avx512<$g: $bound>($($arg: $t),*) $(-> $ret)? {
                    // SAFETY: the caller's contract.
                    unsafe { $body::<$g, true>($($arg),*) }
                }
                #[inline(never)]
                unsafe fn baseline<$g: $bound>($($arg: $t),*) $(-> $ret)? {
                    // SAFETY: the caller's contract.
                    unsafe { $body::<$g, false>($($arg),*) }
                }
                use $crate::kernels::isa::{Level, level};
                // SAFETY: the CPU has the features of its level; the rest is the caller's contract.
                match level() {
                    Level::Avx512 => unsafe { avx512::<$g>($($arg),*) },
                    // SAFETY: as above.
                    Level::Avx2 => unsafe { avx2::<$g>($($arg),*) },
                    // SAFETY: as above.
                    Level::Baseline => unsafe { baseline::<$g>($($arg),*) },
                }
            }
            #[cfg(any(not(target_arch = "x86_64"), debug_assertions))]
            // SAFETY: the caller's contract.
            unsafe { $body::<$g, { cfg!(target_arch = "aarch64") }>($($arg),*) }
        }
    };
}
pub(crate) use {leveled, leveled_fma};
