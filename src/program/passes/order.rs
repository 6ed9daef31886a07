//! The passes: what makes the steps of a recording those of a program.
//!
//! Owns: their order, and the switch of each. Never knows what a pass does. Invariant: none of them changes a bit.

use super::{constants, copies, cse, join, plan, rows, small};
use crate::program::steps::{Buffer, Output, Step};

/// Whether a pass is on: `FERROGRAD_COMPILE_PASSES` names those that are, all of them if it is not set.
fn is_on(name: &str) -> bool {
    std::env::var("FERROGRAD_COMPILE_PASSES")
        .map_or(true, |names| names.split(',').any(|on| on.trim() == name))
}

/// Runs the passes that are on.
pub(in crate::program) fn run(
    mut steps: Vec<Step>,
    buffers: &mut Vec<Buffer>,
    outputs: &[Output],
) -> Vec<Step> {
    let remove_dead = |steps: &mut Vec<Step>, buffers: &[Buffer]| {
        if is_on("dead") {
            plan::remove_dead(steps, buffers, outputs);
        }
    };
    remove_dead(&mut steps, buffers);
    if is_on("copy") {
        copies::read_elements(&mut steps, buffers);
        copies::remove(&mut steps, buffers);
    }
    if is_on("fold") {
        constants::fold(&mut steps, buffers);
    }
    if is_on("cse") {
        cse::remove(&mut steps, buffers);
    }
    if is_on("copy") {
        copies::place(&mut steps, buffers);
    }
    // What the passes above no longer read.
    remove_dead(&mut steps, buffers);
    if is_on("rows") {
        steps = rows::join(steps, buffers);
    }
    if is_on("chain") {
        steps = join::join(steps, buffers);
    }
    if is_on("spread") {
        small::spread(&mut steps, buffers);
    }
    steps
}
