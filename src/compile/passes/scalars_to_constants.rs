//! Replaces scalar operands of small loops by constant arrays, so that the loops can be lowered to direct calls.
//!
//! Invariant: every element of such a constant is the scalar.

use crate::array::Storage;
use crate::array::hash::FastMap;
use crate::compile::ir::lowered::{is_direct, may_be_rows};
use crate::compile::ir::{Argument, Buffer, Id, Slice, Source, Step};
use crate::error::Result;
use crate::kernels::launch::Strides;

/// The length of such a constant, which bounds the elements of a contiguous operand.
const FEW: usize = 256;

/// Replaces scalars of small loops by constant arrays, if the loop can be lowered then.
pub(in crate::compile) fn spread(steps: &mut [Step], buffers: &mut Vec<Buffer>) {
    let mut known: FastMap<(u64, usize), Id> = FastMap::default();
    for step in steps {
        let Some(map) = step.map() else { continue };
        let numbers = map.ins.iter().any(|argument| matches!(argument, Argument::Number(..)));
        if !numbers || !may_be_rows(&map.out) {
            continue;
        }
        let (mut map, dims) = (map.clone(), map.out.dims.clone());
        for argument in &mut map.ins {
            let Argument::Number(bits, dtype) = *argument else { continue };
            let buffer = match known.get(&(bits, dtype.size())) {
                Some(&buffer) => buffer,
                None => match constant(bits, dtype.size(), buffers) {
                    Ok(buffer) => buffer,
                    Err(_) => return,
                },
            };
            known.insert((bits, dtype.size()), buffer);
            let (dims, strides) = (dims.clone(), strides(&dims));
            *argument = Argument::Slice(Slice { buffer, dtype, offset: 0, dims, strides });
        }
        let spread = Step::of_map(step.name, map);
        if is_direct(&spread) {
            *step = spread;
        }
    }
}

/// Strides of C order as long as the constant has enough elements; stride 0 for the axes before.
fn strides(dims: &[usize]) -> Strides {
    let mut strides: Strides = dims.iter().map(|_| 0).collect();
    let mut below = 1;
    for (stride, &dim) in strides.iter_mut().zip(dims).rev() {
        if below * dim > FEW {
            break;
        }
        *stride = below as isize;
        below *= dim;
    }
    strides
}

/// A buffer filled with a scalar.
fn constant(bits: u64, size: usize, buffers: &mut Vec<Buffer>) -> Result<Id> {
    let storage = Storage::alloc(FEW * size)?;
    let bytes = bits.to_ne_bytes();
    for i in 0..FEW {
        // SAFETY: the storage was allocated with this many elements, and no other reference to it exists.
        unsafe { storage.ptr().add(i * size).copy_from_nonoverlapping(bytes.as_ptr(), size) };
    }
    buffers.push(Buffer { source: Source::Constant(storage), nbytes: FEW * size });
    Ok((buffers.len() - 1) as Id)
}
