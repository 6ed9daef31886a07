//! One call of a custom function: its input edges, its saved values and its node.
//!
//! Invariant: the input edges are taken before `forward` runs, because an in-place `forward` changes them.

use smallvec::SmallVec;

use crate::array::Layout;
use crate::error::Result;
use crate::graph::{self, Edges, Flags, Rule, RuleRef, Saved, SavedValues, forward_ad};
use crate::tensor::{Edge, Node, Tensor};

/// The estimated nanoseconds of a user-defined backward.
const COST_NS: f32 = 1_000.0;

/// The role of a saved tensor in the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SavedRole {
    /// Nothing was saved at this position.
    Nothing,
    /// Input `.0`.
    Input(u32),
    /// Output `.0`.
    Output(u32),
    /// Neither: a constant, a captured parameter, or an intermediate result.
    Other,
}

/// What backward gets for a saved entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SavedKind {
    /// Nothing.
    Nothing,
    /// A tensor with its full history.
    Tensor,
    /// An intermediate result of forward, whose history was not recorded.
    Intermediate,
}

impl SavedRole {
    /// The kind of entry for a tensor of this role.
    pub fn kind(self, tensor: &Tensor) -> SavedKind {
        match self {
            SavedRole::Nothing => SavedKind::Nothing,
            SavedRole::Other if tensor.is_cut() => SavedKind::Intermediate,
            _ => SavedKind::Tensor,
        }
    }

    /// The saved value of the node for a tensor of this role.
    pub fn save(self, tensor: &Tensor) -> Saved<Tensor> {
        match self {
            SavedRole::Nothing => Saved::None,
            SavedRole::Input(i) => Saved::input(tensor, i),
            SavedRole::Output(k) => Saved::output(tensor, k),
            SavedRole::Other => Saved::value(tensor),
        }
    }
}

/// One call of a custom function as the graph sees it.
pub struct FunctionCall {
    edges: Edges<Tensor>,
    recorded: bool,
}

impl FunctionCall {
    /// Takes the edges of the inputs, if the thread is recording.
    pub fn begin<'a>(inputs: impl Iterator<Item = &'a Tensor>) -> FunctionCall {
        if !graph::recording() {
            return FunctionCall { edges: SmallVec::new(), recorded: false };
        }
        let edges: Edges<Tensor> = inputs.map(|x| forward_ad::admitted(x.grad_edge())).collect();
        let recorded = edges.iter().any(Option::is_some);
        FunctionCall { edges, recorded }
    }

    /// Whether the call needs a node, if it has a differentiable output.
    #[inline]
    pub fn recorded(&self) -> bool {
        self.recorded
    }

    /// Whether input `i` requires grad.
    #[inline]
    pub fn needs(&self, i: usize) -> bool {
        self.edges.get(i).is_some_and(Option::is_some)
    }

    /// The input that shares its data and history with `tensor`, if any.
    pub fn input_like(&self, inputs: &[&Tensor], tensor: &Tensor) -> Option<usize> {
        inputs.iter().position(|x| same_view(x, tensor) && x.grad_edge() == tensor.grad_edge())
    }

    /// Records the node.
    ///
    /// # Errors
    /// As [`graph::record`].
    pub fn record(
        self,
        rule: Box<dyn Rule<Tensor>>,
        saved: SavedValues<Tensor>,
        outputs: usize,
        flags: Flags,
    ) -> Result<Node> {
        let rule = RuleRef::Boxed(rule);
        graph::record(rule, self.edges, saved, outputs as u32, COST_NS, flags)
    }
}

/// Whether two handles show the same elements.
pub(super) fn same_view(a: &Tensor, b: &Tensor) -> bool {
    fn geometry(layout: &Layout) -> (&[usize], &[isize], isize) {
        (layout.dims(), layout.strides(), layout.offset())
    }
    a.storage().ptr() == b.storage().ptr()
        && a.dtype() == b.dtype()
        && geometry(a.layout()) == geometry(b.layout())
}

/// A new handle for output `k`, with the data of `raw` and the node's edge. If it is a view of memory that outlives the
/// call, in-place changes are refused: they would bypass the function's backward.
pub(crate) fn output<'a>(
    node: &Node,
    raw: &Tensor,
    k: usize,
    mut inputs: impl Iterator<Item = &'a Tensor>,
) -> Tensor {
    let shared = inputs.any(|x| x.storage().same(raw.storage()))
        || (raw.is_view() && !raw.storage().is_unique());
    raw.as_function_output(shared).attach(Edge::new(node.clone(), k as u32))
}
