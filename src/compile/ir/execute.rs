//! Runs one step: builds views of its operands from the frame's addresses and calls the kernel.
//!
//! Invariant: the operands of a step lie inside their buffers.

use smallvec::SmallVec;

use super::step::{Action, BufferView, Map, MapOperand, Step};
use crate::error::Result;
use crate::kernels::elementwise::{LoopWork, ResolvedOperand, run_loop};
use crate::kernels::fill::fill_with;
use crate::kernels::launch::Objects;
use crate::kernels::{View, ViewMut, copy, reduce};

/// Runs a step.
///
/// # Safety
/// `addresses` has the base pointer of every buffer of the step, and no other thread accesses what the step writes.
pub(in crate::compile) unsafe fn run_step(
    step: &Step,
    addresses: &[*mut u8],
    objects: &mut Objects,
) -> Result<()> {
    // SAFETY: the caller's contract, here and below.
    let read = |number: usize| unsafe { view(&step.reads[number], addresses) };
    // SAFETY: as above.
    let written = |number: usize| unsafe { view_mut(&step.writes[number], addresses) };
    match &step.action {
        // SAFETY: as above.
        Action::Map(map) => unsafe { run_map(map, addresses) },
        // SAFETY: as above.
        Action::Chain(chain) => unsafe { chain.run(addresses) },
        Action::Sequence(steps) => {
            // SAFETY: as above.
            return steps.iter().try_for_each(|step| unsafe { run_step(step, addresses, objects) });
        }
        Action::Fill(bits) => fill_with(*bits, written(0)),
        Action::Copy => copy(read(0), written(0)),
        Action::Reduce(op, axes) => return reduce(*op, read(0), axes, written(0)),
        Action::Kernel(run) | Action::Decision(run) => {
            let reads: SmallVec<[View<'_>; 4]> = (0..step.reads.len()).map(read).collect();
            let mut writes: SmallVec<[ViewMut<'_>; 3]> =
                (0..step.writes.len()).map(written).collect();
            return run(&reads, &mut writes, objects);
        }
        Action::HostCall(host) => {
            let reads: Vec<View<'_>> = (0..step.reads.len()).map(read).collect();
            let mut writes: Vec<ViewMut<'_>> = (0..step.writes.len()).map(written).collect();
            return host.run(&reads, &mut writes, objects);
        }
    }
    Ok(())
}

#[inline(always)]
fn address(slice: &BufferView, addresses: &[*mut u8]) -> *mut u8 {
    addresses[slice.buffer as usize].wrapping_offset(slice.offset)
}

/// # Safety
/// As `run_step`.
unsafe fn view<'a>(slice: &'a BufferView, addresses: &[*mut u8]) -> View<'a> {
    // SAFETY: the slice lies inside its buffer.
    unsafe { View::from_raw(slice.dtype, address(slice, addresses), &slice.dims, &slice.strides) }
}

/// # Safety
/// As `run_step`.
unsafe fn view_mut<'a>(slice: &'a BufferView, addresses: &[*mut u8]) -> ViewMut<'a> {
    // SAFETY: the slice lies inside its buffer, which belongs to this run, or is external memory that the eager
    // function writes as well.
    unsafe {
        ViewMut::from_raw(slice.dtype, address(slice, addresses), &slice.dims, &slice.strides)
    }
}

/// # Safety
/// As `run_step`.
unsafe fn run_map(map: &Map, addresses: &[*mut u8]) {
    // SAFETY: the caller's contract, here and below.
    let inputs = map.ins.iter().map(|argument| match argument {
        // SAFETY: as above.
        MapOperand::BufferView(slice) => ResolvedOperand::View(unsafe { view(slice, addresses) }),
        MapOperand::Number(bits, dtype) => ResolvedOperand::Number(bits, dtype.size()),
    });
    // SAFETY: as above; operands and output have the dtypes of the loop, as at trace time.
    unsafe {
        let out = view_mut(&map.out, addresses);
        let work = LoopWork { f: map.table, row_loop: None, params: &map.params, cost: map.cost };
        run_loop(work, inputs, (out, false));
    }
}
