//! Batched passes: runs rules that do not support batches once per row.
//!
//! Splits the gradients of a node into rows, and stacks the results.
//! Invariant: the rule sees what it would see in a pass for that row alone.

use super::grad_table::{GradsByInput, InputGrads};
use super::step::{self, PassOptions};
use crate::error::Result;
use crate::graph::arena::NodeBorrow;
use crate::graph::rule_context::{Context, NO_TARGET};
use crate::graph::saved::Saved;
use crate::graph::value::Value;

/// Runs a rule once for each row of the gradients.
pub(super) fn run_by_rows<V: Value>(
    node: NodeBorrow<'_, V>,
    options: PassOptions,
    (grads, rows): (&mut [Option<V>], usize),
    saved: &[Saved<V>],
    targets: &[u32],
    input_grads: &mut dyn InputGrads<V>,
) -> Result<()> {
    let mut columns: Vec<Vec<Option<V>>> =
        targets.iter().map(|_| Vec::with_capacity(rows)).collect();
    for k in 0..rows {
        let mut row = Vec::with_capacity(grads.len());
        for grad in grads.iter() {
            row.push(grad.as_ref().map(|grad| grad.row(k)).transpose()?);
        }
        let mut row_grads = GradsByInput::new(options, targets.len());
        step::call_rule(Context::new(
            node,
            &mut row,
            saved,
            targets,
            &mut row_grads,
            options.create_graph,
        ))?;
        for (column, grad) in columns.iter_mut().zip(row_grads.grads) {
            column.push(grad);
        }
    }
    for ((i, column), &target) in columns.into_iter().enumerate().zip(targets) {
        if target == NO_TARGET {
            continue;
        }
        if let Some(batch) = V::batched(column)? {
            input_grads.give(i, target, batch)?;
        }
    }
    Ok(())
}
