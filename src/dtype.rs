//! Element types: the six dtypes, their sizes, and NumPy 2 promotion.
//!
//! Owns: `DType`, the `Element` trait that ties a Rust type to its dtype, and the promotion table,
//! weak Python scalars included. Never touches a buffer.
//! Invariant: `promote` is commutative, associative and equal to `numpy.result_type`.

use std::fmt;

/// The type of a tensor's elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum DType {
    /// 64-bit float.
    F64,
    /// 32-bit float.
    F32,
    /// 64-bit signed integer.
    I64,
    /// 32-bit signed integer.
    I32,
    /// 8-bit unsigned integer.
    U8,
    /// One byte, 0 or 1.
    Bool,
}

/// The kind of a Python scalar, which promotes weakly: it never widens an array of its own kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weak {
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `float`
    Float,
}

impl DType {
    /// Every dtype, in the order of the discriminants.
    pub const ALL: [DType; 6] =
        [DType::F64, DType::F32, DType::I64, DType::I32, DType::U8, DType::Bool];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::F64 | DType::I64 => 8,
            DType::F32 | DType::I32 => 4,
            DType::U8 | DType::Bool => 1,
        }
    }

    /// Whether a tensor of this dtype can require a gradient.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F64 | DType::F32)
    }

    /// NumPy's name of the dtype.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F64 => "float64",
            DType::F32 => "float32",
            DType::I64 => "int64",
            DType::I32 => "int32",
            DType::U8 => "uint8",
            DType::Bool => "bool",
        }
    }

    /// The dtype with this NumPy name.
    pub fn from_name(name: &str) -> Option<DType> {
        match name {
            "bool_" => Some(DType::Bool),
            _ => DType::ALL.into_iter().find(|d| d.name() == name),
        }
    }

    /// The common dtype of two arrays, as `numpy.result_type`.
    pub const fn promote(self, other: DType) -> DType {
        use DType::*;
        match (self, other) {
            (a, b) if a as u8 == b as u8 => a,
            (Bool, d) | (d, Bool) => d,
            (F64, _) | (_, F64) => F64,
            (F32, U8) | (U8, F32) => F32,
            (F32, _) | (_, F32) => F64,
            (I64, _) | (_, I64) => I64,
            (I32, _) | (_, I32) => I32,
            (U8, _) => U8,
        }
    }

    /// The common dtype of an array and a Python scalar.
    pub const fn promote_weak(self, scalar: Weak) -> DType {
        match (self, scalar) {
            (d, Weak::Bool) => d,
            (DType::Bool, Weak::Int) => DType::I64,
            (d, Weak::Int) => d,
            (d, Weak::Float) if d.is_float() => d,
            (_, Weak::Float) => DType::F64,
        }
    }

    /// Whether what is `other` may be put into a tensor of this dtype: NumPy's `same_kind`, which
    /// narrows floats to floats and integers to integers, and never cuts a fraction or a sign off.
    pub const fn takes(self, other: DType) -> bool {
        self.breadth() >= other.breadth()
    }

    const fn breadth(self) -> u8 {
        match self {
            DType::Bool => 0,
            DType::U8 => 1,
            DType::I32 | DType::I64 => 2,
            DType::F32 | DType::F64 => 3,
        }
    }

    /// The dtype in which a float function of this dtype is computed: integers become float64.
    pub const fn to_float(self) -> DType {
        if self.is_float() { self } else { DType::F64 }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that is the element of some dtype. Sealed: the six dtypes are all there are.
pub trait Element: sealed::Sealed + Copy + Send + Sync + PartialOrd + fmt::Debug + 'static {
    /// The dtype of this type.
    const DTYPE: DType;
    /// The value as a float64 (rounded for large integers).
    fn to_f64(self) -> f64;
    /// The value nearest to a float64, as Rust's `as` converts.
    fn from_f64(v: f64) -> Self;
}

macro_rules! elements {
    ($($t:ty => $d:ident),*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$d;
            #[inline(always)]
            fn to_f64(self) -> f64 { self as f64 }
            #[inline(always)]
            fn from_f64(v: f64) -> Self { v as $t }
        }
    )*};
}
elements!(f64 => F64, f32 => F32, i64 => I64, i32 => I32, u8 => U8);

impl sealed::Sealed for bool {}
impl Element for bool {
    const DTYPE: DType = DType::Bool;
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as u8 as f64
    }
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        v != 0.0
    }
}

/// Runs `$body` with the type alias `$T` bound to the Rust type of a dtype.
#[macro_export]
#[doc(hidden)]
macro_rules! with_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::dtype::DType::F64 => {
                type $T = f64;
                $body
            }
            $crate::dtype::DType::F32 => {
                type $T = f32;
                $body
            }
            $crate::dtype::DType::I64 => {
                type $T = i64;
                $body
            }
            $crate::dtype::DType::I32 => {
                type $T = i32;
                $body
            }
            $crate::dtype::DType::U8 => {
                type $T = u8;
                $body
            }
            $crate::dtype::DType::Bool => {
                type $T = bool;
                $body
            }
        }
    };
}
