//! Batched passes: runs rules that do not support batches once per row.
//!
//! Splits the gradients of a node into rows, and stacks the results.
//! Invariant: the rule sees what it would see in a pass for that row alone.

use super::grad_table::{ByInput, InputGrads};
use super::step::{self, PassOptions};
use crate::error::Result;
use crate::graph::arena::NodeBorrow;
use crate::graph::rule_context::{Context, NOWHERE};
use crate::graph::saved::Saved;
use crate::graph::value::Value;

/// Runs a rule once for each row of the gradients.
pub(super) fn by_rows<V: Value>(
    node: NodeBorrow<'_, V>,
    options: PassOptions,
    (grads, rows): (&mut [Option<V>], usize),
    saved: &[Saved<V>],
    targets: &[u32],
    input_grads: &mut dyn InputGrads<V>,
) -> Result<()> {
    let mut given: Vec<Vec<Option<V>>> = targets.iter().map(|_| Vec::with_capacity(rows)).collect();
    for k in 0..rows {
        let mut row = Vec::with_capacity(grads.len());
        for grad in grads.iter() {
            row.push(grad.as_ref().map(|grad| grad.row(k)).transpose()?);
        }
        let mut held = ByInput::new(options, targets.len());
        step::called(Context::new(
            node,
            &mut row,
            saved,
            targets,
            &mut held,
            options.create_graph,
        ))?;
        for (column, grad) in given.iter_mut().zip(held.grads) {
            column.push(grad);
        }
    }
    for ((i, column), &target) in given.into_iter().enumerate().zip(targets) {
        if target == NOWHERE {
            continue;
        }
        if let Some(batch) = V::batched(column)? {
            input_grads.give(i, target, batch)?;
        }
    }
    Ok(())
}
