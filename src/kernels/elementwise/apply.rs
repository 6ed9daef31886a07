//! The safe entrance to the driver: views and numbers in, a loop applied.
//!
//! Owns: the check that views agree with each other, and numbers as one-element operands.
//! Never casts: every view holds the dtype that is named.
//! Invariant: what reaches `run` has the output's dims, operand by operand.

use smallvec::SmallVec;

use super::{LoopTable, Operand, OutOperand, run, where_loop};
use crate::dtype::DType;
use crate::kernels::{View, ViewMut};

/// An operand: elements of the named dtype, or one number for all of them.
#[derive(Clone, Copy, Debug)]
pub enum In<'a> {
    /// Elements; the dims are the output's.
    View(View<'a>),
    /// A float, converted to the dtype.
    Float(f64),
    /// An integer, converted to the dtype.
    Int(i64),
}

/// The bytes of a number in a dtype, as a word, so that they are aligned for every dtype.
#[inline]
pub(super) fn word(input: In<'_>, dtype: DType) -> u64 {
    let (float, int) = match input {
        In::Int(i) => (i as f64, i),
        In::Float(f) => (f, f as i64),
        In::View(_) => (0.0, 0),
    };
    let mut out = [0u8; 8];
    match dtype {
        DType::F64 => out = float.to_ne_bytes(),
        DType::F32 => out[..4].copy_from_slice(&(float as f32).to_ne_bytes()),
        DType::I64 => out = int.to_ne_bytes(),
        DType::I32 => out[..4].copy_from_slice(&(int as i32).to_ne_bytes()),
        DType::U8 => out[0] = int as u8,
        DType::Bool => out[0] = (float != 0.0) as u8,
    }
    u64::from_ne_bytes(out)
}

const ZERO_STRIDES: [isize; 64] = [0; 64];

/// Applies the loop for `dtype` to the inputs; `out_dtype` is the table's result type for it.
///
/// # Panics
/// When the table has no loop for `dtype`, or a view has other dims than the output: bugs of the caller.
#[inline]
pub fn apply(
    table: &LoopTable,
    dtype: DType,
    ins: &[In<'_>],
    out: ViewMut<'_>,
    out_dtype: DType,
    params: &[f64],
) {
    let constants: SmallVec<[u64; 4]> = ins.iter().map(|&i| word(i, dtype)).collect();
    let operands: SmallVec<[Operand<'_>; 4]> = ins
        .iter()
        .zip(&constants)
        .map(|(input, constant)| match input {
            In::View(view) => {
                assert!(view.dims == out.dims, "operands of one shape");
                Operand { ptr: view.ptr, strides: view.strides, itemsize: dtype.size() }
            }
            _ => Operand {
                ptr: std::ptr::from_ref(constant).cast(),
                strides: &ZERO_STRIDES[..out.dims.len()],
                itemsize: dtype.size(),
            },
        })
        .collect();
    let f = table.get(dtype).expect("a loop for this dtype");
    let target = OutOperand { ptr: out.ptr, strides: out.strides, itemsize: out_dtype.size() };
    // SAFETY: views lie in live storage and have the output's dims; constants outlive the call.
    unsafe { run(f, &operands, target, out.dims, params, table.cost(dtype)) }
}

/// `a` where the mask (bool) holds, else `b`, both of `dtype`; all dims agree.
pub fn select(dtype: DType, mask: View<'_>, a: View<'_>, b: View<'_>, out: ViewMut<'_>) {
    assert!(
        mask.dims == out.dims && a.dims == out.dims && b.dims == out.dims,
        "operands of one shape"
    );
    let size = dtype.size();
    let operands = [
        Operand { ptr: mask.ptr, strides: mask.strides, itemsize: 1 },
        Operand { ptr: a.ptr, strides: a.strides, itemsize: size },
        Operand { ptr: b.ptr, strides: b.strides, itemsize: size },
    ];
    let target = OutOperand { ptr: out.ptr, strides: out.strides, itemsize: size };
    // SAFETY: views lie in live storage and have the output's dims.
    unsafe { run(where_loop(size), &operands, target, out.dims, &[], 0.3) }
}
