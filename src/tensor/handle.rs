//! The tensor handle and its accessors.
//!
//! Owns: the struct every operation takes and returns. Never computes.
//! Invariant: `edge` never changes after construction; a later history (in-place change) lives in `Meta` and in
//! the family's `History`.

use std::sync::{Arc, OnceLock};

use crate::array::{Layout, Storage};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{self, CHECK_NAN, Mode, Value};
use crate::tensor::effects;
use crate::tensor::{Creation, CutCause, Edge, Marks, Meta};

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
pub struct Tensor {
    pub(super) storage: Storage,
    pub(super) layout: Layout,
    pub(super) dtype: DType,
    pub(super) marks: Marks,
    /// How it was made, if it is a view.
    pub(super) creation: Creation,
    /// Why there is no history, for `explain_no_grad`.
    pub(super) cut_cause: CutCause,
    /// The storage's version when this handle got its edge, or its lack of one.
    pub(super) version: u32,
    pub(super) edge: Option<Edge>,
    pub(super) meta: OnceLock<Arc<Meta>>,
}

impl Clone for Tensor {
    /// A detached tensor and a view whose memory was changed share their state first: so the clone finds the family
    /// of the one, and both get the same new edge of the other.
    #[inline]
    fn clone(&self) -> Tensor {
        let stale = || self.marks.has(Marks::VIEW) && self.version != self.storage.version();
        if self.marks.has(Marks::DETACHED) || stale() {
            self.ensure_meta();
        }
        Tensor {
            storage: self.storage.clone(),
            layout: self.layout.clone(),
            dtype: self.dtype,
            marks: self.marks,
            creation: self.creation,
            cut_cause: self.cut_cause.clone(),
            version: self.version,
            edge: self.edge.clone(),
            meta: self.meta.clone(),
        }
    }
}

// Larger values are moved by calls of memcpy, which every operation would pay.
const _: () = assert!(size_of::<Tensor>() <= 128);

impl Tensor {
    /// Assembles a tensor; `edge` is its producer's, if it has one.
    #[inline]
    pub(crate) fn assemble(
        storage: Storage,
        layout: Layout,
        dtype: DType,
        edge: Option<Edge>,
    ) -> Tensor {
        let (marks, creation) = (Marks::default(), Creation::default());
        let (cut_cause, version, meta) = (CutCause::unknown(), storage.version(), OnceLock::new());
        Tensor { storage, layout, dtype, marks, creation, cut_cause, version, edge, meta }
    }

    /// The same data under another layout, outside the graph: a view.
    #[inline]
    pub(crate) fn with_layout(&self, layout: Layout) -> Tensor {
        let mut view = Tensor::assemble(self.storage.clone(), layout, self.dtype, None);
        view.marks = self.marks.and(Marks::VIEW);
        view.creation = self.creation;
        if self.marks.has(Marks::DETACHED) {
            self.link(&view);
        }
        view
    }

    /// The same data as elements of another dtype, outside the graph: a view.
    #[inline]
    pub(crate) fn with_region(&self, layout: Layout, dtype: DType) -> Tensor {
        let mut view = self.with_layout(layout);
        view.dtype = dtype;
        view
    }

    /// This handle on its memory as elements of another dtype.
    #[inline]
    pub(crate) fn recast(mut self, layout: Layout, dtype: DType) -> Tensor {
        (self.layout, self.dtype) = (layout, dtype);
        self
    }

    /// This handle under another layout.
    #[inline]
    pub(crate) fn relaid(mut self, layout: Layout) -> Tensor {
        self.layout = layout;
        self
    }

    /// Whether this is data alone: without history, state, marks or a note why there is no history.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.is_data() && self.cut_cause.is_unknown()
    }

    /// The same, but perhaps with a note why there is no history.
    #[inline(always)]
    pub(crate) fn is_data(&self) -> bool {
        let unmarked = self.marks.without(Marks::MEMORY) == Marks::default()
            && self.version == self.storage.version();
        unmarked && self.edge.is_none() && self.meta.get().is_none()
    }

    /// The same data as an output of a node.
    #[inline]
    pub(crate) fn attach(mut self, edge: Edge) -> Tensor {
        self.set_edge(edge);
        self
    }

    /// The same for a result that has just been computed: nothing but the edge is written.
    #[inline(always)]
    pub(crate) fn recorded(self, edge: Edge) -> Tensor {
        if let Some(extras) = edge.node().extras() {
            self.note_nan(extras);
        }
        Tensor { edge: Some(edge), ..self }
    }

    /// Makes this data an output of a node.
    #[inline]
    pub(crate) fn set_edge(&mut self, edge: Edge) {
        self.version = self.storage.version();
        if let Some(extras) = edge.node().extras() {
            self.note_nan(extras);
        }
        self.edge = Some(edge);
    }

    /// In anomaly mode an operation remembers that its result held NaN.
    #[cold]
    pub(super) fn note_nan(&self, extras: &graph::Extras<Tensor>) {
        if Mode::current().has(CHECK_NAN) && self.holds_nan() {
            extras.mark_nan();
        }
    }

    /// Tells the other handles of the memory that `op` changed it; returns the new version.
    pub(crate) fn changed_in_place(&self, op: &'static str) -> u32 {
        match graph::here() {
            None => self.storage.bump_version(op),
            Some(site) => self.storage.bump_version_at(op, graph::latest(&site)),
        }
    }

    /// Names `op` as what made the last change, whose version stays.
    #[cfg(feature = "python")]
    pub(crate) fn credit_change(&self, op: &'static str) {
        let site = graph::here();
        self.storage.credit_change(op, site.as_deref().map(graph::latest));
    }

    #[inline(always)]
    pub(crate) fn marks(&self) -> Marks {
        self.marks
    }

    /// How this view was made; `Plain` for a tensor that is none.
    #[inline]
    pub(crate) fn creation(&self) -> Creation {
        self.creation
    }

    /// The same handle with more marks.
    #[inline]
    pub(crate) fn marked(mut self, marks: Marks) -> Tensor {
        self.marks = self.marks.and(marks);
        self
    }

    /// The same handle without some of its marks.
    #[inline]
    pub(crate) fn unmarked(mut self, marks: Marks) -> Tensor {
        self.marks = self.marks.without(marks);
        self
    }

    /// This gradient as user code is given it: others may share its memory, so changing it in place refuses.
    #[cfg(feature = "python")]
    pub(crate) fn read_only(self) -> Tensor {
        // A handle with state is somebody's own; the read-only one is another.
        if self.meta().is_none() {
            return self.marked(Marks::READ_ONLY);
        }
        let shown = match self.grad_edge() {
            None => self.detach(),
            Some(edge) => self.detach().attach(edge),
        };
        shown.marked(Marks::READ_ONLY)
    }

    /// A gradient that comes back from user code.
    pub(crate) fn writable(mut self) -> Tensor {
        self.marks = self.marks.without(Marks::READ_ONLY);
        self
    }

    /// Whether this is a gradient that user code was given, or a view of one.
    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.marks.has(Marks::READ_ONLY)
    }

    /// Whether a custom function's forward computed this from an input that requires grad, without recording.
    #[inline]
    pub(crate) fn is_cut(&self) -> bool {
        self.marks.has(Marks::CUT)
            || (self.storage.version() != self.version && self.history_is_cut())
    }

    /// Whether this was made in inference mode, so that nothing may save it.
    #[inline]
    pub fn is_inference(&self) -> bool {
        self.marks.has(Marks::INFERENCE)
    }

    /// Whether this shows memory of another tensor.
    pub fn is_view(&self) -> bool {
        self.marks.has(Marks::VIEW)
    }

    /// Whether this is a value, as NumPy's scalars are: it has no axes, and `x += y` makes a new one. Any other tensor is
    /// memory, as NumPy's arrays are, with axes or without.
    #[inline]
    pub fn is_value(&self) -> bool {
        self.ndim() == 0 && !self.is_memory()
    }

    /// Whether this is memory although it has no axes.
    fn is_memory(&self) -> bool {
        self.marks.has(Marks::MEMORY)
            || self.marks.has(Marks::VIEW)
            || self.meta().is_some_and(|meta| meta.is_memory())
    }

    /// This handle as one of memory, if it has no axes.
    #[inline]
    pub(crate) fn into_memory(self) -> Tensor {
        if self.ndim() == 0 { self.marked(Marks::MEMORY) } else { self }
    }

    /// This result without axes as a value, although it shows the memory of an intermediate result, or of a value.
    #[cfg(feature = "python")]
    pub(crate) fn into_value(mut self) -> Tensor {
        if self.ndim() == 0 {
            self.marks = self.marks.without(Marks::VIEW);
            if self.creation != Creation::Element {
                self.creation = Creation::Plain;
            }
        }
        self
    }

    /// An element that was read, as a result that an operation computed.
    pub(crate) fn into_result(mut self) -> Tensor {
        self.creation = Creation::Plain;
        self
    }

    /// Makes this memory from now on, if it has no axes.
    pub(crate) fn become_memory(&self) {
        if self.is_value() {
            self.ensure_meta().set_memory();
        }
    }

    /// This handle as one of the same kind as `source` where neither has axes.
    pub(crate) fn in_kind_of(self, source: &Tensor) -> Tensor {
        if source.is_value() { self } else { self.into_memory() }
    }

    /// The same data outside the graph, in the same handle.
    #[inline]
    pub(crate) fn without_history(mut self) -> Tensor {
        self.forget();
        self
    }

    /// Takes this only handle of its memory out of the graph.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.edge = None;
        self.meta = OnceLock::new();
        self.own();
    }

    /// This only handle of its memory, which is therefore neither a view nor a data handle.
    #[cfg(feature = "python")]
    pub(crate) fn owner(mut self) -> Tensor {
        self.own();
        self
    }

    #[inline]
    fn own(&mut self) {
        let made = self.marks.has(Marks::INFERENCE) || self.creation == Creation::InferenceMode;
        let memory = if self.marks.has(Marks::MEMORY) { Marks::MEMORY } else { Marks::default() };
        self.marks = if made { memory.and(Marks::INFERENCE) } else { memory };
        self.creation = Creation::Plain;
        if self.storage.is_data_handle() {
            self.storage = self.storage.full_handle();
        }
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

    /// Whether a result may be written over the elements: they lie in a row, and nobody else has them.
    #[inline(always)]
    pub(crate) fn lends_memory(&self) -> bool {
        self.is_contiguous() && self.storage.is_reusable()
    }

    /// The same, where a capture of this thread may have the memory as well: what is written then is recorded.
    #[inline]
    pub(crate) fn is_changeable(&self) -> bool {
        self.is_contiguous() && self.storage.is_separate()
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

    /// The nodes that this handle alone holds, one entry for each count; none that another handle's state holds too.
    #[cfg(feature = "python")]
    pub(crate) fn owned_nodes(&self) -> Vec<crate::tensor::Node> {
        let mut nodes: Vec<_> = self.edge.iter().map(|edge| edge.node().clone()).collect();
        if let Some(meta) = self.meta().filter(|meta| Arc::strong_count(meta) == 1) {
            meta.owned_nodes(&mut nodes);
        }
        self.written_nodes(&mut nodes);
        nodes
    }

    /// Whether this handle, with its state, counts `node` exactly once.
    #[cfg(feature = "python")]
    pub(crate) fn counts_once(&self, node: &crate::tensor::Node) -> bool {
        self.owned_nodes().iter().filter(|own| *own == node).count() == 1
    }

    /// The accumulated gradient of a leaf, or of a tensor that retains its own. Later passes do not write to what this
    /// returns: as long as somebody has it, they make a new gradient. (Where a host's lock orders threads, as in Python,
    /// passes of the thread that asked add to it in place.)
    pub fn grad(&self) -> Option<Tensor> {
        let meta = self.meta()?;
        effects::touch(meta, true);
        meta.lend_grad()
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
        let meta = self.ensure_meta();
        effects::touch(meta, false);
        meta.set_grad(grad);
        Ok(())
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
