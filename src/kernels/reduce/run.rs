//! The entrance of the reductions: which fold, which axes, which loop.
//!
//! Owns: `Reduction` and the sorting of axes into kept and reduced ones. Never touches elements.
//! Invariant: the plan depends on dims, strides and dtype only, never on the number of threads.

use super::super::cast::Truth;
use super::super::view::{Axes, View, ViewMut};
use super::fold::{All, Any, Count, Fold, LEAF, Max, Min, Prod, Sum, run};
use super::{inner, outer};
use crate::dtype::DType;

/// What to reduce with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduction {
    /// Pairwise sum; integers and booleans in int64.
    Sum,
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
            Reduction::Sum | Reduction::Prod if input.is_float() => input,
            Reduction::Sum | Reduction::Prod | Reduction::Count => DType::I64,
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

/// Reduces `input`, of dtype `dtype`, over `axes` (valid, each once) into `out`, whose dims are the
/// input's without those axes, or with 1 in their place. `out` has `op.out_dtype(dtype)`.
///
/// The caller has refused max and min of no elements.
pub fn reduce(op: Reduction, dtype: DType, input: View, axes: &[usize], out: ViewMut) {
    match (op, dtype) {
        (Reduction::Sum, DType::F64) => go::<Sum<f64>>(input, axes, out),
        (Reduction::Sum, DType::F32) => go::<Sum<f32>>(input, axes, out),
        (Reduction::Sum, DType::I64) => go::<Sum<i64>>(input, axes, out),
        (Reduction::Sum, DType::I32) => go::<Sum<i32>>(input, axes, out),
        (Reduction::Sum, DType::U8) => go::<Sum<u8>>(input, axes, out),
        (Reduction::Sum, DType::Bool) => go::<Sum<Truth>>(input, axes, out),
        (Reduction::Prod, DType::F64) => go::<Prod<f64>>(input, axes, out),
        (Reduction::Prod, DType::F32) => go::<Prod<f32>>(input, axes, out),
        (Reduction::Prod, DType::I64) => go::<Prod<i64>>(input, axes, out),
        (Reduction::Prod, DType::I32) => go::<Prod<i32>>(input, axes, out),
        (Reduction::Prod, DType::U8) => go::<Prod<u8>>(input, axes, out),
        (Reduction::Prod, DType::Bool) => go::<Prod<Truth>>(input, axes, out),
        (Reduction::Max, DType::F64) => go::<Max<f64>>(input, axes, out),
        (Reduction::Max, DType::F32) => go::<Max<f32>>(input, axes, out),
        (Reduction::Max, DType::I64) => go::<Max<i64>>(input, axes, out),
        (Reduction::Max, DType::I32) => go::<Max<i32>>(input, axes, out),
        (Reduction::Max, DType::U8) => go::<Max<u8>>(input, axes, out),
        (Reduction::Min, DType::F64) => go::<Min<f64>>(input, axes, out),
        (Reduction::Min, DType::F32) => go::<Min<f32>>(input, axes, out),
        (Reduction::Min, DType::I64) => go::<Min<i64>>(input, axes, out),
        (Reduction::Min, DType::I32) => go::<Min<i32>>(input, axes, out),
        (Reduction::Min, DType::U8) => go::<Min<u8>>(input, axes, out),
        (Reduction::Max, DType::Bool) => go::<Any<Truth>>(input, axes, out),
        (Reduction::Min, DType::Bool) => go::<All<Truth>>(input, axes, out),
        (Reduction::Any | Reduction::All | Reduction::Count, _) => {
            truth(op, dtype, input, axes, out)
        }
    }
}

fn truth(op: Reduction, dtype: DType, input: View, axes: &[usize], out: ViewMut) {
    macro_rules! by_number {
        ($fold:ident) => {
            match dtype {
                DType::F64 => go::<$fold<f64>>(input, axes, out),
                DType::F32 => go::<$fold<f32>>(input, axes, out),
                DType::I64 => go::<$fold<i64>>(input, axes, out),
                DType::I32 => go::<$fold<i32>>(input, axes, out),
                DType::U8 | DType::Bool => go::<$fold<u8>>(input, axes, out),
            }
        };
    }
    match op {
        Reduction::Any => by_number!(Any),
        Reduction::All => by_number!(All),
        _ if dtype == DType::Bool => go::<Sum<Truth>>(input, axes, out),
        _ => by_number!(Count),
    }
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
    let plan = Plan {
        kept: by_input(kept),
        reduced: reduced.collapse(true),
    };
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
    assert_eq!(
        out.dims.len() + missing,
        input.dims.len(),
        "reduce: the axes of the output"
    );
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
