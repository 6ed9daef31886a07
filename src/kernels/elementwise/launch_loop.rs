//! The safe entry to element-wise loops: checks views and scalars, then runs a loop of the table.
//!
//! Invariant: the operands that reach `run` have the output's dims.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::casting::apply_converted;
use super::dispatch::{LoopWork, StridedCall};
use super::scalar_operand::word;
use super::{Loop, LoopTable, Operand, OutOperand, where_loop};
use crate::array::observer;
use crate::dtype::{DType, no_loop};
use crate::kernels::launch::{self, Launch, LaunchKind, known_to_programs, launch};
use crate::kernels::view::{View, ViewMut, one_dtype};

/// An operand of an element-wise loop: elements, or one scalar for all of them.
#[derive(Clone, Copy, Debug)]
pub enum LoopOperand<'a> {
    /// Elements; the dims are the output's.
    View(View<'a>),
    /// A float, converted to the dtype of the other operands.
    Float(f64),
    /// An integer, converted likewise.
    Int(i64),
}

/// Nanoseconds of `where` per element.
const WHERE_COST: f32 = 0.3;
const ZERO_STRIDES: [isize; 64] = [0; 64];

/// An operand of `run_loop`; a scalar has the dtype of the loop.
pub(crate) enum ResolvedOperand<'a> {
    /// Elements.
    View(View<'a>),
    /// The bytes of a scalar in the dtype of the loop, and the size of that dtype.
    Number(&'a u64, usize),
}

/// Runs a loop. An in-place loop (`in_place`) reads its first operand from the output; `ins` then omits it.
///
/// # Safety
/// Operands and output have the loop's dtypes, and the output overlaps no operand, or is one exactly;
/// `params` holds the loop's parameters.
///
/// # Panics
/// When an operand has other dims than the output: a bug of the caller.
#[inline]
pub(crate) unsafe fn run_loop<'a>(
    work: LoopWork<'_>,
    ins: impl Iterator<Item = ResolvedOperand<'a>>,
    (out, in_place): (ViewMut<'_>, bool),
) {
    let operand = |input| match input {
        ResolvedOperand::View(view) => {
            assert!(view.dims == out.dims, "operands of one shape");
            Operand { ptr: view.ptr, strides: view.strides, itemsize: view.dtype.size() }
        }
        ResolvedOperand::Number(word, itemsize) => {
            let ptr = std::ptr::from_ref(word).cast();
            Operand { ptr, strides: &ZERO_STRIDES[..out.dims.len()], itemsize }
        }
    };
    let operands: SmallVec<[Operand<'_>; 4]> = ins.map(operand).collect();
    let (ptr, itemsize) = (out.ptr, out.dtype.size());
    let target = OutOperand { ptr, strides: out.strides, itemsize, read: in_place };
    let call = StridedCall { work, ins: &operands, out: target, dims: out.dims };
    // SAFETY: the caller's contract; views are in live memory and have the output's dims.
    unsafe { call.run() }
}

/// The operands that are views.
pub(super) fn views_of<'a>(ins: &[LoopOperand<'a>]) -> impl Iterator<Item = View<'a>> {
    ins.iter().filter_map(|input| match *input {
        LoopOperand::View(view) => Some(view),
        _ => None,
    })
}

/// The dtype that the operands share: that of the views, else the output's.
///
/// # Panics
/// When they differ: a bug of the caller.
#[inline]
fn shared_dtype(ins: &[LoopOperand<'_>], out: DType) -> DType {
    let mut views = views_of(ins).map(|view| view.dtype);
    let Some(first) = views.next() else {
        return out;
    };
    views.fold(first, |dtype, next| one_dtype([dtype, next]))
}

/// Applies the loop for the dtype that the inputs share.
///
/// # Panics
/// When the table has no loop for it, `out` is not of the dtype of the table's result, or a view has other dims than
/// the output: bugs of the caller.
#[inline]
pub fn apply(table: &LoopTable, ins: &[LoopOperand<'_>], out: ViewMut<'_>, params: &[f64]) {
    let dtype = shared_dtype(ins, out.dtype);
    assert!(out.dtype == table.result(dtype), "an output of the loop's dtype");
    if !known_to_programs(dtype) || table.get(dtype).is_none() {
        return apply_opaque(table, dtype, ins, out, params);
    }
    let constants: SmallVec<[u64; 4]> = ins.iter().map(|&i| word(i, dtype)).collect();
    let f = table.get(dtype).unwrap_or_else(|| no_loop("other elements", dtype));
    let _paused = observer::is_active().then(|| {
        let numbers = ins.iter().zip(&constants).map(|(input, &word)| match input {
            LoopOperand::View(_) => None,
            _ => Some(word),
        });
        let views = views_of(ins).map(|view| launch::Operand::from(&view));
        let work = LaunchKind::Map {
            table: f,
            text: table.text,
            numbers: numbers.collect(),
            params: params.into(),
            cost: table.cost(dtype),
        };
        let writes = smallvec![(&out).into()];
        launch::trace_launch(Launch { name: "map", reads: views.collect(), writes, work })
    });
    let inputs = ins.iter().zip(&constants).map(|(input, constant)| match *input {
        LoopOperand::View(view) => ResolvedOperand::View(view),
        _ => ResolvedOperand::Number(constant, dtype.size()),
    });
    let in_place = in_place_loop(table, dtype, ins, &out);
    let inputs = inputs.skip(usize::from(in_place.is_some()));
    let (row_loop, cost) = (table.row_loop(dtype), table.cost(dtype));
    let work = LoopWork { f: in_place.unwrap_or(f), row_loop, params, cost };
    // SAFETY: operands and output have the loop's dtypes, as asserted and chosen above.
    unsafe { run_loop(work, inputs, (out, in_place.is_some())) }
}

/// The in-place loop of the table, if only the first operand is the output.
#[inline]
fn in_place_loop(
    table: &LoopTable,
    dtype: DType,
    ins: &[LoopOperand<'_>],
    out: &ViewMut<'_>,
) -> Option<Loop> {
    let is_out = |input: &LoopOperand<'_>| matches!(input, LoopOperand::View(view) if view.ptr == out.ptr.cast_const());
    let [first @ LoopOperand::View(view), second] = ins else {
        return None;
    };
    let apart = is_out(first) && view.strides == out.strides && !is_out(second);
    if apart && out.is_contiguous() { table.in_place_loop(dtype) } else { None }
}

/// As `apply`, for converted dtypes and complex numbers: programs of compiled functions replay their loops as
/// opaque kernels.
#[cold]
#[inline(never)]
fn apply_opaque(
    table: &LoopTable,
    dtype: DType,
    ins: &[LoopOperand<'_>],
    out: ViewMut<'_>,
    params: &[f64],
) {
    let views: SmallVec<[View<'_>; 4]> = views_of(ins).collect();
    let (Some(f), true) = (table.get(dtype), views.len() == ins.len()) else {
        return apply_converted(table, dtype, ins, out, params);
    };
    let (params, cost) = (SmallVec::<[f64; 4]>::from_slice(params), table.cost(dtype));
    run_opaque(&views, out, move |reads, out| {
        let inputs = reads.iter().copied().map(ResolvedOperand::View);
        let work = LoopWork { f, row_loop: None, params: &params, cost };
        // SAFETY: operands and output have the loop's dtypes, as asserted by `apply`.
        unsafe { run_loop(work, inputs, (out, false)) };
    });
}

/// Runs a loop as an opaque kernel, which programs of compiled functions repeat without inspecting.
pub(super) fn run_opaque(
    reads: &[View<'_>],
    out: ViewMut<'_>,
    body: impl Fn(&[View<'_>], ViewMut<'_>) + Send + Sync + 'static,
) {
    let run: launch::KernelFn = Arc::new(move |reads, writes, _| {
        body(reads, writes[0].reborrow());
        Ok(())
    });
    let done = launch::run_kernel("map", reads, &mut [out], run, &mut Vec::new());
    debug_assert!(done.is_ok(), "a loop has no error");
}

/// `a` where the mask (bool) holds, else `b`, all of one dtype; all dims agree.
pub fn select(mask: View<'_>, a: View<'_>, b: View<'_>, out: ViewMut<'_>) {
    assert!(mask.dtype == DType::Bool, "a mask is boolean");
    let size = one_dtype([a.dtype, b.dtype, out.dtype]).size();
    if !known_to_programs(out.dtype) {
        return launch!("select", [mask, a, b] => [out];; run_select(mask, a, b, out));
    }
    let _paused = observer::is_active().then(|| {
        launch::trace_launch(Launch {
            name: "select",
            reads: [&mask, &a, &b].into_iter().map(Into::into).collect(),
            writes: smallvec![(&out).into()],
            work: LaunchKind::Map {
                table: where_loop(size),
                text: "where",
                numbers: smallvec![None; 3],
                params: SmallVec::new(),
                cost: WHERE_COST,
            },
        })
    });
    run_select(mask, a, b, out);
}

fn run_select(mask: View<'_>, a: View<'_>, b: View<'_>, out: ViewMut<'_>) {
    let size = out.dtype.size();
    let inputs = [mask, a, b].into_iter().map(ResolvedOperand::View);
    let work = LoopWork { f: where_loop(size), row_loop: None, params: &[], cost: WHERE_COST };
    // SAFETY: operands and output have the loop's dtypes, as asserted above.
    unsafe { run_loop(work, inputs, (out, false)) }
}
