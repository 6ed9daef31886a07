//! The entry of reductions: chooses the fold, splits the axes into kept and reduced ones, and chooses the
//! loop.
//!
//! Invariant: the plan depends on dims, strides and dtype only, never on the number of threads.

use super::fold::LEAF_ELEMENTS;
use super::loop_table::{ReduceLoops, copy_strided, loops};
use super::{inner, outer};
use crate::dtype::{DType, no_loop};
use crate::error::Result;
use crate::kernels::cast::{convert_through, with_rounded_output};
use crate::kernels::launch::{LaunchKind, launch};
use crate::kernels::view::{Axes, View, ViewMut};

/// A reduction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduction {
    /// Pairwise sum; integers and booleans accumulate in 64 bits.
    Sum,
    /// Pairwise sum of squares; floats only.
    SumSquares,
    /// Product; integers and booleans accumulate in 64 bits.
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
pub(super) struct ReducePlan {
    /// Kept axes: strides of the output and of the input.
    pub(super) kept: Axes<2>,
    /// Reduced axes: strides of the input.
    pub(super) reduced: Axes<1>,
}

/// Reduces `input` over `axes` (valid, each once) into `out`, whose dims are the input's without those axes,
/// or with 1 in their place, and whose dtype is `op.out_dtype` of the input's.
///
/// The caller has refused max and min of no elements.
///
/// # Errors
/// `Memory` if there is none for a copy in a dtype that has loops, or for partial results.
pub fn reduce(op: Reduction, input: View, axes: &[usize], out: ViewMut) -> Result<()> {
    launch!(
        "reduce", [input] => [out] as LaunchKind::Reduce(op, axes.into());
        reduce_elements(op, input, axes, out)
    )
}

fn reduce_elements(op: Reduction, input: View, axes: &[usize], out: ViewMut) -> Result<()> {
    let dtype = input.dtype;
    assert!(out.dtype == op.out_dtype(dtype), "reduce: {op:?} of {dtype} into {}", out.dtype);
    match (loops(op, dtype), op) {
        (Some(loops), _) if dtype == DType::C64 => {
            with_rounded_output(dtype.computes(), out, |out| run_planned(loops, input, axes, out))
        }
        (Some(loops), _) => run_planned(loops, input, axes, out),
        (None, Reduction::Any | Reduction::All | Reduction::Count) => {
            reduce_converted(op, DType::Bool, input, axes, out)
        }
        (None, Reduction::SumSquares) if !dtype.is_inexact() => no_loop("floats", dtype),
        (None, _) if dtype.computes() == dtype => no_loop("other elements", dtype),
        (None, _) => reduce_converted(op, dtype.computes(), input, axes, out),
    }
}

/// Reduces a copy of the elements in another dtype.
fn reduce_converted(
    op: Reduction,
    to: DType,
    input: View,
    axes: &[usize],
    out: ViewMut,
) -> Result<()> {
    convert_through(to, input, op.out_dtype(to), out, |input, out| {
        reduce_elements(op, input, axes, out)
    })
}

fn run_planned(loops: &ReduceLoops, input: View, axes: &[usize], out: ViewMut) -> Result<()> {
    // Fast path: the most frequent case, small enough to notice the planning below.
    let n = input.numel();
    if axes.len() == input.dims.len() && (1..=LEAF_ELEMENTS).contains(&n) && input.is_contiguous() {
        // SAFETY: the view holds `n` elements, and `out` one.
        unsafe { (loops.run)(input.ptr, n, out.ptr) };
        return Ok(());
    }
    let mut plan = ReducePlan { kept: Axes::none(), reduced: Axes::none() };
    plan.split_axes(&input, axes, &out);
    if plan.kept.dims.contains(&0) {
        return Ok(());
    }
    if plan.reduced.dims.contains(&0) {
        let axes = Axes::new(out.dims, [out.strides]);
        // SAFETY: the view is valid for every position of its axes, with results of the fold.
        axes.for_each(|[at]| unsafe { (loops.empty)(out.byte_at(at)) });
        return Ok(());
    }
    let repeated = plan.take_repeated();
    if repeated.dims.is_empty() {
        return run_folds(loops, plan, input, out);
    }
    let (first_positions, first, size) = (plan.kept.clone(), out.ptr, out.dtype.size());
    run_folds(loops, plan, input, out)?;
    copy_repeated(&first_positions, repeated, first, size);
    Ok(())
}

/// Copies the result at the first position along axes with stride-0 input, where all results are equal.
fn copy_repeated(first_positions: &Axes<2>, mut repeated: Axes<1>, first: *mut u8, size: usize) {
    repeated.merge(true, |strides| strides);
    let (n, [step]) = repeated.pop();
    first_positions.for_each(|[to, _]| {
        repeated.for_each(|[at]| {
            let place = |at: isize| first.wrapping_offset(at * size as isize);
            // SAFETY: the view is valid for every position of its axes, and the first result was written;
            // copying it onto itself changes nothing.
            unsafe { copy_strided(size, (place(to), 0), (place(to + at), step), n) };
        });
    });
}

fn run_folds(loops: &ReduceLoops, mut plan: ReducePlan, input: View, out: ViewMut) -> Result<()> {
    // Kept axes in the order of the input's strides.
    plan.kept.merge(true, |[to, from]| [from, to]);
    plan.reduced.merge(true, |strides| strides);
    let finest = |strides: &mut dyn Iterator<Item = isize>| {
        strides.map(isize::unsigned_abs).min().unwrap_or(usize::MAX)
    };
    let kept_step = finest(&mut plan.kept.strides.iter().map(|s| s[1]));
    let reduced_step = finest(&mut plan.reduced.strides.iter().map(|s| s[0]));
    // A kept axis of stride 0 repeats its input: folding along it gains nothing.
    if plan.kept.dims.is_empty() || reduced_step <= kept_step || kept_step == 0 {
        inner::reduce(loops, &mut plan, input, out)
    } else {
        outer::reduce(loops, &plan, input, out)
    }
}

impl ReducePlan {
    /// Removes the kept axes with stride-0 input, as in the gradient of a sum; returns their strides in the
    /// output.
    fn take_repeated(&mut self) -> Axes<1> {
        let mut repeated = Axes::none();
        let repeats = |(&dim, strides): (&usize, &[isize; 2])| dim > 1 && strides[1] == 0;
        if !self.kept.dims.iter().zip(&self.kept.strides).any(repeats) {
            return repeated;
        }
        let kept = std::mem::replace(&mut self.kept, Axes::none());
        for (dim, strides) in kept.dims.iter().zip(&kept.strides) {
            match repeats((dim, strides)) {
                true => repeated.push(*dim, [strides[0]]),
                false => self.kept.push(*dim, *strides),
            }
        }
        repeated
    }

    /// Splits the axes into kept and reduced ones.
    #[inline(always)]
    fn split_axes(&mut self, input: &View, axes: &[usize], out: &ViewMut) {
        let keepdims = out.dims.len() == input.dims.len();
        let missing = if keepdims { 0 } else { axes.len() };
        assert_eq!(out.dims.len() + missing, input.dims.len(), "reduce: the axes of the output");
        for (axis, (&dim, &stride)) in input.dims.iter().zip(input.strides).enumerate() {
            if axes.contains(&axis) {
                self.reduced.push(dim, [stride]);
            } else {
                let at = if keepdims { axis } else { self.kept.dims.len() };
                assert_eq!(out.dims[at], dim, "reduce: the dims of the output");
                self.kept.push(dim, [out.strides[at], stride]);
            }
        }
    }
}
