//! Operands of matrix products: matrices with any strides, and sizes.

/// A matrix operand: pointer to element (0, 0), row stride and column stride.
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
    pub(in crate::kernels) fn new(ptr: P, [rs, cs]: [isize; 2]) -> Mat<P> {
        Mat { ptr, rs, cs }
    }

    #[inline(always)]
    pub(super) fn transposed(self) -> Mat<P> {
        Mat { ptr: self.ptr, rs: self.cs, cs: self.rs }
    }
}

impl<T> Mat<*const T> {
    /// The submatrix that begins at this row and column.
    #[inline(always)]
    pub(super) fn from(self, row: usize, column: usize) -> Mat<*const T> {
        let skip = row as isize * self.rs + column as isize * self.cs;
        Mat { ptr: self.ptr.wrapping_offset(skip), ..self }
    }
}

impl<T> Mat<*mut T> {
    /// The submatrix that begins at this row and column.
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

/// `c = factor a b`, or `c += factor a b` with `accumulate`.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Product<T, F = T> {
    pub(super) s: Size,
    pub(super) a: Mat<*const T>,
    pub(super) b: Mat<*const T>,
    pub(super) c: Mat<*mut T>,
    pub(super) accumulate: bool,
    pub(super) factor: F,
}

impl<T, F> Product<T, F> {
    /// The same product as `cᵀ = factor bᵀ aᵀ`.
    pub(super) fn transposed(self) -> Product<T, F> {
        Product {
            s: Size { m: self.s.n, n: self.s.m, k: self.s.k },
            a: self.b.transposed(),
            b: self.a.transposed(),
            c: self.c.transposed(),
            ..self
        }
    }
}

/// A matrix times one vector, or times a vector of its own for each row.
#[derive(Clone, Copy)]
pub(super) struct MatVec<T> {
    /// Elements of the result, and terms of each sum.
    pub(super) rows: usize,
    pub(super) terms: usize,
    pub(super) matrix: Mat<*const T>,
    /// The vector: `cs` steps along the terms, `rs` from row to row (0 for one shared vector).
    pub(super) x: Mat<*const T>,
    /// The contiguous result.
    pub(super) y: *mut T,
}
