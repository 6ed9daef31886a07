//! Numbers beside few elements become constant elements, so that a loop is called without a walk.
//!
//! Owns: the pass, and the constants that it makes. Never touches a step that needs a walk all the same. Invariant: every element of such a constant is the number.

use crate::array::Storage;
use crate::array::hash::FastMap;
use crate::compile::ir::lowered::{is_direct, may_be_rows};
use crate::compile::ir::{Argument, Buffer, Id, Slice, Source, Step};
use crate::error::Result;
use crate::kernels::launch::Strides;

/// Elements of such a constant, and the most elements of a step that reads one whole.
const FEW: usize = 256;

/// Gives short loops constant elements in the place of numbers.
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

/// The strides of C order while the elements suffice, and of one row for all beyond.
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

/// A buffer of a number.
fn constant(bits: u64, size: usize, buffers: &mut Vec<Buffer>) -> Result<Id> {
    let storage = Storage::alloc(FEW * size)?;
    let bytes = bits.to_ne_bytes();
    for i in 0..FEW {
        // SAFETY: the storage holds as many elements of this size, and nobody else sees it.
        unsafe { storage.ptr().add(i * size).copy_from_nonoverlapping(bytes.as_ptr(), size) };
    }
    buffers.push(Buffer { source: Source::Constant(storage), nbytes: FEW * size });
    Ok((buffers.len() - 1) as Id)
}
