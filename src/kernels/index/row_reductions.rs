//! Rows folded into the places of their offsets: extremes and products.
//!
//! Owns: one pass over the rows in their order, and the product of all rows but one. Never sorts.
//! Invariant: NaN stays; of equal numbers the last stays; products are taken in the order of the rows.

use super::offsets::Offsets;
use super::rows::combined;
use super::traced_offsets;
use super::traced_offsets::Move;
use crate::array::capture;
use crate::dtype::Complex128;
use crate::kernels::number::ring::Ring;
use crate::kernels::view::{View, ViewMut, with_computing, with_float};

/// How rows are folded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Folding {
    /// The largest.
    Largest,
    /// The smallest.
    Smallest,
    /// The product.
    Product,
}

/// A number with an order; complex ones go by the real part, then by the imaginary one.
trait Ordered: Copy + Send + Sync {
    fn below(self, other: Self) -> bool;
    fn nan(self) -> bool;
}

macro_rules! ordered {
    ($($t:ty)*) => {$(
        impl Ordered for $t {
            #[inline(always)]
            fn below(self, other: $t) -> bool {
                self < other
            }
            #[allow(clippy::eq_op)]
            #[inline(always)]
            fn nan(self) -> bool {
                self != self
            }
        }
    )*};
}
ordered!(f64 f32 i64 u64);

impl Ordered for Complex128 {
    fn below(self, other: Complex128) -> bool {
        self.re < other.re || (self.re == other.re && self.im < other.im)
    }
    fn nan(self) -> bool {
        self.is_nan()
    }
}

/// `dst[offsets[i] + …] = fold(dst[offsets[i] + …], src[i, …])`, in the order of `i`, in place. For dtypes that compute
/// themselves.
pub fn fold_at(how: Folding, dst: ViewMut, offsets: &Offsets, src: View) {
    let body: Move = match how {
        Folding::Largest => |reads, dst, offsets| extremes::<true>(dst, offsets, reads[0]),
        Folding::Smallest => |reads, dst, offsets| extremes::<false>(dst, offsets, reads[0]),
        Folding::Product => |reads, dst, offsets| products(dst, offsets, reads[0]),
    };
    let _paused =
        capture::active().then(|| traced_offsets::moved("fold_at", &[src], &dst, offsets, body));
    body(&[src], dst, offsets);
}

fn check(dst: &ViewMut, offsets: &Offsets, src: &View) {
    assert!(src.dims[0] == offsets.len() && src.dims[1..] == *dst.dims, "fold_at: dims");
    assert!(src.dtype == dst.dtype, "fold_at: {} into {}", src.dtype, dst.dtype);
}

fn extremes<const LARGEST: bool>(dst: ViewMut, offsets: &Offsets, src: View) {
    check(&dst, offsets, &src);
    with_computing!(dst.dtype, T => combined::<T>(dst, offsets, src, |old, new| {
        let beyond = if LARGEST { Ordered::below(new, old) } else { Ordered::below(old, new) };
        if beyond || Ordered::nan(old) { old } else { new }
    }));
}

fn products(dst: ViewMut, offsets: &Offsets, src: View) {
    check(&dst, offsets, &src);
    with_computing!(dst.dtype, T => combined::<T>(dst, offsets, src, T::times));
}

/// For each row of floats, the product of the others that have its offset, exact whatever is zero; 1 where there are none. Rows
/// and result are in C order, and the offsets count elements of rows that lie one after the other.
pub fn others_at(rows: View, offsets: &Offsets, out: ViewMut) {
    let body: Move = |reads, out, offsets| others(reads[0], offsets, &out);
    let _paused =
        capture::active().then(|| traced_offsets::moved("others_at", &[rows], &out, offsets, body));
    others(rows, offsets, &out);
}

fn others(rows: View, offsets: &Offsets, out: &ViewMut) {
    assert!(
        rows.is_contiguous() && out.is_contiguous() && rows.dims == out.dims,
        "others_at: dims"
    );
    if offsets.is_empty() || rows.numel() == 0 {
        return;
    }
    with_float!([rows, out], T => others_of::<T>(1.0, rows, offsets, out));
}

fn others_of<T: Ring>(one: T, rows: View, offsets: &Offsets, out: &ViewMut) {
    let row = rows.numel() / offsets.len();
    let reach = offsets.iter().max().unwrap_or(0) as usize + row;
    // SAFETY: the views hold the elements of all rows.
    let (rows, out) = unsafe {
        let n = offsets.len() * row;
        (
            std::slice::from_raw_parts(rows.at::<T>(0), n),
            std::slice::from_raw_parts_mut(out.at::<T>(0), n),
        )
    };
    let mut before = vec![one; reach];
    out.fill(one);
    let mut pass = |before: &mut Vec<T>, i: usize| {
        let start = offsets.list[i] as usize;
        let met = &mut before[start..start + row];
        let part = i * row..(i + 1) * row;
        for ((met, out), &x) in met.iter_mut().zip(&mut out[part.clone()]).zip(&rows[part]) {
            *out = out.times(*met);
            *met = met.times(x);
        }
    };
    (0..offsets.len()).for_each(|i| pass(&mut before, i));
    before.fill(one);
    (0..offsets.len()).rev().for_each(|i| pass(&mut before, i));
}
