//! `LoopTable`: the contiguous loops of one operation, one per dtype and instruction-set level, built from
//! its formula by `loop_table!`.
//!
//! Invariant: the loop of a level uses only instructions of that level.

use super::loop_call::Loop;
use super::row_broadcast::RowLoopFn;
use crate::dtype::DType;
use crate::kernels::isa;

/// The loops of one operation.
#[derive(Clone, Copy, Debug)]
pub struct LoopTable {
    /// Whether the operation takes floats; otherwise `f64` and `f32` must not be called.
    pub float: bool,
    /// Whether the result is boolean for every operand dtype.
    pub mask: bool,
    /// float64, by level.
    pub f64: [Loop; 3],
    /// float32, by level.
    pub f32: [Loop; 3],
    /// int64.
    pub i64: Option<Loop>,
    /// int32.
    pub i32: Option<Loop>,
    /// uint8.
    pub u8: Option<Loop>,
    /// uint64.
    pub u64: Option<Loop>,
    /// complex128, by level.
    pub c128: Option<[Loop; 3]>,
    /// complex64, by level.
    pub c64: Option<[Loop; 3]>,
    /// bool; operands and output are bytes, 0 or 1.
    pub bool: Option<Loop>,
    /// In-place loops of float64 and float32: the first operand is the output, and `ins` holds only the
    /// second.
    pub in_place: Option<&'static [[Loop; 3]; 2]>,
    /// Loops over rows in which one operand is a scalar per row: float64 and float32.
    pub row_loops: Option<&'static [[RowLoopFn; 3]; 2]>,
    /// Nanoseconds per float64 element on one core, for splitting and scheduling.
    pub cost: f32,
    /// The operands, a bar, and the formula, as in the source.
    pub text: &'static str,
}

impl LoopTable {
    /// The loop for operands of this dtype at the current level.
    #[inline(always)]
    pub fn get(&self, dtype: DType) -> Option<Loop> {
        match dtype {
            DType::F64 | DType::F32 if !self.float => None,
            DType::F64 => Some(self.f64[isa::level() as usize]),
            DType::F32 => Some(self.f32[isa::level() as usize]),
            DType::I64 => self.i64,
            DType::I32 => self.i32,
            DType::U8 => self.u8,
            DType::U64 => self.u64,
            DType::C128 => self.c128.map(|levels| levels[isa::level() as usize]),
            DType::C64 => self.c64.map(|levels| levels[isa::level() as usize]),
            DType::Bool => self.bool,
            _ => None,
        }
    }

    /// The in-place loop for operands of this dtype at the current level.
    #[inline]
    pub(super) fn in_place_loop(&self, dtype: DType) -> Option<Loop> {
        let [f64, f32] = self.in_place?;
        debug_assert!(
            self.cost < 0.3,
            "a tail is never padded: the padding would not hold the first operand"
        );
        match dtype {
            DType::F64 => Some(f64[isa::level() as usize]),
            DType::F32 => Some(f32[isa::level() as usize]),
            _ => None,
        }
    }

    /// The row loop for operands of this dtype at the current level.
    #[inline]
    pub(super) fn row_loop(&self, dtype: DType) -> Option<RowLoopFn> {
        let [f64, f32] = self.row_loops?;
        match dtype {
            DType::F64 => Some(f64[isa::level() as usize]),
            DType::F32 => Some(f32[isa::level() as usize]),
            _ => None,
        }
    }

    /// Whether operands of this dtype are supported, directly or by conversion to the dtype that computes for
    /// it.
    #[inline]
    pub fn takes(&self, dtype: DType) -> bool {
        self.get(dtype).is_some() || self.computing_dtype(dtype).is_some()
    }

    /// The dtype that computes for this one, if that has a loop and this one has none.
    pub(super) fn computing_dtype(&self, dtype: DType) -> Option<DType> {
        let wide = dtype.computes();
        let unsupported =
            !matches!(dtype, DType::Bool) && wide != dtype && self.get(dtype).is_none();
        (unsupported && self.get(wide).is_some()).then_some(wide)
    }

    /// The dtype of the result of operands of this dtype.
    #[inline]
    pub const fn result(&self, dtype: DType) -> DType {
        if self.mask { DType::Bool } else { dtype }
    }

    /// Nanoseconds per element of this dtype.
    #[inline]
    pub fn cost(&self, dtype: DType) -> f32 {
        self.cost * dtype.size() as f32 / 8.0
    }
}

/// Builds a `LoopTable` in a constant expression: `domain [attributes]: |operands; parameters| formula;` and rows.
///
/// * The domain is `float`, or `complex` for a formula that is correct for complex numbers as well; `R` is the scalar type
///   in the formula. Operands and result have one dtype; `float -> mask:` and `complex -> mask:` have a boolean result.
///   Without this row the operation takes integers and booleans only. Functions called by the formula must be
///   `#[inline(always)]`.
/// * The attributes, in any order, are the methods of `LoopAttributes`: which arguments need a slower evaluation
///   (`angles`, `quotients`, `ends`; of complex numbers `ring`, `exponential`), which loops there are (`calls`,
///   `memory_bound`, `complex64`, `avx512`).
/// * `ints: |a, b| formula;` gives loops of int64, int32, uint8 and uint64 (plain Rust on the integer type `T`), and
///   `i64:`, `i32:`, `u8:`, `u64:` one of them. The result has type `T`, or is a `bool` where the table's is a mask.
///   `ints [avx2]:` compiles that of int64 for AVX2 as well, `ints [avx512]:` also for AVX-512: the baseline has no 64-bit
///   vector instructions for comparisons, extremes, shifts and products. `integer_division: Result;` stands instead of
///   `ints:` for a result of the division of two integers.
/// * `bool: |a, b| formula;` gives the loop of booleans: operands and result are bytes, 0 or 1.
/// * `in_place;` gives a formula of two operands loops that write over the first: worthwhile for a few instructions.
///   `rows: Add;` gives it loops over rows in which one operand is a scalar per row; `Add` is the `RowOp`.
/// * `cost: 0.3;` is nanoseconds per float64 element.
#[macro_export]
#[doc(hidden)]
macro_rules! loop_table {
    (@count) => { 0 };
    (@count $x:ident $($rest:ident)*) => { 1 + $crate::loop_table!(@count $($rest)*) };

    (@kernel $K:ident $attributes:ident [$($x:ident)*] [$($p:ident)*] $body:expr) => {
        struct $K;
        impl $crate::kernels::elementwise::Formula<
            { $crate::loop_table!(@count $($x)*) },
            { $crate::loop_table!(@count $($p)*) },
        > for $K {
            const FULL_RANGE: $crate::kernels::elementwise::loops::FullRange = $attributes.full_range;
            #[inline(always)]
            fn eval<R: $crate::kernels::number::real::Real>(
                [$($x),*]: [R; $crate::loop_table!(@count $($x)*)],
                [$($p),*]: [R; $crate::loop_table!(@count $($p)*)],
            ) -> R
            where
                f64: $crate::kernels::number::real::Lit<R>,
            {
                $body
            }
        }
    };

    (@level $text:ident $ins:ident $out:ident $n:ident) => {};
    (@level avx2 $text:ident $ins:ident $out:ident $n:ident) => {
        #[target_feature(enable = "avx2")]
        unsafe fn avx2(ins: *const *const u8, out: *mut u8, n: usize) {
            // SAFETY: the contract of `Loop`.
            unsafe { $crate::kernels::elementwise::loops::int_map(ins, out, n, $text) }
        }
        if $crate::kernels::isa::level() != $crate::kernels::isa::Level::Baseline {
            // SAFETY: the caller keeps the contract of `Loop`, and the CPU has the instructions.
            return unsafe { avx2($ins, $out, $n) };
        }
    };
    (@level avx512 $text:ident $ins:ident $out:ident $n:ident) => {
        #[target_feature(enable = "avx2,avx512f,avx512dq,avx512bw,avx512vl")]
        unsafe fn avx512(ins: *const *const u8, out: *mut u8, n: usize) {
            // SAFETY: the contract of `Loop`.
            unsafe { $crate::kernels::elementwise::loops::int_map(ins, out, n, $text) }
        }
        if $crate::kernels::isa::level() == $crate::kernels::isa::Level::Avx512 {
            // SAFETY: the caller keeps the contract of `Loop`, and the CPU has the instructions.
            return unsafe { avx512($ins, $out, $n) };
        }
        $crate::loop_table!(@level avx2 $text $ins $out $n);
    };
    (@int $($level:ident)? [$T:ty => $O:ty] [$($x:ident)*] $body:expr) => {{
        unsafe fn int_loop(ins: *const *const u8, out: *mut u8, n: usize, _: *const f64) {
            #[inline(always)]
            #[allow(clippy::unnecessary_cast, unused_comparisons, clippy::absurd_extreme_comparisons)]
            fn text([$($x),*]: [$T; $crate::loop_table!(@count $($x)*)]) -> $O {
                #[allow(dead_code)]
                type T = $T;
                $body
            }
            #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
            {
                $crate::loop_table!(@level $($level)? text ins out n);
            }
            // SAFETY: the caller keeps the contract of `Loop`.
            unsafe { $crate::kernels::elementwise::loops::int_map(ins, out, n, text) }
        }
        Some($crate::kernels::elementwise::Loop::new(int_loop))
    }};

    (@rows $t:ident $O:tt) => {};
    (@rows $t:ident [$($O:ty)?] ints $([$level:ident])?: |$($x:ident),*| $body:expr; $($rest:tt)*) => {
        if $t.text.is_empty() {
            $t.text = concat!(stringify!($($x),*), " | ", stringify!($body));
        }
        $t.i64 = $crate::loop_table!(@row $($level)? [$($O)?] i64 [$($x)*] $body);
        $t.i32 = $crate::loop_table!(@row [$($O)?] i32 [$($x)*] $body);
        $t.u8 = $crate::loop_table!(@row [$($O)?] u8 [$($x)*] $body);
        $t.u64 = $crate::loop_table!(@row [$($O)?] u64 [$($x)*] $body);
        $crate::loop_table!(@rows $t [$($O)?] $($rest)*);
    };
    (@rows $t:ident [$($O:ty)?] bool: |$($x:ident),*| $body:expr; $($rest:tt)*) => {
        $t.bool = $crate::loop_table!(@row [] u8 [$($x)*] $body);
        $crate::loop_table!(@rows $t [$($O)?] $($rest)*);
    };
    (@rows $t:ident [] integer_division: $Part:ident; $($rest:tt)*) => {
        [$t.i64, $t.i32, $t.u8, $t.u64] =
            $crate::kernels::elementwise::integer_division::loops::<$crate::kernels::elementwise::integer_division::$Part>();
        $crate::loop_table!(@rows $t [] $($rest)*);
    };
    (@rows $t:ident [$($O:ty)?] cost: $cost:expr; $($rest:tt)*) => {
        $t.cost = $cost;
        $crate::loop_table!(@rows $t [$($O)?] $($rest)*);
    };
    (@rows $t:ident [$($O:ty)?] in_place; $($rest:tt)*) => {
        $t.in_place = Some(const { &$crate::kernels::elementwise::loops::in_place_loops::<K>() });
        $crate::loop_table!(@rows $t [$($O)?] $($rest)*);
    };
    (@rows $t:ident [$($O:ty)?] rows: $Op:ident; $($rest:tt)*) => {
        $t.row_loops = Some(const {
            use $crate::kernels::elementwise::row_broadcast::{$Op, row_loops};
            &row_loops::<K, $Op>()
        });
        $crate::loop_table!(@rows $t [$($O)?] $($rest)*);
    };
    (@rows $t:ident [$($O:ty)?] $T:ident: |$($x:ident),*| $body:expr; $($rest:tt)*) => {
        $t.$T = $crate::loop_table!(@row [$($O)?] $T [$($x)*] $body);
        $crate::loop_table!(@rows $t [$($O)?] $($rest)*);
    };
    (@row $($level:ident)? [] $T:ident [$($x:ident)*] $body:expr) => {
        $crate::loop_table!(@int $($level)? [$T => $T] [$($x)*] $body)
    };
    (@row $($level:ident)? [$O:ty] $T:ident [$($x:ident)*] $body:expr) => {
        $crate::loop_table!(@int $($level)? [$T => $O] [$($x)*] $body)
    };

    (float $($rest:tt)*) => { $crate::loop_table!(@domain FLOAT $($rest)*) };
    (complex $($rest:tt)*) => { $crate::loop_table!(@domain COMPLEX $($rest)*) };
    (ints $($rest:tt)*) => {{
        let mut table = $crate::kernels::elementwise::loops::no_float_table();
        $crate::loop_table!(@rows table [] ints $($rest)*);
        table
    }};
    (@domain $domain:ident $([$($attribute:ident),*])?: |$($x:ident),* $(; $($p:ident),*)?| $body:expr; $($rest:tt)*) => {{
        const ATTRIBUTES: $crate::kernels::elementwise::LoopAttributes =
            $crate::kernels::elementwise::LoopAttributes::$domain $($(.$attribute())*)?;
        $crate::loop_table!(@kernel K ATTRIBUTES [$($x)*] [$($($p)*)?] $body);
        let mut table = ATTRIBUTES.table::<K, _, _>();
        table.text = concat!(stringify!($($x),*), " | ", stringify!($body));
        $crate::loop_table!(@rows table [] $($rest)*);
        table
    }};
    (@domain $domain:ident $([$($attribute:ident),*])? -> mask: |$($x:ident),*| $body:expr; $($rest:tt)*) => {{
        const ATTRIBUTES: $crate::kernels::elementwise::LoopAttributes =
            $crate::kernels::elementwise::LoopAttributes::$domain $($(.$attribute())*)?;
        $crate::loop_table!(@predicate K [$($x)*] $body);
        let mut table = ATTRIBUTES.mask_table::<K, _>();
        table.text = concat!(stringify!($($x),*), " | ", stringify!($body));
        $crate::loop_table!(@rows table [bool] $($rest)*);
        table
    }};
    (@predicate $K:ident [$($x:ident)*] $body:expr) => {
        struct $K;
        impl $crate::kernels::elementwise::Predicate<
            { $crate::loop_table!(@count $($x)*) },
        > for $K {
            #[inline(always)]
            fn eval<R: $crate::kernels::number::real::Real>(
                [$($x),*]: [R; $crate::loop_table!(@count $($x)*)],
            ) -> R::Mask
            where
                f64: $crate::kernels::number::real::Lit<R>,
            {
                $body
            }
        }
    };
}
