//! The product of two matrices with any strides.
//!
//! Owns: the trait `Gemm`, and the cutting of large products into blocks of rows or columns. Never
//! transposes by copying: a transpose is a matter of strides. Never multiplies floats itself.
//! Invariant: an element of a product is the same sum in the same order in whichever block it lies, so
//! blocks may follow the threads to spare. Products with vectors have no such promise from the gemm crates:
//! their blocks follow from the shape.

use super::super::cast::{with_computing_input, with_computing_output};
use super::super::launch::launch;
use super::super::view::{View, ViewMut, with_elements};
use super::{complex_blocked, float, matrix_vector, naive, narrow, small_k};
use crate::array::afford;
use crate::dtype::{Complex64, Complex128};
use crate::error::Result;
use crate::threads::{parallel_for, spare_threads};

/// One matrix operand: element (0, 0) and the strides of rows and columns.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Mat<P> {
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
    pub(in crate::kernels) fn new(ptr: P, [rs, cs]: [isize; 2]) -> Mat<P> {
        Mat { ptr, rs, cs }
    }

    /// Rows for columns.
    #[inline(always)]
    pub(super) fn transposed(self) -> Mat<P> {
        Mat { ptr: self.ptr, rs: self.cs, cs: self.rs }
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
pub(in crate::kernels) struct Size {
    pub(in crate::kernels) m: usize,
    pub(in crate::kernels) n: usize,
    pub(in crate::kernels) k: usize,
}

/// An element type with a matrix product.
pub(super) trait Gemm: Copy + Send + Sync + 'static {
    /// `c = a · b` on the calling thread, a block of a product that suits `tiles` or does not.
    ///
    /// # Safety
    /// The operands are valid for the sizes, and `c` overlaps neither.
    unsafe fn gemm(
        s: Size,
        a: Mat<*const Self>,
        b: Mat<*const Self>,
        c: Mat<*mut Self>,
        tiles: bool,
    );
    /// The product of every row of a matrix with a row of another, if there is a loop for these; without rows, whether there is.
    ///
    /// # Safety
    /// As `ByVector::by_vector`.
    unsafe fn by_rows(_task: matrix_vector::Task<Self>) -> bool {
        false
    }
}

macro_rules! float_gemm {
    ($($t:ty),*) => {$(
        impl Gemm for $t {
            #[inline]
            unsafe fn gemm(s: Size, a: Mat<*const $t>, b: Mat<*const $t>, c: Mat<*mut $t>, tiles: bool) {
                // SAFETY: the caller's contract.
                unsafe {
                    // The smallest have the same bits whatever their strides.
                    if s.m * s.n * s.k <= naive::TINY {
                        naive::small(s, a, b, c)
                    } else if !matrix_vector::product(s, a, b, c)
                        && !narrow::by_square(s, a, b, c)
                        && !narrow::of_columns(s, a, b, c)
                        && !small_k::direct(s, a, b, c)
                        && !(tiles && float::by_tiles(s, c, false, a, b, 1.0))
                    {
                        float::by_crate(s, c, false, a, b, 1.0)
                    }
                }
            }
            unsafe fn by_rows(task: matrix_vector::Task<$t>) -> bool {
                // SAFETY: the caller's contract.
                unsafe { matrix_vector::ByVector::by_vector(task) }
            }
        }
    )*};
}
float_gemm!(f64, f32);

macro_rules! complex_gemm {
    ($($c:ty),*) => {$(
        impl Gemm for $c {
            unsafe fn gemm(s: Size, a: Mat<*const $c>, b: Mat<*const $c>, c: Mat<*mut $c>, _: bool) {
                // SAFETY: the caller's contract.
                unsafe {
                    if s.m * s.n * s.k <= naive::FEW {
                        naive::product(s, a, b, c)
                    } else {
                        complex_blocked::multiply(s, c, false, a, b, false)
                    }
                }
            }
        }
    )*};
}
complex_gemm!(Complex128, Complex64);

/// Multiply-adds worth a block of a product, about 12 µs of float32 (`benches/run.py --only blocks`).
const SPLIT: usize = 1 << 20;
/// Multiply-adds worth a block of a product with a vector, and its blocks at most.
const VECTOR: (usize, usize) = (2 << 20, 8);
/// Blocks begin at multiples of this.
const GRAIN: usize = 16;
/// The least size of a block of a product that is larger than this in the other direction. The crate
/// cuts the inner dimension of products up to 64 × 64 differently, so a block never becomes one.
const LEAST: usize = 64;

/// What packing copies of the operands takes at most: the crate cuts them to caches.
const PACKED: usize = 64 << 20;
/// What each thread keeps for packing: the size of a cache.
const KEPT: usize = 2 << 20;
/// Multiply-adds beside which asking for memory costs nothing, about 200 µs of float64.
const ASKS: usize = 1 << 23;

/// Refuses a product for whose packed operands the system has no memory: the crate would end the process.
pub(super) fn room(a: &View, b: &View) -> Result<()> {
    let (&[.., m, k], &[.., n]) = (a.dims, b.dims) else {
        return Ok(());
    };
    if m.saturating_mul(n).saturating_mul(k) < ASKS {
        return Ok(());
    }
    let elements = m.saturating_add(n).saturating_mul(k.min(1024));
    afford(
        (elements.saturating_mul(a.dtype.size()).min(PACKED) + KEPT)
            .saturating_mul(1 + spare_threads()),
    )
}

/// `out = a · b` for matrices of one dtype with any strides; `out` overlaps neither. The dims agree.
///
/// # Errors
/// `Memory` when the system has none for the packed operands.
pub fn matmul(a: View, b: View, out: &ViewMut) -> Result<()> {
    room(&a, &b)?;
    multiply(a, b, out)
}

/// The same, where `room` was asked.
pub(super) fn multiply(a: View, b: View, out: &ViewMut) -> Result<()> {
    launch!("matmul", [a, b] => [out];; product_of(a, b, &out))
}

fn product_of(a: View, b: View, out: &ViewMut) -> Result<()> {
    with_computing_input(a, |a| {
        with_computing_input(b, |b| {
            with_computing_output(out, false, |out| {
                product_in(a, b, &out);
                Ok(())
            })
        })
    })
}

fn product_in(a: View, b: View, out: &ViewMut) {
    let ([m, k], [k2, n]) = (dims2(a.dims), dims2(b.dims));
    assert!(k == k2 && dims2(out.dims) == [m, n], "matmul: the dims do not agree");
    let size = Size { m, n, k };
    with_elements!([a, b, out], T => {
        let a = Mat::new(a.at::<T>(0), [a.strides[0], a.strides[1]]);
        let b = Mat::new(b.at::<T>(0), [b.strides[0], b.strides[1]]);
        let c = Mat::new(out.at::<T>(0), [out.strides[0], out.strides[1]]);
        // SAFETY: the views are valid for these sizes; the caller keeps them apart.
        unsafe { product::<T>(size, a, b, c) }
    });
}

fn dims2(dims: &[usize]) -> [usize; 2] {
    assert_eq!(dims.len(), 2, "matmul takes matrices");
    [dims[0], dims[1]]
}

/// How the operands of a product are ordered in memory.
#[derive(Clone, Copy)]
pub(super) struct OperandOrder {
    /// The result has its rows contiguous, else its columns.
    row_major: bool,
    /// The operand that gives the result its other axis is contiguous along that axis, not along the
    /// inner one: each block along the contiguous axis of the result packs all of it anew.
    across: bool,
}

impl OperandOrder {
    /// From the strides of rows and columns.
    pub(super) fn of(a: [isize; 2], b: [isize; 2], c: [isize; 2]) -> OperandOrder {
        let tall = |s: [isize; 2]| s[0].unsigned_abs() < s[1].unsigned_abs();
        let row_major = !tall(c);
        OperandOrder { row_major, across: if row_major { tall(a) } else { !tall(b) } }
    }
}

/// The blocks of a product: how many, and whether they cut rows or columns.
#[derive(Clone, Copy)]
pub(super) struct Partition {
    pub(super) blocks: usize,
    /// Whether a block is worth another thread.
    pub(super) shared: bool,
    rows: bool,
}

impl Partition {
    /// The cut of a product that `threads` threads could work on.
    pub(super) fn of(s: Size, order: OperandOrder, threads: usize) -> Partition {
        let work = s.m.saturating_mul(s.n).saturating_mul(s.k);
        let (along, across) = if order.row_major { (s.n, s.m) } else { (s.m, s.n) };
        let cut = |blocks: usize, cuts_along: bool| Partition {
            blocks: blocks.max(1),
            shared: blocks > 1 && work >= 2 * SPLIT,
            rows: cuts_along != order.row_major,
        };
        if along.min(across) == 1 {
            let blocks = (work / VECTOR.0).min(VECTOR.1).min(along.max(across) / LEAST).max(1);
            return cut(1 << blocks.ilog2(), across == 1);
        }
        let most = |n: usize, other: usize| n / if other > LEAST { LEAST } else { LEAST + GRAIN };
        let wanted = if work < 2 * SPLIT { 1 } else { work / SPLIT };
        if !order.across {
            let share = if threads > 1 { 2 * threads } else { 1 };
            return cut(most(along, across).min(wanted).min(share), true);
        }
        // The crates multiply narrow blocks without packing, which for a narrow result beats packing once.
        if (2 * LEAST..=4 * LEAST).contains(&along) && across > LEAST {
            return cut(along / LEAST, true);
        }
        cut(most(across, along).min(wanted).min(threads), false)
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
    cut: Partition,
    i: usize,
    s: Size,
    a: Mat<*const T>,
    b: Mat<*const T>,
    c: Mat<*mut T>,
) {
    let (start, end) = cut.span(i, if cut.rows { s.m } else { s.n });
    let (len, tiles) = (end - start, float::suits_tiles(s, a, b, c));
    // SAFETY: the block lies inside the product.
    unsafe {
        if cut.rows {
            T::gemm(Size { m: len, ..s }, a.from(start, 0), b, c.from(start, 0), tiles);
        } else {
            T::gemm(Size { n: len, ..s }, a, b.from(0, start), c.from(0, start), tiles);
        }
    }
}

/// # Safety
/// As `Gemm::gemm`.
unsafe fn product<T: Gemm>(s: Size, a: Mat<*const T>, b: Mat<*const T>, c: Mat<*mut T>) {
    if s.m == 0 || s.n == 0 {
        return;
    }
    let order = OperandOrder::of([a.rs, a.cs], [b.rs, b.cs], [c.rs, c.cs]);
    let cut = Partition::of(s, order, 1 + spare_threads());
    // SAFETY: the caller's contract; the blocks are disjoint.
    let part = |i| unsafe { block(cut, i, s, a, b, c) };
    if cut.shared { parallel_for(cut.blocks, &part) } else { (0..cut.blocks).for_each(part) }
}
