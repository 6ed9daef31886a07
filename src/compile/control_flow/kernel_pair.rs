//! Launches the forward and the backward kernel of a loop or a switch, and passes an object from one to the other,
//! also across replays of a trace.
//!
//! Invariant: the backward kernel of a replay reads the object that the forward kernel of the same replay left.

use std::any::Any;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::kernels::launch::{self, KernelFn, Object, Objects};
use crate::kernels::{View, ViewMut};
use crate::tensor::Tensor;

/// The object that a forward kernel left for the backward kernel.
pub(super) struct ForwardState {
    object: Option<Object>,
    /// Its slot among the objects of a trace.
    slot: usize,
    /// The trace it belongs to; 0 if none was active.
    trace: usize,
}

impl ForwardState {
    /// Runs a forward kernel.
    ///
    /// # Errors
    /// What the kernel raises.
    pub(super) fn run_forward<'t, T: Any + Send + Sync>(
        name: &'static str,
        reads: impl Iterator<Item = &'t Tensor>,
        writes: impl Iterator<Item = &'t Tensor>,
        kernel: impl Fn(&[View<'_>], &mut [ViewMut<'_>]) -> Result<T> + Send + Sync + 'static,
    ) -> Result<ForwardState> {
        let slot = launch::new_object();
        let mut objects: Objects = vec![None; slot + 1];
        let run: KernelFn = Arc::new(move |reads, writes, objects| {
            objects[slot] = Some(Arc::new(kernel(reads, writes)?));
            Ok(())
        });
        launch_kernel(name, reads, writes, run, &mut objects)?;
        Ok(ForwardState { object: objects.pop().flatten(), slot, trace: launch::trace_identity() })
    }

    /// Runs the backward kernel on the object of the forward kernel.
    ///
    /// # Errors
    /// What the kernel raises.
    pub(super) fn run_backward<'t, T: Any + Send + Sync>(
        &self,
        name: &'static str,
        reads: impl Iterator<Item = &'t Tensor>,
        writes: impl Iterator<Item = &'t Tensor>,
        kernel: impl Fn(&[View<'_>], &mut [ViewMut<'_>], Option<&T>) -> Result<()>
        + Send
        + Sync
        + 'static,
    ) -> Result<()> {
        let current_trace = launch::trace_identity();
        if current_trace != 0 && self.trace != 0 && current_trace != self.trace {
            return Err(Box::new(Error::NotTraceable {
                op: name.into(),
                what: "the body of a loop differentiates a loop or branch outside of it".into(),
                remedy: "compute the derivative outside, or call the loop or branch inside",
            }));
        }
        let slot = self.slot;
        let mut objects: Objects = vec![None; slot + 1];
        objects[slot].clone_from(&self.object);
        let run: KernelFn = Arc::new(move |reads, writes, objects| {
            let forward_object = objects[slot].as_ref().and_then(|object| object.downcast_ref());
            kernel(reads, writes, forward_object)
        });
        launch_kernel(name, reads, writes, run, &mut objects)
    }
}

fn launch_kernel<'t>(
    name: &'static str,
    reads: impl Iterator<Item = &'t Tensor>,
    writes: impl Iterator<Item = &'t Tensor>,
    run: KernelFn,
    objects: &mut Objects,
) -> Result<()> {
    let reads: Vec<View<'_>> = reads.map(Tensor::view_of).collect();
    let mut writes: Vec<ViewMut<'_>> = writes.map(Tensor::view_mut).collect();
    launch::run_kernel(name, &reads, &mut writes, run, objects)
}
