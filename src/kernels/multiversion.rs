//! Function multiversioning: one body, compiled once per instruction-set level and selected at run time.
//!
//! `multiversion!` declares such a function for a loop that LLVM vectorises, and `Levels` limits the levels that
//! it is compiled for. Invariant: every copy computes the same bits, because nothing in a body depends on the
//! vector width, and the compiler contracts no product into a sum. Copies are not inlined into callers, which
//! are compiled for the baseline. Debug builds have the baseline only, which makes them several times faster
//! to compile; `make sanitize ARGS=--wide` runs the others under a sanitizer. On x86-64, a copy named
//! `baseline` or `base` is only used without AVX2: the profile of release builds states that it never ran
//! (`tools/pgo.py`), so that it is optimised for size.
//!
//! Which loops are compiled for which levels:
//! * element-wise formulas with `float:`, and frequent reductions, products and row loops: every level;
//! * what AVX-512 does not make faster: products, sums of squares and integer folds (`Fold::LEVELS`), the
//!   reorderings of cosine transforms, conversions of int32 and uint8 (`Convert::LEVELS`), formulas with
//!   `ints [avx2]:` for int64 (`ints [avx512]:` all three), integer division, argmax and argmin, and complex
//!   formulas, which would be large: the baseline and AVX2;
//! * element-wise formulas that are `[memory_bound]`: the baseline and AVX2; complex128 products
//!   (`[avx512]`): every level;
//! * element-wise formulas with `ints:`, `bool:` or `[calls]`, strided conversions, scans, indexing,
//!   sorts (`sort/sort_avx512.rs` has SIMD sorts): the baseline.
//!
//! Rarer dtypes have no loops: they are converted to a dtype that has (`cast::convert_through`).

/// The instruction-set levels that a loop is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Levels {
    /// Every level.
    All,
    /// The baseline and AVX2, which AVX-512 uses, too.
    UpToAvx2,
    /// The baseline, for all levels.
    Baseline,
}

/// Declares `unsafe fn $name`, which runs the `#[inline(always)]` function `$body` compiled for the
/// level of this process. The safety contract is the body's. `= body, levels` limits the levels.
macro_rules! multiversion {
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

/// As `multiversion!`, for a body with a last generic parameter `const FMA: bool`: whether the level has
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
pub(crate) use {leveled_fma, multiversion};
