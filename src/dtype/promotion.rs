//! The common dtype of several.
//!
//! Owns: promotion between dtypes and with Python's scalars, computed from the kinds and sizes of the table.
//! Never names a dtype where a kind will do. Invariant: `promote` is commutative, associative and equal to
//! `numpy.result_type`.

use super::{COUNT, DType, Kind, ROWS};

/// The kind of a Python scalar, which promotes weakly: it never widens an array of its own kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weak {
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `float`
    Float,
    /// `complex`
    Complex,
}

/// `promote` of every pair, computed once from the rows.
static PROMOTED: [[DType; COUNT]; COUNT] = {
    let mut table = [[DType::F64; COUNT]; COUNT];
    let (mut i, mut k) = (0, 0);
    while i < COUNT {
        while k < COUNT {
            table[i][k] = common(i, k);
            k += 1;
        }
        (i, k) = (i + 1, 0);
    }
    table
};

/// The common dtype of two rows, as `numpy.result_type`.
const fn common(i: usize, k: usize) -> DType {
    let (low, high) = if (ROWS[i].kind as u8) < ROWS[k].kind as u8 { (i, k) } else { (k, i) };
    let (low, high) = (&ROWS[low], &ROWS[high]);
    let wider = if low.size > high.size { low.size } else { high.size };
    match (low.kind, high.kind) {
        (Kind::Bool, _) => high.dtype,
        (Kind::Complex, _) => smallest(Kind::Complex, wider),
        // The float that a value becomes fits a part, and there is none wider than float64.
        (kind, Kind::Complex) => {
            let float = if matches!(kind, Kind::Float) { low.size } else { 2 * low.size };
            let wanted = if float > 8 { 16 } else { 2 * float };
            smallest(Kind::Complex, if wanted > high.size { wanted } else { high.size })
        }
        (Kind::Float, _) => smallest(Kind::Float, wider),
        // A float twice as wide as an integer holds all its values; NumPy lets float64 stand for int64.
        (_, Kind::Float) => {
            smallest(Kind::Float, if 2 * low.size > high.size { 2 * low.size } else { high.size })
        }
        (Kind::Unsigned, Kind::Signed) if low.size >= high.size => {
            smallest(Kind::Signed, 2 * low.size)
        }
        (_, kind) => smallest(kind, wider),
    }
}

/// The smallest dtype of a kind with at least this size, else float64.
const fn smallest(kind: Kind, size: usize) -> DType {
    let (mut i, mut best, mut found) = (0, usize::MAX, DType::F64);
    while i < COUNT {
        let row = &ROWS[i];
        if row.kind as u8 == kind as u8 && row.size >= size && row.size < best {
            (best, found) = (row.size, row.dtype);
        }
        i += 1;
    }
    found
}

impl DType {
    /// The common dtype of two arrays, as `numpy.result_type`.
    #[inline]
    pub const fn promote(self, other: DType) -> DType {
        PROMOTED[self as usize][other as usize]
    }

    /// The common dtype of an array and a Python scalar.
    pub const fn promote_weak(self, scalar: Weak) -> DType {
        match (self, scalar) {
            (d, Weak::Bool) => d,
            (DType::Bool, Weak::Int) => DType::I64,
            (d, Weak::Int) => d,
            (d, Weak::Float) if d.is_inexact() => d,
            (_, Weak::Float) => DType::F64,
            (d, Weak::Complex) if d.is_inexact() => d.to_complex(),
            (_, Weak::Complex) => DType::C128,
        }
    }

    /// Whether what is `other` may be put into a tensor of this dtype: NumPy's `same_kind`, which
    /// narrows floats to floats and integers to integers, and never cuts a fraction or a sign off.
    pub fn takes(self, other: DType) -> bool {
        self.row().kind >= other.row().kind
    }
}
