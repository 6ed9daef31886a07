//! Replaces scalar operands of small loops by constant arrays, so that the loops can be lowered to direct calls.
//!
//! Invariant: every element of such a constant is the scalar.

use crate::array::Storage;
use crate::array::hash::FastMap;
use crate::compile::ir::lowered::{can_lower, may_lower};
use crate::compile::ir::{Buffer, BufferId, BufferView, MapOperand, Source, Step};
use crate::error::Result;
use crate::kernels::elementwise::{SMALL_CALL_ELEMENTS, repeat_element};
use crate::kernels::launch::Strides;

/// Replaces scalars of small loops by constant arrays, if the loop can be lowered then.
pub(in crate::compile) fn splat(steps: &mut [Step], buffers: &mut Vec<Buffer>) {
    let mut constants: FastMap<(u64, usize), BufferId> = FastMap::default();
    for step in steps {
        let Some(map) = step.map() else { continue };
        let numbers = map.ins.iter().any(|argument| matches!(argument, MapOperand::Number(..)));
        if !numbers || !may_lower(&map.out) {
            continue;
        }
        let (mut map, dims) = (map.clone(), map.out.dims.clone());
        for argument in &mut map.ins {
            let MapOperand::Number(bits, dtype) = *argument else { continue };
            let buffer = match constants.get(&(bits, dtype.size())) {
                Some(&buffer) => buffer,
                None => match constant_buffer(bits, dtype.size(), buffers) {
                    Ok(buffer) => buffer,
                    Err(_) => return,
                },
            };
            constants.insert((bits, dtype.size()), buffer);
            let (dims, strides) = (dims.clone(), constant_strides(&dims));
            *argument =
                MapOperand::BufferView(BufferView { buffer, dtype, offset: 0, dims, strides });
        }
        let splatted = Step::from_map(step.name, map);
        if can_lower(&splatted) {
            *step = splatted;
        }
    }
}

/// Strides of C order as long as the constant has enough elements; stride 0 for the axes before.
fn constant_strides(dims: &[usize]) -> Strides {
    let mut strides: Strides = dims.iter().map(|_| 0).collect();
    let mut row_elements = 1;
    for (stride, &dim) in strides.iter_mut().zip(dims).rev() {
        if row_elements * dim > SMALL_CALL_ELEMENTS {
            break;
        }
        *stride = row_elements as isize;
        row_elements *= dim;
    }
    strides
}

/// A buffer filled with a scalar.
fn constant_buffer(bits: u64, size: usize, buffers: &mut Vec<Buffer>) -> Result<BufferId> {
    let storage = Storage::alloc(SMALL_CALL_ELEMENTS * size)?;
    // SAFETY: the storage was allocated with this many elements, and no other reference to it exists.
    unsafe { repeat_element(((&raw const bits).cast(), size), storage.ptr(), SMALL_CALL_ELEMENTS) };
    buffers.push(Buffer { source: Source::Constant(storage), nbytes: SMALL_CALL_ELEMENTS * size });
    Ok((buffers.len() - 1) as BufferId)
}
