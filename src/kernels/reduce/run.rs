//! The entrance of the reductions: which fold, which axes, which loop.
//!
//! Owns: `Reduction` and the sorting of axes into kept and reduced ones. Never touches elements.
//! Invariant: the plan depends on dims, strides and dtype only, never on the number of threads.

use smallvec::SmallVec;

use super::super::cast::cast;
use super::super::launch::{Work, launch};
use super::super::view::{Axes, View, ViewMut, with_float};
use super::fold::{Fold, LEAF, run};
use super::kinds::{All, Any, Max, Min, Prod, Sum, SumSquares};
use super::{inner, outer};
use crate::dtype::{DType, Truth, no_loop};

/// What to reduce with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduction {
    /// Pairwise sum; integers and booleans in int64.
    Sum,
    /// Pairwise sum of squares; floats only.
    SumSquares,
    /// Product; integers and booleans in int64.
    Prod,
    /// Largest element; NaN if there is one.
    Max,
    /// Smallest element; NaN if there is one.
    Min,
    /// Whether any element is not zero.
    Any,
    /// Whether every element is not zero.
    All,
    /// The number of elements that are not zero.
    Count,
}

impl Reduction {
    /// The dtype of the result.
    pub const fn out_dtype(self, input: DType) -> DType {
        match self {
            Reduction::Sum | Reduction::Prod => input.accumulates(),
            Reduction::SumSquares => input,
            Reduction::Count => DType::I64,
            Reduction::Max | Reduction::Min => input,
            Reduction::Any | Reduction::All => DType::Bool,
        }
    }

    /// Whether a reduction of no elements has a value.
    pub const fn has_identity(self) -> bool {
        !matches!(self, Reduction::Max | Reduction::Min)
    }
}

/// The axes of a reduction, collapsed.
pub(super) struct Plan {
    /// Strides of the output and of the input.
    pub(super) kept: Axes<2>,
    /// Strides of the input.
    pub(super) reduced: Axes<1>,
}

/// Reduces `input` over `axes` (valid, each once) into `out`, whose dims are the input's without those axes, or with 1
/// in their place, and whose dtype is `op.out_dtype` of the input's.
///
/// The caller has refused max and min of no elements.
pub fn reduce(op: Reduction, input: View, axes: &[usize], out: ViewMut) {
    launch!(
        "reduce", [input] => [out] as Work::Reduce(op, axes.into());
        reduce_elements(op, input, axes, out)
    );
}

fn reduce_elements(op: Reduction, input: View, axes: &[usize], out: ViewMut) {
    let dtype = input.dtype;
    assert!(out.dtype == op.out_dtype(dtype), "reduce: {op:?} of {dtype} into {}", out.dtype);
    if dtype.is_float() {
        return with_float!([input], T => match op {
            Reduction::Sum => go::<Sum<T>>(input, axes, out),
            Reduction::SumSquares => go::<SumSquares<T>>(input, axes, out),
            Reduction::Prod => go::<Prod<T>>(input, axes, out),
            Reduction::Max => go::<Max<T>>(input, axes, out),
            Reduction::Min => go::<Min<T>>(input, axes, out),
            Reduction::Any => go::<Any<T>>(input, axes, out),
            Reduction::All => go::<All<T>>(input, axes, out),
            Reduction::Count => converted(op, DType::Bool, input, axes, out),
        });
    }
    match (op, dtype) {
        (Reduction::Sum, DType::I64) => go::<Sum<i64>>(input, axes, out),
        (Reduction::Prod, DType::I64) => go::<Prod<i64>>(input, axes, out),
        (Reduction::Max, DType::I64) => go::<Max<i64>>(input, axes, out),
        (Reduction::Min, DType::I64) => go::<Min<i64>>(input, axes, out),
        (Reduction::Sum | Reduction::Count, DType::Bool) => go::<Sum<Truth>>(input, axes, out),
        (Reduction::Max | Reduction::Any, DType::Bool) => go::<Any<u8>>(input, axes, out),
        (Reduction::Min | Reduction::All, DType::Bool) => go::<All<u8>>(input, axes, out),
        (Reduction::SumSquares, other) => no_loop("floats", other),
        (Reduction::Any | Reduction::All | Reduction::Count, _) => {
            converted(op, DType::Bool, input, axes, out)
        }
        _ => converted(op, DType::I64, input, axes, out),
    }
}

/// Reduces a copy of the elements in another dtype: rare combinations share the loops of common ones.
fn converted(op: Reduction, to: DType, input: View, axes: &[usize], out: ViewMut) {
    with_copy(to, input, |copied| {
        let dtype = op.out_dtype(to);
        if dtype == out.dtype {
            return reduce_elements(op, copied, axes, out);
        }
        let mut wide = vec![0u64; out.numel()];
        let strides = c_strides(out.dims);
        let ptr = wide.as_mut_ptr().cast();
        // SAFETY: eight bytes for every element, which nobody else sees.
        let mut result = unsafe { ViewMut::from_raw(dtype, ptr, out.dims, &strides) };
        reduce_elements(op, copied, axes, result.reborrow());
        cast(result.as_view(), out);
    });
}

/// Lends a contiguous copy of the elements in another dtype.
pub(super) fn with_copy(to: DType, input: View, body: impl FnOnce(View)) {
    let mut copy = vec![0u64; input.numel()];
    let strides = c_strides(input.dims);
    let ptr = copy.as_mut_ptr().cast();
    // SAFETY: the copy has eight bytes for every element, and nobody else sees it.
    let mut target = unsafe { ViewMut::from_raw(to, ptr, input.dims, &strides) };
    cast(input, target.reborrow());
    body(target.as_view());
}

/// The strides of C order.
fn c_strides(dims: &[usize]) -> SmallVec<[isize; 6]> {
    let mut strides: SmallVec<[isize; 6]> = dims.iter().map(|_| 1).collect();
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis].max(1) as isize;
    }
    strides
}

fn go<F: Fold>(input: View, axes: &[usize], out: ViewMut) {
    // The most frequent case, small enough to feel the planning below.
    let n = input.numel();
    if axes.len() == input.dims.len() && (1..=LEAF).contains(&n) && input.is_contiguous() {
        // SAFETY: the view holds `n` elements, and `out` one.
        return unsafe { *out.at::<F::Acc>(0) = run::<F>(input.at(0), n) };
    }
    let (kept, reduced) = sorted(&input, axes, &out);
    if kept.dims.contains(&0) {
        return;
    }
    if reduced.dims.contains(&0) {
        return fill_empty::<F>(out);
    }
    let plan = Plan { kept: by_input(kept), reduced: reduced.collapse(true) };
    let finest = |strides: &mut dyn Iterator<Item = isize>| {
        strides.map(isize::unsigned_abs).min().unwrap_or(usize::MAX)
    };
    let kept_step = finest(&mut plan.kept.strides.iter().map(|s| s[1]));
    let reduced_step = finest(&mut plan.reduced.strides.iter().map(|s| s[0]));
    // A kept axis of stride 0 repeats its input: folding along it gains nothing.
    if plan.kept.dims.is_empty() || reduced_step <= kept_step || kept_step == 0 {
        inner::reduce::<F>(&plan, input, out);
    } else {
        outer::reduce::<F>(&plan, input, out);
    }
}

/// The kept axes (strides of the output and the input) and the reduced ones.
fn sorted(input: &View, axes: &[usize], out: &ViewMut) -> (Axes<2>, Axes<1>) {
    let keepdims = out.dims.len() == input.dims.len();
    let missing = if keepdims { 0 } else { axes.len() };
    assert_eq!(out.dims.len() + missing, input.dims.len(), "reduce: the axes of the output");
    let (mut kept, mut reduced) = (Axes::none(), Axes::none());
    for (axis, (&dim, &stride)) in input.dims.iter().zip(input.strides).enumerate() {
        if axes.contains(&axis) {
            reduced.push(dim, [stride]);
        } else {
            let at = if keepdims { axis } else { kept.dims.len() };
            assert_eq!(out.dims[at], dim, "reduce: the dims of the output");
            kept.push(dim, [out.strides[at], stride]);
        }
    }
    (kept, reduced)
}

/// Collapses kept axes in the order of the input's strides.
fn by_input(axes: Axes<2>) -> Axes<2> {
    let swap = |axes: Axes<2>| Axes {
        dims: axes.dims,
        strides: axes.strides.into_iter().map(|[a, b]| [b, a]).collect(),
    };
    swap(swap(axes).collapse(true))
}

fn fill_empty<F: Fold>(out: ViewMut) {
    let axes = Axes::new(out.dims, [out.strides]);
    // SAFETY: the view is valid for every position of its axes, with elements of `F::Acc`.
    axes.for_each(|[at]| unsafe { *out.at::<F::Acc>(at) = F::EMPTY });
}
