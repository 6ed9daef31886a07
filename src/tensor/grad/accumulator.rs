//! The accumulator: the node that adds gradients to a leaf's `.grad`.
//!
//! It knows the leaf's `Meta` weakly. Invariant: a leaf has at most one accumulator, owned by its `Meta`.

use std::any::Any;
use std::borrow::Cow;
use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use crate::array::Storage;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Context, Flags, Rule, RuleRef, record_plain};
use crate::tensor::traced_grad_effects;
use crate::tensor::{Edge, Meta, Tensor};

/// The rule of an accumulator node.
pub struct Accumulate {
    leaf: Weak<Meta>,
    dims: Box<[usize]>,
    dtype: DType,
    /// The address of the leaf's memory; valid while a handle of the leaf lives.
    memory: usize,
}

impl Accumulate {
    /// Makes the accumulator node of a leaf.
    pub(crate) fn node_for(meta: &Arc<Meta>, leaf: &Tensor) -> Edge {
        let rule = Accumulate {
            leaf: Arc::downgrade(meta),
            dims: leaf.shape().into(),
            dtype: leaf.dtype(),
            memory: leaf.storage().ptr().addr(),
        };
        let node = record_plain::<Tensor>(
            RuleRef::Boxed(Box::new(rule)),
            SmallVec::new(),
            1,
            0.0,
            Flags::ACCUMULATOR,
        );
        Edge::new(node, 0)
    }

    /// The meta of the leaf behind an edge; `None` if the edge leads to no accumulator, no handle of the leaf lives, or the leaf
    /// is not in this memory.
    pub(crate) fn leaf_of(edge: &Edge, memory: &Storage) -> Option<Arc<Meta>> {
        if !edge.node().flags().has(Flags::ACCUMULATOR) {
            return None;
        }
        let accumulator = edge.node().rule().as_any()?.downcast_ref::<Accumulate>()?;
        accumulator.leaf().filter(|_| accumulator.memory == memory.ptr().addr())
    }

    /// The leaf's shape and dtype.
    pub fn spec(&self) -> (&[usize], DType) {
        (&self.dims, self.dtype)
    }

    /// The leaf's meta, while a handle of the leaf lives.
    pub fn leaf(&self) -> Option<Arc<Meta>> {
        self.leaf.upgrade()
    }
}

impl Rule<Tensor> for Accumulate {
    fn name(&self) -> Cow<'static, str> {
        "accumulate".into()
    }

    fn backward(&self, _cx: &mut Context<'_, Tensor>) -> Result<()> {
        Ok(())
    }

    fn commit(&self, grad: Tensor, create_graph: bool) -> Result<()> {
        let Some(leaf) = self.leaf.upgrade() else {
            return Ok(());
        };
        if grad.shape() != &*self.dims || grad.dtype() != self.dtype {
            return Err(Box::new(Error::GradientShape {
                op: "backward".into(),
                got: grad.shape().into(),
                want: (&*self.dims).into(),
            }));
        }
        traced_grad_effects::note_grad_access(&leaf, true);
        leaf.accumulate(grad.separate(create_graph)?, create_graph)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
