//! One hook on the gradients of several tensors.
//!
//! Owns: the gradients that have arrived, pass by pass. Never keeps a node alive, nor a gradient of a pass that is over
//! longer than until the next one.
//! Invariant: in each pass the function is called at most once, with no lock held.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;

use crate::bindings::call::callback::Callback;
use crate::bindings::call::sequence::all_of;
use crate::bindings::call::thread_state::ThreadStateGuard;
use crate::bindings::errors::bad_value;
use crate::bindings::graph::hooks::{RemovableHandle, attach, edge_of, raised_in, read_only_list};
use crate::bindings::object::{PyTensor, read_only};
use crate::error::Result;
use crate::graph::{Foreign, Hook, NodeId, RunningPass};
use crate::tensor::Tensor;

/// What has arrived in one pass.
struct PendingPass {
    pass: Weak<()>,
    grads: Vec<Option<Tensor>>,
    missing: usize,
}

struct Group {
    outputs: Vec<(NodeId<Tensor>, u32)>,
    any: bool,
    callback: Callback,
    passes: Mutex<Vec<PendingPass>>,
}

impl Group {
    /// Notes that gradient `index` has arrived; returns all when it was the last (or the first, if that is asked for).
    fn arrived(
        &self,
        index: usize,
        grad: &Tensor,
        pass: &dyn RunningPass<Tensor>,
    ) -> Option<Vec<Option<Tensor>>> {
        let token = pass.token();
        let mut passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut live, over): (Vec<PendingPass>, Vec<PendingPass>) =
            passes.drain(..).partition(|known| known.pass.strong_count() > 0);
        let known = live.iter().position(|known| known.pass.ptr_eq(&token));
        let at = known.unwrap_or_else(|| {
            let expected = self.outputs.iter().filter(|(node, k)| pass.reaches(node, *k)).count();
            let missing = if self.any { 1 } else { expected.max(1) };
            live.push(PendingPass { pass: token, grads: vec![None; self.outputs.len()], missing });
            live.len() - 1
        });
        let gathering = &mut live[at];
        let mut complete = None;
        if gathering.missing > 0 {
            gathering.grads[index] = Some(grad.clone());
            gathering.missing -= 1;
            if gathering.missing == 0 {
                complete = Some(std::mem::take(&mut gathering.grads));
            }
        }
        *passes = live;
        drop(passes);
        drop(over);
        complete
    }
}

impl Foreign for Group {
    fn visit(&self, visit: &mut dyn FnMut(&dyn Any)) {
        self.callback.visit(visit);
    }

    fn clear(&self) {
        self.callback.clear();
    }
}

/// The group's hook on one of its tensors.
struct Member {
    group: Arc<Group>,
    index: usize,
}

impl Hook<Tensor> for Member {
    fn call(&self, grad: Tensor, pass: &dyn RunningPass<Tensor>) -> Result<Option<Tensor>> {
        let Some(grads) = self.group.arrived(self.index, &grad, pass) else {
            return Ok(None);
        };
        Python::attach(|py| {
            let Some(function) = self.group.callback.get(py) else { return Ok(None) };
            let _kept = ThreadStateGuard::new(py);
            let called = if self.group.any {
                read_only(py, grad).and_then(|grad| function.call1((grad,)))
            } else {
                read_only_list(py, grads).and_then(|grads| function.call1((grads,)))
            };
            called.map_err(|raised| raised_in(&function, raised))?;
            Ok(None)
        })
    }

    fn foreign(&self) -> Option<&dyn Foreign> {
        Some(self)
    }
}

impl Foreign for Member {
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
    let edges: PyResult<Vec<_>> =
        tensors.iter().map(|tensor| edge_of(op, &tensor.get().tensor)).collect();
    let edges = edges?;
    let group = Arc::new(Group {
        outputs: edges.iter().map(|edge| (edge.node().id(), edge.output())).collect(),
        any: mode == "any",
        callback: Callback::new(op, r#fn)?,
        passes: Mutex::default(),
    });
    let member = |(index, edge)| attach(edge, Arc::new(Member { group: group.clone(), index }));
    Ok(RemovableHandle::new(edges.iter().enumerate().map(member).collect()))
}
