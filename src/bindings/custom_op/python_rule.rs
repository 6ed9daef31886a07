//! The node rule that calls a backward written in Python.
//! Backward runs on the thread that started the pass, attached to the interpreter; user exceptions pass unchanged.
//! Saved tensors belong to the node and are lent to the context while backward runs.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};
use smallvec::SmallVec;

use crate::bindings::attach::attached;
use crate::bindings::call::entry::existing_dict;
use crate::bindings::call::thread_state::ThreadStateGuard;
use crate::bindings::custom_op::arguments::Slots;
use crate::bindings::custom_op::context::FunctionContext;
use crate::bindings::custom_op::context_saved::{RunningBackward, SavedObjects, saved_object};
use crate::bindings::custom_op::gradients::{CheckedGradients, ReturnedGradients};
use crate::bindings::custom_op::outputs::as_tensor;
use crate::bindings::custom_op::tensor_slots::{Slot, SlotTree, rebuild};
use crate::bindings::custom_op::traced_host_callback::{
    BackwardHostSpan, HostStepCall, no_second_derivative, request_retrace,
};
use crate::bindings::errors::from_python;
use crate::bindings::object::python_rule_count::PythonRuleCount;
use crate::bindings::object::{wrap, wrap_read_only};
use crate::bindings::package;
use crate::compile::trace::buffers::was_read_refused;
use crate::error::Result;
use crate::graph::{Context, HostObjects, ModeGuard, Rule};
use crate::ops::core::shape_dtype::ShapeDType;
use crate::ops::custom_op::{SavedKind, intermediate_edge, require_all_gradients};
use crate::tensor::{Edge, Tensor, with_cut_edge};

/// The owner of backward.
pub(super) enum Callee {
    /// A `Function`: its class.
    Class(Py<PyType>),
    /// A `CustomFunction`: the instance.
    Instance(Py<PyAny>),
    /// A call of `run` or `wrap_forward`: its backward function and attributes.
    Op { backward: Py<PyAny>, attrs: Py<PyAny> },
}

/// The rule of a node made by a custom function.
pub(super) struct PythonRule {
    pub(super) name: Arc<str>,
    pub(super) callee: Callee,
    pub(super) context: Py<FunctionContext>,
    pub(super) slots: Slots,
    pub(super) inputs: SmallVec<[ShapeDType; 2]>,
    pub(super) outputs: SmallVec<[ShapeDType; 1]>,
    /// The structure of the outputs; `None` for one tensor.
    pub(super) tree: Option<Arc<SlotTree>>,
    pub(super) saved_kinds: SmallVec<[SavedKind; 4]>,
    /// Set if the call is a host-callback step of a traced function.
    pub(super) host_step: Option<HostStepCall>,
    /// Whether calls of the class must be host callbacks.
    pub(super) reads_values: Arc<AtomicBool>,
    pub(super) raw_absent: bool,
    pub(super) custom_function_rules: bool,
    /// Counts the rule for the garbage collector.
    pub(super) _count: PythonRuleCount,
}

type Cx<'a> = Context<'a, Tensor>;
/// Names and values of context attributes.
type Attributes<'py> = Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;
type Grads<'py> = SmallVec<[Bound<'py, PyAny>; 2]>;

impl PythonRule {
    pub(super) fn note(&self) -> String {
        format!("raised in the backward of {}", self.name)
    }

    fn backward_of<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let name = pyo3::intern!(py, "backward");
        match &self.callee {
            Callee::Instance(instance) => instance.bind(py).getattr(name),
            Callee::Op { backward, .. } => Ok(backward.bind(py).clone()),
            Callee::Class(class) => match class.bind(py).getattr_opt(name)? {
                Some(backward) => Ok(backward),
                None => class.bind(py).getattr(pyo3::intern!(py, "vjp")),
            },
        }
    }

    /// Restores the saved tensors with their edges, so that backward can be differentiated with respect to them. Under
    /// `create_graph`, intermediate values without history get an edge that raises.
    pub(super) fn restore(&self, py: Python<'_>, cx: &Cx<'_>) -> Result<SavedObjects> {
        let mut cut: Option<Edge> = None;
        let mut restored = SavedObjects::new();
        for (i, kind) in self.saved_kinds.iter().enumerate() {
            let tensor = match kind {
                SavedKind::Nothing => {
                    restored.push(py.None());
                    continue;
                }
                SavedKind::Intermediate if cx.create_graph() => {
                    let edge = cut
                        .get_or_insert_with(|| intermediate_edge(self.name.to_string().into(), cx));
                    cx.saved(i)?.detach().attach(edge.clone())
                }
                SavedKind::Intermediate => cx.saved(i)?.into_detached(),
                SavedKind::Tensor => cx.saved_with_edge(i)?.into_detached(),
            };
            let found = saved_object(py, tensor, self.context.get().original(py, i).as_ref());
            restored.push(found.map_err(|raised| from_python(raised, self.note()))?);
        }
        Ok(restored)
    }

    /// The arguments of backward: one gradient per output, in the structure of the outputs.
    fn gradients<'py>(&self, py: Python<'py>, cx: &mut Cx<'_>) -> PyResult<Grads<'py>> {
        if self.outputs.len() > 1 {
            require_all_gradients();
        }
        let mut leaf = |k: u32| match cx.take_grad(k as usize) {
            Some(grad) => wrap_read_only(py, grad),
            None if self.raw_absent => Ok(py.None().into_bound(py)),
            None => wrap_read_only(py, self.outputs[k as usize].zeros()?),
        };
        let mut grads = Grads::new();
        match self.tree.as_deref() {
            None => grads.push(leaf(0)?),
            Some(SlotTree::Node(node)) if node.container.is_sequence() => {
                for tree in &node.children {
                    grads.push(rebuild(py, tree, None, &mut leaf)?);
                }
            }
            Some(tree) => grads.push(rebuild(py, tree, None, &mut leaf)?),
        }
        Ok(grads)
    }

    fn call<'py>(
        &self,
        py: Python<'py>,
        backward: &Bound<'py, PyAny>,
        grads: &Grads<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let context = self.context.bind(py);
        if let Callee::Op { attrs, .. } = &self.callee {
            let grads = PyTuple::new(py, grads)?;
            let op = functor_op(&self.name, self.slots.len(), attrs, grads, context)?;
            return backward.call1((op,));
        }
        if self.custom_function_rules {
            return backward.call1((PyTuple::new(py, grads)?, context));
        }
        match grads.as_slice() {
            [grad] => backward.call1((context, grad)),
            [a, b] => backward.call1((context, a, b)),
            _ => {
                let all = std::iter::once(context.as_any()).chain(grads);
                backward.call1(PyTuple::new(py, all.collect::<Vec<_>>())?)
            }
        }
    }

    fn run(&self, py: Python<'_>, cx: &mut Cx<'_>) -> Result<()> {
        let foreign_error = |raised| from_python(raised, self.note());
        let backward = self.backward_of(py).map_err(foreign_error)?;
        let once = cx.create_graph() && is_once(&backward).map_err(foreign_error)?;
        let wanted = |slot: &Slot| matches!(slot, Slot::Tensor(i) if cx.wants(*i as usize));
        let needs = self.slots.iter().map(|slot| slot.any(&wanted)).collect();
        let restored = self.restore(py, cx)?;
        let host_span = self.host_span(py, &restored, cx)?;
        let grads = self.gradients(py, cx).map_err(foreign_error)?;
        let context = self.context.get();
        context.begin_backward(RunningBackward::new(restored, needs));
        let returned = {
            let _state = ThreadStateGuard::new(py);
            let _off = once.then(|| ModeGuard::grad(false));
            let cut = if cx.create_graph() { self.cut_attributes(py, cx) } else { Ok(Vec::new()) };
            cut.and_then(|cut| {
                let returned = self.call(py, &backward, &grads);
                self.restore_attributes(py, cut)?;
                returned
            })
        };
        context.end_backward();
        if returned.is_err()
            && self.host_step.is_none()
            && host_span.is_some()
            && was_read_refused()
        {
            return Err(request_retrace(&self.name, &self.reads_values));
        }
        let returned = returned.map_err(foreign_error)?;
        let gradients = ReturnedGradients { rule: self, once, grads: &grads };
        let mut found = CheckedGradients::new();
        gradients.collect_all(&returned, &mut found)?;
        match (host_span, &self.host_step) {
            (Some(host_span), Some(call)) => {
                found = host_span.replace(py, &self.name, call, found, cx, self.inputs.len())?;
            }
            (Some(host_span), None) if host_span.reads_values() => {
                return Err(request_retrace(&self.name, &self.reads_values));
            }
            _ => {}
        }
        gradients.pass_to_engine(&mut found, cx)
    }

    /// During a trace: begins the host span of a backward that can be repeated.
    fn host_span(
        &self,
        py: Python<'_>,
        saved: &SavedObjects,
        cx: &Cx<'_>,
    ) -> Result<Option<BackwardHostSpan>> {
        if matches!(self.callee, Callee::Op { .. }) {
            return Ok(None);
        }
        let saved = saved.iter().filter_map(|ob| as_tensor(ob.bind(py)));
        let host_span = BackwardHostSpan::begin(self.host_step.as_ref(), saved, cx);
        if host_span.is_some() && self.host_step.is_some() && cx.create_graph() {
            return Err(no_second_derivative(&self.name));
        }
        Ok(host_span)
    }

    /// Replaces context attributes that are intermediate results by tensors whose edge raises; returns the originals.
    #[cold]
    fn cut_attributes<'py>(&self, py: Python<'py>, cx: &Cx<'_>) -> PyResult<Attributes<'py>> {
        let mut originals = Attributes::new();
        let Some(dict) = existing_dict(self.context.bind(py).as_any()) else {
            return Ok(originals);
        };
        let mut edge: Option<Edge> = None;
        for (name, value) in dict.copy()?.iter() {
            let Some(tensor) = as_tensor(&value).filter(|tensor| tensor.is_cut()) else {
                continue;
            };
            let edge = edge
                .get_or_insert_with(|| intermediate_edge(self.name.to_string().into(), cx))
                .clone();
            dict.set_item(&name, wrap(py, tensor.detach().attach(edge))?)?;
            originals.push((name, value));
        }
        Ok(originals)
    }

    fn restore_attributes(&self, py: Python<'_>, originals: Attributes<'_>) -> PyResult<()> {
        if originals.is_empty() {
            return Ok(());
        }
        let dict = existing_dict(self.context.bind(py).as_any());
        dict.map_or(Ok(()), |dict| {
            originals.into_iter().try_for_each(|(name, value)| dict.set_item(name, value))
        })
    }
}

/// Whether this backward is marked `once_differentiable`.
fn is_once(backward: &Bound<'_, PyAny>) -> PyResult<bool> {
    match backward.getattr_opt(pyo3::intern!(backward.py(), "__once_differentiable__"))? {
        Some(mark) => mark.is_truthy(),
        None => Ok(false),
    }
}

/// Shape and dtype of the outputs of a custom function's node; `None` for any other node.
pub(crate) fn output_specs(node: &crate::tensor::Node) -> Option<&[ShapeDType]> {
    Some(&node.rule().as_any()?.downcast_ref::<PythonRule>()?.outputs)
}

/// The attributes of a custom function's call, if it has any.
pub(crate) fn attributes_of<'py>(
    py: Python<'py>,
    node: &crate::tensor::Node,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let rule = node.rule().as_any().and_then(|rule| rule.downcast_ref::<PythonRule>());
    match rule.map(|rule| (&rule.callee, &rule.context)) {
        None => Ok(None),
        Some((Callee::Op { attrs, .. }, _)) => Ok(Some(attrs.bind(py).clone())),
        Some((_, context)) => context.bind(py).getattr_opt(pyo3::intern!(py, "attrs")),
    }
}

/// Whether a node is a custom function's.
pub(crate) fn is_custom(node: &crate::tensor::Node) -> bool {
    node.rule().as_any().is_some_and(|rule| rule.is::<PythonRule>())
}

/// The context of a custom function's node; `None` for any other node.
pub(crate) fn context_of<'py>(
    py: Python<'py>,
    node: &crate::tensor::Node,
) -> Option<Bound<'py, PyAny>> {
    let rule = node.rule().as_any()?.downcast_ref::<PythonRule>()?;
    Some(rule.context.bind(py).clone().into_any())
}

impl Rule<Tensor> for PythonRule {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.name)
    }

    fn backward(&self, cx: &mut Cx<'_>) -> Result<()> {
        if !cx.create_graph() {
            return attached(|py| self.run(py, cx));
        }
        // Whatever forward left behind outside the context, in a closure say, refuses as well.
        let edge = intermediate_edge(self.name.to_string().into(), cx);
        with_cut_edge(edge, || attached(|py| self.run(py, cx)))
    }

    fn jvp(&self, cx: &mut Cx<'_>) -> Result<bool> {
        attached(|py| self.run_jvp(py, cx))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn host_objects(&self) -> Option<&dyn HostObjects> {
        Some(self)
    }
}

impl HostObjects for PythonRule {
    fn visit(&self, visit: &mut dyn FnMut(&dyn Any)) {
        visit(self.context.as_any());
        match &self.callee {
            Callee::Class(class) => visit(class.as_any()),
            Callee::Instance(instance) => visit(instance),
            Callee::Op { backward, attrs } => {
                visit(backward);
                visit(attrs);
            }
        }
        let mut own = |ob: &Py<PyAny>| visit(ob);
        self.slots.iter().for_each(|slot| slot.visit(&mut own));
        if let Some(call) = &self.host_step {
            own(&call.object);
        }
        if let Some(tree) = &self.tree
            && Arc::strong_count(tree) == 1
        {
            tree.visit(&mut own);
        }
    }

    fn clear(&self) {
        self.context.get().release();
    }
}

/// The argument of a functor's backward function: an `Op` of `ferrograd.functors`.
fn functor_op<'py>(
    name: &str,
    inputs: usize,
    attrs: &Py<PyAny>,
    grads: Bound<'py, PyTuple>,
    context: &Bound<'py, FunctionContext>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = context.py();
    let class = package::FUNCTOR_OPERATION.get(py)?;
    let saved = context.get().saved(py)?;
    let (sources, outputs) = saved.split_at(inputs);
    class.call1((
        PyString::new(py, name),
        PyTuple::new(py, sources)?,
        PyTuple::new(py, outputs)?,
        attrs,
        grads,
        context.get().needs_input_grad(py)?,
    ))
}
