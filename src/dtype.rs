//! Element types: one table with a row per dtype, and what follows from it.
//!
//! `DType`, the table (name, size, kind, accumulator, codes of NumPy and DLPack), and `with_dtype!`, which dispatches
//! from a dtype to its Rust type.
//! Invariant: the rows are in the order of the discriminants.

mod element;
mod promotion;

use std::fmt;
#[cfg(feature = "python")]
use std::sync::LazyLock;

/// The kind of a dtype, in the order of NumPy's `same_kind` casting: a kind can be cast to itself or a later one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Booleans.
    Bool,
    /// Unsigned integers.
    Unsigned,
    /// Signed integers.
    Signed,
    /// Floating-point numbers.
    Float,
    /// Pairs of floating-point numbers: real and imaginary part.
    Complex,
}

/// The properties of a dtype: a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct DTypeRow {
    /// The dtype of this row.
    pub dtype: DType,
    /// NumPy's name.
    pub name: &'static str,
    /// Bytes of one element.
    pub size: usize,
    /// The kind.
    pub kind: Kind,
    /// The dtype of sums and products of its elements.
    pub accumulates: DType,
    /// The dtype whose loops compute for it where it has none of its own: elements are converted, and results rounded back.
    pub computes: DType,
    /// NumPy's type number.
    pub numpy: i32,
    /// DLPack's type code; the bits follow from the size.
    pub dlpack: u8,
}

/// A boolean in memory: any nonzero byte is true.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
#[repr(transparent)]
pub struct Truth(pub(crate) u8);

impl Truth {
    /// Whether it is true.
    #[inline(always)]
    pub fn holds(self) -> bool {
        self.0 != 0
    }
}

/// NumPy's type number of int64: `long`, or `long long` where `long` has 32 bits.
const NUMPY_I64: i32 = if cfg!(windows) { 9 } else { 7 };
/// NumPy's type number of uint64.
const NUMPY_U64: i32 = NUMPY_I64 + 1;

/// float16: storage only; computations convert it to float32.
pub type Half = half::f16;
pub(crate) use num_complex::Complex;
/// A complex number of two float64.
pub type Complex128 = Complex<f64>;
/// A complex number of two float32.
pub type Complex64 = Complex<f32>;

pub use element::Element;
use element::sealed;
pub(crate) use element::{f16_from_f64, round_to_odd};
pub use promotion::WeakScalar;

/// Makes the enum, its table, the elements and the dispatch from the rows. `$d` is a dollar sign.
macro_rules! dtypes {
    ($d:tt
     floats { $($f:ident $ft:ident $frow:tt;)* }
     halves { $($h:ident $ht:ident $hrow:tt;)* }
     complexes { $($c:ident $ct:ident $crow:tt;)* }
     integers { $($i:ident $it:ident $irow:tt;)* }
     narrow { $($n:ident $nt:ident $nrow:tt;)* }
     truth { $b:ident $bt:ident $brow:tt; }) => {
        /// The type of a tensor's elements: `F` for floats, `C` for complex numbers, `I` and `U` for integers with and
        /// without a sign, each with its bits.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum DType {
            $($f,)*
            $($h,)*
            $($c,)*
            $($i,)*
            $($n,)*
            $b,
        }

        impl DType {
            /// Every dtype, in the order of the discriminants.
            pub const ALL: [DType; COUNT] =
                [$(DType::$f,)* $(DType::$h,)* $(DType::$c,)* $(DType::$i,)* $(DType::$n,)* DType::$b];

            /// Whether kernels have loops for this dtype; others are storage only.
            #[inline]
            pub const fn has_loops(self) -> bool {
                !matches!(self, $(DType::$h)|* | $(DType::$n)|*)
            }
        }

        /// The number of dtypes.
        const COUNT: usize = [
            $(stringify!($f),)* $(stringify!($h),)* $(stringify!($c),)* $(stringify!($i),)* $(stringify!($n),)* stringify!($b)
        ].len();

        /// The table, in the order of the discriminants.
        const ROWS: &[DTypeRow; COUNT] = &[
            $(dtypes!(@row $f $ft $frow),)*
            $(dtypes!(@row $h $ht $hrow),)*
            $(dtypes!(@row $c $ct $crow),)*
            $(dtypes!(@row $i $it $irow),)*
            $(dtypes!(@row $n $nt $nrow),)*
            dtypes!(@row $b $bt $brow),
        ];

        $(dtypes!(@element $f $ft);)*
        $(dtypes!(@element $i $it);)*
        $(dtypes!(@element $n $nt);)*

        /// Runs a body with `T` bound to the Rust type of a dtype.
        ///
        /// * `with_dtype!(dtype, T => body)`: every dtype; a boolean is `bool`.
        /// * `with_dtype!(stored dtype, T => body)`: every dtype as stored in memory; a boolean is `Truth`.
        /// * `with_dtype!(ring dtype, T => body)`: dtypes with loops of their own, and `Truth`; others panic.
        /// * `with_dtype!(number dtype, T => body)`: the same without booleans.
        /// * `with_dtype!(real dtype, T => body)`: the same without complex numbers.
        /// * `with_dtype!(float dtype, T => body)`: float64 and float32; others panic.
        macro_rules! with_dtype {
            (stored $d dtype:expr, $d T:ident => $d body:expr) => {
                match $d dtype {
                    $crate::dtype::DType::$b => { type $d T = $crate::dtype::Truth; $d body }
                    other => $crate::dtype::with_dtype!(but_bool other, $d T => $d body),
                }
            };
            (ring $d dtype:expr, $d T:ident => $d body:expr) => {
                match $d dtype {
                    $crate::dtype::DType::$b => { type $d T = $crate::dtype::Truth; $d body }
                    other => $crate::dtype::with_dtype!(number other, $d T => $d body),
                }
            };
            (number $d dtype:expr, $d T:ident => $d body:expr) => {
                match $d dtype {
                    $($crate::dtype::DType::$c => { type $d T = $crate::dtype::$ct; $d body })*
                    other => $crate::dtype::with_dtype!(real other, $d T => $d body),
                }
            };
            (real $d dtype:expr, $d T:ident => $d body:expr) => {
                match $d dtype {
                    $($crate::dtype::DType::$f => { type $d T = $ft; $d body })*
                    $($crate::dtype::DType::$i => { type $d T = $it; $d body })*
                    other => $crate::dtype::no_loop("real numbers", other),
                }
            };
            (float $d dtype:expr, $d T:ident => $d body:expr) => {
                match $d dtype {
                    $($crate::dtype::DType::$f => { type $d T = $ft; $d body })*
                    other => $crate::dtype::no_loop("floats", other),
                }
            };
            (but_bool $d dtype:expr, $d T:ident => $d body:expr) => {
                match $d dtype {
                    $($crate::dtype::DType::$f => { type $d T = $ft; $d body })*
                    $($crate::dtype::DType::$h => { type $d T = $crate::dtype::$ht; $d body })*
                    $($crate::dtype::DType::$c => { type $d T = $crate::dtype::$ct; $d body })*
                    $($crate::dtype::DType::$i => { type $d T = $it; $d body })*
                    $($crate::dtype::DType::$n => { type $d T = $nt; $d body })*
                    other => $crate::dtype::no_loop("numbers", other),
                }
            };
            ($d dtype:expr, $d T:ident => $d body:expr) => {
                match $d dtype {
                    $crate::dtype::DType::$b => { type $d T = $bt; $d body }
                    other => $crate::dtype::with_dtype!(but_bool other, $d T => $d body),
                }
            };
        }
    };
    (@row $dtype:ident $t:ident ($kind:ident $name:literal accumulates $acc:ident computes $computes:ident numpy $numpy:tt dlpack $dlpack:literal)) => {
        DTypeRow {
            dtype: DType::$dtype,
            name: $name,
            size: size_of::<$t>(),
            kind: Kind::$kind,
            accumulates: DType::$acc,
            computes: DType::$computes,
            numpy: $numpy,
            dlpack: $dlpack,
        }
    };
    (@element $dtype:ident $t:ident) => {
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn from_f64(v: f64) -> Self {
                v as $t
            }
            #[inline(always)]
            fn from_i64(v: i64) -> Self {
                v as $t
            }
        }
    };
}

// A new dtype is a row here, a Rust type, and its conversions in `kernels/copying/cast.rs`. Dtypes in `halves` and `narrow`
// are storage only: `computes` names the dtype whose loops compute for them.
dtypes! {
    $
    floats {
        F64 f64 (Float "float64" accumulates F64 computes F64 numpy 12 dlpack 2);
        F32 f32 (Float "float32" accumulates F32 computes F32 numpy 11 dlpack 2);
    }
    halves {
        F16 Half (Float "float16" accumulates F16 computes F32 numpy 23 dlpack 2);
    }
    complexes {
        C128 Complex128 (Complex "complex128" accumulates C128 computes C128 numpy 15 dlpack 5);
        C64 Complex64 (Complex "complex64" accumulates C64 computes C128 numpy 14 dlpack 5);
    }
    integers {
        I64 i64 (Signed "int64" accumulates I64 computes I64 numpy NUMPY_I64 dlpack 0);
        I32 i32 (Signed "int32" accumulates I64 computes I64 numpy 5 dlpack 0);
        U8 u8 (Unsigned "uint8" accumulates U64 computes I64 numpy 2 dlpack 1);
        U64 u64 (Unsigned "uint64" accumulates U64 computes U64 numpy NUMPY_U64 dlpack 1);
    }
    narrow {
        I16 i16 (Signed "int16" accumulates I64 computes I64 numpy 3 dlpack 0);
        I8 i8 (Signed "int8" accumulates I64 computes I64 numpy 1 dlpack 0);
        U32 u32 (Unsigned "uint32" accumulates U64 computes I64 numpy 6 dlpack 1);
        U16 u16 (Unsigned "uint16" accumulates U64 computes I64 numpy 4 dlpack 1);
    }
    truth { Bool bool (Bool "bool" accumulates I64 computes I64 numpy 0 dlpack 6); }
}
pub(crate) use with_dtype;

/// The remedy for an unsupported dtype.
#[cfg(feature = "python")]
pub(crate) static CONVERT: LazyLock<String> = LazyLock::new(|| {
    let names = DType::ALL.map(DType::name);
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("use {} or {last}, for example a.astype(np.float64)", others.join(", "))
});

/// The panic of a kernel that has no loop for a dtype: a bug of the caller.
#[cold]
#[inline(never)]
pub(crate) fn no_loop(takes: &str, got: DType) -> ! {
    panic!("a kernel of {takes} was given {got}")
}

impl DType {
    /// The row of the table.
    #[inline]
    pub const fn row(self) -> &'static DTypeRow {
        &ROWS[self as usize]
    }

    /// Bytes of one element.
    #[inline]
    pub const fn size(self) -> usize {
        ROWS[self as usize].size
    }

    /// NumPy's name of the dtype.
    pub const fn name(self) -> &'static str {
        ROWS[self as usize].name
    }

    /// The dtype with this NumPy name.
    pub fn from_name(name: &str) -> Option<DType> {
        match name {
            "bool_" => Some(DType::Bool),
            _ => DType::ALL.into_iter().find(|d| d.name() == name),
        }
    }

    /// The dtype of a kind and size.
    pub fn from_kind(kind: Kind, size: usize) -> Option<DType> {
        ROWS.iter().find(|row| row.kind == kind && row.size == size).map(|row| row.dtype)
    }

    /// The dtype of a DLPack type code and number of bits.
    pub fn from_dlpack(code: u8, bits: u8) -> Option<DType> {
        let found = ROWS.iter().find(|row| row.dlpack == code && row.size * 8 == bits as usize);
        found.map(|row| row.dtype)
    }

    /// Whether it is a (real) floating-point dtype.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self.row().kind, Kind::Float)
    }

    /// Whether it is a complex dtype.
    #[inline]
    pub const fn is_complex(self) -> bool {
        matches!(self.row().kind, Kind::Complex)
    }

    /// Whether tensors of this dtype can require gradients: floats and complex numbers.
    #[inline]
    pub const fn is_inexact(self) -> bool {
        matches!(self.row().kind, Kind::Float | Kind::Complex)
    }

    /// Whether it is an integer dtype (bool is not).
    #[inline]
    pub const fn is_integer(self) -> bool {
        matches!(self.row().kind, Kind::Signed | Kind::Unsigned)
    }

    /// The dtype of the real part: the component of a complex dtype, else the dtype itself.
    pub const fn real(self) -> DType {
        match self {
            DType::C128 => DType::F64,
            DType::C64 => DType::F32,
            other => other,
        }
    }

    /// A dtype with elements of this size, for kernels that only copy.
    pub(crate) const fn of_bytes(size: usize) -> DType {
        match size {
            8 => DType::F64,
            4 => DType::F32,
            2 => DType::F16,
            _ => DType::U8,
        }
    }

    /// The complex dtype that can hold values of this dtype.
    pub const fn to_complex(self) -> DType {
        self.promote(DType::C64)
    }

    /// The dtype whose loops compute for this dtype.
    #[inline]
    pub const fn computes(self) -> DType {
        ROWS[self as usize].computes
    }

    /// The dtype of means and norms: integers become float64.
    pub const fn to_float(self) -> DType {
        if self.is_inexact() { self } else { DType::F64 }
    }

    /// The result dtype of a float-only NumPy ufunc: for integers, the smallest float to which they convert safely.
    pub const fn to_ufunc_float(self) -> DType {
        match (self.row().kind, self.size()) {
            (Kind::Float | Kind::Complex, _) => self,
            (_, 1) => DType::F16,
            (_, 2) => DType::F32,
            _ => DType::F64,
        }
    }

    /// The dtype of sums and products.
    pub const fn accumulates(self) -> DType {
        ROWS[self as usize].accumulates
    }

    /// Whether an integer fits this integer dtype; true for every other dtype.
    pub const fn holds(self, value: i64) -> bool {
        let bits = 8 * self.size() as u32;
        match self.row().kind {
            Kind::Unsigned if bits >= 64 => value >= 0,
            Kind::Unsigned => value >= 0 && value < 1 << bits,
            Kind::Signed if bits < 64 => value >> (bits - 1) == value >> 63,
            _ => true,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
