//! Hooks written in Python on gradients, nodes and leaves, and the handles that remove them. Hooks see read-only
//! gradients; a replacement must have the same shape and dtype.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::bindings::attach::attached;
use crate::bindings::call::callback::Callback;
use crate::bindings::call::convert::tensor_of;
use crate::bindings::call::thread_state::ThreadStateGuard;
use crate::bindings::errors::{from_python, to_python, type_name};
use crate::bindings::object::{PyTensor, object_of, set_identity, wrap_read_only};
use crate::error::{Error, Result};
use crate::graph::{Flags, Hook, HostObjects, NodeHook, NodeId, RunningPass, recording};
use crate::ops::core::broadcast::astype;
use crate::ops::core::shape_dtype::ShapeDType;
use crate::tensor::{Edge, Meta, Node, Tensor};

fn name_of(function: &Bound<'_, PyAny>) -> String {
    let name = function.getattr_opt("__qualname__").ok().flatten();
    let name = name.and_then(|name| name.extract::<String>().ok());
    format!("hook {}", name.unwrap_or_else(|| type_name(function)))
}

fn note(function: &Bound<'_, PyAny>) -> String {
    format!("raised in the {}", name_of(function))
}

fn read_only_all<'py>(py: Python<'py>, grads: &[Option<Tensor>]) -> PyResult<Bound<'py, PyTuple>> {
    let grads: PyResult<Vec<_>> = grads
        .iter()
        .map(|grad| grad.clone().map(|grad| wrap_read_only(py, grad)).transpose())
        .collect();
    PyTuple::new(py, grads?)
}

/// Converts the return value of a hook to a replacement gradient; None keeps the old one.
fn replacement(
    function: &Bound<'_, PyAny>,
    returned: &Bound<'_, PyAny>,
    like: &ShapeDType,
) -> Result<Option<Tensor>> {
    if returned.is_none() {
        return Ok(None);
    }
    let (new, is_tensor) = match returned.cast::<PyTensor>() {
        Ok(tensor) => (tensor.get().tensor.clone().writable(), true),
        Err(_) => {
            let name = name_of(function);
            let new = tensor_of(&name, "the returned gradient", returned);
            (new.map_err(|raised| from_python(raised, ""))?.into_owned()?, false)
        }
    };
    if new.shape() != &like.dims[..] {
        return Err(Box::new(Error::GradientShape {
            op: name_of(function).into(),
            got: new.shape().into(),
            want: (&like.dims[..]).into(),
        }));
    }
    if is_tensor && new.dtype() != like.dtype {
        let what = format!("the gradient is {} and the hook returned {}", like.dtype, new.dtype());
        let remedy = "return a gradient of the same dtype, or an array, which is converted".into();
        return Err(Error::ArgumentType { op: name_of(function).into(), what, remedy }.into());
    }
    let new = astype(&new, like.dtype)?;
    Ok(Some(if recording() { new } else { new.detach() }))
}

/// A tensor's gradient hook.
struct GradientHook(Callback);

impl Hook<Tensor> for GradientHook {
    fn call(&self, grad: Tensor, _pass: &dyn RunningPass<Tensor>) -> Result<Option<Tensor>> {
        attached(|py| {
            let Some(function) = self.0.get(py) else { return Ok(None) };
            let _state = ThreadStateGuard::new(py);
            let like = ShapeDType::of(&grad);
            let returned = wrap_read_only(py, grad).and_then(|grad| function.call1((grad,)));
            let returned = returned.map_err(|raised| from_python(raised, note(&function)))?;
            replacement(&function, &returned, &like)
        })
    }

    fn host_objects(&self) -> Option<&dyn HostObjects> {
        Some(&self.0)
    }
}

/// A hook before a node (`f(grad_outputs)`) or after it (`f(grad_inputs, grad_outputs)`).
struct PythonNodeHook(Callback);

impl PythonNodeHook {
    /// Converts the return value to replacements of `old`.
    fn replacements(
        function: &Bound<'_, PyAny>,
        returned: &Bound<'_, PyAny>,
        old: &[Option<Tensor>],
    ) -> Result<Option<Vec<Option<Tensor>>>> {
        if returned.is_none() {
            return Ok(None);
        }
        let items: Vec<Bound<'_, PyAny>> = match returned.cast::<PyTuple>() {
            Ok(tuple) => tuple.iter().collect(),
            Err(_) => vec![returned.clone()],
        };
        if items.len() != old.len() {
            let what = format!("{} gradients were returned for {}", items.len(), old.len());
            let remedy = "return one entry for each, None where there is no gradient".into();
            return Err(Error::Argument { op: name_of(function).into(), what, remedy }.into());
        }
        let replace = |(item, old): (&Bound<'_, PyAny>, &Option<Tensor>)| match old {
            Some(old) => {
                Ok(replacement(function, item, &ShapeDType::of(old))?.or(Some(old.clone())))
            }
            None if item.is_none() => Ok(None),
            None => Err(Box::new(Error::Argument {
                op: name_of(function).into(),
                what: "a gradient was returned where there is none".into(),
                remedy: "return None there".into(),
            })),
        };
        items.iter().zip(old).map(replace).collect::<Result<Vec<_>>>().map(Some)
    }
}

impl NodeHook<Tensor> for PythonNodeHook {
    fn call(
        &self,
        inputs: Option<&[Option<Tensor>]>,
        outputs: &[Option<Tensor>],
    ) -> Result<Option<Vec<Option<Tensor>>>> {
        attached(|py| {
            let Some(function) = self.0.get(py) else { return Ok(None) };
            let _state = ThreadStateGuard::new(py);
            let returned = read_only_all(py, outputs).and_then(|outputs| match inputs {
                None => function.call1((outputs,)),
                Some(inputs) => function.call1((read_only_all(py, inputs)?, outputs)),
            });
            let returned = returned.map_err(|raised| from_python(raised, note(&function)))?;
            PythonNodeHook::replacements(&function, &returned, inputs.unwrap_or(outputs))
        })
    }

    fn host_objects(&self) -> Option<&dyn HostObjects> {
        Some(&self.0)
    }
}

/// A post-accumulate hook of a leaf: `f(leaf)`.
struct PostAccumulateHook {
    callback: Callback,
    leaf: std::sync::Weak<Meta>,
}

impl NodeHook<Tensor> for PostAccumulateHook {
    fn call(
        &self,
        _inputs: Option<&[Option<Tensor>]>,
        _outputs: &[Option<Tensor>],
    ) -> Result<Option<Vec<Option<Tensor>>>> {
        attached(|py| {
            let leaf = self.leaf.upgrade().and_then(|meta| object_of(py, &meta));
            if let (Some(function), Some(leaf)) = (self.callback.get(py), leaf) {
                let _state = ThreadStateGuard::new(py);
                let done = function.call1((leaf,));
                done.map_err(|raised| from_python(raised, note(&function)))?;
            }
            Ok(None)
        })
    }

    fn host_objects(&self) -> Option<&dyn HostObjects> {
        Some(&self.callback)
    }
}

/// What removes a hook: call `remove()`, or use it in a `with` statement.
#[pyclass(name = "RemovableHandle", module = "ferrograd.autograd.graph", frozen)]
pub(crate) struct RemovableHandle {
    hooks: Vec<(NodeId<Tensor>, u64)>,
}

impl RemovableHandle {
    pub(super) fn new(hooks: Vec<(NodeId<Tensor>, u64)>) -> RemovableHandle {
        RemovableHandle { hooks }
    }

    fn one(node: &Node, key: u64) -> RemovableHandle {
        RemovableHandle::new(vec![(node.id(), key)])
    }
}

#[pymethods]
impl RemovableHandle {
    /// Removes the hook; a second call does nothing.
    fn remove(&self) {
        for (id, key) in &self.hooks {
            if let Some(node) = id.upgrade() {
                node.attachments_or_new().remove(*key);
            }
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.remove();
    }
}

/// Attaches a hook to the gradient that flows into `edge`.
pub(super) fn attach(edge: &Edge, hook: Arc<dyn Hook<Tensor>>) -> (NodeId<Tensor>, u64) {
    let node = edge.node();
    let key = node.attachments_or_new().add_output_hook(edge.output(), hook);
    node.add_flags(Flags::HOST_OBJECTS);
    (node.id(), key)
}

/// The edge for a hook on `tensor`.
pub(super) fn edge_of(op: &'static str, tensor: &Tensor) -> PyResult<Edge> {
    tensor.grad_edge().ok_or_else(|| {
        to_python(Box::new(Error::State {
            op: op.into(),
            what: "the tensor does not require grad, so no gradient will arrive".into(),
            remedy: "set requires_grad=True on it, or on an input of its computation",
        }))
    })
}

#[pymethods]
impl PyTensor {
    /// Calls `hook(grad)` when the gradient of this tensor is complete; what it returns, if not None, replaces the
    /// gradient. The gradient is read-only. Returns a handle with `remove()`.
    fn register_hook(slf: &Bound<'_, Self>, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        let edge = edge_of("register_hook", &slf.get().tensor)?;
        let hook = GradientHook(Callback::new("register_hook", hook)?);
        Ok(RemovableHandle::new(vec![attach(&edge, Arc::new(hook))]))
    }

    /// Calls `hook(leaf)` in `backward` as soon as the gradient has been added to `leaf.grad`.
    fn register_post_accumulate_grad_hook(
        slf: &Bound<'_, Self>,
        hook: &Bound<'_, PyAny>,
    ) -> PyResult<RemovableHandle> {
        let op = "register_post_accumulate_grad_hook";
        let tensor = &slf.get().tensor;
        if !tensor.is_leaf() {
            return Err(to_python(Box::new(Error::State {
                op: op.into(),
                what: "the tensor is no leaf".into(),
                remedy: "use register_hook(), or retain_grad() to keep the gradient",
            })));
        }
        let edge = edge_of(op, tensor)?;
        set_identity(slf)?;
        let leaf = Arc::downgrade(tensor.ensure_meta());
        let hook = PostAccumulateHook { callback: Callback::new(op, hook)?, leaf };
        let node = edge.node();
        let key = node.attachments_or_new().add_commit_hook(Arc::new(hook));
        node.add_flags(Flags::HOST_OBJECTS);
        Ok(RemovableHandle::one(node, key))
    }
}

/// Attaches `hook(grad_outputs)`, which runs before the node.
pub(super) fn add_prehook(node: &Node, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
    let hook = PythonNodeHook(Callback::new("register_prehook", hook)?);
    let key = node.attachments_or_new().add_pre_hook(Arc::new(hook));
    node.add_flags(Flags::HOST_OBJECTS);
    Ok(RemovableHandle::one(node, key))
}

/// Attaches `hook(grad_inputs, grad_outputs)`, which runs after the node.
pub(super) fn add_hook(node: &Node, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
    let hook = PythonNodeHook(Callback::new("register_hook", hook)?);
    let key = node.attachments_or_new().add_post_hook(Arc::new(hook));
    node.add_flags(Flags::HOST_OBJECTS);
    Ok(RemovableHandle::one(node, key))
}

/// Gradients as a list of read-only tensors.
pub(super) fn read_only_list<'py>(
    py: Python<'py>,
    grads: Vec<Option<Tensor>>,
) -> PyResult<Bound<'py, PyList>> {
    let grads: PyResult<Vec<_>> = grads
        .into_iter()
        .map(|grad| grad.map(|grad| wrap_read_only(py, grad)).transpose())
        .collect();
    PyList::new(py, grads?)
}

/// Wraps the exception of a hook with a note.
pub(super) fn raised_in(function: &Bound<'_, PyAny>, raised: PyErr) -> Box<Error> {
    from_python(raised, note(function))
}
