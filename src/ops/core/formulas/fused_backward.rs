//! Derivatives of several element-wise operations and selections, read as one run over their elements.
//!
//! Owns: the way of gradients through a stretch of nodes, from those that reach it to those that leave it. What is given
//! within the stretch has no memory. Never contains a formula, and records nothing.
//! Invariant: every element is computed and summed as the rules would do it one after the other.

use smallvec::SmallVec;

use crate::array::capture;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Context, FusedNodes};
use crate::kernels::fused::{Tile, Tiles};
use crate::ops::core::chain_rule::{Operands, Read};
use crate::ops::core::elementwise::{Derivative, Elementwise};
use crate::ops::core::structured::Chosen;
use crate::ops::core::symbolic;
use crate::tensor::Tensor;

/// Gradients of fewer bytes stay in the second cache.
const FROM_BYTES: usize = 1 << 18;

/// A node of the stretch: what it gives, and the place of each gradient, by operand.
struct Node {
    gives: Gives,
    targets: SmallVec<[Option<usize>; 3]>,
}

/// What the rule of a node gives.
enum Gives {
    /// Derivatives, and what they read.
    Formulas(&'static [Derivative], Box<Operands>),
    /// The gradient to the operand that a mask has chosen.
    Chosen(Tensor),
}

/// What is known of a gradient.
#[derive(Clone, Copy)]
enum Gradient {
    /// It is the tensor of this place.
    Given(usize, Tile),
    /// A loop makes it.
    Made(Tile),
    /// Zero everywhere.
    Zero,
}

/// Runs the nodes; false where an operand of one lies otherwise than in a row, and that one is named.
pub(in crate::ops) fn backward_fused(run: &mut FusedNodes<'_, Tensor>) -> Result<bool> {
    if !run.grads()[0].as_ref().is_some_and(suits) {
        return Ok(false);
    }
    let mut nodes: Vec<Node> = Vec::with_capacity(run.nodes());
    for k in 0..run.nodes() {
        match run.node(k, Node::restore)?.flatten() {
            Some(node) => nodes.push(node),
            None => return Ok(false),
        }
    }
    let given = std::mem::take(run.grads());
    match gradients(&nodes, &given)? {
        Ok(grads) => {
            *run.grads() = grads;
            Ok(true)
        }
        Err(k) => {
            *run.grads() = given;
            run.refuse(k);
            Ok(false)
        }
    }
}

/// What leaves the nodes, by place; or the node of which an operand lies otherwise than in a row.
fn gradients(
    nodes: &[Node],
    given: &[Option<Tensor>],
) -> Result<std::result::Result<Vec<Option<Tensor>>, usize>> {
    let Some(like) = &given[0] else { return Ok(Err(0)) };
    let mut tiles = Tiles::new(like.dtype(), like.shape());
    match walk(nodes, given, &mut tiles) {
        Ok(places) => results(given, &places, like, tiles).map(Ok),
        Err(k) => Ok(Err(k)),
    }
}

fn suits(g: &Tensor) -> bool {
    let (bytes, dtype) = (g.size() * g.dtype().size(), g.dtype());
    bytes >= FROM_BYTES && matches!(dtype, DType::F64 | DType::F32) && !capture::active()
}

impl Node {
    fn restore(cx: &mut Context<'_, Tensor>, rule: &dyn std::any::Any) -> Result<Option<Node>> {
        let places = |n: usize| -> SmallVec<[Option<usize>; 3]> {
            (0..n).map(|i| Some(cx.target(i)? as usize)).collect()
        };
        if rule.is::<Chosen>() {
            let targets = places(2);
            return Ok(Some(Node { gives: Gives::Chosen(cx.saved(0)?), targets }));
        }
        let Some(op) = rule.downcast_ref::<Elementwise>() else { return Ok(None) };
        let targets = places(op.by.len());
        let mut read = Operands::new(op, cx)?;
        for (derivative, target) in op.by.iter().zip(&targets) {
            if let (Derivative::Formula { uses, .. }, Some(_)) = (derivative, target) {
                read = Operands::restore(op, cx, uses, Some(read))?;
            }
        }
        Ok(Some(Node { gives: Gives::Formulas(op.by, Box::new(read)), targets }))
    }

    /// Adds what the node gives for the gradient `g` to the places of its inputs.
    fn give<'t>(
        &'t self,
        g: Gradient,
        places: &mut [Option<Gradient>],
        tiles: &mut Tiles<'t>,
    ) -> Option<()> {
        for (i, target) in self.targets.iter().enumerate() {
            let Some(target) = *target else { continue };
            let gradient = self.gives.gradient(i, g, tiles)?;
            places[target] = Some(match places[target] {
                None => gradient,
                Some(sum) => {
                    let ins = [sum.tile(tiles), gradient.tile(tiles)];
                    Gradient::Made(tiles.apply(symbolic::sums(), &ins, &[])?)
                }
            });
        }
        Some(())
    }
}

impl Gives {
    /// The gradient of operand `i` for the gradient `g`.
    fn gradient<'t>(&'t self, i: usize, g: Gradient, tiles: &mut Tiles<'t>) -> Option<Gradient> {
        let (by, read) = match self {
            Gives::Formulas(by, read) => (by, read),
            Gives::Chosen(mask) => {
                let (mask, zero) = (tiles.mask(mask.view_of())?, tiles.number(0.0));
                let (a, b) = if i == 0 { (g.tile(tiles), zero) } else { (zero, g.tile(tiles)) };
                return Some(Gradient::Made(tiles.choose([mask, a, b])));
            }
        };
        Some(match &by[i] {
            Derivative::Identity => g,
            Derivative::Zero => Gradient::Zero,
            Derivative::Formula { uses, table, .. } => {
                let mut ins: SmallVec<[Tile; 4]> = SmallVec::new();
                for source in *uses {
                    ins.push(match read.find(*source) {
                        Some(Read::Tensor(t)) => tiles.read(t.view_of())?,
                        Some(Read::Scalar(number)) => tiles.number(*number),
                        None => g.tile(tiles),
                    });
                }
                Gradient::Made(tiles.apply(table, &ins, &read.params)?)
            }
        })
    }
}

/// The gradients by place when all nodes have given theirs; or the node of which an operand lies otherwise than in a row.
fn walk<'t>(
    nodes: &'t [Node],
    given: &'t [Option<Tensor>],
    tiles: &mut Tiles<'t>,
) -> std::result::Result<Vec<Option<Gradient>>, usize> {
    let mut places: Vec<Option<Gradient>> = Vec::with_capacity(given.len());
    for (place, grad) in given.iter().enumerate() {
        places.push(match grad {
            Some(grad) => Some(Gradient::Given(place, tiles.read(grad.view_of()).ok_or(0usize)?)),
            None => None,
        });
    }
    for (k, node) in nodes.iter().enumerate() {
        let given = places[k].take().and_then(|g| node.give(g, &mut places, tiles));
        given.ok_or(k)?;
    }
    Ok(places)
}

impl Gradient {
    fn tile(self, tiles: &mut Tiles<'_>) -> Tile {
        match self {
            Gradient::Given(_, tile) | Gradient::Made(tile) => tile,
            Gradient::Zero => tiles.number(0.0),
        }
    }
}

/// The gradients that leave the nodes, by place, computed. One that was given, and that nobody else has, lends its memory.
fn results(
    given: &[Option<Tensor>],
    places: &[Option<Gradient>],
    like: &Tensor,
    tiles: Tiles<'_>,
) -> Result<Vec<Option<Tensor>>> {
    let kept =
        |at: usize| places.iter().any(|p| matches!(p, Some(Gradient::Given(k, _)) if *k == at));
    let mut spare: Vec<Tensor> = Vec::new();
    for (at, grad) in given.iter().enumerate() {
        spare
            .extend(grad.as_ref().filter(|g| !kept(at) && g.is_overwritable()).map(Tensor::detach));
    }
    let mut out: Vec<Option<Tensor>> = Vec::with_capacity(places.len());
    let mut made: Vec<(Tile, usize)> = Vec::new();
    for (place, gradient) in places.iter().enumerate() {
        out.push(match gradient {
            None => None,
            Some(Gradient::Given(k, _)) => given[*k].clone(),
            Some(Gradient::Zero) => Some(Tensor::zeros(like.shape(), like.dtype())?),
            Some(Gradient::Made(tile)) => {
                made.push((*tile, place));
                match spare.pop() {
                    Some(own) => Some(own),
                    None => Some(Tensor::empty(like.shape(), like.dtype())?),
                }
            }
        });
    }
    let mut views = Vec::with_capacity(made.len());
    for (tile, place) in &made {
        if let Some(out) = &out[*place] {
            views.push((*tile, out.shared_view_mut()));
        }
    }
    tiles.run(&mut views);
    drop(views);
    Ok(out)
}
