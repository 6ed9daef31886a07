//! Scatter reductions: rows folded into the positions of their offsets by max, min or product.
//!
//! Invariant: NaN propagates; of equal numbers the last stays; products are taken in the order of the rows.

use super::gather_rows::combine_rows;
use super::offsets::Offsets;
use super::traced_offsets;
use super::traced_offsets::MoveRows;
use crate::array::observer;
use crate::dtype::Complex128;
use crate::kernels::number::ring::Ring;
use crate::kernels::view::{View, ViewMut, with_computing, with_float};

/// A scatter reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScatterReduction {
    /// The largest.
    Largest,
    /// The smallest.
    Smallest,
    /// The product.
    Product,
}

/// A number with an order; complex ones are ordered by the real part, then the imaginary one.
trait Ordered: Copy + Send + Sync {
    fn is_less(self, other: Self) -> bool;
    fn is_nan_value(self) -> bool;
}

macro_rules! ordered {
    ($($t:ty)*) => {$(
        impl Ordered for $t {
            #[inline(always)]
            fn is_less(self, other: $t) -> bool {
                self < other
            }
            #[allow(clippy::eq_op)]
            #[inline(always)]
            fn is_nan_value(self) -> bool {
                self != self
            }
        }
    )*};
}
ordered!(f64 f32 i64 u64);

impl Ordered for Complex128 {
    fn is_less(self, other: Complex128) -> bool {
        self.re < other.re || (self.re == other.re && self.im < other.im)
    }
    fn is_nan_value(self) -> bool {
        self.is_nan()
    }
}

/// `dst[offsets[i] + …] = fold(dst[offsets[i] + …], src[i, …])`, in the order of `i`, in place. For dtypes
/// that compute without conversion.
pub fn reduce_at(how: ScatterReduction, dst: ViewMut, offsets: &Offsets, src: View) {
    let body: MoveRows = match how {
        ScatterReduction::Largest => {
            |reads, dst, offsets| fold_extremes::<true>(dst, offsets, reads[0])
        }
        ScatterReduction::Smallest => {
            |reads, dst, offsets| fold_extremes::<false>(dst, offsets, reads[0])
        }
        ScatterReduction::Product => |reads, dst, offsets| fold_products(dst, offsets, reads[0]),
    };
    let _paused = observer::is_active()
        .then(|| traced_offsets::record_move("fold_at", &[src], &dst, offsets, body));
    body(&[src], dst, offsets);
}

fn check(dst: &ViewMut, offsets: &Offsets, src: &View) {
    assert!(src.dims[0] == offsets.len() && src.dims[1..] == *dst.dims, "fold_at: dims");
    assert!(src.dtype == dst.dtype, "fold_at: {} into {}", src.dtype, dst.dtype);
}

fn fold_extremes<const LARGEST: bool>(dst: ViewMut, offsets: &Offsets, src: View) {
    check(&dst, offsets, &src);
    with_computing!(dst.dtype, T => combine_rows::<T>(dst, offsets, src, |old, new| {
        let worse = if LARGEST { Ordered::is_less(new, old) } else { Ordered::is_less(old, new) };
        if worse || Ordered::is_nan_value(old) { old } else { new }
    }));
}

fn fold_products(dst: ViewMut, offsets: &Offsets, src: View) {
    check(&dst, offsets, &src);
    with_computing!(dst.dtype, T => combine_rows::<T>(dst, offsets, src, T::times));
}

/// For each row of floats, the product of the other rows with the same offset, exact in the presence of
/// zeros; 1 if there are none. Rows and result are contiguous, and the offsets count elements of consecutive
/// rows.
pub fn products_of_others(rows: View, offsets: &Offsets, out: ViewMut) {
    let body: MoveRows = |reads, out, offsets| products_of_other_rows(reads[0], offsets, &out);
    let _paused = observer::is_active()
        .then(|| traced_offsets::record_move("others_at", &[rows], &out, offsets, body));
    products_of_other_rows(rows, offsets, &out);
}

fn products_of_other_rows(rows: View, offsets: &Offsets, out: &ViewMut) {
    assert!(
        rows.is_contiguous() && out.is_contiguous() && rows.dims == out.dims,
        "others_at: dims"
    );
    if offsets.is_empty() || rows.numel() == 0 {
        return;
    }
    with_float!([rows, out], T => other_products::<T>(1.0, rows, offsets, out));
}

fn other_products<T: Ring>(one: T, rows: View, offsets: &Offsets, out: &ViewMut) {
    let row = rows.numel() / offsets.len();
    let length = offsets.iter().max().unwrap_or(0) as usize + row;
    // SAFETY: the views hold the elements of all rows.
    let (rows, out) = unsafe {
        let n = offsets.len() * row;
        (
            std::slice::from_raw_parts(rows.at::<T>(0), n),
            std::slice::from_raw_parts_mut(out.at::<T>(0), n),
        )
    };
    let mut products = vec![one; length];
    out.fill(one);
    let mut pass = |products: &mut Vec<T>, i: usize| {
        let start = offsets.list[i] as usize;
        let running = &mut products[start..start + row];
        let part = i * row..(i + 1) * row;
        for ((running, out), &x) in running.iter_mut().zip(&mut out[part.clone()]).zip(&rows[part])
        {
            *out = out.times(*running);
            *running = running.times(x);
        }
    };
    (0..offsets.len()).for_each(|i| pass(&mut products, i));
    products.fill(one);
    (0..offsets.len()).rev().for_each(|i| pass(&mut products, i));
}
