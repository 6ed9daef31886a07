//! A hook on the gradients of several tensors, called at most once per backward pass.

use std::any::Any;
use std::sync::{Arc, Weak};

use pyo3::prelude::*;

use crate::bindings::attach::attached;
use crate::bindings::call::callback::Callback;
use crate::bindings::call::sequence::all_of;
use crate::bindings::call::thread_state::ThreadStateGuard;
use crate::bindings::errors::{bad_value, from_python};
use crate::bindings::graph::hooks::{RemovableHandle, attach, edge_of, raised_in, read_only_list};
use crate::bindings::object::{PyTensor, wrap_read_only};
use crate::error::Result;
use crate::graph::{Hook, HostObjects, NodeId, RunningPass};
use crate::tensor::Tensor;
use crate::threads::Mutex;

/// The gradients that have arrived in one pass.
struct PendingPass {
    pass: Weak<()>,
    grads: Vec<Option<Tensor>>,
    missing: usize,
}

struct Group {
    outputs: Vec<(NodeId<Tensor>, u32)>,
    any: bool,
    /// If set, the function gets a list of flags instead of gradients: which of these leaves the pass will accumulate
    /// to.
    leaves: Option<Vec<NodeId<Tensor>>>,
    callback: Callback,
    passes: Mutex<Vec<PendingPass>>,
}

impl Group {
    /// Stores gradient `index`; returns all gradients when it was the last needed (the first, with `any`).
    fn store_gradient(
        &self,
        index: usize,
        grad: &Tensor,
        pass: &dyn RunningPass<Tensor>,
    ) -> Option<Vec<Option<Tensor>>> {
        let token = pass.token();
        let mut passes = self.passes.lock();
        let (mut live, ended): (Vec<PendingPass>, Vec<PendingPass>) =
            passes.drain(..).partition(|known| known.pass.strong_count() > 0);
        let known = live.iter().position(|known| known.pass.ptr_eq(&token));
        let at = known.unwrap_or_else(|| {
            let reached = || self.outputs.iter().filter(|(node, k)| pass.reaches(node, *k)).count();
            let missing = if self.any { 1 } else { reached().max(1) };
            live.push(PendingPass { pass: token, grads: vec![None; self.outputs.len()], missing });
            live.len() - 1
        });
        let pending = &mut live[at];
        let mut complete = None;
        if pending.missing > 0 {
            pending.grads[index] = Some(grad.clone());
            pending.missing -= 1;
            if pending.missing == 0 {
                complete = Some(std::mem::take(&mut pending.grads));
            }
        }
        *passes = live;
        drop(passes);
        drop(ended);
        complete
    }
}

/// Calls the function with flags: which leaves the pass will accumulate to. Its result is called at the end of the
/// pass.
fn call_with_commits(
    function: &Bound<'_, PyAny>,
    leaves: &[NodeId<Tensor>],
    pass: &dyn RunningPass<Tensor>,
) -> PyResult<()> {
    let Some(commits) = pass.commits(leaves) else { return Ok(()) };
    let end = function.call1((commits,))?;
    if !end.is_none() {
        let end = end.unbind();
        let run = move |py: Python<'_>| end.call0(py).map(drop).map_err(|e| from_python(e, ""));
        pass.at_end(Box::new(move || attached(run)));
    }
    Ok(())
}

impl HostObjects for Group {
    fn visit(&self, visit: &mut dyn FnMut(&dyn Any)) {
        self.callback.visit(visit);
    }

    fn clear(&self) {
        self.callback.clear();
    }
}

/// The hook on one tensor of a group.
struct Member {
    group: Arc<Group>,
    index: usize,
}

impl Hook<Tensor> for Member {
    fn call(&self, grad: Tensor, pass: &dyn RunningPass<Tensor>) -> Result<Option<Tensor>> {
        let Some(grads) = self.group.store_gradient(self.index, &grad, pass) else {
            return Ok(None);
        };
        attached(|py| {
            let Some(function) = self.group.callback.get(py) else { return Ok(None) };
            let _state = ThreadStateGuard::new(py);
            let called = if let Some(leaves) = &self.group.leaves {
                call_with_commits(&function, leaves, pass)
            } else if self.group.any {
                wrap_read_only(py, grad).and_then(|grad| function.call1((grad,)).map(drop))
            } else {
                read_only_list(py, grads).and_then(|grads| function.call1((grads,)).map(drop))
            };
            called.map_err(|raised| raised_in(&function, raised))?;
            Ok(None)
        })
    }

    fn host_objects(&self) -> Option<&dyn HostObjects> {
        Some(self)
    }
}

impl HostObjects for Member {
    fn visit(&self, visit: &mut dyn FnMut(&dyn Any)) {
        self.group.visit(visit);
    }

    fn clear(&self) {
        self.group.clear();
    }

    fn shared(&self) -> Option<(usize, usize)> {
        Some((Arc::as_ptr(&self.group).addr(), Arc::strong_count(&self.group)))
    }
}

/// Calls `fn(grads)` once per pass, when the gradients of all `tensors` that the pass computes have arrived (None stands
/// for the others); with `mode="any"` calls `fn(grad)` with the first that arrives.
#[pyfunction]
#[pyo3(signature = (tensors, r#fn, *, mode="all"))]
pub(crate) fn register_multi_grad_hook(
    #[pyo3(from_py_with = all_of)] tensors: Vec<Bound<'_, PyTensor>>,
    r#fn: &Bound<'_, PyAny>,
    mode: &str,
) -> PyResult<RemovableHandle> {
    let op = "register_multi_grad_hook";
    if !matches!(mode, "all" | "any") {
        return Err(bad_value(op, format!("mode is {mode:?}"), "pass \"all\" or \"any\""));
    }
    attach_group(op, &tensors, r#fn, mode == "any", None)
}

/// Calls `fn(reached)` once in every pass that accumulates gradients, when it reaches the first of `tensors`; `reached`
/// holds for each leaf whether the pass will accumulate to it. What `fn` returns, if not None, is called without
/// arguments at the end of the pass.
#[pyfunction]
pub(crate) fn _watch_passes(
    tensors: Vec<Bound<'_, PyTensor>>,
    leaves: Vec<Bound<'_, PyTensor>>,
    r#fn: &Bound<'_, PyAny>,
) -> PyResult<RemovableHandle> {
    let op = "_watch_passes";
    let leaves: PyResult<Vec<_>> =
        leaves.iter().map(|leaf| Ok(edge_of(op, &leaf.get().tensor)?.node().id())).collect();
    attach_group(op, &tensors, r#fn, true, Some(leaves?))
}

/// Attaches a group hook to several tensors.
fn attach_group(
    op: &'static str,
    tensors: &[Bound<'_, PyTensor>],
    function: &Bound<'_, PyAny>,
    any: bool,
    leaves: Option<Vec<NodeId<Tensor>>>,
) -> PyResult<RemovableHandle> {
    let edges: PyResult<Vec<_>> =
        tensors.iter().map(|tensor| edge_of(op, &tensor.get().tensor)).collect();
    let edges = edges?;
    let group = Arc::new(Group {
        outputs: edges.iter().map(|edge| (edge.node().id(), edge.output())).collect(),
        any,
        leaves,
        callback: Callback::new(op, function)?,
        passes: Mutex::default(),
    });
    let member = |(index, edge)| attach(edge, Arc::new(Member { group: group.clone(), index }));
    Ok(RemovableHandle::new(edges.iter().enumerate().map(member).collect()))
}
