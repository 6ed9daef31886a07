//! The tensor handle and its accessors.
//!
//! Owns: the struct every operation takes and returns. Never computes.
//! Invariant: `edge` never changes after construction; a later history (in-place change) lives in `Meta`.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::array::{Layout, Storage};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::Flags;
use crate::graph::{FORWARD, Mode};
use crate::tensor::cut::cut_edge;
use crate::tensor::{Edge, Meta, Stale};

/// A multi-dimensional array that remembers how it was computed.
///
/// Cloning copies the handle, not the data: both handles share storage and history, and, when one of
/// them already requires a gradient or has a name, that state too.
///
/// ```
/// use ferrograd::Tensor;
/// let x = Tensor::from(vec![1.0, 2.0, 3.0]).with_grad();
/// let y = (&x * &x).sum_all().unwrap();
/// y.backward().unwrap();
/// assert_eq!(x.grad().unwrap().to_vec::<f64>().unwrap(), [2.0, 4.0, 6.0]);
/// ```
#[derive(Clone)]
pub struct Tensor {
    storage: Storage,
    layout: Layout,
    dtype: DType,
    cut: bool,
    /// The storage's version when this handle got its edge: what the edge is the history of.
    version: u32,
    edge: Option<Edge>,
    meta: OnceLock<Arc<Meta>>,
}

impl Tensor {
    /// Assembles a tensor; `edge` is its place in the graph, if it has one.
    #[inline]
    pub(crate) fn assemble(
        storage: Storage,
        layout: Layout,
        dtype: DType,
        edge: Option<Edge>,
    ) -> Tensor {
        let version = if edge.is_some() { storage.version() } else { 0 };
        Tensor { storage, layout, dtype, cut: false, version, edge, meta: OnceLock::new() }
    }

    /// The same data under another layout, outside the graph.
    #[inline]
    pub(crate) fn with_layout(&self, layout: Layout) -> Tensor {
        Tensor::assemble(self.storage.clone(), layout, self.dtype, None)
    }

    /// The same data with a place in the graph.
    #[inline]
    pub(crate) fn attach(mut self, edge: Edge) -> Tensor {
        self.version = self.storage.version();
        self.edge = Some(edge);
        self
    }

    /// Whether a custom function's forward computed this from an input that requires grad, without recording.
    #[inline]
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// This result of an operation that was not recorded; inside a custom function's forward it is marked when it
    /// varies with an input that requires grad.
    #[inline]
    pub(crate) fn unrecorded<'a>(mut self, mut inputs: impl Iterator<Item = &'a Tensor>) -> Tensor {
        if Mode::current().has(FORWARD) && self.dtype.is_float() {
            self.cut = inputs.any(|x| x.cut || x.requires_grad());
        }
        self
    }

    /// The same data outside the graph, in the same handle.
    #[inline]
    pub(crate) fn without_history(mut self) -> Tensor {
        self.edge = None;
        self.meta = OnceLock::new();
        self
    }

    /// The same handle under a state that already exists (a saved leaf finds its own again).
    pub(crate) fn under(self, meta: Arc<Meta>) -> Tensor {
        let _ = self.meta.set(meta);
        self
    }

    /// The dimensions.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.layout.dims()
    }

    /// The number of dimensions.
    #[inline]
    pub fn ndim(&self) -> usize {
        self.layout.ndim()
    }

    /// The number of elements.
    #[inline]
    pub fn size(&self) -> usize {
        self.layout.numel()
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Shape and strides.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The counted buffer.
    #[inline]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The first element's address.
    #[inline]
    pub(crate) fn ptr(&self) -> *mut u8 {
        self.storage.ptr().wrapping_offset(self.layout.offset() * self.dtype.size() as isize)
    }

    /// Whether the elements lie in C order without gaps.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// How often the storage has been changed in place.
    pub fn version(&self) -> u32 {
        self.storage.version()
    }

    /// What only some tensors have, if this one has it.
    #[inline]
    pub(crate) fn meta(&self) -> Option<&Arc<Meta>> {
        self.meta.get()
    }

    /// The state of this handle, installed now if it had none.
    pub(crate) fn ensure_meta(&self) -> &Arc<Meta> {
        self.meta.get_or_init(Arc::default)
    }

    /// Whether operations on this tensor are recorded.
    #[inline]
    pub fn requires_grad(&self) -> bool {
        self.edge.is_some()
            || self.meta().is_some_and(|meta| meta.requires_grad())
            || (self.cut && cut_edge().is_some())
    }

    /// Whether no operation produced this tensor.
    pub fn is_leaf(&self) -> bool {
        match self.grad_fn() {
            None => true,
            Some(node) => node.flags().has(Flags::ACCUMULATOR),
        }
    }

    /// The edge a consumer of this tensor records: its producer's output, or a leaf's accumulator.
    /// Where the values are no longer those that were produced, it leads to a node that says so.
    #[inline]
    pub fn grad_edge(&self) -> Option<Edge> {
        match self.meta() {
            None => self.produced_edge(),
            Some(meta) if meta.is_rebased() => meta.rebased_edge(&self.storage),
            Some(meta) => meta.leaf_edge(self).or_else(|| self.produced_edge()),
        }
    }

    #[inline]
    fn produced_edge(&self) -> Option<Edge> {
        let Some(edge) = self.edge.as_ref() else {
            return if self.cut { cut_edge() } else { None };
        };
        if self.storage.version() == self.version {
            return Some(edge.clone());
        }
        Some(Stale::edge(edge, &self.storage))
    }

    /// The node that produced this tensor, or `None` for a leaf.
    pub fn grad_fn(&self) -> Option<crate::tensor::Node> {
        self.producer_edge().map(|edge| edge.node().clone())
    }

    /// The edge to the producer; a leaf has none.
    pub(crate) fn producer_edge(&self) -> Option<Edge> {
        let edge = match self.meta() {
            Some(meta) if meta.is_rebased() => meta.rebased_edge(&self.storage),
            _ => self.edge.clone(),
        };
        edge.filter(|edge| !edge.node().flags().has(Flags::ACCUMULATOR))
    }

    /// Moves this handle's history to `edge` after its storage was changed in place.
    pub(crate) fn rebase(&self, edge: Option<Edge>) {
        self.ensure_meta().rebase(edge, self.storage.version());
    }

    /// The accumulated gradient of a leaf, or of a tensor that retains its own.
    pub fn grad(&self) -> Option<Tensor> {
        self.meta().and_then(|meta| meta.grad())
    }

    /// Replaces the gradient; `None` clears it.
    pub fn set_grad(&self, grad: Option<Tensor>) -> Result<()> {
        if let Some(grad) = &grad {
            if grad.shape() != self.shape() {
                return Err(Box::new(Error::GradientShape {
                    op: "grad".into(),
                    got: grad.shape().into(),
                    want: self.shape().into(),
                }));
            }
            if grad.dtype() != self.dtype {
                return Err(Box::new(Error::DType {
                    op: "grad".into(),
                    got: grad.dtype(),
                    remedy: "give a gradient of the tensor's own dtype",
                }));
            }
        }
        self.ensure_meta().set_grad(grad);
        Ok(())
    }

    /// Marks a leaf as requiring a gradient, or takes the mark away.
    pub fn set_requires_grad(&self, on: bool) -> Result<()> {
        if !self.is_leaf() {
            if on {
                return Ok(());
            }
            return Err(Box::new(Error::State {
                op: "requires_grad".into(),
                what: "only leaf tensors can change requires_grad".into(),
                remedy: "use detach() for a tensor outside the graph",
            }));
        }
        if on && !self.dtype.is_float() {
            return Err(Box::new(Error::NotFloat { op: "requires_grad".into(), got: self.dtype }));
        }
        self.ensure_meta().set_requires_grad(on);
        Ok(())
    }

    /// This tensor as a leaf that requires a gradient. # Panics: if the dtype is not a float.
    pub fn with_grad(self) -> Tensor {
        self.set_requires_grad(true).expect("a float leaf");
        self
    }

    /// The same data outside the graph; storage and version are shared.
    pub fn detach(&self) -> Tensor {
        self.with_layout(self.layout.clone())
    }

    /// The user's name for this tensor.
    pub fn name(&self) -> Option<Arc<str>> {
        self.meta().and_then(|meta| meta.name())
    }

    /// Names this tensor in dumps and messages.
    pub fn set_name(&self, name: Option<&str>) {
        self.ensure_meta().set_name(name);
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("shape", &self.shape())
            .field("dtype", &self.dtype())
            .field("requires_grad", &self.requires_grad())
            .finish_non_exhaustive()
    }
}
