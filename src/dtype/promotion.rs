//! Type promotion, as `numpy.result_type`.
//!
//! Computed from the kinds and sizes of the table. Invariant: `promote` is commutative and associative.

use super::{COUNT, DType, Kind, ROWS};

/// The kind of a Python scalar, which is weakly typed: it never widens an array of its own kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WeakScalar {
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `float`
    Float,
    /// `complex`
    Complex,
}

/// `promote` of every pair, computed at compile time.
static PROMOTED: [[DType; COUNT]; COUNT] = {
    let mut table = [[DType::F64; COUNT]; COUNT];
    let (mut i, mut k) = (0, 0);
    while i < COUNT {
        while k < COUNT {
            table[i][k] = common_dtype(i, k);
            k += 1;
        }
        (i, k) = (i + 1, 0);
    }
    table
};

/// The promotion of two rows of the table.
const fn common_dtype(i: usize, k: usize) -> DType {
    let (low, high) = if (ROWS[i].kind as u8) < ROWS[k].kind as u8 { (i, k) } else { (k, i) };
    let (low, high) = (&ROWS[low], &ROWS[high]);
    let wider = if low.size > high.size { low.size } else { high.size };
    match (low.kind, high.kind) {
        (Kind::Bool, _) => high.dtype,
        (Kind::Complex, _) => smallest_of_kind(Kind::Complex, wider),
        // The float for the other operand must fit the component; there is none wider than float64.
        (kind, Kind::Complex) => {
            let float = if matches!(kind, Kind::Float) { low.size } else { 2 * low.size };
            let wanted = if float > 8 { 16 } else { 2 * float };
            smallest_of_kind(Kind::Complex, if wanted > high.size { wanted } else { high.size })
        }
        (Kind::Float, _) => smallest_of_kind(Kind::Float, wider),
        // A float twice as wide as an integer holds all its values; NumPy uses float64 for int64 as well.
        (_, Kind::Float) => smallest_of_kind(
            Kind::Float,
            if 2 * low.size > high.size { 2 * low.size } else { high.size },
        ),
        (Kind::Unsigned, Kind::Signed) if low.size >= high.size => {
            smallest_of_kind(Kind::Signed, 2 * low.size)
        }
        (_, kind) => smallest_of_kind(kind, wider),
    }
}

/// The smallest dtype of a kind with at least this size, else float64.
const fn smallest_of_kind(kind: Kind, size: usize) -> DType {
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
    pub const fn promote_weak(self, scalar: WeakScalar) -> DType {
        match (self, scalar) {
            (d, WeakScalar::Bool) => d,
            (DType::Bool, WeakScalar::Int) => DType::I64,
            (d, WeakScalar::Int) => d,
            (d, WeakScalar::Float) if d.is_inexact() => d,
            (_, WeakScalar::Float) => DType::F64,
            (d, WeakScalar::Complex) if d.is_inexact() => d.to_complex(),
            (_, WeakScalar::Complex) => DType::C128,
        }
    }

    /// Whether values of dtype `other` may be written to a tensor of this dtype: NumPy's `same_kind` casting, which never
    /// drops a fraction, a sign or an imaginary part.
    pub fn takes(self, other: DType) -> bool {
        self.row().kind >= other.row().kind
    }
}
