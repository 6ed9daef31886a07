//! The pass pipeline: the order of the passes, and a switch for each.
//!
//! Invariant: no pass changes a bit of a result.

use super::{constant_folding, copy_elision, cse, dead_steps, fuse, fuse_rows, splat_scalars};
use crate::compile::ir::{Buffer, Output, Step};

/// Whether a pass is enabled: `FERROGRAD_COMPILE_PASSES` lists the enabled ones; all are if it is not set.
fn is_enabled(name: &str) -> bool {
    std::env::var("FERROGRAD_COMPILE_PASSES")
        .map_or(true, |names| names.split(',').any(|on| on.trim() == name))
}

/// Runs the enabled passes.
pub(in crate::compile) fn run(
    mut steps: Vec<Step>,
    buffers: &mut Vec<Buffer>,
    outputs: &[Output],
) -> Vec<Step> {
    let eliminate_dead = |steps: &mut Vec<Step>, buffers: &[Buffer]| {
        if is_enabled("dead") {
            dead_steps::eliminate_dead(steps, buffers, outputs);
        }
    };
    eliminate_dead(&mut steps, buffers);
    if is_enabled("copy") {
        copy_elision::elide_element_copies(&mut steps, buffers);
        copy_elision::elide_buffer_copies(&mut steps, buffers);
    }
    if is_enabled("fold") {
        constant_folding::fold(&mut steps, buffers);
    }
    if is_enabled("cse") {
        cse::eliminate(&mut steps, buffers);
    }
    if is_enabled("copy") {
        copy_elision::retarget_producers(&mut steps, buffers);
    }
    // Steps that the passes above made dead.
    eliminate_dead(&mut steps, buffers);
    if is_enabled("rows") {
        steps = fuse_rows::fuse(steps, buffers);
    }
    if is_enabled("chain") {
        steps = fuse::fuse(steps, buffers);
    }
    if is_enabled("spread") {
        splat_scalars::splat(&mut steps, buffers);
    }
    steps
}
