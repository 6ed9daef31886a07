//! Fused backward: the rules of several element-wise and `where` nodes run as one tiled loop, without buffers for the
//! gradients between them.
//!
//! Invariant: every element is computed and summed exactly as the rules would do one after the other.

use smallvec::SmallVec;

use crate::array::observer;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Context, FusedNodes};
use crate::kernels::fused::{EagerChain, FusedOperand};
use crate::ops::core::chain_rule::{SavedOperand, SavedOperands};
use crate::ops::core::elementwise::{Derivative, Elementwise};
use crate::ops::core::structured::WhereParams;
use crate::ops::core::symbolic;
use crate::tensor::Tensor;

/// Gradients of fewer bytes stay in the L2 cache, where fusion does not pay.
const MIN_FUSED_BYTES: usize = 1 << 18;

/// A node of the chain: its rule, and the gradient slot of each operand.
struct FusedRule {
    rule: NodeRule,
    targets: SmallVec<[Option<usize>; 3]>,
}

/// The rule of a fused node, with its saved values restored.
enum NodeRule {
    /// An element-wise rule: derivatives and their operands.
    Formulas(&'static [Derivative], Box<SavedOperands>),
    /// The rule of `where`, with its mask.
    Where(Tensor),
}

/// A gradient during fusion.
#[derive(Clone, Copy)]
enum ChainGradient {
    /// The incoming tensor of this slot.
    Incoming(usize, FusedOperand),
    /// Computed by the chain.
    Computed(FusedOperand),
    /// Zero everywhere.
    Zero,
}

/// Runs the nodes as one loop; false if they cannot be fused. A node with a strided operand is reported to the engine.
pub(in crate::ops) fn run_fused(run: &mut FusedNodes<'_, Tensor>) -> Result<bool> {
    if !run.grads()[0].as_ref().is_some_and(is_worth_fusing) {
        return Ok(false);
    }
    let mut nodes: Vec<FusedRule> = Vec::with_capacity(run.nodes());
    for k in 0..run.nodes() {
        match run.node(k, FusedRule::restore)?.flatten() {
            Some(node) => nodes.push(node),
            None => return Ok(false),
        }
    }
    let incoming = std::mem::take(run.grads());
    match gradients(&nodes, &incoming)? {
        Ok(grads) => {
            *run.grads() = grads;
            Ok(true)
        }
        Err(k) => {
            *run.grads() = incoming;
            run.refuse(k);
            Ok(false)
        }
    }
}

/// The outgoing gradients by slot; `Err(k)` if node `k` has a strided operand.
fn gradients(
    nodes: &[FusedRule],
    incoming: &[Option<Tensor>],
) -> Result<std::result::Result<Vec<Option<Tensor>>, usize>> {
    let Some(like) = &incoming[0] else { return Ok(Err(0)) };
    let mut tiles = EagerChain::new(like.dtype(), like.shape());
    match build_chain(nodes, incoming, &mut tiles) {
        Ok(slots) => results(incoming, &slots, like, tiles).map(Ok),
        Err(k) => Ok(Err(k)),
    }
}

fn is_worth_fusing(g: &Tensor) -> bool {
    let (bytes, dtype) = (g.size() * g.dtype().size(), g.dtype());
    bytes >= MIN_FUSED_BYTES && matches!(dtype, DType::F64 | DType::F32) && !observer::is_active()
}

impl FusedRule {
    fn restore(
        cx: &mut Context<'_, Tensor>,
        rule: &dyn std::any::Any,
    ) -> Result<Option<FusedRule>> {
        let targets = |n: usize| -> SmallVec<[Option<usize>; 3]> {
            (0..n).map(|i| Some(cx.target(i)? as usize)).collect()
        };
        if rule.is::<WhereParams>() {
            let targets = targets(2);
            return Ok(Some(FusedRule { rule: NodeRule::Where(cx.saved(0)?), targets }));
        }
        let Some(op) = rule.downcast_ref::<Elementwise>() else { return Ok(None) };
        let targets = targets(op.by.len());
        let mut read = SavedOperands::new(op, cx)?;
        for (derivative, target) in op.by.iter().zip(&targets) {
            if let (Derivative::Formula { uses, .. }, Some(_)) = (derivative, target) {
                read = SavedOperands::restore(op, cx, uses, Some(read))?;
            }
        }
        Ok(Some(FusedRule { rule: NodeRule::Formulas(op.by, Box::new(read)), targets }))
    }

    /// Adds the gradients of the node's inputs, for the output gradient `g`, to their slots.
    fn add_input_gradients<'t>(
        &'t self,
        g: ChainGradient,
        slots: &mut [Option<ChainGradient>],
        tiles: &mut EagerChain<'t>,
    ) -> Option<()> {
        for (i, target) in self.targets.iter().enumerate() {
            let Some(target) = *target else { continue };
            let gradient = self.rule.gradient(i, g, tiles)?;
            slots[target] = Some(match slots[target] {
                None => gradient,
                Some(sum) => {
                    let ins = [sum.tile(tiles), gradient.tile(tiles)];
                    ChainGradient::Computed(tiles.apply(symbolic::add_loops(), &ins, &[])?)
                }
            });
        }
        Some(())
    }
}

impl NodeRule {
    /// The gradient of operand `i` for the output gradient `g`.
    fn gradient<'t>(
        &'t self,
        i: usize,
        g: ChainGradient,
        tiles: &mut EagerChain<'t>,
    ) -> Option<ChainGradient> {
        let (by, read) = match self {
            NodeRule::Formulas(by, read) => (by, read),
            NodeRule::Where(mask) => {
                let (mask, zero) = (tiles.mask(mask.view_of())?, tiles.number(0.0));
                let (a, b) = if i == 0 { (g.tile(tiles), zero) } else { (zero, g.tile(tiles)) };
                return Some(ChainGradient::Computed(tiles.choose([mask, a, b])));
            }
        };
        Some(match &by[i] {
            Derivative::Identity => g,
            Derivative::Zero => ChainGradient::Zero,
            Derivative::Formula { uses, table, .. } => {
                let mut ins: SmallVec<[FusedOperand; 4]> = SmallVec::new();
                for source in *uses {
                    ins.push(match read.find(*source) {
                        Some(SavedOperand::Tensor(t)) => tiles.read(t.view_of())?,
                        Some(SavedOperand::Scalar(number)) => tiles.number(*number),
                        None => g.tile(tiles),
                    });
                }
                ChainGradient::Computed(tiles.apply(table, &ins, &read.params)?)
            }
        })
    }
}

/// Builds the chain: the gradients by slot after all nodes; `Err(k)` if node `k` has a strided operand.
fn build_chain<'t>(
    nodes: &'t [FusedRule],
    incoming: &'t [Option<Tensor>],
    tiles: &mut EagerChain<'t>,
) -> std::result::Result<Vec<Option<ChainGradient>>, usize> {
    let mut slots: Vec<Option<ChainGradient>> = Vec::with_capacity(incoming.len());
    for (slot, grad) in incoming.iter().enumerate() {
        slots.push(match grad {
            Some(grad) => {
                Some(ChainGradient::Incoming(slot, tiles.read(grad.view_of()).ok_or(0usize)?))
            }
            None => None,
        });
    }
    for (k, node) in nodes.iter().enumerate() {
        let added = slots[k].take().and_then(|g| node.add_input_gradients(g, &mut slots, tiles));
        added.ok_or(k)?;
    }
    Ok(slots)
}

impl ChainGradient {
    fn tile(self, tiles: &mut EagerChain<'_>) -> FusedOperand {
        match self {
            ChainGradient::Incoming(_, tile) | ChainGradient::Computed(tile) => tile,
            ChainGradient::Zero => tiles.number(0.0),
        }
    }
}

/// Runs the chain and returns the outgoing gradients by slot. Unshared incoming gradients lend their memory.
fn results(
    incoming: &[Option<Tensor>],
    slots: &[Option<ChainGradient>],
    like: &Tensor,
    tiles: EagerChain<'_>,
) -> Result<Vec<Option<Tensor>>> {
    let kept = |slot: usize| {
        slots.iter().any(|p| matches!(p, Some(ChainGradient::Incoming(k, _)) if *k == slot))
    };
    let mut spare: Vec<Tensor> = Vec::new();
    for (slot, grad) in incoming.iter().enumerate() {
        spare.extend(
            grad.as_ref().filter(|g| !kept(slot) && g.is_overwritable()).map(Tensor::detach),
        );
    }
    let mut out: Vec<Option<Tensor>> = Vec::with_capacity(slots.len());
    let mut computed: Vec<(FusedOperand, usize)> = Vec::new();
    for (slot, gradient) in slots.iter().enumerate() {
        out.push(match gradient {
            None => None,
            Some(ChainGradient::Incoming(k, _)) => incoming[*k].clone(),
            Some(ChainGradient::Zero) => Some(Tensor::zeros(like.shape(), like.dtype())?),
            Some(ChainGradient::Computed(tile)) => {
                computed.push((*tile, slot));
                match spare.pop() {
                    Some(own) => Some(own),
                    None => Some(Tensor::empty(like.shape(), like.dtype())?),
                }
            }
        });
    }
    let mut views = Vec::with_capacity(computed.len());
    for (tile, slot) in &computed {
        if let Some(out) = &out[*slot] {
            views.push((*tile, out.shared_view_mut()));
        }
    }
    tiles.run(&mut views);
    drop(views);
    Ok(out)
}
