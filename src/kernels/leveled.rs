//! One body, compiled once per instruction-set level, chosen at run time.
//!
//! Owns: the `leveled!` macro for loops that the compiler vectorises by itself. Never decides the
//! level; `isa::level` does. Invariant: every copy computes the same bits, because nothing in a body
//! depends on the vector width and the compiler contracts no product into a sum.
//! No copy is inlined where it is called, or every caller would hold the baseline's. Debug builds have
//! the baseline only, which makes them several times faster to compile.

/// Declares `unsafe fn $name`, which runs the `#[inline(always)]` function `$body` compiled for the
/// level of this process. The safety contract is the body's.
macro_rules! leveled {
    ($(#[$doc:meta])* $vis:vis unsafe fn $name:ident
        $(<$($g:ident : $bound:path),*>)? ($($arg:ident : $t:ty),* $(,)?) $(-> $ret:ty)? = $body:ident) => {
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
                unsafe fn baseline $(<$($g: $bound),*>)? ($($arg: $t),*) $(-> $ret)? {
                    // SAFETY: the caller's contract.
                    unsafe { $body $(::<$($g),*>)? ($($arg),*) }
                }
                use $crate::kernels::isa::{Level, level};
                // SAFETY: the CPU has the features of its level; the rest is the caller's contract.
                match level() {
                    Level::Avx512 => unsafe { avx512 $(::<$($g),*>)? ($($arg),*) },
                    // SAFETY: as above.
                    Level::Avx2 => unsafe { avx2 $(::<$($g),*>)? ($($arg),*) },
                    // SAFETY: as above.
                    Level::Baseline => unsafe { baseline $(::<$($g),*>)? ($($arg),*) },
                }
            }
            #[cfg(any(not(target_arch = "x86_64"), debug_assertions))]
            // SAFETY: the caller's contract.
            unsafe { $body $(::<$($g),*>)? ($($arg),*) }
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
