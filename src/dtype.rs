//! Element types: one table with a row for each dtype, and what follows from it.
//!
//! Owns: `DType`, the table (name, size, kind, accumulation, codes of NumPy and DLPack), the traits
//! that tie a Rust type to its dtype, and `with_dtype!`, the only choice of a Rust type by a dtype.
//! Never touches a buffer.
//! Invariant: the rows stand in the order of the discriminants.

mod promotion;

use std::fmt;
#[cfg(feature = "python")]
use std::sync::LazyLock;

/// The kind of a dtype, in the order in which NumPy's `same_kind` lets one be put into another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Truth values.
    Bool,
    /// Integers without a sign.
    Unsigned,
    /// Integers with a sign.
    Signed,
    /// Floating-point numbers.
    Float,
}

/// What there is to know of a dtype: a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The dtype of this row.
    pub dtype: DType,
    /// NumPy's name.
    pub name: &'static str,
    /// Bytes of one element.
    pub size: usize,
    /// Its kind.
    pub kind: Kind,
    /// The dtype in which its sums and products are accumulated and given back.
    pub accumulates: DType,
    /// NumPy's type number.
    pub numpy: i32,
    /// DLPack's type code; the bits follow from the size.
    pub dlpack: u8,
}

/// A boolean as it lies in memory: any byte, where other than 0 means true.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
#[repr(transparent)]
pub struct Truth(pub(crate) u8);

impl Truth {
    /// Whether the byte means true.
    #[inline(always)]
    pub fn holds(self) -> bool {
        self.0 != 0
    }
}

/// NumPy's number of an eight-byte integer: `long`, and `long long` where that is short.
const NUMPY_I64: i32 = if cfg!(windows) { 9 } else { 7 };

pub use promotion::Weak;

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that is the element of some dtype. Sealed: the rows of the table are all there are.
pub trait Element: sealed::Sealed + Copy + Send + Sync + PartialOrd + fmt::Debug + 'static {
    /// The dtype of this type.
    const DTYPE: DType;
    /// The value as a float64 (rounded for large integers).
    fn to_f64(self) -> f64;
    /// The value nearest to a float64, as Rust's `as` converts.
    fn from_f64(v: f64) -> Self;
    /// The value of an integer; those that do not fit wrap.
    fn from_i64(v: i64) -> Self;
}

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
    #[inline(always)]
    fn from_i64(v: i64) -> Self {
        v != 0
    }
}

/// Makes the enum, its table, the elements and the dispatch from the rows. `$d` is a dollar sign.
macro_rules! dtypes {
    ($d:tt
     floats { $($f:ident $ft:ident $fkind:ident $fname:literal accumulates $facc:ident numpy $fnum:literal dlpack $fdl:literal;)* }
     integers { $($i:ident $it:ident $ikind:ident $iname:literal accumulates $iacc:ident numpy $inum:expr, dlpack $idl:literal;)* }
     truth { $b:ident $bt:ident $bkind:ident $bname:literal accumulates $bacc:ident numpy $bnum:literal dlpack $bdl:literal; }) => {
        /// The type of a tensor's elements.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum DType {
            $(#[doc = $fname] $f,)*
            $(#[doc = $iname] $i,)*
            #[doc = $bname] $b,
        }

        impl DType {
            /// Every dtype, in the order of the discriminants.
            pub const ALL: [DType; COUNT] = [$(DType::$f,)* $(DType::$i,)* DType::$b];

            /// Whether a tensor of this dtype can require a gradient.
            #[inline]
            pub const fn is_float(self) -> bool {
                matches!(self, $(DType::$f)|*)
            }

            /// Whether the elements are whole numbers (booleans are not).
            #[inline]
            pub const fn is_integer(self) -> bool {
                matches!(self, $(DType::$i)|*)
            }
        }

        /// How many dtypes there are.
        const COUNT: usize = [$($fname,)* $($iname,)* $bname].len();

        /// The table, in the order of the discriminants.
        const ROWS: &[Row; COUNT] = &[
            $(dtypes!(@row $f $ft $fkind $fname $facc $fnum, $fdl),)*
            $(dtypes!(@row $i $it $ikind $iname $iacc $inum, $idl),)*
            dtypes!(@row $b $bt $bkind $bname $bacc $bnum, $bdl),
        ];

        $(dtypes!(@element $f $ft);)*
        $(dtypes!(@element $i $it);)*

        /// Runs a body with `T` bound to the Rust type of a dtype, the only choice of a type by a dtype.
        ///
        /// * `with_dtype!(dtype, T => body)`: every dtype; a boolean is `bool`.
        /// * `with_dtype!(stored dtype, T => body)`: every dtype as it lies in memory; a boolean is `Truth`.
        /// * `with_dtype!(number dtype, T => body)`: floats and integers; a boolean panics.
        /// * `with_dtype!(float dtype, T => body)`: floats; the others panic.
        macro_rules! with_dtype {
            (stored $d dtype:expr, $d T:ident => $d body:expr) => {
                match $d dtype {
                    $($crate::dtype::DType::$f => { type $d T = $ft; $d body })*
                    $($crate::dtype::DType::$i => { type $d T = $it; $d body })*
                    $crate::dtype::DType::$b => { type $d T = $crate::dtype::Truth; $d body }
                }
            };
            (number $d dtype:expr, $d T:ident => $d body:expr) => {
                match $d dtype {
                    $($crate::dtype::DType::$f => { type $d T = $ft; $d body })*
                    $($crate::dtype::DType::$i => { type $d T = $it; $d body })*
                    other => $crate::dtype::no_loop("numbers", other),
                }
            };
            (float $d dtype:expr, $d T:ident => $d body:expr) => {
                match $d dtype {
                    $($crate::dtype::DType::$f => { type $d T = $ft; $d body })*
                    other => $crate::dtype::no_loop("floats", other),
                }
            };
            ($d dtype:expr, $d T:ident => $d body:expr) => {
                match $d dtype {
                    $($crate::dtype::DType::$f => { type $d T = $ft; $d body })*
                    $($crate::dtype::DType::$i => { type $d T = $it; $d body })*
                    $crate::dtype::DType::$b => { type $d T = $bt; $d body }
                }
            };
        }
    };
    (@row $dtype:ident $t:ident $kind:ident $name:literal $acc:ident $numpy:expr, $dlpack:literal) => {
        Row {
            dtype: DType::$dtype,
            name: $name,
            size: size_of::<$t>(),
            kind: Kind::$kind,
            accumulates: DType::$acc,
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

// A new dtype is a row here, a Rust type for it, and the loops of the families that take it.
dtypes! {
    $
    floats {
        F64 f64 Float "float64" accumulates F64 numpy 12 dlpack 2;
        F32 f32 Float "float32" accumulates F32 numpy 11 dlpack 2;
    }
    integers {
        I64 i64 Signed "int64" accumulates I64 numpy NUMPY_I64, dlpack 0;
        I32 i32 Signed "int32" accumulates I64 numpy 5, dlpack 0;
        U8 u8 Unsigned "uint8" accumulates I64 numpy 2, dlpack 1;
    }
    truth { Bool bool Bool "bool" accumulates I64 numpy 0 dlpack 6; }
}
pub(crate) use with_dtype;

/// The remedy for a dtype that no tensor has.
#[cfg(feature = "python")]
pub(crate) static CONVERT: LazyLock<String> = LazyLock::new(|| {
    let names = DType::ALL.map(DType::name);
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("use {} or {last}, for example a.astype(np.float64)", others.join(", "))
});

/// The panic of a kernel that was given a dtype it has no loop for: a bug of its caller.
#[cold]
#[inline(never)]
pub(crate) fn no_loop(takes: &str, got: DType) -> ! {
    panic!("a kernel of {takes} was given {got}")
}

impl DType {
    /// What the table says.
    #[inline]
    pub const fn row(self) -> &'static Row {
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

    /// The dtype of this kind and size.
    pub fn from_kind(kind: Kind, size: usize) -> Option<DType> {
        ROWS.iter().find(|row| row.kind == kind && row.size == size).map(|row| row.dtype)
    }

    /// The dtype of this DLPack type code and number of bits.
    pub fn from_dlpack(code: u8, bits: u8) -> Option<DType> {
        let found = ROWS.iter().find(|row| row.dlpack == code && row.size * 8 == bits as usize);
        found.map(|row| row.dtype)
    }

    /// The dtype in which a float function of this dtype is computed: integers become float64.
    pub const fn to_float(self) -> DType {
        if self.is_float() { self } else { DType::F64 }
    }

    /// The dtype of sums and products of elements.
    pub const fn accumulates(self) -> DType {
        ROWS[self as usize].accumulates
    }

    /// Whether an integer is a value of this integer dtype; every other dtype converts it.
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
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_discriminants() {
        for (i, dtype) in DType::ALL.into_iter().enumerate() {
            assert!(dtype as usize == i && dtype.row().dtype == dtype);
            with_dtype!(dtype, T => assert_eq!(T::DTYPE, dtype));
            with_dtype!(stored dtype, T => assert_eq!(size_of::<T>(), dtype.size()));
        }
    }

    #[test]
    fn an_integer_is_held_within_the_range_of_its_type() {
        for value in [
            i64::MIN,
            -(1 << 31) - 1,
            -(1 << 31),
            -1,
            0,
            255,
            256,
            (1 << 31) - 1,
            1 << 31,
            i64::MAX,
        ] {
            assert!(DType::I64.holds(value) && DType::F32.holds(value));
            assert_eq!(DType::I32.holds(value), i32::try_from(value).is_ok(), "{value}");
            assert_eq!(DType::U8.holds(value), u8::try_from(value).is_ok(), "{value}");
        }
    }
}
