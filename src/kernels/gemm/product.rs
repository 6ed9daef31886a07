//! The product of two matrices with any strides.
//!
//! Owns: the trait `Gemm`, and the cutting of large products into blocks of rows or columns. Never
//! transposes by copying: a transpose is a matter of strides. Never uses the gemm crate's own threads.
//! Invariant: blocks follow from the shape, so the result is the same at any number of threads.

use super::super::view::{View, ViewMut};
use super::plain;
use crate::dtype::DType;
use crate::threads::parallel_for;

/// One matrix operand: element (0, 0) and the strides of rows and columns.
#[derive(Clone, Copy)]
pub(super) struct Mat<P> {
    pub(super) ptr: P,
    pub(super) rs: isize,
    pub(super) cs: isize,
}

// SAFETY: made from views, which are Send + Sync; blocks write disjoint parts.
unsafe impl<P> Send for Mat<P> {}
// SAFETY: as above.
unsafe impl<P> Sync for Mat<P> {}

impl<P> Mat<P> {
    /// Strides of rows and columns, as they come in pairs.
    pub(super) fn new(ptr: P, [rs, cs]: [isize; 2]) -> Mat<P> {
        Mat { ptr, rs, cs }
    }
}

impl<T> Mat<*const T> {
    /// The matrix from this row and column on.
    #[inline(always)]
    pub(super) fn from(self, row: usize, column: usize) -> Mat<*const T> {
        let skip = row as isize * self.rs + column as isize * self.cs;
        Mat { ptr: self.ptr.wrapping_offset(skip), ..self }
    }
}

impl<T> Mat<*mut T> {
    /// The matrix from this row and column on.
    #[inline(always)]
    pub(super) fn from(self, row: usize, column: usize) -> Mat<*mut T> {
        let skip = row as isize * self.rs + column as isize * self.cs;
        Mat { ptr: self.ptr.wrapping_offset(skip), ..self }
    }
}

/// Rows, columns and inner dimension.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
}

/// An element type with a matrix product.
pub(super) trait Gemm: Copy + Send + Sync + 'static {
    /// `c = a · b` on the calling thread.
    ///
    /// # Safety
    /// The operands are valid for the sizes, and `c` overlaps neither.
    unsafe fn gemm(s: Size, a: Mat<*const Self>, b: Mat<*const Self>, c: Mat<*mut Self>);
}

macro_rules! float_gemm {
    ($($t:ty),*) => {$(
        impl Gemm for $t {
            #[inline]
            unsafe fn gemm(s: Size, a: Mat<*const $t>, b: Mat<*const $t>, c: Mat<*mut $t>) {
                if s.m * s.n * s.k <= plain::TINY {
                    // SAFETY: the caller's contract.
                    return unsafe { plain::small(s, a, b, c) };
                }
                // SAFETY: the caller's contract. The crate's alpha scales what was in `c`, which is
                // not read, and its beta the product.
                unsafe {
                    gemm::gemm(
                        s.m, s.n, s.k, c.ptr, c.cs, c.rs, false, a.ptr, a.cs, a.rs, b.ptr, b.cs, b.rs,
                        0.0, 1.0, false, false, false, gemm::Parallelism::None,
                    );
                }
            }
        }
    )*};
}
float_gemm!(f64, f32);

/// Multiply-adds worth a block; twice as many are cut.
const SPLIT: usize = 2 << 20;
/// Blocks of one product at most.
const MAX_BLOCKS: usize = 8;
/// Blocks begin at multiples of this, and hold a few of it.
const GRAIN: usize = 16;
/// The least size of a block along the axis on which `out` is contiguous, where a cut costs nothing,
/// and along the other, where each block packs the whole other operand anew.
const LEAST: [usize; 2] = [3 * GRAIN, 12 * GRAIN];

/// `out = a · b` for matrices of `dtype` with any strides; `out` overlaps neither. The dims agree.
pub fn matmul(dtype: DType, a: View, b: View, out: ViewMut) {
    let ([m, k], [k2, n]) = (dims2(a.dims), dims2(b.dims));
    assert!(k == k2 && dims2(out.dims) == [m, n], "matmul: the dims do not agree");
    let size = Size { m, n, k };
    macro_rules! go {
        ($t:ty) => {{
            let a = Mat::new(a.at::<$t>(0), [a.strides[0], a.strides[1]]);
            let b = Mat::new(b.at::<$t>(0), [b.strides[0], b.strides[1]]);
            let c = Mat::new(out.at::<$t>(0), [out.strides[0], out.strides[1]]);
            // SAFETY: the views are valid for these sizes; the caller keeps them apart.
            unsafe { product::<$t>(size, a, b, c) }
        }};
    }
    match dtype {
        DType::F64 => go!(f64),
        DType::F32 => go!(f32),
        DType::I64 => go!(i64),
        DType::I32 => go!(i32),
        DType::U8 => go!(u8),
        DType::Bool => go!(super::super::cast::Truth),
    }
}

fn dims2(dims: &[usize]) -> [usize; 2] {
    assert_eq!(dims.len(), 2, "matmul takes matrices");
    [dims[0], dims[1]]
}

/// The blocks of a product: how many, and whether they cut rows or columns.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    pub(super) blocks: usize,
    rows: bool,
}

impl Cut {
    /// The cut of a product whose result has its rows (else its columns) contiguous.
    pub(super) fn of(s: Size, row_major: bool) -> Cut {
        let work = s.m.saturating_mul(s.n).saturating_mul(s.k);
        let wanted = if work < 2 * SPLIT { 1 } else { (work / SPLIT).min(MAX_BLOCKS) };
        let (along, across) = if row_major { (s.n, s.m) } else { (s.m, s.n) };
        let (cheap, dear) = ((along / LEAST[0]).min(wanted), (across / LEAST[1]).min(wanted));
        let cut_along = cheap >= dear || cheap >= 4;
        let blocks = if cut_along { cheap } else { dear };
        // A power of two deals out evenly.
        Cut { blocks: 1 << blocks.max(1).ilog2(), rows: cut_along != row_major }
    }

    /// Start and end of a block along an axis of `n`.
    fn span(self, i: usize, n: usize) -> (usize, usize) {
        let at = |i: usize| {
            if i == self.blocks { n } else { i * (n / GRAIN) / self.blocks * GRAIN }
        };
        (at(i), at(i + 1))
    }
}

/// Computes block `i` of a product.
///
/// # Safety
/// As `Gemm::gemm`.
pub(super) unsafe fn block<T: Gemm>(
    cut: Cut,
    i: usize,
    s: Size,
    a: Mat<*const T>,
    b: Mat<*const T>,
    c: Mat<*mut T>,
) {
    let (start, end) = cut.span(i, if cut.rows { s.m } else { s.n });
    let len = end - start;
    // SAFETY: the block lies inside the product.
    unsafe {
        if cut.rows {
            T::gemm(Size { m: len, ..s }, a.from(start, 0), b, c.from(start, 0));
        } else {
            T::gemm(Size { n: len, ..s }, a, b.from(0, start), c.from(0, start));
        }
    }
}

/// # Safety
/// As `Gemm::gemm`.
unsafe fn product<T: Gemm>(s: Size, a: Mat<*const T>, b: Mat<*const T>, c: Mat<*mut T>) {
    if s.m == 0 || s.n == 0 {
        return;
    }
    let cut = Cut::of(s, c.cs.unsigned_abs() <= c.rs.unsigned_abs());
    if cut.blocks == 1 {
        // SAFETY: the caller's contract.
        return unsafe { T::gemm(s, a, b, c) };
    }
    // SAFETY: the caller's contract; the blocks are disjoint.
    parallel_for(cut.blocks, &|i| unsafe { block(cut, i, s, a, b, c) });
}
