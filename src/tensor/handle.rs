//! `Tensor`: the handle and its accessors.
//!
//! Invariant: `edge` never changes after construction; a later edge (after an in-place write) is in `Meta` or in the
//! memory's `History`.

use std::sync::{Arc, OnceLock};

use crate::array::{Layout, Storage};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{self, CHECK_NAN, Mode, Value};
use crate::tensor::traced_grad_effects;
use crate::tensor::{AtomicDetachReason, Edge, Meta, TensorFlags, ViewOrigin};

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
    pub(super) flags: TensorFlags,
    /// How the view was made, if it is a view.
    pub(super) view_origin: ViewOrigin,
    /// Why there is no history, for `explain_no_grad`.
    pub(super) detach_reason: AtomicDetachReason,
    /// The storage's version to which `edge` (or its absence) belongs.
    pub(super) version: u32,
    pub(super) edge: Option<Edge>,
    pub(super) meta: OnceLock<Arc<Meta>>,
}

impl Clone for Tensor {
    /// A detached tensor, and a view whose memory was written, get their meta first: then the clone shares the history of the
    /// one, and the new edge of the other.
    #[inline]
    fn clone(&self) -> Tensor {
        let is_stale =
            || self.flags.has(TensorFlags::VIEW) && self.version != self.storage.version();
        if self.flags.has(TensorFlags::DETACHED) || is_stale() {
            self.ensure_meta();
        }
        Tensor {
            storage: self.storage.clone(),
            layout: self.layout.clone(),
            dtype: self.dtype,
            flags: self.flags,
            view_origin: self.view_origin,
            detach_reason: self.detach_reason.clone(),
            version: self.version,
            edge: self.edge.clone(),
            meta: self.meta.clone(),
        }
    }
}

// Larger values are moved by calls of memcpy, in every operation.
const _: () = assert!(size_of::<Tensor>() <= 128);

impl Tensor {
    /// A tensor from its fields; `edge` is its producer's, if any.
    #[inline]
    pub(crate) fn assemble(
        storage: Storage,
        layout: Layout,
        dtype: DType,
        edge: Option<Edge>,
    ) -> Tensor {
        let (flags, view_origin) = (TensorFlags::default(), ViewOrigin::default());
        let (detach_reason, version, meta) =
            (AtomicDetachReason::unknown(), storage.version(), OnceLock::new());
        Tensor { storage, layout, dtype, flags, view_origin, detach_reason, version, edge, meta }
    }

    /// A view of the same data with another layout, outside the graph.
    #[inline]
    pub(crate) fn with_layout(&self, layout: Layout) -> Tensor {
        let mut view = Tensor::assemble(self.storage.clone(), layout, self.dtype, None);
        view.flags = self.flags.with(TensorFlags::VIEW);
        view.view_origin = self.view_origin;
        if self.flags.has(TensorFlags::DETACHED) {
            self.join_history(&view);
        }
        view
    }

    /// A view of the same memory with another layout and dtype, outside the graph.
    #[inline]
    pub(crate) fn with_region(&self, layout: Layout, dtype: DType) -> Tensor {
        let mut view = self.with_layout(layout);
        view.dtype = dtype;
        view
    }

    /// This handle with another layout and dtype.
    #[inline]
    pub(crate) fn with_layout_and_dtype(mut self, layout: Layout, dtype: DType) -> Tensor {
        (self.layout, self.dtype) = (layout, dtype);
        self
    }

    /// This handle with another layout.
    #[inline]
    pub(crate) fn into_layout(mut self, layout: Layout) -> Tensor {
        self.layout = layout;
        self
    }

    /// Whether the tensor has no history, meta, flags or cut cause.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.has_no_autograd_state() && self.detach_reason.is_unknown()
    }

    /// Whether the tensor has no history, meta or flags.
    #[inline(always)]
    pub(crate) fn has_no_autograd_state(&self) -> bool {
        let unmarked = self.flags.without(TensorFlags::MEMORY) == TensorFlags::default()
            && self.version == self.storage.version();
        unmarked && self.edge.is_none() && self.meta.get().is_none()
    }

    /// This data as an output of a node.
    #[inline]
    pub(crate) fn attach(mut self, edge: Edge) -> Tensor {
        self.set_edge(edge);
        self
    }

    /// `attach` for a result that was just computed: its version is current.
    #[inline(always)]
    pub(crate) fn recorded(self, edge: Edge) -> Tensor {
        if let Some(attachments) = edge.node().attachments() {
            self.note_nan(attachments);
        }
        Tensor { edge: Some(edge), ..self }
    }

    /// Makes this data an output of a node.
    #[inline]
    pub(crate) fn set_edge(&mut self, edge: Edge) {
        self.version = self.storage.version();
        if let Some(attachments) = edge.node().attachments() {
            self.note_nan(attachments);
        }
        self.edge = Some(edge);
    }

    /// Notes NaN in the result of an operation (anomaly mode).
    #[cold]
    pub(super) fn note_nan(&self, attachments: &graph::Attachments<Tensor>) {
        if Mode::current().has(CHECK_NAN) && self.holds_nan() {
            attachments.mark_nan();
        }
    }

    /// Notes a write by `op`; returns the new version.
    pub(crate) fn changed_in_place(&self, op: &'static str) -> u32 {
        match graph::current_call_site() {
            None => self.storage.bump_version(op),
            Some(site) => self.storage.bump_version_at(op, graph::innermost_line(&site)),
        }
    }

    /// Replaces the name of the last writer; the version stays.
    #[cfg(feature = "python")]
    pub(crate) fn set_last_writer(&self, op: &'static str) {
        let site = graph::current_call_site();
        self.storage.set_last_writer(op, site.as_deref().map(graph::innermost_line));
    }

    #[inline(always)]
    pub(crate) fn flags(&self) -> TensorFlags {
        self.flags
    }

    /// How this view was made; `Plain` for other tensors.
    #[inline]
    pub(crate) fn view_origin(&self) -> ViewOrigin {
        self.view_origin
    }

    /// This handle with more flags.
    #[inline]
    pub(crate) fn marked(mut self, flags: TensorFlags) -> Tensor {
        self.flags = self.flags.with(flags);
        self
    }

    /// This handle without some flags.
    #[inline]
    pub(crate) fn unmarked(mut self, flags: TensorFlags) -> Tensor {
        self.flags = self.flags.without(flags);
        self
    }

    /// This gradient for user code: its memory may be shared, so in-place writes are refused.
    #[cfg(feature = "python")]
    pub(crate) fn read_only(self) -> Tensor {
        // A handle with a meta may be in use elsewhere: make a new read-only handle.
        if self.meta().is_none() {
            return self.marked(TensorFlags::READ_ONLY);
        }
        let copy = match self.grad_edge() {
            None => self.detach(),
            Some(edge) => self.detach().attach(edge),
        };
        copy.marked(TensorFlags::READ_ONLY)
    }

    /// A gradient that user code returned.
    pub(crate) fn writable(mut self) -> Tensor {
        self.flags = self.flags.without(TensorFlags::READ_ONLY);
        self
    }

    /// Whether this is a gradient passed to user code, or a view of one.
    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.flags.has(TensorFlags::READ_ONLY)
    }

    /// Whether a custom function's unrecorded forward computed this from an input that requires grad.
    #[inline]
    pub(crate) fn is_cut(&self) -> bool {
        self.flags.has(TensorFlags::CUT)
            || (self.storage.version() != self.version && self.history_is_cut())
    }

    /// Whether this was made in inference mode, so that it must not be saved.
    #[inline]
    pub fn is_inference(&self) -> bool {
        self.flags.has(TensorFlags::INFERENCE)
    }

    /// Whether this shows memory of another tensor.
    pub fn is_view(&self) -> bool {
        self.flags.has(TensorFlags::VIEW)
    }

    /// Whether this is a value, like NumPy's scalars: 0-d, and `x += y` makes a new one. Any other tensor is memory, like NumPy's
    /// arrays, also if it is 0-d.
    #[inline]
    pub fn is_value(&self) -> bool {
        self.ndim() == 0 && !self.is_memory()
    }

    /// Whether this is memory although it may be 0-d.
    fn is_memory(&self) -> bool {
        self.flags.has(TensorFlags::MEMORY)
            || self.flags.has(TensorFlags::VIEW)
            || self.meta().is_some_and(|meta| meta.is_memory())
    }

    /// This handle as memory, if it is 0-d.
    #[inline]
    pub(crate) fn into_memory(self) -> Tensor {
        if self.ndim() == 0 { self.marked(TensorFlags::MEMORY) } else { self }
    }

    /// This 0-d result as a value, although it shows the memory of an intermediate result or of a value.
    #[cfg(feature = "python")]
    pub(crate) fn into_value(mut self) -> Tensor {
        if self.ndim() == 0 {
            self.flags = self.flags.without(TensorFlags::VIEW);
            if self.view_origin != ViewOrigin::Element {
                self.view_origin = ViewOrigin::Plain;
            }
        }
        self
    }

    /// A read element as an ordinary result of an operation.
    pub(crate) fn into_result(mut self) -> Tensor {
        self.view_origin = ViewOrigin::Plain;
        self
    }

    /// Makes a 0-d tensor memory.
    pub(crate) fn become_memory(&self) {
        if self.is_value() {
            self.ensure_meta().set_memory();
        }
    }

    /// This 0-d handle as memory or value, like `source`.
    pub(crate) fn with_kind_of(self, source: &Tensor) -> Tensor {
        if source.is_value() { self } else { self.into_memory() }
    }

    /// This handle outside the graph.
    #[inline]
    pub(crate) fn without_history(mut self) -> Tensor {
        self.clear_history();
        self
    }

    /// Takes the only handle of a memory out of the graph.
    #[inline]
    pub(crate) fn clear_history(&mut self) {
        self.edge = None;
        self.meta = OnceLock::new();
        self.make_owner();
    }

    /// The only handle of a memory, which is therefore neither a view nor a data handle.
    #[cfg(feature = "python")]
    pub(crate) fn owner(mut self) -> Tensor {
        self.make_owner();
        self
    }

    #[inline]
    fn make_owner(&mut self) {
        let made =
            self.flags.has(TensorFlags::INFERENCE) || self.view_origin == ViewOrigin::InferenceMode;
        let memory = if self.flags.has(TensorFlags::MEMORY) {
            TensorFlags::MEMORY
        } else {
            TensorFlags::default()
        };
        self.flags = if made { memory.with(TensorFlags::INFERENCE) } else { memory };
        self.view_origin = ViewOrigin::Plain;
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

    /// The storage.
    #[inline]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Whether a result may overwrite the elements: they are contiguous, and the memory has no other handle.
    #[inline(always)]
    pub(crate) fn is_overwritable(&self) -> bool {
        self.is_contiguous() && self.storage.is_reusable()
    }

    /// As `is_overwritable`, but a trace of this thread may hold the memory: it sees what is written.
    #[inline]
    pub(crate) fn is_overwritable_in_trace(&self) -> bool {
        self.is_contiguous() && self.storage.is_exclusive()
    }

    /// The address of the first element.
    #[inline]
    pub(crate) fn ptr(&self) -> *mut u8 {
        self.storage.ptr().wrapping_offset(self.layout.offset() * self.dtype.size() as isize)
    }

    /// Whether the elements are contiguous in C order.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// How often the storage was written in place.
    pub fn version(&self) -> u32 {
        self.storage.version()
    }

    /// The meta of this handle, if any.
    #[inline]
    pub(crate) fn meta(&self) -> Option<&Arc<Meta>> {
        self.meta.get()
    }

    /// The meta of this handle, created if there was none.
    pub(crate) fn ensure_meta(&self) -> &Arc<Meta> {
        self.meta.get_or_init(Arc::default)
    }

    /// The nodes that only this handle holds, one entry per count; not those that other handles' metas hold as well.
    #[cfg(feature = "python")]
    pub(crate) fn owned_nodes(&self) -> Vec<crate::tensor::Node> {
        let mut nodes: Vec<_> = self.edge.iter().map(|edge| edge.node().clone()).collect();
        if let Some(meta) = self.meta().filter(|meta| Arc::strong_count(meta) == 1) {
            meta.owned_nodes(&mut nodes);
        }
        self.written_nodes(&mut nodes);
        nodes
    }

    /// Whether this handle and its meta count `node` exactly once.
    #[cfg(feature = "python")]
    pub(crate) fn counts_once(&self, node: &crate::tensor::Node) -> bool {
        self.owned_nodes().iter().filter(|own| *own == node).count() == 1
    }

    /// The accumulated gradient of a leaf, or of a tensor that retains its gradient. Later passes do not write to the returned
    /// tensor: while a handle of it lives, they make a new gradient. (With a host's lock, as in Python, passes of the same
    /// thread add to it in place.)
    pub fn grad(&self) -> Option<Tensor> {
        let meta = self.meta()?;
        traced_grad_effects::note_grad_access(meta, true);
        meta.grad_for_user()
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
        traced_grad_effects::note_grad_access(meta, false);
        meta.set_grad(grad);
        Ok(())
    }

    /// The user's name for this tensor.
    pub fn name(&self) -> Option<Arc<str>> {
        self.meta().and_then(|meta| meta.name())
    }

    /// Sets the name shown in dumps and messages.
    pub fn set_name(&self, name: Option<&str>) {
        self.ensure_meta().set_name(name);
    }
}
