//! The pass pipeline: the order of the passes, and a switch for each.
//!
//! Invariant: no pass changes a bit of a result.

use super::{
    constant_folding, copy_elision, cse, fuse, fuse_rows, memory_plan, scalars_to_constants,
};
use crate::compile::ir::{Buffer, Output, Step};

/// Whether a pass is enabled: `FERROGRAD_COMPILE_PASSES` lists the enabled ones; all are if it is not set.
fn is_on(name: &str) -> bool {
    std::env::var("FERROGRAD_COMPILE_PASSES")
        .map_or(true, |names| names.split(',').any(|on| on.trim() == name))
}

/// Runs the enabled passes.
pub(in crate::compile) fn run(
    mut steps: Vec<Step>,
    buffers: &mut Vec<Buffer>,
    outputs: &[Output],
) -> Vec<Step> {
    let remove_dead = |steps: &mut Vec<Step>, buffers: &[Buffer]| {
        if is_on("dead") {
            memory_plan::remove_dead(steps, buffers, outputs);
        }
    };
    remove_dead(&mut steps, buffers);
    if is_on("copy") {
        copy_elision::read_elements(&mut steps, buffers);
        copy_elision::remove(&mut steps, buffers);
    }
    if is_on("fold") {
        constant_folding::fold(&mut steps, buffers);
    }
    if is_on("cse") {
        cse::remove(&mut steps, buffers);
    }
    if is_on("copy") {
        copy_elision::place(&mut steps, buffers);
    }
    // Steps that the passes above made dead.
    remove_dead(&mut steps, buffers);
    if is_on("rows") {
        steps = fuse_rows::join(steps, buffers);
    }
    if is_on("chain") {
        steps = fuse::join(steps, buffers);
    }
    if is_on("spread") {
        scalars_to_constants::spread(&mut steps, buffers);
    }
    steps
}
