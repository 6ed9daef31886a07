//! One call of a custom function, from its inputs to its node.
//!
//! Owns: the edges of the inputs, taken before `forward` runs, because an in-place forward moves them.
//! Never runs the user's code. Invariant: a call that needs no gradient creates no node.

use smallvec::SmallVec;

use crate::array::Layout;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{self, Edges, Flags, Rule, RuleRef, Saved, SavedValues};
use crate::tensor::{Edge, Node, Tensor};

/// The estimated cost of a backward that the user wrote, in nanoseconds.
const COST_NS: f32 = 1_000.0;

/// Shape and dtype of an input or an output.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The dimensions.
    pub dims: SmallVec<[usize; 2]>,
    /// The element type.
    pub dtype: DType,
}

impl Spec {
    /// Those of `tensor`.
    pub fn of(tensor: &Tensor) -> Spec {
        Spec { dims: SmallVec::from_slice(tensor.shape()), dtype: tensor.dtype() }
    }

    /// New memory of this shape and dtype, for a kernel to fill.
    pub(crate) fn empty(&self) -> Result<Tensor> {
        Tensor::empty(&self.dims, self.dtype)
    }

    /// Zeros of this shape and dtype.
    ///
    /// # Errors
    /// `Memory` when the allocator refuses.
    pub fn zeros(&self) -> Result<Tensor> {
        Tensor::zeros(&self.dims, self.dtype)
    }
}

/// What a saved tensor is to the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SavedRole {
    /// Nothing was given at this position.
    Nothing,
    /// Input number `.0`.
    Input(u32),
    /// Output number `.0`.
    Output(u32),
    /// Neither: a constant, a captured parameter, or an intermediate result.
    Other,
}

/// What a saved entry is when backward asks for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SavedKind {
    /// Nothing.
    Nothing,
    /// A tensor with all its history.
    Tensor,
    /// An intermediate result of forward, whose history is missing.
    Intermediate,
}

impl SavedRole {
    /// What the entry for a tensor of this kind is.
    pub fn kind(self, tensor: &Tensor) -> SavedKind {
        match self {
            SavedRole::Nothing => SavedKind::Nothing,
            SavedRole::Other if tensor.is_cut() => SavedKind::Intermediate,
            _ => SavedKind::Tensor,
        }
    }

    /// The entry of the node for a tensor of this kind.
    pub fn save(self, tensor: &Tensor) -> Saved<Tensor> {
        match self {
            SavedRole::Nothing => Saved::None,
            SavedRole::Input(i) => Saved::input(tensor, i),
            SavedRole::Output(k) => Saved::output(tensor, k),
            SavedRole::Other => Saved::value(tensor),
        }
    }
}

/// The inputs of one call as the graph sees them.
pub struct Call {
    edges: Edges<Tensor>,
    recorded: bool,
}

impl Call {
    /// Takes the edges of the inputs, if this thread records.
    pub fn begin<'a>(inputs: impl Iterator<Item = &'a Tensor>) -> Call {
        if !graph::recording() {
            return Call { edges: SmallVec::new(), recorded: false };
        }
        let edges: Edges<Tensor> = inputs.map(Tensor::grad_edge).collect();
        let recorded = edges.iter().any(Option::is_some);
        Call { edges, recorded }
    }

    /// Whether a differentiable output of this call needs a node.
    #[inline]
    pub fn recorded(&self) -> bool {
        self.recorded
    }

    /// Whether input `i` needs a gradient.
    #[inline]
    pub fn needs(&self, i: usize) -> bool {
        self.edges.get(i).is_some_and(Option::is_some)
    }

    /// The input whose data and history `tensor` is, if any.
    pub fn input_like(&self, inputs: &[&Tensor], tensor: &Tensor) -> Option<usize> {
        inputs.iter().position(|x| same(x, tensor) && x.grad_edge() == tensor.grad_edge())
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
pub(super) fn same(a: &Tensor, b: &Tensor) -> bool {
    fn parts(layout: &Layout) -> (&[usize], &[isize], isize) {
        (layout.dims(), layout.strides(), layout.offset())
    }
    a.storage().ptr() == b.storage().ptr()
        && a.dtype() == b.dtype()
        && parts(a.layout()) == parts(b.layout())
}

/// The fresh handle of output `k`: the data of `raw` under the node's edge. A view of anything that lives on must
/// not be changed in place: the change would bypass the function's backward.
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
