//! The product of two matrices with any strides, and the split of large products into blocks.
//!
//! Operands are transposed by strides, never by copying. Invariant: an element of a product is the
//! same sum in the same order in whichever block it lies, so the blocks may follow the number of
//! idle threads. The gemm crates do not promise that for products with vectors: their blocks follow
//! from the shape alone.

use super::super::cast::{with_computing_input, with_computing_output};
use super::super::launch::launch;
use super::super::view::{View, ViewMut, with_elements};
use super::float;
use super::kernel_selection::Gemm;
use super::matrix::{Mat, Size};
use crate::array::afford;
use crate::error::Result;
use crate::threads::{parallel_for, spare_threads};

/// Multiply-adds per block of a product, about 12 µs of float32 (`benches/run.py --only blocks`).
const MULADDS_PER_BLOCK: usize = 1 << 20;
/// Multiply-adds per block of a product with a vector, and its most blocks.
const GEMV_BLOCKS: (usize, usize) = (2 << 20, 8);
/// Blocks begin at multiples of this many rows or columns.
const BLOCK_ALIGNMENT: usize = 16;
/// Minimum side of a block if the other side is larger than this. The crate splits the inner axis
/// of products up to 64 × 64 differently, so a block must never become one.
const MIN_BLOCK_SIDE: usize = 64;

/// Upper bound of the bytes that the crate packs, since it blocks for the caches.
const MAX_PACKED_BYTES: usize = 64 << 20;
/// Bytes of packing workspace per thread: the size of a cache.
const PACK_BYTES_PER_THREAD: usize = 2 << 20;
/// Multiply-adds from which checking for memory is cheap, about 200 µs of float64.
const MIN_MULADDS_TO_CHECK: usize = 1 << 23;

/// Fails if the system lacks memory for the packed operands: the crate would abort the process.
pub(super) fn check_pack_memory(a: &View, b: &View) -> Result<()> {
    let (&[.., m, k], &[.., n]) = (a.dims, b.dims) else {
        return Ok(());
    };
    if m.saturating_mul(n).saturating_mul(k) < MIN_MULADDS_TO_CHECK {
        return Ok(());
    }
    let elements = m.saturating_add(n).saturating_mul(k.min(1024));
    afford(
        (elements.saturating_mul(a.dtype.size()).min(MAX_PACKED_BYTES) + PACK_BYTES_PER_THREAD)
            .saturating_mul(1 + spare_threads()),
    )
}

/// `out = a · b` for matrices of one dtype with any strides. The dims agree; `out` must not alias
/// the operands.
///
/// # Errors
/// `Memory` when the system has none for the packed operands.
pub fn matmul(a: View, b: View, out: &ViewMut) -> Result<()> {
    check_pack_memory(&a, &b)?;
    multiply(a, b, out)
}

/// `matmul` without the memory check.
pub(super) fn multiply(a: View, b: View, out: &ViewMut) -> Result<()> {
    launch!("matmul", [a, b] => [out];; multiply_cast(a, b, &out))
}

fn multiply_cast(a: View, b: View, out: &ViewMut) -> Result<()> {
    with_computing_input(a, |a| {
        with_computing_input(b, |b| {
            with_computing_output(out, false, |out| {
                multiply_typed(a, b, &out);
                Ok(())
            })
        })
    })
}

fn multiply_typed(a: View, b: View, out: &ViewMut) {
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

/// Memory order of the operands of a product.
#[derive(Clone, Copy)]
pub(super) struct OperandOrder {
    /// Whether the rows of the result are contiguous, not its columns.
    row_major: bool,
    /// Whether the operand that gives the result its other axis is not contiguous along the inner
    /// axis: then each block along the contiguous axis of the result packs all of it again.
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

/// The split of a product into blocks of rows or of columns.
#[derive(Clone, Copy)]
pub(super) struct Partition {
    pub(super) blocks: usize,
    /// Whether blocks are large enough to run on several threads.
    pub(super) shared: bool,
    rows: bool,
}

impl Partition {
    /// Splits a product for up to this many threads.
    pub(super) fn of(s: Size, order: OperandOrder, threads: usize) -> Partition {
        let work = s.m.saturating_mul(s.n).saturating_mul(s.k);
        let (along, across) = if order.row_major { (s.n, s.m) } else { (s.m, s.n) };
        let cut = |blocks: usize, cuts_along: bool| Partition {
            blocks: blocks.max(1),
            shared: blocks > 1 && work >= 2 * MULADDS_PER_BLOCK,
            rows: cuts_along != order.row_major,
        };
        if along.min(across) == 1 {
            let blocks = (work / GEMV_BLOCKS.0)
                .min(GEMV_BLOCKS.1)
                .min(along.max(across) / MIN_BLOCK_SIDE)
                .max(1);
            return cut(1 << blocks.ilog2(), across == 1);
        }
        let max_blocks = |n: usize, other: usize| {
            n / if other > MIN_BLOCK_SIDE {
                MIN_BLOCK_SIDE
            } else {
                MIN_BLOCK_SIDE + BLOCK_ALIGNMENT
            }
        };
        let wanted = if work < 2 * MULADDS_PER_BLOCK { 1 } else { work / MULADDS_PER_BLOCK };
        if !order.across {
            let share = if threads > 1 { 2 * threads } else { 1 };
            return cut(max_blocks(along, across).min(wanted).min(share), true);
        }
        // The crates multiply narrow blocks without packing, which for a narrow result is faster
        // than packing once.
        if (2 * MIN_BLOCK_SIDE..=4 * MIN_BLOCK_SIDE).contains(&along) && across > MIN_BLOCK_SIDE {
            return cut(along / MIN_BLOCK_SIDE, true);
        }
        cut(max_blocks(across, along).min(wanted).min(threads), false)
    }

    /// Start and end of a block along an axis of `n`.
    fn span(self, i: usize, n: usize) -> (usize, usize) {
        let at = |i: usize| {
            if i == self.blocks {
                n
            } else {
                i * (n / BLOCK_ALIGNMENT) / self.blocks * BLOCK_ALIGNMENT
            }
        };
        (at(i), at(i + 1))
    }
}

/// Computes block `i` of a product.
///
/// # Safety
/// As `Gemm::gemm`.
pub(super) unsafe fn multiply_block<T: Gemm>(
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
    let run_block = |i| unsafe { multiply_block(cut, i, s, a, b, c) };
    if cut.shared {
        parallel_for(cut.blocks, &run_block)
    } else {
        (0..cut.blocks).for_each(run_block)
    }
}
