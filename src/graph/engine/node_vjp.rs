//! `vjp`: runs the rule of a single node.
//!
//! Frees nothing, runs no hooks and commits nothing. Invariant: the thread's mode is restored.

use super::grad_table::GradsByInput;
use super::step::PassOptions;
use crate::error::{Error, Result};
use crate::graph::arena::NodeRef;
use crate::graph::mode::{Mode, ModeGuard};
use crate::graph::rule_context::{Context, NO_TARGET};
use crate::graph::value::Value;

/// Runs the rule of `node` alone; recorded if `create_graph`.
///
/// # Errors
/// `Argument` when there is not one gradient (or `None`) per output, `GraphFreed` when the saved values are gone,
/// and whatever the rule raises.
pub fn vjp<V: Value>(
    node: &NodeRef<V>,
    mut gradients: Vec<Option<V>>,
    create_graph: bool,
) -> Result<Vec<Option<V>>> {
    let want = node.outputs() as usize;
    if gradients.len() != want {
        return Err(Error::Argument {
            op: node.name(),
            what: format!("{} gradients for {want} outputs", gradients.len()),
            remedy: "give one gradient or None per output".into(),
        }
        .into());
    }
    let Some(saved) = node.saved.enter(false) else {
        return Err(Error::GraphFreed { op: node.name() }.into());
    };
    let mode = ModeGuard::new(Mode::current());
    let options = PassOptions::new(true, create_graph, true);
    options.enter();
    let targets: Vec<u32> =
        node.edges().iter().map(|edge| if edge.is_some() { 0 } else { NO_TARGET }).collect();
    let mut collected = GradsByInput::new(options, targets.len());
    let mut cx = Context::new(
        node.borrow(),
        &mut gradients,
        saved.values(),
        &targets,
        &mut collected,
        create_graph,
    );
    node.rule().backward(&mut cx)?;
    drop(mode);
    Ok(collected.grads)
}
